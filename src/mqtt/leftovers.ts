import type { Actuator, Controller } from "../greenhouse/model.js";
import { qualityCodes } from "./codes.js";
import type { Place } from "./topics.js";

/* Rules about retained topics under a controller's id that nothing wants any more, or nothing yet. */

/** A topic on the broker that nothing wants. */
export interface Leftover {
  /** Device code of the controller of this run that showed it; null for what an earlier run left. */
  readonly code: string | null;
  /** What it has to say until it may be emptied, and the broker has not acknowledged. */
  readonly owed: string | null;
}

/**
 * What may be emptied: what this run has ended; also what the configuration decides over; everything that nothing stands for.
 * Each holds the one before.
 */
export type Extent = "ended" | "settled" | "all";

const extents: readonly Extent[] = ["ended", "settled", "all"];

export const wider = (one: Extent, other: Extent | undefined): Extent =>
  other !== undefined && extents.indexOf(other) > extents.indexOf(one) ? other : one;

/** Whether the mirror has something to show there, so that the topic is not left over. */
export function isShown({ folder, id, leaf }: Place, controller: Controller | undefined): boolean {
  switch (folder) {
    case "sensor":
      return controller?.sensors.has(id) ?? false;
    case "status":
      return controller?.statuses.has(id) ?? false;
    case "actuator":
      return isActuatorShown(leaf, controller?.actuators.get(id));
    case "parameter":
      return (controller?.parameters.get(id)?.register ?? null) !== null;
    case "address":
      return controller?.addresses.has(id) ?? false;
    default:
      return controller !== undefined;
  }
}

function isActuatorShown(leaf: string, actuator: Actuator | undefined): boolean {
  if (leaf === "allowed") return actuator !== undefined;
  if (leaf === "lock" || leaf === "lease") return (actuator?.restrictions?.[leaf] ?? null) !== null;
  return (actuator?.readAt ?? null) !== null;
}

/** The configuration alone decides: it has no such actuator or parameter any more. */
export function isSettled({ folder, id, leaf }: Place, controller: Controller | undefined): boolean {
  if (!controller) return false;
  // What an earlier run left is in force no more, or stands there again.
  if (leaf === "lock" || leaf === "lease") return true;
  if (folder === "actuator") return !controller.actuators.has(id);
  // Nothing follows a raw address of an earlier run, so what its topic says is of unknown age.
  return (folder === "parameter" && !controller.parameters.has(id)) || folder === "address";
}

/** A topic with an integer, which stands there only where the configuration asks for them. */
export const isCode = ({ leaf }: Place): boolean => leaf === "quality_code" || leaf === "state_code";

/** The payload that says "not read since the start"; null where nothing in the topic says so. */
export function staleForm({ folder, leaf }: Place, payload: string): string | null {
  if (folder === "sensor" && leaf === "quality") return "stale";
  if (leaf === "quality_code") return String(qualityCodes.stale);
  if (leaf === "availability") return "unknown";
  const parsed = leaf === "json" ? objectIn(payload) : null;
  if (parsed === null || !("quality" in parsed)) return null;
  return parsed.quality === "stale" ? payload : JSON.stringify({ ...parsed, quality: "stale" });
}

/** The device code in the payload of an `info` topic. */
export function codeIn(payload: string): string | null {
  const parsed = objectIn(payload);
  return parsed !== null && "code" in parsed && typeof parsed.code === "string" ? parsed.code : null;
}

function objectIn(payload: string): object | null {
  try {
    const parsed: unknown = JSON.parse(payload);
    return typeof parsed === "object" ? parsed : null;
  } catch {
    return null;
  }
}
