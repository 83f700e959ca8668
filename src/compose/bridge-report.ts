import { type IntervalHistogram, monitorEventLoopDelay } from "node:perf_hooks";
import type { Journal } from "../journal/journal.js";
import { bridgeInfo } from "./bridge-info.js";
import type { BridgeSurroundings } from "./bridge-parts.js";
import type { CommandDesk } from "./command-desk.js";
import { countsOf, healthDocument, oldestReading } from "./health.js";
import type { LiveSettings } from "./live-settings.js";
import type { Mirror } from "./mirror.js";
import type { Operations } from "./operations/operations.js";
import type { Outputs } from "./outputs.js";

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
      lastContactBusinessAt: wall(platform.lastContact("business")),
      lastContactRealtimeAt: wall(platform.lastContact("realtime")),
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
