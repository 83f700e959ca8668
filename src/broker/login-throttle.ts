import type { Clock } from "../runtime/clock.js";
import type { BrokerLimits } from "./settings.js";

const windowMs = 60_000;
// Bounds the memory an attacker with many addresses can claim; the oldest origins are forgotten first.
const maxOrigins = 4_096;

interface Record {
  failedAt: number[];
  blockedUntil: number;
}

/** Counts wrong logins by origin: so many within a minute, and the origin has to wait. */
export class LoginThrottle {
  readonly #limits: Pick<BrokerLimits, "loginAttempts" | "loginBlockMs">;
  readonly #clock: Clock;
  readonly #records = new Map<string, Record>();

  constructor(limits: Pick<BrokerLimits, "loginAttempts" | "loginBlockMs">, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  isBlocked(origin: string): boolean {
    return (this.#records.get(origin)?.blockedUntil ?? 0) > this.#clock.monotonic();
  }

  /** Notes a wrong login. True when it was the one that blocks the origin. */
  failed(origin: string): boolean {
    const now = this.#clock.monotonic();
    const record = this.#records.get(origin) ?? { failedAt: [], blockedUntil: 0 };
    record.failedAt = [...record.failedAt.filter((at) => at > now - windowMs), now];
    const blocks = record.blockedUntil <= now && record.failedAt.length >= this.#limits.loginAttempts;
    if (blocks) {
      record.blockedUntil = now + this.#limits.loginBlockMs;
      record.failedAt = [];
    }
    this.#records.delete(origin);
    this.#records.set(origin, record);
    const oldest = this.#records.keys().next();
    if (this.#records.size > maxOrigins && !oldest.done) this.#records.delete(oldest.value);
    return blocks;
  }
}
