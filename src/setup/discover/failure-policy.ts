import type { PlatformErrorFacts } from "../../greenhouse/platform-error.js";

export type NextStep =
  /** The platform's answer to this question; it is not asked again. */
  | { readonly type: "refused" }
  | { readonly type: "again"; readonly afterMs: number }
  /** Go on without it. */
  | { readonly type: "leave_out" }
  /** Nothing else would be answered either. */
  | { readonly type: "give_up" };

const mostWaits = 6;
const longestWaitMs = 60_000;
/** So many questions in a row without an answer mean that there is nobody to answer. */
export const mostLeftOut = 10;

/** What a scan does after a failed request; the client has repeated what is worth repeating. `tries` counts from 0. */
export function afterFailure(facts: PlatformErrorFacts, tries: number, leftOutInARow: number): NextStep {
  const leaveOut: NextStep = leftOutInARow + 1 >= mostLeftOut ? { type: "give_up" } : { type: "leave_out" };
  switch (facts.kind) {
    case "rejected":
      return { type: "refused" };
    case "unauthorized":
      return { type: "give_up" };
    case "paused":
    case "throttled": {
      const afterMs = facts.retryAfterMs ?? 10_000;
      if (tries >= mostWaits || afterMs > longestWaitMs) return { type: "give_up" };
      return { type: "again", afterMs };
    }
    case "timeout":
      return tries === 0 ? { type: "again", afterMs: 0 } : leaveOut;
    case "invalid_request":
      return { type: "leave_out" };
    case "unreachable":
    case "interrupted":
    case "server":
    case "protocol":
      return leaveOut;
  }
}
