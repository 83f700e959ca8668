/** One question of a command to the platform, identified by its signal. */
interface Departure {
  readonly code: string;
  readonly kind: "read" | "post";
  /** Whether it belongs to a stop or a rule, which no unanswered question may delay. */
  readonly isFirst: boolean;
  /** Whether it has reached the network. */
  hasLeft: boolean;
  isOnTheWay: boolean;
}

/*
 * S24 has its own numbers. At least this many ordinary questions of a kind to one controller may always be unanswered.
 * Of POSTs, whose sender is known, there may never be more than the second number. Between the two the product may
 * choose.
 */
const leastOfOne = 2;
const mostPostsOfOne = 6;

/** The questions of one run's commands to the platform, from the question to its answer. */
export class Departures {
  readonly #asked = new Map<AbortSignal, Departure>();

  asked(signal: AbortSignal, what: Pick<Departure, "code" | "kind" | "isFirst">): void {
    this.#asked.set(signal, { ...what, hasLeft: false, isOnTheWay: false });
  }

  left(signal: AbortSignal): void {
    const one = this.#asked.get(signal);
    if (one) Object.assign(one, { hasLeft: true, isOnTheWay: true });
  }

  /** It was answered or lost; a read may be asked once more. */
  returned(signal: AbortSignal): void {
    const one = this.#asked.get(signal);
    if (one) one.isOnTheWay = false;
  }

  answered(signal: AbortSignal): void {
    this.#asked.delete(signal);
  }

  /** A question that waits without need: any of a stop or a rule, else one of a controller with a free place. */
  heldUp(): string | null {
    for (const { code, kind, isFirst, hasLeft } of this.#asked.values())
      if (!hasLeft && (isFirst || this.#onTheWay(code, kind) < leastOfOne))
        return `a ${kind} to ${code}${isFirst ? ", which goes first," : ""}`;
    return null;
  }

  /** A controller with more unanswered POSTs than allowed. */
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
