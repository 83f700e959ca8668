import type { Core, Running } from "../feature/core.js";
import type { Configured } from "../feature/feature.js";
import type { Actuator, Controller, Parameter, RunningStatus, Sensor } from "../greenhouse/model.js";
import { Rest } from "../runtime/clock.js";
import { ignored } from "../runtime/failures.js";
import { withDeadline } from "../runtime/file-system.js";
import type { Tell } from "../language/words.js";
import { Schedule } from "../runtime/schedule.js";
import {
  announcementBeside,
  bridgeDiscoveryTopic,
  heldComponents,
  discoveryTopic,
  foundDocument,
  hasLeftovers,
  heldAfter,
  isOverdue,
  type Known,
  nextStep,
  nothing,
  nothingHeld,
  type Patience,
  type Step,
  type Wanter,
} from "./announced.js";
import type { DocumentSettings } from "./documents.js";
import { digest } from "./identity.js";
import type { keys } from "./section.js";
import { shownRange } from "./sensor-components.js";
import { Withdrawals } from "./withdrawals.js";

interface DiscoverySettings extends DocumentSettings {
  /** The topic where Home Assistant says that it started. */
  readonly statusTopic: string;
}

interface DiscoveryMessage {
  readonly topic: string;
  readonly payload: Buffer;
  readonly retain: boolean;
}

const spacingMs = 5;
/** As many messages may be without an acknowledgement, which takes its time in a slow network. Each is large. */
const mostOnTheirWay = 4;
/** The shortest time between two messages on one discovery topic. */
const sameTopicGapMs = 3_000;
/** A new controller's first message waits at most this long for its sensors, which follow within moments. */
const firstDelayMs = 500;
const blankDelayMs = 2_000;
const coalesceMs = 2_000;
/** The time in which Home Assistant takes in an announcement. */
const takenInMs = 2_000;
const retryMs = 10_000;
/** How often the bridge looks whether leftovers of an earlier run may be removed. */
const leftoversEveryMs = 10_000;
/** The time that Home Assistant on a small computer needs to set up one message's components. */
const busyMs = 60_000;
/** Home Assistant skips parts of a message that comes while it still sets up an earlier one, so it is sent again. */
const repeatAfterMs = 30_000;

/*
 * States wait for their announcement, else Home Assistant would read them by the previous one. A topic is emptied only
 * after the component that reads it was removed.
 */

/** Which states of a controller may be published. */
export type Gate =
  /** None, as it is not announced yet; or all. */
  | { readonly type: "shut" | "open" }
  /** Only states of items that are announced as in `known`; those of others wait for the newer announcement. */
  | { readonly type: "behind"; readonly known: Controller }
  /** None, and none may be emptied: the controller was removed for good, and its announcement still stands. */
  | { readonly type: "leaving" };

type Task = (signal: AbortSignal) => void | Promise<void>;

/** The state of one discovery topic, with the tasks that become due for it. */
interface Device extends Known {
  gate: Gate;
  /** Whether the broker has its announcement, as far as this link has shown; its states wait for that. */
  isStanding: boolean;
  publishedAt: number;
  /** Hash of the text that is not acknowledged yet; its echo may come before the acknowledgement. */
  pendingHash: string | null;
  readonly announce: Task;
  readonly takenIn: Task;
  readonly repeat: Task;
}

/** The parts of the core that it needs. */
type DiscoveryCore = Pick<Core, "clock" | "random" | "log" | "isOneOfMany" | "file"> & {
  readonly groupsAndScenes: () => Pick<ReturnType<Core["groupsAndScenes"]>, "groups">;
  readonly retained: Pick<Core["retained"], "announce" | "release" | "repeat">;
  readonly connection: Pick<Core["connection"], "listen">;
  readonly mirror: {
    readonly store: Pick<Core["mirror"]["store"], "controllers" | "get">;
    readonly inventory: Pick<Core["mirror"]["inventory"], "hadTime" | "mayForget">;
  };
};

/** What became of an announcement. */
type Outcome = Awaited<ReturnType<Core["retained"]["announce"]>>;

/** An announcement as it was begun. */
interface Begun {
  readonly step: Step;
  readonly wanter: Wanter;
  readonly withdrawn: Device["withdrawn"];
}

/**
 * Keeps the announcements true: one retained message for each controller and one for the bridge. Each message changes
 * what the broker holds into what is wanted. They go out one by one, and the next one waits while several are not
 * acknowledged, so that thousands do not flood the link.
 */
export class DiscoveryOutput {
  /** Decides which states may be published before and while an announcement changes. */
  readonly gate = {
    visible: (shown: Controller | undefined, after: Controller): Controller | null => {
      const { gate, isStanding } = this.#of(after.info.code);
      return isStanding ? visible(gate, shown, after) : null;
    },
    mayClear: (code: string): boolean => this.#of(code).gate.type !== "leaving",
  };
  readonly #core: DiscoveryCore;
  readonly #patience: Patience;
  readonly #settings: DiscoverySettings;
  readonly #bridgeTopic: string;
  readonly #devices = new Map<string, Device>();
  /** The devices of controllers, by code. */
  readonly #ofCode = new Map<string, Device>();
  readonly #withdrawals: Withdrawals;
  readonly #birthListeners: (() => void)[] = [];
  readonly #due = new Schedule<Task>();
  /** Topics whose refusal by the broker was logged. */
  readonly #refused = new Set<string>();
  /**
   * Topics that a user emptied by deleting the device in Home Assistant; they stay empty until Home Assistant starts
   * again.
   */
  readonly #deleted = new Set<string>();
  /** Topics whose retained message was seen since the link came up. */
  readonly #scanned = new Set<string>();
  /** Topics whose retained message has not come yet, where the bridge subscribes to single topics only. */
  readonly #unheard = new Set<string>();
  /** Those of them that the next subscription includes. */
  readonly #unasked = new Set<string>();
  /** Devices whose message the broker has not answered yet; each promise ends after what follows from the answer. */
  readonly #onTheirWay = new Map<Device, Promise<void>>();
  /** Ends the wait for one of these answers. */
  #onAnswered: () => void = ignored;
  #isPaused = true;
  readonly #rest: Rest;
  #removedAt = -Infinity;

  constructor(core: DiscoveryCore, settings: DiscoverySettings) {
    const { inventory } = core.mirror;
    this.#core = core;
    this.#settings = settings;
    this.#patience = {
      platformHadTime: () => inventory.hadTime,
      mayForget: (code) => code === null || inventory.mayForget(code),
    };
    this.#bridgeTopic = bridgeDiscoveryTopic(settings.prefix, settings.clientId);
    this.#rest = new Rest(core.clock);
    // A slow disk must not delay announcements.
    const memory = withDeadline(core.file("homeassistant-withdrawn.json"), core.clock);
    this.#withdrawals = new Withdrawals(memory, core.log);
  }

  /**
   * Calls back when Home Assistant has started and had time to take in the announcements, so that states can be
   * published again.
   */
  onBirth(listener: () => void): void {
    this.#birthListeners.push(listener);
  }

  /** Announces until `signal` aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#withdrawals.load();
    if (this.#core.isOneOfMany)
      for (const [topic, { code }] of this.#withdrawals.due(this.#core.clock.now())) this.#at(topic, code);
    while (!signal.aborted) {
      const first = this.#isPaused ? null : this.#due.first();
      const pauseMs = (first?.at ?? Infinity) - this.#now();
      if (first === null || pauseMs > 0) await this.#rest.for(pauseMs, signal);
      else {
        this.#due.take();
        await first.key(signal);
      }
    }
    await this.#allAnswered();
  }

  /** The link to the broker is up, for the first time or again: the broker may have forgotten or kept anything. */
  onConnected(): void {
    this.#isPaused = false;
    this.#scanned.clear();
    for (const topic of this.#devices.keys()) this.#hear(topic);
    this.#announceAll(blankDelayMs);
    for (const device of this.#devices.values())
      if (device.held.isOwn && this.#wanter(device) === "nobody") this.#later(device.announce, 0);
    this.#later(this.#leftovers, leftoversEveryMs);
  }

  /** The broker may come back empty. States of refused announcements do not wait. */
  onDisconnected(): void {
    this.#isPaused = true;
    for (const device of this.#devices.values()) device.isStanding = this.#refused.has(device.topic);
  }

  /**
   * Whether topics of an earlier run may be emptied: all removable components are removed, and Home Assistant had time
   * to take that in.
   */
  mayClearLeftovers(): boolean {
    return (
      !this.#isPaused &&
      this.#unheard.size === 0 &&
      this.#due.dueAt(this.#at(this.#bridgeTopic).announce) === undefined &&
      !this.#removeLeftovers() &&
      this.#now() >= this.#removedAt + takenInMs
    );
  }

  /** A controller appeared (`before` undefined), changed, or was removed for good (`after` undefined). */
  controllerChanged(before: Controller | undefined, after: Controller | undefined): void {
    const code = (after ?? before)?.info.code;
    if (code === undefined || announcesTheSame(before ?? "nobody", after ?? "nobody")) return;
    const device = this.#of(code);
    device.gate = changedGate(device.gate, before, after);
    // The next announcement opens the gate, not the previous one.
    this.#due.delete(device.takenIn);
    this.#later(device.announce, device.held.isOwn ? coalesceMs : firstDelayMs);
  }

  /** A reloaded configuration may have other groups and scenes. */
  reload(): void {
    if (!this.#isPaused) this.#later(this.#at(this.#bridgeTopic).announce, 0);
  }

  /** Everything of a controller was asked for once, so its first message need not wait for more. */
  onTried(code: string): void {
    const { announce, held } = this.#of(code);
    if (!held.isOwn && !this.#isPaused) this.#later(announce, 0);
  }

  /** Births that follow each other at once count as one. */
  readonly flood = {
    allowanceOf: (topic: string) =>
      topic === this.#settings.statusTopic ? { key: topic, isUrgent: null } : null,
    onSurplus: () => undefined,
  };

  onMessage({ topic, payload, retain }: DiscoveryMessage): boolean {
    const { statusTopic, prefix } = this.#settings;
    if (topic === statusTopic) this.statusMessage(payload.toString(), retain);
    else if (topic.startsWith(`${prefix}/device/`)) this.foreignDocument(topic, payload.toString());
    else return false;
    return true;
  }

  /** Topics of an earlier run show which announcements it made. */
  onFound(topic: string, payload: { toString(): string }): void {
    if (!this.#core.isOneOfMany) return;
    const announcement = announcementBeside(topic, payload, this.#settings);
    if (announcement === null) return;
    const { code } = announcement;
    if (code === null) this.#at(announcement.topic);
    else this.#of(code);
  }

  /** A message on Home Assistant's status topic. A retained one does not say when it started. */
  statusMessage(payload: string, retained: boolean): void {
    if (retained || payload.trim() !== "online") return;
    this.#later(this.#birth, 1_000 + Math.round(this.#core.random() * 4_000));
  }

  /** A message on any `<prefix>/device/<id>/config`, retained or new. */
  foreignDocument(topic: string, payload: string): void {
    if (payload === "") {
      this.#onEmptied(topic);
      return;
    }
    const hash = digest(payload);
    const known = this.#devices.get(topic);
    // Most are echoes of our own and need not be parsed.
    if (known !== undefined && (hash === known.held.hash || hash === known.pendingHash)) {
      this.#scanned.add(topic);
      this.#deleted.delete(topic);
      this.#stand(known);
      return;
    }
    const found = foundDocument(payload, this.#settings.topics.base);
    if (found === null) return;
    const device = this.#at(topic, found.code);
    const { held } = device;
    const isScanned = this.#scanned.has(topic);
    this.#scanned.add(topic);
    if (isScanned) return;
    const components = new Map([...found.components, ...heldComponents(held)]);
    device.held = { ...held, hash: held.isOwn ? held.hash : hash, components };
    this.#removeLeftovers([device]);
    this.#later(this.#leftovers, leftoversEveryMs);
  }

  #onEmptied(topic: string): void {
    const device = this.#devices.get(topic);
    if (!device?.held.isOwn || this.#deleted.has(topic) || this.#wanter(device) === "nobody") return;
    this.#deleted.add(topic);
    this.#core.log.info(
      { topic },
      `Home Assistant's user deleted ${nameOf(device)}; it is announced again when Home Assistant or the bridge starts next`,
    );
  }

  readonly #birth = (): void => {
    this.#deleted.clear();
    this.#announceAll(0);
    for (const [topic, { code, components }] of this.#withdrawals.due(this.#core.clock.now())) {
      const device = this.#at(topic, code);
      device.withdrawn = components;
      this.#later(device.announce, 0);
    }
    // Becomes due after everything that is due now.
    this.#later(this.#onSettled, 0);
  };

  readonly #onSettled = async (): Promise<void> => {
    await this.#allAnswered();
    this.#later(this.#states, takenInMs);
  };

  readonly #allAnswered = async (): Promise<void> => void (await Promise.all(this.#onTheirWay.values()));

  readonly #states = (): void => {
    for (const listener of this.#birthListeners) listener();
  };

  readonly #leftovers = (): void => {
    this.#removeLeftovers();
    if ([...this.#devices.values()].some(hasLeftovers)) this.#later(this.#leftovers, leftoversEveryMs);
  };

  /**
   * Announces the bridge first, as the others refer to it, then what the broker lacks. A controller without any reading
   * waits `blankMs`, as its readings follow within moments.
   */
  #announceAll(blankMs: number): void {
    this.#force(this.#at(this.#bridgeTopic), 0);
    const standing: Device[] = [];
    for (const { info, sensors, statuses } of this.#core.mirror.store.controllers()) {
      const device = this.#of(info.code);
      const isBlank = sensors.size + statuses.size === 0 && !device.held.isOwn;
      if (device.isStanding && device.held.isOwn) standing.push(device);
      else this.#force(device, isBlank ? blankMs : 0);
    }
    for (const device of standing) this.#force(device, 0);
  }

  /** Announces a device, changed or not. */
  #force(device: Device, inMs: number): void {
    device.isForced = true;
    this.#later(device.announce, inMs);
  }

  #repeat(device: Device): void {
    if (!device.held.isOwn || this.#wanter(device) === "nobody") return;
    this.#force(device, 0);
    this.#later(device.takenIn, takenInMs + sameTopicGapMs);
  }

  /** Schedules the removal of leftovers that may be removed now; returns whether there are any. */
  #removeLeftovers(devices: Iterable<Device> = this.#devices.values()): boolean {
    const overdue = [...devices].filter(
      (one) => !this.#deleted.has(one.topic) && isOverdue(one, this.#wanter(one), this.#patience),
    );
    for (const { announce, held } of overdue) this.#later(announce, held.isOwn ? 0 : firstDelayMs);
    return overdue.length > 0;
  }

  /** Begins to announce a device as soon as few enough messages are without an answer; it does not wait for its own. */
  async #announce(device: Device, signal: AbortSignal): Promise<void> {
    while (this.#onTheirWay.size >= mostOnTheirWay)
      await new Promise<void>((resolve) => (this.#onAnswered = resolve));
    const isOnItsWay = this.#onTheirWay.has(device);
    const waitMs = (isOnItsWay ? this.#now() : device.publishedAt) + sameTopicGapMs - this.#now();
    // The link was lost meanwhile, and the next one announces everything.
    if (this.#isPaused) this.#later(device.announce, 0);
    else if (this.#deleted.has(device.topic)) this.#open(device, "held");
    else if (waitMs > 0) this.#later(device.announce, waitMs);
    else await this.#reconcile(device, signal).catch((error: unknown) => this.#onFailure(device, error));
  }

  #onFailure(device: Device, error: unknown): void {
    const name = nameOf(device);
    this.#core.log.error({ err: error, device: name }, `cannot announce ${name} to Home Assistant`);
    this.#open(device, "held");
  }

  /**
   * Publishes the next step of a device. Its state changes when the broker has the message; a change meanwhile asks for
   * another one.
   */
  async #reconcile(device: Device, signal: AbortSignal): Promise<void> {
    const { topic, code, withdrawn } = device;
    const { retained, clock } = this.#core;
    const wanter = this.#wanter(device);
    const step = nextStep(device, wanter, this.#patience, this.#settings);
    device.isForced = false;
    if (step === null) {
      this.#open(device, "held");
      return;
    }
    await this.#withdrawals.note(topic, code, step.gone, clock.now());
    device.pendingHash = step.hash;
    const begun = { step, wanter, withdrawn };
    const answered = this.#answered(device, begun, retained.announce(topic, step.text), signal);
    this.#onTheirWay.set(device, answered);
    await this.#space(signal);
  }

  async #answered(
    device: Device,
    begun: Begun,
    answer: Promise<Outcome>,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      const outcome = await answer;
      if (outcome === "taken") await this.#space(signal);
      this.#onAnswer(device, begun, outcome);
    } catch (error) {
      this.#onFailure(device, error);
    }
    device.pendingHash = null;
    this.#onTheirWay.delete(device);
    this.#onAnswered();
  }

  readonly #space = (signal: AbortSignal): Promise<void> =>
    this.#core.clock.wait(spacingMs, signal).catch(ignored);

  #onAnswer(device: Device, { step, wanter, withdrawn }: Begun, outcome: Outcome): void {
    if (outcome === "taken") {
      this.#refused.delete(device.topic);
      if (device.withdrawn === withdrawn) device.withdrawn = nothing;
      this.#onTaken(device, step, announcesTheSame(wanter, this.#wanter(device)));
    } else {
      if (outcome === "refused") this.#onRefused(device);
      this.#force(device, retryMs);
    }
  }

  /** States of a refused device wait no longer. */
  #onRefused(device: Device): void {
    const { topic } = device;
    this.#open(device, "held");
    const message = `the broker does not take the announcement of ${nameOf(device)}, which Home Assistant lacks until it does; see its access list and its packet limit`;
    if (!this.#refused.has(topic)) this.#core.log.warn({ topic }, message);
    this.#refused.add(topic);
  }

  /** The broker has the message; states of a newer controller wait for the next message. */
  #onTaken(device: Device, step: Step, isNewest: boolean): void {
    const { text, news, gone, isFollowed, leftOut } = step;
    const now = this.#now();
    const { topic } = device;
    const isBusy = now - device.publishedAt < busyMs;
    if (text === "" && !device.held.isOwn)
      this.#core.log.info({ topic }, "cleared an announcement that nothing stands for any more");
    if (gone.size > 0 || text === "") this.#removedAt = now;
    device.held = heldAfter(device.held, step);
    device.publishedAt = now;
    if (isNewest && news !== "changed") this.#open(device, "held");
    else this.#stand(device);
    if (isNewest && news !== "same") this.#later(device.takenIn, takenInMs);
    if (text !== "" && (news === "changed" || (news === "more" && isBusy)))
      this.#later(device.repeat, repeatAfterMs);
    if (isFollowed) this.#later(device.announce, sameTopicGapMs);
    const name = nameOf(device);
    if (leftOut > 0)
      this.#core.log.warn(
        { device: name, leftOut },
        `${name} has too many entities for one message: Home Assistant does not get the last ${leftOut}; ignore some of its sensors in the configuration`,
      );
  }

  /** Lets all states through: Home Assistant knows the device as it is, or never will. */
  #open(device: Device, which: "held" | "all"): void {
    device.gate = { type: this.#wanter(device) === "nobody" ? "shut" : "open" };
    // The time since an announcement on an earlier link says nothing about this link's broker.
    if (which === "held") device.isStanding = true;
    this.#publishStates(device.code, which === "all");
  }

  /** This link's broker has the announcement, so states that the gate lets through may follow. */
  #stand(device: Device): void {
    if (device.isStanding) return;
    device.isStanding = true;
    // Announcements that the broker lacks go first.
    if ((this.#due.dueAt(device.announce) ?? Infinity) <= this.#now())
      this.#due.set(device.announce, this.#now());
    this.#publishStates(device.code, false);
  }

  /**
   * Publishes a controller's withheld states, or all of them after a changed announcement; for the bridge, the topics
   * that its device shows.
   */
  #publishStates(code: string | null, isChanged: boolean): void {
    const { retained, groupsAndScenes } = this.#core;
    const { topics } = this.#settings;
    if (code !== null) retained.release(code, isChanged);
    else if (isChanged) {
      const { platform, info, health, alarms } = topics.bridge;
      const groups = Array.from(groupsAndScenes().groups.keys(), (id) => topics.group(id).json);
      retained.repeat([platform, info, health, alarms, ...groups]);
    }
  }

  #wanter({ topic, code }: Device): Wanter {
    if (topic === this.#bridgeTopic) return "bridge";
    const isOf = code !== null && discoveryTopic(this.#settings.prefix, code) === topic;
    return (isOf ? this.#core.mirror.store.get(code) : undefined) ?? "nobody";
  }

  #of(code: string): Device {
    const known = this.#ofCode.get(code);
    if (known !== undefined) return known;
    const device = this.#at(discoveryTopic(this.#settings.prefix, code), code);
    // A found message has the code only in its display form.
    device.code = code;
    this.#ofCode.set(code, device);
    return device;
  }

  #at(topic: string, code: string | null = null): Device {
    const known = this.#devices.get(topic);
    if (known !== undefined) return known;
    const device: Device = {
      topic,
      code,
      gate: { type: "shut" },
      isStanding: true,
      publishedAt: -Infinity,
      pendingHash: null,
      held: nothingHeld,
      withdrawn: nothing,
      isForced: false,
      announce: (signal) => this.#announce(device, signal),
      takenIn: () => this.#open(device, "all"),
      repeat: () => this.#repeat(device),
    };
    this.#devices.set(topic, device);
    this.#hear(topic);
    return device;
  }

  /** Subscribes to a topic, together with all that are named in this turn, before anything is published there. */
  #hear(topic: string): void {
    if (!this.#core.isOneOfMany) return;
    this.#unheard.add(topic);
    // Topics named without a link are subscribed at the next one.
    if (this.#isPaused) return;
    this.#unasked.add(topic);
    if (this.#unasked.size === 1) queueMicrotask(() => void this.#ask());
  }

  async #ask(): Promise<void> {
    const topics = [...this.#unasked];
    this.#unasked.clear();
    await this.#core.connection.listen(topics);
    for (const topic of topics) this.#unheard.delete(topic);
  }

  /** Schedules a task, unless it is already due earlier. */
  #later(task: Task, inMs: number): void {
    const at = this.#now() + inMs;
    if ((this.#due.dueAt(task) ?? Infinity) > at) this.#due.set(task, at);
    this.#rest.wake();
  }

  #now(): number {
    return this.#core.clock.monotonic();
  }
}

const nameOf = ({ code }: Device): string => (code === null ? "bridge" : `controller:${code}`);

/** The gate after a change of what is announced; `after` is undefined where the controller was removed for good. */
export function changedGate(gate: Gate, before: Controller | undefined, after: Controller | undefined): Gate {
  if (after === undefined) return gate.type === "shut" ? gate : { type: "leaving" };
  return gate.type === "open" && before !== undefined ? { type: "behind", known: before } : gate;
}

/**
 * What may be shown of the controller; null for nothing. `shown` is what the broker holds; it stays for whatever has to
 * wait.
 */
export function visible(gate: Gate, shown: Controller | undefined, after: Controller): Controller | null {
  if (gate.type !== "behind") return gate.type === "open" ? after : null;
  const { known } = gate;
  return {
    ...after,
    sensors: pass(known.sensors, shown?.sensors, after.sensors, sameSensor),
    statuses: pass(known.statuses, shown?.statuses, after.statuses, sameStatus),
    actuators: pass(known.actuators, shown?.actuators, after.actuators, sameActuator),
    parameters: pass(known.parameters, shown?.parameters, after.parameters, sameParameter),
  };
}

/**
 * Whether two states of a controller have the same announcement. It runs for every change of every controller, so it
 * compares references and a few fields, and builds nothing.
 */
export const announcesTheSame = (before: Wanter, after: Wanter): boolean =>
  before === after ||
  (typeof before === "object" &&
    typeof after === "object" &&
    before.info === after.info &&
    same(before.sensors, after.sensors, sameSensor) &&
    same(before.statuses, after.statuses, sameStatus) &&
    // The announcements of actuators follow from the settings alone.
    before.settings === after.settings &&
    same(before.parameters, after.parameters, sameParameter));

type Items<Item> = ReadonlyMap<string, Item>;
type Same<Item> = (one: Item, other: Item) => boolean;

function same<Item>(before: Items<Item>, after: Items<Item>, equal: Same<Item>): boolean {
  if (before === after) return true;
  if (before.size !== after.size) return false;
  for (const [id, old] of before) {
    const item = after.get(id);
    if (item === undefined || (item !== old && !equal(old, item))) return false;
  }
  return true;
}

function pass<T>(known: Items<T>, shown: Items<T> | undefined, after: Items<T>, equal: Same<T>): Items<T> {
  const items = new Map(shown);
  for (const [id, item] of after) {
    const announced = known.get(id);
    if (announced !== undefined && equal(announced, item)) items.set(id, item);
  }
  return items;
}

const sameSensor = (one: Sensor, other: Sensor): boolean => one.definition === other.definition;
const sameStatus = (one: RunningStatus, other: RunningStatus): boolean =>
  one.key === other.key && one.id === other.id && one.name === other.name && one.number === other.number;
const sameActuator = (one: Actuator, other: Actuator): boolean => one.settings === other.settings;

export function sameParameter(one: Parameter, other: Parameter): boolean {
  if (one.settings !== other.settings) return false;
  if (one.value === other.value || one.settings.writable === undefined) return true;
  const before = shownRange(one);
  const after = shownRange(other);
  return before?.min === after?.min && before?.max === after?.max;
}

/** Announces everything, each state after its announcement. */
export function announce(core: Core, configuration: Configured<typeof keys>, tell: Tell): Running {
  const { mirror, retained, outputs, commands } = core;
  const discovery = new DiscoveryOutput(core, settingsOf(core, configuration, tell));
  retained.gateBy(discovery.gate);
  outputs.announceBy(discovery);
  discovery.onBirth(() => retained.republish());
  discovery.onBirth(() => commands.outbox.repeatLate());
  mirror.poller.onTried((code) => discovery.onTried(code));
  retained.onFound([], { onFound: (...found) => discovery.onFound(...found) });
  return { part: discovery, reload: () => discovery.reload() };
}

function settingsOf(
  { topics, version, page, groupsAndScenes }: Core,
  configuration: Configured<typeof keys>,
  tell: Tell,
) {
  const { homeassistant, mqtt, platform } = configuration;
  return {
    topics,
    version,
    clientId: mqtt.client_id,
    pageUrl: page.url,
    prefix: homeassistant.discovery_prefix,
    statusTopic: homeassistant.status_topic,
    language: homeassistant.language,
    tell,
    sensorNames: homeassistant.sensor_names,
    hasBudget: platform.requests_per_minute > 0,
    get groupsAndScenes() {
      return groupsAndScenes();
    },
  };
}
