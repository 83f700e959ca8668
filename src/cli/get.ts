import { PlatformError } from "../greenhouse/platform-error.js";
import { type CommonOptions, readConfiguration } from "./configuration.js";
import { withPlatform } from "./one-shot-platform.js";
import { CommandFailure, exitCodes, type Surroundings } from "./surroundings.js";

/** `greenhouse2mqtt get OPERATION key=value…`: the platform's answer as it came, as JSON. */
export async function get(
  operation: string,
  parameters: readonly string[],
  options: CommonOptions,
  around: Surroundings,
): Promise<void> {
  const query = Object.fromEntries(parameters.map(keyAndValue));
  const configuration = await readConfiguration(options, around);
  const answer = await withPlatform(configuration, around, (platform) =>
    platform.get(operation, query, around.stop).catch((error: unknown) => {
      if (error instanceof PlatformError && error.facts.kind === "invalid_request") {
        throw new CommandFailure(error.message, exitCodes.usage);
      }
      throw error;
    }),
  );
  around.out(`${JSON.stringify(answer, null, around.isTerminal ? 2 : undefined)}\n`);
}

function keyAndValue(text: string): readonly [string, string] {
  const equals = text.indexOf("=");
  if (equals < 1) throw new CommandFailure(`expected key=value, got "${text}"`, exitCodes.usage);
  return [text.slice(0, equals), text.slice(equals + 1)];
}
