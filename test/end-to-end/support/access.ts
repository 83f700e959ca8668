import type { SimulatedPlatform } from "./platform.js";
import type { Spoken } from "./spoken.js";
import { canaries, type Configuration } from "./stage.js";

/**
 * The `platform` section for a dialect: it signs in, because the answer to that is told by no document either, and says
 * what the dialect cannot be read without. From then on the platform takes nobody who has not signed in.
 */
export async function signedIn(
  configuration: Configuration,
  platform: SimulatedPlatform,
  { shapes }: Spoken,
): Promise<Configuration> {
  await platform.tell("expire_tokens");
  const section = Object.entries(configuration["platform"] as Configuration).filter(
    ([key]) => key !== "token",
  );
  const body = { account: "grower", password: canaries.password };
  return { ...configuration, platform: { ...Object.fromEntries(section), sign_in: { body }, shapes } };
}
