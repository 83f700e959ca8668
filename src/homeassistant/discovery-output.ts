import type { Controller } from "../greenhouse/model.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import type { Random } from "../runtime/random.js";
import { Rest, Schedule } from "../runtime/schedule.js";
import { type Announced, sameTopicGapMs, type WithdrawalMemory, Withdrawals } from "./announced.js";
import { Announcements, type ControllerView, type DiscoverySettings, type Step } from "./announcements.js";
import { announcesTheSame, sameActuator, sameParameter, sameSensor, sameStatus } from "./device-documents.js";

const spacingMs = 5;
const pauseAfterFailureMs = 1_000;
/** A new controller's sensors follow within moments, so its first message waits for them, so long at most. */
const firstDelayMs = 500;
const blankDelayMs = 2_000;
const coalesceMs = 2_000;
/** Home Assistant takes in an announcement within this time. */
const takenInMs = 2_000;
const retryMs = 10_000;
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
  /** Topics, `taken in ` or `repeat ` and a topic, and the words `birth`, `settled`, `states`, `vanished`. */
  readonly #tasks = new Schedule<string>();
  #isPaused = true;
  readonly #rest: Rest;
  #removedAt = -Infinity;

  constructor(ports: DiscoveryPorts, settings: DiscoverySettings) {
    this.#ports = ports;
    this.#rest = new Rest(ports.clock);
    this.#announcements = new Announcements(ports.view, settings);
    this.#withdrawals = new Withdrawals(ports.memory, ports.log);
  }

  /** Announces until `signal` aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#withdrawals.load();
    while (!signal.aborted) {
      const first = this.#isPaused ? null : this.#tasks.first();
      const pauseMs = (first?.at ?? Infinity) - this.#now();
      if (first === null || pauseMs > 0) await this.#rest.for(pauseMs, signal);
      else {
        this.#tasks.take();
        await this.#perform(first.key, signal);
      }
    }
  }

  /** The broker link is up, for the first time or again: the broker may have forgotten or kept anything. */
  connected(): void {
    this.#isPaused = false;
    this.#announceAll((topic) => (this.#announcements.isBlank(topic) ? blankDelayMs : 0));
    for (const topic of this.#announcements.linkUp()) this.#due(topic, 0);
    this.#due("vanished", vanishedAgainMs);
  }

  disconnected(): void {
    this.#isPaused = true;
  }

  /** A controller appeared (`before` undefined), changed, or was removed for good (`after` undefined). */
  controllerChanged(before: Controller | undefined, after: Controller | undefined): void {
    const code = (after ?? before)?.info.code;
    if (code === undefined || (before && after && announcesTheSame(before, after))) return;
    this.gate.changed(code, before, after);
    const { topic, isFirst } = this.#announcements.changed(code, before);
    this.#due(topic, isFirst ? firstDelayMs : coalesceMs);
  }

  /** Everything of a controller has been asked for once: its first message need not wait for more. */
  tried(code: string): void {
    const { topic, isFirst } = this.#announcements.changed(code, undefined);
    if (isFirst && !this.#isPaused) this.#due(topic, 0);
  }

  /** A message on Home Assistant's status topic. A retained one does not tell when it started. */
  statusMessage(payload: string, retained: boolean): void {
    if (retained || payload.trim() !== "online") return;
    this.#due("birth", birthDelay.leastMs + Math.round(this.#ports.random() * birthDelay.spreadMs));
  }

  /** A message on any `<prefix>/device/<id>/config`, retained from before or published now. */
  foreignDocument(topic: string, payload: string): void {
    if (payload !== "") {
      if (this.#announcements.seen(topic, payload)) this.#due(topic, 0);
    } else if (this.#announcements.emptied(topic))
      this.#ports.log.info(
        { topic },
        `Home Assistant's user deleted ${this.#nameOf(topic)}; it is announced again when Home Assistant or the bridge starts next`,
      );
  }

  /**
   * Whether topics of an earlier run may be emptied: every component that may be removed is, and Home Assistant had time
   * to take that in. What is still in the way goes first.
   */
  #mayEmptyTopics(): boolean {
    return !this.#isPaused && !this.#removeOverdue() && this.#now() >= this.#removedAt + takenInMs;
  }

  async #perform(task: string, signal: AbortSignal): Promise<void> {
    switch (task) {
      case "birth":
        this.#birth();
        return;
      case "settled":
        this.#due("states", takenInMs);
        return;
      case "states":
        this.#ports.republishStates();
        return;
      case "vanished":
        if (!this.#ports.view.platformHadTime()) this.#due("vanished", vanishedAgainMs);
        else this.#removeOverdue();
        return;
      default:
        if (task.startsWith(takenIn)) this.#open(task.slice(takenIn.length), "all");
        else if (task.startsWith(repeat)) this.#repeat(task.slice(repeat.length));
        else await this.#announce(task, signal);
    }
  }

  #birth(): void {
    this.#announcements.birth();
    this.#announceAll(() => 0);
    for (const [topic, withdrawn] of this.#withdrawals.due(this.#ports.clock.now())) {
      this.#announcements.revive(topic, withdrawn);
      this.#due(topic, 0);
    }
    // Comes up behind everything that is due now.
    this.#due("settled", 0);
  }

  #announceAll(delayMs: (topic: string) => number): void {
    for (const topic of this.#announcements.all()) this.#due(topic, delayMs(topic));
  }

  #repeat(topic: string): void {
    if (!this.#announcements.repeat(topic)) return;
    this.#due(topic, 0);
    this.#due(`${takenIn}${topic}`, takenInMs + sameTopicGapMs);
  }

  /** Whether anything of an earlier run was left to be removed now. */
  #removeOverdue(): boolean {
    const topics = this.#announcements.overdue();
    for (const topic of topics) this.#due(topic, 0);
    return topics.length > 0;
  }

  async #announce(topic: string, signal: AbortSignal): Promise<void> {
    try {
      const step = this.#announcements.step(topic, this.#now());
      if (step.type === "wait") this.#due(topic, step.until - this.#now());
      if (step.type === "nothing") this.#open(topic, "held");
      if (step.type === "publish") await this.#publishDocument(topic, step, signal);
      if (step.type === "clear") await this.#withdraw(topic, step, signal);
    } catch (error) {
      const device = this.#nameOf(topic);
      this.#ports.log.error({ err: error, device }, `cannot announce ${device} to Home Assistant`);
      this.#open(topic, "held");
    }
  }

  async #publishDocument(
    topic: string,
    { text, attempt }: Step & { type: "publish" },
    signal: AbortSignal,
  ): Promise<void> {
    await this.#note(topic, attempt.gone);
    if (!(await this.#publish(topic, text, signal))) {
      this.#announcements.failed(topic, attempt);
      this.#due(topic, retryMs);
      return;
    }
    const isCrowded = this.#announcements.published(topic, attempt, this.#now());
    if (attempt.gone.size > 0) this.#removedAt = this.#now();
    if (attempt.news !== "changed") this.#open(topic, "held");
    if (attempt.news !== "same") this.#due(`${takenIn}${topic}`, takenInMs);
    if (isCrowded) this.#due(`${repeat}${topic}`, repeatAfterMs);
    if (attempt.followUpAfterMs !== null) this.#due(topic, attempt.followUpAfterMs);
    const device = this.#nameOf(topic);
    const { leftOut } = attempt;
    if (leftOut > 0)
      this.#ports.log.warn(
        { device, leftOut },
        `${device} has too many entities for one message: Home Assistant does not get the last ${leftOut}; ignore some of its sensors in the configuration`,
      );
  }

  /** Home Assistant knows the device as it is, or never will. */
  #open(topic: string, which: "held" | "all"): void {
    if (this.#announcements.isBehind(topic)) return;
    const code = this.#announcements.codeOf(topic);
    if (code !== null) {
      if (this.#announcements.isWanted(topic)) this.gate.open(code);
      else this.gate.left(code);
    }
    this.#ports.publishStates(code, which);
  }

  async #withdraw(
    topic: string,
    { gone, isStray }: Step & { type: "clear" },
    signal: AbortSignal,
  ): Promise<void> {
    await this.#note(topic, gone);
    if (!(await this.#publish(topic, "", signal))) {
      this.#due(topic, retryMs);
      return;
    }
    this.#removedAt = this.#now();
    this.#announcements.cleared(topic);
    this.#due(`${takenIn}${topic}`, takenInMs);
    if (isStray) this.#ports.log.info({ topic }, "cleared an announcement that nothing stands for any more");
  }

  #note(topic: string, components: Announced): Promise<void> {
    const code = this.#announcements.codeOf(topic);
    return this.#withdrawals.note(topic, { code, components }, this.#ports.clock.now());
  }

  /** Whether the broker took it. Of a device that it refuses nothing waits for Home Assistant. */
  async #publish(topic: string, payload: string, signal: AbortSignal): Promise<boolean> {
    const ports = this.#ports;
    try {
      await ports.publish(topic, payload, { retain: true });
      await ports.clock.wait(spacingMs);
      return true;
    } catch (error) {
      ports.log.debug({ err: error, topic }, "the broker did not take an announcement; it is tried again");
      // All announcing pauses, as most failures come from a lost link.
      await this.#rest.for(pauseAfterFailureMs, signal);
      if (ports.isRefusal(error)) this.#open(topic, "held");
      return false;
    }
  }

  #nameOf(topic: string): string {
    const code = this.#announcements.codeOf(topic);
    return code === null ? "bridge" : `controller:${code}`;
  }

  /** Makes a task due; one that is already due earlier stays so. */
  #due(task: string, inMs: number): void {
    const at = this.#now() + inMs;
    if ((this.#tasks.dueAt(task) ?? Infinity) > at) this.#tasks.set(task, at);
    this.#rest.wake();
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
  /** Where what was withdrawn is remembered over restarts. */
  readonly memory: WithdrawalMemory;
  readonly view: ControllerView;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/**
 * Which states of a controller may be published: a state never comes before the announcement that knows it, because Home
 * Assistant would read it by the old one, and no topic is emptied before the component that reads it is removed.
 */
class StateGate {
  /**
   * By code: everything was announced once; the controller as last announced, while a newer announcement waits; or it was removed
   * for good, and its announcement still stands.
   */
  readonly #gates = new Map<string, "open" | Controller | "leaving">();
  readonly #mayEmptyEarlier: () => boolean;

  /** `mayEmptyEarlier`: whether topics of an earlier run may be emptied. */
  constructor(mayEmptyEarlier: () => boolean) {
    this.#mayEmptyEarlier = mayEmptyEarlier;
  }

  /** A controller appeared, changed in a way that has to be announced, or was removed for good (`after` undefined). */
  changed(code: string, before: Controller | undefined, after: Controller | undefined): void {
    const gate = this.#gates.get(code);
    if (gate !== undefined && after === undefined) this.#gates.set(code, "leaving");
    else if (gate === "open" && before) this.#gates.set(code, before);
  }

  /** Home Assistant knows the controller as it is, or never will: everything may be published and emptied. */
  open(code: string): void {
    this.#gates.set(code, "open");
  }

  /** The announcement of a controller that was removed is gone too. */
  left(code: string): void {
    if (this.#gates.get(code) === "leaving") this.#gates.delete(code);
  }

  /** `null` stands for what an earlier run left. */
  mayClear(code: string | null): boolean {
    return code === null ? this.#mayEmptyEarlier() : this.#gates.get(code) !== "leaving";
  }

  /** The controller as far as it may be shown; null where nothing of it may be yet. `shown` is what the broker holds. */
  visible(shown: Controller | undefined, after: Controller): Controller | null {
    const known = this.#gates.get(after.info.code);
    if (known === undefined || known === "leaving") return null;
    if (known === "open") return after;
    return {
      ...after,
      sensors: passed(known.sensors, shown?.sensors, after.sensors, sameSensor),
      statuses: passed(known.statuses, shown?.statuses, after.statuses, sameStatus),
      actuators: passed(known.actuators, shown?.actuators, after.actuators, sameActuator),
      parameters: passed(known.parameters, shown?.parameters, after.parameters, sameParameter),
    };
  }
}

/** What was announced as it is goes out; of anything else the broker keeps what it has. */
function passed<Item>(
  known: ReadonlyMap<string, Item>,
  shown: ReadonlyMap<string, Item> | undefined,
  after: ReadonlyMap<string, Item>,
  same: (one: Item, other: Item) => boolean,
): ReadonlyMap<string, Item> {
  const visible = new Map<string, Item>();
  for (const [id, item] of after) {
    const announced = known.get(id);
    const old = shown?.get(id);
    if (announced !== undefined && same(announced, item)) visible.set(id, item);
    else if (old !== undefined) visible.set(id, old);
  }
  for (const [id, item] of shown ?? []) if (!after.has(id)) visible.set(id, item);
  return visible;
}
