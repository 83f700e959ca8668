import { msg } from "../language/text.js";
import {
  decodeValue,
  degreeOfState,
  kindRows,
  type KindWithValues,
  type Placed,
  type ReadTable,
  sameValue,
  sendAddresses,
  stateAddresses,
  textOf,
} from "./actuator-kinds.js";
import type { RawValue } from "./ports.js";

/*
 * How an actuator is to be read where the words of the interface document can be meant in two ways: what each setting does. Absent is the
 * usual reading. The keys stand in settings/sections/readings.ts, the simulated platform that is so in simulator/readings.ts.
 */
export interface ActuatorReadings {
  /** Further values that mean a word when they are read; absent where nothing is configured. */
  readonly reads?: ReadTable | undefined;
  /** `mode`: its address goes on reading the mode after a degree, which is all the proof there is. */
  readonly positionReads?: "degree" | "mode" | undefined;
  /** `never`: the mode's own address gives no value; the degree alone is the proof. */
  readonly modeReads?: "value" | "never" | undefined;
  /** `when_needed`: the mode is left out where a fresh read shows it and nothing else was sent since. */
  readonly modeAgain?: "always" | "when_needed" | undefined;
  /** Its register goes back to idle by itself, which is all the proof there is. */
  readonly pulse?: boolean | undefined;
  /** A fresh read may answer the value before, and bring the new one so much later. */
  readonly flushLagMs?: number | undefined;
}

/** What of an actuator the readings look at. */
type Settings = ActuatorReadings & Omit<KindWithValues, "reads"> & Placed & { readonly tolerance: number };

interface Step {
  readonly purpose: string;
  readonly address: string;
  readonly value: string;
}

/* `pulse`: taken by the platform, and idle again, is all the proof there is; the last word stands for the state. */

type Pulsing = Pick<Settings, "kind" | "values" | "reads" | "pulse">;

/** Zeros alone that are no word of the kind, or the word stop. */
function isIdle(settings: Pulsing, raw: RawValue): boolean {
  const { state } = decodeValue(settings, raw);
  return state === "stop" || (state === "unknown" && /^0+$/.test(textOf(raw)));
}

/** Whether the register of a pulse is idle, so that it says nothing of what was sent. */
export const isIdlePulse = (settings: Pulsing, raw: RawValue): boolean =>
  settings.pulse === true && isIdle(settings, raw);

/** Whether a register that kept nothing of what was sent may be a pulse; `before` is null where that is not known. */
export function maybePulse(settings: Pulsing, raw: RawValue, before: RawValue | null): boolean {
  const hasDegrees = kindRows[settings.kind].positionMode !== null;
  if (settings.pulse === true || hasDegrees) return false;
  return isIdle(settings, raw) && (before === null || sameValue(textOf(before), textOf(raw)));
}

export const pulseAdvice = msg`Only if you saw it do what was asked, its register is a pulse that goes back to idle by itself: set pulse: true.`;

/*
 * `mode_reads`: the mode's address may only be written. The degree, which has an address of its own then, is the proof: of a degree itself,
 * and of the words that lead to an end of the way. Of automatic there is none.
 */

/** The degree may match while another mode holds, which nothing would show. */
export const isModeUnread = (settings: Settings): boolean =>
  settings.modeReads === "never" && sendAddresses(settings).length > 1;

/** Where a step is read back; null where nothing shows it, so that its acceptance has to be enough to go on. */
export function proofAddress(settings: Settings, step: Step): string | null {
  if (!isModeUnread(settings)) return step.address;
  const [mode, position = mode] = sendAddresses(settings);
  if (step.address !== mode) return step.address;
  return step.purpose === "mode" ? null : position;
}

/** Where a value shows that was confirmed: where it was proven. */
export const lookedAt = (settings: Settings, step: Step): string =>
  proofAddress(settings, step) ?? step.address;

/**
 * Whether what was confirmed is read once more when its travel time is over, as something may have set it back. A stop with an address of
 * its own says nothing of the state, and an idle pulse neither that it is there nor that it was set back.
 */
export function isLookedAtTwice(settings: Settings, step: Step): boolean {
  const travels = kindRows[settings.kind].positionMode !== null || settings.kind === "motor";
  return travels && settings.pulse !== true && stateAddresses(settings).includes(lookedAt(settings, step));
}

/** Whether the degree shows that a word sent to the mode's address was done; null where words are read there as usual. */
export function showsByDegree(settings: Settings, step: Step, raw: RawValue): boolean | null {
  const [mode] = sendAddresses(settings);
  if (!isModeUnread(settings) || step.purpose !== "value" || step.address !== mode) return null;
  const end = degreeOfState[decodeValue(settings, step.value).state];
  const { position } = decodeValue(settings, raw);
  return end !== undefined && position !== null && Math.abs(position - end) <= settings.tolerance;
}

/*
 * `flush_lag`: a read with `flush=1` may order the device's answer and give the one before. What a poll or push has shown of late says
 * more than it: where they contradict each other, nothing is there already.
 */

/** How long a polled or pushed value speaks against a fresh read. */
const ofLateMs = 5 * 60_000;

/** What was shown of an actuator's address, and what was pushed of it. */
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

/** What was shown of an address of late by anything but the reads of commands, since our last POST. */
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
