import type { Configuration } from "../config/schema.js";

export interface BrokerUser {
  readonly username: string;
  /** Plain, or a hash made by `hashPassword`. */
  readonly password: string;
  /** Topic filters; without them the defaults of `access.ts`. */
  readonly publish?: readonly string[];
  readonly subscribe?: readonly string[];
}

export interface BrokerLimits {
  /** Connected clients beside the bridge. */
  readonly clients: number;
  /** Largest payload; topic and properties may add a little. */
  readonly packetBytes: number;
  /** Retained topics that clients other than the bridge may create, together. */
  readonly retainedTopics: number;
  /** What their retained messages may take in memory, together. */
  readonly retainedBytes: number;
  /** Wrong logins for a name within a minute, from one source, before further ones wait for their turn. */
  readonly loginAttempts: number;
  /** From one turn to the next. */
  readonly loginTurnMs: number;
  /** Until a new socket must have sent its CONNECT. */
  readonly connectTimeoutMs: number;
  /** A subscriber that takes nothing for this long is disconnected. */
  readonly drainTimeoutMs: number;
  /** How long others wait for a subscriber that takes nothing, before they go on without it. */
  readonly stallGraceMs: number;
  readonly bufferedBytes: number;
  /** Topic filters of one client. */
  readonly filters: number;
  /** Filters in one packet; more of them end the connection. */
  readonly filtersPerPacket: number;
  /** Length of one filter. */
  readonly filterBytes: number;
  /** Levels of all filters of all clients together; persistent sessions have as many again. */
  readonly filterLevels: number;
  /** Sockets without a CONNECT; one more closes the oldest of them. */
  readonly silentSockets: number;
  /** Messages kept for a persistent session, each. */
  readonly sessionMessages: number;
  /** What is kept for all persistent sessions may take in memory, together. */
  readonly sessionBytes: number;
}

// Ordinary messages take about a kilobyte, so the limits by number come first. These two keep what clients store far
// below the memory the service may take (512 MiB): the bridge would end together with its broker.
const storeBytes = 32 * 1024 * 1024;

export const defaultBrokerLimits: BrokerLimits = {
  clients: 100,
  packetBytes: 256 * 1024,
  retainedTopics: 1_000,
  retainedBytes: storeBytes,
  loginAttempts: 10,
  loginTurnMs: 2_000,
  connectTimeoutMs: 5_000,
  drainTimeoutMs: 15_000,
  stallGraceMs: 250,
  bufferedBytes: 8 * 1024 * 1024,
  // Home Assistant subscribes to every topic by itself, 500 in a packet; a controller has some 130.
  filters: 5_000,
  filtersPerPacket: 1_000,
  filterBytes: 512,
  // A level takes some 200 bytes.
  filterLevels: 160_000,
  silentSockets: 64,
  sessionMessages: 1_000,
  sessionBytes: storeBytes,
};

export interface BrokerTopics {
  readonly base: string;
  /** Home Assistant's birth and will topic. */
  readonly status: string;
  readonly discoveryPrefix: string;
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

export interface BrokerCounters {
  readonly clients: number;
  readonly accepted: number;
  readonly refusedLogins: number;
  /** Connections turned away because too many wait already after wrong logins. */
  readonly blockedLogins: number;
  readonly refusedClients: number;
  readonly discardedPublishes: number;
  readonly refusedSubscriptions: number;
  readonly oversized: number;
  readonly silentClosed: number;
  readonly slowClosed: number;
  readonly droppedForSessions: number;
  readonly protocolErrors: number;
}

/** The counters as their owners write them. */
export type BrokerTally = { -readonly [Key in Exclude<keyof BrokerCounters, "clients">]: number };

export const emptyTally = (): BrokerTally => ({
  accepted: 0,
  refusedLogins: 0,
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

/** Why the embedded broker did not start. `key` is the configuration key to look at; `portInUse` allows another try. */
export class BrokerStartError extends Error {
  override name = "BrokerStartError" as const;
  readonly key: string;
  readonly portInUse: boolean;

  constructor(key: string, message: string, options: { portInUse?: boolean; cause?: unknown } = {}) {
    super(`${key}: ${message}`, { cause: options.cause });
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

/** The configuration in this folder's words. */
export function brokerSettings({
  broker,
  mqtt,
  homeassistant,
}: Pick<Configuration, "broker" | "mqtt" | "homeassistant">): BrokerSettings {
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
    },
  };
}
