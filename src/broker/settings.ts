import type { CoreConfiguration } from "../settings/sections/core.js";
import { type Text, row, TextError } from "../language/text.js";
import type { BrokerSection } from "./section.js";

export interface BrokerUser {
  readonly username: string;
  /** Plain, or a hash made by `hashPassword`. */
  readonly password: string;
  /** Topic filters; without them the defaults of `acl.ts`. */
  readonly publish?: readonly string[];
  readonly subscribe?: readonly string[];
}

// Ordinary messages take about a kilobyte, so the limits by number come first. These two keep what clients store far
// below the memory the service may take (512 MiB): the bridge would end together with its broker.
const storeBytes = 32 * 1024 * 1024;

export const defaultBrokerLimits = {
  /** Connected clients beside the bridge. */
  clients: 100,
  /** Largest payload; topic and properties may add a little. */
  packetBytes: 256 * 1024,
  /** Retained topics that clients other than the bridge may create, together, and what they may take in memory. */
  retainedTopics: 1_000,
  retainedBytes: storeBytes,
  /** Wrong logins for a name within a minute, from one source, before further ones wait for their turn. */
  loginAttempts: 10,
  /** From one turn to the next. */
  loginTurnMs: 2_000,
  /** Until a new socket must have sent its CONNECT. */
  connectTimeoutMs: 5_000,
  /** A subscriber that takes nothing for this long is disconnected. */
  drainTimeoutMs: 15_000,
  /** How long others wait for a subscriber that takes nothing, before they go on without it. */
  stallGraceMs: 250,
  bufferedBytes: 8 * 1024 * 1024,
  /** Topic filters of one client. Home Assistant subscribes to every topic by itself; a controller has some 130. */
  filters: 5_000,
  /** Filters in one packet; more of them end the connection. Home Assistant sends 500. */
  filtersPerPacket: 1_000,
  /** Length of one filter. */
  filterBytes: 512,
  /** Levels of all filters of all clients together, of some 200 bytes each; persistent sessions have as many again. */
  filterLevels: 160_000,
  /** Sockets without a CONNECT; one more closes the oldest of them. */
  silentSockets: 64,
  /** Messages kept for a persistent session, each. */
  sessionMessages: 1_000,
  /** What is kept for all persistent sessions may take in memory, together. */
  sessionBytes: storeBytes,
};

export type BrokerLimits = Readonly<typeof defaultBrokerLimits>;

export interface BrokerTopics {
  readonly base: string;
  /** Home Assistant's birth and will topic. */
  readonly status: string;
  readonly discoveryPrefix: string;
  /** Where the bridge listens for measured values. */
  readonly weather?: readonly string[];
  /** The bridge as a Sparkplug edge node; absent where it is none. */
  readonly sparkplug?: { readonly group: string; readonly node: string };
}

export interface BrokerSettings {
  readonly host: string;
  /** 0 takes any free port, also below. */
  readonly port: number;
  readonly websocketPort?: number;
  /** PEM text or paths of PEM files. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly port: number };
  readonly users: readonly BrokerUser[];
  /** Rights of clients on a broker without users, where they are not to be the default ones. */
  readonly anonymous?: Pick<BrokerUser, "publish" | "subscribe">;
  readonly limits?: Partial<BrokerLimits>;
  readonly topics: BrokerTopics;
}

/** The counters as their owners write them. */
export const emptyTally = () => ({
  accepted: 0,
  refusedLogins: 0,
  /** Connections turned away because too many wait already after wrong logins. */
  blockedLogins: 0,
  refusedClients: 0,
  discardedPublishes: 0,
  refusedSubscriptions: 0,
  oversized: 0,
  silentClosed: 0,
  slowClosed: 0,
  droppedForSessions: 0,
  protocolErrors: 0,
});

export type BrokerTally = ReturnType<typeof emptyTally>;

/** Why the embedded broker did not start. `key` is the configuration key to look at; `portInUse` allows another try. */
export class BrokerStartError extends TextError {
  override name = "BrokerStartError" as const;
  readonly key: string;
  readonly portInUse: boolean;

  constructor(key: string, message: Text, options: { portInUse?: boolean; cause?: unknown } = {}) {
    super(row`${key}: ${message}`, { cause: options.cause });
    this.key = key;
    this.portInUse = options.portInUse ?? false;
  }
}

/** An address at which this machine reaches a listener on `host`, as it stands in a URL. */
export function reachable(host: string): string {
  const bare = host.replace(/^\[(.*)\]$/, "$1");
  if (bare === "0.0.0.0") return "127.0.0.1";
  if (bare === "::") return "[::1]";
  return bare.includes(":") ? `[${bare}]` : bare;
}

/** What the broker has to know of the configuration; of others which topics their clients need. */
export interface BrokerConfiguration extends Pick<CoreConfiguration, "mqtt" | "weather"> {
  readonly broker: BrokerSection;
  readonly homeassistant: { readonly status_topic: string; readonly discovery_prefix: string };
  readonly sparkplug: { readonly enabled: boolean } & NonNullable<BrokerSettings["topics"]["sparkplug"]>;
}

/** The configuration in this folder's words. */
export function brokerSettings({
  broker,
  mqtt,
  homeassistant,
  weather,
  sparkplug,
}: BrokerConfiguration): BrokerSettings {
  const { cert, key, port: tlsPort } = broker.tls;
  return {
    host: broker.host,
    port: broker.port,
    websocketPort: broker.websocket_port,
    tls: cert !== undefined && key !== undefined ? { cert, key, port: tlsPort } : undefined,
    users: broker.users,
    limits: {
      clients: broker.limits.clients,
      packetBytes: broker.limits.packet_size,
      retainedTopics: broker.limits.retained_topics,
      filters: broker.limits.filters,
      // Four clients that take all they may, of filters as long as the bridge's topics are.
      filterLevels: broker.limits.filters * 32,
      filtersPerPacket: broker.limits.filters_per_packet,
      filterBytes: broker.limits.filter_length,
      loginAttempts: broker.limits.login_attempts,
    },
    topics: {
      base: mqtt.base_topic,
      status: homeassistant.status_topic,
      discoveryPrefix: homeassistant.discovery_prefix,
      weather: Object.values(weather).map(({ topic }) => topic),
      ...(sparkplug.enabled && { sparkplug }),
    },
  };
}
