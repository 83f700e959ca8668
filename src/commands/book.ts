import type { CommandResult, StepReport } from "../greenhouse/command/outcomes.js";
import type { Step } from "../greenhouse/command/plan.js";
import type { BridgeEvent } from "../greenhouse/events.js";
import type { Actuator, BetweenSteps, CommandProblem, Register } from "../greenhouse/model.js";
import type { PlatformErrorFacts, RawValue } from "../greenhouse/ports.js";
import type { CommandTaken, RecordBody } from "../journal/records.js";
import type {
  Addressed,
  Arrived,
  BookLimits,
  CommandRules,
  Command,
  Interrupted,
  PhaseNews,
  Resting,
  ResultAddressee,
  Target,
} from "./command.js";
import type { Confirming, Read, ReadBack } from "./confirm.js";
import type { Allowances, Counted, Ids, Refusals, Taken } from "./admission.js";
import type { Abandoned, Answer, Ending, Evidence, SentSoFar, StepEnd } from "./endings.js";
import { emptyTable, type Table } from "../runtime/table.js";

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
  readonly closed: boolean;
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
  /** Oldest first; the newest goes next, but while it rests what a rule sends. */
  readonly waiting: readonly Command[];
  /** How many of those that wait were passed over: they go only where the newer one ends without being sent. */
  readonly passedOver: number;
  readonly stop: Command | null;
  /** Until when the limits let the newest rest; Infinity where only an end can tell. */
  readonly pausedUntil: number | null;
  readonly posts: Posts;
  /** Confirmed and still travelling. */
  readonly secondLook: SecondLook | null;
  /** The newest command taken. */
  readonly newest: Taken | null;
  /** Sent, ended unconfirmed, and may still come. */
  readonly awaited: Awaited | null;
  /** What the actuator was last known to rest at. */
  readonly resting: Resting | null;
}

export type SentCommand = Addressed & Pick<Command, "id" | "settings">;

/** A value of ours that ended unconfirmed and may still come. */
export interface Awaited {
  readonly command: SentCommand;
  /** The command's word or degree. */
  readonly word: string;
  readonly step: Step;
}

/** A result, from its command's end until everybody was told and the journal has it. */
export interface PendingResult {
  readonly about: ResultAddressee;
  readonly result: CommandResult;
  /** The one of a refused request is told whatever the journal does, and not written again. */
  readonly isRefusal: boolean;
  /** A stop is told also where the journal refuses it. */
  readonly isUrgent: boolean;
  readonly isTold: boolean;
  /** The journal has been asked to take it and has not answered. */
  readonly isWriting: boolean;
}

/** A confirmed command whose address is read once more when its travel time is over. */
export interface SecondLook {
  readonly command: SentCommand;
  readonly step: Step;
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

/** A command on its way. */
export interface Run {
  readonly command: Command;
  /** As they were when it began; not read back counts also what was confirming then. */
  readonly posts: Posts;
  readonly steps: readonly Step[];
  readonly place: number;
  readonly reports: readonly StepReport[];
  /** Epoch ms of the first POST. */
  readonly sentAt: number | null;
  readonly posted: boolean;
  /** Given up for a newer command, a stop or the end of the program; a POST in flight is let end first. */
  readonly cut: boolean;
  readonly stage: Stage;
  /** Who took over the read-backs, when an equal command came. */
  readonly heir: Command | null;
  /** Whether one may: not where nothing was sent that could be read back. */
  readonly hasHeirs: boolean;
  readonly soFar: SentSoFar;
}

/** Where a command can be, and what is known there. */
interface Stages {
  connection: { readonly token: number };
  checking: {
    readonly token: number;
    readonly address: string;
    readonly left: readonly string[];
    readonly fresh: Readonly<Record<string, RawValue>>;
  };
  /** Checked; the journal has not said yet that it has on disk that the command is sent. A stop, and what a rule sends, wait until then at most. */
  journal: { readonly token: number; readonly until: number | null };
  posting: { readonly token: number; readonly attempt: Attempt };
  confirming: { readonly readBack: ReadBack; readonly after: Confirming };
  /** A rejection is told together with one read of what the register holds now. */
  last_look: { readonly token: number; readonly end: StepEnd };
  unclear: { readonly until: number; readonly token: number | null; readonly first: First };
  renewing: { readonly token: number; readonly first: Refused };
  renewed: { readonly until: number; readonly token: number | null; readonly first: Refused };
  /** A stop with an address of its own was confirmed; what the state is now has to be read. */
  stopped: { readonly token: number; readonly left: readonly string[]; readonly ending: Ending };
}

export type Stage<Name extends keyof Stages = keyof Stages> = {
  [At in Name]: { readonly at: At } & Stages[At];
}[Name];

/** A command that is there. */
export type At<Name extends keyof Stages> = Run & { readonly stage: Stage<Name> };

export interface Attempt {
  readonly nth: 1 | 2;
  /** Whether an earlier POST to the actuator had not been read back. */
  readonly unread: boolean;
  /** What the register held before the first POST of this step. */
  readonly before: RawValue | null;
  /** The last read before a second POST. */
  readonly readBack: RawValue | null;
  /** The step's end should a second POST never leave; null when the first may have been taken all the same. */
  readonly ifUnsent: StepEnd | null;
}

/** What the first POST came to. */
export interface First {
  readonly facts: Evidence;
  readonly endedAt: number;
  readonly before: RawValue | null;
}

export interface Refused extends First {
  readonly sent: boolean;
  readonly end: StepEnd;
}

export type Connection =
  | { readonly type: "online" | "offline" | "unknown" }
  | { readonly type: "unanswered"; readonly reason: string; readonly facts: PlatformErrorFacts | null };

/** Questions to the world outside; the answer brings the number back. */
interface Questions {
  connection: { readonly command: Command };
  read: { readonly command: Pick<Command, "code">; readonly address: string };
  post: { readonly command: Command; readonly step: Step };
  renew: object;
  journal: {
    readonly record: RecordBody;
    /** Goes before it where the journal does not know the command, as it could not write when the command came. */
    readonly unlessOpen?: CommandTaken;
    /** It is about to be sent: what the limits have to know goes to the disk with it. */
    readonly sending?: Command;
    readonly durable: boolean;
  };
}

/** One of a family, by its `type`. */
type OneOf<All, Name extends keyof All = keyof All> = {
  [Type in Name]: { readonly type: Type } & All[Type];
}[Name];

interface Asking {
  /** The lane that asks; of an outcome none. */
  readonly key: string;
  readonly token: number;
}

/** Answers to the commands on their way. */
interface Answers {
  connection: { readonly connection: Connection };
  read: { readonly address: string; readonly read: Read };
  /** `before` is what the mirror held of the address when the POST began. */
  answered: { readonly answer: Answer; readonly before: RawValue | null };
  renewed: { readonly isNew: boolean };
  /** A question could not be asked for a reason of ours. */
  defect: object;
}

type Journaled =
  | { readonly sequence: number }
  | {
      readonly sequence: null;
      readonly problem: string;
      /** Whether the journal holds the command without a result, so that a next start would end it. */
      readonly isOpen: boolean;
    };

/** What concerns one lane. */
interface LaneInputs extends Asked<Answers> {
  /** What an earlier run left open. */
  interrupted: { readonly one: Interrupted };
  /** Confirmed by an earlier run, which had not looked again. */
  second_look: { readonly command: SentCommand; readonly step: Step };
  /** Sent by an earlier run, and not seen when its command ended. */
  awaiting: { readonly awaited: Awaited };
  /** Its last POST of an earlier run was not read back. */
  unread: object;
  /** The limits have changed: what waits is judged anew. */
  limits_changed: object;
  /** What a read has shown of the target. */
  shown: { readonly about: Addressed; readonly target: Actuator | Register };
  journaled: Asking & Journaled;
  pushed: { readonly address: string; readonly raw: RawValue };
}

type Asked<All> = { [Type in keyof All]: Asking & All[Type] };

export type LaneInput<Name extends keyof LaneInputs = keyof LaneInputs> = OneOf<LaneInputs, Name>;
export type AnswerInput = LaneInput<keyof Answers>;

interface BookInputs {
  asked: { readonly arrived: Arrived };
  acknowledged: { readonly code: string; readonly actuator: string | null };
  /** A controller's flag has to be shown, also when it was only just admitted. */
  admitted: { readonly code: string };
  /** Ended badly in an earlier run. */
  problem: { readonly about: Target; readonly why: ProblemReason };
  /** Of an earlier run, by which a repeated id is still recognised. */
  ended_before: { readonly about: Target; readonly result: CommandResult; readonly agoMs: number };
  abandoned: { readonly one: Abandoned };
  /** Now and then: counts of minutes that are over, and what the journal could not take. */
  tick: { readonly journalAvailable: boolean };
  woke: object;
  closing: object;
}

export type BookInput<Name extends keyof BookInputs = keyof BookInputs> = OneOf<BookInputs, Name>;
export type Input = ({ readonly key: string } & LaneInput) | BookInput;

interface Effects extends Asked<Questions> {
  /** Not waited for. `quiet`: a journal that cannot write says enough by itself. */
  note: { readonly record: RecordBody; readonly durable: boolean; readonly quiet: boolean };
  /** That answer is not awaited any more. */
  forget: { readonly token: number };
  /** A POST begins, or has ended: a read begun before this changes nothing. */
  posted: { readonly command: Command; readonly between: BetweenSteps | null };
  /** No further step follows: what is read shows again. */
  steps_ended: { readonly command: Command };
  /** A value was pushed after the last read of a command that has ended. */
  pushed: { readonly command: Command; readonly address: string; readonly raw: RawValue };
  phase: PhaseNews;
  taken: { readonly command: Command };
  ended: { readonly result: CommandResult };
  counted: { readonly count: Omit<Counted, "minute"> };
  /** `sequence` is the journal's number of the result; null when it could not be journaled or was only counted. */
  result: {
    readonly result: CommandResult;
    readonly about: ResultAddressee;
    readonly sequence: number | null;
  };
  problem: { readonly code: string; readonly open: readonly CommandProblem[] };
  event: { readonly event: BridgeEvent };
  warn: { readonly reason: string; readonly message: string };
}

export type EffectType = keyof Effects;
export type Effect<Name extends EffectType = EffectType> = OneOf<Effects, Name>;

export interface Now {
  /** Epoch ms. */
  readonly at: number;
  readonly mono: number;
  /** What is in force by now, whatever was when a command was taken. */
  readonly rules?: Pick<CommandRules, "read_only" | "dry_run">;
}

/** The book as it becomes; its tables are replaced, never changed. */
type BookDraft = { -readonly [Part in keyof Book]: Book[Part] };

/** One call of `step`: the book as it becomes, the lane of it that is dealt with, and what is to be done. */
export interface Turn {
  readonly book: BookDraft;
  key: string;
  lane: Lane;
  readonly effects: Effect[];
  readonly now: Now;
  readonly limits: BookLimits;
}

export const emptyLane: Lane = {
  running: null,
  confirming: null,
  waiting: [],
  passedOver: 0,
  stop: null,
  pausedUntil: null,
  posts: { firstAt: null, stopAt: null, endedAt: null, unread: false },
  secondLook: null,
  newest: null,
  awaited: null,
  resting: null,
};

export const emptyBook: Book = {
  lanes: emptyTable,
  busy: emptyTable,
  ids: { young: emptyTable, old: emptyTable, since: 0 },
  allowances: { configured: emptyTable, addresses: emptyTable, stops: emptyTable },
  refusals: { minute: 0, journaled: emptyTable, counted: emptyTable },
  outcomes: emptyTable,
  problems: emptyTable,
  asked: 0,
  closed: false,
};

/** Asks the world outside; the number by which its answer is known. A question is made for this call, so it becomes the effect itself. */
export function ask(turn: Turn, question: OneOf<Questions>, key = turn.key): number {
  const token = turn.book.asked + 1;
  turn.book.asked = token;
  turn.effects.push(Object.assign(question, { key, token }));
  return token;
}

/** Journals what nothing waits for. */
export function note(
  turn: Turn,
  record: RecordBody,
  { durable = false, quiet = false }: { readonly durable?: boolean; readonly quiet?: boolean } = {},
): void {
  turn.effects.push({ type: "note", record, durable, quiet });
}

/** Commands taken and not ended. */
export const openCommands = ({ running, confirming, waiting, stop }: Lane): readonly Command[] =>
  [running?.heir ?? running?.command, confirming?.heir ?? confirming?.command, ...waiting, stop].flatMap(
    (one) => one ?? [],
  );

export const isOpen = (lane: Lane): boolean => openCommands(lane).length > 0;

/** Raises an event. */
export function tell(turn: Turn, event: Omit<BridgeEvent, "at">): void {
  turn.effects.push({ type: "event", event: { ...event, at: turn.now.at } });
}
