import type { ConnectPacket } from "aedes";

/*
 * What the packet library lets through although MQTT forbids it, where aedes then ends the process or makes correct
 * subscribers hang up.
 */

/** Why a CONNECT must be refused; null when it may go on. */
export function connectFault({
  properties,
  will,
}: Pick<ConnectPacket, "properties" | "will">): string | null {
  // Delivering such a will would break the connection of every subscriber.
  if (will && Number(will.qos) > 2) return "a will of QoS 3";
  if (repeatsProperty(properties) || repeatsProperty(will?.properties)) return "a property given twice";
  return null;
}

/** The library makes a list of a property that comes twice; only user properties may. */
function repeatsProperty(properties: object | undefined): boolean {
  return Object.entries(properties ?? {}).some(
    ([name, value]) => name !== "userProperties" && Array.isArray(value),
  );
}

/** Seconds; 0 for what is no number, as a list is. */
export const secondsOr0 = (interval: unknown): number =>
  typeof interval === "number" && Number.isFinite(interval) ? interval : 0;
