import type { Command } from "./command.js";

/**
 * The commands that wait for their turn: the newest goes first. Older ones are only passed over where it may end without
 * being sent although they would be, because a refused command takes nobody's place.
 */
export class Waiting {
  #passedOver: Command[] = [];
  #newer: Command[] = [];

  get newest(): Command | null {
    return this.#newer.at(-1) ?? this.#passedOver.at(-1) ?? null;
  }

  /** Oldest first. */
  get all(): readonly Command[] {
    return [...this.#passedOver, ...this.#newer];
  }

  /** Whether one of those that wait may still be sent when `command` is too old. */
  outlives({ deadlineMono }: Command): boolean {
    return this.all.some((one) => one.deadlineMono > deadlineMono);
  }

  add(command: Command): void {
    this.#newer.push(command);
  }

  /** The newest has its turn; those that waited with it are passed over. */
  takeNewest(): void {
    this.#passedOver = this.all.slice(0, -1);
    this.#newer = [];
  }

  /** Those whose place was taken by the one that last had its turn. */
  dropPassedOver(): readonly Command[] {
    const dropped = this.#passedOver;
    this.#passedOver = [];
    return dropped;
  }

  clear(): readonly Command[] {
    const all = this.all;
    this.#passedOver = [];
    this.#newer = [];
    return all;
  }
}
