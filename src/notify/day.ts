import { clauses, statements } from "../language/lists.js";
import type { Language } from "../greenhouse/labels.js";
import { msg, row, type Text } from "../language/text.js";
import { ownNameOf, sensorName } from "../greenhouse/documents.js";
import { type ActuatorFamily, kindRows } from "../greenhouse/actuator-kinds.js";
import type { Controller, Sensor } from "../greenhouse/model.js";
import type { SensorKind } from "../greenhouse/sensors.js";
import { keySensors } from "../greenhouse/summary.js";
import type { CommandResult, Via } from "../greenhouse/command/outcomes.js";
import { type Message, timeIn, titleOf, phoneText as toldAs, type Wording } from "./message.js";
import type { Tell } from "../language/words.js";
import { errorsFirst, type ShownAlarm } from "./plan.js";

/* Counts a day's events and readings, for a message short enough for a phone. Pure; instants are epoch ms. */

export interface DayBook {
  /** When the last message was made, or counting began. */
  readonly since: number;
  /** Local day of the last message; null before the first. */
  readonly toldOn: string | null;
  /** Lowest and highest good value, by `<controller>/<sensor>`. */
  readonly readings: Readonly<Record<string, readonly [lowest: number, highest: number]>>;
  /** Seconds that each actuator had been on at `since`, by `<controller>/<actuator>`. */
  readonly onBefore: Readonly<Record<string, number>>;
  /** Guards, people and programs that moved something. */
  readonly moves: readonly Moves[];
}

/** How often somebody moved something. */
interface Moves {
  readonly isGuard: boolean;
  /** Null for all senders beyond the bound. */
  readonly name: string | null;
  readonly count: number;
  /** Moves by `<controller>/<actuator>`, up to a bound. */
  readonly of: Readonly<Record<string, number>>;
}

/** Bounds on memory and disk: the sender is free text that anybody who may command can choose. */
const mostMovers = 12;
const mostMoved = 12;
const longestName = 40;

export const newDay = (since: number, toldOn: string | null = null): DayBook => ({
  ...{ since, toldOn, readings: {}, onBefore: {}, moves: [] },
});

type Fields = Readonly<Record<string, unknown>>;
const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const isMoves = (value: unknown): value is Moves =>
  isFields(value) && typeof value["count"] === "number" && isFields(value["of"]);

/** Parses a kept book; null where it is none. */
export function bookIn(kept: unknown): DayBook | null {
  if (!isFields(kept)) return null;
  const { since, toldOn, readings, onBefore, moves } = kept;
  if (typeof since !== "number" || !isFields(readings) || !isFields(onBefore)) return null;
  const day = { ...newDay(since, typeof toldOn === "string" ? toldOn : null), ...{ readings, onBefore } };
  return { ...day, moves: Array.isArray(moves) ? moves.filter(isMoves) : [] } as DayBook;
}

/** The longest time that one message covers. A bridge that was off for longer begins anew. */
const longestDayMs = 48 * 3_600_000;

/** Continues the kept day, or begins a new one where the kept one is long over. */
export const dayGoingOn = (kept: DayBook, now: number): DayBook =>
  now - kept.since > longestDayMs ? newDay(now, kept.toldOn) : kept;

const countUp = (counts: Readonly<Record<string, number>>, name: string) => ({
  ...counts,
  [name]: (counts[name] ?? 0) + 1,
});

/** A move of one actuator; `what`: `<controller>/<actuator>`. */
interface Move extends Pick<CommandResult, "by" | "via"> {
  readonly what: string;
}

/** Counts a move by a guard, a person or a program. The end of a lease counts for nobody. */
export function withMove(book: DayBook, { what, by, via }: Move): DayBook {
  const [kind, ...rest] = (by ?? "").split(" ");
  if (kind === "lease") return book;
  const isGuard = kind === "rule" && rest.length > 0;
  const name = cut(isGuard ? rest.join(" ") : (by ?? senderIn(via)));
  const alike = book.moves.filter((one) => one.isGuard === isGuard && one.name !== null);
  const isOwn = alike.length < mostMovers || alike.some((one) => one.name === name);
  const mover = { isGuard, name: isOwn ? name : null };
  const isSame = (one: Moves) => one.isGuard === mover.isGuard && one.name === mover.name;
  const { count, of }: Pick<Moves, "count" | "of"> = book.moves.find(isSame) ?? { count: 0, of: {} };
  const isKnown = of[what] !== undefined || Object.keys(of).length < mostMoved;
  const after = { ...mover, count: count + 1, of: isKnown ? countUp(of, what) : of };
  return { ...book, moves: [...book.moves.filter((one) => !isSame(one)), after] };
}

const cut = (name: string): string =>
  Array.from(name.slice(0, 4 * longestName))
    .slice(0, longestName)
    .join("");

/** The id that the embedded broker makes for a client without one. It is new with each connection and names nobody. */
const idOfNobody = /^aedes_[0-9a-f-]{36}$/;

/** The sender's name, as far as the bridge knows it. */
function senderIn(via: Via): string {
  if (typeof via === "string") return via;
  const { user, client, ...others } = via ?? {};
  const names = [user, client, ...Object.values(others)].filter((one) => typeof one === "string");
  const [name = "?"] = names;
  return idOfNobody.test(name) ? "MQTT" : name;
}

/** Families whose minutes the message lists. Fans are left out, as they run all day. */
const water: ReadonlySet<ActuatorFamily> = new Set(["water"]);
const climate: ReadonlySet<ActuatorFamily> = new Set(["climate", "light"]);
const timed = new Set([...water, ...climate]);

/** The book after one more look at a house's good readings; the same object where nothing changed. */
export function withReadings(book: DayBook, house: Controller, kinds: readonly SensorKind[]): DayBook {
  let { readings, onBefore } = book;
  for (const { definition, value, quality } of keySensors(house, kinds)) {
    if (quality !== "good" || typeof value !== "number") continue;
    const key = `${house.info.id}/${definition.id}`;
    const [lowest, highest] = readings[key] ?? [value, value];
    if (readings[key] === undefined || value < lowest || value > highest)
      readings = { ...readings, [key]: [Math.min(lowest, value), Math.max(highest, value)] };
  }
  for (const { settings, runTime } of house.actuators.values()) {
    if (!timed.has(kindRows[settings.kind].family)) continue;
    const key = `${house.info.id}/${settings.id}`;
    if (runTime !== undefined && onBefore[key] === undefined) onBefore = { ...onBefore, [key]: runTime.on_s };
  }
  const isSame = readings === book.readings && onBefore === book.onBefore;
  return isSame ? book : { ...book, readings, onBefore };
}

const mostHouses = 12;
/** The message with its title stays below 2,000 bytes, where services cut. Houses are left out first, not the moves. */
const mostBytes = 1_800;
const mostWrong = 5;
const mostRunning = 6;
const mostTold = 3;
const round = (value: number): string => String(Number(value.toFixed(1)));

function readingText(
  book: DayBook,
  house: string,
  { definition, value, quality }: Sensor,
  language: Language,
): Text {
  const { id, unit } = definition;
  const range = book.readings[`${house}/${id}`];
  const amount = unit === null ? "" : unit === "%" ? "%" : ` ${unit}`;
  const isGood = quality === "good" && typeof value === "number";
  const now = msg`now ${isGood ? `${round(value)}${amount}` : "–"}`;
  const [least, most] = range?.map(round) ?? [];
  // A value that did not change stands once.
  if (isGood && least === most && most === round(value))
    return `${sensorName(definition, language)} ${round(value)}${amount}`;
  const from = least === undefined || most === undefined ? "–" : `${least}…${most}${amount}`;
  return msg`${row`${sensorName(definition, language)} ${from}`}, ${now}`;
}

function houseLines(
  book: DayBook,
  house: Controller,
  kinds: readonly SensorKind[],
  language: Language,
): readonly Text[] {
  const { id, name } = house.info;
  const readings = keySensors(house, kinds).map((sensor) => readingText(book, id, sensor, language));
  const minutes = [
    ...minutesLine(msg`Water`, water, book, house),
    ...minutesLine(msg`Run time`, climate, book, house),
  ];
  if (readings.length + minutes.length === 0) return [];
  return [msg`${name}: ${statements(readings)}`, ...minutes];
}

/** Minutes that each actuator was on, the longest first. */
function minutesLine(
  title: Text,
  families: ReadonlySet<ActuatorFamily>,
  book: DayBook,
  { info, actuators }: Controller,
): readonly Text[] {
  const running = [...actuators.values()].flatMap(({ settings, runTime }) => {
    if (runTime === undefined || !families.has(kindRows[settings.kind].family)) return [];
    const before = book.onBefore[`${info.id}/${settings.id}`] ?? runTime.on_s;
    const minutes = Math.round((runTime.on_s - before) / 60);
    return minutes > 0 ? [{ minutes, said: row`${ownNameOf(settings)} (${msg`${minutes} min`})` }] : [];
  });
  const most = running.toSorted((one, other) => other.minutes - one.minutes).map(({ said }) => said);
  const rest = most.length > mostRunning ? [`+${most.length - mostRunning}`] : [];
  return most.length === 0
    ? []
    : [row`  ${msg`${title}: ${clauses([...most.slice(0, mostRunning), ...rest])}`}`];
}

const times = (count: number): string => (count === 1 ? "" : ` ${count}×`);

/** Such as `wind (East / Roof 2×, West / Roof)`. */
function movesText({ name, count, of }: Moves, { nameOf }: Wording): Text {
  const all = Object.entries(of).toSorted(([, one], [, other]) => other - one);
  const shown = all.slice(0, mostTold);
  const rest = count - shown.reduce((sum, [, each]) => sum + each, 0);
  const texts = shown.map(([what, each]) => {
    const [controller = "", actuator = ""] = what.split("/");
    return `${cut(nameOf(controller, actuator))}${times(each)}`;
  });
  return row`${name ?? msg`others`} (${clauses([...texts, ...(rest > 0 ? [`+${rest}`] : [])])})`;
}

/** The most active guards or people. */
function moversLine(title: Text, moves: readonly Moves[], wording: Wording): readonly Text[] {
  const sorted = moves.toSorted((one, other) => other.count - one.count);
  const texts = sorted.slice(0, mostTold).map((one) => movesText(one, wording));
  const rest = sorted.length > mostTold ? [`+${sorted.length - mostTold}`] : [];
  return moves.length === 0 ? [] : [msg`${title}: ${statements([...texts, ...rest])}`];
}

/** Everything that goes into a daily message. */
interface DayFacts {
  readonly book: DayBook;
  readonly houses: readonly Controller[];
  readonly kinds: readonly SensorKind[];
  readonly alarms: readonly ShownAlarm[];
}

/**
 * Lines of as many houses as fit into `room` bytes. Houses with alarms come first, so that they are never cut off for
 * houses where all is well.
 */
function linesOfHouses(
  { book, houses, kinds, alarms }: DayFacts,
  { language, tell }: Pick<Wording, "language" | "tell">,
  room: number,
): readonly Text[] {
  const inTrouble = new Set(alarms.map(({ controller }) => controller));
  const sorted = houses.toSorted(
    (one, other) => Number(inTrouble.has(other.info.id)) - Number(inTrouble.has(one.info.id)),
  );
  const all = sorted
    .map((house) => houseLines(book, house, kinds, language))
    .filter(({ length }) => length > 0);
  const told = all.slice(0, mostHouses);
  let left = room;
  // At least one house is always shown.
  const end = told.findIndex((lines, at) => (left -= bytesOf(lines, tell)) < 0 && at > 0);
  const shown = end < 0 ? told : told.slice(0, end);
  const more = all.length - shown.length;
  return [...shown.flat(), ...(more > 0 ? [msg`and ${more} more houses`] : [])];
}

const bytesOf = (lines: readonly Text[], tell: Tell): number =>
  lines.reduce((sum, line) => sum + Buffer.byteLength(tell(line)) + 1, 0);

function wrongLine(alarms: readonly ShownAlarm[], wording: Wording): Text {
  const worst = errorsFirst(alarms);
  const wrong = worst.slice(0, mostWrong).map((one) => titleOf(one, wording));
  const rest = worst.length > mostWrong ? [`+${worst.length - mostWrong}`] : [];
  return worst.length === 0
    ? msg`Nothing is wrong.`
    : msg`${msg`Wrong now`}: ${statements([...wrong, ...rest])}`;
}

export function dailyMessage(
  { book, houses, kinds, alarms }: DayFacts,
  at: number,
  wording: Wording,
): Message {
  const on = alarms.filter(({ state, type }) => state !== "cleared" && type !== "flood");
  const time = (instant: number) => timeIn(new Date(instant).toISOString(), wording.timeZone);
  const isOf = (isGuard: boolean) => book.moves.filter((one) => one.isGuard === isGuard);
  const first = wrongLine(on, wording);
  const last = [
    ...moversLine(msg`Guards`, isOf(true), wording),
    ...moversLine(msg`Moved by`, isOf(false), wording),
    msg`From ${time(book.since)} to ${time(at)}.`,
  ];
  const room = mostBytes - bytesOf([first, ...last], wording.tell);
  const lines = [first, ...linesOfHouses({ book, houses, kinds, alarms: on }, wording, room), ...last];
  return {
    ...{ kind: "daily", severity: "info" },
    ...toldAs(msg`Daily report`, lines, wording),
    ...{ alarms: [], over: [], missed: [], at: new Date(at).toISOString() },
  };
}

/** Minutes after its time at which a missed message is still sent. */
const latestMinutes = 180;

interface When {
  readonly now: number;
  /** Local minute of the day. */
  readonly minute: number;
  /** Local day of an instant. */
  readonly dayOf: (instant: number) => string;
}

/** The day whose message is due now; null for none. `at`: local minute at which it is due. */
export function dayDue(book: DayBook, at: number, { now, minute, dayOf }: When): string | null {
  const late = (minute - at + 1440) % 1440;
  if (late >= latestMinutes) return null;
  const dueAt = (Math.floor(now / 60_000) - late) * 60_000;
  const day = dayOf(dueAt);
  // A book that began after the due time has nothing to tell yet. One that begins in the future dates from a clock
  // since set back.
  const isEmpty = book.since > dueAt && book.since <= now;
  return book.toldOn === day || isEmpty ? null : day;
}
