import type { Text } from "../language/text.js";
import type { CommandResult, StepReport } from "../greenhouse/command/outcomes.js";
import type { Step } from "../greenhouse/command/plan.js";
import type { BridgeEvent } from "../greenhouse/events.js";
import type { Actuator, BetweenSteps, CommandProblem, Controller, Register } from "../greenhouse/model.js";
import type { PlatformErrorFacts, RawValue } from "../greenhouse/ports.js";
import type { CommandTaken, Durable, RecordBody } from "../journal/records.js";
import type {
  Addressed,
  Arrived,
  CommandRules,
  Command,
  Interrupted,
  Phase,
  Resting,
  ResultAddressee,
  Target,
} from "./command.js";
import type { Confirming, Read, ReadBack } from "./confirm.js";
import type { Abandoned, Answer, Ending, Evidence, StepEnd } from "./endings.js";
import type { Entry, LimitInput } from "../limits/rules/entry.js";
import type { WeatherReading } from "../limits/rules/guards.js";
import type { RestoredLimits } from "../limits/restored-limits.js";
import type { RuleCommand } from "../limits/ports.js";
import { emptyTable, type Table } from "../runtime/table.js";
import type { LimitSettings } from "../limits/rules/settings.js";

/*
 * The state of all commands, as data. `step` in step.ts folds one input into it and says what to do; the commander does
 * it and feeds the answers back. All instants are monotonic ms unless stated.
 */

export interface Book {
  /** Only targets with something to remember. */
  readonly lanes: Table<Lane>;
  /**
   * Lanes with an open command or a time to wait for, and when to wake them; Infinity if only an answer changes them.
   */
  readonly busy: Table<number>;
  readonly ids: Ids;
  readonly allowances: Allowances;
  readonly refusals: Refusals;
  /** Results on their way to the journal and the sender, by the number of the question to the journal. */
  readonly outcomes: Table<PendingResult>;
  /** Lanes whose newest sent command ended badly, with the reason, by device code. */
  readonly problems: Table<readonly LaneProblem[]>;
  /** The number of the newest question, by which late answers are recognised. */
  readonly asked: number;
  /** The number of commands that rules have sent. */
  readonly sends: number;
  /** The newest live values of weather topics, by name. */
  readonly weather: Table<WeatherReading>;
  /** Wall clock minus monotonic clock at the newest input, in ms; null before the first. */
  readonly aheadMs: number | null;
  readonly closed: boolean;
}

/** An accepted command, by which a repeated one is recognised. */
export interface TakenOnce<Result> {
  readonly id: string;
  readonly canonical: string;
  readonly payloadKey: string;
  /** Null until it is published. */
  readonly result: Result | null;
  readonly endedMono: number | null;
}

export interface Taken extends TakenOnce<CommandResult> {
  /** Its `min_interval`, for which a newer command waits after it. */
  readonly quietMs: number;
}

/** By lane and the sender's id. New ids are `young`; when there are many, the `old` ones are forgotten. */
export interface Ids<One = Taken> {
  readonly young: Table<One>;
  readonly old: Table<One>;
  readonly since: number;
}

export const noIds: Ids<never> = { young: emptyTable, old: emptyTable, since: 0 };

/** When the newest commands of each target were accepted, oldest first. Stops have an allowance of their own. */
export interface Allowances {
  readonly configured: Table<readonly number[]>;
  readonly addresses: Table<readonly number[]>;
  readonly stops: Table<readonly number[]>;
}

/** Refusals of one minute, by target. */
export interface Refusals {
  readonly minute: number;
  readonly targets: Table<{ readonly journaled: number; readonly counted: Counted | null }>;
}

/** Refusals that are counted and not journaled each. */
export interface Counted {
  readonly controller: string;
  readonly actuator: string;
  /** When the first of them came. */
  readonly since: string;
  readonly reasons: Readonly<Record<string, number>>;
  readonly count: number;
}

/** Why a lane is a problem, as it is reported. */
export type ProblemReason = Omit<CommandProblem, "actuator">;

export interface LaneProblem {
  readonly lane: string;
  readonly problem: CommandProblem;
}

/** The commands of one target (an actuator with all its addresses, a parameter, a raw address). */
export interface Lane {
  /** The command being checked or sent; one at a time. */
  readonly running: Run | null;
  /** A command that is sent completely; it is read back until it shows or a newer one is about to POST. */
  readonly confirming: Run | null;
  /** Commands that the end of the program cut off after a POST; the next start reads them back. */
  readonly left: readonly Run[];
  /** Oldest first. The newest goes next; while the limits delay it, a rule's command does. */
  readonly waiting: readonly Command[];
  readonly stop: Command | null;
  /** Until when the limits delay the newest; Infinity if only an end can tell. */
  readonly pausedUntil: number | null;
  readonly posts: Posts;
  /** A confirmed command that is still travelling. */
  readonly secondLook: SecondLook | null;
  /** The newest command accepted. */
  readonly newest: Taken | null;
  /** A sent value that did not show by its command's end and may still come. */
  readonly awaited: Awaited | null;
  /** The actuator's last known resting state. */
  readonly resting: Resting | null;
  /** Values sent lately and not confirmed, which the platform may carry out later. */
  readonly unconfirmed: readonly Unconfirmed[];
  /** The limits of its actuator; null if there is nothing to remember. */
  readonly limits: Entry | null;
  /** When time alone changes something of the limits, or they are to be checked again; null for never. */
  readonly limitsDueAt: number | null;
}

export type SentCommand = Addressed & Pick<Command, "id" | "settings">;

/** A value of ours that had not shown when its command ended and may still come. */
export interface Awaited {
  readonly command: SentCommand;
  /** The command's word or degree. */
  readonly word: string;
  readonly step: Step;
  /** Whether its coming is reported, as after an end `unconfirmed`. */
  readonly isTold: boolean;
  /** Until when it counts as ours. */
  readonly until: number;
  /** Epoch ms. */
  readonly endedAt: number;
}

/** A command that was sent and not confirmed. */
export interface Unconfirmed {
  readonly id: string;
  /** The state or degree that it leads to. */
  readonly to: string;
  readonly outcome: string;
  /** Monotonic ms; for an earlier run by the present clock. */
  readonly endedAt: number;
  /** When this run took it over from an earlier one. After a clock set back it may seem to end later than that. */
  readonly keptSince?: number;
}

/** A result, from its command's end until everybody has it and the journal too. */
export interface PendingResult {
  readonly about: ResultAddressee;
  /** The command that ends with it; null for a request not accepted and for an earlier run's command. */
  readonly command: Command | null;
  readonly result: CommandResult;
  /** A refusal's result is published whatever the journal does, and not written again. */
  readonly isRefusal: boolean;
  /** A stop's result is published even if the journal refuses it. */
  readonly isUrgent: boolean;
  readonly isTold: boolean;
  /** Whether the journal was asked to write it and has not answered. */
  readonly isWriting: boolean;
}

/** A lane as an earlier run left it. */
export interface Restored extends Pick<Lane, "awaited"> {
  readonly unconfirmed?: Lane["unconfirmed"];
  readonly about: Target;
  /** Whether a POST was not read back. */
  readonly unread: boolean;
  readonly problem: ProblemReason | null;
  /** A confirmed command that was not read again. */
  readonly secondLook: Pick<SecondLook, "command" | "step" | "endedAt"> | null;
  /** Commands that may have been sent and have no result, oldest first. */
  readonly interrupted: readonly Interrupted[];
  readonly limits: RestoredLimits;
}

/** A confirmed command whose address is read again after its travel time. */
export interface SecondLook {
  readonly command: SentCommand;
  readonly step: Step;
  /** When its command ended, in epoch ms. */
  readonly endedAt: number;
  readonly at: number;
  /** Until when an answer is awaited. */
  readonly until: number;
  /** The number of the read under way. */
  readonly token: number | null;
}

/** The facts about our POSTs to the actuator. */
export interface Posts {
  /** First POST of the newest command sent. */
  readonly firstAt: number | null;
  /** POST of the newest stop. */
  readonly stopAt: number | null;
  readonly endedAt: number | null;
  /** Whether a POST is not read back yet. */
  readonly unread: boolean;
}

/** How far an open command has come. */
export interface Progress {
  readonly command: Command;
  /** The POSTs when it began; `unread` also covers the command that was confirming then. */
  readonly posts: Posts;
  /** Commands that had waited longer. They go only if this one ends without being sent. */
  readonly passedOver: readonly Command[];
  readonly steps: readonly Step[];
  readonly place: number;
  readonly reports: readonly StepReport[];
  /** Epoch ms of the first POST. */
  readonly sentAt: number | null;
  /** Values polled or pushed lately, by address, which must not contradict the checks. */
  readonly ofLate?: Readonly<Record<string, readonly RawValue[]>>;
  /** Whether it was abandoned for a newer command, a stop or the end of the program; a POST in flight ends first. */
  readonly cut: boolean;
}

/** What moves a command on: an answer (by its question's number) or a time, whichever comes first. */
export interface Waits {
  readonly token: number | null;
  readonly wakeAt: number | null;
}

/** The stages of a command, with what is known there. */
export type Stage = Readonly<
  /** `again`: the second read, as the first may have answered the old value. */
  | { at: "checking"; again?: true }
  /** Waits for the value that the first read has ordered. */
  | { at: "ordered" }
  /** Checked, waiting for the journal's record of sending; only stops and rules' commands stop waiting at `wakeAt`. */
  | { at: "journal" }
  /** Waits for a connection; nothing of this POST has left. `tries`: connections asked for so far. */
  | { at: "connecting"; first: First | null; tries: number }
  /** A stop that never left goes out again. */
  | { at: "unconnected"; first: First | null; tries: number }
  | { at: "posting"; first: First | null }
  | { at: "confirming"; readBack: ReadBack; after: Confirming }
  /** After a rejection the register is read once, for the result. */
  | { at: "last_look"; end: StepEnd }
  /** Waits for a new credential. */
  | { at: "renewing"; first: First; end: StepEnd }
  /** Waits for a read, and then makes it, that decides on a second POST. */
  | { at: "before_second"; first: First }
  /** A stop with an address of its own was confirmed; the state has to be read. */
  | { at: "stopped"; left: readonly string[]; ending: Ending }
>;

/** An open command. */
export type Run = Progress & Waits & Stage;

/** A command at this stage. */
export type At<Name extends Stage["at"]> = Extract<Run, { readonly at: Name }>;

/** Whether a POST of it has begun, or may have in an earlier run. */
export const isSent = ({ sentAt, command }: Pick<Run, "sentAt" | "command">): boolean =>
  sentAt !== null || command.isRecovered === true;

/** The outcome of a step's first POST. */
export interface First {
  /** Includes what the read before the second POST showed. */
  readonly facts: Evidence;
  readonly endedAt: number;
  /** The mirror's value of the address before it. */
  readonly before: RawValue | null;
  /**
   * The step's end without a second POST, if the platform refused the credential or there was none to send with: nothing
   * was accepted, so whatever shows or moves has another cause. Null if it may have been accepted anyway.
   */
  readonly end: StepEnd | null;
  /** A read value that may be the old one; the next read decides. */
  readonly ordered?: RawValue;
  /** When the read before the second POST began. */
  readonly readFrom?: number;
}

export type Connection =
  | { readonly type: "online" }
  | { readonly type: "offline" }
  | { readonly type: "unknown" }
  | { readonly type: "unanswered"; readonly reason: Text; readonly facts: PlatformErrorFacts | null };

/** A lane's question to the outside; the answer returns the number. */
interface Asking {
  readonly key: string;
  readonly token: number;
}

/** What a read needs to know of the command for which it is made. */
export type Asker = Pick<Command, "code"> & Partial<Pick<Command, "rule" | "wanted">>;

type Question = Readonly<
  /** Whether the controller is online, and what these addresses show. */
  | { type: "check"; command: Command; addresses: readonly string[] }
  | { type: "read"; command: Asker; address: string }
  | { type: "post"; command: Command; step: Step }
  | { type: "renew" }
  | {
      type: "journal";
      record: RecordBody;
      /** Written first if the journal does not have the command, as it could not write when the command came. */
      unlessOpen?: CommandTaken;
      durable: Durable;
    }
>;

export interface AddressRead {
  readonly address: string;
  readonly read: Read;
}

/** An answer for an open command. */
export type Answered = Asking &
  Readonly<
    /** Reads of a controller that is not online are not awaited. */
    | { type: "checked"; connection: Connection; reads: readonly AddressRead[] }
    | ({ type: "read" } & AddressRead)
    /** `before`: the mirror's value of the address when the POST began. */
    | {
        type: "answered";
        answer: Answer;
        before: RawValue | null;
        /** Ms since another value was sent to the same controller; absent if none was lately. */
        sinceOtherMs?: number;
      }
    /** The POST's connection stands and its first byte is about to leave, so it is judged once more. */
    | { type: "begins" }
    | { type: "renewed"; isNew: boolean }
    /** The question failed by a defect of ours. */
    | { type: "defect" }
  >;

export type Journaled = Asking &
  Readonly<
    | { type: "journaled"; sequence: number }
    /** `isOpen`: whether the journal has the command without a result, so that the next start would end it. */
    | { type: "journaled"; sequence: null; problem: string; isOpen: boolean }
  >;

/** What moves an open command on. */
export type Came = Answered | Journaled | { readonly type: "due" };

/** Inputs for one lane. */
export type LaneInput =
  | Answered
  | Journaled
  | Extract<LimitInput, { readonly key: string }>
  | Readonly<
      /** What an earlier run left. */
      | { type: "restored"; key: string; lane: Restored }
      /** A read has shown the target. */
      | { type: "shown"; key: string; about: Addressed; target: Actuator | Register }
      /** What an actuator shows once our command has no further step. */
      | { type: "settled"; key: string; actuator: Actuator }
      | { type: "pushed"; key: string; address: string; raw: RawValue }
    >;

export type Input =
  | LaneInput
  | LimitInput
  | Readonly<
      | { type: "asked"; arrived: Arrived }
      | { type: "acknowledged"; code: string; actuator: string | null }
      /** A controller's flag has to be shown, also when it was only just admitted. */
      | { type: "admitted"; code: string }
      /** A result of an earlier run, by which a repeated id is still recognised. */
      | { type: "ended_before"; about: Target; result: CommandResult; agoMs: number }
      | { type: "abandoned"; one: Abandoned }
      /** The journal may now be able to write records of these lanes that it could not. */
      | { type: "unrecorded"; lanes: readonly Unrecorded[] }
      /** The journal could not write them until the end of the program, so no later start knows of these commands. */
      | { type: "given_up"; lanes: readonly Unrecorded[] }
      /** Comes at intervals, for counts of past minutes and results that the journal could not write. */
      | { type: "tick"; journalAvailable: boolean }
      /**
       * Unread commands of a flood; `about` is null for targets that do not exist, `id` is that of their one result.
       */
      | {
          type: "surplus";
          about: Addressed | null;
          id: string;
          reason: "overloaded" | "before_sending";
          count: number;
          /** Ids among the first of them. */
          ids: readonly string[];
        }
      | { type: "woke" }
      | { type: "closing" }
    >;

export type Effect =
  | (Asking & Question)
  | Readonly<
      /** `result` is set at the phase `done`. */
      | { type: "phase"; command: Command; phase: Phase; result?: CommandResult }
      /**
       * Not waited for. `key`: its lane, empty for none. `quiet`: a failure is not logged, as the journal reports it.
       */
      | { type: "note"; key: string; record: RecordBody; durable: boolean; quiet: boolean }
      /** That answer is not awaited any more. */
      | { type: "forget"; token: number }
      /** A POST begins or has ended: reads begun before this change nothing. */
      | { type: "posted"; command: Command; between: BetweenSteps | null }
      /** No further step follows, so reads are shown again. `degree` is the confirmed one. */
      | { type: "steps_ended"; command: Command; degree: number | null; word: string | null }
      /** A value was pushed after the last read of a command that has ended. */
      | { type: "pushed"; command: Command; address: string; raw: RawValue }
      | { type: "taken"; command: Command }
      | { type: "ended"; result: CommandResult }
      | { type: "counted"; count: Counted }
      /** `sequence`: the result's number in the journal; null if it was not journaled or only counted. */
      | {
          type: "result";
          result: CommandResult;
          about: ResultAddressee;
          sequence: number | null;
          isRefusal: boolean;
        }
      | { type: "problem"; code: string; open: readonly CommandProblem[] }
      | { type: "event"; event: BridgeEvent }
      /** The lane's limits have changed, by an input or by time alone, so that they may have to be shown. */
      | { type: "limits"; lane: string }
      /** A guard, or a lease that is over, has this sent. */
      | { type: "rule"; send: RuleCommand }
      | { type: "warn"; reason: string; message: string }
    >;

export type EffectOf<Type extends Effect["type"]> = Extract<Effect, { readonly type: Type }>;

export interface Now {
  /** Epoch ms. */
  readonly at: number;
  readonly mono: number;
}

/** The outside of the book at the moment of an input. */
export interface Environment extends Now {
  /** Since when the process has run without standing still, in monotonic ms; -Infinity for always. */
  readonly awakeSince: number;
  /** The rules in force now, whatever they were when a command was accepted. */
  readonly rules: Pick<CommandRules, "read_only" | "readOnlyForRules" | "readOnlyBecause" | "dry_run">;
  /** The mirror's controller, by its topic id or its code. */
  readonly controller: (idOrCode: string) => Controller | undefined;
  /** The platform's clock minus ours, in ms; null if unknown. */
  readonly skewMs: number | null;
  /** Whether the bridge has begun to send for rules. */
  readonly mayRulesSend: boolean;
}

export const laneKey = ({ code, target, targetId }: Target) => `${code} ${target} ${targetId}`;

/** The target of a lane. Of the three parts only a device code may contain blanks. */
export function targetOfLane(key: string): Target {
  const parts = key.split(" ");
  const [target, targetId = ""] = parts.splice(-2);
  return { code: parts.join(" "), target: target as Target["target"], targetId };
}

/** The target in the journal's terms. */
export const aboutOf = ({ code, targetId, target }: Target) => ({
  controller: code,
  actuator: targetId,
  target,
});

/** The beginning of a command's journal records. */
export const recordOf = (command: Target & Pick<Command, "id">) => ({ ...aboutOf(command), id: command.id });

type Draft<Value> = { -readonly [Part in keyof Value]: Value[Part] };

/**
 * One call of `step`: the new book, its present lane, and what to do. Book and lane are copies whose parts are
 * replaced, never changed.
 */
export interface Turn {
  readonly book: Draft<Book>;
  key: string;
  lane: Draft<Lane>;
  readonly effects: Effect[];
  readonly now: Environment;
  readonly limits: LimitSettings;
  /** Lanes whose memory may have changed. */
  readonly touched: Set<string>;
  /** The limits of lanes as the disk has them, or as they are being written beside this turn. */
  readonly onDisk: Map<string, Entry | null>;
  /** The earliest time at which a handled lane wants to be woken; Infinity for none. */
  wakeAt: number;
  /** The immediate answer to the input, if it asks for one. */
  answer: StepAnswer | null;
}

/** Whether a request was accepted, or a POST may leave. */
export type StepAnswer = Readonly<
  | { type: "taken"; id: string }
  | { type: "refused"; id: string }
  /** It was given before, and has or gets its one result. */
  | { type: "known"; id: string }
  | { type: "may_leave" }
  | { type: "withheld" }
>;

export const emptyLane: Lane = {
  running: null,
  confirming: null,
  left: [],
  waiting: [],
  stop: null,
  pausedUntil: null,
  posts: { firstAt: null, stopAt: null, endedAt: null, unread: false },
  secondLook: null,
  newest: null,
  awaited: null,
  resting: null,
  unconfirmed: [],
  limits: null,
  limitsDueAt: null,
};

/** Progress of a command whose turn has just come. */
export const notSent = {
  steps: [],
  place: 0,
  reports: [],
  sentAt: null,
  cut: false,
} as const satisfies Partial<Progress>;

export const emptyBook: Book = {
  lanes: emptyTable,
  busy: emptyTable,
  ids: noIds,
  allowances: { configured: emptyTable, addresses: emptyTable, stops: emptyTable },
  refusals: { minute: 0, targets: emptyTable },
  outcomes: emptyTable,
  problems: emptyTable,
  asked: 0,
  sends: 0,
  weather: emptyTable,
  aheadMs: null,
  closed: false,
};

/** Asks the outside and returns the number for the answer. The question object becomes the effect itself. */
export function ask(turn: Turn, question: Question, key = turn.key): number {
  const token = turn.book.asked + 1;
  turn.book.asked = token;
  turn.effects.push(Object.assign(question, { key, token }));
  return token;
}

/** Moves the command to this stage, in its place of the lane. */
export function goTo(
  turn: Turn,
  run: Progress,
  stage: Stage,
  { token = null, wakeAt = null }: Partial<Waits>,
): void {
  const { command, posts, passedOver, steps, place, reports, sentAt, cut, ofLate } = run;
  const progress = {
    ...{ command, posts, passedOver, steps, place, reports, sentAt, cut },
    ...(ofLate && { ofLate }),
  };
  const isConfirming = turn.lane.confirming?.command === command;
  turn.lane[isConfirming ? "confirming" : "running"] = { ...progress, token, wakeAt, ...stage };
}

/** Writes a record that nothing waits for. */
export function note(
  turn: Turn,
  record: RecordBody,
  { durable = false, quiet = false }: { readonly durable?: boolean; readonly quiet?: boolean } = {},
): void {
  turn.effects.push({ type: "note", key: turn.key, record, durable, quiet });
}

/** A lane of which the journal could not write a record. */
export interface Unrecorded {
  readonly key: string;
  /** Ids of accepted commands of which it has no record. */
  readonly missing: readonly string[];
}

/** Commands accepted and not ended. */
export const openCommands = ({ running, confirming, waiting, stop }: Lane): readonly Command[] =>
  [running?.command, confirming?.command, ...waiting, stop].flatMap((one) => one ?? []);

export const isOpen = ({ running, confirming, waiting, stop }: Lane): boolean =>
  running !== null || confirming !== null || stop !== null || waiting.length > 0;

export function raiseEvent(turn: Turn, event: Omit<BridgeEvent, "at">): void {
  turn.effects.push({ type: "event", event: { ...event, at: turn.now.at } });
}
