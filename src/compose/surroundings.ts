import type { LiveSettings } from "../config/live-settings.js";
import type { Configuration } from "../config/schema.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import type { Random } from "../runtime/random.js";
import type { ServiceManager } from "../runtime/systemd.js";

/** What the outside gives a bridge to run with. */
export interface BridgeSurroundings {
  readonly configuration: Configuration;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Takes a line of each command taken and of each result; without it none is written. */
  readonly commandLog?: Logger | undefined;
  readonly setLogLevel: (level: string) => void;
  readonly version: string;
  /** Where the configuration can be reloaded; without it the one of the start stays in force. */
  readonly live?: LiveSettings;
  /** Told that the bridge is ready, works, and stops. */
  readonly manager?: ServiceManager | null;
  /** Given what lists the tokens learned while running, which must never be shown. */
  readonly onSecrets?: (list: () => readonly string[]) => void;
  /** Called once, when the embedded broker, if there is one, lets clients in. */
  readonly onListening?: () => void;
}
