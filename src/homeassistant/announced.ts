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

/*
 * Home Assistant keeps a component that merely is left out of a message. It goes only after a message in which nothing
 * but its `platform` is left, and a whole device with the empty message; and two messages for one device within a few seconds can make it skip parts of the second.
 * It removes only what it has discovered since its own start: what was withdrawn while it was away stays in its registry
 * for ever, unless it is announced as a stub and withdrawn once more when it is back.
 */

/** `<prefix>/device/greenhouse2mqtt_<code>/config`. */
export const discoveryTopic = (prefix: string, code: string): string =>
  `${prefix}/device/${deviceIdentifier(code)}/config`;

export const bridgeDiscoveryTopic = (prefix: string, clientId: string): string =>
  `${prefix}/device/${bridgeIdentifier(clientId)}/config`;

/**
 * The announcement that goes with what a bridge left on a topic of its own: of a controller its `info`, of the bridge itself
 * `bridge/info`. An announcement is taken back before these are emptied, so none stands without them.
 */
export function announcementBeside(
  topic: string,
  payload: { toString(): string },
  { topics, prefix }: Pick<DocumentSettings, "topics" | "prefix">,
): Pick<Known, "topic" | "code"> | null {
  const read = () => record(parse(payload.toString()));
  if (topic === topics.bridge.info) {
    const { client_id: id } = record(read()["settings"]);
    return typeof id === "string" ? { topic: bridgeDiscoveryTopic(prefix, id), code: null } : null;
  }
  if (placeOf(topics.base, topic)?.leaf !== "info") return null;
  const { code } = read();
  return typeof code === "string" ? { topic: discoveryTopic(prefix, code), code } : null;
}

/** A component as far as it has to be remembered: to find the entity again, and to see a change. */
export interface AnnouncedEntity {
  readonly platform: Platform;
  readonly unique_id: string;
  /** Short stand-in for the component's text. */
  readonly digest: string;
  /** A stub is announced only to be removed next. */
  readonly by: "this run" | "earlier run" | "stub";
}

/** By component key. */
export type Announced = ReadonlyMap<string, AnnouncedEntity>;

export const nothing: Announced = new Map();

/** What one discovery topic holds, as far as is known. Texts are not kept: there may be 10,000 of them. */
export interface Held {
  /** Of the text; null where there is none. */
  readonly hash: string | null;
  /**
   * What Home Assistant has from messages on this topic, which is more than the text where something was left out of it. Where all of it
   * is of this run it is one text, for `heldComponents` to read: as a map it takes three times the room.
   */
  readonly components: Announced | string;
  /** This run has announced it. */
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

/** What is known about one discovery topic. */
export interface Known {
  readonly topic: string;
  /** The device code; null for a bridge's own device. */
  code: string | null;
  held: Held;
  /** Publish even if the text has not changed. */
  isForced: boolean;
  /** To be announced once more, so that it can be removed. */
  withdrawn: Announced;
}

/** What may be taken from Home Assistant. */
export interface Patience {
  /** Whether the platform had the time to show everything again that it showed in an earlier run. */
  platformHadTime(): boolean;
  /** Whether what an earlier run announced may be removed, by device code; null for what belongs to no controller. */
  mayForget(code: string | null): boolean;
}

/** Who wants a topic. */
export type Wanter = Controller | "bridge" | "nobody";

/** What is to be done about a topic now; null for nothing. */
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

/** Something on the topic was announced by an earlier run, and not by this one. */
export const hasLeftovers = ({ held }: Known): boolean =>
  (!held.isOwn && held.hash !== null) ||
  (typeof held.components !== "string" &&
    [...held.components.values()].some(({ by }) => by === "earlier run"));

/** Something of that may be removed now. */
export function isOverdue(known: Known, wanter: Wanter, patience: Patience): boolean {
  const { code, held } = known;
  if (!hasLeftovers(known)) return false;
  if (wanter === "nobody") return held.isOwn || patience.mayForget(code);
  const mayGo = removable(wanter, patience.platformHadTime());
  return [...heldComponents(held)].some(([key, { by }]) => by === "earlier run" && mayGo(key));
}

/** A message that leads from what is held to what is wanted. */
export interface Step {
  /** Empty to take the device away. */
  readonly text: string;
  readonly hash: string | null;
  /** Against what is held: the same text, other components besides, or another text for the same component. */
  readonly news: "same" | "more" | "changed";
  /** Announced by this message. */
  readonly components: Announced;
  /** Removed by this message. */
  readonly gone: Announced;
  /** Another message has to follow: without what this one removed, or removing its stubs. */
  readonly isFollowed: boolean;
  /** Components that did not fit into the message. */
  readonly leftOut: number;
}

/** An empty message, which takes the device away. */
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
 * `wanted` is null where no device wants the topic; `mayGo` tells by its key whether a component of an earlier run may be removed. A key
 * that changes its platform is removed first, since it cannot stand for both.
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
  const announced = new Map([...announcedIn(document.components, "this run")]);
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

interface Around {
  readonly stubs: readonly (readonly [string, AnnouncedEntity])[];
  /** Components that the message may remove. */
  readonly before: Announced;
  readonly mayGo: (key: string) => boolean;
  readonly topics: Topics;
}

/** The document with the stubs that it announces, and without what it removes. */
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

/** What is held once the broker has acknowledged a message; others may have been found meanwhile. */
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

/** As little of a component as Home Assistant takes. Nothing is ever published on its topic, and nothing follows from a command there. */
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

/** The message of a device that is gone, without components. */
function bareDocument(topic: string, code: string | null, settings: DocumentSettings): DeviceDocument {
  const identifier = topic.split("/").at(-2) ?? topic;
  const device = { identifiers: [identifier], name: code ?? identifier, serial_number: code ?? undefined };
  return documentOf(device, controllerOwner(identifier), [], settings, available(settings.topics));
}

/** A discovery message of ours that was found on the broker. */
interface FoundDocument {
  /** The device code as people may see it; null for the bridge's own device. */
  readonly code: string | null;
  readonly components: Announced;
}

/**
 * The message, if it is one of ours: `origin.name` is this program and its topics lie under our base topic. Another
 * bridge under a base topic that only begins alike is told apart by its `bridge/state`. Anything else gives null.
 */
export function foundDocument(payload: string, baseTopic: string): FoundDocument | null {
  if (!mayBeOf(payload, baseTopic)) return null;
  const document = record(parse(payload));
  if (record(document["origin"])["name"] !== originName) return null;
  const components = record(document["components"]);
  const topics = [...topicsIn(document["availability"]), ...Object.values(components).flatMap(topicsIn)];
  const bridges = topics.filter((topic) => topic.endsWith("/bridge/state"));
  const foreign = bridges.length > 0 && !bridges.includes(`${baseTopic}/bridge/state`);
  if (foreign || !topics.some((topic) => topic.startsWith(`${baseTopic}/`))) return null;
  const code = record(document["device"])["serial_number"];
  return {
    code: typeof code === "string" ? code : null,
    components: announcedIn(components, "earlier run"),
  };
}

/** Whether the text may be an announcement of ours: most are of others, and reading them whole costs a hundred times as much. */
const mayBeOf = (payload: string, baseTopic: string): boolean =>
  payload.includes(originName) && (!isPlainText.test(baseTopic) || payload.includes(`${baseTopic}/`));

/** Without what a writer of JSON may escape. */
const isPlainText = /^[\w+./ -]*$/;

/**
 * Without those that are reduced to their platform: they are removed. One unknown platform in a later removal would make
 * Home Assistant refuse the whole message.
 */
export function announcedIn(components: unknown, by: AnnouncedEntity["by"]): Announced {
  const announced = new Map<string, AnnouncedEntity>();
  for (const [key, value] of Object.entries(record(components))) {
    const component = record(value);
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

/** Texts under a key `topic` or `…_topic`, as deep as an availability list in a component. */
function topicsIn(value: unknown): string[] {
  if (Array.isArray(value)) return value.flatMap(topicsIn);
  return Object.entries(record(value)).flatMap(([key, inner]) => {
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

/** The fields of an object; none of anything else. */
export const record = (value: unknown): Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};

const ofSensor = /^sensor_(?:factor|channel|name)_/;
const ofConnection = /^binary_sensor_connectivity$/;
const ofStatus = /^(?:binary_sensor_status|sensor_text)_/;

/**
 * Which components that an earlier run announced and this one does not may be removed, by key. Removing an entity costs its user the name,
 * the area and every automation built on its id, so one that only the platform can bring back waits: after a start nothing has been read
 * yet. What the configuration decides (actuators, parameters, ignored sensors) may go at once; a sensor or a running status when
 * `platformHadTime` and the controller has shown others of its sort.
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
