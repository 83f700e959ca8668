import type { Topics } from "../mqtt/topics.js";

export type Language = "en" | "zh";

/** Platforms of Home Assistant that the bridge announces; all of them exist since 2024.11. */
export const platforms = [
  "binary_sensor",
  "button",
  "cover",
  "event",
  "light",
  "lock",
  "number",
  "select",
  "sensor",
  "switch",
  "valve",
] as const;

export type Platform = (typeof platforms)[number];

export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

/** One entity, under Home Assistant's long key names; `undefined` stands for a key that is left out. */
export interface Component {
  readonly platform: Platform;
  readonly [key: string]: Json | undefined;
}

type Components = Readonly<Record<string, Component>>;

/** What a `<prefix>/device/<id>/config` message holds. */
export interface DeviceDocument {
  readonly device: Readonly<Record<string, Json | undefined>>;
  readonly origin: Readonly<Record<string, string | undefined>>;
  readonly availability?: Json;
  readonly availability_mode?: "all";
  readonly components: Components;
}

export interface DocumentSettings {
  readonly topics: Topics;
  readonly language: Language;
  /** `homeassistant.sensor_names`. */
  readonly sensorNames: "translated" | "platform";
  /** Whether polling has a budget of requests, of which something can be left. */
  readonly hasBudget: boolean;
  /** Of this program. */
  readonly version: string;
  /** `homeassistant.discovery_prefix`. */
  readonly prefix: string;
  /** The MQTT client id: tells several bridges on one broker apart. */
  readonly clientId: string;
  /** The bridge's own page, where others reach it. */
  readonly pageUrl?: string | undefined;
  /** A web page for people who need help; left out when absent. */
  readonly supportUrl?: string;
}

export const originName = "greenhouse2mqtt";

export const originOf = (settings: DocumentSettings): DeviceDocument["origin"] => ({
  name: originName,
  sw_version: settings.version,
  support_url: settings.supportUrl,
});

/** Brokers and Home Assistant's users have limits on packets; the usual smallest is 256 KiB. */
export const maxDocumentBytes = 240 * 1024;

/** The message's text; the last components are left out where it would be too large, and counted. */
export function fittingDocument(document: DeviceDocument) {
  let excess = Buffer.byteLength(JSON.stringify(document)) - maxDocumentBytes;
  if (excess <= 0) return { document, leftOut: 0 };
  const kept = Object.entries(document.components);
  const all = kept.length;
  while (excess > 0 && kept.length > 0) excess -= Buffer.byteLength(JSON.stringify(kept.pop())) - 2;
  return { document: { ...document, components: Object.fromEntries(kept) }, leftOut: all - kept.length };
}
