import { readFileSync } from "node:fs";
import { createPlatform } from "../platform/client.js";
import { platformSettings } from "../platform/settings.js";
import { fileSources, loadConfiguration, secretValues } from "../config/load.js";
import { formatProblem } from "../config/problem.js";
import type { Configuration } from "../config/schema.js";
import { PlatformError } from "../greenhouse/ports.js";
import type { PlatformClient } from "../platform/client.js";
import { systemClock } from "../runtime/clock.js";
import { createLogger } from "../runtime/log.js";
import { systemRandom } from "../runtime/random.js";
import { ignoredTlsEnvironment } from "../runtime/tls.js";

/** What a command may touch of the process it runs in. */
export interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly out: (text: string) => void;
  readonly err: { readonly isTTY?: boolean; write(text: string): unknown };
  readonly isTerminal: boolean;
  /** Aborts on the first SIGINT or SIGTERM. */
  readonly stop: AbortSignal;
  /** Aborts when nobody reads the output any more; a command that goes on until stopped ends then too. */
  readonly outputEnded?: AbortSignal;
  /** Calls the listener at each SIGHUP of a service; without a listener, or in a terminal, a SIGHUP stops the command. */
  readonly onReload?: (listener: () => void) => void;
}

export const exitCodes = { done: 0, failed: 1, usage: 2, notConfirmed: 3 } as const;

/** Ends a command with a sentence for the user and an exit code. */
export class CommandFailure extends Error {
  override name = "CommandFailure" as const;
  readonly exitCode: number;

  constructor(message: string, exitCode: number = exitCodes.failed) {
    super(message);
    this.exitCode = exitCode;
  }
}

export function programVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  const parsed: unknown = JSON.parse(text);
  const version =
    typeof parsed === "object" && parsed !== null && "version" in parsed ? parsed.version : null;
  return typeof version === "string" ? version : "unknown";
}

/** When a command that only has output to offer ends: it was stopped, or nobody reads it. */
export const endOfUse = ({ stop, outputEnded }: Surroundings): AbortSignal =>
  outputEnded === undefined ? stop : AbortSignal.any([stop, outputEnded]);

export function untilStopped(stop: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (stop.aborted) resolve();
    stop.addEventListener(
      "abort",
      () => {
        resolve();
      },
      { once: true },
    );
  });
}

export interface CommonOptions {
  readonly config: string;
  readonly logLevel?: string;
  readonly dataDir?: string;
}

/** The configuration with the command line's overrides; problems go to stderr and end the command with exit code 2. */
export async function readConfiguration(
  options: CommonOptions,
  { env, err }: Surroundings,
): Promise<Configuration> {
  const result = await loadConfiguration(options.config, fileSources(env));
  for (const warning of result.warnings) err.write(`${formatProblem(warning)}\n`);
  if (!result.ok) {
    const lines = result.problems.map(formatProblem).join("\n");
    throw new CommandFailure(lines, exitCodes.usage);
  }
  return overridden(result.configuration, options);
}

export function overridden(
  configuration: Configuration,
  { logLevel, dataDir }: Partial<CommonOptions>,
): Configuration {
  const log = {
    ...configuration.log,
    level: (logLevel ?? configuration.log.level) as Configuration["log"]["level"],
  };
  return { ...configuration, log, data_dir: dataDir ?? configuration.data_dir };
}

/** `secrets`: all that must stay out of the log, when more is known than the configuration holds. */
export function loggerFor(
  configuration: Configuration,
  { err, env }: Surroundings,
  secrets: () => readonly string[] = () => secretValues(configuration),
) {
  const log = createLogger({ ...configuration.log, secrets }, err);
  const ignored = ignoredTlsEnvironment(env);
  if (ignored !== null) log.warn(ignored);
  return log;
}

/** Runs one errand on a platform client of its own and closes it; a platform's error ends the command with its sentence. */
export async function withPlatform<Answer>(
  configuration: Configuration,
  around: Surroundings,
  errand: (platform: PlatformClient) => Promise<Answer>,
): Promise<Answer> {
  const log = loggerFor(configuration, around);
  const platform = createPlatform(platformSettings(configuration.platform), {
    ...{ clock: systemClock, random: systemRandom, log, dataDir: configuration.data_dir },
    onLink: () => undefined,
  });
  try {
    return await errand(platform);
  } catch (error) {
    if (error instanceof PlatformError) throw new CommandFailure(error.message);
    throw error;
  } finally {
    await platform.close();
  }
}
