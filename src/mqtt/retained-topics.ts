import type { Controller } from "../greenhouse/model.js";
import { type Clock, Rest } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import { PublishError, type PublishErrorKind } from "./connection/publish.js";
import type { PublishOptions } from "./connection/settings.js";
import type { Extent } from "./leftovers.js";
import {
  type AnnouncementOutcome,
  type Input,
  nextWakeAt,
  nothingRetained,
  type Publish,
  type RetainedContext,
  type Shown,
  type StateGate,
  step,
  type TargetPlace,
} from "./retained.js";

/** A part that wants to know what the broker holds when a link begins. */
export interface Finder {
  /** A message retained before this link. */
  onFound?(topic: string, payload: Buffer): void;
  /** The scan ended and the link is still open; `isWhole`: everything was shown. */
  onLooked?(isWhole: boolean): void;
}

/** The link to the broker. */
interface Link {
  /** Resolves when the broker has it; rejects if it has not or that is unknown. */
  publish(topic: string, payload: string, options: PublishOptions): Promise<void>;
  /** Shows what the broker holds under these filters; resolves to whether that was all, also when the link is lost. */
  scan(filters: readonly string[], found: (topic: string, payload: Buffer) => void): Promise<boolean>;
}

const retainedWith = [
  { retain: true, qos: 0 },
  { retain: true, qos: 1 },
] as const;

/**
 * Keeps everything retained but `bridge/state`: parts say what they want there, and only this class makes the broker
 * hold it. retained.ts decides what is published when; this class does it.
 */
export class RetainedTopics {
  #context: RetainedContext;
  readonly #broker: Link;
  readonly #clock: Clock;
  readonly #log: Pick<Logger, "warn" | "debug">;
  readonly #kept = nothingRetained();
  readonly #finders: { readonly filters: readonly string[]; readonly finder: Finder }[] = [];
  readonly #announcing = new Map<string, (outcome: AnnouncementOutcome) => void>();
  readonly #rest: Rest;
  /** A new object for each link. */
  #link: object | null = null;
  #onGreeted: (() => void) | null = null;
  #isPutOff = false;
  /** Failed publishes that are not logged yet. */
  #failed = 0;

  constructor(context: RetainedContext, broker: Link, clock: Clock, log: Pick<Logger, "warn" | "debug">) {
    this.#context = context;
    this.#broker = broker;
    this.#clock = clock;
    this.#log = log;
    this.#rest = new Rest(clock);
    const onFound = (topic: string, payload: Buffer) => this.#step({ type: "found", topic, payload });
    this.onFound(context.topics.retained, { onFound });
  }

  /** Whether a leftover on the broker may have to be emptied; call `sweep` at intervals. */
  get hasLeftovers(): boolean {
    return this.#kept.leftovers.under.size + this.#kept.unwanted.size > 0;
  }

  /** Publishes a state only if the gate allows it; call before the first link. */
  gateBy(gate: StateGate): void {
    this.#context = { ...this.#context, gate };
  }

  /** Shows a part, once per link, what the broker holds under its filters; no other part may name them. */
  onFound(filters: readonly string[], finder: Finder): void {
    this.#finders.push({ filters, finder });
  }

  /** Sets what is to be retained on a topic of its own; an empty payload for nothing. */
  wanted(topic: string, payload: string, qos = this.#context.qos): void {
    this.#step({ type: "wanted", topic, payload, qos });
  }

  /** Publishes again what is wanted on these topics, for readers that may show something else. */
  repeat(topics: readonly string[]): void {
    this.#step({ type: "repeated", topics });
  }

  /** Marks a topic of an earlier run to be emptied when it may be. */
  unwanted(topic: string): void {
    this.#step({ type: "unwanted", topic });
  }

  /** Stops keeping the topic and leaves it as it is. */
  forget(topic: string): void {
    this.#step({ type: "forgotten", topic });
  }

  /** Resolves when the broker has the text, will never take it, or the link is gone; other failures are tried again. */
  announce(topic: string, text: string): Promise<AnnouncementOutcome> {
    const outcome = new Promise<AnnouncementOutcome>((resolve) => this.#announcing.set(topic, resolve));
    this.#step({ type: "announced", topic, payload: text });
    return outcome;
  }

  onChange(before: Controller | undefined, after: Controller | undefined): void {
    this.#step({ type: "changed", before, after });
  }

  /** The gate has opened for a controller; with `anew` everything it shows is published again. */
  release(code: string, anew: boolean): void {
    this.#step({ type: "released", code, anew });
  }

  /** Publishes one target's true state again, for a screen that shows the request instead. */
  showAgain(about: TargetPlace): void {
    this.#step({ type: "shown_again", about });
  }

  /**
   * Publishes a controller's changes before anything else that waits, as its results must not overtake them. What a
   * result reports passes a gate that holds back just this.
   */
  hasten(code: string, about?: Shown): void {
    this.#step({ type: "hastened", code, about });
  }

  republish(): void {
    this.#step({ type: "republish" });
  }

  /** Empties leftovers as far as allowed. */
  sweep(extent: Extent): void {
    this.#step({ type: "swept", extent });
  }

  /** The number of topics of earlier runs emptied since the last call. */
  takeCleared(): number {
    const { leftovers } = this.#kept;
    const { cleared } = leftovers;
    leftovers.cleared = 0;
    return cleared;
  }

  /**
   * A link is established, with nothing published yet. Resolves when `online` may be published, or to false if it is
   * gone.
   */
  async onLinked(): Promise<boolean> {
    const link = {};
    this.#link = link;
    void this.#look(link);
    const greeted = new Promise<void>((resolve) => (this.#onGreeted = resolve));
    this.#step({ type: "linked" });
    await greeted;
    return this.#link === link;
  }

  online(): void {
    this.#step({ type: "online" });
  }

  onUnlinked(): void {
    this.#link = null;
    this.#step({ type: "unlinked" });
  }

  /** Tries failed publishes again until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const clock = this.#clock;
    while (!signal.aborted) {
      await this.#rest.for(Math.max(0, nextWakeAt(this.#kept) - clock.monotonic()), signal);
      this.#step({ type: "woke", now: clock.monotonic() });
    }
    for (const settle of this.#announcing.values()) settle("link lost");
  }

  async #look(link: object): Promise<void> {
    const filters = [...new Set(this.#finders.flatMap((one) => one.filters))];
    const isWhole = await this.#broker.scan(filters, (topic, payload) => {
      for (const { finder } of this.#finders) finder.onFound?.(topic, payload);
    });
    if (this.#link === link) for (const { finder } of this.#finders) finder.onLooked?.(isWhole);
  }

  #step(input: Input): void {
    const { publish, outcomes, isPutOff } = step(this.#kept, input, this.#context);
    if (isPutOff && !this.#isPutOff) {
      // A burst of changes makes one message for each topic.
      this.#isPutOff = true;
      queueMicrotask(() => {
        this.#isPutOff = false;
        this.#step({ type: "woke", now: this.#clock.monotonic() });
      });
    }
    for (const one of publish) this.#publish(one);
    for (const { topic, outcome } of outcomes) {
      const settle = this.#announcing.get(topic);
      this.#announcing.delete(topic);
      settle?.(outcome);
    }
    if (this.#onGreeted === null || this.#kept.greetings.size > 0) return;
    this.#onGreeted();
    this.#onGreeted = null;
  }

  #publish(one: Publish): void {
    this.#broker.publish(one.topic, one.payload, retainedWith[one.qos]).then(
      () => this.#onEnd(one, null),
      (error: unknown) => {
        const kind = error instanceof PublishError ? error.kind : "unacknowledged";
        this.#onEnd(one, kind);
        if (kind !== "offline" && this.#link !== null) this.#notPublished(one.topic, error);
      },
    );
  }

  #onEnd(publish: Publish, error: PublishErrorKind | null): void {
    this.#step({ type: "ended", publish, error, now: this.#clock.monotonic() });
  }

  #notPublished(topic: string, error: unknown): void {
    this.#rest.wake();
    const isFirst = (this.#kept.failed.get(topic)?.attempts ?? 1) === 1;
    if (!isFirst) this.#log.debug({ topic, reason: String(error) }, "a publish failed again");
    else if (this.#failed++ === 0)
      // After all that fail together.
      queueMicrotask(() => {
        const facts = { count: this.#failed, topic, reason: String(error) };
        this.#failed = 0;
        this.#log.warn(facts, "publishes failed, this one among them; they are tried again");
      });
  }
}
