import type { RawValue } from "../greenhouse/ports.js";
import {
  type Book,
  type Effect,
  emptyLane,
  type Input,
  isOpen,
  type Lane,
  type LaneInput,
  type Now,
  openCommands,
  type Turn,
} from "./book.js";
import { type Arrived, type BookLimits, type Command, laneKey } from "./command.js";
import { duplicateOf, knownId, payloadKey, takePlace } from "./admission.js";
import { commandFrom, duplicateRefusal, journalRefusal, understand } from "./intake.js";
import { awaits, close, enter, forgottenAt, goOnWith, take, wakeOfLane } from "./lane.js";
import { acknowledge, raiseProblem, showProblem } from "./aftermath.js";
import { abandon, endedBefore, flush, refuse, tick } from "./results.js";
import { at, entries, having, without } from "../runtime/table.js";

/** Folds one input into the state of all commands, and says what is to be done. */
export function step(
  book: Book,
  input: Input,
  now: Now,
  limits: BookLimits = unlimited,
): { readonly book: Book; readonly effects: readonly Effect[] } {
  const turn: Turn = { book: { ...book }, key: "", lane: { ...emptyLane }, effects: [], now, limits };
  if ("key" in input) inLane(turn, input.key, () => take(turn, input));
  else fold(turn, input);
  return { book: turn.book, effects: turn.effects };
}

const unlimited: BookLimits = {
  take: ({ deadlineMono }) => ({ term: null, deadlineMono }),
  mayStart: () => ({ type: "go" }),
  mayPost: () => ({ type: "go" }),
};

function fold(turn: Turn, input: Exclude<Input, LaneInput>): void {
  if (input.type === "asked") asked(turn, input.arrived);
  else if (input.type === "acknowledged") acknowledge(turn, input.code, input.actuator);
  else if (input.type === "admitted") showProblem(turn, input.code);
  else if (input.type === "problem") raiseProblem(turn, input.about, input.why);
  else if (input.type === "ended_before") endedBefore(turn, input.about, input.result, input.agoMs);
  else if (input.type === "abandoned") abandon(turn, input.one);
  else if (input.type === "tick") tick(turn, input.journalAvailable);
  else if (input.type === "woke") {
    for (const [key, wake] of entries(turn.book.busy))
      if (wake <= turn.now.mono) inLane(turn, key, () => undefined);
  } else closing(turn);
}

function closing(turn: Turn): void {
  turn.book.closed = true;
  for (const [key] of entries(turn.book.lanes)) inLane(turn, key, close);
  flush(turn, Infinity);
}

/** Deals with one lane, and puts it back as it has become. */
function inLane(turn: Turn, key: string, act: (turn: Turn) => void): void {
  turn.key = key;
  const before = at(turn.book.lanes, key) ?? emptyLane;
  turn.lane = { ...before };
  act(turn);
  goOnWith(turn);
  const { lane, book, now } = turn;
  turn.key = "";
  if (isSame(lane, before) && !hasTimeCome(book, key, now)) return;
  const forgotten = forgottenAt(lane);
  const isForgotten = forgotten !== null && now.mono > forgotten;
  const wake = wakeOfLane(lane) ?? (isOnItsWay(lane) ? Infinity : forgotten === null ? null : forgotten + 1);
  book.lanes = isForgotten ? without(book.lanes, key) : having(book.lanes, key, lane);
  book.busy = isForgotten || wake === null ? without(book.busy, key) : having(book.busy, key, wake);
}

function isSame(one: Lane, other: Lane): boolean {
  const parts: readonly unknown[] = Object.values(other);
  return Object.values(one).every((part, place) => part === parts[place]);
}

const hasTimeCome = ({ busy }: Book, key: string, { mono }: Now) => (at(busy, key) ?? Infinity) <= mono;
const isOnItsWay = ({ running, confirming }: Lane) => running !== null || confirming !== null;

/** A request: taken as a command, or answered with a refusal. */
function asked(turn: Turn, arrived: Arrived): void {
  const { request, code, target } = arrived;
  const about = { ...request, code };
  const takesPlace = (isStop: boolean) => {
    const isKnown = !("reason" in target);
    const allowances = takePlace(turn.book.allowances, about, { isKnown, isStop }, turn.now.mono);
    if (allowances) turn.book.allowances = allowances;
    return allowances !== null;
  };
  const understood = understand(arrived, { closed: turn.book.closed, at: turn.now.at }, takesPlace);
  if ("refusal" in understood) {
    refuse(turn, arrived, understood);
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
    refuse(turn, arrived, { refusal, payload, canonical: word, original });
    return;
  }
  const asked = commandFrom(arrived, understood, own.payloadKey, turn.now);
  const taking = turn.limits.take(asked, payload);
  if (!("term" in taking)) {
    refuse(turn, arrived, { ...taking, payload, canonical: word });
    return;
  }
  const command = { ...asked, ...taking };
  if (!command.isOfFlood) turn.effects.push({ type: "taken", command });
  inLane(turn, key, () => enter(turn, command));
}

/** When the book wants to be woken; null when only an answer or a new command can change it. */
export function nextWakeAt({ busy }: Book): number | null {
  let next = Infinity;
  for (const [, wake] of entries(busy)) next = Math.min(next, wake);
  return next === Infinity ? null : next;
}

/** Commands taken and not ended. */
export function openIn({ busy, lanes }: Book): readonly Command[] {
  return [...entries(busy)].flatMap(([key]) => openCommands(at(lanes, key) ?? emptyLane));
}

/** Lanes of the controller in which a pushed value of the address is waited for; or just this one. */
export function awaiting(
  { busy, lanes }: Book,
  code: string,
  address: string,
  raw?: RawValue,
): readonly string[] {
  return [...entries(busy)].flatMap(([key]) =>
    key.startsWith(`${code} `) && awaits(at(lanes, key) ?? emptyLane, address, raw) ? [key] : [],
  );
}

/** Outcomes that are on their way to the journal and to the sender. */
export const tellingIn = ({ outcomes }: Book): number =>
  [...entries(outcomes)].filter(([, { isWriting, isRefusal }]) => isWriting && !isRefusal).length;

/** Outcomes that are held back until the journal can take them. */
export const heldBackIn = ({ outcomes }: Book): number =>
  [...entries(outcomes)].filter(([, { isWriting, isTold }]) => !isWriting && !isTold).length;

/** What says nothing about where a command stands, or is not for everybody to see. */
const unprinted: ReadonlySet<string> = new Set(["settings", "response", "payloadKey", "result"]);

/** All that is open, as JSON for a person to read; of one controller by its code, or of all. */
export function printed(book: Book, { at: now, mono }: Now, code: string | null): unknown {
  const isMeant = (key: string) => code === null || key.startsWith(`${code} `);
  const open = [...entries(book.lanes)].filter(
    ([key, lane]) => isMeant(key) && (isOpen(lane) || lane.secondLook || lane.awaited),
  );
  const state = {
    at: new Date(now).toISOString(),
    monotonic_ms: mono,
    is_closing: book.closed,
    lanes: Object.fromEntries(open),
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
