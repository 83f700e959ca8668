import type { IntervalHistogram } from "node:perf_hooks";
import type { Configuration } from "../config/schema.js";
import type { Core, Running } from "../feature/core.js";
import { isoOrNull } from "../greenhouse/documents.js";
import type { Controller } from "../greenhouse/model.js";
import type { PollIntervals } from "../sync/poll-plan.js";
import type { GreenhouseStore } from "../sync/store.js";
import type { Overdue } from "./overdue.js";
import type { SelfTest } from "./self-test.js";

/** Delay of the event loop since the last `reset`, in nanoseconds, including the timer's resolution. */
export type LoopDelay = Pick<IntervalHistogram, "enable" | "disable" | "reset" | "percentile">;

/** Running features by name. */
export type RunningFeatures = Readonly<Record<string, Running | null>>;

/** Facts that the bridge has gathered about itself in this run. */
export interface OwnFacts {
  /** Monotonic ms. */
  readonly startedAt: number;
  /** 99th percentile of the event loop's delay, in ms. */
  readonly lagMs: number;
  readonly brokerState: string;
  /** Whether messages from the broker arrive. */
  readonly hearing: Pick<SelfTest, "deafSince" | "heardAt" | "counters">;
  /** `since`: epoch ms. */
  readonly otherBridge: { readonly client: string | null; readonly since: number } | null;
  /** Late reads and topics, as many as are listed. */
  readonly overdue: readonly Overdue[];
  readonly overdueCount: number;
  readonly clockJumps: number;
  readonly wrongTokens: number;
  /** Why the bridge made itself read-only; null where it did not. */
  readonly readOnlyBecause: string | null;
}

/** The document of `bridge/health`. */
export function healthDocument(
  core: Core,
  running: RunningFeatures,
  own: OwnFacts,
): Readonly<Record<string, unknown>> {
  const { clock, mirror, connection, platform, configuration, journal } = core;
  const { poller, budget } = mirror;
  const now = clock.monotonic();
  const wall = (mono: number | null) => isoOrNull(mono === null ? null : clock.now() - (now - mono));
  const oldest = oldestReading(mirror.store.controllers());
  return {
    instance: journal.boot,
    uptime_s: Math.round((now - own.startedAt) / 1000),
    rss_mb: Math.round(process.memoryUsage.rss() / 1024 / 102.4) / 10,
    event_loop_lag_ms: Math.round(own.lagMs * 10) / 10,
    broker: {
      state: own.brokerState,
      deaf_since: isoOrNull(own.hearing.deafSince),
      heard_ourselves_at: isoOrNull(own.hearing.heardAt),
      ...connection.counters(),
    },
    platform: platformHealth(core),
    requests_left: budget.remaining(now),
    effective_intervals: effectiveIntervals(configuration.polling, poller.stretch),
    calls_per_hour: callsHealth(core),
    last_contact_business: wall(platform.link("business").contactAt),
    last_contact_realtime: wall(platform.link("realtime").contactAt),
    oldest_reading_at: isoOrNull(oldest?.at ?? null),
    oldest_reading: oldest?.sensor ?? null,
    journal: journalHealth(core),
    unreadable: platform.shapeReports(),
    overdue: own.overdue,
    ...addressHealth(mirror),
    ...standing(core, running, own),
  };
}

function callsHealth({ mirror, configuration }: Core) {
  const calls = mirror.poller.callsPerHour();
  return {
    total: Object.values(calls).reduce((sum, count) => sum + count, 0),
    budget: 60 * configuration.platform.requests_per_minute || null,
    ...calls,
  };
}

const addressHealth = ({ seen, poller }: Core["mirror"]) => ({
  addresses_seen: seen.list().length,
  unlisted_addresses: [...poller.unlistedGroups().values()].reduce((sum, { size }) => sum + size, 0),
  addresses_apart: [...poller.apart().values()].reduce((sum, { size }) => sum + size, 0),
});

/** What keeps commands back, what features report, and who else sends commands. */
const standing = (core: Core, running: RunningFeatures, { otherBridge, readOnlyBecause }: OwnFacts) => ({
  read_only: core.rules().read_only,
  read_only_because: readOnlyBecause,
  ...Object.fromEntries(
    Object.entries(running).flatMap(([name, one]) => (one?.facts ? [[name, one.facts()] as const] : [])),
  ),
  other_bridge: otherBridge && { ...otherBridge, since: isoOrNull(otherBridge.since) },
});

const platformHealth = ({ mirror, platform }: Core) => ({
  state: mirror.watch.state,
  controllers: mirror.store.size,
  ...platform.counters(),
  push: platform.pushCounters(),
});

const journalHealth = ({ journal, commands }: Core) => ({
  ...journal.facts(),
  open_commands: commands.commander.open.length,
  results_waiting: commands.outbox.waiting,
  results_held_back: commands.commander.heldBack,
});

/** The sensor whose newest reading was measured longest ago, averages aside: where a person should look first. */
function oldestReading(controllers: Iterable<Controller>): { at: number; sensor: string } | null {
  let oldest: { at: number; sensor: string } | null = null;
  for (const controller of controllers) {
    for (const sensor of controller.sensors.values()) {
      if (
        sensor.definition.average ||
        sensor.measuredAt === null ||
        (oldest !== null && sensor.measuredAt >= oldest.at)
      )
        continue;
      oldest = { at: sensor.measuredAt, sensor: `${controller.info.id}/${sensor.definition.id}` };
    }
  }
  return oldest;
}

/** The intervals in force, in seconds. */
function effectiveIntervals(intervals: PollIntervals, stretch: number): Readonly<Record<string, number>> {
  const effective = (ms: number) => Math.round(ms * stretch) / 1_000;
  return {
    controllers_s: effective(intervals.controllers),
    sensors_s: effective(intervals.sensors),
    running_status_s: effective(intervals.running_status),
    actuators_s: effective(intervals.actuators),
  };
}

/** The document of `bridge/info`. It names each setting, so that a secret added later cannot slip in. */
export function bridgeInfo(
  { platform, mqtt, homeassistant, polling, commands, mirror }: Configuration,
  store: GreenhouseStore,
  run: {
    readonly version: string;
    /** Random id of this run. */
    readonly instance: string;
    readonly startedAt: number;
    readonly readOnlyBecause: string | null;
    /** Null without a link. */
    readonly mqtt: { readonly version: string; readonly because: string } | null;
  },
): string {
  return JSON.stringify({
    version: run.version,
    instance: run.instance,
    started_at: isoOrNull(run.startedAt),
    account: countsOf(store),
    read_only_because: run.readOnlyBecause,
    mqtt: run.mqtt,
    settings: {
      business_host: hostOf(platform.business_url),
      realtime_host: hostOf(platform.realtime_url),
      time_zone: platform.time_zone,
      requests_per_minute: platform.requests_per_minute,
      concurrency: platform.concurrency,
      push: platform.push.enabled,
      broker: mqtt.url === undefined ? "embedded" : hostOf(mqtt.url),
      client_id: mqtt.client_id,
      base_topic: mqtt.base_topic,
      state_qos: mqtt.state_qos,
      homeassistant: homeassistant.enabled,
      language: homeassistant.language,
      polling_ms: polling,
      commands: { ...commands },
      mirror,
    },
  });
}

function countsOf(store: GreenhouseStore) {
  const all = [...store.controllers()];
  return {
    controllers: store.size,
    online: all.filter(({ availability }) => availability === "online").length,
    sensors: all.reduce((sum, { sensors }) => sum + sensors.size, 0),
    actuators: all.reduce((sum, { actuators }) => sum + actuators.size, 0),
  };
}

// The URL without user, password, path and query.
const hostOf = (url: string): string => {
  const { protocol, host } = new URL(url);
  return `${protocol}//${host}`;
};
