/** One question of a command to the platform, known by its signal. */
interface Departure {
  readonly code: string;
  readonly kind: "read" | "post";
  /** Of a stop, or of what a rule sends: nothing that is unanswered may hold it up. */
  readonly isFirst: boolean;
  /** It has reached the network. */
  hasLeft: boolean;
  isOnTheWay: boolean;
}

/*
 * S24 has numbers of its own. So many ordinary questions of a kind to one controller may always be unanswered, and of POSTs, whose
 * sender is known, never more than that; what is between the two is the product's to choose.
 */
const leastOfOne = 2;
const mostPostsOfOne = 6;

/** What commands of one run of the program ask the platform, from the question to its answer. */
export class Departures {
  readonly #asked = new Map<AbortSignal, Departure>();

  asked(signal: AbortSignal, what: Pick<Departure, "code" | "kind" | "isFirst">): void {
    this.#asked.set(signal, { ...what, hasLeft: false, isOnTheWay: false });
  }

  left(signal: AbortSignal): void {
    const one = this.#asked.get(signal);
    if (one) Object.assign(one, { hasLeft: true, isOnTheWay: true });
  }

  /** Answered or lost; a read may be asked once more. */
  returned(signal: AbortSignal): void {
    const one = this.#asked.get(signal);
    if (one) one.isOnTheWay = false;
  }

  answered(signal: AbortSignal): void {
    this.#asked.delete(signal);
  }

  /** What waits although it need not: of a stop or a rule any, else one of a controller that has a place for it. */
  heldUp(): string | null {
    for (const { code, kind, isFirst, hasLeft } of this.#asked.values())
      if (!hasLeft && (isFirst || this.#onTheWay(code, kind) < leastOfOne))
        return `a ${kind} to ${code}${isFirst ? ", which goes first," : ""}`;
    return null;
  }

  /** A controller that has more POSTs unanswered than one may have. */
  crowded(): string | null {
    for (const { code } of this.#asked.values()) {
      const count = this.#onTheWay(code, "post");
      if (count > mostPostsOfOne) return `${count} POSTs to ${code} are unanswered`;
    }
    return null;
  }

  #onTheWay(code: string, kind: Departure["kind"]): number {
    let count = 0;
    for (const one of this.#asked.values())
      if (one.isOnTheWay && one.code === code && one.kind === kind && !one.isFirst) count += 1;
    return count;
  }
}
