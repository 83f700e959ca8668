import { type CommandResult, isGood } from "../../greenhouse/command/outcomes.js";

/* What a rule sends is sent again at growing distances until it is done. Only what sent something counts as a try. */

export interface Attempts {
  /** Of the command under way; null while none is. */
  readonly id: string | null;
  readonly tries: number;
  /** How many commands in a row have ended with nothing sent. */
  readonly unsent: number;
  readonly nextAt: number;
  /** Why it is late, once that was said. */
  readonly problem: string | null;
  /** Something keeps it back; otherwise it was sent and not confirmed. */
  readonly isKeptBack: boolean;
}

export const firstAttempt: Attempts = {
  id: null,
  tries: 0,
  unsent: 0,
  nextAt: -Infinity,
  problem: null,
  isKeptBack: false,
};

const pauses: Readonly<Record<"lease" | "guard", readonly number[]>> = {
  lease: [30_000, 120_000, 600_000],
  guard: [30_000, 120_000],
};
/** Between the tries after those. */
export const laterTriesMs = 600_000;

/** A guard tries so often within minutes; when all were in vain there is an alarm. */
export const isOverdue = (tries: number): boolean => tries > pauses.guard.length;

/** What sent nothing goes again after this: the first time, the next times, and where it is refused again and again. */
const unsentMs = 2_000;
const unsentAgainMs = 5_000;
const refusedForLongMs = 30_000;
const mostQuickRefusals = 6;

/** How a command ended, as far as the limits ask. */
export type Ended = Pick<CommandResult, "id" | "outcome" | "reason" | "message">;

/** Whether nothing of it was sent, which is no try: a stop, a rule, the platform or the controller kept it back. */
const sentNothing = ({ outcome, reason }: Ended): boolean =>
  outcome === "refused" ||
  (outcome === "superseded" && reason === "before_sending") ||
  (outcome === "failed" && reason === "not_sent");

/** After the end of one; null when it is done with. What was tried in vain is never given up, and only sent more seldom. */
export function attemptAfter(
  before: Attempts,
  kind: "lease" | "guard",
  result: Ended,
  now: number,
): Attempts | null {
  const { outcome, message } = result;
  if (isGood(outcome)) return null;
  // Nothing was sent, so the lease is not over.
  if (outcome === "dry_run" && kind === "guard") return null;
  const problem = String(message ?? `It ended ${outcome}.`);
  if (sentNothing(result)) return keptBackAfter(before, result, problem, now);
  const { tries } = before;
  const pause = pauses[kind][tries - 1] ?? laterTriesMs;
  return { id: null, tries, unsent: 0, nextAt: now + pause, problem, isKeptBack: false };
}

/** The first time it is only sent again, as a stop or a newer command passes; from the second on it is told. */
function keptBackAfter(before: Attempts, { outcome }: Ended, problem: string, now: number): Attempts {
  const unsent = before.unsent + 1;
  const isLong = outcome === "refused" && unsent > mostQuickRefusals;
  const pause = isLong ? refusedForLongMs : unsent === 1 ? unsentMs : unsentAgainMs;
  const told = unsent === 1 ? {} : { problem, isKeptBack: true };
  return { ...before, id: null, tries: Math.max(0, before.tries - 1), unsent, nextAt: now + pause, ...told };
}
