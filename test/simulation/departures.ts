import type { Pace } from "../../src/greenhouse/ports.js";

/** One question of a command to the platform, known by its signal. */
interface Departure {
  readonly code: string;
  readonly kind: "read" | "post";
  readonly pace: Pace;
  /** It has reached the network. */
  hasLeft: boolean;
  isOnTheWay: boolean;
}

/** So many ordinary questions of a kind to one controller may be unanswered; more of them wait. */
const mostOfOne = 4;

/** What commands of one run of the program ask the platform, from the question to its answer. */
export class Departures {
  readonly #asked = new Map<AbortSignal, Departure>();

  asked(signal: AbortSignal, what: Pick<Departure, "code" | "kind" | "pace">): void {
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
    for (const { code, kind, pace, hasLeft } of this.#asked.values())
      if (!hasLeft && (pace === "first" || this.#onTheWay(code, kind) < mostOfOne))
        return `a ${kind} to ${code} (${pace})`;
    return null;
  }

  #onTheWay(code: string, kind: Departure["kind"]): number {
    let count = 0;
    for (const one of this.#asked.values())
      if (one.isOnTheWay && one.code === code && one.kind === kind && one.pace === "urgent") count += 1;
    return count;
  }
}
