import { readFile } from "node:fs/promises";
import { systemClock } from "../runtime/clock.js";
import { createLogger } from "../runtime/pino-logger.js";
import { parseFaults, printableConfiguration, profileNames, startSimulator } from "../simulator/index.js";
import type { CommonOptions } from "./configuration.js";
import { CommandFailure, exitCodes, type Surroundings } from "./surroundings.js";

export interface SimulateOptions {
  readonly port: number;
  readonly controllers: number;
  readonly seed: number;
  readonly speed: number;
  readonly profile: string;
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
  const log = createLogger({ level: options.logLevel ?? "info", format: "auto", secrets: [] }, around.err);
  const faults = options.faults === undefined ? [] : parseFaults(await readFile(options.faults, "utf8"));
  const { port, controllers, seed, speed } = options;
  const simulator = await startSimulator(
    { port, controllers, seed, speed, profile, faults },
    { clock: systemClock, log },
  );
  around.out(printableConfiguration(simulator));
  await untilStopped(around.stop);
  await simulator.close();
}

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
