import { fileSources, loadConfiguration } from "../config/load.js";
import { formatProblem } from "../config/problem.js";
import type { Configuration } from "../config/schema.js";
import { secretValues } from "../config/secret-values.js";
import { createLogger } from "../runtime/pino-logger.js";
import { ignoredTlsEnvironment } from "../runtime/tls-environment.js";
import { CommandFailure, exitCodes, type Surroundings } from "./surroundings.js";

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
