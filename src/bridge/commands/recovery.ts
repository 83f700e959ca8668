import { shows, type Step } from "../../greenhouse/command/plan.js";
import type { StepReport } from "../../greenhouse/command/outcomes.js";
import type { RawValue } from "../../greenhouse/ports.js";
import { PushWait } from "../push-wait.js";
import type { Command } from "./command.js";
import type { CommandPorts } from "./command-ports.js";
import { endingAfter, stepReport } from "./endings.js";
import { readFresh } from "./read-back.js";
import type { Ending, SentSoFar } from "./report.js";

/** What the journal knows of a command the last run did not finish. */
export interface Interrupted {
  readonly command: Command;
  /** The last step planned: what was asked for. */
  readonly step: Step;
  /** The mode or lead-in, where it had been sent. */
  readonly earlier: readonly StepReport[];
  /** Recorded POSTs of the last step. */
  readonly attempts: number;
  /** The platform's code for the last POST; null when no answer was recorded. */
  readonly code: string | null;
  readonly requestId: string | null;
  /** Epoch ms of the last recorded POST; null when none was recorded, although one may have begun. */
  readonly sentAt: number | null;
}

const readEveryMs = 10_000;
const giveUpMs = 600_000;

/**
 * Finds out what became of an interrupted command by reading alone: until `confirm_within` after the first good read, or
 * ten minutes without one, and at once when the platform pushes a value of it. Nothing is ever sent.
 */
export async function readBackInterrupted(
  one: Interrupted,
  ports: CommandPorts,
  quit: AbortSignal,
): Promise<Ending> {
  const { command, step } = one;
  const isShown = (raw: RawValue) => shows(command.settings, step, raw);
  const wait = new PushWait({ code: command.code, address: step.address }, isShown, ports);
  try {
    return await readUntilShown(one, { isShown, wait }, ports, quit);
  } finally {
    wait.close();
  }
}

async function readUntilShown(
  one: Interrupted,
  { isShown, wait }: { readonly isShown: (raw: RawValue) => boolean; readonly wait: PushWait },
  ports: CommandPorts,
  quit: AbortSignal,
): Promise<Ending> {
  const { command, step } = one;
  const startedMono = ports.clock.monotonic();
  let firstReadMono: number | null = null;
  let readBack: RawValue | null = null;
  for (;;) {
    const read = await readFresh(command, step.address, ports, quit);
    if (read.type === "value") {
      firstReadMono ??= read.startedMono;
      readBack = read.raw;
      if (isShown(read.raw)) return end(one, "confirmed", readBack);
    }
    if (quit.aborted) return end(one, "interrupted", readBack);
    const now = ports.clock.monotonic();
    const deadline = firstReadMono === null ? startedMono + giveUpMs : firstReadMono + step.confirmWithinMs;
    if (now >= deadline) break;
    await wait.until(Math.min(now + readEveryMs, deadline), quit);
  }
  if (readBack === null) return end(one, "unknown", null);
  return end(one, one.code === "200" ? "unconfirmed" : "failed", readBack);
}

function end(
  one: Interrupted,
  type: "confirmed" | "interrupted" | "unknown" | "unconfirmed" | "failed",
  readBack: RawValue | null,
): Ending {
  const { step, attempts, code, requestId } = one;
  const evidence = { type, attempts, code, requestId, readBack };
  const ending = endingAfter(step, evidence, true) ?? {
    outcome: "unknown" as const,
    reason: null,
    message: null,
  };
  const message = type === "failed" && attempts === 0 ? notSentYet(one, readBack) : ending.message;
  return { ...ending, message, ...sentBefore(one, readBack) };
}

/** What the last run is known to have sent. */
export function sentBefore(one: Interrupted, readBack: RawValue | null): SentSoFar {
  const { command, step, earlier, attempts, code, requestId, sentAt } = one;
  const evidence = { type: "interrupted" as const, attempts, code, requestId, readBack };
  const last = attempts === 0 ? [] : [stepReport(command.settings, step, evidence)];
  return { steps: [...earlier, ...last], sentAt, requestId };
}

const notSentYet = ({ step }: Interrupted, readBack: RawValue | null) =>
  `The bridge was stopped before ${step.value} was sent to address ${step.address}, and the platform shows "${String(readBack)}": it did not happen. Send it again if it is still wanted.`;
