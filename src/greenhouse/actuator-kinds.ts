import { plainDigits } from "./units.js";

/** Command words and the values they stand for. */
export type ValueTable = Readonly<Record<string, string>>;

/** Where the overview of the page counts an actuator. */
export type ActuatorFamily = "vents" | "curtains" | "fans" | "climate" | "water" | "light" | "others";

/** Everything about a kind but how Home Assistant shows it (`src/homeassistant/actuator-components.ts`). */
export interface KindRow {
  /** As the page calls it; other languages have it under `kinds` in `locales`. */
  readonly name: string;
  readonly family: ActuatorFamily;
  /** Command word → value sent. */
  readonly values: ValueTable;
  /** State word of a value where it is not the command word (`open` → `open`, `close` → `closed`). */
  readonly states: Readonly<Record<string, string>>;
  /** Takes a degree 0..100 after `positionMode`. */
  readonly positionMode: string | null;
  /** Its words are the configuration's own, beside those of `values`. */
  readonly configured: boolean;
  /** What people read for its command and state words; other languages have it under `states` in `locales`. */
  readonly words: Readonly<Record<string, WordRow>>;
  /** Words that end something; the local controller ends what it does itself. */
  readonly ends: readonly string[];
  /** Words that start nothing, so that no pause delays them and no count of starts has them. */
  readonly noStarts: readonly string[];
  /** What a lease ends with that names no word: the first of these that there is. */
  readonly leaseEnds: readonly string[];
  /** It goes from these states to those of its own accord: a plan that was watering has watered. */
  readonly goesItself?: { readonly from: readonly string[]; readonly to: readonly string[] };
}

/** `code`: its number as a state (docs/scada.md), which never changes its meaning. */
type WordRow = readonly [label: string, code?: number];

const onOff = { on: ["On", 1], off: ["Off", 0] } as const;
const auto = { auto: ["Automatic", 2] } as const;
const stop = { stop: ["Stop", 11] } as const;

/** What most kinds have in common. */
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

/** What the words of these do, only the configuration knows. */
const configured = { ...usual, family: "others", configured: true, leaseEnds: [] } as const;

/**
 * Every kind of actuator. Source: the interface document's tables of control values; the last two are the configuration's. Without
 * values of its own a kind is one row here, and one in Home Assistant's table, which the compiler asks for.
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

/** What stands still at a degree, or runs only until it has arrived, has no time that anybody would count. */
export const hasRunTime = (kind: ActuatorKind): boolean => !takesDegrees(kind) && kind !== "motor";

/** Command and state words of all kinds. */
export const kindWords: ReadonlyMap<string, WordRow> = new Map(
  actuatorKinds.flatMap((kind) => Object.entries(rows[kind].words)),
);

/** Whether a command word or a state ends something. */
export const isEnding = (kind: ActuatorKind, word: string): boolean => rows[kind].ends.includes(word);

export const isStart = (kind: ActuatorKind, word: string): boolean => !rows[kind].noStarts.includes(word);

/** Kinds that take the same values as this one, or some more of them; what the configuration gives its own values is like no other. */
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
 * What a value means, which depends on the kind alone: `11000` is automatic for a skylight and two fans for a fan and
 * wet curtain. The platform may hand a value back as a number, without its leading zeros or padded; all of these decode.
 */

interface DecodedValue {
  /** `open`, `auto`, `position` …, or `unknown`. */
  readonly state: string;
  /** Opening degree 0..100, where the value is one. */
  readonly position: number | null;
  /** The table's spelling where there is one, else the trimmed text. */
  readonly value: string;
}

/** What of an actuator says what its values mean. */
export interface KindWithValues {
  readonly kind: ActuatorKind;
  /** Command words of the configuration, beside the kind's own. */
  readonly values: ValueTable;
  /** Further values that mean a word when they are read. */
  readonly reads?: ReadTable | undefined;
}

/** Words and the values that mean them when they are read, beside the one that is sent. */
export type ReadTable = Readonly<Record<string, readonly string[]>>;

/** Command word → value: the kind's own table, with the configuration's on top. */
export function valueTable({ kind, values }: Pick<KindWithValues, "kind" | "values">): ValueTable {
  return { ...kindRows[kind].values, ...values };
}

/** The state word a command word leads to (`close` → `closed`). */
export function stateOfWord(kind: ActuatorKind, word: string): string {
  return rows[kind].states[word] ?? word;
}

export function decodeValue(settings: KindWithValues, raw: string | number | boolean): DecodedValue {
  const row = rows[settings.kind];
  const text = textOf(raw);
  const degree = row.positionMode === null ? null : degreeRead(text);
  const [word, value] =
    meaningOf(settings, text) ?? (degree === null ? null : meaningOf(settings, String(degree))) ?? [];
  // A degree that means a word, as the configuration says, is still how far it is open.
  if (word !== undefined && value !== undefined)
    return { state: stateOfWord(settings.kind, word), position: degree, value };
  if (row.positionMode !== null && sameValue(row.positionMode, text))
    return { state: "position", position: null, value: row.positionMode };
  if (degree !== null)
    return { state: "position", position: degree, value: text.includes(".") ? text : String(degree) };
  return { state: "unknown", position: null, value: text };
}

/** The word that a value means, with the spelling of the table it stands in; null for one that stands in none. */
function meaningOf(settings: KindWithValues, text: string): readonly [word: string, value: string] | null {
  for (const [word, value] of Object.entries(valueTable(settings)))
    if (sameValue(value, text)) return [word, value];
  for (const [word, values] of Object.entries(settings.reads ?? {})) {
    const value = values.find((one) => sameValue(one, text));
    if (value !== undefined) return [word, value];
  }
  return null;
}

/** The word that `limits.ends_with` stands for where it is left out; null where it has to be named. */
export const defaultEndsWith = (kind: ActuatorKind, words: readonly string[]): string | null =>
  rows[kind].leaseEnds.find((word) => words.includes(word)) ?? null;

/** Whether a kind goes from this state to that one of its own accord. */
export function endsByItself(kind: ActuatorKind, from: string, to: string): boolean {
  const { goesItself } = rows[kind];
  return goesItself !== undefined && goesItself.from.includes(from) && goesItself.to.includes(to);
}

/** Whether a value that is read says what one that was sent asks for: the same value, or another one of the same word. */
export function meansSame(settings: KindWithValues, sent: string, text: string): boolean {
  if (sameValue(sent, text)) return true;
  if (settings.reads === undefined) return false;
  const { state } = decodeValue(settings, sent);
  return state !== "unknown" && state !== "position" && decodeValue(settings, text).state === state;
}

/** The degree that a word leads to, where one does. */
export const degreeOfState: Readonly<Record<string, number>> = { open: 100, closed: 0 };

/**
 * Whether a value that is in no table of the kind may be how a controller shows this state. That is a control value of the same length
 * that no other kind has, the number that the bits of its own make, or of a positioner the degree at the end of its way. Any other
 * number may be that of something else, or on its way.
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

/** "A bit string", says the interface: `1010` may be kept as 10. */
const isNumberOfBits = (settings: KindWithValues, state: string, text: string): boolean =>
  Object.entries(valueTable(settings)).some(
    ([word, bits]) =>
      stateOfWord(settings.kind, word) === state &&
      /^[01]{2,}$/.test(bits) &&
      text === String(Number.parseInt(bits, 2)),
  );

/** Kinds in whose table of the interface a value stands. */
export const kindsWith = (text: string): readonly ActuatorKind[] =>
  actuatorKinds.filter((kind) => {
    const row = rows[kind];
    return [...Object.values(row.values), ...(row.positionMode === null ? [] : [row.positionMode])].includes(
      text,
    );
  });

/** Equal as the platform may return them: as text, or as the same number. */
export const sameValue = (wanted: string, text: string): boolean =>
  wanted === text || spellingOf(wanted) === spellingOf(text);

/** One spelling for all that the platform may return a value as: a number, with leading zeros lost. */
export function spellingOf(given: string): string {
  const value = plainDigits(given);
  if (/^\d+$/.test(value)) return value.replace(/^0+(?=\d)/, "");
  return /^[-+]?\d+(?:\.\d+)?$/.test(value) ? String(Number(value)) : value;
}

/** A register as text: trimmed, digits of full width as plain ones, and a whole number that came as `45.0` as `45`. */
export function textOf(raw: string | number | boolean): string {
  const text = plainDigits(String(raw).trim());
  return /^\d+\.0+$/.test(text) ? text.slice(0, text.indexOf(".")) : text;
}

/** A degree as it is sent and configured, in whole digits. */
export function degreeOf(text: string): number | null {
  if (!/^\d{1,8}$/.test(text)) return null;
  const degree = Number(text);
  return degree <= 100 ? degree : null;
}

const measuredDegree = /^(\d{1,8}(?:\.\d+)?)\s*[%％]?$/;

/**
 * A degree as it is read. The interface has whole numbers from 0 to 100; a platform may show what was measured, with a fraction or a
 * percent sign, which is the nearest whole one. What is beyond 0 or 100 is none.
 */
export function degreeRead(text: string): number | null {
  const [, digits] = measuredDegree.exec(text) ?? [];
  return digits !== undefined && Number(digits) <= 100 ? Math.round(Number(digits)) : null;
}

/** Where an actuator is on the platform. */
export interface Placed {
  readonly kind: ActuatorKind;
  readonly address: string;
  readonly modeAddress?: string | undefined;
  readonly positionAddress?: string | undefined;
  readonly modeReads?: "value" | "never" | undefined;
}

/** The addresses that its values are sent to: that of the mode, and one of the position where it has one of its own. */
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
 * The addresses whose values make up the actuator's state: those that it is sent to, so that a number at the mode address is no degree
 * where that has an address of its own; and that one alone where the mode's can only be written.
 */
export function stateAddresses(placed: Placed): readonly [first: string, ...position: string[]] {
  const [mode, position] = sendAddresses(placed);
  if (position === undefined) return [mode];
  return placed.modeReads === "never" ? [position] : [mode, position];
}
