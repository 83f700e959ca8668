import { msg, type Text } from "../language/text.js";
import {
  type ActuatorKind,
  decodeValue,
  degreeOfState,
  kindRows,
  type KindWithValues,
  type Placed,
  type ReadTable,
  sameValue,
  sendAddresses,
  stateAddresses,
  takesDegrees,
  textOf,
} from "./actuator-kinds.js";
import type { RawValue } from "./ports.js";

/*
 * Settings for reading an actuator where the interface document can be understood in two ways, with the effect of each.
 * Absent means the usual reading. Configuration and settings follow from the rows; the matching simulated platforms are
 * in simulator/readings.ts.
 */

/** Some kinds of actuators; `who` names them in a sentence. */
export interface SomeKinds {
  readonly who: Text;
  readonly holds: (kind: ActuatorKind) => boolean;
}

export const positionersOnly: SomeKinds = {
  who: msg`skylights, curtains, side vents and positioners`,
  holds: takesDegrees,
};

/** What a key can take, beside one of some words. */
interface Taken {
  readonly flag: boolean;
  /** In ms. */
  readonly duration: number;
  /** Words, each with further values that mean it when read. */
  readonly words: ReadTable;
}

export interface ReadingRow {
  readonly key: string;
  /** Of a list of words the first is the usual reading. */
  readonly takes: keyof Taken | readonly [usual: string, ...others: string[]];
  /** The kinds to which it applies; null for all. */
  readonly kinds: SomeKinds | null;
  readonly description: string;
  /** Of a flag or a duration, in the example file. */
  readonly example?: string;
}

/** A row is a reading. */
export const readingRows = {
  reads: {
    key: "reads",
    takes: "words",
    kinds: null,
    description: "Further values that mean a word when they are read, beside the one that is sent.",
  },
  positionReads: {
    key: "position_reads",
    takes: ["degree", "mode"],
    kinds: positionersOnly,
    description:
      "Positioners: mode: the address reads 10100 after a degree, and that is the proof. Try position_address first.",
  },
  modeReads: {
    key: "mode_reads",
    takes: ["value", "never"],
    kinds: positionersOnly,
    description:
      "Positioners with a position_address. never: the mode's address can only be written, and the degree alone is the proof.",
  },
  /** With `when_needed` it is sent all the same if anything else was sent since that read. */
  modeAgain: {
    key: "mode_again",
    takes: ["always", "when_needed"],
    kinds: positionersOnly,
    description: "Positioners: when_needed: the mode is not sent again while a fresh read shows it.",
  },
  pulse: {
    key: "pulse",
    takes: "flag",
    kinds: { who: msg`what takes no degree`, holds: (kind) => !takesDegrees(kind) },
    description: "The register goes back to idle by itself, and that is the proof. The state is uncertain.",
    example: "# true",
  },
  flushLagMs: {
    key: "flush_lag",
    takes: "duration",
    kinds: null,
    description: "How much later a fresh read brings the new value; a second read then judges `already`.",
    example: "# 5s",
  },
} as const satisfies Readonly<Record<string, ReadingRow>>;

type Rows = typeof readingRows;
type ValueOf<Takes> = Takes extends keyof Taken
  ? Taken[Takes]
  : Takes extends readonly (infer Word)[]
    ? Word
    : never;

/** The readings of an actuator. */
export type ActuatorReadings = {
  readonly [Name in keyof Rows]?: ValueOf<Rows[Name]["takes"]> | undefined;
};

/** As the configuration has them. */
export type ConfiguredReadings = {
  readonly [Name in keyof Rows as Rows[Name]["key"]]?: ActuatorReadings[Name];
};
export type ReadingKey = keyof ConfiguredReadings;

/** The readings of an actuator, else of its kind, without those that mean nothing for the kind. */
export function readingsOf(
  { kind, ...own }: ConfiguredReadings & { readonly kind: ActuatorKind },
  ofKind: ConfiguredReadings = {},
): ActuatorReadings {
  const valueOf = (row: Rows[keyof Rows]) =>
    row.takes === "words" ? wordsOf(ofKind[row.key], own[row.key]) : (own[row.key] ?? ofKind[row.key]);
  const entries = Object.entries(readingRows).filter(([, { kinds }]) => kinds === null || kinds.holds(kind));
  // The type of each value follows from its row.
  return Object.fromEntries(entries.map(([name, row]) => [name, valueOf(row)] as const)) as ActuatorReadings;
}

/** Words of the actuator replace those of its kind. */
const wordsOf = (ofKind: ReadTable | undefined, own: ReadTable | undefined): ReadTable | undefined =>
  ofKind === undefined && own === undefined ? undefined : { ...ofKind, ...own };

/** The part of an actuator's settings that the readings use. */
type Settings = ActuatorReadings & Omit<KindWithValues, "reads"> & Placed & { readonly tolerance: number };

interface Step {
  readonly purpose: string;
  readonly address: string;
  readonly value: string;
}

/*
 * `pulse`: acceptance by the platform and the return to idle are the confirmation; the last word stands for the state.
 */

type Pulsing = Pick<Settings, "kind" | "values" | "reads" | "pulse">;

/** Whether a register is idle: zeros that are no word of the kind, or the word stop. */
function isIdle(settings: Pulsing, raw: RawValue): boolean {
  const { state } = decodeValue(settings, raw);
  return state === "stop" || (state === "unknown" && /^0+$/.test(textOf(raw)));
}

/** Whether a pulse register is idle and therefore says nothing about the last command. */
export const isIdlePulse = (settings: Pulsing, raw: RawValue): boolean =>
  settings.pulse === true && isIdle(settings, raw);

/** Whether a register that kept nothing of a command may be a pulse; `before` is null where unknown. */
export function maybePulse(settings: Pulsing, raw: RawValue, before: RawValue | null): boolean {
  const hasDegrees = kindRows[settings.kind].positionMode !== null;
  if (settings.pulse === true || hasDegrees) return false;
  return isIdle(settings, raw) && (before === null || sameValue(textOf(before), textOf(raw)));
}

export const pulseAdvice = msg`Only if you saw it do what was asked, its register is a pulse that goes back to idle by itself: set pulse: true.`;

/*
 * `mode_reads`: the mode address can only be written. The degree, at its own address, confirms degrees and words for an
 * end of the way. Nothing confirms automatic.
 */

/** Whether the mode cannot be read; then the degree may match in another mode unnoticed. */
export const isModeUnread = (settings: Settings): boolean =>
  settings.modeReads === "never" && sendAddresses(settings).length > 1;

/** Where a step is read back; null where nothing shows it, so that acceptance has to be enough. */
export function proofAddress(settings: Settings, step: Step): string | null {
  if (!isModeUnread(settings)) return step.address;
  const [mode, position = mode] = sendAddresses(settings);
  if (step.address !== mode) return step.address;
  return step.purpose === "mode" ? null : position;
}

/** Where a confirmed value shows: where it was confirmed. */
export const lookedAt = (settings: Settings, step: Step): string =>
  proofAddress(settings, step) ?? step.address;

/**
 * Whether a confirmed command is read again after its travel time, as something may have reset it. A stop at its own
 * address says nothing about the state, and an idle pulse nothing about a reset.
 */
export function isLookedAtTwice(settings: Settings, step: Step): boolean {
  const travels = kindRows[settings.kind].positionMode !== null || settings.kind === "motor";
  return travels && settings.pulse !== true && stateAddresses(settings).includes(lookedAt(settings, step));
}

/** Whether the degree confirms a word sent to the mode address; null where words are read there as usual. */
export function showsByDegree(settings: Settings, step: Step, raw: RawValue): boolean | null {
  const [mode] = sendAddresses(settings);
  if (!isModeUnread(settings) || step.purpose !== "value" || step.address !== mode) return null;
  const end = degreeOfState[decodeValue(settings, step.value).state];
  const { position } = decodeValue(settings, raw);
  return end !== undefined && position !== null && Math.abs(position - end) <= settings.tolerance;
}

/*
 * `flush_lag`: a read with `flush=1` may only trigger the device's answer and return the previous one. A recent poll or
 * push is better evidence: if they contradict it, nothing counts as already there.
 */

/** How long a polled or pushed value can contradict a fresh read. */
const ofLateMs = 5 * 60_000;

/** The shown and the pushed values of an actuator's addresses. */
interface Shown {
  readonly registers: Readonly<
    Record<
      string,
      {
        readonly raw: RawValue;
        readonly startedAt: number;
        readonly readAt: number;
        readonly source: string;
      }
    >
  >;
  readonly pushed?: Readonly<Record<string, { readonly raw: RawValue; readonly at: number }>>;
  readonly postedAt: number | null;
}

/** The value of an address recently shown by anything but command reads, since our last POST. */
export function shownOfLate(
  { registers, pushed, postedAt }: Shown,
  address: string,
  { at, mono }: { readonly at: number; readonly mono: number },
): readonly RawValue[] {
  const since = Math.max(mono - ofLateMs, postedAt ?? -Infinity);
  const register = registers[address];
  const news = pushed?.[address];
  const isPolled = register !== undefined && register.source !== "read_back";
  const isOfLate = isPolled && register.startedAt >= since && at - register.readAt <= ofLateMs;
  return [...(isOfLate ? [register.raw] : []), ...(news !== undefined && news.at >= since ? [news.raw] : [])];
}
