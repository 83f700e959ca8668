import type { Actuator, Controller } from "../greenhouse/model.js";
import type { Logger } from "../runtime/log.js";
import { PublishError } from "./connection/publish.js";
import { controllerMessages, type Message, targetMessages } from "./projection.js";
import { type Place, placeOf, type TargetKind, type Topics } from "./topics.js";

/** What may be shown before whatever reads it was told; who opens it calls `release`. */
export interface StateGate {
  /** The controller as far as it may be shown; null where nothing of it may be yet. */
  visible(shown: Controller | undefined, after: Controller): Controller | null;
  /** Whether a removed controller's topics may be emptied; null for those that an earlier run left. */
  mayClear(code: string | null): boolean;
}

export interface RetainedParts {
  readonly topics: Topics;
  readonly qos: 0 | 1;
  /** Resolves when the broker has it; rejects when it has not or that cannot be known. */
  readonly publish: (
    topic: string,
    payload: string,
    options: { readonly retain: true; readonly qos: 0 | 1 },
  ) => Promise<void>;
  readonly view: {
    get(code: string): Controller | undefined;
    byId(id: string): Controller | undefined;
    controllers(): Iterable<Controller>;
  };
  readonly gate?: StateGate | undefined;
  /** Whether the configuration says that a controller, by topic id, is not to be mirrored. */
  readonly isIgnored: (controllerId: string) => boolean;
  /** Whether a successful list that was not empty has been seen since start. */
  readonly isAccountKnown: () => boolean;
  /** Whether the platform has had the time since then to show everything again. */
  readonly platformHadTime: () => boolean;
  readonly log: Pick<Logger, "warn" | "debug">;
}

/** A topic on the broker that nothing wants, or nothing yet. */
interface Unwanted {
  /** Of a controller that was removed; null for what an earlier run left. */
  readonly code: string | null;
  /** What it has to say meanwhile and the broker has not taken. */
  readonly owed: string | null;
}

/** What a result tells of. */
export interface Shown {
  readonly target: TargetKind;
  readonly targetId: string;
}

/** What may be shown, and beside it what a result tells of, which is not to be learnt later than the result. */
function withShown(visible: Controller | null, present: Controller, about: Shown | undefined): Controller {
  if (visible === null || visible === present) return present;
  if (about?.target === "actuator")
    return { ...visible, actuators: withItem(visible.actuators, present.actuators, about.targetId) };
  if (about?.target === "parameter")
    return { ...visible, parameters: withItem(visible.parameters, present.parameters, about.targetId) };
  return visible;
}

function withItem<Item>(visible: ReadonlyMap<string, Item>, present: ReadonlyMap<string, Item>, id: string) {
  const item = present.get(id);
  return item === undefined ? visible : new Map(visible).set(id, item);
}

/** Publishes waiting for their acknowledgement at a time; more would only queue inside the client. */
const maxInFlight = 512;
const mostFound = 500_000;

/**
 * Keeps the broker's retained topics equal to the mirror. What it holds is remembered as the view of each controller that was
 * published, and the difference to the present one goes out: a burst of changes or a lost link costs one snapshot and never a
 * backlog. Beside that it holds topics that nothing wants: of removed controllers, which are cleared, and of an earlier run,
 * which are marked stale at once and cleared when it is certain that nothing stands for them any more.
 */
export class RetainedStates {
  readonly #parts: RetainedParts;
  readonly #shown = new Map<string, Controller>();
  readonly #dirty = new Set<string>();
  /** By the controller's topic id and the topic. */
  readonly #unwanted = new Map<string, Map<string, Unwanted>>();
  /** Topic ids of an earlier run, of controllers that have another one now. */
  readonly #formerIds = new Set<string>();
  readonly #options: { readonly retain: true; readonly qos: 0 | 1 };
  #found = 0;
  #connected = false;
  #inFlight = 0;
  /** Publishes that failed and were not told of yet. */
  #failed = 0;
  #wake: (() => void) | null = null;

  constructor(parts: RetainedParts) {
    this.#parts = parts;
    this.#options = { retain: true, qos: parts.qos };
  }

  /** Whether there is something that `sweep` may clear by and by. */
  get holdsUnwanted(): boolean {
    return this.#unwanted.size > 0;
  }

  changed(before: Controller | undefined, after: Controller | undefined): void {
    const code = (after ?? before)?.info.code;
    if (code === undefined) return;
    if (before !== undefined && after === undefined) {
      this.#shown.delete(code);
      for (const { topic } of controllerMessages(this.#parts.topics, before, undefined))
        this.#disown(before.info.id, topic, { code, owed: null });
    }
    this.#dirty.add(code);
    this.#wake?.();
  }

  /** A retained message that was found under the base topic. */
  found(topic: string, payload: string): void {
    const place = placeOf(this.#parts.topics.base, topic);
    if (payload === "" || place === null || isShown(place, this.#parts.view.byId(place.controllerId))) return;
    if (this.#unwanted.get(place.controllerId)?.has(topic) || this.#found >= mostFound) return;
    this.#found += 1;
    const code = place.leaf === "info" ? codeIn(payload) : null;
    if (code !== null && this.#parts.view.get(code) !== undefined) this.#formerIds.add(place.controllerId);
    this.#disown(place.controllerId, topic, leftBehind);
    const stale = staleForm(place, payload);
    if (stale !== null && stale !== payload) this.#publishUnwanted(place.controllerId, topic, stale, null);
  }

  /** The broker may have forgotten or kept anything: everything is published once, and what ended meanwhile emptied. */
  connected(): void {
    this.#connected = true;
    for (const [code, held] of this.#shown)
      for (const { topic, payload } of controllerMessages(
        this.#parts.topics,
        held,
        this.#parts.view.get(code),
      ))
        if (payload === "") this.#disown(held.info.id, topic, { code, owed: null });
    this.#shown.clear();
    for (const controller of this.#parts.view.controllers()) this.#dirty.add(controller.info.code);
    for (const id of this.#unwanted.keys()) this.#clear(id, "removed");
    this.#wake?.();
  }

  disconnected(): void {
    this.#connected = false;
  }

  /** Publishes one target's true state once more, for a screen that shows what was asked instead. */
  showAgain({ code, target, targetId }: { code: string; target: TargetKind; targetId: string }): void {
    const controller = this.#parts.view.get(code);
    if (!controller || !this.#connected) return;
    if (this.#inFlight >= maxInFlight) {
      // All of it, in its turn.
      this.#shown.delete(code);
      this.#dirty.add(code);
      return;
    }
    for (const message of targetMessages(this.#parts.topics, controller, target, targetId))
      this.#publish(code, message);
  }

  /**
   * Publishes what changed of one controller before anything else that waits: its results must not overtake it. What a
   * result tells of passes a gate that keeps just this back.
   */
  hasten(code: string, about?: Shown): void {
    if (!this.#connected) return;
    this.#dirty.delete(code);
    this.#publishController(code, { about });
  }

  /** The gate has opened for a controller. With `again` everything it shows is published once more. */
  release(code: string, again: boolean): void {
    if (!again || !this.#connected || !this.#shown.has(code)) {
      this.#dirty.add(code);
      this.#wake?.();
      return;
    }
    this.#publishController(code);
    for (const message of controllerMessages(this.#parts.topics, undefined, this.#shown.get(code)))
      // An empty topic has nothing to tell twice.
      if (message.payload !== "") this.#publish(code, message);
  }

  /** Clears what is certain to be unwanted; call it now and then. Returns how many topics of an earlier run were cleared. */
  sweep(): number {
    if (this.#unwanted.size === 0) return 0;
    const { isAccountKnown, platformHadTime, gate } = this.#parts;
    const mayClear = isAccountKnown() && (gate?.mayClear(null) ?? true);
    const which = !mayClear ? "removed" : platformHadTime() ? "all" : "settled";
    let cleared = 0;
    for (const id of this.#unwanted.keys()) cleared += this.#clear(id, which);
    return cleared;
  }

  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener("abort", () => this.#wake?.(), { once: true });
    while (!signal.aborted) {
      if (!this.#publishSome()) await this.#woken(signal);
    }
  }

  #woken(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = null;
        resolve();
      };
      if (signal.aborted) this.#wake();
    });
  }

  /** Publishes controller by controller until the link is full or nothing is left; false when it has to wait. */
  #publishSome(): boolean {
    if (!this.#connected || this.#inFlight >= maxInFlight) return false;
    for (const code of this.#dirty) {
      this.#dirty.delete(code);
      this.#publishController(code);
      return true;
    }
    return false;
  }

  /** `urgent` passes a gate that is closed for the whole controller, or for what it is about. */
  #publishController(code: string, urgent?: { readonly about: Shown | undefined }): void {
    const { topics, view, gate } = this.#parts;
    if (gate?.mayClear(code) === false) return;
    const present = view.get(code);
    if (present === undefined) {
      for (const id of this.#unwanted.keys()) this.#clear(id, "removed");
      return;
    }
    const held = this.#shown.get(code);
    const passed = gate ? gate.visible(held, present) : present;
    const after = urgent ? withShown(passed, present, urgent.about) : passed;
    if (after === null) return;
    this.#shown.set(code, after);
    for (const message of controllerMessages(topics, held, after)) this.#publish(code, message);
    this.#clear(after.info.id, "removed");
  }

  #disown(id: string, topic: string, unwanted: Unwanted): void {
    const topics = this.#unwanted.get(id) ?? new Map<string, Unwanted>();
    this.#unwanted.set(id, topics.set(topic, unwanted));
  }

  /** Clears what nothing wants under an id: of removed controllers, besides what the configuration settles, or all of it. */
  #clear(id: string, which: "removed" | "settled" | "all"): number {
    const { view, gate, isIgnored, topics } = this.#parts;
    const unwanted = this.#unwanted.get(id);
    const controller = view.byId(id);
    let cleared = 0;
    for (const [topic, { code, owed }] of unwanted ?? []) {
      const place = placeOf(topics.base, topic);
      if (place === null || isShown(place, controller)) {
        unwanted?.delete(topic);
        continue;
      }
      if (owed !== null) this.#publishUnwanted(id, topic, owed, code);
      const mayGo =
        code === null
          ? which === "all" ||
            (which === "settled" &&
              (isIgnored(id) || this.#formerIds.has(id) || isSettled(place, controller)))
          : (gate?.mayClear(code) ?? true);
      if (!mayGo) continue;
      this.#publishUnwanted(id, topic, "", code);
      if (code === null) cleared++;
    }
    if (unwanted?.size === 0) this.#unwanted.delete(id);
    return cleared;
  }

  /** Empties the topic, or marks it until that may be; what the broker does not take is said again with the next sweep. */
  #publishUnwanted(id: string, topic: string, payload: string, code: string | null): void {
    const { publish, log } = this.#parts;
    if (payload === "") this.#unwanted.get(id)?.delete(topic);
    else this.#disown(id, topic, { code, owed: null });
    publish(topic, payload, this.#options).catch((error: unknown) => {
      this.#disown(id, topic, { code, owed: payload === "" ? null : payload });
      log.debug({ topic, reason: String(error) }, "could not mark or clear a topic that nothing stands for");
    });
  }

  /** One `then` for both ends, as every message comes through here. */
  #publish(code: string, { topic, payload }: Message): void {
    this.#inFlight++;
    void this.#parts.publish(topic, payload, this.#options).then(this.#ended, (error: unknown) => {
      const place = payload === "" ? placeOf(this.#parts.topics.base, topic) : null;
      // What is over is in no later picture.
      if (place !== null) this.#disown(place.controllerId, topic, { code, owed: null });
      this.#notPublished(code, topic, error);
      this.#ended();
    });
  }

  readonly #ended = (): void => {
    this.#inFlight--;
    if (this.#inFlight < maxInFlight / 2) this.#wake?.();
  };

  // What the broker holds of this controller is no longer known, so all of it goes out with its next change: a message
  // the broker never accepts must not be repeated without end.
  #notPublished(code: string, topic: string, error: unknown): void {
    // The next link publishes everything anyway, and that this one is gone is told once, by the part that keeps it.
    if (!this.#connected || (error instanceof PublishError && error.kind === "offline")) return;
    this.#shown.delete(code);
    this.#failed += 1;
    if (this.#failed > 1) return;
    // After all that fail together.
    queueMicrotask(() => {
      this.#parts.log.warn(
        { count: this.#failed, topic, reason: String(error) },
        "publishes failed, this one among them; their controllers are published again with their next change",
      );
      this.#failed = 0;
    });
  }
}

const leftBehind: Unwanted = { code: null, owed: null };

/** Whether this run has something to show there, so that its topics are kept by what publishes them. */
function isShown({ folder, id, leaf }: Place, controller: Controller | undefined): boolean {
  switch (folder) {
    case "sensor":
      return controller?.sensors.has(id) ?? false;
    case "status":
      return controller?.statuses.has(id) ?? false;
    case "actuator":
      return isActuatorShown(leaf, controller?.actuators.get(id));
    case "parameter":
      return (controller?.parameters.get(id)?.register ?? null) !== null;
    case "address":
      return controller?.addresses.has(id) ?? false;
    default:
      return controller !== undefined;
  }
}

function isActuatorShown(leaf: string, actuator: Actuator | undefined): boolean {
  if (leaf === "allowed") return actuator !== undefined;
  if (leaf === "lock" || leaf === "lease") return (actuator?.restrictions?.[leaf] ?? null) !== null;
  return (actuator?.readAt ?? null) !== null;
}

/** The configuration alone decides: it has no such actuator or parameter any more. */
function isSettled({ folder, id, leaf }: Place, controller: Controller | undefined): boolean {
  if (!controller) return false;
  // What an earlier run left is in force no more, or stands there again.
  if (leaf === "lock" || leaf === "lease") return true;
  if (folder === "actuator") return !controller.actuators.has(id);
  // Nothing follows a raw address of an earlier run, so what its topic says is of unknown age.
  return (folder === "parameter" && !controller.parameters.has(id)) || folder === "address";
}

/** The payload that says "not read since the start"; null where nothing in the topic says so. */
function staleForm({ folder, leaf }: Place, payload: string): string | null {
  if (folder === "sensor" && leaf === "quality") return "stale";
  if (leaf === "availability") return "unknown";
  const parsed = leaf === "json" ? objectIn(payload) : null;
  if (parsed === null || !("quality" in parsed)) return null;
  return parsed.quality === "stale" ? payload : JSON.stringify({ ...parsed, quality: "stale" });
}

/** The device code in the payload of an `info` topic. */
function codeIn(payload: string): string | null {
  const parsed = objectIn(payload);
  return parsed !== null && "code" in parsed && typeof parsed.code === "string" ? parsed.code : null;
}

function objectIn(payload: string): object | null {
  try {
    const parsed: unknown = JSON.parse(payload);
    return typeof parsed === "object" ? parsed : null;
  } catch {
    return null;
  }
}
