/**
 * A set that is taken from the front. Each new iterator of a JavaScript set passes over all deleted items, so taking
 * them one by one in thousands of turns would cost n²; this one keeps its iterator.
 */
export class WaitingLine<Item> {
  readonly #items = new Set<Item>();
  #next = this.#items.values();

  get size(): number {
    return this.#items.size;
  }

  /** An item already in it keeps its place. */
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

  /** Removes and returns the first item; undefined if there is none. */
  take(): Item | undefined {
    if (this.#items.size === 0) return undefined;
    let step = this.#next.next();
    if (step.done === true) {
      // The iterator ended once, and does not show items added since.
      this.#next = this.#items.values();
      step = this.#next.next();
    }
    if (step.done === true) return undefined;
    this.#items.delete(step.value);
    return step.value;
  }
}
