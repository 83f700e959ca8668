import type { Configuration } from "../config/schema.js";
import { type CommonOptions, readConfiguration } from "./configuration.js";
import { withPlatform } from "./one-shot-platform.js";
import { CommandFailure, type Surroundings } from "./surroundings.js";

/** `greenhouse2mqtt read CONTROLLER ADDRESS`: the value the device itself gives now. */
export async function read(
  controller: string,
  address: string,
  options: CommonOptions,
  around: Surroundings,
): Promise<void> {
  const configuration = await readConfiguration(options, around);
  const code = codeOf(configuration, controller);
  const value = await withPlatform(configuration, around, (platform) =>
    platform.value(code, address, true, around.stop),
  );
  if (value === null) {
    throw new CommandFailure(
      `the platform shows no value for address ${address} of ${code}; check the address, and whether the controller is online`,
    );
  }
  around.out(
    around.isTerminal
      ? `${code} address ${address}: ${String(value)}\n`
      : `${JSON.stringify({ controller: code, address, value })}\n`,
  );
}

/** A controller is named by its device code or by its topic id. */
export function codeOf(configuration: Configuration, controller: string): string {
  for (const [code, { id }] of Object.entries(configuration.controllers)) {
    if (code === controller || id === controller) return code;
  }
  return (
    Object.keys(configuration.controllers).find((code) => code.toLowerCase() === controller) ?? controller
  );
}
