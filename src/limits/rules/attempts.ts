import type { CommandResult } from "../../greenhouse/command/outcomes.js";

/* What a rule sends is sent again at growing distances until it is done. */

export interface Attempts {
  /** Of the command under way; null while none is. */
  readonly id: string | null;
  readonly tries: number;
  /** When to send next; Infinity for never. */
  readonly nextAt: number;
  /** Why it is late, once that was said. */
  readonly problem: string | null;
  /** Something keeps it back; otherwise it was sent and not confirmed. */
  readonly isKeptBack: boolean;
}

export const firstAttempt: Attempts = {
  id: null,
  tries: 0,
  nextAt: -Infinity,
  problem: null,
  isKeptBack: false,
};

const againMs = 30_000;
const leasePauses = [againMs, 120_000, 600_000];
const guardPauses = [againMs, 120_000];

/** What a guard sends is not sent a fourth time. */
export const isGivenUp = (tries: number): boolean => tries > guardPauses.length;

/** Refusals that say that it was kept back, and not that it was tried. */
const hindrances = new Set([
  "interlock",
  "read_only",
  "controller_offline",
  "platform_unavailable",
  "other_bridge",
  "shutting_down",
  "overloaded",
]);

/** How a command ended, as far as the limits ask. */
export type Ended = Pick<CommandResult, "id" | "outcome" | "reason" | "message">;

/** After the end of one; null when it is done with. A lease's end is never given up; what a guard sends is, after the third. */
export function attemptAfter(
  { tries }: Attempts,
  kind: "lease" | "guard",
  { outcome, reason, message }: Ended,
  now: number,
): Attempts | null {
  if (outcome === "confirmed" || outcome === "already") return null;
  // Nothing was sent, so the lease is not over.
  if (outcome === "dry_run" && kind === "guard") return null;
  const problem = message ?? `It ended ${outcome}.`;
  // What keeps it back is looked at again, and this was no attempt.
  if (outcome === "refused" && hindrances.has(reason ?? ""))
    return { id: null, tries: Math.max(0, tries - 1), nextAt: now + againMs, problem, isKeptBack: true };
  const pause = kind === "lease" ? (leasePauses[tries - 1] ?? 600_000) : (guardPauses[tries - 1] ?? Infinity);
  return { id: null, tries, nextAt: now + pause, problem, isKeptBack: false };
}
