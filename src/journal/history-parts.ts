import type { CommandTaken, CommandTarget } from "./records.js";
import type { Outcome, StepPurpose } from "./results.js";

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
