import type { Controller } from "../greenhouse/model.js";
import type { Logger } from "../runtime/log.js";
import { PublishError } from "./connection/publish.js";
import { controllerMessages, type Message, targetMessages } from "./projection.js";
import type { TargetKind, Topics } from "./topics.js";

export interface RetainedPublisher {
  /** Resolves when the broker has it; rejects when it has not or that cannot be known. */
  publish(
    topic: string,
    payload: string,
    options: { readonly retain: true; readonly qos: 0 | 1 },
  ): Promise<void>;
}

/** What a controller's readers were told of it, where somebody has to be told first. */
export interface StateGate {
  /** The controller as far as it may be shown; null where nothing of it may be yet. */
  visible(shown: Controller | undefined, after: Controller): Controller | null;
  /** Whether a removed controller's topics may be emptied. */
  mayClear(code: string): boolean;
}

export interface StateOutputPorts {
  readonly topics: Topics;
  readonly publisher: RetainedPublisher;
  readonly qos: 0 | 1;
  readonly view: { get(code: string): Controller | undefined; controllers(): Iterable<Controller> };
  /** Whoever opens it calls `release`. */
  readonly gate?: StateGate | undefined;
  readonly log: Logger;
}

/** Publishes waiting for their acknowledgement at a time; more would only queue inside the client. */
const maxInFlight = 512;

/**
 * Keeps the broker's retained topics equal to the mirror. It remembers which view of each controller the broker holds and
 * publishes the difference, so a burst of changes or a lost link costs one snapshot and never a backlog.
 */
export class StateOutput {
  readonly #ports: StateOutputPorts;
  readonly #shown = new Map<string, Controller>();
  readonly #removed = new Map<string, Controller>();
  readonly #dirty = new Set<string>();
  readonly #options: { readonly retain: true; readonly qos: 0 | 1 };
  #connected = false;
  #inFlight = 0;
  /** Publishes that failed and were not told of yet. */
  #failed = 0;
  #wake: (() => void) | null = null;

  constructor(ports: StateOutputPorts) {
    this.#ports = ports;
    this.#options = { retain: true, qos: ports.qos };
  }

  /** Topics whose publishing still waits, counted by controller. */
  get pending(): number {
    return this.#dirty.size;
  }

  changed(before: Controller | undefined, after: Controller | undefined): void {
    const code = (after ?? before)?.info.code;
    if (code === undefined) return;
    if (after === undefined && before !== undefined) this.#removed.set(code, before);
    this.#dirty.add(code);
    this.#wake?.();
  }

  /** The broker may have forgotten or kept anything: everything is published once. */
  connected(): void {
    this.#connected = true;
    this.#shown.clear();
    for (const controller of this.#ports.view.controllers()) this.#dirty.add(controller.info.code);
    for (const code of this.#removed.keys()) this.#dirty.add(code);
    this.#wake?.();
  }

  /** Publishes one target's true state once more, for whoever shows what was asked instead. */
  showAgain({ code, target, targetId }: { code: string; target: TargetKind; targetId: string }): void {
    const controller = this.#ports.view.get(code);
    if (!controller || !this.#connected || this.#inFlight >= maxInFlight) return;
    for (const message of targetMessages(this.#ports.topics, controller, target, targetId))
      void this.#publish(code, message);
  }

  /** Publishes what changed of one controller before anything else that waits: its results must not overtake it. */
  hasten(code: string): void {
    if (this.#connected && this.#dirty.delete(code)) this.#publishController(code, true);
  }

  /** The gate has opened for a controller. With `again` everything it shows is published once more. */
  release(code: string, again: boolean): void {
    const shown = this.#shown.get(code);
    if (!again || !this.#connected || shown === undefined) {
      this.#dirty.add(code);
      this.#wake?.();
      return;
    }
    this.#publishController(code);
    for (const message of controllerMessages(this.#ports.topics, undefined, this.#shown.get(code)))
      // An empty topic tells nobody anything twice.
      if (message.payload !== "") void this.#publish(code, message);
  }

  disconnected(): void {
    this.#connected = false;
  }

  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener("abort", () => this.#wake?.(), { once: true });
    while (!signal.aborted) {
      if (!this.#publishSome()) await this.#woken(signal);
    }
  }

  /** Whether everything known has been handed to the broker and acknowledged. */
  get isIdle(): boolean {
    return this.#dirty.size === 0 && this.#inFlight === 0;
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

  /** `isUrgent` passes a gate that is closed for the whole controller. */
  #publishController(code: string, isUrgent = false): void {
    const { topics, view, gate } = this.#ports;
    const present = view.get(code);
    const held = this.#shown.get(code);
    const after = present && (gate?.visible(held, present) ?? (gate && !isUrgent ? undefined : present));
    if ((present && !after) || gate?.mayClear(code) === false) return;
    const removed = this.#removed.get(code);
    const messages = controllerMessages(topics, removed === undefined ? held : undefined, after);
    if (removed !== undefined) this.#clear(code, removed, new Set(messages.map(({ topic }) => topic)));
    if (after) this.#shown.set(code, after);
    else this.#shown.delete(code);
    for (const message of messages) void this.#publish(code, message);
  }

  /** Clears a removed controller's topics but those its successor has; remembered until the broker has taken all. */
  #clear(code: string, removed: Controller, kept: ReadonlySet<string>): void {
    const cleared = controllerMessages(this.#ports.topics, removed, undefined).filter(
      ({ topic }) => !kept.has(topic),
    );
    void Promise.all(cleared.map((message) => this.#publish(code, message))).then((taken) => {
      if (taken.every(Boolean) && this.#removed.get(code) === removed) this.#removed.delete(code);
    });
  }

  /** Whether the broker took it. One `then` for both ends, as every message comes through here. */
  #publish(code: string, { topic, payload }: Message): Promise<boolean> {
    this.#inFlight++;
    return this.#ports.publisher.publish(topic, payload, this.#options).then(
      () => this.#ended(true),
      (error: unknown) => {
        this.#notPublished(code, topic, error);
        return this.#ended(false);
      },
    );
  }

  #ended(taken: boolean): boolean {
    this.#inFlight--;
    if (this.#inFlight < maxInFlight / 2) this.#wake?.();
    return taken;
  }

  // What the broker holds of this controller is no longer known, so all of it goes out with its next change: a message
  // the broker never accepts must not be repeated without end.
  #notPublished(code: string, topic: string, error: unknown): void {
    // The next link publishes everything anyway, and that this one is gone is told once, by whoever keeps it.
    if (!this.#connected || (error instanceof PublishError && error.kind === "offline")) return;
    this.#shown.delete(code);
    this.#failed += 1;
    if (this.#failed > 1) return;
    // After all that fail together.
    queueMicrotask(() => {
      this.#ports.log.warn(
        { count: this.#failed, topic, reason: String(error) },
        "publishes failed, this one among them; their controllers are published again with their next change",
      );
      this.#failed = 0;
    });
  }
}
