import type { BrokerLimits } from "./settings.js";

/** Counts the retained messages of everybody but the bridge, which share one room. */
export class RetainedShare {
  readonly #limits: Pick<BrokerLimits, "retainedTopics" | "retainedBytes">;
  readonly #sizes = new Map<string, number>();
  #bytes = 0;

  constructor(limits: Pick<BrokerLimits, "retainedTopics" | "retainedBytes">) {
    this.#limits = limits;
  }

  /** False where it does not fit; then what the topic held stays counted. */
  take(topic: string, bytes: number): boolean {
    const before = this.#sizes.get(topic);
    const total = this.#bytes - (before ?? 0) + bytes;
    if (before === undefined && this.#sizes.size >= this.#limits.retainedTopics) return false;
    if (total > this.#limits.retainedBytes) return false;
    this.#sizes.set(topic, bytes);
    this.#bytes = total;
    return true;
  }

  /** The topic was cleared, or the bridge wrote over it. */
  release(topic: string): void {
    this.#bytes -= this.#sizes.get(topic) ?? 0;
    this.#sizes.delete(topic);
  }
}
