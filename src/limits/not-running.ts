import { type ActuatorKind, isEnding } from "../greenhouse/actuator-kinds.js";
import type { Actuator, Controller, RunningStatus } from "../greenhouse/model.js";
import { runningOf, statusesOf } from "../greenhouse/fold-statuses.js";
import { formatDuration } from "../runtime/duration.js";

/*
 * Finds actuators that were commanded on and do not run: the register says on, and every running status says off for
 * longer than configured. A start takes time, so only reads that long after it count.
 */

/** The state that an actuator shows, and since when, in epoch ms. */
interface ShownSince {
  readonly state: string | null;
  readonly since: number;
}

/** The state after one more read. */
function shownSince(before: ShownSince | undefined, { state, readAt }: Actuator): ShownSince {
  return before !== undefined && before.state === state ? before : { state, since: readAt ?? 0 };
}

/** Whether the state means that it should run; in automatic that is unknown. */
const saysOn = (kind: ActuatorKind, state: string | null): state is string =>
  state !== null && !isEnding(kind, state) && !["unknown", "closed", "position"].includes(state);

/** What is wrong, as a sentence; null if nothing is, undefined if unknown. */
function notRunning(
  { settings, state, quality }: Actuator,
  statuses: ReadonlyMap<string, RunningStatus>,
  { since }: ShownSince,
): string | null | undefined {
  const { running = [], notRunningAfterMs } = settings;
  if (notRunningAfterMs === undefined || !saysOn(settings.kind, state))
    return state === null ? undefined : null;
  const shownRunning = runningOf(running, statuses.values());
  if (shownRunning === "on") return null;
  if (shownRunning === "unknown" || quality === "stale") return undefined;
  const own = statusesOf(running, statuses.values());
  const begun = Math.max(since, ...own.map(({ changedAt }) => changedAt));
  const readUntil = Math.min(...own.map(({ readAt }) => readAt));
  if (readUntil - begun < notRunningAfterMs) return undefined;
  const names = own.map(({ name, number }) => `${number ?? ""} ${name}`.trim()).join(", ");
  return `${settings.name ?? settings.id} shows ${state}, and does not run: ${names} ${own.length === 1 ? "says" : "say"} off for longer than ${formatDuration(notRunningAfterMs)}.`;
}

/** Whether any actuator has this check; all are configured before the first is read. */
export const isNotRunningAsked = (controllers: Iterable<Controller>): boolean =>
  [...controllers].some(({ actuators }) =>
    [...actuators.values()].some(({ settings }) => settings.notRunningAfterMs !== undefined),
  );

type Subject = { readonly controller: string; readonly actuator: string };

/** Follows all actuators that have this check. */
export class NotRunning {
  readonly #shown = new Map<string, ShownSince>();

  /** To be called for each controller that changed. */
  onChange(before: Controller | undefined, after: Controller | undefined): void {
    for (const actuator of (after ?? before)?.actuators.values() ?? []) {
      if (actuator.settings.notRunningAfterMs === undefined) continue;
      const key = keyOf((after ?? before)?.info.code ?? "", actuator.settings.id);
      if (after === undefined) this.#shown.delete(key);
      else if (actuator.readAt !== null) this.#shown.set(key, shownSince(this.#shown.get(key), actuator));
    }
  }

  /** Each actuator with its problem, null for none; those of unknown state are left out. */
  *judgeAll(controllers: Iterable<Controller>): Generator<readonly [about: Subject, message: string | null]> {
    for (const { info, actuators, statuses } of controllers)
      for (const actuator of actuators.values()) {
        const { id, notRunningAfterMs } = actuator.settings;
        const shown = this.#shown.get(keyOf(info.code, id));
        if (notRunningAfterMs === undefined || shown === undefined) continue;
        const message = notRunning(actuator, statuses, shown);
        if (message !== undefined) yield [{ controller: info.id, actuator: id }, message];
      }
  }
}

const keyOf = (code: string, id: string): string => JSON.stringify([code, id]);
