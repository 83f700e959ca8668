import type { Language } from "../greenhouse/labels.js";
import { sensorName } from "../greenhouse/documents.js";
import type { Controller, Sensor } from "../greenhouse/model.js";
import type { SensorKind } from "../greenhouse/sensors.js";
import { inert } from "../runtime/plain-text.js";
import { type Message, titleOf, type Wording } from "./message.js";
import type { ShownAlarm } from "./plan.js";

/* What a day was like, for a message short enough for a phone. Pure; instants are epoch ms. */

export interface DayBook {
  /** The last message, or when counting began. */
  readonly since: number;
  /** The day of the last message, where the greenhouse is; null before the first. */
  readonly toldOn: string | null;
  /** Lowest and highest good value, by `<controller>/<sensor>`. */
  readonly readings: Readonly<Record<string, readonly [lowest: number, highest: number]>>;
  /** Seconds on by then, by `<controller>/<actuator>`. */
  readonly onBefore: Readonly<Record<string, number>>;
  /** How often each guard moved something, and each person or program. */
  readonly guards: Readonly<Record<string, number>>;
  readonly movers: Readonly<Record<string, number>>;
}

export const newDay = (since: number, toldOn: string | null = null): DayBook => ({
  ...{ since, toldOn, readings: {}, onBefore: {}, guards: {}, movers: {} },
});

const counted = (counts: Readonly<Record<string, number>>, name: string) => ({
  ...counts,
  [name]: (counts[name] ?? 0) + 1,
});

/** Something was moved: by a guard, the end of a lease, or whoever sent it. */
export function moved(book: DayBook, by: string | null): DayBook {
  const [kind, ...name] = (by ?? "").split(" ");
  if (kind === "rule" && name.length > 0) return { ...book, guards: counted(book.guards, name.join(" ")) };
  if (kind === "lease") return book;
  return { ...book, movers: counted(book.movers, by ?? "?") };
}

/** The readings that a house is known by: of each kind its first sensor. */
const keySensors = ({ sensors }: Controller, kinds: readonly SensorKind[]): readonly Sensor[] =>
  kinds.flatMap((kind) => {
    const found = [...sensors.values()].find(
      ({ definition }) => definition.kind === kind && definition.average !== true,
    );
    return found === undefined ? [] : [found];
  });

/** After one more look at the good readings of a house; the same object where they are no news. */
export function seen(book: DayBook, house: Controller, kinds: readonly SensorKind[]): DayBook {
  let { readings, onBefore } = book;
  for (const { definition, value, quality } of keySensors(house, kinds)) {
    if (quality !== "good" || typeof value !== "number") continue;
    const key = `${house.info.id}/${definition.id}`;
    const [lowest, highest] = readings[key] ?? [value, value];
    if (readings[key] === undefined || value < lowest || value > highest)
      readings = { ...readings, [key]: [Math.min(lowest, value), Math.max(highest, value)] };
  }
  for (const { settings, runTime } of house.actuators.values()) {
    const key = `${house.info.id}/${settings.id}`;
    if (runTime !== undefined && onBefore[key] === undefined) onBefore = { ...onBefore, [key]: runTime.on_s };
  }
  const isSame = readings === book.readings && onBefore === book.onBefore;
  return isSame ? book : { ...book, readings, onBefore };
}

const texts = {
  title: ["Daily report", "每日报告"],
  now: ["now {value}", "现在 {value}"],
  water: ["Water", "灌溉"],
  minutes: ["{n} min", "{n} 分钟"],
  guards: ["Guards", "限制动作"],
  movers: ["Moved by", "操作人"],
  wrong: ["Wrong now", "当前异常"],
  well: ["Nothing is wrong.", "目前没有异常。"],
  more: ["and {n} more houses", "另有 {n} 个温室"],
} as const;

const say = (key: keyof typeof texts, language: Language, values: Readonly<Record<string, string>> = {}) =>
  Object.entries(values).reduce<string>(
    (said, [name, value]) => said.replace(`{${name}}`, () => value),
    texts[key][language === "zh" ? 1 : 0],
  );

const mostHouses = 12;
const mostWrong = 5;
const round = (value: number): string => String(Number(value.toFixed(1)));

function readingText(
  book: DayBook,
  house: string,
  { definition, value, quality }: Sensor,
  language: Language,
): string {
  const { id, unit } = definition;
  const range = book.readings[`${house}/${id}`];
  const amount = unit === null ? "" : unit === "%" ? "%" : ` ${unit}`;
  const isGood = quality === "good" && typeof value === "number";
  const now = say("now", language, { value: isGood ? `${round(value)}${amount}` : "–" });
  const [least, most] = range?.map(round) ?? [];
  // What did not change is said once.
  if (isGood && least === most && most === round(value))
    return `${sensorName(definition, language)} ${round(value)}${amount}`;
  const from = least === undefined || most === undefined ? "–" : `${least}…${most}${amount}`;
  return `${sensorName(definition, language)} ${from}, ${now}`;
}

function houseLines(
  book: DayBook,
  house: Controller,
  kinds: readonly SensorKind[],
  language: Language,
): string[] {
  const { id, name } = house.info;
  const readings = keySensors(house, kinds).map((sensor) => readingText(book, id, sensor, language));
  const water = [...house.actuators.values()].flatMap(({ settings, runTime }) => {
    if (settings.kind !== "irrigation" || runTime === undefined) return [];
    const before = book.onBefore[`${id}/${settings.id}`] ?? runTime.on_s;
    const minutes = Math.round((runTime.on_s - before) / 60);
    return minutes > 0
      ? [`${settings.name ?? settings.id} ${say("minutes", language, { n: String(minutes) })}`]
      : [];
  });
  if (readings.length + water.length === 0) return [];
  return [
    `${name}: ${readings.join("; ")}`,
    ...(water.length > 0 ? [`  ${say("water", language)}: ${water.join(", ")}`] : []),
  ];
}

const countText = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .toSorted(([, one], [, other]) => other - one)
    .map(([name, count]) => `${name} ${count}×`)
    .join(", ");

/** What the message of a day is made from. */
interface DayFacts {
  readonly book: DayBook;
  readonly houses: readonly Controller[];
  readonly kinds: readonly SensorKind[];
  readonly alarms: readonly ShownAlarm[];
}

export function dailyMessage(
  { book, houses, kinds, alarms }: DayFacts,
  at: number,
  wording: Wording,
): Message {
  const { language, name } = wording;
  const on = alarms.filter(({ state, type }) => state !== "cleared" && type !== "flood");
  const worst = on.toSorted(
    (one, other) => Number(other.severity === "error") - Number(one.severity === "error"),
  );
  const inTrouble = new Set(on.map(({ controller }) => controller));
  // What is wrong is read first, also where not all houses fit.
  const sorted = houses.toSorted(
    (one, other) => Number(inTrouble.has(other.info.id)) - Number(inTrouble.has(one.info.id)),
  );
  const told = sorted
    .map((house) => houseLines(book, house, kinds, language))
    .filter(({ length }) => length > 0);
  const counts = (key: "guards" | "movers") =>
    Object.keys(book[key]).length === 0 ? [] : [`${say(key, language)}: ${countText(book[key])}`];
  const wrong = worst.slice(0, mostWrong).map((one) => titleOf(one, wording));
  const rest = on.length > mostWrong ? [`+${on.length - mostWrong}`] : [];
  const lines = [
    ...(on.length === 0
      ? [say("well", language)]
      : [`${say("wrong", language)}: ${[...wrong, ...rest].join("; ")}`]),
    ...told.slice(0, mostHouses).flat(),
    ...(told.length > mostHouses ? [say("more", language, { n: String(told.length - mostHouses) })] : []),
    ...counts("guards"),
    ...counts("movers"),
  ];
  const title = say("title", language);
  return {
    ...{ kind: "daily", severity: "info" },
    title: inert(name === null ? title : `${name}: ${title}`),
    text: inert(lines.join("\n")),
    ...{ alarms: [], over: [], missed: [], at: new Date(at).toISOString() },
  };
}

/** So late it is sent still, where nothing ran at its time. */
const latestMinutes = 180;

/** Whether the message of this day is due. */
export const isDailyDue = (book: DayBook, at: number, minute: number, day: string): boolean =>
  book.toldOn !== day && minute >= at && minute - at < latestMinutes;
