import { readBackDelaysMs, shows, type Step } from "../../greenhouse/command/plan.js";
import { PlatformError } from "../../greenhouse/platform-error.js";
import type { RawValue } from "../../greenhouse/ports.js";
import { PushWait, type Woken } from "../push-wait.js";
import type { Command } from "./command.js";
import type { CommandPorts } from "./command-ports.js";

export type Read =
  | { readonly type: "value"; readonly raw: RawValue; readonly startedMono: number }
  /** Answered, but without this address. */
  | { readonly type: "absent" }
  /** No answer, or one with a code other than 200; `requestId` where the platform gave one. */
  | { readonly type: "unanswered"; readonly reason: string; readonly requestId: string | null };

/** One fresh read of an address, folded into the mirror. */
export async function readFresh(
  command: Command,
  address: string,
  ports: CommandPorts,
  signal: AbortSignal,
): Promise<Read> {
  const startedMono = ports.clock.monotonic();
  try {
    const raw = await ports.platform.value(command.code, address, true, signal);
    if (raw === null) return { type: "absent" };
    ports.store.dispatch(command.code, {
      type: "registers_read",
      values: new Map([[address, raw]]),
      startedAt: startedMono,
      readAt: ports.clock.now(),
      fresh: true,
      source: "read_back",
    });
    ports.onRead?.({ address, value: String(raw), startedMono });
    return { type: "value", raw, startedMono };
  } catch (error) {
    if (!(error instanceof PlatformError) && !signal.aborted) throw error;
    const requestId = (error instanceof PlatformError ? error.facts.requestId : undefined) ?? null;
    return { type: "unanswered", reason: error instanceof Error ? error.message : "no answer", requestId };
  }
}

export interface Confirmation {
  readonly shown: boolean;
  /** The last valid read after the POST; null when there was none. */
  readonly lastRead: RawValue | null;
}

/**
 * Reads the step's address back until it shows the value or its time is over: after settling, then at growing intervals
 * from the POST's end, at once when the platform pushes a value of it, and a last time at the very end. Aborting the
 * signal ends it with what was seen so far.
 */
export async function confirmStep(
  command: Command,
  step: Step,
  endedMono: number,
  ports: CommandPorts,
  signal: AbortSignal,
): Promise<Confirmation> {
  const lastAt = endedMono + Math.max(step.confirmWithinMs, command.settings.settleMs);
  const isShown = (raw: RawValue) => shows(command.settings, step, raw);
  const wait = new PushWait({ code: command.code, address: step.address }, isShown, ports);
  let lastRead: RawValue | null = null;
  try {
    for (const at of readTimes(endedMono, command.settings.settleMs, lastAt)) {
      // A slow platform must not make missed reads follow each other, nor carry them past the end.
      const now = ports.clock.monotonic();
      if (now > lastAt) break;
      if (now > at && at !== lastAt) continue;
      for (let woken: Woken = "pushed"; woken === "pushed";) {
        woken = await wait.until(at, signal);
        if (woken === "aborted") return { shown: false, lastRead };
        const read = await readFresh(command, step.address, ports, signal);
        if (read.type !== "value" || read.startedMono < endedMono) continue;
        lastRead = read.raw;
        if (isShown(read.raw)) return { shown: true, lastRead };
      }
    }
    return { shown: false, lastRead };
  } finally {
    wait.close();
  }
}

function* readTimes(from: number, settleMs: number, lastAt: number): Generator<number> {
  yield from + settleMs;
  for (let place = 0; ; place++) {
    const at = from + readBackDelaysMs(place);
    if (at >= lastAt) break;
    if (at > from + settleMs) yield at;
  }
  if (lastAt > from + settleMs) yield lastAt;
}

/** False when the signal aborted first. */
export async function waitUntil(
  at: number,
  { clock }: Pick<CommandPorts, "clock">,
  signal: AbortSignal,
): Promise<boolean> {
  const ms = at - clock.monotonic();
  if (ms > 0) await clock.wait(ms, signal).catch(() => undefined);
  return !signal.aborted;
}
