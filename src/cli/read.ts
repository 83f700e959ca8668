import { textOf } from "../greenhouse/actuator-values.js";
import { controllerTopicId } from "../config/controller-topic-id.js";
import type { Configuration } from "../config/schema.js";
import type { PlatformClient } from "../platform/client.js";
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
  let code = codeOf(configuration, controller);
  const value = await withPlatform(configuration, around, async (platform) => {
    code = await listedCode(platform, code, around.stop);
    return platform.value(code, address, true, around.stop);
  });
  if (value === null) {
    throw new CommandFailure(
      `the platform shows no value for address ${address} of ${code}; check the address, and whether the controller is online`,
    );
  }
  around.out(
    around.isTerminal
      ? `${code} address ${address}: ${textOf(value)}\n`
      : `${JSON.stringify({ controller: code, address, value: textOf(value) })}\n`,
  );
}

/** A controller is named by its device code or by its topic id. */
export function codeOf(configuration: Configuration, controller: string): string {
  for (const [code, { id }] of Object.entries(configuration.controllers)) {
    if (code === controller || id === controller) return code;
  }
  const isCalled = (code: string) =>
    controllerTopicId(code) === controller || code.toLowerCase() === controller;
  return Object.keys(configuration.controllers).find(isCalled) ?? controller;
}

/** A name that is the topic id of a listed controller stands for its code; without the list it is taken as it is. */
async function listedCode(platform: PlatformClient, name: string, signal: AbortSignal): Promise<string> {
  if (name !== name.toLowerCase()) return name;
  const records = await platform.controllers(signal).catch(() => []);
  if (records.some(({ code }) => code === name)) return name;
  return records.find(({ code }) => controllerTopicId(code) === name)?.code ?? name;
}
