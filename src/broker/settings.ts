import type { CoreConfiguration } from "../settings/sections/core.js";
import { type Text, row, TextError } from "../language/text.js";
import type { BrokerSection } from "./section.js";

export interface BrokerUser {
  readonly username: string;
  /** Plain text, or a hash of `hashPassword`. */
  readonly password: string;
  /** Topic filters; by default those of `acl.ts`. */
  readonly publish?: readonly string[];
  readonly subscribe?: readonly string[];
}

// Ordinary messages take about a kilobyte, so bounds by number come first. These two keep the store well below the
// service's memory (512 MiB), as the bridge would end together with its broker.
const storeBytes = 32 * 1024 * 1024;

export const defaultBrokerLimits = {
  /** Connected clients without the bridge. */
  clients: 100,
  /** The largest payload; topic and properties may add a little. */
  packetBytes: 256 * 1024,
  /** Retained topics and bytes of all clients except the bridge, together. */
  retainedTopics: 1_000,
  retainedBytes: storeBytes,
  /** Wrong logins for one name from one source within a minute, before further ones wait for their turn. */
  loginAttempts: 10,
  /** The time between two turns. */
  loginTurnMs: 2_000,
  /** The time in which a new socket has to send its CONNECT. */
  connectTimeoutMs: 5_000,
  /** A subscriber that accepts nothing for this long is disconnected. */
  drainTimeoutMs: 15_000,
  /** How long others wait for a subscriber that accepts nothing. */
  stallGraceMs: 250,
  bufferedBytes: 8 * 1024 * 1024,
  /** Topic filters of one client. Home Assistant subscribes to each topic by itself, about 130 for a controller. */
  filters: 5_000,
  /** Filters in one packet; more end the connection. Home Assistant sends 500. */
  filtersPerPacket: 1_000,
  filterBytes: 512,
  /** Levels of all filters of all clients, each about 200 bytes; persistent sessions may have as many again. */
  filterLevels: 160_000,
  /** Sockets without a CONNECT; a further one closes the oldest. */
  silentSockets: 64,
  /** Messages kept for each persistent session. */
  sessionMessages: 1_000,
  /** Memory for all persistent sessions together. */
  sessionBytes: storeBytes,
};

export type BrokerLimits = Readonly<typeof defaultBrokerLimits>;

export interface BrokerTopics {
  readonly base: string;
  /** Home Assistant's birth and will topic. */
  readonly status: string;
  readonly discoveryPrefix: string;
  /** Topics where the bridge listens for measured values. */
  readonly weather?: readonly string[];
  /** The bridge as a Sparkplug edge node; absent where Sparkplug is off. */
  readonly sparkplug?: { readonly group: string; readonly node: string };
}

export interface BrokerSettings {
  readonly host: string;
  /** 0 takes any free port; so do the ports below. */
  readonly port: number;
  readonly websocketPort?: number;
  /** PEM texts, or paths of PEM files. */
  readonly tls?: { readonly cert: string; readonly key: string; readonly port: number };
  readonly users: readonly BrokerUser[];
  /** Rights of clients on a broker without users; by default the usual ones. */
  readonly anonymous?: Pick<BrokerUser, "publish" | "subscribe">;
  readonly limits?: Partial<BrokerLimits>;
  readonly topics: BrokerTopics;
}

/** Counters, which their owners increment. */
export const emptyTally = () => ({
  accepted: 0,
  refusedLogins: 0,
  /** Connections refused because too many already wait after wrong logins. */
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

/** The embedded broker did not start. `key`: the configuration key to look at; `portInUse`: another try may succeed. */
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

/** An address at which this machine reaches a listener on `host`, as written in a URL. */
export function reachable(host: string): string {
  const bare = host.replace(/^\[(.*)\]$/, "$1");
  if (bare === "0.0.0.0") return "127.0.0.1";
  if (bare === "::") return "[::1]";
  return bare.includes(":") ? `[${bare}]` : bare;
}

/** The parts of the configuration that the broker needs, including topics that clients of other features use. */
export interface BrokerConfiguration extends Pick<CoreConfiguration, "mqtt" | "weather"> {
  readonly broker: BrokerSection;
  readonly homeassistant: { readonly status_topic: string; readonly discovery_prefix: string };
  readonly sparkplug: { readonly enabled: boolean } & NonNullable<BrokerSettings["topics"]["sparkplug"]>;
}

/** Translates the configuration into the broker's settings. */
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
      // Room for four clients with all filters allowed, each as long as the bridge's topics.
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
