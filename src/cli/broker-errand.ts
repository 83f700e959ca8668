import { randomBytes } from "node:crypto";
import { connectionSettings } from "../compose/connection-settings.js";
import type { Configuration } from "../config/schema.js";
import { BrokerConnection, type IncomingMessage } from "../mqtt/connection.js";
import { topicsUnder } from "../mqtt/topics.js";
import { systemClock } from "../runtime/clock.js";
import type { Logger } from "../runtime/logger.js";
import { systemRandom } from "../runtime/random.js";
import { CommandFailure } from "./surroundings.js";

export interface BrokerErrand {
  readonly configuration: Configuration;
  readonly log: Logger;
  readonly subscriptions?: readonly string[];
  /** Filters whose retained messages are wanted too. */
  readonly withRetained?: readonly string[];
  readonly onMessage?: (message: IncomingMessage) => void;
  /** The link was up and is gone; it is tried again. */
  readonly onDisconnected?: () => void;
  readonly connectMs?: number;
}

/**
 * Runs one errand on a connection of its own beside a running bridge: another client id, no will. Ends with a
 * CommandFailure when the broker cannot be reached in time.
 */
export async function withBroker<Answer>(
  given: BrokerErrand,
  errand: (connection: BrokerConnection) => Promise<Answer>,
): Promise<Answer> {
  const { configuration, log, subscriptions = [], withRetained = [], connectMs = 15_000 } = given;
  const done = new AbortController();
  let connected: () => void = () => undefined;
  const isConnected = new Promise<void>((resolve) => {
    connected = resolve;
  });
  const own = connectionSettings(configuration, topicsUnder(configuration.mqtt.base_topic), null, {
    connected,
    message: given.onMessage,
    disconnected: given.onDisconnected,
  });
  const clientId = `${configuration.mqtt.client_id}-${randomBytes(4).toString("hex")}`;
  const settings = { ...own, clientId, will: undefined, guard: undefined, subscriptions, withRetained };
  const connection = new BrokerConnection(settings, { clock: systemClock, random: systemRandom, log });
  const running = connection.run(done.signal);
  const late = systemClock.wait(connectMs, done.signal).then(() => {
    throw new CommandFailure(
      `no connection to the broker: ${connection.lastFailure ?? "it does not answer"}`,
    );
  });
  late.catch(() => undefined);
  try {
    await Promise.race([isConnected, late]);
    return await errand(connection);
  } finally {
    done.abort();
    await running;
  }
}
