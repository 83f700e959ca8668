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
 * The state of all commands, as data. `step` in step.ts folds one input into it and says what is to be done; the commander
 * does it and feeds the answers back. All instants are monotonic ms, unless said.
 */

export interface Book {
  /** Of targets that there is something to remember of. */
  readonly lanes: Table<Lane>;
  /** Lanes with a command on its way or a time to wait for: when to be woken, Infinity where only an answer moves it. */
  readonly busy: Table<number>;
  readonly ids: Ids;
  readonly allowances: Allowances;
  readonly refusals: Refusals;
  /** Outcomes on their way to the journal and to the sender, by the number of the question to the journal. */
  readonly outcomes: Table<PendingResult>;
  /** Lanes whose newest sent command ended badly, of each controller code, and why. */
  readonly problems: Table<readonly LaneProblem[]>;
  /** Numbers the questions asked, so that an answer that is not awaited any more is known. */
  readonly asked: number;
  /** Numbers what rules have sent. */
  readonly sends: number;
  /** Newest live values of weather topics, by their names. */
  readonly weather: Table<WeatherReading>;
  /** By how much the wall clock was ahead of the monotonic one at the newest input, ms; null before the first. */
  readonly aheadMs: number | null;
  readonly closed: boolean;
}

/** A command that was taken, by which a repeated one is recognised. */
export interface TakenOnce<Result> {
  readonly id: string;
  readonly canonical: string;
  readonly payloadKey: string;
  /** Once it was told; null while it is open. */
  readonly result: Result | null;
  readonly endedMono: number | null;
}

export interface Taken extends TakenOnce<CommandResult> {
  /** The pause that a newer command keeps from it. */
  readonly quietMs: number;
}

/** By lane and the sender's id. What was taken of late is young; when that is much, the old ones are forgotten. */
export interface Ids<One = Taken> {
  readonly young: Table<One>;
  readonly old: Table<One>;
  readonly since: number;
}

export const noIds: Ids<never> = { young: emptyTable, old: emptyTable, since: 0 };

/** When the newest commands of each target were taken, oldest first. Stops have an allowance of their own. */
export interface Allowances {
  readonly configured: Table<readonly number[]>;
  readonly addresses: Table<readonly number[]>;
  readonly stops: Table<readonly number[]>;
}

/** Refusals of one minute, of each target. */
export interface Refusals {
  readonly minute: number;
  readonly targets: Table<{ readonly journaled: number; readonly counted: Counted | null }>;
}

/** Those that are not journaled each. */
export interface Counted {
  readonly controller: string;
  readonly actuator: string;
  /** When the first of them came. */
  readonly since: string;
  readonly reasons: Readonly<Record<string, number>>;
  readonly count: number;
}

/** Why a lane is a problem, as people are told. */
export type ProblemReason = Omit<CommandProblem, "actuator">;

export interface LaneProblem {
  readonly lane: string;
  readonly problem: CommandProblem;
}

/** The commands of one target (an actuator over all its addresses, a parameter, a raw address). */
export interface Lane {
  /** Being checked or sent; one at a time. */
  readonly running: Run | null;
  /** Everything was sent; read back until it shows, or a newer one is about to POST. */
  readonly confirming: Run | null;
  /** Cut off behind a POST by the end of the program: the next start reads them back. */
  readonly left: readonly Run[];
  /** Oldest first; the newest goes next, but while it rests what a rule sends. */
  readonly waiting: readonly Command[];
  readonly stop: Command | null;
  /** Until when the limits let the newest rest; Infinity where only an end can tell. */
  readonly pausedUntil: number | null;
  readonly posts: Posts;
  /** Confirmed and still travelling. */
  readonly secondLook: SecondLook | null;
  /** The newest command taken. */
  readonly newest: Taken | null;
  /** Sent, not shown by its end, and may still come. */
  readonly awaited: Awaited | null;
  /** What the actuator was last known to rest at. */
  readonly resting: Resting | null;
  /** What was sent of late and not confirmed: the platform may carry it out later. */
  readonly unconfirmed: readonly Unconfirmed[];
  /** What limits its actuator; null where nothing does that would have to be remembered. */
  readonly limits: Entry | null;
  /** When time alone changes something of that, or it is to be looked at again; null where neither is so. */
  readonly limitsDueAt: number | null;
}

export type SentCommand = Addressed & Pick<Command, "id" | "settings">;

/** A value of ours that had not shown when its command ended and may still come. */
export interface Awaited {
  readonly command: SentCommand;
  /** The command's word or degree. */
  readonly word: string;
  readonly step: Step;
  /** Whether people are told that it has come: of one that ended unconfirmed. */
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
  /** Monotonic ms; of one of an earlier run as the clock has it now. */
  readonly endedAt: number;
  /** Of one of an earlier run: when this one began with it. By a clock that was set back it may seem to end later. */
  readonly keptSince?: number;
}

/** A result, from its command's end until everybody was told and the journal has it. */
export interface PendingResult {
  readonly about: ResultAddressee;
  /** That ends with it; null where none was taken, or by an earlier run. */
  readonly command: Command | null;
  readonly result: CommandResult;
  /** The one of a refused request is told whatever the journal does, and not written again. */
  readonly isRefusal: boolean;
  /** A stop is told also where the journal refuses it. */
  readonly isUrgent: boolean;
  readonly isTold: boolean;
  /** The journal has been asked to take it and has not answered. */
  readonly isWriting: boolean;
}

/** A lane as an earlier run left it. */
export interface Restored extends Pick<Lane, "awaited"> {
  readonly unconfirmed?: Lane["unconfirmed"];
  readonly about: Target;
  /** Not every POST was read back. */
  readonly unread: boolean;
  readonly problem: ProblemReason | null;
  /** Confirmed, and not looked at again. */
  readonly secondLook: Pick<SecondLook, "command" | "step" | "endedAt"> | null;
  /** What may have been sent and has no result, oldest first. */
  readonly interrupted: readonly Interrupted[];
  readonly limits: RestoredLimits;
}

/** A confirmed command whose address is read once more when its travel time is over. */
export interface SecondLook {
  readonly command: SentCommand;
  readonly step: Step;
  /** When its command ended, epoch ms. */
  readonly endedAt: number;
  readonly at: number;
  /** Until when an answer is waited for. */
  readonly until: number;
  /** The read under way. */
  readonly token: number | null;
}

/** What is known about our POSTs to the actuator. */
export interface Posts {
  /** Of the newest command sent. */
  readonly firstAt: number | null;
  /** Of the newest stop. */
  readonly stopAt: number | null;
  readonly endedAt: number | null;
  /** Not every POST has been read back yet. */
  readonly unread: boolean;
}

/** How far a command on its way has come. */
export interface Progress {
  readonly command: Command;
  /** As they were when it began; not read back counts also what was confirming then. */
  readonly posts: Posts;
  /** Those that had waited longer when its turn came: they go only where it ends without being sent. */
  readonly passedOver: readonly Command[];
  readonly steps: readonly Step[];
  readonly place: number;
  readonly reports: readonly StepReport[];
  /** Epoch ms of the first POST. */
  readonly sentAt: number | null;
  /** What was polled or pushed of late, by address, which the checks must not contradict. */
  readonly ofLate?: Readonly<Record<string, readonly RawValue[]>>;
  /** Given up for a newer command, a stop or the end of the program; a POST in flight is let end first. */
  readonly cut: boolean;
}

/** What moves a command on: the answer to a question, by its number, a time, or whichever comes first. */
export interface Waits {
  readonly token: number | null;
  readonly wakeAt: number | null;
}

/** Where a command can be, and what is known there. */
export type Stage = Readonly<
  /** `again`: a fresh read may have answered the value before, so that this is the second. */
  | { at: "checking"; again?: true }
  /** What the first read has ordered is waited for. */
  | { at: "ordered" }
  /** Checked; the journal has not said yet that it has the record that the command is sent. Only a stop, and what a rule sends, has a time when it goes without. */
  | { at: "journal" }
  /** A connection is waited for, and nothing of this POST has left. `tries`: how many connections have been asked for. */
  | { at: "connecting"; first: First | null; tries: number }
  /** A stop that never left goes out again. */
  | { at: "unconnected"; first: First | null; tries: number }
  | { at: "posting"; first: First | null }
  | { at: "confirming"; readBack: ReadBack; after: Confirming }
  /** A rejection is told together with one read of what the register holds now. */
  | { at: "last_look"; end: StepEnd }
  /** A new credential is asked for. */
  | { at: "renewing"; first: First; end: StepEnd }
  /** A read is waited for, and then made, that says whether there is a second POST. */
  | { at: "before_second"; first: First }
  /** A stop with an address of its own was confirmed; what the state is now has to be read. */
  | { at: "stopped"; left: readonly string[]; ending: Ending }
>;

/** A command on its way. */
export type Run = Progress & Waits & Stage;

/** A command that is there. */
export type At<Name extends Stage["at"]> = Extract<Run, { readonly at: Name }>;

/** Whether a POST of it has begun, or may have in an earlier run. */
export const isSent = ({ sentAt, command }: Pick<Run, "sentAt" | "command">): boolean =>
  sentAt !== null || command.isRecovered === true;

/** What the first POST of a step came to. */
export interface First {
  /** With what the read before the second POST has shown. */
  readonly facts: Evidence;
  readonly endedAt: number;
  /** What the mirror held of the address before it. */
  readonly before: RawValue | null;
  /**
   * How the step ends without a second one, where the platform refused the credential, or there was none to send it with: nothing
   * was taken, so that whatever shows or moves is not its doing. Null where it may have been taken all the same.
   */
  readonly end: StepEnd | null;
  /** What a read gave that may be the value before; the next one decides. */
  readonly ordered?: RawValue;
  /** When the read before the second POST began. */
  readonly readFrom?: number;
}

export type Connection =
  | { readonly type: "online" }
  | { readonly type: "offline" }
  | { readonly type: "unknown" }
  | { readonly type: "unanswered"; readonly reason: Text; readonly facts: PlatformErrorFacts | null };

/** A question to the world outside, of a lane; the answer brings the number back. */
interface Asking {
  readonly key: string;
  readonly token: number;
}

/** Whoever a read is for. */
export type Asker = Pick<Command, "code"> & Partial<Pick<Command, "rule" | "wanted">>;

type Question = Readonly<
  /** Whether the controller is online, and beside that what these addresses show. */
  | { type: "check"; command: Command; addresses: readonly string[] }
  | { type: "read"; command: Asker; address: string }
  | { type: "post"; command: Command; step: Step }
  | { type: "renew" }
  | {
      type: "journal";
      record: RecordBody;
      /** Goes before it where the journal does not know the command, as it could not write when the command came. */
      unlessOpen?: CommandTaken;
      durable: Durable;
    }
>;

export interface AddressRead {
  readonly address: string;
  readonly read: Read;
}

/** An answer to a command on its way. */
export type Answered = Asking &
  Readonly<
    /** Of a controller that is not online no reads are waited for. */
    | { type: "checked"; connection: Connection; reads: readonly AddressRead[] }
    | ({ type: "read" } & AddressRead)
    /** `before` is what the mirror held of the address when the POST began. */
    | {
        type: "answered";
        answer: Answer;
        before: RawValue | null;
        /** How long before it another value was sent to the same controller, ms; absent where none was of late. */
        sinceOtherMs?: number;
      }
    /** The connection of the POST stands and its first byte is about to leave: it is judged once more. */
    | { type: "begins" }
    | { type: "renewed"; isNew: boolean }
    /** A question could not be asked for a reason of ours. */
    | { type: "defect" }
  >;

export type Journaled = Asking &
  Readonly<
    | { type: "journaled"; sequence: number }
    /** `isOpen`: whether the journal holds the command without a result, so that a next start would end it. */
    | { type: "journaled"; sequence: null; problem: string; isOpen: boolean }
  >;

/** What moves a command on its way on. */
export type Came = Answered | Journaled | { readonly type: "due" };

/** What concerns one lane. */
export type LaneInput =
  | Answered
  | Journaled
  | Extract<LimitInput, { readonly key: string }>
  | Readonly<
      /** What an earlier run left. */
      | { type: "restored"; key: string; lane: Restored }
      /** What a read has shown of the target. */
      | { type: "shown"; key: string; about: Addressed; target: Actuator | Register }
      /** What is shown of an actuator once a command of ours has no further step. */
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
      /** Of an earlier run, by which a repeated id is still recognised. */
      | { type: "ended_before"; about: Target; result: CommandResult; agoMs: number }
      | { type: "abandoned"; one: Abandoned }
      /** What the journal could not take of these lanes it may be able to take now. */
      | { type: "unrecorded"; keys: readonly string[] }
      /** Now and then: counts of minutes that are over, and what the journal could not take. */
      | { type: "tick"; journalAvailable: boolean }
      /** So many commands of a flood were not looked at; `about`: null for targets that do not exist. `id`: of their one result. */
      | {
          type: "surplus";
          about: Addressed | null;
          id: string;
          reason: "overloaded" | "before_sending";
          count: number;
          /** Those of the first that came with one. */
          ids: readonly string[];
        }
      | { type: "woke" }
      | { type: "closing" }
    >;

export type Effect =
  | (Asking & Question)
  | Readonly<
      /** `result` once it is done. */
      | { type: "phase"; command: Command; phase: Phase; result?: CommandResult }
      /** Not waited for; of the lane `key`, empty for none. `quiet`: a journal that cannot write says enough by itself. */
      | { type: "note"; key: string; record: RecordBody; durable: boolean; quiet: boolean }
      /** That answer is not awaited any more. */
      | { type: "forget"; token: number }
      /** A POST begins, or has ended: a read begun before this changes nothing. */
      | { type: "posted"; command: Command; between: BetweenSteps | null }
      /** No further step follows: what is read shows again. `degree` is the one that was confirmed. */
      | { type: "steps_ended"; command: Command; degree: number | null; word: string | null }
      /** A value was pushed after the last read of a command that has ended. */
      | { type: "pushed"; command: Command; address: string; raw: RawValue }
      | { type: "taken"; command: Command }
      | { type: "ended"; result: CommandResult }
      | { type: "counted"; count: Counted }
      /** `sequence` is the journal's number of the result; null when it could not be journaled or was only counted. */
      | {
          type: "result";
          result: CommandResult;
          about: ResultAddressee;
          sequence: number | null;
          isRefusal: boolean;
        }
      | { type: "problem"; code: string; open: readonly CommandProblem[] }
      | { type: "event"; event: BridgeEvent }
      /** What limits the lane has changed, or time alone has, so that people may see something else of it. */
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

/** What is looked at outside of the book, as it is at the moment of an input. */
export interface Environment extends Now {
  /** Since when the process has run without standing still, monotonic ms; -Infinity for always. */
  readonly awakeSince: number;
  /** What is in force by now, whatever was when a command was taken. */
  readonly rules: Pick<CommandRules, "read_only" | "readOnlyForRules" | "readOnlyBecause" | "dry_run">;
  /** What the mirror shows of a controller, by its topic id or its code. */
  readonly controller: (idOrCode: string) => Controller | undefined;
  /** How far the platform's clock is ahead, ms; null while that is not known. */
  readonly skewMs: number | null;
  /** Whether the bridge has begun to send what rules ask for. */
  readonly mayRulesSend: boolean;
}

export const laneKey = ({ code, target, targetId }: Target) => `${code} ${target} ${targetId}`;

/** The target of a lane. Of the three parts a device code alone may have blanks in it. */
export function targetOfLane(key: string): Target {
  const parts = key.split(" ");
  const [target, targetId = ""] = parts.splice(-2);
  return { code: parts.join(" "), target: target as Target["target"], targetId };
}

/** The same target in the journal's words. */
export const aboutOf = ({ code, targetId, target }: Target) => ({
  controller: code,
  actuator: targetId,
  target,
});

/** What the journal's records of one command begin with. */
export const recordOf = (command: Target & Pick<Command, "id">) => ({ ...aboutOf(command), id: command.id });

type Draft<Value> = { -readonly [Part in keyof Value]: Value[Part] };

/**
 * One call of `step`: the book as it becomes, the lane of it that is dealt with, and what is to be done. Both are copies whose
 * parts are replaced, never changed.
 */
export interface Turn {
  readonly book: Draft<Book>;
  key: string;
  lane: Draft<Lane>;
  readonly effects: Effect[];
  readonly now: Environment;
  readonly limits: LimitSettings;
  /** Lanes of which something may have changed that they must remember. */
  readonly touched: Set<string>;
  /** Of what limits these lanes, what the disk has, or is being brought to it beside this turn. */
  readonly onDisk: Map<string, Entry | null>;
  /** When the first of the lanes dealt with wants to be woken; Infinity for none. */
  wakeAt: number;
  /** What became of the input, where that is asked at once. */
  answer: StepAnswer | null;
}

/** Whether a request was taken, or a POST may leave. */
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

/** How far a command has come whose turn has just come. */
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

/** Asks the world outside; the number by which its answer is known. A question is made for this call, so it becomes the effect itself. */
export function ask(turn: Turn, question: Question, key = turn.key): number {
  const token = turn.book.asked + 1;
  turn.book.asked = token;
  turn.effects.push(Object.assign(question, { key, token }));
  return token;
}

/** The command goes on to this stage, in the place that it has. */
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

/** Journals what nothing waits for. */
export function note(
  turn: Turn,
  record: RecordBody,
  { durable = false, quiet = false }: { readonly durable?: boolean; readonly quiet?: boolean } = {},
): void {
  turn.effects.push({ type: "note", key: turn.key, record, durable, quiet });
}

/** Commands taken and not ended. */
export const openCommands = ({ running, confirming, waiting, stop }: Lane): readonly Command[] =>
  [running?.command, confirming?.command, ...waiting, stop].flatMap((one) => one ?? []);

export const isOpen = ({ running, confirming, waiting, stop }: Lane): boolean =>
  running !== null || confirming !== null || stop !== null || waiting.length > 0;

/** Raises an event. */
export function raiseEvent(turn: Turn, event: Omit<BridgeEvent, "at">): void {
  turn.effects.push({ type: "event", event: { ...event, at: turn.now.at } });
}
