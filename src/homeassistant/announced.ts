import type { Controller } from "../greenhouse/model.js";
import { sensorKey } from "../greenhouse/sensor-identity.js";
import { placeOf, type Topics } from "../mqtt/topics.js";
import { bridgeDocument, controllerDocument } from "./device-documents.js";
import {
  available,
  type Component,
  type DeviceDocument,
  documentOf,
  type DocumentSettings,
  fittingDocument,
  maxDocumentBytes,
  originName,
} from "./documents.js";
import {
  bridgeIdentifier,
  componentKey,
  controllerOwner,
  deviceIdentifier,
  type Platform,
  platforms,
  digest,
} from "./identity.js";
import { fieldsOf } from "../runtime/objects.js";

/*
 * Home Assistant keeps a component that is merely left out of a message. A component goes only after a message that
 * holds nothing of it but its `platform`, a whole device only with the empty message. Two messages for one device
 * within a few seconds can make it skip parts of the second. It removes only what it has discovered since its own
 * start: whatever was withdrawn while it was down stays in its registry, unless it is announced as a stub and withdrawn
 * again once Home Assistant is back.
 */

/** `<prefix>/device/greenhouse2mqtt_<code>/config`. */
export const discoveryTopic = (prefix: string, code: string): string =>
  `${prefix}/device/${deviceIdentifier(code)}/config`;

export const bridgeDiscoveryTopic = (prefix: string, clientId: string): string =>
  `${prefix}/device/${bridgeIdentifier(clientId)}/config`;

/**
 * The announcement that belongs to a topic of a bridge: to a controller's `info`, or to `bridge/info`. It is withdrawn
 * before that topic is emptied, so none stands without its topic.
 */
export function announcementBeside(
  topic: string,
  payload: { toString(): string },
  { topics, prefix }: Pick<DocumentSettings, "topics" | "prefix">,
): Pick<Known, "topic" | "code"> | null {
  const read = () => fieldsOf(parse(payload.toString()));
  if (topic === topics.bridge.info) {
    const { client_id: id } = fieldsOf(read()["settings"]);
    return typeof id === "string" ? { topic: bridgeDiscoveryTopic(prefix, id), code: null } : null;
  }
  if (placeOf(topics.base, topic)?.leaf !== "info") return null;
  const { code } = read();
  return typeof code === "string" ? { topic: discoveryTopic(prefix, code), code } : null;
}

/** What has to be remembered of a component to find its entity again and to see a change. */
export interface AnnouncedEntity {
  readonly platform: Platform;
  readonly unique_id: string;
  /** Hash of the component's text. */
  readonly digest: string;
  /** A stub is announced only to be removed by the next message. */
  readonly by: "this run" | "earlier run" | "stub";
}

/** By component key. */
export type Announced = ReadonlyMap<string, AnnouncedEntity>;

export const nothing: Announced = new Map();

/** What a discovery topic holds, as far as known. Texts are not kept, as there may be 10,000 of them. */
export interface Held {
  /** Hash of the text; null where there is none. */
  readonly hash: string | null;
  /**
   * The components that Home Assistant has from this topic, which may be more than the text names. If all are of this
   * run, one string holds them, a third of a map's size; `heldComponents` reads both.
   */
  readonly components: Announced | string;
  /** Whether this run announced it. */
  readonly isOwn: boolean;
}

export const nothingHeld: Held = { hash: null, components: nothing, isOwn: false };

function packComponents(components: Announced): Held["components"] {
  const rows: unknown[] = [];
  for (const [key, { platform, unique_id: id, digest: text, by }] of components) {
    if (by !== "this run") return components;
    rows.push([key, platforms.indexOf(platform), id, text]);
  }
  return JSON.stringify(rows);
}

export function heldComponents({ components }: Pick<Held, "components">): Announced {
  if (typeof components !== "string") return components;
  const rows = JSON.parse(components) as [string, number, string, string][];
  return new Map(
    rows.map(([key, place, id, text]) => [
      key,
      { platform: platforms[place] ?? "sensor", unique_id: id, digest: text, by: "this run" },
    ]),
  );
}

/** The state of one discovery topic. */
export interface Known {
  readonly topic: string;
  /** The device code; null for a bridge's own device. */
  code: string | null;
  held: Held;
  /** Publish even an unchanged text. */
  isForced: boolean;
  /** Components to announce once more as stubs, so that they can be removed. */
  withdrawn: Announced;
}

/** Whether leftovers of an earlier run may be removed from Home Assistant. */
export interface Patience {
  /** Whether the platform had time to show again everything that it showed in an earlier run. */
  platformHadTime(): boolean;
  /** Whether announcements of an earlier run may be removed, by device code; null for those of no controller. */
  mayForget(code: string | null): boolean;
}

/** The owner of a topic. */
export type Wanter = Controller | "bridge" | "nobody";

/** The next message for a topic; null for none. */
export function nextStep(known: Known, wanter: Wanter, patience: Patience, settings: DocumentSettings) {
  const { code, held, isForced } = known;
  const isBlank = !isForced && held.hash === null && heldComponents(held).size === 0;
  if (wanter === "nobody" && !held.isOwn && !isBlank && !patience.mayForget(code)) return null;
  const mayGo = removable(wanter, patience.platformHadTime());
  const step = reconcile(known, wantedDocument(wanter, settings), mayGo, settings);
  if (step.text === "") return isBlank ? null : step;
  return isForced || !held.isOwn || step.hash !== held.hash ? step : null;
}

function wantedDocument(wanter: Wanter, settings: DocumentSettings): DeviceDocument | null {
  if (wanter === "nobody") return null;
  return wanter === "bridge" ? bridgeDocument(settings) : controllerDocument(wanter, settings);
}

/** Whether the topic holds something of an earlier run that this run has not announced. */
export const hasLeftovers = ({ held }: Known): boolean =>
  (!held.isOwn && held.hash !== null) ||
  (typeof held.components !== "string" &&
    [...held.components.values()].some(({ by }) => by === "earlier run"));

/** Whether some of these leftovers may be removed now. */
export function isOverdue(known: Known, wanter: Wanter, patience: Patience): boolean {
  const { code, held } = known;
  if (!hasLeftovers(known)) return false;
  if (wanter === "nobody") return held.isOwn || patience.mayForget(code);
  const mayGo = removable(wanter, patience.platformHadTime());
  return [...heldComponents(held)].some(([key, { by }]) => by === "earlier run" && mayGo(key));
}

/** A message that changes the held document into the wanted one. */
export interface Step {
  /** Empty to remove the device. */
  readonly text: string;
  readonly hash: string | null;
  /** Compared with the held document: the same text, only further components, or another text for some component. */
  readonly news: "same" | "more" | "changed";
  /** Components that this message announces. */
  readonly components: Announced;
  /** Components that this message removes. */
  readonly gone: Announced;
  /** A second message has to follow: without the removed components, or removing the stubs. */
  readonly isFollowed: boolean;
  /** Components that did not fit into the message. */
  readonly leftOut: number;
}

/** The empty message, which removes the device. */
const withdrawal = (gone: Announced): Step => ({
  text: "",
  hash: null,
  news: "changed",
  components: nothing,
  gone,
  isFollowed: false,
  leftOut: 0,
});

/**
 * The step from `held` to `wanted`, which is null where no device wants the topic. `mayGo` says by key whether a
 * component of an earlier run may be removed. A key that changes its platform is removed first, as it cannot be both.
 */
export function reconcile(
  { topic, code, held, withdrawn }: Pick<Known, "topic" | "code" | "held" | "withdrawn">,
  wanted: DeviceDocument | null,
  mayGo: (key: string) => boolean,
  settings: DocumentSettings,
): Step {
  const before = heldComponents(held);
  const stubs = [...withdrawn].filter(([key]) => !before.has(key) && !wanted?.components[key]);
  if (wanted === null && stubs.length === 0) return withdrawal(before);
  const whole = wanted ?? bareDocument(topic, code, settings);
  const around = { stubs, before: wanted === null ? nothing : before, mayGo, topics: settings.topics };
  const all = messageOf(whole, around);
  const isTooLong = Buffer.byteLength(all.text) > maxDocumentBytes;
  const { document, leftOut } = isTooLong ? fittingDocument(whole) : { document: whole, leftOut: 0 };
  const { gone, text } = isTooLong ? messageOf(document, around) : all;
  const hash = digest(text);
  const isSame = held.isOwn && hash === held.hash && gone.length + stubs.length === 0;
  const announced = new Map(isSame ? ofThisRun(before) : announcedIn(document.components, "this run"));
  for (const [key] of gone) announced.delete(key);
  const isChanged = [...announced].some(([key, one]) => (before.get(key) ?? one).digest !== one.digest);
  for (const [key, one] of stubs) announced.set(key, { ...one, by: "stub" });
  return {
    text,
    hash,
    news: hash === held.hash ? "same" : isChanged ? "changed" : "more",
    components: announced,
    gone: new Map(gone),
    leftOut,
    isFollowed: gone.length + stubs.length > 0,
  };
}

const ofThisRun = (components: Announced) => [...components].filter(([, { by }]) => by === "this run");

interface Around {
  readonly stubs: readonly (readonly [string, AnnouncedEntity])[];
  /** Components that the message may remove. */
  readonly before: Announced;
  readonly mayGo: (key: string) => boolean;
  readonly topics: Topics;
}

/** The document with its stubs, without what it removes. */
function messageOf(document: DeviceDocument, { stubs, before, mayGo, topics }: Around) {
  const gone = [...before].filter(
    ([key, { platform, by }]) =>
      document.components[key]?.platform !== platform && (by !== "earlier run" || mayGo(key)),
  );
  const components = {
    ...Object.fromEntries(stubs.map(([key, entity]) => [key, stub(entity, topics)])),
    ...document.components,
    ...Object.fromEntries(gone.map(([key, { platform }]) => [key, { platform }])),
  };
  return { gone, text: JSON.stringify({ ...document, components }) };
}

/** What is held after the broker acknowledged a message; more may have been found meanwhile. */
export const heldAfter = (held: Held, { text, hash, gone, components }: Step): Held => ({
  hash,
  isOwn: text !== "",
  components: packComponents(
    new Map([...[...heldComponents(held)].filter(([key]) => !gone.has(key)), ...components]),
  ),
});

const tells: ReadonlySet<Platform> = new Set(["binary_sensor", "sensor", "event"]);
const needed: Partial<Record<Platform, Readonly<Record<string, readonly string[]>>>> = {
  event: { event_types: ["none"] },
  select: { options: ["-"] },
};

/**
 * The smallest component that Home Assistant accepts. Nothing is published on its topic, and commands there have no
 * effect.
 */
function stub({ platform, unique_id }: AnnouncedEntity, topics: Topics): Component {
  const topic = `${topics.base}/bridge/withdrawn`;
  return {
    platform,
    unique_id,
    ...(platform === "button" ? {} : { state_topic: topic }),
    ...(tells.has(platform) ? {} : { command_topic: topic }),
    ...needed[platform],
  };
}

/** The document of a device that is gone, without components. */
function bareDocument(topic: string, code: string | null, settings: DocumentSettings): DeviceDocument {
  const identifier = topic.split("/").at(-2) ?? topic;
  const device = { identifiers: [identifier], name: code ?? identifier, serial_number: code ?? undefined };
  return documentOf(device, controllerOwner(identifier), [], settings, available(settings.topics));
}

/** A discovery message of this bridge, found on the broker. */
interface FoundDocument {
  /** The device code as people may see it; null for the bridge's own device. */
  readonly code: string | null;
  readonly components: Announced;
}

/**
 * Parses a message if it is ours: `origin.name` is this program and its topics lie under our base topic. Otherwise
 * null. A bridge whose base topic only begins alike differs by its `bridge/state`.
 */
export function foundDocument(payload: string, baseTopic: string): FoundDocument | null {
  if (!mayBeOf(payload, baseTopic)) return null;
  const document = fieldsOf(parse(payload));
  if (fieldsOf(document["origin"])["name"] !== originName) return null;
  const components = fieldsOf(document["components"]);
  const topics = [...topicsIn(document["availability"]), ...Object.values(components).flatMap(topicsIn)];
  const bridges = topics.filter((topic) => topic.endsWith("/bridge/state"));
  const foreign = bridges.length > 0 && !bridges.includes(`${baseTopic}/bridge/state`);
  if (foreign || !topics.some((topic) => topic.startsWith(`${baseTopic}/`))) return null;
  const code = fieldsOf(document["device"])["serial_number"];
  return {
    code: typeof code === "string" ? code : null,
    components: announcedIn(components, "earlier run"),
  };
}

/** Whether the text may be ours. Most are not, and parsing a text costs a hundred times as much as this test. */
const mayBeOf = (payload: string, baseTopic: string): boolean =>
  payload.includes(originName) && (!isPlainText.test(baseTopic) || payload.includes(`${baseTopic}/`));

/** Characters that no JSON writer escapes. */
const isPlainText = /^[\w+./ -]*$/;

/**
 * Components of a message, without those reduced to their platform, which are removed. One unknown platform in a later
 * removal would make Home Assistant refuse the whole message.
 */
export function announcedIn(components: unknown, by: AnnouncedEntity["by"]): Announced {
  const announced = new Map<string, AnnouncedEntity>();
  for (const [key, value] of Object.entries(fieldsOf(components))) {
    const component = fieldsOf(value);
    const platform = platforms.find((known) => known === component["platform"]);
    if (platform === undefined || Object.keys(component).length < 2 || !/^[A-Za-z0-9_-]+$/.test(key))
      continue;
    const { unique_id: id } = component;
    announced.set(key, {
      platform,
      unique_id: typeof id === "string" ? id : "",
      digest: digest(JSON.stringify(component)),
      by,
    });
  }
  return announced;
}

/** Texts under keys `topic` or `…_topic`, also in an availability list. */
function topicsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(topicsIn);
  return Object.entries(fieldsOf(value)).flatMap(([key, inner]) => {
    if (typeof inner === "string") return /(^|_)topic$/.test(key) ? [inner] : [];
    return key === "availability" ? topicsIn(inner) : [];
  });
}

function parse(payload: string): unknown {
  try {
    return JSON.parse(payload);
  } catch {
    return null;
  }
}

const ofSensor = /^sensor_(?:factor|channel|name)_/;
const ofConnection = /^binary_sensor_connectivity$/;
const ofStatus = /^(?:binary_sensor_status|sensor_text)_/;

/**
 * Says by key which components of an earlier run may be removed, if this run does not announce them. A removed entity
 * loses its name, its area and its automations. So what only the platform can show again waits: sensors and running
 * statuses need `platformHadTime` and others of their sort. What the configuration decides (actuators, parameters,
 * ignored sensors) may go at once.
 */
export function removable(wanter: Wanter, platformHadTime: boolean): (key: string) => boolean {
  if (typeof wanter === "string") return () => true;
  const { settings, layout, sensors, statuses } = wanter;
  const ignores = settings?.sensors.some(({ ignore }) => ignore) ?? false;
  const leftOut = ignores ? layout.filter(({ definition }) => definition === null) : [];
  const ignored = new Set(leftOut.map((slot) => componentKey("sensor", sensorKey(slot))));
  return (key) => {
    if (ofSensor.test(key)) return ignored.has(key) || (platformHadTime && sensors.size > 0);
    if (ofConnection.test(key)) return platformHadTime;
    return !ofStatus.test(key) || (platformHadTime && statuses.size > 0);
  };
}
