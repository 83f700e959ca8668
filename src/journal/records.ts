import type { CommandResult, Outcome, StepPurpose, Via } from "../greenhouse/command/outcomes.js";

/*
 * One line of the journal. Field names are those of the published payloads; `controller` is the device code, which
 * unlike a topic id never changes. Times are ISO texts, durations ms.
 */

export type CommandTarget = "actuator" | "parameter" | "address";

/** What every record carries. `mono` (ms since an arbitrary start of this boot) puts records in order whatever the clock did. */
export interface Stamp {
  readonly seq: number;
  readonly at: string;
  readonly mono: number;
  /** A random id of this run of the program. */
  readonly boot: string;
  /** Whether the wall clock agreed with the platform's; null when nothing was there to compare it with. */
  readonly clock_synced: boolean | null;
  /** Texts or lists in it were too long and are not whole. */
  readonly cut?: true;
}

export interface About {
  readonly controller: string;
  /** The id of the actuator, parameter or address. */
  readonly actuator: string;
  /** `actuator` when absent. */
  readonly target?: CommandTarget;
}

export interface PlannedStep {
  readonly purpose: StepPurpose;
  readonly address: string;
  readonly value: string;
}

/** At its arrival; on disk before the first byte of its first POST. */
export interface CommandTaken extends About {
  readonly type: "command_taken";
  readonly id: string;
  readonly command: string;
  readonly value: string;
  readonly steps: readonly PlannedStep[];
  readonly by: string | null;
  readonly via: Via;
  readonly payload_hash: string;
  readonly received_at: string;
  readonly max_age_ms: number;
  readonly force?: boolean;
  /** The id came from the sender, so it tells duplicates apart. */
  readonly own_id?: boolean;
  /** It was not to be sent. */
  readonly dry_run?: boolean;
  /** The equal command whose POST it waited for, instead of one of its own. */
  readonly took_over?: string;
}

/** `sending` is on disk before the first byte of the first POST: without it nothing was sent. */
export interface PhaseEntered extends About {
  readonly type: "phase";
  readonly id: string;
  readonly phase: "waiting" | "checking" | "sending" | "confirming" | "done";
}

/** About to POST; `attempt` counts from 1. */
export interface StepSent extends About {
  readonly type: "step_sent";
  readonly id: string;
  readonly purpose: StepPurpose;
  readonly address: string;
  readonly value: string;
  readonly attempt: number;
}

export interface StepAnswered extends About {
  readonly type: "step_answered";
  readonly id: string;
  readonly address: string;
  readonly attempt: number;
  /** The body's code; null when no answer could be read. */
  readonly code: string | null;
  readonly request_id: string | null;
  readonly error: string | null;
  /** False only when it is certain that no byte reached the platform. */
  readonly sent: boolean;
}

/** A valid read begun after the actuator's last POST; `id` when a command was waiting for it. */
export interface ReadBack extends About {
  readonly type: "read_back";
  readonly id: string | null;
  readonly address: string;
  readonly value: string;
}

/** The one outcome of a command. */
export interface ResultRecord extends About {
  readonly type: "result";
  readonly result: CommandResult;
}

/** The outcome of a command that was never taken; it closes nothing. */
export interface Refusal extends About {
  readonly type: "refusal";
  readonly result: CommandResult;
}

export interface RefusalsCounted {
  readonly type: "refusals_counted";
  readonly controller: string | null;
  readonly actuator: string | null;
  readonly count: number;
  readonly reasons: Readonly<Record<string, number>>;
  /** ISO time of the first refusal that was only counted. */
  readonly since: string;
}

export interface ConfirmedLate extends About {
  readonly type: "confirmed_late";
  readonly id: string;
  readonly value: string;
}

/** Confirmed, and showing another value when its travel time was over. */
export interface Reverted extends About {
  readonly type: "reverted";
  readonly id: string;
  readonly value: string;
}

export interface ChangedElsewhere extends About {
  readonly type: "changed_elsewhere";
  readonly from: string | null;
  readonly to: string | null;
}

export interface Acknowledged {
  readonly type: "acknowledged";
  readonly controller: string;
  /** null: every actuator of the controller. */
  readonly actuator: string | null;
  readonly target?: CommandTarget;
  readonly by: string | null;
  readonly via: Via;
}

/** Every result up to this sequence number has reached the broker. */
export interface Delivered {
  readonly type: "delivered";
  readonly through: number;
}

export interface Started {
  readonly type: "start";
  readonly version: string;
  readonly read_only?: boolean;
}

export interface Stopped {
  readonly type: "stop";
  readonly reason: string;
}

export interface ClockJump {
  readonly type: "clock_jump";
  /** Positive when the wall clock went forward. */
  readonly by_ms: number;
}

export interface LoginFailed {
  readonly type: "login_failed";
  readonly listener: "broker" | "http";
  readonly client: string | null;
  readonly user: string | null;
  readonly address: string | null;
}

export interface OtherBridge {
  readonly type: "other_bridge";
  readonly present: boolean;
  readonly client: string | null;
}

export interface ConfigurationChanged {
  readonly type: "configuration_changed";
  readonly changes: readonly string[];
}

/** Anything else worth keeping that `bridge/event` also says. */
export interface EventNoted {
  readonly type: "event";
  readonly event: string;
  readonly severity: "info" | "warning" | "error";
  readonly message: string;
  readonly controller?: string;
  readonly actuator?: string;
}

/** The journal about itself: what a start found broken. */
export interface JournalDamaged {
  readonly type: "journal_damaged";
  readonly unreadable: number;
  readonly truncated_bytes: number;
  readonly corrupt_files: readonly string[];
}

/** The journal about itself: it can write again. `lost` records had been refused meanwhile. */
export interface JournalResumed {
  readonly type: "journal_resumed";
  readonly reason: string;
  readonly since: string;
  readonly lost: number;
}

/** First line of every file: all that older files still have to say, so that they may be deleted. */
export interface Carried extends HistoryParts {
  readonly type: "carried";
}

export type RecordBody =
  | CommandTaken
  | PhaseEntered
  | StepSent
  | StepAnswered
  | ReadBack
  | ResultRecord
  | Refusal
  | RefusalsCounted
  | ConfirmedLate
  | ChangedElsewhere
  | Reverted
  | Acknowledged
  | Delivered
  | Started
  | Stopped
  | ClockJump
  | LoginFailed
  | OtherBridge
  | ConfigurationChanged
  | EventNoted
  | JournalDamaged
  | JournalResumed
  | Carried;

export type RecordType = RecordBody["type"];
export type JournalRecord = Stamp & RecordBody;

/*
 * What outlives a file of the journal. Plain JSON, because it is written at the head of the next file.
 */

/** The last POST of one step. */
export interface SentStep {
  readonly purpose: StepPurpose;
  readonly address: string;
  readonly value: string;
  readonly attempt: number;
  readonly sent_at: string;
  /** null until an answer or an error was recorded: it may or may not have reached the platform. */
  readonly answered: {
    readonly code: string | null;
    readonly request_id: string | null;
    readonly error: string | null;
    readonly sent: boolean;
  } | null;
}

/** A command that was taken and has no result. `steps` are in the order sent; empty means that nothing was. */
export interface OpenCommand {
  readonly taken: CommandTaken;
  readonly taken_at: string;
  readonly boot: string;
  readonly phase: string | null;
  readonly steps: readonly SentStep[];
}

/** An actuator whose last POST no later read has shown yet. */
export interface UnreadPost {
  readonly controller: string;
  readonly actuator: string;
  readonly target: CommandTarget;
  readonly id: string;
  readonly address: string;
  readonly value: string;
  readonly sent_at: string;
  /** An earlier POST had not been read back either, so this one not having been sent settles nothing. */
  readonly earlier: boolean;
}

/** An actuator whose newest sent command ended badly. */
export interface Problem {
  readonly controller: string;
  readonly actuator: string;
  readonly target: CommandTarget;
  readonly id: string;
  readonly outcome: Outcome;
  readonly reason: string | null;
  readonly finished_at: string;
}

/** A start of the program; `stopped` is false when it ended without saying so, or is the one still running. */
export interface RecordedStart {
  readonly boot: string;
  readonly at: string;
  readonly stopped: boolean;
}

export interface HistoryParts {
  readonly open: readonly OpenCommand[];
  readonly unread: readonly UnreadPost[];
  readonly problems: readonly Problem[];
  /** Newest last, at most 20. */
  readonly starts: readonly RecordedStart[];
}
