import type { PollCost } from "../bridge/poll-cost.js";
import type { GreenhouseStore } from "../bridge/store.js";
import type { Controller } from "../greenhouse/model.js";

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
