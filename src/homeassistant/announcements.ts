import type { Controller } from "../greenhouse/model.js";
import {
  type Announcement,
  type Attempt,
  bridgeDevice,
  codeOf,
  controllerDevice,
  type ControllerView,
  type Device,
  newAnnouncement,
  newsOf,
  nothingToRemove,
  removable,
  type Removal,
  type Seen,
  type Step,
  stillGone,
  without,
} from "./announcement.js";
import { announcesTheSame, bridgeDocument, controllerDocument } from "./device-documents.js";
import { type DeviceDocument, type DocumentSettings, fittingDocument } from "./documents.js";
import { textHash } from "./identity.js";
import {
  type Announced,
  announcedBy,
  bridgeDiscoveryTopic,
  discoveryTopic,
  foundDocument,
  goneFrom,
  nextDocument,
  sameTopicGapMs,
} from "./removal.js";
import { withRevived } from "./withdrawals.js";

export interface DiscoverySettings extends DocumentSettings {
  /** `homeassistant.discovery_prefix`. */
  readonly prefix: string;
}

/** Home Assistant on a small computer has set up what one message announces within this time. */
const busyMs = 60_000;

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
    if (before) announcement.removal.before ??= before;
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
  seen(topic: string, payload: string): Seen | null {
    const found = foundDocument(payload, this.#settings.topics.base);
    if (found === null) return null;
    const { components } = found;
    const device = this.ownerOf(topic, found.code === null ? bridgeDevice : controllerDevice(found.code));
    if (this.topicOf(device) !== topic) return { device, components, verdict: "stray" };
    const announcement = this.#of(device);
    const hash = textHash(payload);
    const isEcho = announcement.hash === hash;
    const isOld = announcement.isScanned;
    announcement.isScanned = true;
    if (isEcho) announcement.isDeleted = false;
    if (isEcho || isOld) return null;
    if (announcement.hash === null) announcement.copy = { hash, digests: found.digests };
    const controller = this.#controllerOf(device);
    if (controller === undefined) {
      announcement.removal.found = components;
      return { device, components, verdict: "stray" };
    }
    const gone = stillGone(components, this.#wanted(controller).document);
    announcement.removal.found = gone;
    return this.#removable(gone, controller).size > 0 ? { device, components, verdict: "outdated" } : null;
  }

  /** Devices with components of an earlier run that may be removed now. */
  withVanished(): Device[] {
    return [...this.#known].flatMap(([device, { removal, isDeleted }]) => {
      if (removal.found === null || isDeleted) return [];
      const controller = this.#controllerOf(device);
      return controller === undefined || this.#removable(removal.found, controller).size === 0
        ? []
        : [device];
    });
  }

  /** Marks what was announced to be announced once more. */
  repeat(device: Device): boolean {
    const announcement = this.#known.get(device);
    if ((announcement?.hash ?? null) === null || announcement === undefined || !this.isWanted(device))
      return false;
    announcement.isForced = true;
    return true;
  }

  /** Whether a newer view waits to be announced than the one last taken up. */
  isBehind(device: Device): boolean {
    const announcement = this.#known.get(device);
    return announcement !== undefined && !announcement.isDeleted && announcement.removal.before !== null;
  }

  /** Not announced in this run, and nothing read of it yet: what it has to announce follows within moments. */
  isBlank(device: Device): boolean {
    const controller = this.#controllerOf(device);
    const hash = this.#known.get(device)?.hash ?? null;
    return hash === null && !!controller && controller.sensors.size === 0 && controller.statuses.size === 0;
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
    const { publishedAt, removal } = announcement;
    if (announcement.isDeleted) return { type: "nothing" };
    if (publishedAt !== null && now < publishedAt + sameTopicGapMs)
      return { type: "wait", until: publishedAt + sameTopicGapMs };
    const topic = this.topicOf(device);
    const shown = this.#shownBefore(removal);
    const controller = this.#controllerOf(device);
    if (controller === undefined) return { type: "clear", topic, gone: shown };
    const { document, leftOut } = this.#wanted(controller);
    const removed = this.#removable(removal.found, controller);
    const next = nextDocument(new Map([...removed, ...removal.doomed, ...shown]), document);
    const revived = goneFrom(removal.revived, next.publish.components);
    const publish = withRevived(next.publish, revived, this.#settings.topics);
    const text = JSON.stringify(publish);
    const hash = textHash(text);
    const news = newsOf(announcement, controller, publish, hash);
    const followUpAfterMs = revived.size > 0 ? sameTopicGapMs : next.followUpAfterMs;
    const attempt = { hash, news, followUpAfterMs, leftOut, gone: next.gone, removal };
    const found = removal.found && stillGone(without(removal.found, removed), document);
    announcement.removal = { ...nothingToRemove(), found, doomed: revived };
    if (!announcement.isForced && hash === announcement.hash) return { type: "nothing" };
    announcement.isForced = false;
    return { type: "publish", topic, text, attempt };
  }

  /** Whether Home Assistant may still be busy with an earlier message, and skip what is new in this one. */
  published(device: Device, attempt: Attempt, now: number): boolean {
    const announcement = this.#of(device);
    const isBusy = now - (announcement.publishedAt ?? -Infinity) < busyMs;
    announcement.hash = attempt.hash;
    announcement.publishedAt = now;
    announcement.copy = null;
    return attempt.news === "changed" || (attempt.news === "more" && isBusy);
  }

  /** The broker did not take it: what it was to remove is still to be removed. */
  failed(device: Device, { removal }: Attempt): void {
    const announcement = this.#of(device);
    announcement.isForced = true;
    announcement.removal = { ...removal, before: removal.before ?? announcement.removal.before };
  }

  /** Lets components that were withdrawn be announced and removed once more; false where no device wants the topic. */
  revive(topic: string, named: Device, withdrawn: Announced): boolean {
    const device = this.ownerOf(topic, named);
    if (this.topicOf(device) !== topic || !this.isWanted(device)) return false;
    const { removal } = this.#of(device);
    removal.revived = without(withdrawn, removal.doomed);
    return true;
  }

  forget(device: Device): void {
    this.#known.delete(device);
  }

  /** `null` stands for the bridge itself, undefined for a controller that is not there. */
  #controllerOf(device: Device): Controller | null | undefined {
    const code = codeOf(device);
    return code === null ? null : this.#view.get(code);
  }

  #shownBefore({ before }: Removal): Announced {
    return before === null ? new Map() : announcedBy(this.#wanted(before).document);
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
    const announcement = this.#known.get(device) ?? newAnnouncement();
    this.#known.set(device, announcement);
    return announcement;
  }
}
