import { shows, type Step } from "../../greenhouse/command/plan.js";
import type { RawValue } from "../../greenhouse/ports.js";
import type { Command } from "./command.js";
import type { CommandPorts } from "./command-ports.js";
import { endingAfter, stepReport } from "./endings.js";
import { readFresh } from "./read-back.js";
import type { Ending } from "./report.js";

/** What the journal knows of a command the last run did not finish. */
export interface Interrupted {
  readonly command: Command;
  /** The last step planned: what was asked for. */
  readonly step: Step;
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
 * ten minutes without one. Nothing is ever sent.
 */
export async function readBackInterrupted(
  one: Interrupted,
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
      if (shows(command.settings, step, read.raw)) return end(one, "confirmed", readBack);
    }
    if (quit.aborted) return end(one, "interrupted", readBack);
    const now = ports.clock.monotonic();
    const deadline = firstReadMono === null ? startedMono + giveUpMs : firstReadMono + step.confirmWithinMs;
    if (now >= deadline) break;
    await ports.clock.wait(Math.min(readEveryMs, deadline - now), quit).catch(() => undefined);
  }
  if (readBack === null) return end(one, "unknown", null);
  return end(one, one.code === "200" ? "unconfirmed" : "failed", readBack);
}

function end(
  one: Interrupted,
  type: "confirmed" | "interrupted" | "unknown" | "unconfirmed" | "failed",
  readBack: RawValue | null,
): Ending {
  const { command, step, attempts, code, requestId, sentAt } = one;
  const evidence = { type, attempts, code, requestId, readBack };
  const steps = [stepReport(command.settings, step, evidence)];
  const ending = endingAfter(step, evidence, true) ?? {
    outcome: "unknown" as const,
    reason: null,
    message: null,
  };
  return { ...ending, steps, sentAt };
}
