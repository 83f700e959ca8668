import type { Clock } from "../runtime/clock.js";
import type { BrokerLimits } from "./settings.js";

const windowMs = 60_000;
/** Longer than this nobody waits for a turn; programs give up before. */
const maxWaitMs = 10_000;
// Bounds the memory an attacker with many addresses can claim; the oldest are forgotten first.
const maxRecords = 4_096;

interface Record {
  failedAt: number[];
  nextAt: number;
}

/** Who wants in, with an allowance of its own. */
export interface Guesser {
  readonly key: string;
  /** How many times the allowance of one name. */
  readonly share: number;
}

/**
 * Counts wrong logins. Who has had so many within a minute is not locked out, which would let a guesser lock out the owner
 * of the name: each further login, right or wrong, waits for its turn, and there is one turn every `loginTurnMs`.
 */
export class LoginThrottle {
  readonly #limits: Pick<BrokerLimits, "loginAttempts" | "loginTurnMs">;
  readonly #clock: Clock;
  readonly #records = new Map<string, Record>();

  constructor(limits: Pick<BrokerLimits, "loginAttempts" | "loginTurnMs">, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  isSlowed(guessers: readonly Guesser[]): boolean {
    return guessers.some((guesser) => this.#isOver(guesser));
  }

  /** Takes the next turn: how long until then. Null, and no turn, where too many wait already. */
  turn(guessers: readonly Guesser[]): number | null {
    const now = this.#clock.monotonic();
    const over = guessers.filter((guesser) => this.#isOver(guesser));
    const at = over.map(({ key }) => Math.max(now, this.#records.get(key)?.nextAt ?? now));
    const wait = Math.max(now, ...at) - now;
    if (wait > maxWaitMs) return null;
    for (const guesser of over) this.#takeTurn(guesser, now);
    return wait;
  }

  /** Notes a wrong login. True when it was the one that used up the allowance of one name. */
  failed(guessers: readonly Guesser[]): boolean {
    const now = this.#clock.monotonic();
    return guessers
      .map((guesser) => {
        const wasOver = this.#isOver(guesser);
        const { failedAt = [], nextAt = now } = this.#records.get(guesser.key) ?? {};
        const counted = guesser.share * this.#limits.loginAttempts;
        this.#keep(guesser.key, { failedAt: [...failedAt, now].slice(-counted), nextAt });
        const isOver = this.#isOver(guesser);
        if (isOver && !wasOver) this.#takeTurn(guesser, now);
        return isOver && !wasOver;
      })
      .some(Boolean);
  }

  #isOver({ key, share }: Guesser): boolean {
    const since = this.#clock.monotonic() - windowMs;
    const failed = this.#records.get(key)?.failedAt.filter((at) => at > since).length ?? 0;
    return failed >= share * this.#limits.loginAttempts;
  }

  #takeTurn({ key, share }: Guesser, now: number): void {
    const record = this.#records.get(key);
    if (record) record.nextAt = Math.max(now, record.nextAt) + this.#limits.loginTurnMs / share;
  }

  #keep(key: string, record: Record): void {
    this.#records.delete(key);
    this.#records.set(key, record);
    const oldest = this.#records.keys().next();
    if (this.#records.size > maxRecords && !oldest.done) this.#records.delete(oldest.value);
  }
}
