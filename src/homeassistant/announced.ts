import type { Controller } from "../greenhouse/model.js";
import { sensorKey } from "../greenhouse/fold-sensors.js";
import type { Topics } from "../mqtt/topics.js";
import { withBridge } from "./components.js";
import {
  type Component,
  type Components,
  type DeviceDocument,
  type DocumentSettings,
  originName,
  originOf,
  type Platform,
  platforms,
} from "./documents.js";
import { bridgeIdentifier, componentKey, deviceIdentifier, textHash } from "./identity.js";

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

interface NextDocument {
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

export const announcedBy = ({ components }: DeviceDocument): Announced => announcedIn(components);

/** `<prefix>/device/greenhouse2mqtt_<code>/config`. */
export const discoveryTopic = (prefix: string, code: string): string =>
  `${prefix}/device/${deviceIdentifier(code)}/config`;

export const bridgeDiscoveryTopic = (prefix: string, clientId: string): string =>
  `${prefix}/device/${bridgeIdentifier(clientId)}/config`;

/** Every device announcement on the broker, ours or not. */
export const discoveryFilter = (prefix: string): string => `${prefix}/device/+/config`;

/** A discovery message of ours that was found on the broker. */
interface FoundDocument {
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

/**
 * Without those that are reduced to their platform: they are removed. One unknown platform in a later removal would make
 * Home Assistant refuse the whole message.
 */
function announcedIn(components: Readonly<Record<string, unknown>>): Announced {
  const announced = new Map<string, AnnouncedEntity>();
  for (const [key, value] of Object.entries(components)) {
    const component = record(value) ?? {};
    const platform = platforms.find((known) => known === component["platform"]);
    const { unique_id: id } = component;
    if (platform !== undefined && Object.keys(component).length > 1 && /^[A-Za-z0-9_-]+$/.test(key))
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

/** An object of unknown fields; null for anything else. */
export const record = (value: unknown): Readonly<Record<string, unknown>> | null =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : null;

/*
 * What an earlier run announced and this one does not. Removing an entity costs its user the name, the area and every automation built
 * on its id, so one that only the platform can bring back waits: after a start nothing has been read yet.
 */

const ofSensor = /^sensor_(?:factor|channel|name)_/;
const ofConnection = /^binary_sensor_connectivity$/;
const ofStatus = /^(?:binary_sensor_status|sensor_text)_/;

/**
 * The components of `gone` that may be removed now. What the configuration decides (actuators, parameters, ignored sensors) may go at
 * once; a sensor or a running status when `platformHadTime` and the controller has shown others of its sort.
 */
export function removable(
  gone: Announced,
  controller: Controller | null,
  platformHadTime: boolean,
): Announced {
  if (controller === null) return gone;
  const ignored = ignoredIn(controller);
  const mayGo = (key: string) => {
    if (ofSensor.test(key)) return ignored.has(key) || (platformHadTime && controller.sensors.size > 0);
    if (ofConnection.test(key)) return platformHadTime;
    return ofStatus.test(key) ? platformHadTime && controller.statuses.size > 0 : true;
  };
  return new Map([...gone].filter(([key]) => mayGo(key)));
}

function ignoredIn({ settings, layout }: Controller): ReadonlySet<string> {
  if (!settings?.sensors.some(({ ignore }) => ignore)) return new Set();
  const leftOut = layout.filter(({ definition }) => definition === null);
  return new Set(leftOut.map((slot) => componentKey("sensor", sensorKey(slot))));
}

/** What was withdrawn from a discovery topic. */
export interface WithdrawnDevice {
  /** The device code; null for the bridge's own device. */
  readonly code: string | null;
  readonly components: Announced;
}

/** The wanted document with components that are announced only to be removed next. */
export function withRevived(wanted: DeviceDocument, revived: Announced, topics: Topics): DeviceDocument {
  const stubs = [...goneFrom(revived, wanted.components)].map(
    ([key, entity]) => [key, stub(entity, topics)] as const,
  );
  return stubs.length === 0
    ? wanted
    : { ...wanted, components: { ...Object.fromEntries(stubs), ...wanted.components } };
}

/** The message for a device that is gone: its entities once more, as little of them as Home Assistant takes. */
export function revivedDocument(
  topic: string,
  { code, components }: WithdrawnDevice,
  settings: DocumentSettings,
): DeviceDocument {
  const identifier = topic.split("/").at(-2) ?? topic;
  const document: DeviceDocument = {
    device: { identifiers: [identifier], name: code ?? identifier, serial_number: code ?? undefined },
    origin: originOf(settings),
    ...withBridge(settings.topics),
    components: {},
  };
  return withRevived(document, components, settings.topics);
}

const tells: ReadonlySet<Platform> = new Set(["binary_sensor", "sensor", "event"]);

/** Nothing is ever published on its topic, and nothing follows from a command there. */
function stub({ platform, unique_id }: AnnouncedEntity, topics: Topics): Component {
  const topic = `${topics.base}/bridge/withdrawn`;
  const needed: Partial<Record<Platform, Readonly<Record<string, readonly string[]>>>> = {
    event: { event_types: ["none"] },
    select: { options: ["-"] },
  };
  return {
    platform,
    unique_id,
    ...(platform === "button" ? {} : { state_topic: topic }),
    ...(tells.has(platform) ? {} : { command_topic: topic }),
    ...needed[platform],
  };
}
