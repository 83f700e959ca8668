import type { CommandService } from "../commands/service.js";
import type { LiveSettings } from "../config/live-settings.js";
import type { Configuration } from "../config/schema.js";
import { isoOrNull } from "../greenhouse/documents.js";
import type { BridgeEvent } from "../greenhouse/events.js";
import type { Actuator, Controller } from "../greenhouse/model.js";
import type { Journal } from "../journal/journal.js";
import type { BrokerConnection } from "../mqtt/connection.js";
import type { Outputs } from "../mqtt/outputs.js";
import type { Topics } from "../mqtt/topics.js";
import type { PlatformClient } from "../platform/client.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger, RecentLog } from "../runtime/log.js";
import type { ServiceManager } from "../runtime/systemd.js";
import type { Mirror } from "../sync/mirror.js";
import { jobIntervalMs, type PollIntervals, type PollJob } from "../sync/poll-plan.js";
import type { PollOperation } from "../sync/poll-reads.js";
import type { GreenhouseStore } from "../sync/store.js";
import type { SelfTest } from "./self-test.js";

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
  readonly commands: CommandService;
  readonly outputs: Outputs;
  readonly onEvent: (event: BridgeEvent) => void;
}

/** What the bridge has learnt about itself in this run. */
export interface OwnFacts {
  /** Monotonic ms. */
  readonly startedAt: number;
  /** 99th percentile of the event loop's delay, ms. */
  readonly lagMs: number;
  readonly brokerState: string;
  /** Whether the broker's messages arrive. */
  readonly hearing: Pick<SelfTest, "deafSince" | "heardAt" | "counters">;
  /** `since`: epoch ms. */
  readonly otherBridge: { readonly client: string | null; readonly since: number } | null;
  readonly overdue: readonly Overdue[];
  readonly clockJumps: number;
  readonly wrongTokens: number;
}

/** What `bridge/health` tells. */
export function healthDocument(sources: StatusParts, own: OwnFacts): Readonly<Record<string, unknown>> {
  const { clock, live, mirror, connection, platform, configuration, journal } = sources;
  const { store, poller, budget } = mirror;
  const now = clock.monotonic();
  const wall = (mono: number | null) => isoOrNull(mono === null ? null : clock.now() - (now - mono));
  const oldest = oldestReading(store.controllers());
  const callsPerHour = poller.callsPerHour();
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
    platform: platformHealth(sources),
    requests_left: budget.left(now),
    effective_intervals: effectiveIntervals(configuration.polling, poller.stretch),
    calls_per_hour: {
      total: Object.values(callsPerHour).reduce((sum, calls) => sum + calls, 0),
      budget: 60 * configuration.platform.requests_per_minute || null,
      ...callsPerHour,
    },
    last_contact_business: wall(platform.link("business").contactAt),
    last_contact_realtime: wall(platform.link("realtime").contactAt),
    oldest_reading_at: isoOrNull(oldest?.at ?? null),
    oldest_reading: oldest?.sensor ?? null,
    journal: journalHealth(sources),
    unreadable: platform.shapeReports(),
    overdue: own.overdue,
    addresses_seen: mirror.seen.list().length,
    unlisted_addresses: [...poller.unlisted().values()].reduce((sum, { size }) => sum + size, 0),
    read_only: live.current.commands.read_only,
    read_only_because: live.readOnlyBecause,
    other_bridge: own.otherBridge && { ...own.otherBridge, since: isoOrNull(own.otherBridge.since) },
  };
}

const platformHealth = ({ mirror, platform }: StatusParts) => ({
  state: mirror.watch.state,
  controllers: mirror.store.size,
  ...platform.counters(),
  push: platform.pushCounters(),
});

const journalHealth = ({ journal, commands }: StatusParts) => ({
  ...journal.state(),
  open_commands: commands.commander.open.length,
  results_waiting: commands.outbox.waiting,
  results_held_back: commands.commander.heldBack,
});

/** The good reading measured longest ago: what a person should look at first. */
function oldestReading(controllers: Iterable<Controller>): { at: number; sensor: string } | null {
  let oldest: { at: number; sensor: string } | null = null;
  for (const controller of controllers) {
    for (const sensor of controller.sensors.values()) {
      if (sensor.measuredAt === null || (oldest !== null && sensor.measuredAt >= oldest.at)) continue;
      oldest = { at: sensor.measuredAt, sensor: `${controller.info.id}/${sensor.definition.id}` };
    }
  }
  return oldest;
}

/** Seconds. */
function effectiveIntervals(intervals: PollIntervals, stretch: number): Readonly<Record<string, number>> {
  const effective = (ms: number) => Math.round(ms * stretch) / 1_000;
  return {
    controllers_s: effective(intervals.controllers),
    sensors_s: effective(intervals.sensors),
    running_status_s: effective(intervals.running_status),
    actuators_s: effective(intervals.actuators),
  };
}

/** What `bridge/info` tells: the settings by name, so that a secret added later cannot slip in. */
export function bridgeInfo(
  { platform, mqtt, homeassistant, polling, commands, mirror }: Configuration,
  store: GreenhouseStore,
  run: {
    readonly version: string;
    /** Random id of this run. */
    readonly instance: string;
    readonly startedAt: number;
    readonly readOnlyBecause: string | null;
    /** Null where there is no link. */
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

// Without user, password and query, whatever stands there.
const hostOf = (url: string): string => {
  const { protocol, host } = new URL(url);
  return `${protocol}//${host}`;
};

/** A promised read or topic that is late. */
export interface Overdue {
  /** Topic id; null for the account's own list. */
  readonly controller: string | null;
  /** `controllers`, `sensors`, `running_status`, or a topic: `actuator/roof`, `sensor/air`, `parameter/ec`. */
  readonly what: string;
  /** ISO time from which on it is late. */
  readonly since: string;
}

export interface OverdueFacts {
  /** Monotonic ms, as all instants here; `wall` is the epoch ms of the same moment. */
  readonly now: number;
  readonly wall: number;
  readonly startedAt: number;
  readonly intervals: PollIntervals;
  readonly stretch: number;
  readonly controllers: Iterable<Controller>;
  readonly hasReadings: (code: string) => boolean;
  readonly answeredAt: (operation: PollOperation, code: string | null) => number | null;
  /** When the controller came to the mirror. */
  readonly knownSince: (code: string) => number;
}

/** Late is what has been missed three times over; a request may also take its time. */
const patience = 3;
const graceMs = 30_000;
const mostListed = 100;

/** Everything that is late now, the longest first; and of which controllers all that was promised has been answered in time. */
export function overdueOf(facts: OverdueFacts): {
  readonly late: readonly Overdue[];
  readonly upToDate: ReadonlySet<string | null>;
} {
  const upToDate = new Set<string | null>();
  const late: { readonly since: number; readonly controller: string | null; readonly what: string }[] = [];
  const judge = (controller: Controller | null, what: string, lastAt: number | null, job: PollJob) => {
    const intervalMs = jobIntervalMs(job, facts.intervals, controller ?? undefined) * facts.stretch;
    const known = controller === null ? facts.startedAt : facts.knownSince(controller.info.code);
    const from = lastAt ?? known;
    const id = controller?.info.id ?? null;
    const isLate = facts.now - from > patience * intervalMs + graceMs;
    if (isLate || lastAt === null) upToDate.delete(id);
    if (isLate) late.push({ since: from + intervalMs, controller: id, what });
  };
  upToDate.add(null);
  judge(null, "controllers", facts.answeredAt("controllers", null), { kind: "controllers" });
  for (const controller of facts.controllers) {
    upToDate.add(controller.info.id);
    judgeController(controller, facts, judge);
  }
  const listed = late.sort((one, other) => one.since - other.since).slice(0, mostListed);
  const iso = (at: number) => new Date(facts.wall - (facts.now - at)).toISOString();
  return { late: listed.map(({ since, ...rest }) => ({ ...rest, since: iso(since) })), upToDate };
}

type Judge = (controller: Controller, what: string, lastAt: number | null, job: PollJob) => void;

function judgeController(controller: Controller, facts: OverdueFacts, judge: Judge): void {
  const { code } = controller.info;
  if (facts.hasReadings(code)) {
    const sensorsAt = facts.answeredAt("sensors", code);
    judge(controller, "sensors", sensorsAt, { kind: "sensors", code });
    const statusAt = facts.answeredAt("running_status", code);
    judge(controller, "running_status", statusAt, { kind: "running_status", code });
    // Answers come, but one of the configured sensors is never in them.
    if (sensorsAt !== null)
      for (const { id, ignore } of controller.settings?.sensors ?? [])
        if (!ignore && !controller.sensors.has(id))
          judge(controller, `sensor/${id}`, null, { kind: "sensors", code });
  }
  const register = { kind: "registers", code, read: { type: "address", address: "" } } as const;
  for (const [id, actuator] of controller.actuators)
    judge(controller, `actuator/${id}`, oldestRead(actuator), register);
  for (const [id, parameter] of controller.parameters)
    judge(controller, `parameter/${id}`, parameter.register?.startedAt ?? null, register);
}

/** An actuator is as current as the address read longest ago. */
function oldestRead({ registers }: Actuator): number | null {
  const starts = Object.values(registers).map(({ startedAt }) => startedAt);
  return starts.length === 0 ? null : Math.min(...starts);
}
