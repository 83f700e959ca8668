import type { StepReport } from "../greenhouse/command/outcomes.js";
import type { Step } from "../greenhouse/command/plan.js";
import type { BetweenSteps } from "../greenhouse/model.js";
import type { PlatformErrorFacts, RawValue, WriteAccepted } from "../greenhouse/ports.js";
import type { CommandTaken, RecordBody } from "../journal/records.js";
import type { Command, Phase } from "./command.js";
import type { ReadBack } from "./confirm.js";
import type { Ending, SentSoFar } from "./report.js";

/*
 * The state of all commands, as data. `step` in lane.ts folds one input into one actuator's lane and says what is to be
 * done; perform.ts does it and feeds the answers back. All instants are monotonic ms.
 */

/** The commands of one actuator, over all its addresses. */
export interface Lane {
  /** Being checked or sent; one at a time. */
  readonly running: Run | null;
  /** Everything was sent; read back until it shows, or a newer one is about to POST. */
  readonly confirming: Run | null;
  /** Oldest first; the newest goes next. */
  readonly waiting: readonly Command[];
  /** How many of those that wait were passed over: they go only where the newer one ends without being sent. */
  readonly passedOver: number;
  readonly stop: Command | null;
  readonly posts: Posts;
  /** Confirmed and still travelling. */
  readonly held: Held | null;
  readonly closed: boolean;
  /** Numbers the questions asked, so that an answer nobody waits for any more is known. */
  readonly asked: number;
}

export type HeldCommand = Pick<Command, "id" | "code" | "controllerId" | "target" | "targetId" | "settings">;

/** A confirmed command whose address is read once more when its travel time is over. */
export interface Held {
  readonly command: HeldCommand;
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
  /** As they were when it began. */
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

/** Where a command is. */
export type Stage =
  | { readonly at: "connection"; readonly token: number }
  | {
      readonly at: "checking";
      readonly token: number;
      readonly address: string;
      readonly left: readonly string[];
      readonly fresh: ReadonlyMap<string, RawValue>;
    }
  /** Checked; the journal has not said yet that it has on disk that the command is sent. A stop waits until then at most. */
  | { readonly at: "journal"; readonly token: number; readonly until: number | null }
  | { readonly at: "posting"; readonly token: number; readonly attempt: Attempt }
  | { readonly at: "confirming"; readonly readBack: ReadBack; readonly after: Confirming }
  /** A rejection is told together with one read of what the register holds now. */
  | { readonly at: "last_look"; readonly token: number; readonly end: StepEnd }
  | { readonly at: "unclear"; readonly until: number; readonly token: number | null; readonly first: First }
  | { readonly at: "renewing"; readonly token: number; readonly first: Refused }
  | { readonly at: "renewed"; readonly until: number; readonly token: number | null; readonly first: Refused }
  | {
      readonly at: "recovering";
      readonly readBack: ReadBack;
      readonly interrupted: Interrupted;
    }
  /** A stop with an address of its own was confirmed; what the state is now has to be read. */
  | {
      readonly at: "stopped";
      readonly token: number;
      readonly left: readonly string[];
      readonly ending: Ending;
    };

export interface Attempt {
  readonly nth: 1 | 2;
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

export interface Confirming {
  readonly facts: Evidence;
  readonly otherwise: "unconfirmed" | "failed";
  /** A read later than the POST, from before the reading back; it tells what happened when nothing can be read any more. */
  readonly earlierRead: RawValue | null;
}

export type Read =
  | { readonly type: "value"; readonly raw: RawValue; readonly startedMono: number }
  /** Answered, but without this address. */
  | { readonly type: "absent" }
  | { readonly type: "unanswered"; readonly reason: string; readonly facts: PlatformErrorFacts | null };

export type Connection =
  | { readonly type: "online" | "offline" | "unknown" }
  | { readonly type: "unanswered"; readonly reason: string; readonly facts: PlatformErrorFacts | null };

export type Answer =
  | { readonly type: "accepted"; readonly answer: WriteAccepted }
  | { readonly type: "error"; readonly message: string; readonly facts: PlatformErrorFacts };

export type Input =
  | { readonly type: "asked"; readonly command: Command }
  /** What an earlier run left open. */
  | { readonly type: "interrupted"; readonly one: Interrupted }
  /** Confirmed by an earlier run, which had not looked again. */
  | { readonly type: "holding"; readonly command: HeldCommand; readonly step: Step }
  | { readonly type: "connection"; readonly token: number; readonly connection: Connection }
  | { readonly type: "read"; readonly token: number; readonly address: string; readonly read: Read }
  /** `problem` is null once the record is on disk. */
  | { readonly type: "journaled"; readonly token: number; readonly problem: string | null }
  | {
      readonly type: "answered";
      readonly token: number;
      readonly answer: Answer;
      /** What the mirror held of the address when the POST began. */
      readonly before: RawValue | null;
    }
  | { readonly type: "renewed"; readonly token: number; readonly isNew: boolean }
  | { readonly type: "pushed"; readonly address: string; readonly raw: RawValue }
  /** An effect could not be carried out for a reason of ours. */
  | { readonly type: "defect"; readonly token: number }
  | { readonly type: "woke" }
  | { readonly type: "closing" };

export type Effect =
  | { readonly type: "connection"; readonly token: number; readonly command: Command }
  | {
      readonly type: "read";
      readonly token: number;
      readonly command: Pick<Command, "code">;
      readonly address: string;
    }
  /** Nobody waits for that answer any more. */
  | { readonly type: "forget"; readonly token: number }
  | {
      readonly type: "journal";
      readonly record: RecordBody;
      /** Goes before it where the journal does not know the command, as it could not write when the command came. */
      readonly unlessOpen?: CommandTaken;
      readonly durable: boolean;
      readonly token: number | null;
    }
  | {
      readonly type: "post";
      readonly token: number;
      readonly command: Command;
      readonly step: Step;
    }
  | { readonly type: "renew"; readonly token: number }
  /** A POST begins, or has ended: a read begun before this changes nothing. */
  | { readonly type: "posted"; readonly command: Command; readonly between: BetweenSteps | null }
  /** No further step follows: what is read shows again. */
  | { readonly type: "steps_ended"; readonly command: Command }
  /** A value was pushed after the last read of a command that has ended. */
  | { readonly type: "unread"; readonly command: Command; readonly address: string; readonly raw: RawValue }
  /** The register shows another value than the one that was confirmed. */
  | { readonly type: "reverted"; readonly command: HeldCommand; readonly step: Step; readonly raw: RawValue }
  | { readonly type: "phase"; readonly command: Command; readonly phase: Phase }
  | { readonly type: "end"; readonly command: Command; readonly ending: Ending }
  | { readonly type: "warn"; readonly reason: string; readonly message: string };

export interface Now {
  /** Epoch ms. */
  readonly at: number;
  readonly mono: number;
}

/** One call of `step`: the lane as it becomes, and what is to be done. */
export interface Turn {
  lane: Lane;
  readonly effects: Effect[];
  readonly now: Now;
}

export const emptyLane: Lane = {
  running: null,
  confirming: null,
  waiting: [],
  passedOver: 0,
  stop: null,
  posts: { firstAt: null, stopAt: null, endedAt: null, unread: false },
  held: null,
  closed: false,
  asked: 0,
};

/** The number of the next question. */
export function ask(turn: Turn): number {
  const token = turn.lane.asked + 1;
  turn.lane = { ...turn.lane, asked: token };
  return token;
}

/** What the journal knows of a command the last run did not finish. */
export interface Interrupted {
  readonly command: Command;
  /** The last step planned: what was asked for. */
  readonly step: Step;
  /** The mode or lead-in, where it had been sent. */
  readonly earlier: readonly StepReport[];
  /** Recorded POSTs of the last step. */
  readonly attempts: number;
  /** The platform's code for the last POST; null when no answer was recorded. */
  readonly code: string | null;
  readonly requestId: string | null;
  /** Epoch ms of the last recorded POST; null when none was recorded, although one may have begun. */
  readonly sentAt: number | null;
}

/** How one step ended. */
export type StepEnd =
  | ({ readonly type: "confirmed" } & Evidence)
  | ({ readonly type: "unconfirmed" } & Evidence)
  /** Accepted or ambiguous, and nothing could be read since. */
  | ({ readonly type: "unknown" } & Evidence)
  | ({ readonly type: "rejected"; readonly unauthorized: boolean; readonly message: string } & Evidence)
  | ({ readonly type: "not_sent"; readonly message: string } & Evidence)
  /** Ambiguous, and a valid later read differs. */
  | ({ readonly type: "failed" } & Evidence)
  | ({ readonly type: "interrupted" } & Evidence);

export interface Evidence {
  readonly attempts: number;
  readonly code: string | null;
  readonly requestId: string | null;
  readonly readBack: RawValue | null;
}

interface Refusal {
  readonly message: string;
  readonly facts: PlatformErrorFacts;
}

/** Ends that need no second look: the platform said no, or nothing ever left. */
export function finalError(error: Refusal, facts: Evidence): StepEnd | null {
  const { kind, sent, code } = error.facts;
  // Also without a credential at hand: a renewed one is the one retry.
  if (kind === "unauthorized") return null;
  if (!sent) return { type: "not_sent", message: error.message, ...facts };
  return code !== undefined ? rejected(error, facts) : null;
}

export const rejected = (error: Refusal, facts: Evidence): StepEnd => ({
  type: "rejected",
  unauthorized: error.facts.kind === "unauthorized",
  message: error.message,
  ...facts,
});

export function factsOf(answer: Answer, attempts: number): Evidence {
  if (answer.type === "accepted") {
    return { attempts, code: answer.answer.code, requestId: answer.answer.requestId, readBack: null };
  }
  const { code, requestId } = answer.facts;
  return { attempts, code: code ?? null, requestId: requestId ?? null, readBack: null };
}
