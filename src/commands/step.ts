import type { RawValue } from "../greenhouse/ports.js";
import {
  type Book,
  type Effect,
  emptyLane,
  type Environment,
  type Input,
  isOpen,
  type Lane,
  laneKey,
  type LaneInput,
  note,
  type Now,
  openCommands,
  type Run,
  type StepAnswer,
  targetOfLane,
  type Turn,
  type Unrecorded,
} from "./book.js";
import { takenRecord } from "./checks.js";
import { unrecordedEnding } from "./endings.js";
import type { Arrived, Command } from "./command.js";
import {
  commandFrom,
  duplicateOf,
  duplicateRefusal,
  journalRefusal,
  knownId,
  type NotTaken,
  understand,
} from "./intake.js";
import { claimedId, payloadKey } from "./payload.js";
import { awaits, close, enter, forgottenAt, advanceLane, takeInput, wakeOfLane } from "./lane.js";
import { isSeenOtherwise, limitsAfterRefusal, settleLimits, takeWithLimits } from "./lane-limits.js";
import { afterClockSet, type LimitInput } from "../limits/rules/entry.js";
import { keptNow } from "../limits/rules/lease.js";
import { nothingLimited, watchersOf } from "../limits/rules/settings.js";
import { acknowledge, showProblem, unconfirmedAfterClockSet } from "./after-end.js";
import { isRememberedOtherwise, recordLane, recordMemories, rememberedIn, sentOf } from "./memory.js";
import { abandon, countSurplus, endCommand, endedBefore, flush, refuse, tick } from "./results.js";
import { jumpMs } from "../runtime/clock.js";
import { at, entries, having, without } from "../runtime/table.js";

/** Folds one input into the state of all commands; returns the new state and what to do. */
export function step(book: Book, input: Input, now: Environment, limits = nothingLimited): Stepped {
  const turn: Turn = {
    book: { ...book, aheadMs: now.at - now.mono },
    key: "",
    lane: { ...emptyLane },
    effects: [],
    now,
    limits,
    touched: new Set(),
    onDisk: new Map(),
    wakeAt: Infinity,
    answer: null,
  };
  // Before anything is judged by a clock that was set.
  const byMs = book.aheadMs === null ? null : jumpMs(book.aheadMs, now.at - now.mono);
  if (byMs !== null) onClockSet(turn, byMs);
  if ("key" in input) inLane(turn, input.key, takeInput, input);
  else fold(turn, input);
  recordMemories(turn, book, input.type === "restored");
  const { effects, answer, wakeAt } = turn;
  return { book: turn.book, effects, answer, wakeAt };
}

export interface Stepped {
  readonly book: Book;
  readonly effects: readonly Effect[];
  readonly answer: StepAnswer | null;
  /** The earliest time at which a handled lane wants to be woken; Infinity for none. */
  readonly wakeAt: number;
}

function fold(turn: Turn, input: Exclude<Input, LaneInput>): void {
  if (input.type === "asked") onRequest(turn, input.arrived);
  else if (input.type === "acknowledged") acknowledge(turn, input.code, input.actuator);
  else if (input.type === "admitted") showProblem(turn, input.code);
  else if (input.type === "ended_before") endedBefore(turn, input.about, input.result, input.agoMs);
  else if (input.type === "abandoned") abandon(turn, input.one);
  else if (input.type === "tick") tick(turn, input.journalAvailable);
  else if (input.type === "surplus") countSurplus(turn, input);
  else if (input.type === "unrecorded") for (const one of input.lanes) recordAgain(turn, one);
  else if (input.type === "given_up")
    for (const { key, missing } of input.lanes) inLane(turn, key, endUnrecorded, missing);
  else if (input.type === "seen") onGuardInputs(turn, input.keys, input.weather);
  else if (input.type === "woke") {
    for (const [key, wake] of entries(turn.book.busy)) {
      if (wake > turn.now.mono) continue;
      inLane(turn, key);
      // A movement may have ended, which only the lanes that look at it would miss.
      if (turn.limits.watched.has(key)) wakeWatchers(turn, key);
    }
  } else onClosing(turn);
}

/** First that a command was taken, where the journal has no record of it: without that the next start does not read it back. */
function recordAgain(turn: Turn, { key, missing }: Unrecorded): void {
  turn.key = key;
  for (const command of takenIn(turn.book, key))
    if (missing.includes(command.id)) note(turn, takenRecord(command), { quiet: true });
  turn.key = "";
  recordLane(turn, key);
}

/** Ends commands that were left to the next start, which will not know of them. */
function endUnrecorded(turn: Turn, missing: readonly string[]): void {
  const { left } = turn.lane;
  const isMissing = ({ command }: Run) => missing.includes(command.id);
  turn.lane.left = left.filter((run) => !isMissing(run));
  for (const run of left) if (isMissing(run)) endCommand(turn, run.command, unrecordedEnding(sentOf(run)));
}

type Seen = Extract<LimitInput, { readonly type: "seen" }>;

/** Makes the guards of these lanes look again. Changes by time come first, also after the program stood still. */
function onGuardInputs(turn: Turn, keys: readonly string[], weather: Seen["weather"]): void {
  for (const key of keys) inLane(turn, key);
  if (weather === null) return;
  turn.book.weather = having(turn.book.weather, weather.name, weather.reading);
  for (const key of keys) inLane(turn, key);
}

/** The clock was set by `byMs` (positive: forward). All times are corrected before any lane is judged. */
function onClockSet(turn: Turn, byMs: number): void {
  const { startedAt } = turn.limits;
  const timed: string[] = [];
  for (const [key, lane] of entries(turn.book.lanes)) {
    if (lane.limits === null && lane.unconfirmed.length === 0) continue;
    const limits = lane.limits && afterClockSet(lane.limits, byMs, startedAt);
    const unconfirmed = unconfirmedAfterClockSet(lane.unconfirmed, byMs);
    turn.book.lanes = having(turn.book.lanes, key, { ...lane, limits, unconfirmed });
    timed.push(key);
  }
  for (const key of timed) {
    if (at(turn.book.lanes, key)?.limits) turn.effects.push({ type: "limits", lane: key });
    inLane(turn, key);
    // Unchanged durations have other clock times now.
    const { limits, unconfirmed } = at(turn.book.lanes, key) ?? emptyLane;
    if (keptNow(limits, turn.now) !== null || unconfirmed.length > 0) recordLane(turn, key);
  }
}

/** Makes guards that look at the lane see new commands and movements at once. */
function wakeWatchers(turn: Turn, key: string): void {
  const { code } = targetOfLane(key);
  const { id } = turn.now.controller(code)?.info ?? { id: code };
  for (const watcher of watchersOf(turn.limits, { id, code })) if (watcher !== key) inLane(turn, watcher);
}

function onClosing(turn: Turn): void {
  turn.book.closed = true;
  for (const [key] of entries(turn.book.lanes)) inLane(turn, key, close);
  // Lanes without commands only waited for limits, which count no more.
  for (const [key] of entries(turn.book.busy))
    if (!isOpen(at(turn.book.lanes, key) ?? emptyLane)) turn.book.busy = without(turn.book.busy, key);
  flush(turn, Infinity);
}

/** Handles one lane and puts its new state back. */
function inLane<Given extends readonly unknown[]>(
  turn: Turn,
  key: string,
  act?: (turn: Turn, ...given: Given) => void,
  ...given: Given
): void {
  turn.key = key;
  const { book, now } = turn;
  const before = at(book.lanes, key) ?? emptyLane;
  const isWoken = (at(book.busy, key) ?? Infinity) <= now.mono;
  turn.lane = { ...before };
  act?.(turn, ...given);
  advanceLane(turn);
  settleLimits(turn);
  const { lane } = turn;
  turn.key = "";
  const isAsBefore = isSame(lane, before);
  if (isAsBefore && !isWoken) return;
  if (isRememberedOtherwise(before, lane)) turn.touched.add(key);
  const forgotten = forgottenAt(lane);
  const isForgotten = forgotten !== null && now.mono > forgotten;
  const ofLane =
    wakeOfLane(lane) ??
    (lane.running || lane.confirming ? Infinity : forgotten === null || isForgotten ? null : forgotten + 1);
  const { limitsDueAt } = lane;
  const wake = limitsDueAt === null ? ofLane : Math.min(limitsDueAt, ofLane ?? Infinity);
  book.lanes = isForgotten ? without(book.lanes, key) : having(book.lanes, key, lane);
  turn.wakeAt = Math.min(turn.wakeAt, wake ?? Infinity);
  book.busy = wake === null ? without(book.busy, key) : having(book.busy, key, wake);
  if (!isAsBefore && turn.limits.watched.has(key) && isSeenOtherwise(before, lane)) wakeWatchers(turn, key);
}

function isSame(one: Lane, other: Lane): boolean {
  const parts: readonly unknown[] = Object.values(other);
  for (const [place, part] of Object.values(one).entries()) if (part !== parts[place]) return false;
  return true;
}

/** Accepts a request as a command, or answers it with a refusal. */
function onRequest(turn: Turn, arrived: Arrived): void {
  const { request, code } = arrived;
  const about = { ...request, code };
  const given = request.isKept === true ? givenBefore(turn, arrived) : null;
  if (given !== null) {
    turn.answer = { type: "known", id: given };
    return;
  }
  const understood = understand(turn, arrived);
  if ("refusal" in understood) {
    turnAway(turn, arrived, understood);
    return;
  }
  const key = laneKey(about);
  const { payload, canonical: word, wanted } = understood;
  const own = { id: payload.id, canonical: word, payloadKey: payloadKey(request.payload) };
  const { ids, lanes } = turn.book;
  const before = payload.id === null ? at(lanes, key)?.newest : knownId(ids, key, payload.id);
  const duplicate = duplicateOf(own, before ?? null, turn.now.mono);
  const refusal = duplicate ? duplicateRefusal(duplicate) : journalRefusal(arrived, wanted);
  if (refusal !== null) {
    const original = duplicate?.isSame ? duplicate.first.result : undefined;
    turnAway(turn, arrived, { refusal, payload, canonical: word, original });
    return;
  }
  const asked = commandFrom(arrived, understood, own.payloadKey, turn.now);
  const taking = takeWithLimits(turn, asked, payload);
  if (!("term" in taking)) {
    turnAway(turn, arrived, { ...taking, payload, canonical: word });
    return;
  }
  const command = { ...asked, ...taking };
  turn.answer = { type: "taken", id: command.id };
  if (!command.isOfFlood) turn.effects.push({ type: "taken", command });
  inLane(turn, key, enter, command);
}

/** The id of a command that the broker also gave to an earlier run; null if it is unknown. */
function givenBefore({ book, now }: Turn, { request, code }: Arrived): string | null {
  const key = laneKey({ ...request, code });
  const id = claimedId(request.payload);
  if (id !== null) return knownId(book.ids, key, id) === null ? null : id;
  const lane = at(book.lanes, key) ?? emptyLane;
  const hash = payloadKey(request.payload);
  const [same] = openCommands(lane).filter((one) => one.payloadKey === hash);
  const { newest } = lane;
  const own = { id: null, canonical: newest?.canonical ?? "", payloadKey: hash };
  return same?.id ?? duplicateOf(own, newest, now.mono)?.first.id ?? null;
}

/** Answers with a refusal, and tells the limits if a rule asked for it. */
function turnAway(turn: Turn, arrived: Arrived, why: NotTaken): void {
  const result = refuse(turn, arrived, why);
  const { request, code } = arrived;
  turn.answer = { type: "refused", id: result.id };
  if (request.rule !== undefined) inLane(turn, laneKey({ ...request, code }), limitsAfterRefusal, result);
}

/** When the book wants to be woken; null if only an answer or a new command can change it. */
export function nextWakeAt({ busy }: Book): number | null {
  let next = Infinity;
  for (const [, wake] of entries(busy)) next = Math.min(next, wake);
  return next === Infinity ? null : next;
}

/** Commands accepted and not ended. */
export function openIn({ busy, lanes }: Book): readonly Command[] {
  return [...entries(busy)].flatMap(([key]) => openCommands(at(lanes, key) ?? emptyLane));
}

const isLaneOf = (code: string, key: string): boolean =>
  key.startsWith(`${code} `) && targetOfLane(key).code === code;

/** Commands of the lane that have no result yet. */
export function takenIn({ lanes }: Book, key: string): readonly Command[] {
  const lane = at(lanes, key) ?? emptyLane;
  return [...openCommands(lane), ...lane.left.map(({ command }) => command)];
}

/** The controller's lanes that await a pushed value of the address, or exactly this value. */
export function awaiting(
  { busy, lanes }: Book,
  code: string,
  address: string,
  raw?: RawValue,
): readonly string[] {
  return [...entries(busy)].flatMap(([key]) =>
    isLaneOf(code, key) && awaits(at(lanes, key) ?? emptyLane, address, raw) ? [key] : [],
  );
}

/** The number of results on their way to the journal and the sender. */
export const writingIn = ({ outcomes }: Book): number =>
  [...entries(outcomes)].filter(([, { isWriting, isRefusal }]) => isWriting && !isRefusal).length;

/** The number of results held back until the journal can write them. */
export const heldBackIn = ({ outcomes }: Book): number =>
  [...entries(outcomes)].filter(([, { isWriting, isTold }]) => !isWriting && !isTold).length;

/** Fields that do not show where a command stands, or are not for everybody. */
const unprinted: ReadonlySet<string> = new Set(["settings", "response", "payloadKey", "result"]);

/** Everything open, as JSON for a person; for one controller by its code, or for all. */
export function print(book: Book, { at: now, mono }: Now, code: string | null): unknown {
  const isMeant = (key: string) => code === null || isLaneOf(code, key);
  const open = [...entries(book.lanes)].filter(
    ([key, lane]) => isMeant(key) && (isOpen(lane) || lane.secondLook || lane.awaited),
  );
  const state = {
    at: new Date(now).toISOString(),
    monotonic_ms: mono,
    is_closing: book.closed,
    lanes: Object.fromEntries(open),
    remembered: Object.fromEntries(
      rememberedIn(book, { at: now, mono }).flatMap(([key, one]) => (isMeant(key) ? [[key, one]] : [])),
    ),
    problems: [...entries(book.problems)].flatMap(([, open]) => open.map(({ lane }) => lane).filter(isMeant)),
    outcomes: [...entries(book.outcomes)]
      .map(([, { about, result, isTold, isWriting }]) => {
        const { id, outcome } = result;
        return { lane: laneKey(about), id, outcome, told: isTold, writing: isWriting };
      })
      .filter(({ lane }) => isMeant(lane)),
  };
  return JSON.parse(
    JSON.stringify(state, (name, value: unknown) => (unprinted.has(name) ? undefined : value)),
  );
}
