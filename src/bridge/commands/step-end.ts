import type { Step } from "../../greenhouse/command/plan.js";
import type { PlatformError } from "../../greenhouse/platform-error.js";
import type { RawValue } from "../../greenhouse/ports.js";
import type { Command } from "./command.js";
import type { CommandPorts } from "./command-ports.js";
import { type Confirmation, readFresh } from "./read-back.js";

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

/** Ends that need no second look: the platform said no, or nothing ever left. */
export function finalError(error: PlatformError, facts: Evidence): StepEnd | null {
  const { kind, sent, code } = error.facts;
  // Also without a credential at hand: a renewed one is the one retry.
  if (kind === "unauthorized") return null;
  if (!sent) return { type: "not_sent", message: error.message, ...facts };
  return code !== undefined ? rejected(error, facts) : null;
}

export const rejected = (error: PlatformError, facts: Evidence): StepEnd => ({
  type: "rejected",
  unauthorized: error.facts.kind === "unauthorized",
  message: error.message,
  ...facts,
});

/** A rejection is told together with one read of what the register holds now. */
export async function withReadBack(
  end: StepEnd,
  command: Command,
  step: Step,
  ports: CommandPorts,
  quit: AbortSignal,
): Promise<StepEnd> {
  if (end.type !== "rejected") return end;
  const read = await readFresh(command, step.address, ports, quit);
  return { ...end, readBack: read.type === "value" ? read.raw : null };
}

export function confirmed(
  seen: Confirmation,
  facts: Evidence,
  otherwise: "unconfirmed" | "failed",
  quit: AbortSignal,
): StepEnd {
  const evidence = { ...facts, readBack: seen.lastRead };
  if (seen.shown) return { type: "confirmed", ...evidence };
  if (quit.aborted) return { type: "interrupted", ...evidence };
  return { type: seen.lastRead === null ? "unknown" : otherwise, ...evidence };
}
