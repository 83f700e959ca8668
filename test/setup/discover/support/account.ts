import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { runProgram } from "../../../../src/cli/program.js";
import { fileSources, loadConfiguration } from "../../../../src/config/load.js";
import { formatProblem } from "../../../../src/config/problem.js";
import type { Configuration } from "../../../../src/config/schema.js";
import type { Simulator } from "../../../../src/simulator/simulator.js";
import type { WatchedPlatform } from "./watched.js";

/* The command as a user calls it, in this process, against a simulated platform over real HTTP. */

export interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface RunOptions {
  readonly stop?: AbortSignal;
  readonly env?: Readonly<Record<string, string>>;
  /** Told everything that goes to stderr. */
  readonly watch?: (text: string) => void;
  readonly isTTY?: boolean;
}

export const token = { GREENHOUSE_TOKEN: "token-of-the-account" };

export async function greenhouse2mqtt(argv: readonly string[], options: RunOptions = {}): Promise<Ended> {
  let out = "";
  let err = "";
  const code = await runProgram(["node", "greenhouse2mqtt", ...argv], {
    env: options.env ?? token,
    out: (text) => {
      out += text;
    },
    err: {
      isTTY: options.isTTY ?? false,
      write: (text: string) => {
        err += text;
        options.watch?.(text);
      },
    },
    isTerminal: false,
    stop: options.stop ?? new AbortController().signal,
  });
  return { code, out, err };
}

export async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "discover-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** A configuration that leads to a simulator and says nothing else, unless told; returns its path. */
export async function configuration(
  simulator: Simulator | WatchedPlatform,
  over: { readonly platform?: string; readonly more?: string } = {},
): Promise<string> {
  const path = join(await folder(), "config.yaml");
  const text = [
    "platform:",
    `  business_url: ${simulator.businessUrl}`,
    `  realtime_url: ${simulator.realtimeUrl}`,
    "  token: !env GREENHOUSE_TOKEN",
    over.platform ?? "  requests_per_minute: 0",
    over.more ?? "",
  ].join("\n");
  await writeFile(path, text, { mode: 0o600 });
  return path;
}

/** What the program makes of a configuration; throws with every problem where it makes nothing of it. */
export async function loaded(
  file: string,
  env: Readonly<Record<string, string>> = token,
): Promise<Configuration> {
  const result = await loadConfiguration(file, fileSources(env));
  if (!result.ok) throw new Error(result.problems.map(formatProblem).join("\n"));
  return result.configuration;
}

/** The same for a text, beside nothing. */
export async function loadedText(
  text: string,
  env: Readonly<Record<string, string>> = token,
): Promise<Configuration> {
  const path = join(await folder(), "found.yaml");
  await writeFile(path, text, { mode: 0o600 });
  return loaded(path, env);
}

/** Flushes the platform was asked for. */
export const flushes = (simulator: Simulator): number => simulator.control.requests()["set-value/flush"] ?? 0;

/** Operations that are no reads. */
export function writes(simulator: Simulator): readonly string[] {
  const counts = simulator.control.requests();
  return (["set-value", "GET set-value", "unknown"] as const).filter((name) => (counts[name] ?? 0) > 0);
}
