import type { PlatformErrorFacts } from "../greenhouse/platform-error.js";
import { type BackoffRange, fullJitter } from "../runtime/backoff.js";

/** How often a read may be repeated within one call, and how fast. */
export interface RetryPolicy {
  readonly retries: number;
  readonly range: BackoffRange;
  /** A longer `Retry-After` ends the call; its caller comes back later. */
  readonly maxRetryAfterMs: number;
}

export const pollingRetries: RetryPolicy = {
  retries: 2,
  range: { firstMs: 1_000, maxMs: 60_000 },
  maxRetryAfterMs: 30_000,
};
/** Someone waits for the answer: once more, soon. */
export const commandRetries: RetryPolicy = {
  retries: 1,
  range: { firstMs: 1_000, maxMs: 1_000 },
  maxRetryAfterMs: 2_000,
};

/**
 * How long to wait before a failed read is tried again; null when it is not. A time-out is not repeated: the time was
 * the try. Neither is what we held back ourselves. `attempt` counts from 0, `chance` is in [0, 1).
 */
export function retryDelayMs(
  policy: RetryPolicy,
  attempt: number,
  facts: PlatformErrorFacts,
  chance: number,
): number | null {
  if (attempt >= policy.retries) return null;
  const jitterMs = fullJitter(attempt, policy.range, chance);
  switch (facts.kind) {
    case "unreachable":
    case "interrupted":
      return jitterMs;
    case "server":
      return (facts.status ?? 0) >= 500 ? jitterMs : null;
    case "throttled": {
      if (!facts.sent) return null;
      const asked = facts.retryAfterMs ?? 0;
      return asked <= policy.maxRetryAfterMs ? asked + jitterMs : null;
    }
    case "timeout":
    case "unauthorized":
    case "rejected":
    case "protocol":
    case "paused":
    case "invalid_request":
      return null;
  }
}
