/** Every kind of actuator. A new kind is one word here; the compiler then asks each table for its row. */
export const positionerKinds = [
  "skylight",
  "shade_curtain",
  "thermal_curtain",
  "side_vent",
  "positioner",
] as const;

const machineKinds = [
  "circulation_fan",
  "uv_disinfection",
  "mist_humidifier",
  "co2_supply",
  "humidity_control",
  "hot_air_blower",
  "heating_blower",
  "mist_cooling",
  "machine",
] as const;

export const actuatorKinds = [
  ...positionerKinds,
  ...machineKinds,
  "fan_wet_curtain",
  "irrigation",
  "light",
  "motor",
  "custom",
] as const;

export type ActuatorKind = (typeof actuatorKinds)[number];

/** Command words and the values they stand for. */
export type ValueTable = Readonly<Record<string, string>>;

export interface KindRow {
  /** Command word → value sent. */
  readonly values: ValueTable;
  /** State word of a value where it is not the command word (`open` → `open`, `close` → `closed`). */
  readonly states: Readonly<Record<string, string>>;
  /** Takes a degree 0..100 after `positionMode`. */
  readonly positionMode: string | null;
  /** Its words are the configuration's own, beside those of `values`. */
  readonly configured: boolean;
}

const fixed = (values: ValueTable): KindRow => ({
  values,
  states: {},
  positionMode: null,
  configured: false,
});

const positioner: KindRow = {
  values: { open: "10010", close: "10001", auto: "11000" },
  states: { close: "closed" },
  positionMode: "10100",
  configured: false,
};

const machine = fixed({ on: "1010", off: "1001", auto: "1100" });

/** Source: the interface document's tables of control values; the last two are the configuration's. */
export const kindRows = {
  skylight: positioner,
  shade_curtain: positioner,
  thermal_curtain: positioner,
  side_vent: positioner,
  positioner,
  circulation_fan: machine,
  uv_disinfection: machine,
  mist_humidifier: machine,
  co2_supply: machine,
  humidity_control: machine,
  hot_air_blower: machine,
  heating_blower: machine,
  mist_cooling: machine,
  machine,
  fan_wet_curtain: fixed({
    all_on: "11110",
    fans_1_2_3: "11100",
    fans_1_2: "11000",
    fan_1: "10000",
    off: "00000",
  }),
  irrigation: fixed({ on: "1010", off: "1001", auto: "1100", rotation: "11111111" }),
  light: machine,
  motor: { values: { stop: "00000100" }, states: {}, positionMode: null, configured: true },
  custom: { values: {}, states: {}, positionMode: null, configured: true },
} as const satisfies Record<ActuatorKind, KindRow>;

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
  const row: KindRow = kindRows[kind];
  return row.states[word] ?? word;
}

export function decodeValue(settings: KindWithValues, raw: string | number | boolean): DecodedValue {
  const row: KindRow = kindRows[settings.kind];
  const text = textOf(raw);
  const degree = row.positionMode === null ? null : degreeOf(text);
  const [word, value] = meaningOf(settings, text) ?? [];
  // A degree that means a word, as the configuration says, is still how far it is open.
  if (word !== undefined && value !== undefined)
    return { state: stateOfWord(settings.kind, word), position: degree, value };
  if (row.positionMode !== null && sameValue(row.positionMode, text))
    return { state: "position", position: null, value: row.positionMode };
  if (degree !== null) return { state: "position", position: degree, value: String(degree) };
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

/**
 * The word that `limits.ends_with` stands for where it is left out; null where it has to be named: what the words of a motor or of a
 * custom kind do, only the configuration knows.
 */
export const defaultEndsWith = (kind: ActuatorKind, words: readonly string[]): string | null =>
  kindRows[kind].configured ? null : (["off", "close"].find((word) => words.includes(word)) ?? null);

/** Whether a kind goes from this state to that one of its own accord: a plan that was watering has watered. */
export const endsByItself = (kind: ActuatorKind, from: string, to: string): boolean =>
  kind === "irrigation" && (from === "on" || from === "rotation") && (to === "off" || to === "auto");

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
 * Whether a value that is in no table of the kind may be how a controller shows this state: a control value of the same length that no
 * other kind has, or of a positioner the degree at the end of its way. Any other number may be that of something else, or on its way.
 */
export function mayMean(settings: KindWithValues, state: string, text: string): boolean {
  const read = decodeValue(settings, text);
  if (state === "unknown" || state === "position") return false;
  if (read.state === "position") return read.position !== null && read.position === degreeOfState[state];
  const own = Object.values(valueTable(settings));
  const isControl = /^[01]+$/.test(text) && own.some((value) => value.length === text.length);
  return read.state === "unknown" && isControl && kindsWith(text).length === 0;
}

/** Kinds in whose table of the interface a value stands. */
export const kindsWith = (text: string): readonly ActuatorKind[] =>
  actuatorKinds.filter((kind) => {
    const row: KindRow = kindRows[kind];
    return [...Object.values(row.values), ...(row.positionMode === null ? [] : [row.positionMode])].includes(
      text,
    );
  });

/** Equal as the platform may return them: as text, or as the same number. */
export const sameValue = (wanted: string, text: string): boolean =>
  wanted === text || spellingOf(wanted) === spellingOf(text);

/** One spelling for all that the platform may return a value as: a number, with leading zeros lost. */
export function spellingOf(value: string): string {
  if (/^\d+$/.test(value)) return value.replace(/^0+(?=\d)/, "");
  return /^[-+]?\d+(?:\.\d+)?$/.test(value) ? String(Number(value)) : value;
}

/** A register as text: trimmed, and a whole number that came as `45.0` as `45`. */
export function textOf(raw: string | number | boolean): string {
  const text = String(raw).trim();
  return /^\d+\.0+$/.test(text) ? text.slice(0, text.indexOf(".")) : text;
}

export function degreeOf(text: string): number | null {
  if (!/^\d{1,8}$/.test(text)) return null;
  const degree = Number(text);
  return degree <= 100 ? degree : null;
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
