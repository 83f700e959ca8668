import type { Controller } from "../greenhouse/model.js";
import { bridgeDocument } from "./bridge-document.js";
import { controllerDocument } from "./controller-document.js";
import type { DeviceDocument, DocumentSettings } from "./document.js";
import { announcesTheSame } from "./document-news.js";
import { fittingDocument } from "./document-text.js";
import { textHash } from "./identity.js";
import { bridgeDiscoveryTopic, discoveryTopic, foundDocument } from "./ownership.js";
import { type Announced, announcedBy, goneFrom, nextDocument, sameTopicGapMs } from "./removal.js";
import { removable } from "./vanished.js";

export interface ControllerView {
  controllers(): Iterable<Controller>;
  get(code: string): Controller | undefined;
  /** Whether the platform had the time to show everything again that it showed in an earlier run. */
  platformHadTime(): boolean;
}

export interface DiscoverySettings extends DocumentSettings {
  /** `homeassistant.discovery_prefix`. */
  readonly prefix: string;
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
  | { readonly type: "clear"; readonly topic: string }
  | { readonly type: "wait"; readonly until: number }
  | { readonly type: "nothing" };

export interface Attempt {
  readonly hash: string;
  readonly followUpAfterMs: number | null;
  /** Components that did not fit into the message. */
  readonly leftOut: number;
  readonly before: Controller | null;
  readonly found: Announced | null;
}

/** What is known about one device's message on the broker. Texts are not kept: there may be 10,000 of them. */
interface Announcement {
  /** Of the text last acknowledged by the broker. */
  hash: string | null;
  publishedAt: number | null;
  /** Publish even if the text has not changed. */
  isForced: boolean;
  /** Somebody deleted the device in Home Assistant, which emptied our topic. */
  isDeleted: boolean;
  /** The broker's copy was looked at since the link came up. */
  isScanned: boolean;
  /** The controller as last announced, while a newer one waits; tells which components have to be removed. */
  before: Controller | null;
  /** Components on the broker that have to be removed unless they come to be wanted again. */
  found: Announced | null;
}

/** The state of every announcement and what follows from it; publishing is left to the caller. */
export class Announcements {
  readonly #view: ControllerView;
  readonly #settings: DiscoverySettings;
  readonly #known = new Map<Device, Announcement>();

  constructor(view: ControllerView, settings: DiscoverySettings) {
    this.#view = view;
    this.#settings = settings;
  }

  topicOf(device: Device): string {
    const { prefix, clientId } = this.#settings;
    const code = codeOf(device);
    return code === null ? bridgeDiscoveryTopic(prefix, clientId) : discoveryTopic(prefix, code);
  }

  isWanted(device: Device): boolean {
    const code = codeOf(device);
    return code === null || this.#view.get(code) !== undefined;
  }

  /** Marks every device for announcing, changed or not, and lists them: the bridge first, since the others refer to it. */
  all(): Device[] {
    const devices = [bridgeDevice];
    for (const { info } of this.#view.controllers()) devices.push(controllerDevice(info.code));
    for (const device of devices) this.#of(device).isForced = true;
    return devices;
  }

  linkUp(): void {
    for (const announcement of this.#known.values()) announcement.isScanned = false;
  }

  /** Home Assistant started: what was deleted there may be announced again. */
  birth(): void {
    for (const announcement of this.#known.values()) announcement.isDeleted = false;
  }

  /** Whether a change shows in the message; `first` when the device was not announced before. */
  changed(before: Controller | undefined, after: Controller | undefined): "first" | "changed" | null {
    const code = (after ?? before)?.info.code;
    if (code === undefined || (before && after && announcesTheSame(before, after))) return null;
    const announcement = this.#of(controllerDevice(code));
    if (announcement.hash === null) return "first";
    if (before) announcement.before ??= before;
    return "changed";
  }

  /** An emptied topic of a device that should be there: its user deleted it in Home Assistant. */
  emptied(topic: string): Device | null {
    for (const [device, announcement] of this.#known) {
      if (announcement.hash === null || announcement.isDeleted || this.topicOf(device) !== topic) continue;
      if (!this.isWanted(device)) return null;
      announcement.isDeleted = true;
      return device;
    }
    return null;
  }

  /**
   * A message seen on the broker: `stray` where it is ours and no device wants it (or not yet), `outdated` where it
   * announces components that have to be removed, null where nothing follows.
   */
  seen(topic: string, payload: string): { device: Device; verdict: "stray" | "outdated" } | null {
    const found = foundDocument(payload, this.#settings.topics.base);
    if (found === null) return null;
    const device = this.ownerOf(topic, found.code === null ? bridgeDevice : controllerDevice(found.code));
    if (this.topicOf(device) !== topic) return { device, verdict: "stray" };
    const announcement = this.#of(device);
    const isEcho = announcement.hash === textHash(payload);
    const isOld = announcement.isScanned;
    announcement.isScanned = true;
    if (isEcho) announcement.isDeleted = false;
    if (isEcho || isOld) return null;
    const code = codeOf(device);
    const controller = code === null ? null : this.#view.get(code);
    if (controller === undefined) {
      announcement.found = found.components;
      return { device, verdict: "stray" };
    }
    announcement.found = stillGone(found.components, this.#wanted(controller).document);
    return this.#removable(announcement.found, controller).size > 0 ? { device, verdict: "outdated" } : null;
  }

  /** Devices with components of an earlier run that nothing wants so far. */
  withVanished(): Device[] {
    return [...this.#known].flatMap(([device, { found }]) => (found === null ? [] : [device]));
  }

  /** Whose topic it is; a message names a device code only as people may see it. */
  ownerOf(topic: string, named: Device): Device {
    if (this.topicOf(named) === topic) return named;
    for (const { info } of this.#view.controllers())
      if (discoveryTopic(this.#settings.prefix, info.code) === topic) return controllerDevice(info.code);
    return named;
  }

  step(device: Device, now: number): Step {
    const announcement = this.#of(device);
    const { publishedAt, before, found, hash } = announcement;
    if (announcement.isDeleted) return { type: "nothing" };
    if (publishedAt !== null && now < publishedAt + sameTopicGapMs)
      return { type: "wait", until: publishedAt + sameTopicGapMs };
    const topic = this.topicOf(device);
    const code = codeOf(device);
    const controller = code === null ? null : this.#view.get(code);
    if (controller === undefined) return { type: "clear", topic };
    const { document, leftOut } = this.#wanted(controller);
    const shown = before === null ? [] : announcedBy(this.#wanted(before).document);
    const removed = this.#removable(found, controller);
    const next = nextDocument(new Map([...removed, ...shown]), document);
    const text = JSON.stringify(next.publish);
    const attempt = { hash: textHash(text), followUpAfterMs: next.followUpAfterMs, leftOut, before, found };
    announcement.before = null;
    announcement.found = found && stillGone(without(found, removed), document);
    if (!announcement.isForced && attempt.hash === hash) return { type: "nothing" };
    announcement.isForced = false;
    return { type: "publish", topic, text, attempt };
  }

  published(device: Device, attempt: Attempt, now: number): void {
    const announcement = this.#of(device);
    announcement.hash = attempt.hash;
    announcement.publishedAt = now;
  }

  /** The broker did not take it: what it was to remove is still to be removed. */
  failed(device: Device, attempt: Attempt): void {
    const announcement = this.#of(device);
    announcement.isForced = true;
    announcement.before = attempt.before ?? announcement.before;
    announcement.found = attempt.found;
  }

  forget(device: Device): void {
    this.#known.delete(device);
  }

  #removable(found: Announced | null, controller: Controller | null): Announced {
    return found === null ? new Map() : removable(found, controller, this.#view.platformHadTime());
  }

  /** `null` stands for the bridge itself. */
  #wanted(controller: Controller | null): { document: DeviceDocument; leftOut: number } {
    if (controller === null) return { document: bridgeDocument(this.#settings), leftOut: 0 };
    return fittingDocument(controllerDocument(controller, this.#settings));
  }

  #of(device: Device): Announcement {
    let announcement = this.#known.get(device);
    if (announcement === undefined) {
      announcement = {
        hash: null,
        publishedAt: null,
        isForced: false,
        isDeleted: false,
        isScanned: false,
        before: null,
        found: null,
      };
      this.#known.set(device, announcement);
    }
    return announcement;
  }
}

function stillGone(found: Announced, { components }: DeviceDocument): Announced | null {
  const gone = goneFrom(found, components);
  return gone.length === 0 ? null : new Map(gone);
}

const without = (found: Announced, removed: Announced): Announced =>
  new Map([...found].filter(([key]) => !removed.has(key)));
