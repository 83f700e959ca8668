import type { BridgeEvent } from "../greenhouse/events.js";
import type { KeptLimits } from "../journal/records.js";
import type { Lease } from "./rules/entry.js";

/* Events about limits that ended by themselves. */

interface About {
  readonly controller: string;
  readonly actuator: string;
}

/** A lease was over at the start; `kept` is null if its end is unknown. */
export function overrunEvent(
  { endsWith }: Lease,
  about: About,
  kept: KeptLimits | null,
  at: number,
): BridgeEvent {
  const until = kept?.lease?.until ?? null;
  const minutes = until === null ? null : Math.max(0, Math.round((at - until) / 60_000));
  const when = minutes === null ? "by now, as the clock was set back" : `${minutes} minutes ago`;
  const message = `${about.controller}/${about.actuator} should have ended ${when}; ${endsWith} is sent as soon as it may be, unless it shows that somebody moved it meanwhile.`;
  return { type: "lease_overrun", severity: "error", message, at, facts: { ...about, minutes } };
}

/** A lock ended at the time named with it; for a whole controller each actuator reports it. */
export function unlockedEvent(
  { by }: Pick<NonNullable<KeptLimits["lock"]>, "by">,
  about: About,
  at: number,
): BridgeEvent {
  const message = `The lock of ${by} on ${about.controller}/${about.actuator} has run out.`;
  return { type: "unlocked", severity: "info", message, at, facts: { ...about, by, ran_out: true } };
}

/** A lease ended unsent: somebody set another value while the bridge was down, or its command ended by itself. */
export function movedMeanwhileEvent(
  about: About,
  { from, to }: { readonly from: string; readonly to: string },
  isItself: boolean,
  at: number,
): BridgeEvent {
  const facts = { ...about, from, to };
  if (isItself) {
    const ended = `${about.controller}/${about.actuator} went from ${from} to ${to} while the bridge was down: its plan ended by itself, or somebody ended it. Nothing is sent.`;
    return { type: "ended_by_itself", severity: "info", message: ended, at, facts };
  }
  const message = `${about.controller}/${about.actuator} went from ${from} to ${to} while the bridge was down: another user, a wall switch, or the controller's own protection. What was to end it is not sent.`;
  return { type: "changed_elsewhere", severity: "warning", message, at, facts };
}
