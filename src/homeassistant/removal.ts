import {
  type Component,
  type Components,
  type DeviceDocument,
  originName,
  type Platform,
  platforms,
} from "./documents.js";
import { bridgeIdentifier, deviceIdentifier, textHash } from "./identity.js";

/*
 * Home Assistant keeps a component that merely is left out of a message. It goes only after a message in which nothing
 * but its `platform` is left; and two messages for one device within a few seconds can make it skip parts of the second.
 */

/** Least time between two messages on one discovery topic. */
export const sameTopicGapMs = 3_000;

/** What Home Assistant needs to find an entity again. */
export interface AnnouncedEntity {
  readonly platform: Platform;
  readonly unique_id: string;
}

/** By component key, what a message announces; components it removes are not in it. */
export type Announced = ReadonlyMap<string, AnnouncedEntity>;

export interface NextDocument {
  readonly publish: DeviceDocument;
  readonly gone: Announced;
  /** When to publish the wanted document alone; null when this already is it. */
  readonly followUpAfterMs: number | null;
}

/**
 * The message that leads from what was announced to what is wanted. A key that changes its platform is removed first,
 * since it cannot stand for both.
 */
export function nextDocument(announced: Announced, wanted: DeviceDocument): NextDocument {
  const gone = goneFrom(announced, wanted.components);
  if (gone.size === 0) return { publish: wanted, gone, followUpAfterMs: null };
  const reduced = [...gone].map(([key, { platform }]): [string, Component] => [key, { platform }]);
  const components = { ...wanted.components, ...Object.fromEntries(reduced) };
  return { publish: { ...wanted, components }, gone, followUpAfterMs: sameTopicGapMs };
}

/** What was announced and is not, or not as that platform, among the wanted components. */
export const goneFrom = (announced: Announced, wanted: Components): Announced =>
  new Map([...announced].filter(([key, { platform }]) => wanted[key]?.platform !== platform));

export const announcedBy = (document: DeviceDocument): Announced =>
  new Map(
    Object.entries(document.components)
      .filter(([, component]) => !isRemoval(component))
      .map(([key, { platform, unique_id: id }]) => [
        key,
        { platform, unique_id: typeof id === "string" ? id : "" },
      ]),
  );

export const isRemoval = (component: Readonly<Record<string, unknown>>): boolean =>
  Object.keys(component).length === 1;

/** `<prefix>/device/greenhouse2mqtt_<code>/config`. */
export const discoveryTopic = (prefix: string, code: string): string =>
  `${prefix}/device/${deviceIdentifier(code)}/config`;

export const bridgeDiscoveryTopic = (prefix: string, clientId: string): string =>
  `${prefix}/device/${bridgeIdentifier(clientId)}/config`;

/** Every device announcement on the broker, ours or not. */
export const discoveryFilter = (prefix: string): string => `${prefix}/device/+/config`;

/** A discovery message of ours that was found on the broker. */
export interface FoundDocument {
  /** The device code; null for the bridge's own device. */
  readonly code: string | null;
  readonly components: Announced;
  /** Short stand-ins for the components' texts, by key. */
  readonly digests: ReadonlyMap<string, string>;
}

/**
 * The message, if it is one of ours: `origin.name` is this program and its topics lie under our base topic. Another
 * bridge under a base topic that only begins alike is told apart by its `bridge/state`. Anything else gives null.
 */
export function foundDocument(payload: string, baseTopic: string): FoundDocument | null {
  const document = record(parsed(payload));
  if (document === null || record(document["origin"])?.["name"] !== originName) return null;
  const components = record(document["components"]) ?? {};
  const topics = [...topicsIn(document["availability"]), ...Object.values(components).flatMap(topicsIn)];
  const bridges = topics.filter((topic) => topic.endsWith("/bridge/state"));
  const foreign = bridges.length > 0 && !bridges.includes(`${baseTopic}/bridge/state`);
  if (foreign || !topics.some((topic) => topic.startsWith(`${baseTopic}/`))) return null;
  const code = record(document["device"])?.["serial_number"];
  return {
    code: typeof code === "string" ? code : null,
    components: announcedIn(components),
    digests: digestsOf(components),
  };
}

/** Of all retained discovery messages found, the topics of ours that nothing wants any more. */
export function unwantedTopics(
  found: ReadonlyMap<string, string>,
  wanted: ReadonlySet<string>,
  baseTopic: string,
): string[] {
  return [...found]
    .filter(([topic, payload]) => !wanted.has(topic) && foundDocument(payload, baseTopic) !== null)
    .map(([topic]) => topic);
}

// One unknown platform in a later removal would make Home Assistant refuse the whole message.
function announcedIn(components: Readonly<Record<string, unknown>>): Announced {
  const announced = new Map<string, AnnouncedEntity>();
  for (const [key, value] of Object.entries(components)) {
    const component = record(value);
    const platform = platforms.find((known) => known === component?.["platform"]);
    if (component === null || platform === undefined || isRemoval(component)) continue;
    const { unique_id: id } = component;
    if (/^[A-Za-z0-9_-]+$/.test(key))
      announced.set(key, { platform, unique_id: typeof id === "string" ? id : "" });
  }
  return announced;
}

export const digestsOf = (components: Readonly<Record<string, unknown>>): ReadonlyMap<string, string> =>
  new Map(Object.entries(components).map(([key, component]) => [key, textHash(JSON.stringify(component))]));

/** Texts under a key `topic` or `…_topic`, as deep as an availability list in a component. */
function topicsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(topicsIn);
  return Object.entries(record(value) ?? {}).flatMap(([key, inner]) => {
    if (typeof inner === "string") return /(^|_)topic$/.test(key) ? [inner] : [];
    return key === "availability" ? topicsIn(inner) : [];
  });
}

function parsed(payload: string): unknown {
  try {
    return JSON.parse(payload);
  } catch {
    return null;
  }
}

const record = (value: unknown): Readonly<Record<string, unknown>> | null =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : null;
