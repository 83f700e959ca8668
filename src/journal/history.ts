import type { CommandResult, Outcome } from "../greenhouse/command/outcomes.js";
import type { Alarm } from "../greenhouse/limits.js";
import {
  type About,
  aboutKey,
  commandKey,
  type CommandTaken,
  type CommandTarget,
  type HistoryParts,
  type JournalRecord,
  type LimitsEntry,
  type OpenCommand,
  type PhaseEntered,
  type PlannedStep,
  type Problem,
  type RecordedStart,
  type Refusal,
  type ResultRecord,
  runEvents,
  type Stamp,
  type StepAnswered,
  type StepSent,
  type UnreadPost,
  type Unsettled,
} from "./records.js";

const mostOpen = 1_000;
const mostPerActuator = 5_000;
const mostUnsettled = 3_000;
const mostStarts = 20;
/** The longest sentence of our own has room; what a platform says to a refusal may be of any length. */
const mostMessage = 300;
const mostVersion = 60;
/** More ids than this among the recent commands means a flood; the oldest are forgotten. */
const mostRecent = 50_000;

/** Sets and keeps the newest `most` entries, so that nothing grows without end. */
function setBounded<T>(map: Map<string, T>, key: string, value: T, most: number): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > most && oldest !== undefined) map.delete(oldest);
}

const required = ({ controller, actuator, target = "actuator" }: About): Required<About> => ({
  controller,
  actuator,
  target,
});

const bad: ReadonlySet<Outcome> = new Set(["rejected", "unconfirmed", "failed", "unknown"]);

/**
 * What a restarted bridge must know: which commands were interrupted, which POSTs were not read back, which actuators
 * have a problem, which values may still come or be set back. Every record passes through it; most types say nothing that outlives them.
 */
export class History {
  readonly #open = new Map<string, OpenCommand>();
  readonly #unread = new Map<string, UnreadPost>();
  readonly #problems = new Map<string, Problem>();
  readonly #unsettled = new Map<string, Unsettled>();
  readonly #limits = new Map<string, LimitsEntry>();
  readonly #alarms = new Map<string, Alarm>();
  #starts: readonly RecordedStart[] = [];
  /** Epoch ms of the newest record, by the clock that wrote it. */
  newestAt = 0;

  /** A copy that later records do not change. */
  parts(): HistoryParts {
    return {
      open: [...this.#open.values()],
      unread: [...this.#unread.values()],
      problems: [...this.#problems.values()],
      starts: this.#starts,
      limits: [...this.#limits.values()],
      alarms: [...this.#alarms.values()],
      unsettled: [...this.#unsettled.values()],
    };
  }

  /** Whether a command was taken and has no result. */
  isOpen(about: About, id: string): boolean {
    return this.#open.has(commandKey(about, id));
  }

  add(record: JournalRecord): void {
    const { type } = record;
    this.newestAt = Math.max(this.newestAt, Date.parse(record.at) || 0);
    this.#starts = startsAfter(this.#starts, record);
    if (type === "command_taken") this.#addTaken(record);
    else if (type === "phase") this.#enter(record);
    else if (type === "step_sent") this.#addSent(record);
    else if (type === "step_answered") this.#addAnswer(record);
    else if (type === "read_back") {
      this.#unread.delete(aboutKey(record));
      this.#settle(record);
    } else if (type === "result") this.#addResult(record);
    else if (type === "refusal") this.#addRefusal(record);
    else if (type === "carried") this.#restore(record);
    else if (type === "limits_kept") this.#keep(record, record.kept);
    else if (type === "alarm_kept" && record.alarm === null) this.#alarms.delete(record.name);
    else if (type === "alarm_kept" && record.alarm !== null)
      setBounded(this.#alarms, record.name, record.alarm, mostPerActuator);
    else if (type === "confirmed_late") {
      this.#unread.delete(aboutKey(record));
      this.#problems.delete(aboutKey(record));
      this.#settle(record);
    } else if (type === "reverted") {
      this.#settle(record);
      const { id, at: finished_at, message = null } = record;
      const why = { command: null, outcome: "confirmed", reason: "reverted", message } as const;
      this.#addProblem({ ...required(record), id, ...why, finished_at });
    } else if (type === "acknowledged") {
      for (const [key, { controller, actuator }] of this.#problems)
        if (controller === record.controller && (record.actuator ?? actuator) === actuator)
          this.#problems.delete(key);
    }
  }

  /** What was sent for an equal command before was sent for this one too. */
  #addTaken(record: Stamp & CommandTaken): void {
    const { type, ...stamped } = record;
    const { took_over: tookOver, at, boot } = stamped;
    const before = tookOver === undefined ? undefined : this.#open.get(commandKey(record, tookOver));
    const { phase = null, steps = [] } = before ?? {};
    // It is written again inside another record, where it must not look like the start of a line.
    const taken = { type, ...stamped };
    const command = { taken, taken_at: at, boot, phase, steps };
    setBounded(this.#open, commandKey(record, record.id), command, mostOpen);
  }

  /** What is sent changes in the same breath what limits its actuator. */
  #enter({ limits: kept, ...record }: PhaseEntered): void {
    this.#change(record, (open) => ({ ...open, phase: record.phase }));
    if (kept !== undefined) this.#keep(record, kept);
  }

  #change(record: About & { readonly id: string }, change: (command: OpenCommand) => OpenCommand): void {
    const key = commandKey(record, record.id);
    const command = this.#open.get(key);
    if (command !== undefined) this.#open.set(key, change(command));
  }

  #addSent(record: Stamp & StepSent): void {
    const { id, purpose, address, value, attempt, at } = record;
    const step = { purpose, address, value, attempt, sent_at: at, answered: null };
    this.#change(record, (command) => ({ ...command, steps: [...command.steps, step] }));
    const key = aboutKey(record);
    const post = { ...required(record), id, address, value, sent_at: at, earlier: this.#unread.has(key) };
    setBounded(this.#unread, key, post, mostPerActuator);
    if (this.#unsettled.get(key)?.outcome === "confirmed") this.#unsettled.delete(key);
  }

  #addAnswer(record: StepAnswered): void {
    const { address, attempt, code, request_id, error, sent } = record;
    this.#change(record, (command) => {
      const answeredAt = command.steps.findLastIndex(
        (step) => step.address === address && step.attempt === attempt && step.answered === null,
      );
      const answered = { code, request_id, error, sent };
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
    if (outcome === "confirmed" || outcome === "already") this.#problems.delete(key);
    // One interrupted before anything was sent is no problem of the actuator.
    else if (bad.has(outcome) && !(outcome === "failed" && steps.length === 0))
      this.#addProblem({ ...required(record), id, command, outcome, reason, message, finished_at });
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
    const last = steps.at(-1) ?? (bad.has(outcome) ? unrecorded : undefined);
    const mayCome = (sentAt !== null || unrecorded !== undefined) && bad.has(outcome);
    if (last === undefined || (outcome !== "confirmed" && !mayCome)) return;
    const { purpose, address, value } = last;
    const sent = { word: command ?? value, step: { purpose, address, value } };
    const open = { ...required(record), id, ...sent, outcome, reason, at: record.at };
    setBounded(this.#unsettled, key, open, mostUnsettled);
  }

  /** Its value came, or was looked at again. */
  #settle(record: About & { readonly id: string | null }): void {
    const key = aboutKey(record);
    if (this.#unsettled.get(key)?.id === record.id) this.#unsettled.delete(key);
  }

  #keep({ controller, actuator }: About, kept: LimitsEntry["kept"] | null): void {
    const key = aboutKey({ controller, actuator });
    if (kept === null) this.#limits.delete(key);
    // As many as there are actuators, all of them: what is in force must not be forgotten over a restart.
    else this.#limits.set(key, { controller, actuator, kept });
  }

  #addProblem(problem: Problem): void {
    const message = problem.message?.slice(0, mostMessage) ?? null;
    setBounded(this.#problems, aboutKey(problem), { ...problem, message }, mostPerActuator);
  }

  /** A command refused because its own record could not be made durable may nevertheless have left that record behind. */
  #addRefusal(record: Refusal): void {
    const key = commandKey(record, record.result.id);
    if (record.result.reason === "journal_unavailable" && this.#open.get(key)?.steps.length === 0)
      this.#open.delete(key);
  }

  #restore(carried: HistoryParts): void {
    const { limits = [], alarms = [], unsettled = [] } = carried;
    const maps = [this.#open, this.#unread, this.#problems, this.#unsettled, this.#limits, this.#alarms];
    for (const map of maps) map.clear();
    for (const command of carried.open) this.#open.set(commandKey(command.taken, command.taken.id), command);
    for (const post of carried.unread) this.#unread.set(aboutKey(post), post);
    for (const problem of carried.problems) this.#problems.set(aboutKey(problem), problem);
    for (const entry of limits) this.#limits.set(aboutKey(entry), entry);
    for (const alarm of alarms) this.#alarms.set(alarm.id, alarm);
    for (const one of unsettled) this.#unsettled.set(aboutKey(one), one);
    this.#starts = carried.starts;
  }
}

/** The newest starts, and how those runs went by what this record says. */
function startsAfter(starts: readonly RecordedStart[], record: JournalRecord): readonly RecordedStart[] {
  const { type, boot, at } = record;
  const ran = (run: string | undefined, how: Partial<RecordedStart>) =>
    starts.map((one) => (one.boot === run ? { ...one, ...how } : one));
  if (type === "start") {
    const version = record.version.slice(0, mostVersion);
    return [...starts, { boot, at, stopped: false, version }].slice(-mostStarts);
  }
  if (type === "stop") return ran(boot, { stopped: true });
  if (type === "result") return ran(boot, { worked: true });
  if (type !== "event") return starts;
  if (record.event === runEvents.ranWell) return ran(boot, { worked: true });
  // The next run tells it, before its own start.
  return record.event === runEvents.uncaughtError ? ran(starts.at(-1)?.boot, { failed: true }) : starts;
}

/** Whether the outcome rests on a valid read after the last POST. */
function restsOnRead({ outcome, read_back, reason }: CommandResult): boolean {
  if (outcome === "rejected" || outcome === "failed") return read_back !== null && reason !== "not_sent";
  return outcome === "confirmed" || outcome === "already" || outcome === "unconfirmed";
}

/** A command id the bridge has seen. */
export interface RecentCommand {
  readonly id: string;
  /** A sender may use one id for several targets, as a scene does: each is a command of its own. */
  readonly about: Required<About>;
  /** A refusal at the door takes nothing; a command that waited and was never sent was taken. */
  readonly isTaken: boolean;
  /** null when it ended before anything was about to be sent. */
  readonly taken: CommandTaken | null;
  /** Its first outcome; null while it is open. */
  readonly result: CommandResult | null;
}

/** Commands that came at or after `sinceMs` (epoch ms), to tell duplicates. Every record passes through it. */
export class RecentCommands {
  readonly #sinceMs: number;
  readonly #entries = new Map<string, RecentCommand & { readonly stamp: Stamp }>();
  /** Per boot: wall clock minus monotonic clock, from its newest record with a trusted clock. */
  readonly #offsets = new Map<string, number>();

  constructor(sinceMs: number) {
    this.#sinceMs = sinceMs;
  }

  list(): readonly RecentCommand[] {
    return [...this.#entries.values()].flatMap(({ stamp, ...command }) =>
      this.#timeOf(stamp) >= this.#sinceMs ? command : [],
    );
  }

  add(record: JournalRecord): void {
    if (record.clock_synced === true) this.#offsets.set(record.boot, Date.parse(record.at) - record.mono);
    if (this.#timeOf(record) < this.#sinceMs) return;
    if (record.type === "command_taken") {
      const { id } = record;
      this.#put({ id, about: required(record), isTaken: true, taken: record, result: null }, record);
    } else if (record.type === "result" || record.type === "refusal") this.#addOutcome(record);
  }

  /** The first outcome counts; the answer to a duplicate repeats the id and is not one. */
  #addOutcome(record: Stamp & (ResultRecord | Refusal)): void {
    const { result } = record;
    const isTaken = record.type === "result";
    const key = commandKey(record, result.id);
    const known = this.#entries.get(key);
    if (known === undefined || (known.result?.outcome === "refused" && isTaken))
      this.#put({ id: result.id, about: required(record), isTaken, taken: null, result }, record);
    else if (known.result === null && (isTaken || result.reason === "journal_unavailable"))
      this.#entries.set(key, { ...known, result });
  }

  #put(command: RecentCommand, stamp: Stamp): void {
    setBounded(this.#entries, commandKey(command.about, command.id), { ...command, stamp }, mostRecent);
  }

  /**
   * Epoch ms by a trusted clock. A record made before the clock was set is placed by a later one of the same boot; where
   * none exists it counts as new, because repeating a command is worse than refusing a repeat.
   */
  #timeOf(stamp: Stamp): number {
    if (stamp.clock_synced === true) return Date.parse(stamp.at);
    return (this.#offsets.get(stamp.boot) ?? Number.POSITIVE_INFINITY) + stamp.mono;
  }
}

export interface JournaledResult {
  readonly seq: number;
  readonly target: CommandTarget;
  /** False for what was refused before it was taken. */
  readonly isTaken: boolean;
  readonly result: CommandResult;
}

/**
 * Results the broker has not been known to have taken, oldest first, the newest `limit`: those after the last
 * `delivered` record. Some may have been published, so they are to be repeated as such.
 */
export function undeliveredResults(
  records: Iterable<JournalRecord>,
  limit: number,
): readonly JournaledResult[] {
  let waiting: JournaledResult[] = [];
  for (const record of records) {
    const { type, seq } = record;
    if (type === "delivered") waiting = waiting.filter((one) => one.seq > record.through);
    else if (type === "result" || (type === "refusal" && !isCut(record.result))) {
      const { target = "actuator", result } = record;
      waiting.push({ seq, target, isTaken: type === "result", result });
    }
    if (waiting.length > limit * 2) waiting = waiting.slice(-limit);
  }
  return waiting.slice(-limit);
}

/** An invented name was too long to be kept whole: where its refusal belongs is not known any more. */
const isCut = ({ controller, actuator }: CommandResult): boolean =>
  controller.endsWith("…") || actuator.endsWith("…");
