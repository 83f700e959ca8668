import type { StepReport } from "../greenhouse/command/outcomes.js";
import { readWanted } from "../greenhouse/command/words.js";
import type { ActuatorSettings } from "../greenhouse/settings.js";
import type {
  AwaitedMemory,
  LaneMemory,
  LookMemory,
  OpenCommand,
  ProblemMemory,
  RecordBody,
  RememberedLane,
  SentMemory,
  UnconfirmedMemory,
} from "../journal/records.js";
import type { RestoredLimits } from "../limits/restored-limits.js";
import { keptNow } from "../limits/rules/lease.js";
import { at, entries } from "../runtime/table.js";
import { recordedKey } from "./payload.js";
import {
  aboutOf,
  type Awaited,
  type Book,
  type Effect,
  emptyLane,
  type Lane,
  type LaneProblem,
  type Now,
  type Restored,
  type Run,
  type SecondLook,
  targetOfLane,
  type Turn,
  type Unconfirmed,
} from "./book.js";
import type { Addressed, Command, Interrupted, Target } from "./command.js";
import { type Evidence, stepReport } from "./endings.js";
import { isLast, nthOf, stepOf } from "./sending.js";

/*
 * What a lane must remember over a restart, and a lane after one. Each of its records carries the memory, so the next
 * start begins with the newest record, whatever that reports. The actuator's limits are too long for every record:
 * after a change they go with a short one, and with each of the type `lane`.
 *
 * Not remembered are commands that wait or are being checked, which the journal has as accepted; reads under way with
 * their times, which begin anew; and what this run has seen.
 */

/** Our own longest sentence fits; a platform's text in a refusal may have any length. */
const mostMessage = 400;

/** What the lane must remember now. */
export function memoryOf({ lanes, problems }: Pick<Book, "lanes" | "problems">, key: string): LaneMemory {
  const { running, confirming, left, posts, awaited, secondLook } = at(lanes, key) ?? emptyLane;
  const problem = at(problems, targetOfLane(key).code)?.find(({ lane }) => lane === key);
  const sent: SentMemory[] = [];
  for (const run of [...left, confirming, running]) {
    const memory = run === null ? null : sentOf(run);
    if (memory !== null) sent.push(memory);
  }
  return {
    ...(sent.length > 0 && { sent }),
    ...(posts.unread && { unread: true as const }),
    ...(problem && { problem: problemOf(problem) }),
    ...(awaited && { awaited: awaitedOf(awaited) }),
    ...(secondLook && { second_look: lookOf(secondLook) }),
  };
}

type Remembering = Pick<Book, "lanes" | "problems">;

/** Everything that the next start begins with, by lane. */
export function rememberedIn(book: Remembering, now: Now): readonly (readonly [string, LaneMemory])[] {
  const problems = [...entries(book.problems)].flatMap(([, open]) => open.map(({ lane }) => lane));
  const keys = new Set([...[...entries(book.lanes)].map(([key]) => key), ...problems]);
  return [...keys].flatMap((key) => {
    const limits = keptNow(at(book.lanes, key)?.limits, now);
    const late = unconfirmedIn(book, key);
    const unconfirmed = late.length > 0 ? unconfirmedOf(late, now) : {};
    const memory = { ...memoryOf(book, key), ...(limits && { limits }), ...unconfirmed };
    return Object.keys(memory).length === 0 ? [] : [[key, memory] as const];
  });
}

/** What may have been sent of an open command; null if certainly nothing was. */
export function sentOf(run: Run): SentMemory | null {
  if (run.at === "checking" || run.at === "ordered") return null;
  const { command, reports, sentAt } = run;
  const facts = newestFacts(run);
  const steps = [...reports];
  if (facts !== null && facts.attempts > 0) {
    const newest = { type: "interrupted", ...facts, readBack: null } as const;
    steps.push(stepReport(command.settings, stepOf(run), newest));
  }
  const isAccepted =
    run.at === "stopped" || (run.at === "confirming" && run.after.otherwise === "unconfirmed");
  return {
    id: command.id,
    steps,
    is_accepted: isLast(run) && isAccepted,
    request_id: facts?.requestId ?? null,
    sent_at: sentAt === null ? null : new Date(sentAt).toISOString(),
  };
}

/** The outcome so far of the present step. */
function newestFacts(run: Run): Evidence | null {
  if (run.at === "posting")
    return { attempts: nthOf(run.first), code: null, requestId: null, readBack: null };
  if (run.at === "confirming") return run.after.facts;
  if (run.at === "last_look") return run.end;
  return "first" in run ? (run.first?.facts ?? null) : null;
}

function problemOf({ problem: { command, outcome, reason, message, at: then } }: LaneProblem): ProblemMemory {
  const isLong = message !== null && message.length > mostMessage;
  const told = isLong ? `${message.slice(0, mostMessage - 1)}…` : message;
  return { command, outcome, reason, message: told, at: new Date(then).toISOString() };
}

const lookOf = ({
  command,
  step,
  endedAt,
}: Pick<SecondLook, "command" | "step" | "endedAt">): LookMemory => ({
  id: command.id,
  step,
  ended_at: new Date(endedAt).toISOString(),
});

/** The newest of each value, newest first: if the record is too long, the oldest are left out. */
function unconfirmedOf(unconfirmed: Lane["unconfirmed"], { at: wall, mono }: Now): LaneMemory {
  const newest = unconfirmed.toReversed();
  const kept = newest.filter(({ to }, place) => newest.findIndex((one) => one.to === to) === place);
  return {
    unconfirmed: kept.map(({ id, to, outcome, endedAt }) => {
      return { id, to, outcome, ended_at: new Date(wall - (mono - endedAt)).toISOString() };
    }),
  };
}

const awaitedOf = (awaited: Awaited): AwaitedMemory => ({
  ...lookOf(awaited),
  word: awaited.word,
  is_told: awaited.isTold,
  is_taken: awaited.until === Infinity,
});

/** Records about the life of a lane. */
const laneRecords = [
  "command_taken",
  "phase",
  "step_sent",
  "step_answered",
  "read_back",
  "result",
  "confirmed_late",
  "reverted",
  "lane",
] as const satisfies readonly RecordBody["type"][];

type LaneRecord = Extract<RecordBody, { readonly type: (typeof laneRecords)[number] }>;

/** Whether it is a record of its lane. */
export const isOfLane = (record: RecordBody): record is LaneRecord =>
  (laneRecords as readonly string[]).includes(record.type);

export const targetIn = ({
  controller: code,
  actuator: targetId,
  target = "actuator",
}: Pick<LaneRecord, "controller" | "actuator" | "target">): Target => ({ code, target, targetId });

/** Records with room for the actuator's limits. */
const short: ReadonlySet<RecordBody["type"]> = new Set(["phase", "step_sent", "step_answered", "read_back"]);

/**
 * Adds to each record among the turn's effects what its lane must remember after it. A changed lane without a record
 * gets one of its own, unless the change came from the journal. Limits go with the last short record of the lane, or
 * else before all others: after a result without a lease, the lease must not come back.
 */
export function recordMemories(turn: Turn, before: Book, isFromJournal: boolean): void {
  const { book, effects, now, touched } = turn;
  const limited = new Set<string>();
  for (const key of touched) if (isLimitedOtherwise(turn, before, key)) limited.add(key);
  const recorded = new Set<string>();
  for (let place = effects.length - 1; place >= 0; place--) {
    const effect = effects[place];
    if (effect === undefined || !("record" in effect) || !isOfLane(effect.record)) continue;
    const { key, record } = effect;
    const isWhole = record.type === "lane" || (limited.has(key) && short.has(record.type));
    if (isWhole) limited.delete(key);
    recorded.add(key);
    const unconfirmed = unconfirmedSince(record.type === "lane" ? null : before, book, key, now);
    const memory = { ...(isWhole ? wholeMemory(book, key, now) : memoryOf(book, key)), ...unconfirmed };
    effects[place] = { ...effect, record: { ...record, memory } };
  }
  for (const key of touched) {
    if (limited.has(key)) {
      const first = effects.findIndex((effect) => "record" in effect && effect.key === key);
      effects.splice(first === -1 ? effects.length : first, 0, laneNote(turn, key));
    } else if (!isFromJournal && !recorded.has(key) && isOtherwise(before, book, key)) recordLane(turn, key);
  }
}

/** Whether the lane's limits differ from those on disk. */
function isLimitedOtherwise({ book, onDisk, now }: Turn, before: Book, key: string): boolean {
  const known = onDisk.get(key);
  const then = known === undefined ? (at(before.lanes, key)?.limits ?? null) : known;
  const limits = at(book.lanes, key)?.limits ?? null;
  if (then === limits) return false;
  return JSON.stringify(keptNow(then, now)) !== JSON.stringify(keptNow(limits, now));
}

const unconfirmedIn = ({ lanes }: Remembering, key: string): Lane["unconfirmed"] =>
  (at(lanes, key) ?? emptyLane).unconfirmed;

/** The unconfirmed values, if they changed; only actuators have any. */
const unconfirmedSince = (
  before: Remembering | null,
  after: Remembering,
  key: string,
  now: Now,
): LaneMemory =>
  targetOfLane(key).target !== "actuator" ||
  (before !== null && unconfirmedIn(before, key) === unconfirmedIn(after, key))
    ? {}
    : unconfirmedOf(unconfirmedIn(after, key), now);

/** Whether the memory changed, other than by sending, which has records of its own. */
function isOtherwise(before: Remembering, after: Remembering, key: string): boolean {
  if (unconfirmedIn(before, key) !== unconfirmedIn(after, key)) return true;
  const text = (book: Remembering) => JSON.stringify({ ...memoryOf(book, key), sent: undefined });
  return text(before) !== text(after);
}

/** The memory with the actuator's limits. */
const wholeMemory = (book: Remembering, key: string, now: Now): LaneMemory => ({
  ...memoryOf(book, key),
  ...(targetOfLane(key).target === "actuator" && { limits: keptNow(at(book.lanes, key)?.limits, now) }),
});

/** Everything that the lane must remember, in a record of its own. */
export const laneRecord = (book: Remembering, key: string, now: Now): RecordBody => ({
  type: "lane",
  ...aboutOf(targetOfLane(key)),
  memory: { ...wholeMemory(book, key, now), ...unconfirmedSince(null, book, key, now) },
});

const laneNote = ({ book, now }: Turn, key: string): Effect => ({
  type: "note",
  key,
  record: laneRecord(book, key, now),
  durable: false,
  quiet: true,
});

export const recordLane = (turn: Turn, key: string): void => void turn.effects.push(laneNote(turn, key));

/** Whether something may have changed that the lane must remember beside its commands. */
export const isRememberedOtherwise = (before: Lane, after: Lane): boolean =>
  before.posts.unread !== after.posts.unread ||
  before.awaited !== after.awaited ||
  before.secondLook !== after.secondLook ||
  before.unconfirmed !== after.unconfirmed ||
  before.limits !== after.limits;

const lookedForMs = 24 * 3_600_000;

/** A target in the present configuration. */
export type Known = Addressed & { readonly settings: ActuatorSettings };

/**
 * A lane after a restart. `known` is null for a target that is not configured any more: it cannot be read, but its
 * problem stays. Values awaited after a command's end are awaited for a day, and while its problem is open.
 */
export function laneFrom(
  { memory, ...about }: RememberedLane,
  open: readonly OpenCommand[],
  known: Known | null,
  limits: RestoredLimits,
  now: Now,
): Restored {
  const { unread = false, problem, awaited, second_look: look } = memory;
  const isLookedFor = ({ id, ended_at: endedAt }: LookMemory) =>
    !open.some(({ taken }) => taken.id === id) &&
    (Date.parse(endedAt) >= now.at - lookedForMs || problem !== undefined);
  return {
    about: targetIn(about),
    unread,
    problem: problem === undefined ? null : { ...problem, at: Date.parse(problem.at) },
    awaited: awaited && known && isLookedFor(awaited) ? awaitedFrom(awaited, known, now) : null,
    secondLook: look && known && isLookedFor(look) ? lookFrom(look, known) : null,
    unconfirmed: unconfirmedFrom(memory.unconfirmed ?? [], now),
    interrupted: known === null ? [] : open.flatMap((one) => interruptedFrom(one, known, now) ?? []),
    limits,
  };
}

/** Their age is judged when a value comes: until then a clock that is wrong at the start may be set. */
const unconfirmedFrom = (kept: readonly UnconfirmedMemory[], { at: now, mono }: Now) =>
  kept.toReversed().map(({ id, to, outcome, ended_at: endedAt }): Unconfirmed => {
    return { id, to, outcome, endedAt: mono - (now - Date.parse(endedAt)), keptSince: mono };
  });

const lookFrom = ({ id, step, ended_at: endedAt }: LookMemory, known: Known) => ({
  command: { id, ...known },
  step,
  endedAt: Date.parse(endedAt),
});

function awaitedFrom(awaited: AwaitedMemory, known: Known, { at: now, mono }: Now): Awaited {
  const look = lookFrom(awaited, known);
  const endedMono = mono - Math.max(0, now - look.endedAt);
  const until = awaited.is_taken ? Infinity : endedMono + known.settings.confirmWithinMs;
  return { ...look, word: awaited.word, isTold: awaited.is_told, until };
}

/**
 * A command that may have been sent, for the book to take up; null if nothing was, or its word is not valid any more.
 */
function interruptedFrom({ taken, sent }: OpenCommand, known: Known, { mono }: Now): Interrupted | null {
  const step = taken.steps.at(-1);
  const wanted = readWanted(taken.command, known.settings);
  if (sent === null || step === undefined || "reason" in wanted) return null;
  const command: Command = {
    ...known,
    id: taken.id,
    ownId: taken.own_id === true,
    wanted,
    payloadKey: recordedKey(taken.payload_hash),
    by: taken.by,
    via: taken.via,
    response: null,
    force: taken.force === true,
    dryRun: false,
    isRecovered: true,
    term: null,
    rule: null,
    receivedAt: Date.parse(taken.received_at),
    receivedMono: mono,
    deadlineMono: mono,
  };
  const isNewest = ({ address, value }: StepReport) => address === step.address && value === step.value;
  const last = sent.steps.find(isNewest);
  return {
    command,
    step,
    earlier: sent.steps.filter((one) => !isNewest(one)),
    attempts: last?.attempts ?? 0,
    code: last?.code ?? null,
    isAccepted: last !== undefined && sent.is_accepted,
    requestId: last === undefined ? null : sent.request_id,
    sentAt: sent.sent_at === null ? null : Date.parse(sent.sent_at),
  };
}
