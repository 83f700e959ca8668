import { textOf } from "../actuator-kinds.js";
import type { Actuator } from "../model.js";
import type { RawValue } from "../ports.js";

/*
 * A read with `flush=1` may order the device's answer and give the one before. What a poll or push has shown of late then says more
 * than it: where they contradict each other, nothing is there already.
 */

/** So long what was polled or pushed speaks against a fresh read. */
const ofLateMs = 5 * 60_000;

interface Moment {
  /** Epoch ms. */
  readonly at: number;
  readonly mono: number;
}

/** What was shown of an address of late by anything but the reads of commands, since our last POST. */
export function shownOfLate(
  { registers, pushed, postedAt }: Pick<Actuator, "registers" | "pushed" | "postedAt">,
  address: string,
  { at, mono }: Moment,
): readonly RawValue[] {
  const since = Math.max(mono - ofLateMs, postedAt ?? -Infinity);
  const register = registers[address];
  const news = pushed?.[address];
  const isPolled = register !== undefined && register.source !== "read_back";
  const isOfLate = isPolled && register.startedAt >= since && at - register.readAt <= ofLateMs;
  return [...(isOfLate ? [register.raw] : []), ...(news !== undefined && news.at >= since ? [news.raw] : [])];
}

/** What two fresh reads of one address say where the second differs; null where they agree. */
export const lagFound = (first: RawValue, second: RawValue): boolean => textOf(first) !== textOf(second);
