/**
 * A set that is taken from the front. Each new iterator of a JavaScript set passes over all that was deleted before, so that one taken by
 * one in thousands of turns would cost n² of what waits; this one keeps its place.
 */
export class WaitingLine<Item> {
  readonly #items = new Set<Item>();
  #next = this.#items.values();

  get size(): number {
    return this.#items.size;
  }

  /** What is in it already keeps its place. */
  add(item: Item): void {
    this.#items.add(item);
  }

  delete(item: Item): boolean {
    return this.#items.delete(item);
  }

  has(item: Item): boolean {
    return this.#items.has(item);
  }

  clear(): void {
    this.#items.clear();
  }

  /** Takes the first one out; undefined where nothing waits. */
  take(): Item | undefined {
    if (this.#items.size === 0) return undefined;
    let step = this.#next.next();
    if (step.done === true) {
      // It has come to an end once, and shows nothing of what was added since.
      this.#next = this.#items.values();
      step = this.#next.next();
    }
    if (step.done === true) return undefined;
    this.#items.delete(step.value);
    return step.value;
  }
}
