import type { Controller } from "../greenhouse/model.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/logger.js";
import type { Random } from "../runtime/random.js";
import {
  Announcements,
  type Attempt,
  codeOf,
  type ControllerView,
  controllerDevice,
  type Device,
  type DiscoverySettings,
} from "./announcements.js";
import { DueQueue } from "./due-queue.js";

export interface DiscoveryPorts {
  /** QoS 1; resolves when the broker has acknowledged, rejects when it has not or cannot. */
  publish(topic: string, payload: string, options: { readonly retain: true }): Promise<void>;
  /** Publishes every retained state again, after Home Assistant has had time to take in the announcements. */
  republishStates(): Promise<void> | void;
  /**
   * Whether what an earlier run announced may be removed although no controller stands for it now: a device code, or
   * null for what belongs to no controller. Asked again until it is allowed.
   */
  removalAllowed(code: string | null): boolean;
  readonly view: ControllerView;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** A new controller's sensors follow within moments, so its first message waits for them a little. */
const firstDelayMs = 500;
const coalesceMs = 2_000;
const spacingMs = 5;
const statesAfterMs = 2_000;
const retryMs = 10_000;
const pauseAfterFailureMs = 1_000;
const sweepAgainMs = 10_000;
const vanishedAgainMs = 3_600_000;
const birthDelay = { leastMs: 1_000, spreadMs: 4_000 };

/**
 * Keeps Home Assistant's announcements true: one retained message per controller and one for the bridge. They go out one
 * at a time, each after the broker's acknowledgement of the one before, so that thousands do not flood the link.
 */
export class DiscoveryOutput {
  readonly #ports: DiscoveryPorts;
  readonly #announcements: Announcements;
  /** Devices, and the words `birth`, `settled`, `states`, `sweep`, `vanished`. */
  readonly #queue = new DueQueue();
  /** Topics of ours on the broker that no device wants, or not yet. */
  readonly #strays = new Map<string, Device>();
  #isLinked = false;
  #nap: AbortController | null = null;

  constructor(ports: DiscoveryPorts, settings: DiscoverySettings) {
    this.#ports = ports;
    this.#announcements = new Announcements(ports.view, settings);
  }

  /** Announces until `signal` aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener("abort", this.#wake, { once: true });
    while (!signal.aborted) {
      const task = this.#isLinked ? this.#queue.take(this.#now()) : null;
      if (task === null) await this.#sleepUntil(this.#isLinked ? this.#queue.nextAt() : null);
      else await this.#perform(task);
    }
  }

  /** The broker link is up, for the first time or again: the broker may have forgotten or kept anything. */
  connected(): void {
    this.#isLinked = true;
    this.#announcements.linkUp();
    this.#announceAll();
    this.#due("vanished", vanishedAgainMs);
  }

  disconnected(): void {
    this.#isLinked = false;
  }

  /** A controller appeared (`before` undefined), changed, or was removed for good (`after` undefined). */
  controllerChanged(before: Controller | undefined, after: Controller | undefined): void {
    const code = (after ?? before)?.info.code;
    const news = this.#announcements.changed(before, after);
    if (code === undefined || news === null) return;
    this.#due(controllerDevice(code), news === "first" ? firstDelayMs : coalesceMs);
  }

  /** A message on Home Assistant's status topic. A retained one does not tell when it started. */
  statusMessage(payload: string, retained: boolean): void {
    if (retained || payload.trim() !== "online") return;
    this.#due("birth", birthDelay.leastMs + Math.round(this.#ports.random() * birthDelay.spreadMs));
  }

  /** A message on any `<prefix>/device/<id>/config`, retained from before or published now. */
  foreignDocument(topic: string, payload: string): void {
    if (payload === "") {
      const deleted = this.#announcements.emptied(topic);
      if (deleted === null) return;
      this.#ports.log.info(
        { topic },
        `Home Assistant's user deleted ${deleted}; it is announced again when Home Assistant or the bridge starts next`,
      );
      return;
    }
    const seen = this.#announcements.seen(topic, payload);
    if (seen === null) return;
    if (seen.verdict === "outdated") {
      this.#due(seen.device, 0);
      return;
    }
    this.#strays.set(topic, seen.device);
    this.#due("sweep", spacingMs);
  }

  async #perform(task: string): Promise<void> {
    switch (task) {
      case "birth":
        this.#announcements.birth();
        this.#announceAll();
        // Comes up behind everything that is due now.
        this.#due("settled", 0);
        return;
      case "settled":
        this.#due("states", statesAfterMs);
        return;
      case "states":
        await this.#republishStates();
        return;
      case "sweep":
        await this.#sweep();
        return;
      case "vanished":
        if (!this.#ports.view.platformHadTime()) this.#due("vanished", vanishedAgainMs);
        else for (const device of this.#announcements.withVanished()) this.#due(device, 0);
        return;
      default:
        await this.#announce(task);
    }
  }

  #announceAll(): void {
    for (const device of this.#announcements.all()) this.#queue.put(device, this.#now());
    this.#wake();
  }

  async #announce(device: Device): Promise<void> {
    try {
      const step = this.#announcements.step(device, this.#now());
      if (step.type === "wait") this.#queue.put(device, step.until);
      if (step.type === "publish") await this.#publishDocument(device, step);
      if (step.type === "clear") {
        if (await this.#publish(step.topic, "")) this.#announcements.forget(device);
        else this.#due(device, retryMs);
      }
    } catch (error) {
      this.#ports.log.error({ err: error, device }, `cannot announce ${device} to Home Assistant`);
    }
  }

  async #publishDocument(
    device: Device,
    step: { topic: string; text: string; attempt: Attempt },
  ): Promise<void> {
    const { attempt } = step;
    if (!(await this.#publish(step.topic, step.text))) {
      this.#announcements.failed(device, attempt);
      this.#due(device, retryMs);
      return;
    }
    this.#announcements.published(device, attempt, this.#now());
    if (attempt.followUpAfterMs !== null) this.#due(device, attempt.followUpAfterMs);
    if (attempt.leftOut > 0)
      this.#ports.log.warn(
        { device, leftOut: attempt.leftOut },
        `${device} has too many entities for one message: Home Assistant does not get the last ${attempt.leftOut}; ignore some of its sensors in the configuration`,
      );
  }

  /** Clears what is ours and unwanted, each as soon as it is known that nothing will want it. */
  async #sweep(): Promise<void> {
    for (const [topic, named] of this.#strays) {
      const device = this.#announcements.ownerOf(topic, named);
      const isAtHome = this.#announcements.topicOf(device) === topic;
      if (isAtHome && this.#announcements.isWanted(device)) this.#strays.delete(topic);
      else if (this.#ports.removalAllowed(codeOf(device))) {
        if (!(await this.#publish(topic, ""))) break;
        this.#strays.delete(topic);
        if (isAtHome) this.#announcements.forget(device);
        this.#ports.log.info({ topic }, "cleared an announcement that nothing stands for any more");
      }
    }
    if (this.#strays.size > 0) this.#due("sweep", sweepAgainMs);
  }

  async #republishStates(): Promise<void> {
    try {
      await this.#ports.republishStates();
    } catch (error) {
      this.#ports.log.warn({ err: error }, "publishing all states again for Home Assistant failed");
    }
  }

  /** Whether the broker took it. A failure pauses all announcing, as most come from a lost link. */
  async #publish(topic: string, payload: string): Promise<boolean> {
    try {
      await this.#ports.publish(topic, payload, { retain: true });
      await this.#ports.clock.wait(spacingMs);
      return true;
    } catch (error) {
      this.#ports.log.debug(
        { err: error, topic },
        "the broker did not take an announcement; it is tried again",
      );
      await this.#sleepUntil(this.#now() + pauseAfterFailureMs);
      return false;
    }
  }

  #due(task: string, inMs: number): void {
    this.#queue.put(task, this.#now() + inMs);
    this.#wake();
  }

  #now(): number {
    return this.#ports.clock.monotonic();
  }

  #wake = (): void => {
    this.#nap?.abort();
  };

  /** Resolves at `until` (never, if null) or when woken. */
  async #sleepUntil(until: number | null): Promise<void> {
    const nap = new AbortController();
    this.#nap = nap;
    if (until === null)
      await new Promise((resolve) => {
        nap.signal.addEventListener("abort", resolve, { once: true });
      });
    else await this.#ports.clock.wait(Math.max(0, until - this.#now()), nap.signal).catch(() => undefined);
    this.#nap = null;
  }
}
