import type { Controller } from "../greenhouse/model.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import type { Random } from "../runtime/random.js";
import {
  codeOf,
  controllerDevice,
  type ControllerView,
  type Device,
  type Seen,
  type Step,
} from "./announcement.js";
import { Announcements, type DiscoverySettings } from "./announcements.js";
import { sameTopicGapMs } from "./removal.js";
import { Revivals, type StrayPorts, Strays } from "./revivals.js";
import { StateGate } from "./state-gate.js";
import { TaskLoop } from "./task-loop.js";
import { type WithdrawalMemory, Withdrawals } from "./withdrawals.js";

const spacingMs = 5;
const pauseAfterFailureMs = 1_000;

export type Taken = "taken" | "refused" | "failed";

/** Publishes a retained message and tells what became of it. A failure pauses all announcing, as most come from a lost link. */
export async function patientPublish(
  { publish, clock, log, isRefusal }: Pick<DiscoveryPorts, "publish" | "clock" | "log" | "isRefusal">,
  tasks: Pick<TaskLoop, "rest">,
  { topic, payload }: { readonly topic: string; readonly payload: string },
): Promise<Taken> {
  try {
    await publish(topic, payload, { retain: true });
    await clock.wait(spacingMs);
    return "taken";
  } catch (error) {
    log.debug({ err: error, topic }, "the broker did not take an announcement; it is tried again");
    await tasks.rest(pauseAfterFailureMs);
    return isRefusal(error) ? "refused" : "failed";
  }
}

/** A new controller's sensors follow within moments, so its first message waits for them a little. */
const firstDelayMs = 500;
const blankDelayMs = 2_000;
const coalesceMs = 2_000;
/** Home Assistant takes in an announcement within this time. */
const takenInMs = 2_000;
const retryMs = 10_000;
const sweepAgainMs = 10_000;
const vanishedAgainMs = 3_600_000;
const birthDelay = { leastMs: 1_000, spreadMs: 4_000 };
/** Home Assistant skips the rest of a message that comes while it still sets up what an earlier one announced. */
const repeatAfterMs = 30_000;
const takenIn = "taken in ";
const repeat = "repeat ";

/**
 * Keeps Home Assistant's announcements true: one retained message per controller and one for the bridge. They go out one
 * at a time, each after the broker's acknowledgement of the one before, so that thousands do not flood the link.
 */
export class DiscoveryOutput {
  /** What may be published of a controller before and while its announcement changes. */
  readonly gate = new StateGate(() => this.#mayEmptyTopics());
  readonly #ports: DiscoveryPorts;
  readonly #announcements: Announcements;
  readonly #withdrawals: Withdrawals;
  readonly #revivals: Revivals;
  readonly #strays: Strays;
  /** Devices, `taken in ` or `repeat ` and a device, the tasks of the revivals, and the words `birth`, `settled`, `states`, `sweep`, `vanished`. */
  readonly #tasks: TaskLoop;
  #removedAt = -Infinity;

  constructor(ports: DiscoveryPorts, settings: DiscoverySettings) {
    this.#ports = ports;
    this.#tasks = new TaskLoop(ports.clock);
    const announcements = (this.#announcements = new Announcements(ports.view, settings));
    const withdrawals = (this.#withdrawals = new Withdrawals(ports.memory, ports.log));
    this.#revivals = new Revivals({
      withdrawals,
      announcements,
      settings,
      publish: (topic, payload) => this.#publish(topic, payload),
      tasks: this.#tasks,
      clock: ports.clock,
    });
    this.#strays = new Strays({
      announcements,
      removalAllowed: ports.removalAllowed,
      withdraw: (...stray) => this.#withdraw(...stray),
    });
  }

  /** Announces until `signal` aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#withdrawals.load();
    await this.#tasks.run((task) => this.#perform(task), signal);
  }

  /** The broker link is up, for the first time or again: the broker may have forgotten or kept anything. */
  connected(): void {
    this.#tasks.resume();
    this.#announcements.linkUp();
    this.#announceAll((device) => (this.#announcements.isBlank(device) ? blankDelayMs : 0));
    this.#revivals.connected();
    this.#due("vanished", vanishedAgainMs);
  }

  disconnected(): void {
    this.#tasks.pause();
  }

  /** A controller appeared (`before` undefined), changed, or was removed for good (`after` undefined). */
  controllerChanged(before: Controller | undefined, after: Controller | undefined): void {
    const code = (after ?? before)?.info.code;
    this.gate.changed(before, after);
    const news = this.#announcements.changed(before, after);
    if (code !== undefined && news !== null)
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
    const seen = this.#revivals.isEcho(topic, payload) ? null : this.#announcements.seen(topic, payload);
    if (seen === null) return;
    if (seen.verdict === "stray") this.#strays.add(topic, seen);
    this.#due(seen.verdict === "stray" ? "sweep" : seen.device, 0);
  }

  /**
   * Whether topics of an earlier run may be emptied: every component that may be removed is, and Home Assistant had time
   * to take that in. What is still in the way goes first.
   */
  #mayEmptyTopics(): boolean {
    if (this.#tasks.isPaused) return false;
    const strays = this.#strays.isAnyDue;
    if (strays) this.#due("sweep", 0);
    return !this.#announceVanished() && !strays && this.#now() >= this.#removedAt + takenInMs;
  }

  async #perform(task: string): Promise<void> {
    switch (task) {
      case "birth":
        this.#announcements.birth();
        this.#announceAll(() => 0);
        this.#revivals.birth();
        // Comes up behind everything that is due now.
        this.#due("settled", 0);
        return;
      case "settled":
        this.#due("states", takenInMs);
        return;
      case "states":
        this.#ports.republishStates();
        return;
      case "sweep":
        await this.#sweep();
        return;
      case "vanished":
        if (!this.#ports.view.platformHadTime()) this.#due("vanished", vanishedAgainMs);
        else this.#announceVanished();
        return;
      default:
        if (task.startsWith(takenIn)) this.#open(task.slice(takenIn.length), "all");
        else if (task.startsWith(repeat)) this.#repeat(task.slice(repeat.length));
        else if (!(await this.#revivals.perform(task))) await this.#announce(task);
    }
  }

  #announceAll(delayMs: (device: Device) => number): void {
    for (const device of this.#announcements.all()) this.#due(device, delayMs(device));
  }

  #repeat(device: Device): void {
    if (!this.#announcements.repeat(device)) return;
    this.#due(device, 0);
    this.#due(`${takenIn}${device}`, takenInMs + sameTopicGapMs);
  }

  #announceVanished(): boolean {
    const devices = this.#announcements.withVanished();
    for (const device of devices) this.#due(device, 0);
    return devices.length > 0;
  }

  async #announce(device: Device): Promise<void> {
    try {
      const step = this.#announcements.step(device, this.#now());
      if (step.type === "wait") this.#due(device, step.until - this.#now());
      if (step.type === "nothing") this.#open(device, "held");
      if (step.type === "publish") await this.#publishDocument(device, step);
      if (step.type === "clear" && !(await this.#withdraw(step.topic, device, step.gone)))
        this.#due(device, retryMs);
    } catch (error) {
      this.#ports.log.error({ err: error, device }, `cannot announce ${device} to Home Assistant`);
      this.#open(device, "held");
    }
  }

  async #publishDocument(device: Device, step: Step & { type: "publish" }): Promise<void> {
    const { attempt, topic } = step;
    await this.#note(topic, device, attempt.gone);
    if (!(await this.#publish(topic, step.text, device))) {
      this.#announcements.failed(device, attempt);
      this.#due(device, retryMs);
      return;
    }
    const isCrowded = this.#announcements.published(device, attempt, this.#now());
    if (attempt.gone.size > 0) this.#removedAt = this.#now();
    if (attempt.news !== "changed") this.#open(device, "held");
    if (attempt.news !== "same") this.#due(`${takenIn}${device}`, takenInMs);
    if (isCrowded) this.#due(`${repeat}${device}`, repeatAfterMs);
    if (attempt.followUpAfterMs !== null) this.#due(device, attempt.followUpAfterMs);
    if (attempt.leftOut > 0)
      this.#ports.log.warn(
        { device, leftOut: attempt.leftOut },
        `${device} has too many entities for one message: Home Assistant does not get the last ${attempt.leftOut}; ignore some of its sensors in the configuration`,
      );
  }

  /** Home Assistant knows the device as it is, or never will. */
  #open(device: Device, which: "held" | "all"): void {
    if (this.#announcements.isBehind(device)) return;
    const code = codeOf(device);
    if (code !== null) {
      if (this.#announcements.isWanted(device)) this.gate.open(code);
      else this.gate.left(code);
    }
    this.#ports.publishStates(code, which);
  }

  async #withdraw(topic: string, device: Device, gone: Seen["components"]): Promise<boolean> {
    await this.#note(topic, device, gone);
    if (!(await this.#publish(topic, "", device))) return false;
    this.#removedAt = this.#now();
    if (this.#announcements.topicOf(device) === topic) this.#announcements.forget(device);
    this.#due(`${takenIn}${device}`, takenInMs);
    return true;
  }

  #note(topic: string, device: Device, components: Seen["components"]): Promise<void> {
    return this.#withdrawals.note(topic, { code: codeOf(device), components }, this.#ports.clock.now());
  }

  async #sweep(): Promise<void> {
    for (const topic of await this.#strays.sweep())
      this.#ports.log.info({ topic }, "cleared an announcement that nothing stands for any more");
    if (this.#strays.size > 0) this.#due("sweep", sweepAgainMs);
  }

  /** Whether the broker took it. Of a device that it refuses nothing waits for Home Assistant. */
  async #publish(topic: string, payload: string, device?: Device): Promise<boolean> {
    const taken = await patientPublish(this.#ports, this.#tasks, { topic, payload });
    if (taken === "refused" && device !== undefined) this.#open(device, "held");
    return taken === "taken";
  }

  #due(task: string, inMs: number): void {
    this.#tasks.due(task, inMs);
  }

  #now(): number {
    return this.#ports.clock.monotonic();
  }
}

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
  readonly removalAllowed: StrayPorts["removalAllowed"];
  /** Where what was withdrawn is remembered over restarts. */
  readonly memory: WithdrawalMemory;
  readonly view: ControllerView;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}
