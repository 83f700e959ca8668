import { plainDigits } from "./units.js";

/** Command words with their values. */
export type ValueTable = Readonly<Record<string, string>>;

/** The family that the page's overview counts an actuator in. */
export type ActuatorFamily = "vents" | "curtains" | "fans" | "climate" | "water" | "light" | "others";

/** Everything about a kind except its view in Home Assistant (`src/homeassistant/actuator-components.ts`). */
export interface KindRow {
  /** Name on the page; other languages have it under `kinds` in `locales`. */
  readonly name: string;
  readonly family: ActuatorFamily;
  /** Command word → value sent. */
  readonly values: ValueTable;
  /** State word of a command word, where they differ (`close` → `closed`). */
  readonly states: Readonly<Record<string, string>>;
  /** The value that has to precede a degree of 0..100; null for kinds without degrees. */
  readonly positionMode: string | null;
  /** Whether the configuration defines command words, in addition to those of `values`. */
  readonly configured: boolean;
  /** Labels of its command and state words; other languages have them under `states` in `locales`. */
  readonly words: Readonly<Record<string, WordRow>>;
  /** Words that end something; what the local controller does automatically ends by itself. */
  readonly ends: readonly string[];
  /** Words that start nothing, so no pause delays them and no limit counts them. */
  readonly noStarts: readonly string[];
  /** The default end of a lease: the first of these words that the actuator has. */
  readonly leaseEnds: readonly string[];
  /** Changes of state without a command: a plan that was watering has watered. */
  readonly goesItself?: { readonly from: readonly string[]; readonly to: readonly string[] };
}

/** `code`: its number as a state (docs/scada.md), which never changes its meaning. */
type WordRow = readonly [label: string, code?: number];

const onOff = { on: ["On", 1], off: ["Off", 0] } as const;
const auto = { auto: ["Automatic", 2] } as const;
const stop = { stop: ["Stop", 11] } as const;

/** The defaults of most kinds. */
const usual = {
  states: {},
  positionMode: null,
  configured: false,
  ends: ["off", "close", "auto", "stop"],
  noStarts: ["stop", "off"],
  leaseEnds: ["off", "close"],
} as const;

const positioner = {
  ...usual,
  values: { open: "10010", close: "10001", auto: "11000" },
  states: { close: "closed" },
  positionMode: "10100",
  words: {
    open: ["Open", 4],
    close: ["Close"],
    closed: ["Closed", 3],
    ...auto,
    position: ["Position", 5],
  },
} as const;

const machine = {
  ...usual,
  values: { on: "1010", off: "1001", auto: "1100" },
  words: { ...onOff, ...auto },
} as const;

/** Kinds whose words only the configuration can explain. */
const configured = { ...usual, family: "others", configured: true, leaseEnds: [] } as const;

/**
 * Every kind of actuator. Source: the tables of control values in the interface document; the last two are the
 * configuration's. A kind without values of its own is one row here, and one in Home Assistant's table, for which the
 * compiler asks.
 */
export const kindRows = {
  skylight: { ...positioner, name: "skylight", family: "vents" },
  shade_curtain: { ...positioner, name: "shade curtain", family: "curtains" },
  thermal_curtain: { ...positioner, name: "thermal curtain", family: "curtains" },
  side_vent: { ...positioner, name: "side vent", family: "vents" },
  positioner: { ...positioner, name: "positioner", family: "others" },
  circulation_fan: { ...machine, name: "circulation fan", family: "fans" },
  uv_disinfection: { ...machine, name: "UV disinfection", family: "climate" },
  mist_humidifier: { ...machine, name: "mist humidifier", family: "climate" },
  co2_supply: { ...machine, name: "CO2 supply", family: "climate" },
  humidity_control: { ...machine, name: "humidity control", family: "climate" },
  hot_air_blower: { ...machine, name: "hot air blower", family: "climate" },
  heating_blower: { ...machine, name: "heating blower", family: "climate" },
  mist_cooling: { ...machine, name: "mist cooling", family: "climate" },
  machine: { ...machine, name: "machine", family: "others" },
  fan_wet_curtain: {
    ...usual,
    name: "fan wet curtain",
    family: "fans",
    values: { all_on: "11110", fans_1_2_3: "11100", fans_1_2: "11000", fan_1: "10000", off: "00000" },
    words: {
      all_on: ["All on", 6],
      fans_1_2_3: ["Fans 1, 2 and 3", 7],
      fans_1_2: ["Fans 1 and 2", 8],
      fan_1: ["Fan 1", 9],
      off: onOff.off,
    },
  },
  irrigation: {
    ...machine,
    name: "irrigation",
    family: "water",
    values: { ...machine.values, rotation: "11111111" },
    words: { ...machine.words, rotation: ["Rotation", 10] },
    goesItself: { from: ["on", "rotation"], to: ["off", "auto"] },
  },
  light: { ...machine, name: "light", family: "light" },
  motor: {
    ...configured,
    name: "motor",
    values: { stop: "00000100" },
    words: stop,
  },
  custom: { ...configured, name: "custom", values: {}, words: {} },
} as const satisfies Readonly<Record<string, KindRow>>;

export type ActuatorKind = keyof typeof kindRows;

export const actuatorKinds = Object.keys(kindRows) as unknown as readonly [ActuatorKind, ...ActuatorKind[]];

const rows: Readonly<Record<ActuatorKind, KindRow>> = kindRows;

export const takesDegrees = (kind: ActuatorKind): boolean => rows[kind].positionMode !== null;

/** Whether a run time makes sense: not for what rests at a degree, or runs only until it has arrived. */
export const hasRunTime = (kind: ActuatorKind): boolean => !takesDegrees(kind) && kind !== "motor";

/** Command and state words of all kinds. */
export const kindWords: ReadonlyMap<string, WordRow> = new Map(
  actuatorKinds.flatMap((kind) => Object.entries(rows[kind].words)),
);

/** Whether a command word or a state ends something. */
export const isEnding = (kind: ActuatorKind, word: string): boolean => rows[kind].ends.includes(word);

export const isStart = (kind: ActuatorKind, word: string): boolean => !rows[kind].noStarts.includes(word);

/** Kinds that accept the same values as this one, or further ones. A kind with configured values is like no other. */
export const alikeKinds = (kind: ActuatorKind): readonly ActuatorKind[] => {
  const row = rows[kind];
  return row.configured ? [kind] : actuatorKinds.filter((one) => areAlike(row, rows[one]));
};

function areAlike(one: KindRow, other: KindRow): boolean {
  if (other.configured || one.positionMode !== other.positionMode) return false;
  const has = ({ values }: KindRow, all: KindRow) =>
    Object.entries(all.values).every(([word, value]) => values[word] === value);
  return has(one, other) || has(other, one);
}

/*
 * The meaning of a value depends on the kind: `11000` is automatic for a skylight, and two fans for a fan and wet
 * curtain. The platform may return a value as a number, without its leading zeros, or padded; all of these decode.
 */

interface DecodedValue {
  /** `open`, `auto`, `position` …, or `unknown`. */
  readonly state: string;
  /** Opening degree 0..100; null where the value is none. */
  readonly position: number | null;
  /** The table's spelling if it has the value, else the trimmed text. */
  readonly value: string;
}

/** The part of an actuator's settings that gives its values a meaning. */
export interface KindWithValues {
  readonly kind: ActuatorKind;
  /** Command words of the configuration, in addition to the kind's own. */
  readonly values: ValueTable;
  /** Further values that mean a word in reads. */
  readonly reads?: ReadTable | undefined;
}

/** For each word, the values that mean it in reads, in addition to the one that is sent. */
export type ReadTable = Readonly<Record<string, readonly string[]>>;

/** Command word → value: the kind's table, overridden by the configuration's. */
export function valueTable({ kind, values }: Pick<KindWithValues, "kind" | "values">): ValueTable {
  return { ...kindRows[kind].values, ...values };
}

/** The state word of a command word (`close` → `closed`). */
export function stateOfWord(kind: ActuatorKind, word: string): string {
  return rows[kind].states[word] ?? word;
}

export function decodeValue(settings: KindWithValues, raw: string | number | boolean): DecodedValue {
  const row = rows[settings.kind];
  const text = textOf(raw);
  const degree = row.positionMode === null ? null : degreeRead(text);
  const [word, value] =
    meaningOf(settings, text) ?? (degree === null ? null : meaningOf(settings, String(degree))) ?? [];
  // A degree that the configuration maps to a word is still an opening degree.
  if (word !== undefined && value !== undefined)
    return { state: stateOfWord(settings.kind, word), position: degree, value };
  if (row.positionMode !== null && sameValue(row.positionMode, text))
    return { state: "position", position: null, value: row.positionMode };
  if (degree !== null)
    return { state: "position", position: degree, value: text.includes(".") ? text : String(degree) };
  return { state: "unknown", position: null, value: text };
}

/** The word that a value means, with the table's spelling; null where no table has it. */
function meaningOf(settings: KindWithValues, text: string): readonly [word: string, value: string] | null {
  for (const [word, value] of Object.entries(valueTable(settings)))
    if (sameValue(value, text)) return [word, value];
  for (const [word, values] of Object.entries(settings.reads ?? {})) {
    const value = values.find((one) => sameValue(one, text));
    if (value !== undefined) return [word, value];
  }
  return null;
}

/** The default of `limits.ends_with`; null where it has to be given. */
export const defaultEndsWith = (kind: ActuatorKind, words: readonly string[]): string | null =>
  rows[kind].leaseEnds.find((word) => words.includes(word)) ?? null;

/** Whether a kind changes from one state to the other without a command. */
export function endsByItself(kind: ActuatorKind, from: string, to: string): boolean {
  const { goesItself } = rows[kind];
  return goesItself !== undefined && goesItself.from.includes(from) && goesItself.to.includes(to);
}

/** Whether a read value means what a sent one asks for: an equal value, or another one of the same word. */
export function meansSame(settings: KindWithValues, sent: string, text: string): boolean {
  if (sameValue(sent, text)) return true;
  if (settings.reads === undefined) return false;
  const { state } = decodeValue(settings, sent);
  return state !== "unknown" && state !== "position" && decodeValue(settings, text).state === state;
}

/** The degree of a state word, if any. */
export const degreeOfState: Readonly<Record<string, number>> = { open: 100, closed: 0 };

/**
 * Whether a value outside the tables may be a controller's way to show this state: a control value of the same length
 * that no kind has, the number that its bits make, or a positioner's end degree. Any other number may mean something
 * else, or a movement.
 */
export function mayMean(settings: KindWithValues, state: string, text: string): boolean {
  const read = decodeValue(settings, text);
  if (state === "unknown" || state === "position") return false;
  if (read.state === "position") return read.position !== null && read.position === degreeOfState[state];
  const own = Object.values(valueTable(settings));
  const isControl = /^[01]+$/.test(text) && own.some((value) => value.length === text.length);
  if (read.state !== "unknown") return false;
  return isNumberOfBits(settings, state, text) || (isControl && kindsWith(text).length === 0);
}

/** The interface calls values bit strings, so a controller may keep `1010` as 10. */
const isNumberOfBits = (settings: KindWithValues, state: string, text: string): boolean =>
  Object.entries(valueTable(settings)).some(
    ([word, bits]) =>
      stateOfWord(settings.kind, word) === state &&
      /^[01]{2,}$/.test(bits) &&
      text === String(Number.parseInt(bits, 2)),
  );

/** Kinds whose table in the interface document has a value. */
export const kindsWith = (text: string): readonly ActuatorKind[] =>
  actuatorKinds.filter((kind) => tableOf(kind).includes(text));

/** The values of a kind's table in the interface document. */
export function tableOf(kind: ActuatorKind): readonly string[] {
  const { values, positionMode } = rows[kind];
  return [...Object.values(values), ...(positionMode === null ? [] : [positionMode])];
}

/** Whether two values are equal, as the platform may return text or a number. */
export const sameValue = (wanted: string, text: string): boolean =>
  wanted === text || spellingOf(wanted) === spellingOf(text);

/** One spelling for every form in which the platform may return a value, such as a number without its leading zeros. */
export function spellingOf(given: string): string {
  const value = plainDigits(given);
  if (/^\d+$/.test(value)) return value.replace(/^0+(?=\d)/, "");
  return /^[-+]?\d+(?:\.\d+)?$/.test(value) ? String(Number(value)) : value;
}

/** A register as text: trimmed, full-width digits as plain ones, and `45.0` as `45`. */
export function textOf(raw: string | number | boolean): string {
  const text = plainDigits(String(raw).trim());
  return /^\d+\.0+$/.test(text) ? text.slice(0, text.indexOf(".")) : text;
}

/** Parses a degree as sent and configured, in whole digits; null for anything else. */
export function degreeOf(text: string): number | null {
  if (!/^\d{1,8}$/.test(text)) return null;
  const degree = Number(text);
  return degree <= 100 ? degree : null;
}

const measuredDegree = /^(\d{1,8}(?:\.\d+)?)\s*[%％]?$/;

/**
 * Parses a degree as read; null for anything beyond 0..100. The interface has whole numbers; a platform may show a
 * measured fraction or a percent sign, which is rounded.
 */
export function degreeRead(text: string): number | null {
  const [, digits] = measuredDegree.exec(text) ?? [];
  return digits !== undefined && Number(digits) <= 100 ? Math.round(Number(digits)) : null;
}

/** The addresses of an actuator on the platform. */
export interface Placed {
  readonly kind: ActuatorKind;
  readonly address: string;
  readonly modeAddress?: string | undefined;
  readonly positionAddress?: string | undefined;
  readonly modeReads?: "value" | "never" | undefined;
}

/** The addresses to which its values are sent: that of the mode, and that of the position if it has one of its own. */
export function sendAddresses({
  kind,
  address,
  modeAddress = address,
  positionAddress = address,
}: Placed): readonly [mode: string, ...position: string[]] {
  if (kindRows[kind].positionMode === null) return [address];
  return modeAddress === positionAddress ? [modeAddress] : [modeAddress, positionAddress];
}

/**
 * The addresses that make up the actuator's state. With a position address of its own, a number at the mode address is
 * no degree. A mode address that can only be written is left out.
 */
export function stateAddresses(placed: Placed): readonly [first: string, ...position: string[]] {
  const [mode, position] = sendAddresses(placed);
  if (position === undefined) return [mode];
  return placed.modeReads === "never" ? [position] : [mode, position];
}
