import type { PlatformErrorFacts } from "../greenhouse/platform-error.js";
import type { RawValue } from "../greenhouse/ports.js";
import type { Answer } from "./book.js";

/** How one step ended. */
export type StepEnd =
  | ({ readonly type: "confirmed" } & Evidence)
  | ({ readonly type: "unconfirmed" } & Evidence)
  /** Accepted or ambiguous, and nothing could be read since. */
  | ({ readonly type: "unknown" } & Evidence)
  | ({ readonly type: "rejected"; readonly unauthorized: boolean; readonly message: string } & Evidence)
  | ({ readonly type: "not_sent"; readonly message: string } & Evidence)
  /** Ambiguous, and a valid later read differs. */
  | ({ readonly type: "failed" } & Evidence)
  | ({ readonly type: "interrupted" } & Evidence);

export interface Evidence {
  readonly attempts: number;
  readonly code: string | null;
  readonly requestId: string | null;
  readonly readBack: RawValue | null;
}

interface Refusal {
  readonly message: string;
  readonly facts: PlatformErrorFacts;
}

/** Ends that need no second look: the platform said no, or nothing ever left. */
export function finalError(error: Refusal, facts: Evidence): StepEnd | null {
  const { kind, sent, code } = error.facts;
  // Also without a credential at hand: a renewed one is the one retry.
  if (kind === "unauthorized") return null;
  if (!sent) return { type: "not_sent", message: error.message, ...facts };
  return code !== undefined ? rejected(error, facts) : null;
}

export const rejected = (error: Refusal, facts: Evidence): StepEnd => ({
  type: "rejected",
  unauthorized: error.facts.kind === "unauthorized",
  message: error.message,
  ...facts,
});

export function factsOf(answer: Answer, attempts: number): Evidence {
  if (answer.type === "accepted") {
    return { attempts, code: answer.answer.code, requestId: answer.answer.requestId, readBack: null };
  }
  const { code, requestId } = answer.facts;
  return { attempts, code: code ?? null, requestId: requestId ?? null, readBack: null };
}
