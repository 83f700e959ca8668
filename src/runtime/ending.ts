import { type Text, TextError } from "../language/text.js";
import type { ChildProcess } from "node:child_process";
import { type Clock, systemClock } from "./clock.js";

export const exitCodes = { done: 0, failed: 1, usage: 2, notConfirmed: 3 } as const;

/** Ends a command with a sentence for the user and an exit code. */
export class CommandFailure extends TextError {
  override name = "CommandFailure" as const;
  readonly exitCode: number;

  constructor(message: Text, exitCode: number = exitCodes.failed) {
    super(message);
    this.exitCode = exitCode;
  }
}

/** The user asked for something impossible. */
export const usageFailure = (message: Text): CommandFailure => new CommandFailure(message, exitCodes.usage);

/**
 * Exit codes of errors whose message is already the sentence for a person; by name, as the code that throws them is
 * loaded when needed.
 */
const endings: Readonly<Record<string, number>> = {
  DirectoryInUse: 1,
  DataTooNew: 1,
  DataTooOld: 1,
  BrokerStartError: 1,
  JournalUnreadable: 1,
  NotItsJournal: 1,
  ClusterRefusal: 1,
  PlatformError: 1,
  FileExists: 1,
  NotWritten: 1,
  PlaceUnusable: 1,
  GoneAway: 1,
  UnknownController: 2,
};

/** The exit code for an error; null if it was not foreseen. */
export function exitCodeOf(error: unknown): number | null {
  if (error instanceof CommandFailure) return error.exitCode;
  return error instanceof Error ? (endings[error.name] ?? null) : null;
}

/** The exit code of a process that was started, once its streams are closed; null if a signal ended it. */
export const exitOf = (child: Pick<ChildProcess, "once">): Promise<number | null> =>
  new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });

/** The members of `process` that are needed to end it. */
interface EndingProcess {
  readonly execPath: string;
  readonly pid: number;
  getActiveResourcesInfo(): readonly string[];
  exit(code: number): void;
  removeAllListeners(signal: "SIGTERM"): unknown;
  kill(pid: number, signal: "SIGTERM"): unknown;
  /** Since Node 22.15. */
  readonly execve?: (file: string, words: readonly string[], environment: Record<string, string>) => void;
}

const ofThePool = /^(?:FSReq|FileHandle|GetAddrInfo|GetNameInfo)/;
const stepMs = 50;
const steps = 20;

/**
 * Ends the process, whatever hangs in its thread pool. `exit` waits for the threads, for ever if one is in a file
 * system that is gone. So the process is replaced by one that only returns the code; if Node cannot do that, it ends by
 * a signal.
 */
export async function endProcess(
  process: EndingProcess,
  code: number,
  clock: Pick<Clock, "wait"> = systemClock,
): Promise<void> {
  const isHeld = () => process.getActiveResourcesInfo().some((kind) => ofThePool.test(kind));
  for (let left = steps; left > 0 && isHeld(); left -= 1) await clock.wait(stepMs);
  if (!isHeld()) {
    process.exit(code);
    return;
  }
  process.execve?.(process.execPath, [process.execPath, "-e", `process.exit(${code})`], {});
  process.removeAllListeners("SIGTERM");
  process.kill(process.pid, "SIGTERM");
}
