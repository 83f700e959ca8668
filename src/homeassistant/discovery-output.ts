import type { Core, Running } from "../feature/core.js";
import type { Configured } from "../feature/feature.js";
import type { Actuator, Controller, Parameter, RunningStatus, Sensor } from "../greenhouse/model.js";
import { Rest } from "../runtime/clock.js";
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
  /** Where Home Assistant says that it started. */
  readonly statusTopic: string;
}

interface DiscoveryMessage {
  readonly topic: string;
  readonly payload: Buffer;
  readonly retain: boolean;
}

const spacingMs = 5;
const pauseAfterRefusalMs = 1_000;
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

/*
 * No state is shown before its announcement: Home Assistant would read it by the one before. And no topic is emptied before the
 * component that reads it is removed.
 */

/** Which states of a controller may be published. */
export type Gate =
  /** None, as it was not announced yet; or all of them. */
  | { readonly type: "shut" | "open" }
  /** What is as it was `known` when it changed: the newer announcement waits. */
  | { readonly type: "behind"; readonly known: Controller }
  /** None, and none may be emptied: it was removed for good, and its announcement still stands. */
  | { readonly type: "leaving" };

type Task = (signal: AbortSignal) => void | Promise<void>;

/** What is known about one discovery topic, and what falls due for it. */
interface Device extends Known {
  gate: Gate;
  /** The broker has its announcement, as far as that is known of this link; nothing of it is shown before. */
  isStanding: boolean;
  publishedAt: number;
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
  /** What may be published before and while an announcement changes. */
  readonly gate = {
    visible: (shown: Controller | undefined, after: Controller): Controller | null => {
      const { gate, isStanding } = this.#of(after.info.code);
      return isStanding ? visible(gate, shown, after) : null;
    },
    mayClear: (code: string): boolean => this.#of(code).gate.type !== "leaving",
  };
  readonly #core: Core;
  readonly #patience: Patience;
  readonly #settings: DiscoverySettings;
  readonly #bridgeTopic: string;
  readonly #devices = new Map<string, Device>();
  /** By code those of controllers. */
  readonly #ofCode = new Map<string, Device>();
  readonly #withdrawals: Withdrawals;
  readonly #birthListeners: (() => void)[] = [];
  readonly #due = new Schedule<Task>();
  /** Topics of which was told that the broker takes no announcement there. */
  readonly #refused = new Set<string>();
  /** Topics that a user emptied by deleting the device in Home Assistant, until that starts next. */
  readonly #deleted = new Set<string>();
  /** Topics of which the broker's copy was looked at since the link came up. */
  readonly #scanned = new Set<string>();
  /** Topics of which the broker's copy has not come yet, where only those are heard that are asked for. */
  readonly #unheard = new Set<string>();
  /** Those of them that are to be asked for next. */
  readonly #unasked = new Set<string>();
  /** Of the text that the broker has not acknowledged yet: its echo may come before that. */
  #pendingHash: string | null = null;
  #isPaused = true;
  readonly #rest: Rest;
  #removedAt = -Infinity;

  constructor(core: Core, settings: DiscoverySettings) {
    const { inventory } = core.mirror;
    this.#core = core;
    this.#settings = settings;
    this.#patience = {
      platformHadTime: () => inventory.hadTime,
      mayForget: (code) => code === null || inventory.mayForget(code),
    };
    this.#bridgeTopic = bridgeDiscoveryTopic(settings.prefix, settings.clientId);
    this.#rest = new Rest(core.clock);
    // What is announced of one device waits for no disk, and of the others still less.
    const memory = withDeadline(core.file("homeassistant-withdrawn.json"), core.clock);
    this.#withdrawals = new Withdrawals(memory, core.log);
  }

  /** Calls back when Home Assistant has started and had the time to take in the announcements: it is to be shown states now. */
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
  }

  /** The broker link is up, for the first time or again: the broker may have forgotten or kept anything. */
  onConnected(): void {
    this.#isPaused = false;
    this.#scanned.clear();
    for (const topic of this.#devices.keys()) this.#hear(topic);
    this.#announceAll(blankDelayMs);
    for (const device of this.#devices.values())
      if (device.held.isOwn && this.#wanter(device) === "nobody") this.#later(device.announce, 0);
    this.#later(this.#leftovers, leftoversEveryMs);
  }

  /** The broker may come back with nothing of what it held. What it refuses is waited for by nobody. */
  onDisconnected(): void {
    this.#isPaused = true;
    for (const device of this.#devices.values()) device.isStanding = this.#refused.has(device.topic);
  }

  /** Topics of an earlier run: every component that may be removed has to be, and Home Assistant had time to take that in. */
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
    // The next announcement opens the gate, and not the one before it.
    this.#due.delete(device.takenIn);
    this.#later(device.announce, device.held.isOwn ? coalesceMs : firstDelayMs);
  }

  /** The configuration was read again: there may be other groups and scenes. */
  reload(): void {
    if (!this.#isPaused) this.#later(this.#at(this.#bridgeTopic).announce, 0);
  }

  /** Everything of a controller has been asked for once: its first message need not wait for more. */
  onTried(code: string): void {
    const { announce, held } = this.#of(code);
    if (!held.isOwn && !this.#isPaused) this.#later(announce, 0);
  }

  /** Births that follow each other at once are one. */
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

  /** What an earlier run left on a topic of ours tells which announcements it made. */
  onFound(topic: string, payload: { toString(): string }): void {
    if (!this.#core.isOneOfMany) return;
    const announcement = announcementBeside(topic, payload, this.#settings);
    if (announcement === null) return;
    const { code } = announcement;
    if (code === null) this.#at(announcement.topic);
    else this.#of(code);
  }

  /** A message on Home Assistant's status topic. A retained one does not tell when it started. */
  statusMessage(payload: string, retained: boolean): void {
    if (retained || payload.trim() !== "online") return;
    this.#later(this.#birth, 1_000 + Math.round(this.#core.random() * 4_000));
  }

  /** A message on any `<prefix>/device/<id>/config`, retained from before or published now. */
  foreignDocument(topic: string, payload: string): void {
    if (payload === "") {
      this.#onEmptied(topic);
      return;
    }
    const hash = digest(payload);
    const known = this.#devices.get(topic);
    // Most are our own that come back, and need not be read.
    if (known !== undefined && (hash === known.held.hash || hash === this.#pendingHash)) {
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
    // Comes up behind everything that is due now.
    this.#later(this.#onSettled, 0);
  };

  readonly #onSettled = (): void => this.#later(this.#states, takenInMs);

  readonly #states = (): void => {
    for (const listener of this.#birthListeners) listener();
  };

  readonly #leftovers = (): void => {
    this.#removeLeftovers();
    if ([...this.#devices.values()].some(hasLeftovers)) this.#later(this.#leftovers, leftoversEveryMs);
  };

  /**
   * The bridge first, since the others refer to it, then what the broker lacks; a controller of which nothing was read yet has more to
   * announce within moments.
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

  /** Lets go what an earlier run announced, where that may be removed now; whether there was any. */
  #removeLeftovers(devices: Iterable<Device> = this.#devices.values()): boolean {
    const overdue = [...devices].filter(
      (one) => !this.#deleted.has(one.topic) && isOverdue(one, this.#wanter(one), this.#patience),
    );
    for (const { announce, held } of overdue) this.#later(announce, held.isOwn ? 0 : firstDelayMs);
    return overdue.length > 0;
  }

  async #announce(device: Device, signal: AbortSignal): Promise<void> {
    const waitMs = device.publishedAt + sameTopicGapMs - this.#now();
    if (this.#deleted.has(device.topic)) this.#open(device, "held");
    else if (waitMs > 0) this.#later(device.announce, waitMs);
    else
      await this.#reconcile(device, signal).catch((error: unknown) => {
        const name = nameOf(device);
        this.#core.log.error({ err: error, device: name }, `cannot announce ${name} to Home Assistant`);
        this.#open(device, "held");
      });
  }

  /** The device changes when the broker has the message; what happens while that is on its way may ask for another one. */
  async #reconcile(device: Device, signal: AbortSignal): Promise<void> {
    const { withdrawn } = device;
    const wanter = this.#wanter(device);
    const step = nextStep(device, wanter, this.#patience, this.#settings);
    device.isForced = false;
    if (step === null) this.#open(device, "held");
    else if (!(await this.#publish(device, step, signal))) this.#force(device, retryMs);
    else {
      if (device.withdrawn === withdrawn) device.withdrawn = nothing;
      this.#onTaken(device, step, announcesTheSame(wanter, this.#wanter(device)));
    }
  }

  /** The broker has it; the states of a newer view wait for the message that follows. */
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

  /** Home Assistant knows the device as it is, or never will. */
  #open(device: Device, which: "held" | "all"): void {
    device.gate = { type: this.#wanter(device) === "nobody" ? "shut" : "open" };
    // That it had the time to take in one of an earlier link says nothing of this one.
    if (which === "held") device.isStanding = true;
    this.#publishStates(device.code, which === "all");
  }

  /** The broker of this link has the announcement: what its gate lets through may follow. */
  #stand(device: Device): void {
    if (device.isStanding) return;
    device.isStanding = true;
    // Those that it lacks go first.
    if ((this.#due.dueAt(device.announce) ?? Infinity) <= this.#now())
      this.#due.set(device.announce, this.#now());
    this.#publishStates(device.code, false);
  }

  /**
   * Of a controller what was held back, or, after an announcement that changed something, every state of it again; of the bridge what its
   * device shows.
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

  /** Whether the broker took it. Of a device that it refuses nothing waits for Home Assistant. */
  async #publish(device: Device, { text, hash, gone }: Step, signal: AbortSignal): Promise<boolean> {
    const { retained, clock, log } = this.#core;
    const { topic, code } = device;
    await this.#withdrawals.note(topic, code, gone, clock.now());
    this.#pendingHash = hash;
    const outcome = await retained.announce(topic, text);
    if (outcome === "taken") {
      this.#refused.delete(topic);
      await clock.wait(spacingMs);
      return true;
    }
    this.#pendingHash = null;
    if (outcome === "link lost") return false;
    this.#open(device, "held");
    const message = `the broker does not take the announcement of ${nameOf(device)}, which Home Assistant lacks until it does; see its access list and its packet limit`;
    if (!this.#refused.has(topic)) log.warn({ topic }, message);
    this.#refused.add(topic);
    // It would refuse the others too.
    await this.#rest.for(pauseAfterRefusalMs, signal);
    return false;
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
    // A message found there names it only as people may see it.
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

  /** Asks for a topic together with all that are named in this turn, and before anything is published there. */
  #hear(topic: string): void {
    if (!this.#core.isOneOfMany) return;
    this.#unheard.add(topic);
    // Of what is named without a link is asked at the next one.
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

  /** Makes a task due; one that is already due earlier stays so. */
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

/** After a change of what is announced; `after` is undefined where the controller was removed for good. */
export function changedGate(gate: Gate, before: Controller | undefined, after: Controller | undefined): Gate {
  if (after === undefined) return gate.type === "shut" ? gate : { type: "leaving" };
  return gate.type === "open" && before !== undefined ? { type: "behind", known: before } : gate;
}

/** The controller as far as it may be shown; null where nothing of it may be yet. `shown` is what the broker holds, and keeps of the rest. */
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
 * Whether what is announced cannot differ between two views. Called for every change of every controller, so it compares references
 * and a handful of fields and builds nothing.
 */
export const announcesTheSame = (before: Wanter, after: Wanter): boolean =>
  before === after ||
  (typeof before === "object" &&
    typeof after === "object" &&
    before.info === after.info &&
    same(before.sensors, after.sensors, sameSensor) &&
    same(before.statuses, after.statuses, sameStatus) &&
    // What its actuators are follows from these alone.
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

/** Announces everything, each state behind its announcement. */
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
