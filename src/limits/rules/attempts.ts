import { type CommandResult, isGood } from "../../greenhouse/command/outcomes.js";
import type { Text } from "../../language/text.js";

/* Repeats what a rule sends, at growing intervals, until it succeeds. Only a command that was sent counts as a try. */

export interface Attempts {
  /** Id of the command under way; null for none. */
  readonly id: string | null;
  readonly tries: number;
  /** The number of commands in a row that ended with nothing sent. */
  readonly unsent: number;
  readonly nextAt: number;
  /** The reason of the delay, once it was reported. */
  readonly problem: Text | null;
  /** Whether something prevents sending; otherwise it was sent and not confirmed. */
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
/** The pause between all later tries. */
export const laterTriesMs = 600_000;

/** Whether a guard has used up its quick tries, after which there is an alarm. */
export const isOverdue = (tries: number): boolean => tries > pauses.guard.length;

/** The pauses after nothing was sent: the first time, the next times, and after many refusals in a row. */
const unsentMs = 2_000;
const unsentAgainMs = 5_000;
const refusedForLongMs = 30_000;
const mostQuickRefusals = 6;

/** The result of a command, so far as limits need it. */
export type Ended = Pick<CommandResult, "id" | "outcome" | "reason" | "message">;

/** Whether nothing was sent, which is no try: a stop, a rule, the platform or the controller prevented it. */
const sentNothing = ({ outcome, reason }: Ended): boolean =>
  outcome === "refused" ||
  (outcome === "superseded" && reason === "before_sending") ||
  (outcome === "failed" && reason === "not_sent");

/** The attempts after a command ended; null if that is done with. Tries are never given up, only made less often. */
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
  const problem = message ?? `It ended ${outcome}.`;
  if (sentNothing(result)) return keptBackAfter(before, result, problem, now);
  const { tries } = before;
  const pause = pauses[kind][tries - 1] ?? laterTriesMs;
  return { id: null, tries, unsent: 0, nextAt: now + pause, problem, isKeptBack: false };
}

/**
 * The first time it is only repeated, as a stop or a newer command soon passes; from the second time on it is reported.
 */
function keptBackAfter(before: Attempts, { outcome }: Ended, problem: Text, now: number): Attempts {
  const unsent = before.unsent + 1;
  const isLong = outcome === "refused" && unsent > mostQuickRefusals;
  const pause = isLong ? refusedForLongMs : unsent === 1 ? unsentMs : unsentAgainMs;
  const told = unsent === 1 ? {} : { problem, isKeptBack: true };
  return { ...before, id: null, tries: Math.max(0, before.tries - 1), unsent, nextAt: now + pause, ...told };
}
