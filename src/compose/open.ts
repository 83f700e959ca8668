import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { EmbeddedBroker } from "../broker/broker.js";
import type { RefusedLogin } from "../broker/logins.js";
import type { BrokerSettings } from "../broker/settings.js";
import type { Configuration } from "../config/schema.js";
import { discoveryFilter } from "../homeassistant/removal.js";
import { Journal } from "../journal/journal.js";
import { DirectoryInUse, DirectoryLock, type LockOptions } from "../journal/lock.js";
import type { ConnectionListeners, ConnectionSettings } from "../mqtt/connection/settings.js";
import type { Topics } from "../mqtt/topics.js";
import { createPlatform, type PlatformClient } from "../platform/client.js";
import type { CredentialSettings, PlatformSettings } from "../platform/settings.js";
import { nextTurn } from "../runtime/clock.js";
import type { BridgeSurroundings } from "./live-settings.js";
import { clockAgrees } from "./status/watchdog.js";

/** The lock of the data directory, asked for again as often as it is wanted: a full disk holds no lock, and a deleted one neither. */
export class DirectoryClaim {
  readonly #directory: string;
  readonly #options: LockOptions;
  #lock: DirectoryLock | null = null;

  constructor(directory: string, options: LockOptions) {
    this.#directory = directory;
    this.#options = options;
  }

  /** Resolves once the directory is ours; rejects as `DirectoryLock.acquire` does. One call at a time. */
  async take(): Promise<void> {
    if (await this.#lock?.isHeld()) return;
    const lost = this.#lock;
    this.#lock = null;
    await lost?.release();
    this.#lock = await DirectoryLock.acquire(this.#directory, this.#options);
  }

  async release(): Promise<void> {
    await this.#lock?.release();
    this.#lock = null;
  }
}

export interface OpenJournal {
  readonly journal: Journal;
  /** From now on records say whether our clock agrees with the platform's; `skewMs` is null while nobody knows. */
  compareClock(skewMs: () => number | null): void;
  close(): Promise<void>;
}

export const journalDirectory = (dataDir: string): string => join(dataDir, "journal");

/**
 * Locks the data directory and opens the journal in it. Rejects with DirectoryInUse when another bridge works there; a
 * directory that cannot be written gives a journal that is unavailable, so that mirroring goes on; it comes back only when
 * the directory is locked.
 */
export async function openJournal({ configuration, clock, log }: BridgeSurroundings): Promise<OpenJournal> {
  const boot = randomBytes(8).toString("hex");
  const at = new Date(clock.now()).toISOString();
  const claim = new DirectoryClaim(configuration.data_dir, { boot, at, pid: process.pid, log });
  await claim.take().catch((error: unknown) => {
    if (error instanceof DirectoryInUse) throw error;
    log.error(
      { reason: String(error) },
      "the data directory cannot be written: no commands are taken until it can",
    );
  });
  let skewMs: () => number | null = () => null;
  const clockSynced = () => clockAgrees(skewMs());
  const journal = await Journal.open(journalDirectory(configuration.data_dir), {
    clock,
    log,
    boot,
    clockSynced,
    admit: () => claim.take(),
    // A command's first request leaves before its record does; both are awaited before its POST.
    turn: nextTurn,
  });
  return {
    journal,
    compareClock: (ask) => {
      skewMs = ask;
    },
    close: async () => {
      await journal.close();
      await claim.release();
    },
  };
}

/** The `platform` section in the client's words. */
export function platformSettings(configuration: Configuration): PlatformSettings {
  const { platform } = configuration;
  return {
    businessUrl: platform.business_url,
    realtimeUrl: platform.realtime_url,
    credential: credential(platform),
    timeZone: platform.time_zone,
    timeouts: {
      connectMs: platform.timeouts.connect,
      readMs: platform.timeouts.read,
      controlMs: platform.timeouts.control,
    },
    concurrency: platform.concurrency,
    shapes: platform.shapes,
    push: { credential: platform.push.credential, queryName: platform.push.query_name },
  };
}

function credential(platform: Configuration["platform"]): CredentialSettings {
  if (platform.token !== undefined) return { type: "token", token: platform.token };
  if (platform.token_file !== undefined) return { type: "token_file", path: platform.token_file };
  return { type: "sign_in", body: platform.sign_in?.body ?? {}, tokenPath: platform.sign_in?.token_path };
}

type OnLink = Parameters<typeof createPlatform>[1]["onLink"];

/** The client of the configured account; close it at the end. */
export const openPlatform = (
  {
    configuration,
    clock,
    random,
    log,
  }: Pick<BridgeSurroundings, "configuration" | "clock" | "random" | "log">,
  onLink: OnLink,
): PlatformClient =>
  createPlatform(platformSettings(configuration), {
    clock,
    random,
    log,
    dataDir: configuration.data_dir,
    onLink,
  });

/** Starts the embedded broker where no other is configured; null where one is. Its code is loaded only then. */
export async function startEmbeddedBroker(
  { configuration, clock, log, live }: BridgeSurroundings,
  journal?: Pick<Journal, "append">,
): Promise<EmbeddedBroker | null> {
  if (configuration.mqtt.url !== undefined) return null;
  const { startBroker } = await import("../broker/broker.js");
  // People type passwords into the wrong field, so the name is left out.
  const onRefusedLogin = (refused: RefusedLogin) => {
    const record = { type: "login_failed", listener: "broker", user: null, ...refused } as const;
    journal?.append(record, { durable: false }).catch(() => undefined);
  };
  const broker = await startBroker(brokerSettings(configuration), { clock, log, onRefusedLogin });
  live?.onReload(() => void broker.renewCertificate());
  return broker;
}

function brokerSettings({ broker, mqtt, homeassistant }: Configuration): BrokerSettings {
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

export function connectionSettings(
  configuration: Configuration,
  topics: Topics,
  embedded: Pick<EmbeddedBroker, "url" | "credential"> | null,
  on: ConnectionListeners,
): ConnectionSettings {
  const { mqtt, homeassistant } = configuration;
  const { ca, cert, key, reject_unauthorized: rejectUnauthorized } = mqtt.tls;
  return {
    url: embedded?.url ?? mqtt.url ?? "",
    username: embedded?.credential.username ?? mqtt.username,
    password: embedded?.credential.password ?? mqtt.password,
    clientId: mqtt.client_id,
    protocolVersion: mqtt.protocol_version,
    tls: { ca, cert, key, rejectUnauthorized },
    will: { topic: topics.bridge.state, payload: "offline" },
    markTopic: topics.bridge.mark,
    subscriptions: [...topics.subscriptions, topics.bridge.selfTest],
    // No command depends on these being granted. Of a birth that Home Assistant publishes with the retain flag only the copy kept by the
    // broker carries it here, so the two can be told apart.
    withRetained: [
      ...topics.othersSelfTest,
      ...(homeassistant.enabled
        ? [homeassistant.status_topic, discoveryFilter(homeassistant.discovery_prefix)]
        : []),
    ],
    // A command is refused with its size instead of vanishing: every one has an outcome.
    anySize: (topic) => topics.parse(topic)?.type === "command",
    guard: { topic: topics.bridge.state, expected: "online" },
    on,
  };
}
