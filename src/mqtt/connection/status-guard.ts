import type { Clock } from "../../runtime/clock.js";
import type { ConnectionSettings, IncomingMessage } from "./settings.js";

export interface StatusRepair {
  readonly guard: NonNullable<ConnectionSettings["guard"]>;
  readonly clock: Clock;
  readonly everyMs: number;
  readonly publish: (topic: string, payload: string) => Promise<void>;
  readonly failed: (error: unknown) => void;
}

/**
 * Whether a message on the own status topic contradicts us. On 3.1.1 a set retain flag means an old message that came
 * with the subscription; the birth message has overwritten it or is about to.
 */
export function contradicts(message: IncomingMessage, expected: string, protocolVersion: 4 | 5): boolean {
  if (protocolVersion === 4 && message.retain) return false;
  return message.payload.toString() !== expected;
}

/** Publishes the expected status again, at most once per `everyMs`, so that two bridges at odds make no storm. */
export class StatusGuard {
  readonly #repair: StatusRepair;
  readonly #signal: AbortSignal;
  #lastAt: number | null = null;
  #wanted = false;
  #busy = false;
  #repairs = 0;

  constructor(repair: StatusRepair, signal: AbortSignal) {
    this.#repair = repair;
    this.#signal = signal;
  }

  get repairs(): number {
    return this.#repairs;
  }

  /** Asked again while a repair is under way, it follows up: the foreign message may be newer than ours. */
  async repair(): Promise<void> {
    this.#wanted = true;
    if (this.#busy) return;
    this.#busy = true;
    try {
      while (this.#wanted) {
        this.#wanted = false;
        await this.#publishOnce();
      }
    } catch (error) {
      if (!this.#signal.aborted) this.#repair.failed(error);
    } finally {
      this.#busy = false;
    }
  }

  async #publishOnce(): Promise<void> {
    const { clock, everyMs, guard, publish } = this.#repair;
    const due = this.#lastAt === null ? 0 : this.#lastAt + everyMs - clock.monotonic();
    if (due > 0) await clock.wait(due, this.#signal);
    this.#lastAt = clock.monotonic();
    this.#repairs += 1;
    await publish(guard.topic, guard.expected);
  }
}
