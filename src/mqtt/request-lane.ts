export interface LaneSize {
  readonly atOnce: number;
  readonly waiting: number;
}

/** Work of which so much is done at once and so much more waits in order; the rest is turned away. */
export class RequestLane {
  readonly #size: LaneSize;
  readonly #waiting: (() => Promise<void>)[] = [];
  #running = 0;

  constructor(size: LaneSize) {
    this.#size = size;
  }

  /** Does `work` now or in its turn; false where there is no place for it. `work` must not reject. */
  take(work: () => Promise<void>): boolean {
    if (this.#running < this.#size.atOnce) {
      void this.#run(work);
      return true;
    }
    if (this.#waiting.length >= this.#size.waiting) return false;
    this.#waiting.push(work);
    return true;
  }

  async #run(first: () => Promise<void>): Promise<void> {
    this.#running += 1;
    for (let work: typeof first | undefined = first; work !== undefined; work = this.#waiting.shift())
      await work();
    this.#running -= 1;
  }
}
