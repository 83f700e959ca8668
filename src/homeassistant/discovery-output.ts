import type { Controller } from "../greenhouse/model.js";
import type { Clock, Random } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import { Rest, Schedule } from "../runtime/schedule.js";
import {
  bridgeDiscoveryTopic,
  discoveryTopic,
  foundDocument,
  hasLeftovers,
  heldAfter,
  isOverdue,
  type Known,
  nextStep,
  nothing,
  nothingKnown,
  type Patience,
  type Step,
} from "./announced.js";
import { announcesTheSame, visible } from "./device-documents.js";
import type { DocumentSettings } from "./documents.js";
import { digest } from "./identity.js";
import { type WithdrawalMemory, Withdrawals } from "./withdrawals.js";

export interface DiscoveryPorts {
  /** QoS 1; resolves when the broker has acknowledged, rejects when it has not or cannot. */
  publish(topic: string, payload: string, options: { readonly retain: true }): Promise<void>;
  /** Whether the broker will never take what it answered with this error. */
  isRefusal(error: unknown): boolean;
  /** Publishes every retained state again, after Home Assistant has had time to take in the announcements. */
  republishStates(): void;
  /**
   * The gate has opened for a controller (null: for what belongs to the bridge): publishes what it held back, or, after an announcement
   * that changed something, every state of it again.
   */
  publishStates(code: string | null, which: "held" | "all"): void;
  /** Where what was withdrawn is remembered over restarts. */
  readonly memory: WithdrawalMemory;
  readonly view: Patience & {
    controllers(): Iterable<Controller>;
    get(code: string): Controller | undefined;
  };
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

const spacingMs = 5;
const pauseAfterFailureMs = 1_000;
/** Least time between two messages on one discovery topic. */
const sameTopicGapMs = 3_000;
/** A new controller's sensors follow within moments, so its first message waits for them, so long at most. */
const firstDelayMs = 500;
const blankDelayMs = 2_000;
const coalesceMs = 2_000;
/** Home Assistant takes in an announcement within this time. */
const takenInMs = 2_000;
const retryMs = 10_000;
/** How often is looked whether what an earlier run left may be removed. */
const leftoversEveryMs = 10_000;
/** Home Assistant on a small computer has set up what one message announces within this time. */
const busyMs = 60_000;
/** Home Assistant skips the rest of a message that comes while it still sets up what an earlier one announced. */
const repeatAfterMs = 30_000;

type Task = (signal: AbortSignal) => void | Promise<void>;

/** What is known about one discovery topic, and what falls due for it. */
interface Device extends Known {
  readonly announce: Task;
  readonly takenIn: Task;
  readonly repeat: Task;
}

/**
 * Keeps Home Assistant's announcements true: one retained message per controller and one for the bridge, each taken from what the
 * broker holds to what is wanted. They go out one at a time, each after the broker's acknowledgement of the one before, so that
 * thousands do not flood the link.
 */
export class DiscoveryOutput {
  /**
   * What may be published of a controller before and while its announcement changes: a state never comes before the announcement that
   * knows it, because Home Assistant would read it by the old one, and no topic is emptied before the component that reads it is removed.
   */
  readonly gate = {
    /** The controller as far as it may be shown; null where nothing of it may be yet. `shown` is what the broker holds. */
    visible: (shown: Controller | undefined, after: Controller): Controller | null => {
      const { gate } = this.#of(after.info.code);
      if (typeof gate === "string") return gate === "open" ? after : null;
      return visible(gate, shown, after);
    },
    /** `null` stands for what an earlier run left: every component that may be removed has to be, and Home Assistant had time to take that in. */
    mayClear: (code: string | null): boolean =>
      code === null
        ? !this.#isPaused && !this.#removeLeftovers() && this.#now() >= this.#removedAt + takenInMs
        : this.#of(code).gate !== "leaving",
  };
  readonly #ports: DiscoveryPorts;
  readonly #settings: DocumentSettings;
  readonly #bridgeTopic: string;
  readonly #devices = new Map<string, Device>();
  readonly #withdrawals: Withdrawals;
  readonly #due = new Schedule<Task>();
  /** Topics of which was told that the broker takes no announcement there. */
  readonly #refused = new Set<string>();
  #isPaused = true;
  readonly #rest: Rest;
  #removedAt = -Infinity;

  constructor(ports: DiscoveryPorts, settings: DocumentSettings) {
    this.#ports = ports;
    this.#settings = settings;
    this.#bridgeTopic = bridgeDiscoveryTopic(settings.prefix, settings.clientId);
    this.#rest = new Rest(ports.clock);
    this.#withdrawals = new Withdrawals(ports.memory, ports.log);
  }

  /** Announces until `signal` aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#withdrawals.load();
    while (!signal.aborted) {
      const first = this.#isPaused ? null : this.#due.first();
      const pauseMs = (first?.at ?? Infinity) - this.#now();
      if (first === null || pauseMs > 0) await this.#rest.for(pauseMs, signal);
      else {
        this.#due.take();
        await first.key(signal);
      }
    }
  }

  /** The broker link is up, for the first time or again: the broker may have forgotten or kept anything. */
  connected(): void {
    this.#isPaused = false;
    this.#announceAll(blankDelayMs);
    for (const device of this.#devices.values()) {
      device.isScanned = false;
      if (device.isOwn && this.#wanter(device) === undefined) this.#later(device.announce, 0);
    }
    this.#later(this.#leftovers, leftoversEveryMs);
  }

  disconnected(): void {
    this.#isPaused = true;
  }

  /** A controller appeared (`before` undefined), changed, or was removed for good (`after` undefined). */
  controllerChanged(before: Controller | undefined, after: Controller | undefined): void {
    const code = (after ?? before)?.info.code;
    if (code === undefined || (before && after && announcesTheSame(before, after))) return;
    const device = this.#of(code);
    if (after === undefined) device.gate = device.gate === "shut" ? "shut" : "leaving";
    else if (device.gate === "open" && before) device.gate = before;
    if (before && device.isOwn) device.isBehind = true;
    this.#later(device.announce, device.isOwn ? coalesceMs : firstDelayMs);
  }

  /** Everything of a controller has been asked for once: its first message need not wait for more. */
  tried(code: string): void {
    const { announce, isOwn } = this.#of(code);
    if (!isOwn && !this.#isPaused) this.#later(announce, 0);
  }

  /** A message on Home Assistant's status topic. A retained one does not tell when it started. */
  statusMessage(payload: string, retained: boolean): void {
    if (retained || payload.trim() !== "online") return;
    this.#later(this.#birth, 1_000 + Math.round(this.#ports.random() * 4_000));
  }

  /** A message on any `<prefix>/device/<id>/config`, retained from before or published now. */
  foreignDocument(topic: string, payload: string): void {
    if (payload === "") {
      this.#emptied(topic);
      return;
    }
    const found = foundDocument(payload, this.#settings.topics.base);
    if (found === null) return;
    const device = this.#at(topic, found.code);
    const hash = digest(payload);
    const { held, isOwn, isScanned } = device;
    device.isScanned = true;
    if (hash === held.hash) device.isDeleted = false;
    if (hash === held.hash || isScanned) return;
    const components = new Map([...found.components, ...held.components]);
    device.held = { hash: isOwn ? held.hash : hash, components };
    this.#removeLeftovers([device]);
    this.#later(this.#leftovers, leftoversEveryMs);
  }

  #emptied(topic: string): void {
    const device = this.#devices.get(topic);
    if (!device?.isOwn || device.isDeleted || this.#wanter(device) === undefined) return;
    device.isDeleted = true;
    this.#ports.log.info(
      { topic },
      `Home Assistant's user deleted ${nameOf(device)}; it is announced again when Home Assistant or the bridge starts next`,
    );
  }

  readonly #birth = (): void => {
    for (const device of this.#devices.values()) device.isDeleted = false;
    this.#announceAll(0);
    for (const [topic, { code, components }] of this.#withdrawals.due(this.#ports.clock.now())) {
      const device = this.#at(topic, code);
      device.withdrawn = components;
      this.#later(device.announce, 0);
    }
    // Comes up behind everything that is due now.
    this.#later(this.#settled, 0);
  };

  readonly #settled = (): void => this.#later(this.#states, takenInMs);

  readonly #states = (): void => this.#ports.republishStates();

  readonly #leftovers = (): void => {
    this.#removeLeftovers();
    if ([...this.#devices.values()].some(hasLeftovers)) this.#later(this.#leftovers, leftoversEveryMs);
  };

  /** The bridge first, since the others refer to it; a controller of which nothing was read yet has more to announce within moments. */
  #announceAll(blankMs: number): void {
    this.#force(this.#at(this.#bridgeTopic), 0);
    for (const { info, sensors, statuses } of this.#ports.view.controllers())
      this.#force(this.#of(info.code), sensors.size + statuses.size === 0 ? blankMs : 0);
  }

  /** Announces a device, changed or not. */
  #force(device: Device, inMs: number): void {
    device.isForced = true;
    this.#later(device.announce, inMs);
  }

  #repeat(device: Device): void {
    if (!device.isOwn || this.#wanter(device) === undefined) return;
    this.#force(device, 0);
    this.#later(device.takenIn, takenInMs + sameTopicGapMs);
  }

  /** Lets go what an earlier run announced, where that may be removed now; whether there was any. */
  #removeLeftovers(devices: Iterable<Device> = this.#devices.values()): boolean {
    const overdue = [...devices].filter(
      (one) => hasLeftovers(one) && isOverdue(one, this.#wanter(one), this.#ports.view),
    );
    for (const { announce, isOwn } of overdue) this.#later(announce, isOwn ? 0 : firstDelayMs);
    return overdue.length > 0;
  }

  async #announce(device: Device, signal: AbortSignal): Promise<void> {
    const { isDeleted, publishedAt, isBehind, withdrawn } = device;
    const { hash } = device.held;
    const waitMs = isDeleted ? 0 : publishedAt + sameTopicGapMs - this.#now();
    if (waitMs > 0) {
      this.#later(device.announce, waitMs);
      return;
    }
    try {
      const step = isDeleted
        ? null
        : nextStep(device, this.#wanter(device), this.#ports.view, this.#settings);
      if (!isDeleted) Object.assign(device, { isBehind: false, isForced: false, withdrawn: nothing });
      if (step === null) this.#open(device, "held");
      else if (!(await this.#take(step, device, signal))) {
        // What it was to tell and to remove is still to be told and removed.
        Object.assign(device, { isForced: true, isBehind: isBehind || device.isBehind, withdrawn });
        device.held = { ...device.held, hash };
        this.#later(device.announce, retryMs);
      }
    } catch (error) {
      const name = nameOf(device);
      this.#ports.log.error({ err: error, device: name }, `cannot announce ${name} to Home Assistant`);
      this.#open(device, "held");
    }
  }

  /** Whether the broker took it. */
  async #take(step: Step, device: Device, signal: AbortSignal): Promise<boolean> {
    const { topic, code } = device;
    await this.#withdrawals.note(topic, code, step.gone, this.#ports.clock.now());
    // Known before it is out: its echo may come before the acknowledgement.
    device.held = { ...device.held, hash: step.hash };
    if (!(await this.#publish(device, step.text, signal))) return false;
    const { text, news, gone, isFollowed, leftOut } = step;
    const isBusy = this.#now() - device.publishedAt < busyMs;
    if (text === "" && !device.isOwn)
      this.#ports.log.info({ topic }, "cleared an announcement that nothing stands for any more");
    if (gone.size > 0 || text === "") this.#removedAt = this.#now();
    device.held = heldAfter(device.held, step);
    device.isOwn = text !== "";
    device.publishedAt = this.#now();
    if (news !== "changed") this.#open(device, "held");
    if (news !== "same") this.#later(device.takenIn, takenInMs);
    if (device.isOwn && (news === "changed" || (news === "more" && isBusy)))
      this.#later(device.repeat, repeatAfterMs);
    if (isFollowed) this.#later(device.announce, sameTopicGapMs);
    const name = nameOf(device);
    if (leftOut > 0)
      this.#ports.log.warn(
        { device: name, leftOut },
        `${name} has too many entities for one message: Home Assistant does not get the last ${leftOut}; ignore some of its sensors in the configuration`,
      );
    return true;
  }

  /** Home Assistant knows the device as it is, or never will. */
  #open(device: Device, which: "held" | "all"): void {
    if (device.isBehind && !device.isDeleted) return;
    device.gate = this.#wanter(device) === undefined ? "shut" : "open";
    this.#ports.publishStates(device.code, which);
  }

  /** Whether the broker took it. Of a device that it refuses nothing waits for Home Assistant. */
  async #publish(device: Device, payload: string, signal: AbortSignal): Promise<boolean> {
    const ports = this.#ports;
    const { topic } = device;
    try {
      await ports.publish(topic, payload, { retain: true });
      this.#refused.delete(topic);
      await ports.clock.wait(spacingMs);
      return true;
    } catch (error) {
      ports.log.debug({ err: error, topic }, "the broker did not take an announcement; it is tried again");
      // All announcing pauses, as most failures come from a lost link.
      await this.#rest.for(pauseAfterFailureMs, signal);
      if (ports.isRefusal(error)) this.#refusedBy(error, device);
      return false;
    }
  }

  #refusedBy(error: unknown, device: Device): void {
    this.#open(device, "held");
    if (this.#refused.has(device.topic)) return;
    this.#refused.add(device.topic);
    const text = `the broker does not take the announcement of ${nameOf(device)}, which Home Assistant lacks until it does`;
    this.#ports.log.warn({ topic: device.topic, reason: String(error) }, text);
  }

  /** Who wants its announcement: null stands for the bridge itself, undefined for nobody. */
  #wanter({ topic, code }: Device): Controller | null | undefined {
    if (topic === this.#bridgeTopic) return null;
    const isOf = code !== null && discoveryTopic(this.#settings.prefix, code) === topic;
    return isOf ? this.#ports.view.get(code) : undefined;
  }

  #of(code: string): Device {
    const device = this.#at(discoveryTopic(this.#settings.prefix, code), code);
    // A message found there names it only as people may see it.
    device.code = code;
    return device;
  }

  #at(topic: string, code: string | null = null): Device {
    const known = this.#devices.get(topic);
    if (known !== undefined) return known;
    const device: Device = {
      ...{ topic, code, gate: "shut", ...nothingKnown },
      announce: (signal) => this.#announce(device, signal),
      takenIn: () => this.#open(device, "all"),
      repeat: () => this.#repeat(device),
    };
    this.#devices.set(topic, device);
    return device;
  }

  /** Makes a task due; one that is already due earlier stays so. */
  #later(task: Task, inMs: number): void {
    const at = this.#now() + inMs;
    if ((this.#due.dueAt(task) ?? Infinity) > at) this.#due.set(task, at);
    this.#rest.wake();
  }

  #now(): number {
    return this.#ports.clock.monotonic();
  }
}

const nameOf = ({ code }: Device): string => (code === null ? "bridge" : `controller:${code}`);
