import { readFile } from "node:fs/promises";
import { systemClock } from "../runtime/clock.js";
import { createLogger } from "../runtime/pino-logger.js";
import { parseFaults } from "../simulator/fault-file.js";
import type { FaultSpec } from "../simulator/faults.js";
import type { NameLanguage } from "../simulator/names.js";
import { printableConfiguration } from "../simulator/printable-configuration.js";
import { profileNames } from "../simulator/profiles.js";
import { startSimulator } from "../simulator/server.js";
import type { CommonOptions } from "./configuration.js";
import { CommandFailure, endOfUse, exitCodes, type Surroundings, untilStopped } from "./surroundings.js";

export interface SimulateOptions {
  readonly port: number;
  readonly controllers: number;
  readonly seed: number;
  readonly speed: number;
  readonly profile: string;
  readonly language: NameLanguage;
  readonly faults?: string;
}

/** `greenhouse2mqtt simulate`: the platform alone, until a signal; prints the configuration lines to paste. */
export async function simulate(
  options: CommonOptions & SimulateOptions,
  around: Surroundings,
): Promise<void> {
  const profile = profileNames.find((name) => name === options.profile);
  if (profile === undefined) {
    throw new CommandFailure(
      `there is no profile "${options.profile}"; use one of ${profileNames.join(", ")}`,
      exitCodes.usage,
    );
  }
  const log = createLogger(
    { level: options.logLevel ?? "info", format: "auto", secrets: () => [] },
    around.err,
  );
  const faults = await readFaults(options.faults);
  const { port, controllers, seed, speed, language } = options;
  const simulator = await startSimulator(
    { port, controllers, seed, speed, language, profile, faults },
    { clock: systemClock, log },
  ).catch((error: unknown) => {
    throw new CommandFailure(
      `port ${port} cannot be opened (${error instanceof Error ? error.message : String(error)}); choose another with --port`,
    );
  });
  around.out(printableConfiguration(simulator));
  await untilStopped(endOfUse(around));
  await simulator.close();
}

async function readFaults(file: string | undefined): Promise<readonly FaultSpec[]> {
  if (file === undefined) return [];
  const { faults, errors } = parseFaults(parseFile(file, await textOf(file)));
  if (errors.length > 0)
    throw new CommandFailure(errors.map((error) => `${file}: ${error}`).join("\n"), exitCodes.usage);
  return faults;
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, "utf8");
  } catch {
    throw new CommandFailure(`${file}: cannot be read; check the path`, exitCodes.usage);
  }
}

function parseFile(file: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CommandFailure(`${file}: is not JSON: ${String(error)}`, exitCodes.usage);
  }
}
