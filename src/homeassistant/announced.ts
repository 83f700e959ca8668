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
import type { Logger } from "../runtime/log.js";

/*
 * Home Assistant keeps a component that merely is left out of a message. It goes only after a message in which nothing
 * but its `platform` is left; and two messages for one device within a few seconds can make it skip parts of the second.
 */

/** Least time between two messages on one discovery topic. */
export const sameTopicGapMs = 3_000;

/** What Home Assistant needs to find an entity again. */
interface AnnouncedEntity {
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
const record = (value: unknown): Readonly<Record<string, unknown>> | null =>
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

/*
 * Home Assistant removes only what it has discovered since its own start. What was withdrawn while it was away stays in
 * its registry for ever, unless it is announced and withdrawn once more when it is back.
 */

/** A file of the data directory. */
export interface WithdrawalMemory {
  /** The text last written; null when there is none. */
  read(): Promise<string | null>;
  /** Durable when it resolves. */
  write(text: string): Promise<void>;
}

interface Kept {
  readonly code: string | null;
  readonly components: Map<string, AnnouncedEntity & { readonly at: number }>;
}

const keptForMs = 30 * 24 * 3_600_000;
/** The oldest topics go first; an account has far fewer. */
const mostTopics = 2_000;

/** What was withdrawn, by discovery topic. */
export class Withdrawals {
  readonly #memory: WithdrawalMemory;
  readonly #log: Logger;
  #kept = new Map<string, Kept>();

  constructor(memory: WithdrawalMemory, log: Logger) {
    this.#memory = memory;
    this.#log = log;
  }

  async load(): Promise<void> {
    try {
      this.#kept = decoded(await this.#memory.read());
    } catch (error) {
      this.#log.warn(
        { reason: String(error) },
        "cannot read what was withdrawn from Home Assistant before; entities removed while it was away may stay there",
      );
    }
  }

  /** Call it before the withdrawal goes out, so that no crash in between forgets it. `now` is of the wall clock. */
  async note(topic: string, { code, components }: WithdrawnDevice, now: number): Promise<void> {
    if (components.size === 0) return;
    const kept = this.#kept.get(topic)?.components ?? new Map<string, AnnouncedEntity & { at: number }>();
    for (const [key, entity] of components)
      if (entity.unique_id !== "") kept.set(key, { ...entity, at: now });
    this.#kept.delete(topic);
    this.#kept.set(topic, { code, components: kept });
    this.#expire(now);
    await this.#save();
  }

  /** What is to be withdrawn again, by topic. */
  due(now: number): ReadonlyMap<string, WithdrawnDevice> {
    this.#expire(now);
    return this.#kept;
  }

  #expire(now: number): void {
    for (const [topic, { components }] of this.#kept) {
      for (const [key, { at }] of components) if (now - at > keptForMs) components.delete(key);
      if (components.size === 0 || this.#kept.size > mostTopics) this.#kept.delete(topic);
    }
  }

  async #save(): Promise<void> {
    try {
      await this.#memory.write(encoded(this.#kept));
    } catch (error) {
      this.#log.warn(
        { reason: String(error) },
        "cannot keep what is withdrawn from Home Assistant; if it is away now, delete those entities there by hand",
      );
    }
  }
}

const encoded = (kept: ReadonlyMap<string, Kept>): string =>
  JSON.stringify({
    version: 1,
    topics: Object.fromEntries(
      [...kept].map(([topic, { code, components }]) => [
        topic,
        { code, components: Object.fromEntries(components) },
      ]),
    ),
  });

/** Whatever cannot be read of the file is left out: it is only a reminder. */
function decoded(text: string | null): Map<string, Kept> {
  const kept = new Map<string, Kept>();
  if (text === null) return kept;
  for (const [topic, entry] of entries(record(JSON.parse(text))?.["topics"])) {
    const { code, components } = record(entry) ?? {};
    const read: Kept["components"] = new Map();
    for (const [key, entity] of entries(components)) {
      const { platform: name, unique_id: id, at } = record(entity) ?? {};
      const platform = platforms.find((one) => one === name);
      if (platform !== undefined && typeof id === "string" && typeof at === "number")
        read.set(key, { platform, unique_id: id, at });
    }
    kept.set(topic, { code: typeof code === "string" ? code : null, components: read });
  }
  return kept;
}

const entries = (value: unknown): [string, unknown][] => Object.entries(record(value) ?? {});
