import { type CommandResult, outcomes, refusalReasons } from "../../greenhouse/command/outcomes.js";
import type { Controller, PlatformState } from "../../greenhouse/model.js";
import { type MetricFamily, type MetricSample, metricsText } from "../../http/metrics-text.js";
import type { ConnectionCounters } from "../../mqtt/connection/settings.js";
import type { PlatformCounters, PushCounters } from "../../platform/counters.js";
import { type PollCost, pollOperations } from "../../sync/poll-plan.js";
import type { OperationsParts } from "./operations.js";
import { pollResults, type ReadBook } from "./overdue.js";

/*
 * Every metric of `/metrics`: names are a promise, like topics. docs/metrics.md lists them; a test keeps both equal.
 */

export interface MetricDefinition {
  readonly type: "counter" | "gauge" | "histogram";
  readonly help: string;
  readonly labels: readonly string[];
}

const gauge = (help: string, ...labels: string[]): MetricDefinition => ({ type: "gauge", help, labels });
const counter = (help: string, ...labels: string[]): MetricDefinition => ({ type: "counter", help, labels });
const histogram = (help: string): MetricDefinition => ({ type: "histogram", help, labels: ["le"] });

const processMetrics = {
  build_info: gauge("1, with the versions as labels", "version", "node"),
  uptime_seconds: gauge("Since the start of this run, on the monotonic clock"),
  resident_memory_bytes: gauge("Memory of the process"),
  heap_used_bytes: gauge("Used part of the JavaScript heap"),
  event_loop_lag_seconds: gauge("99th percentile of the event loop's delay, of at most the last minute"),
  clock_jumps_total: counter("How often the wall clock was set since the start"),
  http_wrong_tokens_total: counter("Requests with a wrong http.token"),
};

const commandMetrics = {
  commands_total: counter("Commands answered, by outcome", "outcome"),
  command_refusals_total: counter("Refused commands, by reason", "reason"),
  command_duration_seconds: histogram("From arrival to result, of commands that were sent to the platform"),
  commands_open: gauge("Commands taken and not ended"),
  results_waiting: gauge("Results the broker has not taken yet"),
  read_only: gauge("1 while commands are refused by commands.read_only or after a crash loop"),
  other_bridge: gauge("1 while another bridge of the same account is seen, and commands are refused"),
};

const platformMetrics = {
  platform_state: gauge("1 for the state that bridge/platform shows", "state"),
  platform_last_contact_seconds: gauge("Since the host last answered; NaN while it has not", "host"),
  platform_reconnects_total: counter("How often the platform came back after it was unreachable"),
  polls_total: counter("Reads that polling made, by operation and result", "operation", "result"),
  polling_calls_per_hour: gauge("What polling costs as it is planned now, by operation", "operation"),
  requests_total: counter("HTTP requests sent, reads, sign-ins and control values"),
  control_posts_total: counter("Control values POSTed"),
  sign_ins_total: counter("Sign-ins sent"),
  request_retries_total: counter("Requests sent again"),
  request_failures_total: counter("Requests without a usable answer"),
  requests_held_total: counter("Calls held back without a request, while a host is away or asks for a pause"),
  request_budget_left: gauge("Requests that polling may start now; +Inf without a limit"),
  polling_stretch_ratio: gauge("By how much the budget stretches all intervals; 1 when it does not"),
  push_channels: gauge("Push channels that stand; 0 where the platform is only polled"),
  push_connects_total: counter("Push channels opened"),
  push_lost_total: counter("Open push channels that ended"),
  push_failures_total: counter("Tries that opened no push channel"),
  push_frames_total: counter("Messages pushed by the platform, readable or not"),
  unreadable_shapes: gauge("Kinds of answers that could not be read"),
};

const mirrorMetrics = {
  controllers: gauge("Controllers, by availability", "availability"),
  readings: gauge("Sensors of all controllers, by quality", "quality"),
  actuators: gauge("Actuators of all controllers, by quality of their state", "quality"),
  overdue: gauge("Promised reads and topics that are late"),
};

const brokerMetrics = {
  broker_connected: gauge("1 while the link stands and every subscription is granted"),
  broker_deaf: gauge("1 while the broker takes messages but delivers none to us"),
  broker_connects_total: counter("Links made"),
  broker_disconnects_total: counter("Links lost"),
  broker_refusals_total: counter("Links refused by the broker"),
  broker_takeovers_total: counter("Links lost to another client with our client id"),
  broker_self_tests_total: counter("Messages to ourselves, by result", "result"),
  messages_published_total: counter("Messages acknowledged by the broker"),
  messages_lost_total: counter(
    "Messages not sent, not acknowledged or refused; states follow in the next snapshot",
  ),
  messages_received_total: counter("Messages received"),
};

const journalMetrics = {
  journal_available: gauge("1 while the journal can be written; 0: commands are refused"),
  journal_bytes: gauge("Size of the journal on disk"),
  journal_records: gauge("Number of the newest record"),
};

const catalog = {
  ...processMetrics,
  ...commandMetrics,
  ...platformMetrics,
  ...mirrorMetrics,
  ...brokerMetrics,
  ...journalMetrics,
} as const;

/** Without the prefix. */
export type MetricName = keyof typeof catalog;

export const metricPrefix = "greenhouse2mqtt_";

export const metricsCatalog: Readonly<Record<MetricName, MetricDefinition>> = catalog;

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

/** What only the operations side knows. */
type OwnFacts = Pick<
  MetricFacts,
  | "clockJumps"
  | "wrongTokens"
  | "commands"
  | "platformReconnects"
  | "overdue"
  | "hasOtherBridge"
  | "isDeaf"
  | "selfTests"
> & { readonly startedAt: number };

/** Asks every part for its figures. */
export function metricFacts(parts: OperationsParts, { startedAt, ...own }: OwnFacts): MetricFacts {
  const { around, live, journal, mirror, outputs, desk, reads, lagMs } = parts;
  const { platform, watch, budget, poller, store } = mirror;
  const now = around.clock.monotonic();
  const since = (at: number | null) => (at === null ? null : now - at);
  return {
    ...own,
    version: around.version,
    nodeVersion: process.version,
    uptimeMs: now - startedAt,
    memory: process.memoryUsage(),
    lagMs: lagMs(),
    openCommands: desk.commander.open.length,
    resultsWaiting: desk.outbox.waiting,
    isReadOnly: live.current.commands.read_only,
    platformState: watch.state,
    contactMs: {
      business: since(platform.link("business").contactAt),
      realtime: since(platform.link("realtime").contactAt),
    },
    reads,
    platform: platform.counters(),
    budgetLeft: budget.left(now),
    stretch: poller.stretch,
    callsPerHour: poller.callsPerHour(),
    push: platform.pushCounters(),
    unreadableShapes: platform.shapeReports().length,
    controllers: store.controllers(),
    isConnected: outputs.connection.state === "online",
    broker: outputs.connection.counters(),
    journal: journal.state(),
  };
}

/** Upper bounds in seconds: from an answer of a fan to a curtain that travels for minutes. */
const boundsS = [0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600];

/** Counts how commands ended since the start. */
export class CommandTally {
  readonly #outcomes = new Map<string, number>(outcomes.map((outcome) => [outcome, 0]));
  readonly #reasons = new Map<string, number>(refusalReasons.map((reason) => [reason, 0]));
  readonly #buckets = boundsS.map(() => 0);
  #sent = 0;
  #sentS = 0;

  note({ outcome, reason, sent_at: sentAt, duration_ms: durationMs }: CommandResult): void {
    add(this.#outcomes, outcome);
    if (outcome === "refused" && reason !== null) add(this.#reasons, reason);
    if (sentAt === null) return;
    const seconds = durationMs / 1_000;
    this.#sent += 1;
    this.#sentS += seconds;
    for (const [place, bound] of boundsS.entries())
      if (seconds <= bound) this.#buckets[place] = (this.#buckets[place] ?? 0) + 1;
  }

  byOutcome(): readonly MetricSample[] {
    return [...this.#outcomes].map(([outcome, value]) => ({ labels: { outcome }, value }));
  }

  byReason(): readonly MetricSample[] {
    return [...this.#reasons].map(([reason, value]) => ({ labels: { reason }, value }));
  }

  /** From arrival to result, of commands that were sent to the platform. */
  durations(): readonly MetricSample[] {
    const buckets = boundsS.map((bound, place) => ({
      suffix: "_bucket" as const,
      labels: { le: String(bound) },
      value: this.#buckets[place] ?? 0,
    }));
    return [
      ...buckets,
      { suffix: "_bucket", labels: { le: "+Inf" }, value: this.#sent },
      { suffix: "_sum", value: this.#sentS },
      { suffix: "_count", value: this.#sent },
    ];
  }
}

// Only words of the closed lists are counted, so that no text becomes a label.
function add(counts: Map<string, number>, word: string): void {
  const count = counts.get(word);
  if (count !== undefined) counts.set(word, count + 1);
}
