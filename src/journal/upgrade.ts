import {
  isBad,
  isGood,
  isToldWhenLate,
  type Outcome,
  type StepReport,
} from "../greenhouse/command/outcomes.js";
import {
  type About,
  aboutKey,
  type Checkpoint,
  commandKey,
  type CommandTaken,
  type JournalRecord,
  type KeptLimits,
  type LimitsEntry,
  type OpenCommand,
  type PhaseEntered,
  type PlannedStep,
  type ProblemMemory,
  type Refusal,
  type RememberedLane,
  wholeAbout,
  type ResultRecord,
  type SentMemory,
  type Stamp,
  type StepAnswered,
  type StepSent,
} from "./records.js";
import { setBounded } from "../runtime/table.js";

/* What earlier versions wrote. */

/** What limits an actuator from a record on; `kept` is null for nothing. */
export interface LimitsNow extends Omit<LimitsEntry, "kept"> {
  readonly kept: KeptLimits | null;
}

/** Undefined where the record says nothing of it. Up to format 2 limits had records of their own, and one field of `phase`. */
export function limitsIn(record: JournalRecord): LimitsNow | undefined {
  if (record.type === "limits_kept") return { ...record, kept: record.kept ?? null };
  if (record.type === "phase" && record.limits !== undefined) return { ...record, kept: record.limits };
  if (!("memory" in record) || record.memory?.limits === undefined) return undefined;
  return { ...record, kept: record.memory.limits };
}

/** What limits actuators by the first line of a file. */
export const limitsCarried = ({
  lanes = [],
  limits = [],
}: Pick<Checkpoint, "lanes" | "limits">): readonly LimitsEntry[] => [
  ...limits,
  ...lanes.flatMap(({ controller, actuator, memory: { limits: kept } }) =>
    kept ? [{ controller, actuator, kept }] : [],
  ),
];

/*
 * Format 1 and before, of which 0.1.0 is: no record says what its lane must remember, so that it has to be concluded from what
 * happened. Read once: a file that is begun from then on says it itself.
 */

const mostOpen = 1_000;
const mostPerActuator = 5_000;
const mostUnsettled = 3_000;
/** The longest sentence of our own has room; what a platform says to a refusal may be of any length. */
const mostMessage = 300;

/** The last POST of one step. */
interface SentStep extends PlannedStep {
  readonly attempt: number;
  readonly sent_at: string;
  /** null until an answer or an error was recorded: it may or may not have reached the platform. */
  readonly answered: Pick<StepAnswered, "code" | "request_id" | "error"> | null;
}

/** A command that was taken and has no result. `steps` are in the order sent; empty means that nothing was. */
interface EarlierOpen {
  readonly taken: CommandTaken;
  readonly phase: string | null;
  readonly steps: readonly SentStep[];
}

interface AboutCommand extends Required<About> {
  readonly id: string;
}

/** An actuator whose last POST no later read has shown yet. */
interface UnreadPost extends Required<About> {
  /** An earlier POST had not been read back either, so this one not having been sent settles nothing. */
  readonly earlier: boolean;
}

/** The newest sent command of a target, where its value may still come, or be set back. */
interface Unsettled extends AboutCommand {
  readonly word: string;
  /** The last one. */
  readonly step: PlannedStep;
  /** `confirmed`, or a bad one. */
  readonly outcome: Outcome;
  readonly reason?: string | null;
  /** When its result was journaled. */
  readonly at: string;
}

interface Problem extends AboutCommand {
  readonly command?: string | null;
  readonly message?: string | null;
  readonly outcome: Outcome;
  readonly reason: string | null;
  readonly finished_at: string;
}

/** How the first line of a file said what older ones had to say. */
interface EarlierCheckpoint {
  readonly open: readonly EarlierOpen[];
  readonly unread?: readonly UnreadPost[];
  readonly problems?: readonly Problem[];
  readonly unsettled?: readonly Unsettled[];
}

/** What the records of earlier versions mean for the next start. */
export class EarlierHistory {
  readonly #open = new Map<string, EarlierOpen>();
  readonly #unread = new Map<string, UnreadPost>();
  readonly #problems = new Map<string, Problem>();
  readonly #unsettled = new Map<string, Unsettled>();

  get open(): readonly OpenCommand[] {
    return [...this.#open.values()].map((one) => ({ taken: one.taken, sent: sentOf(one) }));
  }

  get lanes(): readonly RememberedLane[] {
    const keys = new Set([...this.#unread.keys(), ...this.#problems.keys(), ...this.#unsettled.keys()]);
    return [...keys].flatMap((key) => {
      const unread = this.#unread.get(key);
      const problem = this.#problems.get(key);
      const unsettled = this.#unsettled.get(key);
      const about = unread ?? problem ?? unsettled;
      if (about === undefined) return [];
      const memory = {
        ...(unread && { unread: true as const }),
        ...(problem && { problem: problemOf(problem) }),
        ...(unsettled && lookedForOf(unsettled)),
      };
      return { ...wholeAbout(about), memory };
    });
  }

  add(record: JournalRecord): void {
    const { type } = record;
    if (type === "command_taken") this.#addTaken(record);
    else if (type === "phase") this.#enter(record);
    else if (type === "step_sent") this.#addSent(record);
    else if (type === "step_answered") this.#addAnswer(record);
    else if (type === "read_back") {
      this.#unread.delete(aboutKey(record));
      this.#settle(record);
    } else if (type === "result") this.#addResult(record);
    else if (type === "refusal") this.#addRefusal(record);
    else if (type === "carried") this.#restore(record as unknown as EarlierCheckpoint);
    else if (type === "confirmed_late") {
      this.#unread.delete(aboutKey(record));
      this.#problems.delete(aboutKey(record));
      this.#settle(record);
    } else if (type === "reverted") {
      this.#settle(record);
      const { id, at: finished_at, message = null } = record;
      const why = { command: null, outcome: "confirmed", reason: "reverted", message } as const;
      this.#addProblem({ ...wholeAbout(record), id, ...why, finished_at });
    } else if (type === "acknowledged") {
      for (const [key, { controller, actuator }] of this.#problems)
        if (controller === record.controller && (record.actuator ?? actuator) === actuator)
          this.#problems.delete(key);
    }
  }

  /** A record of the lane says by itself what it must remember. */
  forget(key: string): void {
    for (const map of [this.#unread, this.#problems, this.#unsettled]) map.delete(key);
  }

  /** What was sent for an equal command before was sent for this one too. */
  #addTaken(record: Stamp & CommandTaken): void {
    const { took_over: tookOver } = record;
    const before = tookOver === undefined ? undefined : this.#open.get(commandKey(record, tookOver));
    const { phase = null, steps = [] } = before ?? {};
    setBounded(this.#open, commandKey(record, record.id), { taken: record, phase, steps }, mostOpen);
  }

  #enter(record: PhaseEntered): void {
    this.#change(record, (open) => ({ ...open, phase: record.phase }));
  }

  #change(record: About & { readonly id: string }, change: (command: EarlierOpen) => EarlierOpen): void {
    const key = commandKey(record, record.id);
    const command = this.#open.get(key);
    if (command !== undefined) this.#open.set(key, change(command));
  }

  #addSent(record: Stamp & StepSent): void {
    const { purpose, address, value, attempt, at } = record;
    const step = { purpose, address, value, attempt, sent_at: at, answered: null };
    this.#change(record, (command) => ({ ...command, steps: [...command.steps, step] }));
    const key = aboutKey(record);
    const post = { ...wholeAbout(record), earlier: this.#unread.has(key) };
    setBounded(this.#unread, key, post, mostPerActuator);
    if (this.#unsettled.get(key)?.outcome === "confirmed") this.#unsettled.delete(key);
  }

  #addAnswer(record: StepAnswered): void {
    const { address, attempt, code, request_id, error, sent } = record;
    this.#change(record, (command) => {
      const answeredAt = command.steps.findLastIndex(
        (step) => step.address === address && step.attempt === attempt && step.answered === null,
      );
      const answered = { code, request_id, error };
      const steps = command.steps.map((step, at) => (at === answeredAt ? { ...step, answered } : step));
      return { ...command, steps };
    });
    if (!sent) this.#forgetUnsent(record);
  }

  #forgetUnsent(about: About): void {
    const key = aboutKey(about);
    if (this.#unread.get(key)?.earlier === false) this.#unread.delete(key);
  }

  #addResult(record: Stamp & ResultRecord): void {
    const { id, command, outcome, reason, message, finished_at, steps } = record.result;
    const key = aboutKey(record);
    const open = this.#open.get(commandKey(record, id));
    this.#open.delete(commandKey(record, id));
    if (isGood(outcome)) this.#problems.delete(key);
    // One interrupted before anything was sent is no problem of the actuator.
    else if (isBad(outcome) && !(outcome === "failed" && steps.length === 0))
      this.#addProblem({ ...wholeAbout(record), id, command, outcome, reason, message, finished_at });
    if (restsOnRead(record.result)) this.#unread.delete(key);
    else if (reason === "not_sent") this.#forgetUnsent(record);
    // About to be sent when its run ended, and of its first POST no record.
    const unrecorded = open?.phase === "sending" && open.steps.length === 0 ? open.taken.steps[0] : undefined;
    this.#unsettle(record, unrecorded);
  }

  #unsettle(record: Stamp & ResultRecord, unrecorded?: PlannedStep): void {
    const { id, command, outcome, reason, sent_at: sentAt, steps } = record.result;
    const key = aboutKey(record);
    if (sentAt !== null) this.#unsettled.delete(key);
    const last = steps.at(-1) ?? (isBad(outcome) ? unrecorded : undefined);
    const mayCome = (sentAt !== null || unrecorded !== undefined) && isBad(outcome);
    if (last === undefined || (outcome !== "confirmed" && !mayCome)) return;
    const { purpose, address, value } = last;
    const sent = { word: command ?? value, step: { purpose, address, value } };
    const open = { ...wholeAbout(record), id, ...sent, outcome, reason, at: record.at };
    setBounded(this.#unsettled, key, open, mostUnsettled);
  }

  /** Its value came, or was looked at again. */
  #settle(record: About & { readonly id: string | null }): void {
    const key = aboutKey(record);
    if (this.#unsettled.get(key)?.id === record.id) this.#unsettled.delete(key);
  }

  #addProblem(problem: Problem): void {
    const message = problem.message?.slice(0, mostMessage) ?? null;
    setBounded(this.#problems, aboutKey(problem), { ...problem, message }, mostPerActuator);
  }

  #addRefusal(record: Refusal): void {
    const key = commandKey(record, record.result.id);
    if (record.result.reason === "journal_unavailable" && this.#open.get(key)?.steps.length === 0)
      this.#open.delete(key);
  }

  #restore({ open, unread = [], problems = [], unsettled = [] }: EarlierCheckpoint): void {
    for (const map of [this.#open, this.#unread, this.#problems, this.#unsettled]) map.clear();
    for (const command of open) this.#open.set(commandKey(command.taken, command.taken.id), command);
    for (const post of unread) this.#unread.set(aboutKey(post), post);
    for (const problem of problems) this.#problems.set(aboutKey(problem), problem);
    for (const one of unsettled) this.#unsettled.set(aboutKey(one), one);
  }
}

/** Whether the outcome rests on a valid read after the last POST. */
function restsOnRead({ outcome, read_back, reason }: ResultRecord["result"]): boolean {
  if (outcome === "rejected" || outcome === "failed") return read_back !== null && reason !== "not_sent";
  return isGood(outcome) || outcome === "unconfirmed";
}

/** `sending` is on disk before the first POST; of a dry run, which is checked alone, nothing follows. */
function sentOf({ taken, phase, steps }: EarlierOpen): SentMemory | null {
  if (phase !== "sending" && steps.length === 0) return null;
  const answered = steps.at(-1)?.answered ?? null;
  return {
    id: taken.id,
    steps: newestOfEach(steps).map(reportOf),
    is_accepted: answered !== null && answered.error === null,
    request_id: answered?.request_id ?? null,
    sent_at: steps[0]?.sent_at ?? null,
  };
}

/** Of a step that was sent twice the second one. */
const newestOfEach = (steps: readonly SentStep[]): readonly SentStep[] =>
  steps.filter(
    ({ address, value, purpose }, place) =>
      !steps
        .slice(place + 1)
        .some((later) => later.address === address && later.value === value && later.purpose === purpose),
  );

const reportOf = ({ purpose, address, value, attempt, answered }: SentStep): StepReport => ({
  purpose,
  address,
  value,
  attempts: attempt,
  code: answered?.code ?? null,
  read_back: null,
});

function problemOf(problem: Problem): ProblemMemory {
  const { command = null, message = null, outcome, reason, finished_at: at } = problem;
  const ended = reason === "reverted" ? { outcome: reason, reason: null } : { outcome, reason };
  return { command, ...ended, message, at };
}

function lookedForOf({ id, word, step, outcome, reason = null, at }: Unsettled): RememberedLane["memory"] {
  const look = { id, step, ended_at: at };
  if (outcome === "confirmed") return { second_look: look };
  const isTaken = outcome === "unknown" || outcome === "unconfirmed";
  return { awaited: { ...look, word, is_told: isToldWhenLate({ outcome, reason }), is_taken: isTaken } };
}
