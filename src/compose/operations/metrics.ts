import { type PollCost, pollOperations } from "../../bridge/poll-cost.js";
import type { Controller, PlatformState } from "../../greenhouse/model.js";
import { type MetricFamily, type MetricSample, metricsText } from "../../http/metrics-text.js";
import type { ConnectionCounters } from "../../mqtt/connection.js";
import type { PlatformCounters, PushCounters } from "../../platform/client.js";
import type { CommandTally } from "./command-tally.js";
import { type MetricName, metricPrefix, metricsCatalog } from "./metrics-catalog.js";
import { pollResults, type ReadBook } from "./read-book.js";

/** Everything `/metrics` shows, as it is now. Durations are ms. */
export interface MetricFacts {
  readonly version: string;
  readonly nodeVersion: string;
  readonly uptimeMs: number;
  readonly memory: { readonly rss: number; readonly heapUsed: number };
  readonly lagMs: number;
  readonly clockJumps: number;
  readonly wrongTokens: number;
  readonly commands: CommandTally;
  readonly openCommands: number;
  readonly resultsWaiting: number;
  readonly isReadOnly: boolean;
  readonly hasOtherBridge: boolean;
  readonly platformState: PlatformState | null;
  /** Since the last answer; null while there was none. */
  readonly contactMs: { readonly business: number | null; readonly realtime: number | null };
  readonly platformReconnects: number;
  readonly reads: ReadBook;
  readonly platform: PlatformCounters;
  /** Null without a limit. */
  readonly budgetLeft: number | null;
  readonly stretch: number;
  readonly callsPerHour: PollCost;
  readonly push: PushCounters;
  readonly unreadableShapes: number;
  readonly controllers: Iterable<Controller>;
  readonly overdue: number;
  readonly isConnected: boolean;
  readonly isDeaf: boolean;
  readonly broker: ConnectionCounters;
  readonly selfTests: { readonly heard: number; readonly failed: number };
  readonly journal: { readonly available: boolean; readonly bytes: number; readonly sequence: number };
}

/** The page of `/metrics`. */
export function metricsPage(facts: MetricFacts): string {
  const samples: Readonly<Record<MetricName, readonly MetricSample[]>> = {
    ...processSamples(facts),
    ...commandSamples(facts),
    ...platformSamples(facts),
    ...mirrorSamples(facts),
    ...brokerSamples(facts),
    ...journalSamples(facts),
  };
  const names = Object.keys(metricsCatalog) as MetricName[];
  return metricsText(
    names.map((name): MetricFamily => {
      const { type, help } = metricsCatalog[name];
      return { name: `${metricPrefix}${name}`, type, help, samples: samples[name] };
    }),
  );
}

const one = (value: number): readonly MetricSample[] => [{ value }];
const flag = (value: boolean): readonly MetricSample[] => one(value ? 1 : 0);
const secondsOf = (ms: number | null): number => (ms === null ? NaN : ms / 1_000);

const processSamples = (facts: MetricFacts) => ({
  build_info: [{ labels: { version: facts.version, node: facts.nodeVersion }, value: 1 }],
  uptime_seconds: one(secondsOf(facts.uptimeMs)),
  resident_memory_bytes: one(facts.memory.rss),
  heap_used_bytes: one(facts.memory.heapUsed),
  event_loop_lag_seconds: one(secondsOf(facts.lagMs)),
  clock_jumps_total: one(facts.clockJumps),
  http_wrong_tokens_total: one(facts.wrongTokens),
});

const commandSamples = (facts: MetricFacts) => ({
  commands_total: facts.commands.byOutcome(),
  command_refusals_total: facts.commands.byReason(),
  command_duration_seconds: facts.commands.durations(),
  commands_open: one(facts.openCommands),
  results_waiting: one(facts.resultsWaiting),
  read_only: flag(facts.isReadOnly),
  other_bridge: flag(facts.hasOtherBridge),
});

const platformStates: readonly PlatformState[] = ["online", "degraded", "unauthorized", "unreachable"];

const platformSamples = ({ platform, push, reads, ...facts }: MetricFacts) => ({
  platform_state: platformStates.map((state) => ({
    labels: { state },
    value: state === facts.platformState ? 1 : 0,
  })),
  platform_last_contact_seconds: (["business", "realtime"] as const).map((host) => ({
    labels: { host },
    value: secondsOf(facts.contactMs[host]),
  })),
  platform_reconnects_total: one(facts.platformReconnects),
  polls_total: pollOperations.flatMap((operation) =>
    pollResults.map((result) => ({ labels: { operation, result }, value: reads.count(operation, result) })),
  ),
  polling_calls_per_hour: pollOperations.map((operation) => ({
    labels: { operation },
    value: facts.callsPerHour[operation],
  })),
  requests_total: one(platform.requests),
  control_posts_total: one(platform.writes),
  sign_ins_total: one(platform.signins),
  request_retries_total: one(platform.retries),
  request_failures_total: one(platform.failures),
  requests_held_total: one(platform.paused),
  request_budget_left: one(facts.budgetLeft ?? Infinity),
  polling_stretch_ratio: one(facts.stretch),
  push_channels: one(push.open),
  push_connects_total: one(push.connects),
  push_lost_total: one(push.lost),
  push_failures_total: one(push.failures),
  push_frames_total: one(push.frames),
  unreadable_shapes: one(facts.unreadableShapes),
});

function mirrorSamples({ controllers, overdue }: MetricFacts) {
  const availability = { online: 0, offline: 0, unknown: 0 };
  const readings = { good: 0, uncertain: 0, stale: 0, bad: 0 };
  const actuators = { good: 0, uncertain: 0, stale: 0, bad: 0 };
  for (const controller of controllers) {
    availability[controller.availability] += 1;
    for (const { quality } of controller.sensors.values()) readings[quality] += 1;
    for (const { quality } of controller.actuators.values()) actuators[quality] += 1;
  }
  return {
    controllers: byLabel("availability", availability),
    readings: byLabel("quality", readings),
    actuators: byLabel("quality", actuators),
    overdue: one(overdue),
  };
}

const byLabel = (label: string, counts: Readonly<Record<string, number>>): readonly MetricSample[] =>
  Object.entries(counts).map(([word, value]) => ({ labels: { [label]: word }, value }));

const brokerSamples = ({ broker, selfTests, ...facts }: MetricFacts) => ({
  broker_connected: flag(facts.isConnected),
  broker_deaf: flag(facts.isDeaf),
  broker_connects_total: one(broker.connects),
  broker_disconnects_total: one(broker.disconnects),
  broker_refusals_total: one(broker.refused),
  broker_takeovers_total: one(broker.takenOver),
  broker_self_tests_total: byLabel("result", selfTests),
  messages_published_total: one(broker.published),
  messages_lost_total: one(broker.dropped + broker.unacknowledged + broker.publishRefused),
  messages_received_total: one(broker.received),
});

const journalSamples = ({ journal }: MetricFacts) => ({
  journal_available: flag(journal.available),
  journal_bytes: one(journal.bytes),
  journal_records: one(journal.sequence),
});
