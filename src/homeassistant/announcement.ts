import type { Controller } from "../greenhouse/model.js";
import { sensorKey } from "../greenhouse/sensor-identity.js";
import { contradicts } from "./device-documents.js";
import type { DeviceDocument } from "./documents.js";
import { componentKey } from "./identity.js";
import { type Announced, digestsOf, goneFrom } from "./removal.js";

export interface ControllerView {
  controllers(): Iterable<Controller>;
  get(code: string): Controller | undefined;
  /** Whether the platform had the time to show everything again that it showed in an earlier run. */
  platformHadTime(): boolean;
}

/** `bridge`, or `controller:` and a device code. */
export type Device = string;

export const bridgeDevice: Device = "bridge";
export const controllerDevice = (code: string): Device => `controller:${code}`;
/** Null for the bridge. */
export const codeOf = (device: Device): string | null =>
  device === bridgeDevice ? null : device.slice("controller:".length);

/** What to do about one device's topic now; instants are of the monotonic clock. */
export type Step =
  | { readonly type: "publish"; readonly topic: string; readonly text: string; readonly attempt: Attempt }
  | { readonly type: "clear"; readonly topic: string; readonly gone: Announced }
  | { readonly type: "wait"; readonly until: number }
  | { readonly type: "nothing" };

export interface Attempt {
  readonly hash: string;
  readonly news: News;
  readonly followUpAfterMs: number | null;
  /** Components that did not fit into the message. */
  readonly leftOut: number;
  /** Components that this message removes. */
  readonly gone: Announced;
  readonly removal: Removal;
}

/** A message seen on the broker that something follows from. */
export interface Seen {
  readonly device: Device;
  readonly components: Announced;
  readonly verdict: "stray" | "outdated";
}

/** What is known about one device's message on the broker. Texts are not kept: there may be 10,000 of them. */
export interface Announcement {
  /** Of the text last acknowledged by the broker. */
  hash: string | null;
  publishedAt: number | null;
  /** Publish even if the text has not changed. */
  isForced: boolean;
  /** Somebody deleted the device in Home Assistant, which emptied our topic. */
  isDeleted: boolean;
  /** The broker's copy was looked at since the link came up. */
  isScanned: boolean;
  /** What the broker held before the first announcement of this run, by component. */
  copy: { readonly hash: string; readonly digests: ReadonlyMap<string, string> } | null;
  removal: Removal;
}

/** What has to go from a device's message. */
export interface Removal {
  /** The controller as last announced, while a newer one waits; tells which components have to be removed. */
  before: Controller | null;
  /** Components on the broker that have to be removed unless they come to be wanted again. */
  found: Announced | null;
  /** Withdrawn while Home Assistant may have been away: to be announced once more, so that it can be removed there. */
  revived: Announced;
  /** Announced once more, to be removed next. */
  doomed: Announced;
}

export const nothingToRemove = (): Removal => ({
  before: null,
  found: null,
  revived: new Map(),
  doomed: new Map(),
});

export const newAnnouncement = (): Announcement => ({
  hash: null,
  publishedAt: null,
  isForced: false,
  isDeleted: false,
  isScanned: false,
  copy: null,
  removal: nothingToRemove(),
});

/** Against what the broker holds: the same text, other components besides, or another text for the same component. */
export type News = "same" | "more" | "changed";

export function newsOf(
  { hash, copy, removal: { before } }: Announcement,
  after: Controller | null,
  { components }: DeviceDocument,
  textIs: string,
): News {
  if (textIs === (hash ?? copy?.hash)) return "same";
  if (hash !== null) return before && after && contradicts(before, after) ? "changed" : "more";
  const digests = copy === null ? [] : [...digestsOf(components)];
  return digests.some(([key, digest]) => (copy?.digests.get(key) ?? digest) !== digest) ? "changed" : "more";
}

export const stillGone = (found: Announced, { components }: DeviceDocument): Announced | null => {
  const gone = goneFrom(found, components);
  return gone.size === 0 ? null : gone;
};

export const without = (found: Announced, removed: Announced): Announced =>
  new Map([...found].filter(([key]) => !removed.has(key)));

/*
 * What an earlier run announced and this one does not. Removing an entity costs its user the name, the area and every automation built
 * on its id, so one that only the platform can bring back waits: after a start nothing has been read yet.
 */

const ofSensor = /^sensor_(?:factor|channel|name)_/;
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
    return ofStatus.test(key) ? platformHadTime && controller.statuses.size > 0 : true;
  };
  return new Map([...gone].filter(([key]) => mayGo(key)));
}

function ignoredIn({ settings, layout }: Controller): ReadonlySet<string> {
  if (!settings?.sensors.some(({ ignore }) => ignore)) return new Set();
  const leftOut = layout.filter(({ definition }) => definition === null);
  return new Set(leftOut.map((slot) => componentKey("sensor", sensorKey(slot))));
}
