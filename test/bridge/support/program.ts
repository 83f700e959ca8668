import { spawn } from "node:child_process";
import { once } from "node:events";
import { onTestFinished } from "vitest";
import { programFile } from "../../end-to-end/support/program.js";

/* The program in a process of its own, for what concerns a process: signals, crashes, restarts. */

export interface Process {
  /** One parsed line of the log each; what is no JSON is `{msg: <line>}`. */
  readonly lines: readonly Readonly<Record<string, unknown>>[];
  readonly stderr: string;
  signal(name: NodeJS.Signals): void;
  readonly ended: Promise<{ readonly code: number | null; readonly signal: NodeJS.Signals | null }>;
  readonly isRunning: boolean;
}

export interface ProcessOptions {
  readonly folder: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** JavaScript that runs in the process before the program, for faults no user can cause. */
  readonly before?: string;
}

/** Starts the program; killed with the test. */
export function startProcess(options: ProcessOptions): Process {
  const { folder, args = ["run"], env = {}, before } = options;
  const imported =
    before === undefined ? [] : ["--import", `data:text/javascript,${encodeURIComponent(before)}`];
  const child = spawn(process.execPath, [...imported, programFile, ...args], {
    cwd: folder,
    env: { PATH: process.env["PATH"] ?? "", HOME: folder, ...env },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let stderr = "";
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => (stderr += chunk));
  let isRunning = true;
  const ended = once(child, "close").then(([code, signal]: unknown[]) => {
    isRunning = false;
    return { code: code as number | null, signal: signal as NodeJS.Signals | null };
  });
  onTestFinished(async () => {
    if (isRunning) child.kill("SIGKILL");
    await ended;
  });
  return {
    get lines() {
      return stderr
        .split("\n")
        .filter((line) => line !== "")
        .map(parsed);
    },
    get stderr() {
      return stderr;
    },
    get isRunning() {
      return isRunning;
    },
    ended,
    signal: (name) => child.kill(name),
  };
}

function parsed(line: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(line) as Readonly<Record<string, unknown>>;
  } catch {
    return { msg: line };
  }
}

export const says = ({ lines }: Process, text: string): boolean =>
  lines.some(({ msg }) => typeof msg === "string" && msg.includes(text));
