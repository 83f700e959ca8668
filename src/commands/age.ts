import type { Refusal } from "../greenhouse/command/outcomes.js";
import { msg } from "../language/text.js";
import type { Arrived } from "./command.js";
import type { CommandPayload } from "./payload.js";

/* How old a command may be when it is sent: what is known of its age, and what follows from that. */

interface AgeFacts {
  /** The sender's time, epoch ms. */
  readonly at: number | null;
  /** The rest of an MQTT 5 message expiry, ms. */
  readonly expiryMs: number | null;
  readonly payloadMaxAgeMs: number | null;
  /** The age that it may have when it is read, ms; 0 where it was read on arrival. */
  readonly ageMs: number;
  readonly maxAgeMs: number;
  readonly requireAge: boolean;
  /** Wall clock, epoch ms, and whether it is within two minutes of the platform's. */
  readonly now: number;
  readonly clockTrusted: boolean;
}

/** What is known of the age of a request. */
export const ageFacts = (
  { request, rules, clockTrusted }: Arrived,
  payload: CommandPayload,
  isStop: boolean,
  now: { readonly at: number },
): AgeFacts => ({
  at: payload.at ?? request.at ?? null,
  expiryMs: request.expiryMs,
  payloadMaxAgeMs: payload.maxAgeMs,
  // A stop is harmless, however long it lay in a socket.
  ageMs: isStop ? 0 : (request.ageMs ?? 0),
  maxAgeMs: rules.max_age,
  requireAge: rules.require_age,
  now: now.at,
  clockTrusted,
});

const aheadMs = 30_000;

/** How long the command may still wait before its first POST, in ms from its arrival; or its refusal. */
export function ageAllowance(facts: AgeFacts): number | Refusal {
  const { at, expiryMs } = facts;
  if (facts.requireAge && at === null && expiryMs === null) {
    return {
      reason: "no_age",
      message: msg`This bridge takes only commands that carry "at" or an MQTT 5 message expiry.`,
    };
  }
  const limit = Math.min(facts.maxAgeMs, facts.payloadMaxAgeMs ?? Infinity);
  let left = Math.min(limit, expiryMs ?? Infinity) - facts.ageMs;
  if (at !== null) {
    if (!facts.clockTrusted) {
      return {
        reason: "clock",
        message: msg`The bridge's clock is not known to be right, so "at" cannot be judged; check the time service, or send without "at".`,
      };
    }
    if (at - facts.now > aheadMs) {
      return { reason: "clock", message: msg`"at" lies in the future; check the clock of the sender.` };
    }
    left = Math.min(left, limit - Math.max(0, facts.now - at));
  }
  if (left > 0) return left;
  return facts.ageMs < noticeableAgeMs ? expired() : expiredUnread(facts.ageMs);
}

/** A smaller age counts as read on arrival. */
const noticeableAgeMs = 1_000;

const expiredUnread = (ageMs: number): Refusal => ({
  reason: "expired",
  message: msg`The command was read late: the bridge stood still, none was connected, or its sender sent more than is read at once. It may have been sent ${Math.round(ageMs / 1_000)} s earlier, which is older than its max_age; send it again if it is still wanted.`,
});

export const expired = (): Refusal => ({
  reason: "expired",
  message: msg`The command was older than its max_age, or than the time it was to last, before it could be sent; send it again if it is still wanted.`,
});
