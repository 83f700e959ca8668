import { isEnding, takesDegrees } from "../greenhouse/actuator-kinds.js";
import type { Actuator, RunTime } from "../greenhouse/model.js";

/*
 * How long an actuator was on. Time counts between two good reads that both say so; what nobody saw may have been anything. Pure;
 * instants are epoch ms.
 */

export interface Counted {
  readonly total: { readonly onMs: number; readonly starts: number };
  /** Of the day of the newest read, where the greenhouse is. */
  readonly today: { readonly day: string; readonly onMs: number; readonly starts: number };
  readonly since: number;
  /** The newest good read; null where the one before says nothing of what comes. */
  readonly last: { readonly at: number; readonly isOn: boolean } | null;
}

export const nothingCounted = (since: number, day: string): Counted => ({
  total: { onMs: 0, starts: 0 },
  today: { day, onMs: 0, starts: 0 },
  since,
  last: null,
});

/** What stands still at a degree, or runs only until it has arrived, has no time that anybody would count. */
export const isCounted = ({ settings }: Pick<Actuator, "settings">): boolean =>
  !takesDegrees(settings.kind) && settings.kind !== "motor";

/** Whether it is on by its newest read; null where nobody can tell. Its running statuses know better than the register. */
export function isOn({ settings, state, quality, runs }: Actuator): boolean | null {
  if (quality !== "good" || state === null || state === "unknown") return null;
  if (runs === "on" || runs === "off") return runs === "on";
  if (state === "auto") return null;
  return !isEnding(settings.kind, state);
}

/** After a read; the same object where it says nothing new. */
export function afterRead(before: Counted, at: number, on: boolean | null, day: string): Counted {
  if (on === null) return before.last === null ? before : { ...before, last: null };
  const { last } = before;
  if (last !== null && at <= last.at && day === before.today.day) return before;
  const lasted = last !== null && last.isOn && on ? Math.max(0, at - last.at) : 0;
  const started = last !== null && !last.isOn && on ? 1 : 0;
  const today = day === before.today.day ? before.today : { day, onMs: 0, starts: 0 };
  return {
    ...before,
    total: { onMs: before.total.onMs + lasted, starts: before.total.starts + started },
    today: { day, onMs: today.onMs + lasted, starts: today.starts + started },
    last: { at: Math.max(at, last?.at ?? at), isOn: on },
  };
}

const seconds = (ms: number): number => Math.round(ms / 1_000);

export const runTimeOf = ({ total, today, since }: Counted): RunTime => ({
  on_s: seconds(total.onMs),
  starts: total.starts,
  today_on_s: seconds(today.onMs),
  today_starts: today.starts,
  since: new Date(since).toISOString(),
});
