import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import type { Configuration } from "../../config/schema.js";
import type { Controller } from "../../greenhouse/model.js";
import type { Journal } from "../../journal/journal.js";
import type { PollCost } from "../../sync/poll-plan.js";
import type { GreenhouseStore } from "../../sync/store.js";
import type { CommandDesk } from "../../commands/desk.js";
import type { BridgeSurroundings } from "../surroundings.js";
import type { LiveSettings } from "../../config/live-settings.js";
import type { Mirror } from "../mirror.js";
import type { Outputs } from "../outputs.js";
import type { Operations } from "./operations.js";

/** The good reading measured longest ago: what a person should look at first. */
export function oldestReading(
  controllers: Iterable<Controller>,
): { readonly at: number; readonly sensor: string } | null {
  let oldest: { at: number; sensor: string } | null = null;
  for (const controller of controllers) {
    for (const sensor of controller.sensors.values()) {
      if (sensor.measuredAt === null || (oldest !== null && sensor.measuredAt >= oldest.at)) continue;
      oldest = { at: sensor.measuredAt, sensor: `${controller.info.id}/${sensor.definition.id}` };
    }
  }
  return oldest;
}

export function countsOf(store: GreenhouseStore) {
  let online = 0;
  let sensors = 0;
  let actuators = 0;
  for (const controller of store.controllers()) {
    if (controller.availability === "online") online++;
    sensors += controller.sensors.size;
    actuators += controller.actuators.size;
  }
  return { controllers: store.size, online, sensors, actuators };
}

export interface HealthFacts {
  readonly uptimeMs: number;
  readonly rssBytes: number;
  readonly eventLoopLagMs: number;
  readonly broker: Readonly<Record<string, unknown>>;
  readonly platform: Readonly<Record<string, unknown>>;
  readonly requestsLeft: number | null;
  readonly effectiveIntervals: Readonly<Record<string, number>>;
  readonly callsPerHour: PollCost;
  /** Null without a limit. */
  readonly budgetPerHour: number | null;
  readonly lastContactBusinessAt: number | null;
  readonly lastContactRealtimeAt: number | null;
  readonly oldest: { readonly at: number; readonly sensor: string } | null;
  readonly journal: Readonly<Record<string, unknown>> | null;
  readonly unreadable: unknown;
  readonly overdue: readonly unknown[];
  readonly readOnly: { readonly active: boolean; readonly because: string | null };
  readonly otherBridge: unknown;
}

export function healthDocument(facts: HealthFacts): Readonly<Record<string, unknown>> {
  return {
    uptime_s: Math.round(facts.uptimeMs / 1000),
    rss_mb: Math.round(facts.rssBytes / 1024 / 102.4) / 10,
    event_loop_lag_ms: Math.round(facts.eventLoopLagMs * 10) / 10,
    broker: facts.broker,
    platform: facts.platform,
    requests_left: facts.requestsLeft,
    effective_intervals: facts.effectiveIntervals,
    calls_per_hour: {
      total: Object.values(facts.callsPerHour).reduce((sum, calls) => sum + calls, 0),
      budget: facts.budgetPerHour,
      ...facts.callsPerHour,
    },
    last_contact_business: iso(facts.lastContactBusinessAt),
    last_contact_realtime: iso(facts.lastContactRealtimeAt),
    oldest_reading_at: iso(facts.oldest?.at ?? null),
    oldest_reading: facts.oldest?.sensor ?? null,
    journal: facts.journal,
    unreadable: facts.unreadable,
    overdue: facts.overdue,
    read_only: facts.readOnly.active,
    read_only_because: facts.readOnly.because,
    other_bridge: facts.otherBridge,
  };
}

const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());

export interface AccountCounts {
  readonly controllers: number;
  readonly online: number;
  readonly sensors: number;
  readonly actuators: number;
}

/** What `bridge/info` tells: the settings by name, so that a secret added later cannot slip in. */
export function bridgeInfo(
  configuration: Configuration,
  facts: {
    version: string;
    /** Random id of this run. */
    instance: string;
    startedAt: number;
    counts: AccountCounts;
    readOnlyBecause: string | null;
    /** Null where there is no link. */
    mqtt: { readonly version: string; readonly because: string } | null;
  },
): string {
  const { platform, mqtt, homeassistant, polling, commands, mirror } = configuration;
  return JSON.stringify({
    version: facts.version,
    instance: facts.instance,
    started_at: new Date(facts.startedAt).toISOString(),
    account: facts.counts,
    read_only_because: facts.readOnlyBecause,
    mqtt: facts.mqtt,
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

// Without user, password and query, whatever somebody put there.
const hostOf = (url: string): string => {
  const { protocol, host } = new URL(url);
  return `${protocol}//${host}`;
};

const healthEveryMs = 60_000;
const lagResolutionMs = 100;

export interface ReportParts {
  readonly around: BridgeSurroundings;
  readonly mirror: Mirror;
  readonly outputs: Outputs;
  readonly journal: Journal;
  readonly desk: CommandDesk;
  readonly live: LiveSettings;
  readonly operations: Pick<Operations, "health">;
}

/** What the bridge tells of itself: `bridge/info` and `bridge/health`. */
export class BridgeReport {
  readonly #parts: ReportParts;
  readonly #startedAt: number;
  readonly #startedMono: number;
  readonly #lag: IntervalHistogram;

  constructor(parts: ReportParts) {
    this.#parts = parts;
    this.#startedAt = parts.around.clock.now();
    this.#startedMono = parts.around.clock.monotonic();
    this.#lag = monitorEventLoopDelay({ resolution: lagResolutionMs });
  }

  publish(): void {
    const { around, mirror, outputs, live, journal } = this.#parts;
    const facts = {
      version: around.version,
      instance: journal.boot,
      startedAt: this.#startedAt,
      counts: countsOf(mirror.store),
      readOnlyBecause: live.readOnlyBecause,
      mqtt: spoken(outputs.connection),
    };
    outputs.send(outputs.topics.bridge.info, bridgeInfo(live.current, facts));
    outputs.send(outputs.topics.bridge.health, JSON.stringify(this.health()));
  }

  async run(signal: AbortSignal): Promise<void> {
    this.#lag.enable();
    while (!signal.aborted) {
      await this.#parts.around.clock.wait(healthEveryMs, signal).catch(() => undefined);
      if (this.#parts.outputs.connection.state === "online") this.publish();
      this.#lag.reset();
    }
    this.#lag.disable();
  }

  /** 99th percentile of the event loop's delay since the last minute began, ms. */
  lagMs(): number {
    return Math.max(0, this.#lag.percentile(99) / 1e6 - lagResolutionMs);
  }

  health(): Readonly<Record<string, unknown>> {
    const { around, mirror, outputs, journal, desk, operations } = this.#parts;
    const own = operations.health();
    const { store, poller, watch, budget, platform, intervals } = mirror;
    const now = around.clock.monotonic();
    const wall = (mono: number | null) => (mono === null ? null : around.clock.now() - (now - mono));
    return healthDocument({
      uptimeMs: now - this.#startedMono,
      rssBytes: process.memoryUsage.rss(),
      eventLoopLagMs: this.lagMs(),
      broker: { ...own.broker, ...outputs.connection.counters() },
      platform: {
        state: watch.state,
        controllers: store.size,
        ...platform.counters(),
        push: platform.pushCounters(),
      },
      requestsLeft: budget.left(now),
      effectiveIntervals: effectiveIntervals(intervals, poller.stretch),
      callsPerHour: poller.callsPerHour(),
      budgetPerHour: 60 * around.configuration.platform.requests_per_minute || null,
      lastContactBusinessAt: wall(platform.link("business").contactAt),
      lastContactRealtimeAt: wall(platform.link("realtime").contactAt),
      oldest: oldestReading(store.controllers()),
      journal: {
        ...journal.state(),
        open_commands: desk.commander.open.length,
        results_waiting: desk.outbox.waiting,
        results_held_back: desk.commander.heldBack,
      },
      unreadable: platform.shapeReports(),
      overdue: own.overdue,
      readOnly: own.readOnly,
      otherBridge: own.otherBridge,
    });
  }
}

function spoken({ broker, versionReason }: Outputs["connection"]) {
  if (broker === null || versionReason === null) return null;
  return { version: broker.protocolVersion === 5 ? "5" : "3.1.1", because: versionReason };
}

/** Seconds. */
function effectiveIntervals(
  intervals: Mirror["intervals"],
  stretch: number,
): Readonly<Record<string, number>> {
  const effective = (ms: number) => Math.round(ms * stretch) / 1_000;
  return {
    controllers_s: effective(intervals.controllersMs),
    sensors_s: effective(intervals.sensorsMs),
    running_status_s: effective(intervals.runningStatusMs),
    actuators_s: effective(intervals.actuatorsMs),
  };
}
