import type { Controller } from "../greenhouse/model.js";
import { PublishError } from "./connection/publish.js";
import { type LeftoverParts, LeftoverTopics } from "./leftover-topics.js";
import { controllerMessages, type Message, targetMessages } from "./projection.js";
import { placeOf, type TargetKind } from "./topics.js";

/** What may be shown before whatever reads it was told; who opens it calls `release`. */
export interface StateGate extends NonNullable<LeftoverParts["gate"]> {
  /** The controller as far as it may be shown; null where nothing of it may be yet. */
  visible(shown: Controller | undefined, after: Controller): Controller | null;
}

export interface RetainedParts extends LeftoverParts {
  readonly view: LeftoverParts["view"] & { controllers(): Iterable<Controller> };
  readonly gate?: StateGate | undefined;
}

interface TargetPlace {
  readonly code: string;
  readonly target: TargetKind;
  readonly targetId: string;
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

/**
 * Keeps the broker's retained topics equal to the mirror. What it holds is remembered as the view of each controller that was
 * published, and the difference to the present one goes out: a burst of changes or a lost link costs one snapshot and never a
 * backlog. What ends goes to the leftovers, which empty it.
 */
export class RetainedStates {
  readonly #parts: RetainedParts;
  readonly #shown = new Map<string, Controller>();
  readonly #dirty = new Set<string>();
  /** Controllers of which everything is to be published once more, changed or not. */
  readonly #anew = new Set<string>();
  /** Targets to be shown again when there is room. */
  readonly #again = new Map<string, TargetPlace>();
  readonly leftovers: LeftoverTopics;
  readonly #options: { readonly retain: true; readonly qos: 0 | 1 };
  #connected = false;
  #inFlight = 0;
  /** Publishes that failed and were not told of yet. */
  #failed = 0;
  #wake: (() => void) | null = null;

  constructor(parts: RetainedParts) {
    this.#parts = parts;
    this.leftovers = new LeftoverTopics(parts);
    this.#options = { retain: true, qos: parts.qos };
  }

  changed(before: Controller | undefined, after: Controller | undefined): void {
    const code = (after ?? before)?.info.code;
    if (code === undefined) return;
    if (before !== undefined && after === undefined) {
      this.#shown.delete(code);
      for (const { topic } of controllerMessages(this.#parts.topics, before, undefined))
        this.leftovers.ended(before.info.id, topic, code);
    }
    this.#dirty.add(code);
    this.#wake?.();
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
        if (payload === "") this.leftovers.ended(held.info.id, topic, code);
    this.#shown.clear();
    this.#again.clear();
    this.#anew.clear();
    for (const controller of this.#parts.view.controllers()) this.#dirty.add(controller.info.code);
    this.leftovers.clear("ended");
    this.#wake?.();
  }

  disconnected(): void {
    this.#connected = false;
  }

  /** Publishes one target's true state once more, for a screen that shows what was asked instead. */
  showAgain(about: TargetPlace): void {
    const { code, target, targetId } = about;
    const controller = this.#parts.view.get(code);
    if (!controller || !this.#connected) return;
    // In its turn, and once however often it is asked for meanwhile: those who ask too often must not fill the link.
    if (this.#inFlight >= maxInFlight) this.#again.set(JSON.stringify(about), about);
    else
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

  /** The gate has opened for a controller. With `again` everything it shows is published once more, in its turn. */
  release(code: string, again: boolean): void {
    if (again && this.#connected) this.#anew.add(code);
    this.#dirty.add(code);
    this.#wake?.();
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
    for (const [key, about] of this.#again) {
      this.#again.delete(key);
      this.showAgain(about);
      return true;
    }
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
      this.leftovers.clear("ended");
      return;
    }
    const held = this.#shown.get(code);
    const passed = gate ? gate.visible(held, present) : present;
    const after = urgent ? withShown(passed, present, urgent.about) : passed;
    if (after === null) return;
    this.#shown.set(code, after);
    const isAnew = this.#anew.delete(code);
    for (const message of controllerMessages(topics, held, after))
      if (!isAnew || message.payload === "") this.#publish(code, message);
    // An empty topic has nothing to tell twice.
    if (isAnew)
      for (const message of controllerMessages(topics, undefined, after))
        if (message.payload !== "") this.#publish(code, message);
    this.leftovers.clearUnder(after.info.id, "ended");
  }

  /** One `then` for both ends, as every message comes through here. */
  #publish(code: string, { topic, payload }: Message): void {
    this.#inFlight++;
    void this.#parts.publish(topic, payload, this.#options).then(this.#ended, (error: unknown) => {
      const place = payload === "" ? placeOf(this.#parts.topics.base, topic) : null;
      // What is over is in no later picture.
      if (place !== null) this.leftovers.ended(place.controllerId, topic, code);
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
