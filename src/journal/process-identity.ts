import { readFile, readlink } from "node:fs/promises";
import { hostname } from "node:os";
import { errorCode } from "./file-system.js";

/** Enough to tell a process from another one that was given the same number later. Texts are null where unknown. */
export interface ProcessIdentity {
  readonly pid: number;
  /** The kernel's start time of the process, in ticks since it booted. */
  readonly started: string | null;
  /** A process number means something only within its namespace: each container has its own. */
  readonly namespace: string | null;
  /** The kernel's id of this boot of the machine. */
  readonly kernel: string | null;
  readonly host: string;
}

export async function identityOf(pid: number): Promise<ProcessIdentity> {
  const [started, namespace, kernel] = await Promise.all([
    startTime(pid),
    readlink("/proc/self/ns/pid").catch(() => null),
    readFile("/proc/sys/kernel/random/boot_id", "utf8").then(
      (text) => text.trim(),
      () => null,
    ),
  ]);
  return { pid, started, namespace, kernel, host: hostname() };
}

/** Whether `other` still runs, as far as process `self` can see; `unknown` across containers and machines. */
export async function isRunning(
  other: ProcessIdentity,
  self: ProcessIdentity,
): Promise<"yes" | "no" | "unknown"> {
  if (other.kernel !== self.kernel) return other.host === self.host ? "no" : "unknown";
  if (other.namespace !== self.namespace) return "unknown";
  if (self.started === null || other.started === null) return answersSignals(other.pid) ? "yes" : "no";
  return (await startTime(other.pid)) === other.started ? "yes" : "no";
}

/** Field 22 of /proc/<pid>/stat; the name before it may hold spaces and brackets. Null without such a process or /proc. */
async function startTime(pid: number): Promise<string | null> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? null;
  } catch {
    return null;
  }
}

function answersSignals(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return errorCode(error) === "EPERM";
  }
}
