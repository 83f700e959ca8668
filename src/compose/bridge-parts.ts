import type { Configuration } from "../config/schema.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/logger.js";
import type { Random } from "../runtime/random.js";

/** What the outside gives a bridge to run with. */
export interface BridgeSurroundings {
  readonly configuration: Configuration;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly setLogLevel: (level: string) => void;
  readonly version: string;
}
