import type { Controller } from "../greenhouse/model.js";
import {
  type Announced,
  announcedBy,
  bridgeDiscoveryTopic,
  digestsOf,
  discoveryTopic,
  foundDocument,
  goneFrom,
  nextDocument,
  removable,
  revivedDocument,
  sameTopicGapMs,
  type WithdrawnDevice,
  withRevived,
} from "./announced.js";
import { bridgeDocument, contradicts, controllerDocument } from "./device-documents.js";
import { type DeviceDocument, type DocumentSettings, fittingDocument } from "./documents.js";
import { textHash } from "./identity.js";

export interface DiscoverySettings extends DocumentSettings {
  /** `homeassistant.discovery_prefix`. */
  readonly prefix: string;
}

export interface ControllerView {
  controllers(): Iterable<Controller>;
  get(code: string): Controller | undefined;
  /** Whether the platform had the time to show everything again that it showed in an earlier run. */
  platformHadTime(): boolean;
  /** Whether what an earlier run announced may be removed; null for what belongs to no controller. */
  mayForget(code: string | null): boolean;
}

/** What to do about one discovery topic now; instants are of the monotonic clock. */
export type Step =
  | { readonly type: "publish"; readonly text: string; readonly attempt: Attempt }
  | { readonly type: "clear"; readonly gone: Announced; readonly isStray: boolean }
  | { readonly type: "wait"; readonly until: number }
  | { readonly type: "nothing" };

export interface Attempt {
  readonly hash: string;
  /** Against what the broker holds: the same text, other components besides, or another text for the same component. */
  readonly news: "same" | "more" | "changed";
  readonly followUpAfterMs: number | null;
  /** Components that did not fit into the message. */
  readonly leftOut: number;
  /** Components that this message removes. */
  readonly gone: Announced;
  readonly removal: Removal;
}

/** What has to go from a device's message. */
interface Removal {
  /** The controller as last announced, while a newer one waits; tells which components have to be removed. */
  before: Controller | null;
  /** Components on the broker that have to be removed unless they come to be wanted again. */
  found: Announced | null;
  /** Withdrawn while Home Assistant may have been away: to be announced once more, so that it can be removed there. */
  revived: Announced;
  /** Announced once more, to be removed next. */
  doomed: Announced;
}

/** What is known about one discovery topic. Texts are not kept: there may be 10,000 of them. */
interface Announcement {
  readonly topic: string;
  /** The device code; null for a bridge's own device. */
  code: string | null;
  /** Of the text last acknowledged by the broker. */
  hash: string | null;
  publishedAt: number | null;
  /** Publish even if the text has not changed. */
  isForced: boolean;
  /** The device was deleted in Home Assistant, which emptied our topic. */
  isDeleted: boolean;
  /** The broker's copy was looked at since the link came up. */
  isScanned: boolean;
  /** An earlier run announced it, and no device wants it, or not yet. */
  isStray: boolean;
  /** What the broker held before the first announcement of this run, by component. */
  copy: { readonly hash: string; readonly digests: ReadonlyMap<string, string> } | null;
  removal: Removal;
}

/** Home Assistant on a small computer has set up what one message announces within this time. */
const busyMs = 60_000;
const strayAgainMs = 10_000;

/** What is wanted on each discovery topic against what the broker holds there; publishing is left to the caller. */
export class Announcements {
  readonly #view: ControllerView;
  readonly #settings: DiscoverySettings;
  readonly #bridgeTopic: string;
  readonly #known = new Map<string, Announcement>();

  constructor(view: ControllerView, settings: DiscoverySettings) {
    this.#view = view;
    this.#settings = settings;
    this.#bridgeTopic = bridgeDiscoveryTopic(settings.prefix, settings.clientId);
  }

  /** The device code behind a topic; null for a bridge. */
  codeOf(topic: string): string | null {
    return this.#at(topic, null).code;
  }

  isWanted(topic: string): boolean {
    return this.#controllerOf(this.#at(topic, null)) !== undefined;
  }

  /** Marks every device for announcing, changed or not, and lists the topics: the bridge first, since the others refer to it. */
  all(): string[] {
    const all = [this.#at(this.#bridgeTopic, null)];
    for (const { info } of this.#view.controllers()) all.push(this.#of(info.code));
    for (const one of all) one.isForced = true;
    return all.map(({ topic }) => topic);
  }

  /** The broker's copies are to be looked at again. Lists the topics that are still to be cleared. */
  linkUp(): string[] {
    const known = [...this.#known.values()];
    for (const one of known) one.isScanned = false;
    return known
      .filter((one) => !isBlank(one) && this.#controllerOf(one) === undefined)
      .map(({ topic }) => topic);
  }

  /** Home Assistant started: what was deleted there may be announced again. */
  birth(): void {
    for (const one of this.#known.values()) one.isDeleted = false;
  }

  /** A controller changed in a way that shows in its message; `isFirst` when it was not announced before. */
  changed(code: string, before: Controller | undefined) {
    const one = this.#of(code);
    const isFirst = one.hash === null;
    if (before && !isFirst) one.removal.before ??= before;
    return { topic: one.topic, isFirst };
  }

  /** Whether an emptied topic is that of a device that should be there: its user deleted it in Home Assistant. */
  emptied(topic: string): boolean {
    const one = this.#known.get(topic);
    if (one === undefined || one.hash === null || one.isDeleted || this.#controllerOf(one) === undefined)
      return false;
    one.isDeleted = true;
    return true;
  }

  /** A message seen on the broker; true where it is ours and something of it is to be removed. */
  seen(topic: string, payload: string): boolean {
    const found = foundDocument(payload, this.#settings.topics.base);
    if (found === null) return false;
    const one = this.#at(topic, found.code);
    const hash = textHash(payload);
    const isEcho = one.hash === hash;
    const isOld = one.isScanned;
    one.isScanned = true;
    if (isEcho) one.isDeleted = false;
    if (isEcho || isOld) return false;
    if (one.hash === null) one.copy = { hash, digests: found.digests };
    const controller = this.#controllerOf(one);
    if (controller === undefined) {
      one.removal.found = found.components;
      one.isStray = one.hash === null;
      return true;
    }
    one.removal.found = stillGone(found.components, this.#wanted(controller).document);
    return this.#removable(one.removal.found, controller).size > 0;
  }

  /** Topics with something of an earlier run that may be removed now. */
  overdue(): string[] {
    return [...this.#known.values()]
      .filter((one) => {
        if (one.removal.found === null || one.isDeleted) return false;
        const controller = this.#controllerOf(one);
        return controller === undefined
          ? !one.isStray || this.#view.mayForget(one.code)
          : this.#removable(one.removal.found, controller).size > 0;
      })
      .map(({ topic }) => topic);
  }

  /** Marks what was announced to be announced once more. */
  repeat(topic: string): boolean {
    const one = this.#at(topic, null);
    if (one.hash === null || this.#controllerOf(one) === undefined) return false;
    one.isForced = true;
    return true;
  }

  /** Whether a newer view waits to be announced than the one last taken up. */
  isBehind(topic: string): boolean {
    const { isDeleted, removal } = this.#at(topic, null);
    return !isDeleted && removal.before !== null;
  }

  /** Not announced in this run, and nothing read of it yet: what it has to announce follows within moments. */
  isBlank(topic: string): boolean {
    const one = this.#at(topic, null);
    const controller = this.#controllerOf(one);
    return one.hash === null && controller?.sensors.size === 0 && controller.statuses.size === 0;
  }

  /** Lets what was withdrawn be announced and removed once more. */
  revive(topic: string, { code, components }: WithdrawnDevice): void {
    const { removal } = this.#at(topic, code);
    removal.revived = without(components, removal.doomed);
  }

  step(topic: string, now: number): Step {
    const one = this.#at(topic, null);
    if (one.isDeleted) return { type: "nothing" };
    if (one.publishedAt !== null && now < one.publishedAt + sameTopicGapMs)
      return { type: "wait", until: one.publishedAt + sameTopicGapMs };
    const controller = this.#controllerOf(one);
    return controller === undefined ? this.#away(one, now) : this.#towards(one, controller);
  }

  /** No device wants it: what was withdrawn from it is announced once more, then it is cleared. */
  #away(one: Announcement, now: number): Step {
    const { found, revived } = one.removal;
    if (one.isStray && !this.#view.mayForget(one.code)) return { type: "wait", until: now + strayAgainMs };
    if (one.hash === null && revived.size > 0) {
      const device = { code: one.code, components: revived };
      const text = JSON.stringify(revivedDocument(one.topic, device, this.#settings));
      one.removal = { ...nothingToRemove(), found };
      // Known before it is out: its echo may come before the acknowledgement.
      one.hash = textHash(text);
      const { hash, removal } = one;
      const attempt = { hash, removal, followUpAfterMs: sameTopicGapMs, leftOut: 0, gone: nothing };
      return { type: "publish", text, attempt: { ...attempt, news: "same" } };
    }
    if (isBlank(one)) return { type: "nothing" };
    const gone = new Map([...(found ?? nothing), ...this.#shownBefore(one.removal)]);
    return { type: "clear", gone, isStray: one.isStray };
  }

  #towards(one: Announcement, controller: Controller | null): Step {
    const { removal } = one;
    const { document, leftOut } = this.#wanted(controller);
    const removed = this.#removable(removal.found, controller);
    const next = nextDocument(
      new Map([...removed, ...removal.doomed, ...this.#shownBefore(removal)]),
      document,
    );
    const revived = goneFrom(removal.revived, next.publish.components);
    const publish = withRevived(next.publish, revived, this.#settings.topics);
    const text = JSON.stringify(publish);
    const hash = textHash(text);
    const news = newsOf(one, controller, publish, hash);
    const followUpAfterMs = revived.size > 0 ? sameTopicGapMs : next.followUpAfterMs;
    const attempt = { hash, news, followUpAfterMs, leftOut, gone: next.gone, removal };
    const found = removal.found && stillGone(without(removal.found, removed), document);
    one.removal = { ...nothingToRemove(), found, doomed: revived };
    one.isStray = false;
    if (!one.isForced && hash === one.hash) return { type: "nothing" };
    one.isForced = false;
    return { type: "publish", text, attempt };
  }

  /** Whether Home Assistant may still be busy with an earlier message, and skip what is new in this one. */
  published(topic: string, attempt: Attempt, now: number): boolean {
    const one = this.#at(topic, null);
    const isBusy = now - (one.publishedAt ?? -Infinity) < busyMs;
    one.hash = attempt.hash;
    one.publishedAt = now;
    one.copy = null;
    return attempt.news === "changed" || (attempt.news === "more" && isBusy);
  }

  /** The broker did not take it: what it was to remove is still to be removed. */
  failed(topic: string, { removal }: Attempt): void {
    const one = this.#at(topic, null);
    one.isForced = true;
    one.removal = { ...removal, before: removal.before ?? one.removal.before };
  }

  /** The topic is empty. */
  cleared(topic: string): void {
    this.#known.set(topic, newAnnouncement(topic, this.codeOf(topic)));
  }

  /** `null` stands for the bridge itself, undefined for a topic that no device wants. */
  #controllerOf({ topic, code }: Announcement): Controller | null | undefined {
    if (topic === this.#bridgeTopic) return null;
    if (code === null || discoveryTopic(this.#settings.prefix, code) !== topic) return undefined;
    return this.#view.get(code);
  }

  #shownBefore({ before }: Removal): Announced {
    return before === null ? nothing : announcedBy(this.#wanted(before).document);
  }

  #removable(found: Announced | null, controller: Controller | null): Announced {
    return found === null ? nothing : removable(found, controller, this.#view.platformHadTime());
  }

  /** `null` stands for the bridge itself. */
  #wanted(controller: Controller | null): { document: DeviceDocument; leftOut: number } {
    if (controller === null) return { document: bridgeDocument(this.#settings), leftOut: 0 };
    return fittingDocument(controllerDocument(controller, this.#settings));
  }

  #of(code: string): Announcement {
    const one = this.#at(discoveryTopic(this.#settings.prefix, code), code);
    one.code = code;
    return one;
  }

  /** What is known about a topic; a message on it names a device code only as people may see it. */
  #at(topic: string, named: string | null): Announcement {
    const known = this.#known.get(topic);
    if (known !== undefined) return known;
    const { prefix } = this.#settings;
    const isNamed =
      topic === this.#bridgeTopic || (named !== null && discoveryTopic(prefix, named) === topic);
    const owner = isNamed
      ? undefined
      : [...this.#view.controllers()].find(({ info }) => discoveryTopic(prefix, info.code) === topic);
    const one = newAnnouncement(topic, owner?.info.code ?? named);
    this.#known.set(topic, one);
    return one;
  }
}

const nothing: Announced = new Map();

const nothingToRemove = (): Removal => ({ before: null, found: null, revived: nothing, doomed: nothing });

const newAnnouncement = (topic: string, code: string | null): Announcement => ({
  topic,
  code,
  hash: null,
  publishedAt: null,
  isForced: false,
  isDeleted: false,
  isScanned: false,
  isStray: false,
  copy: null,
  removal: nothingToRemove(),
});

/** The broker holds nothing of it as far as is known. */
const isBlank = ({ hash, copy, isForced, removal }: Announcement): boolean =>
  hash === null && copy === null && !isForced && removal.found === null;

function newsOf(
  { hash, copy, removal: { before } }: Announcement,
  after: Controller | null,
  { components }: DeviceDocument,
  textIs: string,
): Attempt["news"] {
  if (textIs === (hash ?? copy?.hash)) return "same";
  if (hash !== null) return before && after && contradicts(before, after) ? "changed" : "more";
  const digests = copy === null ? [] : [...digestsOf(components)];
  return digests.some(([key, digest]) => (copy?.digests.get(key) ?? digest) !== digest) ? "changed" : "more";
}

const stillGone = (found: Announced, { components }: DeviceDocument): Announced | null => {
  const gone = goneFrom(found, components);
  return gone.size === 0 ? null : gone;
};

const without = (found: Announced, removed: Announced): Announced =>
  new Map([...found].filter(([key]) => !removed.has(key)));
