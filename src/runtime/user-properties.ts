import { createHash } from "node:crypto";

/*
 * The MQTT 5 user properties that mean something to the bridge. A packet may hold thousands of others, up to its full
 * size, so they are left behind at every door: at the embedded broker's, and at the bridge's own behind another broker.
 */

export type UserProperties = Readonly<Record<string, string | readonly string[]>>;

/** Who asks, in the sender's own words. */
export const byProperty = "by";
/** Who sent a command, written by the embedded broker. */
export const viaProperty = "greenhouse2mqtt-via";

const maxLengths = { [byProperty]: 200, [viaProperty]: 1_024 } as const;

/** The sender's own words alone, cut; undefined without any. A property that comes twice says nothing. */
export function claimed(given: UserProperties | undefined): Record<string, string> | undefined {
  const by = given?.[byProperty];
  return typeof by === "string" ? { [byProperty]: copied(by, maxLengths[byProperty]) } : undefined;
}

/** What the bridge reads of a message; undefined where there is none of it. */
export function understood(given: UserProperties | undefined): Record<string, string> | undefined {
  const via = given?.[viaProperty];
  const isVia = typeof via === "string" && via.length <= maxLengths[viaProperty];
  const kept = { ...claimed(given), ...(isVia && { [viaProperty]: via }) };
  return Object.keys(kept).length > 0 ? kept : undefined;
}

/** A part of a text would keep all of it in memory. */
const copied = (text: string, length: number) =>
  text.length <= length ? text : Buffer.from(text.slice(0, length)).toString();

/** Tells texts apart without keeping them. */
export const fingerprint = (text: string): string =>
  `sha256:${createHash("sha256").update(text).digest("hex")}`;

export const isFingerprint = (text: string): boolean => /^sha256:[0-9a-f]{64}$/.test(text);
