import type { CommandDesk } from "../commands/desk.js";
import type { LiveSettings } from "../config/live-settings.js";
import type { Configuration } from "../config/schema.js";
import type { BridgeEvent } from "../greenhouse/events.js";
import type { Journal } from "../journal/journal.js";
import type { BrokerConnection } from "../mqtt/connection.js";
import type { Outputs } from "../mqtt/outputs.js";
import type { Topics } from "../mqtt/topics.js";
import type { PlatformClient } from "../platform/client.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger, RecentLog } from "../runtime/log.js";
import type { ServiceManager } from "../runtime/systemd.js";
import type { Mirror } from "../sync/mirror.js";

/** What a bridge looks at to know how it is. */
export interface StatusParts {
  /** That of the start; `live` is what is in force. */
  readonly configuration: Configuration;
  readonly live: LiveSettings;
  readonly version: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly recentLog?: RecentLog | undefined;
  /** Told that the bridge is ready, works, and stops. */
  readonly manager: ServiceManager | null;
  readonly journal: Journal;
  readonly platform: PlatformClient;
  readonly mirror: Mirror;
  readonly connection: BrokerConnection;
  readonly topics: Topics;
  readonly desk: CommandDesk;
  readonly outputs: Outputs;
  readonly onEvent: (event: BridgeEvent) => void;
}
