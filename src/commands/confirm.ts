import type { Text } from "../language/text.js";
import { confirmWithinMs, shows, showsModeOfDegree, type Step, travels } from "../greenhouse/command/plan.js";
import type { PlatformErrorFacts, RawValue } from "../greenhouse/ports.js";
import { isIdlePulse, proofAddress } from "../greenhouse/readings.js";
import type { ActuatorSettings } from "../greenhouse/settings.js";
import type { Evidence } from "./endings.js";

/*
 * Reading one step back, as data: after settling, at growing intervals from the POST's end, at once when the platform
 * pushes a value of it, and a last time at the very end. All instants are monotonic ms.
 */

/** The shortest pause between reads after pushes of the wanted value, and after the first poll that shows it. */
const wantedGapMs = 1_000;
/** The same for any other pushed value, which decides nothing, and for further polls that show the wanted one. */
const otherGapMs = 10_000;
const recoveredEveryMs = 10_000;
/** How long a command of an earlier run waits for its first read. */
const recoveredGiveUpMs = 600_000;

export interface ReadBack {
  readonly step: Step;
  /** The address to read; null if it cannot be read, so that acceptance is all there is. */
  readonly address: string | null;
  /** Reads that began before this time prove nothing. */
  readonly from: number;
  readonly settleMs: number;
  readonly lastAt: number;
  /**
   * How long before the last read another one is made, which orders the value that the last shows; 0 if each read shows
   * the present value.
   */
  readonly lagMs: number;
  /** Whether an earlier run sent it, at an unknown time: it is read at once, then every 10 s, until `lastAt`. */
  readonly recovered: boolean;
  readonly dueAt: number;
  readonly readAt: number;
  /** When a pushed value makes a read before `dueAt` worthwhile. */
  readonly pushedAt: number | null;
  /** The value of the newest read since the POST, whoever asked for it. */
  readonly newest: RawValue | null;
  /** A value pushed after the last read began. */
  readonly pushed: RawValue | null;
  /** Whether the newest read is the one that was due. */
  readonly isDue: boolean;
  readonly lastRead: RawValue | null;
}

export interface Confirming {
  readonly facts: Evidence;
  readonly otherwise: "unconfirmed" | "failed";
  /** A read after the POST but before the reading back; it decides if no further read succeeds. */
  readonly earlierRead: RawValue | null;
}

export type Read =
  | { readonly type: "value"; readonly raw: RawValue; readonly startedMono: number }
  /** The answer does not contain this address. */
  | { readonly type: "absent" }
  | { readonly type: "unanswered"; readonly reason: Text; readonly facts: PlatformErrorFacts | null };

const idle = {
  readAt: -Infinity,
  newest: null,
  pushedAt: null,
  pushed: null,
  isDue: false,
  lastRead: null,
};

/** Null if its time is over already. */
export function readBackFrom(
  step: Step,
  settings: ActuatorSettings,
  from: number,
  now: number,
): ReadBack | null {
  const { settleMs, flushLagMs: lagMs = 0 } = settings;
  const lastAt = from + Math.max(confirmWithinMs(settings, step), settleMs);
  const plan = { from, settleMs, lastAt, lagMs };
  const dueAt = nextDue(plan, -Infinity, now);
  if (dueAt === null) return null;
  return { step, address: proofAddress(settings, step), ...plan, recovered: false, dueAt, ...idle };
}

export function recoveredReadBack(step: Step, settings: ActuatorSettings, now: number): ReadBack {
  const times = { from: -Infinity, settleMs: 0, lastAt: now + recoveredGiveUpMs, lagMs: 0, dueAt: now };
  return { step, address: proofAddress(settings, step), ...times, recovered: true, ...idle };
}

/**
 * When to read back, in ms after the end of the POST: 2, 4, 8, 15 s, then every 30 s, but not before `settle` is over.
 */
function readBackDelaysMs(place: number): number {
  const first = [2_000, 4_000, 8_000, 15_000];
  return first[place] ?? 15_000 + (place - first.length + 1) * 30_000;
}

/**
 * The first planned time after `after` that is not missed. On a slow platform missed reads must not follow each other,
 * nor come after the end.
 */
function nextDue(
  { from, settleMs, lastAt, lagMs }: Pick<ReadBack, "from" | "settleMs" | "lastAt" | "lagMs">,
  after: number,
  now: number,
): number | null {
  if (now > lastAt) return null;
  const first = from + settleMs;
  if (first > after && first >= now) return first;
  const isNext = (at: number) => at > first && at > after && at >= now && at < lastAt;
  const orderedAt = lagMs > 0 && isNext(lastAt - lagMs) ? lastAt - lagMs : Infinity;
  for (let place = 0; ; place++) {
    const at = from + readBackDelaysMs(place);
    if (at >= lastAt) break;
    if (isNext(at)) return Math.min(at, orderedAt);
  }
  return lastAt > after ? Math.min(lastAt, orderedAt) : null;
}

/** When the next read begins. */
export const nextReadAt = ({ dueAt, pushedAt }: ReadBack): number => Math.min(dueAt, pushedAt ?? dueAt);

/** A pushed value is a reason to read, never evidence. */
export const withPushed = (one: ReadBack, raw: RawValue, isWanted: boolean): ReadBack => ({
  ...withSeen(one, isWanted),
  pushed: raw,
});

/** A value from elsewhere makes a read before `dueAt` worthwhile, a telling one sooner. */
export function withSeen(one: ReadBack, isTelling: boolean): ReadBack {
  const at = one.readAt + (isTelling ? wantedGapMs : otherGapMs);
  const sooner = one.pushedAt !== null && one.pushedAt <= at ? one.pushedAt : at;
  return { ...one, pushedAt: sooner };
}

/**
 * Whether the newest read since the POST shows another value, other than a degree on its way. `earlierRead`: one before
 * the reading back.
 */
export function isContradicted(
  { step, newest }: ReadBack,
  earlierRead: RawValue | null,
  settings: ActuatorSettings,
): boolean {
  const read = newest ?? earlierRead;
  if (read === null || shows(settings, step, read)) return false;
  return (
    !travels(settings, step, null, read) &&
    !showsModeOfDegree(settings, step, read) &&
    !isIdlePulse(settings, read)
  );
}

interface ReadSeen {
  readonly shown: boolean;
  readonly next: ReadBack;
  readonly isOver: boolean;
}

/** Judges a read; `raw` is null if it showed no value. `isAccepted`: whether the platform accepted the POST. */
export function judgeRead(
  one: ReadBack,
  read: { readonly raw: RawValue; readonly startedMono: number } | null,
  settings: ActuatorSettings,
  { now, isAccepted }: { readonly now: number; readonly isAccepted: boolean },
): ReadSeen {
  const counts = read !== null && read.startedMono >= one.from;
  const lastRead = counts ? read.raw : one.lastRead;
  const lastAt =
    one.recovered && counts && one.lastRead === null
      ? read.startedMono + confirmWithinMs(settings, one.step)
      : one.lastAt;
  const next: ReadBack = { ...one, lastRead, lastAt };
  const isProven =
    counts &&
    (shows(settings, one.step, read.raw) ||
      (isAccepted && showsModeOfDegree(settings, one.step, read.raw)) ||
      (isAccepted && isIdlePulse(settings, read.raw)));
  if (isProven) return { shown: true, next, isOver: true };
  if (one.recovered) {
    const dueAt = Math.min(now + recoveredEveryMs, lastAt);
    return { shown: false, next: { ...next, dueAt }, isOver: now >= lastAt };
  }
  const dueAt = one.isDue ? nextDue(one, one.dueAt, now) : one.dueAt;
  return { shown: false, next: { ...next, dueAt: dueAt ?? one.dueAt }, isOver: dueAt === null };
}
