import type { Refusal } from "./outcomes.js";

export interface AgeFacts {
  /** The sender's time, epoch ms. */
  readonly at: number | null;
  /** What is left of an MQTT 5 message expiry, ms. */
  readonly expiryMs: number | null;
  readonly payloadMaxAgeMs: number | null;
  readonly maxAgeMs: number;
  readonly requireAge: boolean;
  /** Wall clock, epoch ms, and whether it is within two minutes of the platform's. */
  readonly now: number;
  readonly clockTrusted: boolean;
}

const aheadMs = 30_000;

/** How long the command may still wait before its first POST, in ms from its arrival; or why it is refused. */
export function ageAllowance(facts: AgeFacts): number | Refusal {
  const { at, expiryMs } = facts;
  if (facts.requireAge && at === null && expiryMs === null) {
    return {
      reason: "no_age",
      message: 'This bridge takes only commands that carry "at" or an MQTT 5 message expiry.',
    };
  }
  const limit = Math.min(facts.maxAgeMs, facts.payloadMaxAgeMs ?? Infinity);
  let left = Math.min(limit, expiryMs ?? Infinity);
  if (at !== null) {
    if (!facts.clockTrusted) {
      return {
        reason: "clock",
        message:
          'The bridge\'s clock is not known to be right, so "at" cannot be judged; check the time service, or send without "at".',
      };
    }
    if (at - facts.now > aheadMs) {
      return { reason: "clock", message: '"at" lies in the future; check the clock of the sender.' };
    }
    left = Math.min(left, limit - Math.max(0, facts.now - at));
  }
  return left > 0 ? left : expired();
}

export const expired = (): Refusal => ({
  reason: "expired",
  message:
    "The command was older than its max_age before it could be sent; send it again if it is still wanted.",
});
