import { openPlatform } from "../compose/open-platform.js";
import type { Configuration } from "../config/schema.js";
import { PlatformError } from "../greenhouse/platform-error.js";
import type { PlatformClient } from "../platform/client.js";
import { systemClock } from "../runtime/clock.js";
import { systemRandom } from "../runtime/random.js";
import { loggerFor } from "./configuration.js";
import { CommandFailure, type Surroundings } from "./surroundings.js";

/** Runs one errand on a platform client of its own and closes it; a platform's error ends the command with its sentence. */
export async function withPlatform<Answer>(
  configuration: Configuration,
  around: Surroundings,
  errand: (platform: PlatformClient) => Promise<Answer>,
): Promise<Answer> {
  const log = loggerFor(configuration, around);
  const parts = { configuration, clock: systemClock, random: systemRandom, log };
  const platform = openPlatform(parts, () => undefined);
  try {
    return await errand(platform);
  } catch (error) {
    if (error instanceof PlatformError) throw new CommandFailure(error.message);
    throw error;
  } finally {
    await platform.close();
  }
}
