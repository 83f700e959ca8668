import { onTestFinished } from "vitest";
import { type Program, startProgram } from "../../end-to-end/support/program.js";

/* The program in a process of its own, for what concerns a process: signals, crashes, restarts. */

export interface ProcessOptions {
  readonly folder: string;
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  /** JavaScript that runs in the process before the program, for faults no user can cause. */
  readonly before?: string;
}

/** Starts the program; killed with the test. */
export function startProcess({ folder, args = ["run"], env, before }: ProcessOptions): Program {
  const imported = { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(before ?? "")}` };
  const program = startProgram(args, { folder, env: { ...env, ...(before !== undefined && imported) } });
  onTestFinished(() => void program.end("SIGKILL"));
  return program;
}

/** One parsed line of the log each; what is no JSON is `{msg: <line>}`. */
export const linesOf = ({ stderr }: Program): readonly Readonly<Record<string, unknown>>[] =>
  stderr
    .split("\n")
    .filter((line) => line !== "")
    .map(parsed);

function parsed(line: string): Readonly<Record<string, unknown>> {
  try {
    return JSON.parse(line) as Readonly<Record<string, unknown>>;
  } catch {
    return { msg: line };
  }
}

export const logged = (program: Program, text: string, from = 0) =>
  linesOf(program)
    .slice(from)
    .find(({ msg }) => typeof msg === "string" && msg.includes(text));

export const says = (program: Program, text: string): boolean => logged(program, text) !== undefined;
