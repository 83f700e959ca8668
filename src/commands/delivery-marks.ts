/** Which journaled results the broker has taken: everything up to `through` needs no repeating after a restart. */
export class DeliveryMarks {
  readonly #open = new Set<number>();
  #last = 0;

  sent(sequence: number): void {
    this.#open.add(sequence);
    this.#last = Math.max(this.#last, sequence);
  }

  delivered(sequence: number): void {
    this.#open.delete(sequence);
  }

  /** The newest number below which nothing is open; 0 while nothing was delivered. */
  get through(): number {
    return this.#open.size === 0 ? this.#last : Math.min(...this.#open) - 1;
  }
}
