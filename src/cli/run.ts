import { runBridge } from "../compose/bridge.js";
import { systemClock } from "../runtime/clock.js";
import { systemRandom } from "../runtime/random.js";
import { type CommonOptions, loggerFor, readConfiguration } from "./configuration.js";
import { programVersion, type Surroundings } from "./surroundings.js";

/** `greenhouse2mqtt run`: until a signal. */
export async function run(options: CommonOptions, around: Surroundings): Promise<void> {
  const configuration = await readConfiguration(options, around);
  const log = loggerFor(configuration, around);
  const version = programVersion();
  log.info({ version, config: options.config }, "starting");
  const setLogLevel = (level: string) => {
    log.level = level;
  };
  await runBridge(
    { configuration, clock: systemClock, random: systemRandom, log, setLogLevel, version },
    around.stop,
  );
  log.info("stopped");
}
