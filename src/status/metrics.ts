import { Counter, Gauge, Histogram, Registry } from "prom-client";
import { type CommandResult, outcomes, refusalReasons } from "../greenhouse/command/outcomes.js";
import { pollOperations } from "../sync/poll-plan.js";
import { pollResults } from "../sync/poll-reads.js";
import type { StatusParts } from "./parts.js";

/** What the figures are taken from, when somebody asks for them. */
export interface MetricSources extends StatusParts {
  /** What the bridge has learnt about itself. */
  readonly own: () => {
    readonly startedAt: number;
    /** 99th percentile of the event loop's delay, ms. */
    readonly lagMs: number;
    readonly clockJumps: number;
    readonly wrongTokens: number;
    readonly platformReconnects: number;
    readonly overdue: number;
    readonly hasOtherBridge: boolean;
    readonly isDeaf: boolean;
    readonly selfTests: { readonly heard: number; readonly failed: number };
  };
}

type Sample = readonly [labels: Readonly<Record<string, string>>, value: number];
type Reading = number | boolean | readonly Sample[];

interface Metric {
  readonly type: "counter" | "gauge";
  readonly help: string;
  readonly labels: readonly string[];
  readonly read: (sources: MetricSources) => Reading;
}

const gauge = (help: string, read: Metric["read"], ...labels: string[]): Metric => ({
  ...{ type: "gauge", help, labels, read },
});
const counter = (help: string, read: Metric["read"], ...labels: string[]): Metric => ({
  ...{ type: "counter", help, labels, read },
});

/** The count of each word, under one label. */
const counted = (label: string, counts: Readonly<Record<string, number>>): readonly Sample[] =>
  Object.entries(counts).map(([word, count]) => [{ [label]: word }, count]);

function countedQualities(all: Iterable<{ readonly quality: "good" | "uncertain" | "stale" | "bad" }>) {
  const counts = { good: 0, uncertain: 0, stale: 0, bad: 0 };
  for (const { quality } of all) counts[quality] += 1;
  return counted("quality", counts);
}

function availabilities({ mirror }: MetricSources) {
  const counts = { online: 0, offline: 0, unknown: 0 };
  for (const { availability } of mirror.store.controllers()) counts[availability] += 1;
  return counted("availability", counts);
}

const platformStates = ["online", "degraded", "unauthorized", "unreachable"] as const;
const hosts = ["business", "realtime"] as const;

function sinceContact({ platform, clock }: MetricSources): readonly Sample[] {
  return hosts.map((host) => {
    const at = platform.link(host).contactAt;
    return [{ host }, at === null ? NaN : (clock.monotonic() - at) / 1_000];
  });
}

const pollCounts = ({ mirror: { poller } }: MetricSources): readonly Sample[] =>
  pollOperations.flatMap((operation) =>
    pollResults.map((result): Sample => [{ operation, result }, poller.tally.count(operation, result)]),
  );

function lostMessages({ connection }: MetricSources): number {
  const { dropped, unacknowledged, publishRefused } = connection.counters();
  return dropped + unacknowledged + publishRefused;
}

/** Names are a promise, like topics. docs/metrics.md lists them; a test keeps both equal. */
const metrics = {
  build_info: gauge(
    "1, with the versions as labels",
    ({ version }) => [[{ version, node: process.version }, 1]],
    "version",
    "node",
  ),
  uptime_seconds: gauge(
    "Since the start of this run, on the monotonic clock",
    ({ clock, own }) => (clock.monotonic() - own().startedAt) / 1_000,
  ),
  resident_memory_bytes: gauge("Memory of the process", () => process.memoryUsage.rss()),
  heap_used_bytes: gauge("Used part of the JavaScript heap", () => process.memoryUsage().heapUsed),
  event_loop_lag_seconds: gauge(
    "99th percentile of the event loop's delay, of at most the last minute",
    ({ own }) => own().lagMs / 1_000,
  ),
  clock_jumps_total: counter(
    "How often the wall clock was set since the start",
    ({ own }) => own().clockJumps,
  ),
  http_wrong_tokens_total: counter("Requests with a wrong http.token", ({ own }) => own().wrongTokens),
  commands_open: gauge("Commands taken and not ended", ({ desk }) => desk.commander.open.length),
  results_waiting: gauge("Results the broker has not taken yet", ({ desk }) => desk.outbox.waiting),
  read_only: gauge(
    "1 while commands are refused by commands.read_only or after a crash loop",
    ({ live }) => live.current.commands.read_only,
  ),
  other_bridge: gauge(
    "1 while another bridge of the same account is seen, and commands are refused",
    ({ own }) => own().hasOtherBridge,
  ),
  platform_state: gauge(
    "1 for the state that bridge/platform shows",
    ({ mirror }) => platformStates.map((state) => [{ state }, state === mirror.watch.state ? 1 : 0]),
    "state",
  ),
  platform_last_contact_seconds: gauge(
    "Since the host last answered; NaN while it has not",
    sinceContact,
    "host",
  ),
  platform_reconnects_total: counter(
    "How often the platform came back after it was unreachable",
    ({ own }) => own().platformReconnects,
  ),
  polls_total: counter("Reads that polling made, by operation and result", pollCounts, "operation", "result"),
  polling_calls_per_hour: gauge(
    "What polling costs as it is planned now, by operation",
    ({ mirror }) => counted("operation", mirror.poller.callsPerHour()),
    "operation",
  ),
  requests_total: counter(
    "HTTP requests sent, reads, sign-ins and control values",
    ({ platform }) => platform.counters().requests,
  ),
  control_posts_total: counter("Control values POSTed", ({ platform }) => platform.counters().writes),
  sign_ins_total: counter("Sign-ins sent", ({ platform }) => platform.counters().signins),
  request_retries_total: counter("Requests sent again", ({ platform }) => platform.counters().retries),
  request_failures_total: counter(
    "Requests without a usable answer",
    ({ platform }) => platform.counters().failures,
  ),
  requests_held_total: counter(
    "Calls held back without a request, while a host is away or asks for a pause",
    ({ platform }) => platform.counters().paused,
  ),
  request_budget_left: gauge(
    "Requests that polling may start now; +Inf without a limit",
    ({ mirror, clock }) => mirror.budget.left(clock.monotonic()) ?? Infinity,
  ),
  polling_stretch_ratio: gauge(
    "By how much the budget stretches all intervals; 1 when it does not",
    ({ mirror }) => mirror.poller.stretch,
  ),
  push_channels: gauge(
    "Push channels that stand; 0 where the platform is only polled",
    ({ platform }) => platform.pushCounters().open,
  ),
  push_connects_total: counter("Push channels opened", ({ platform }) => platform.pushCounters().connects),
  push_lost_total: counter("Open push channels that ended", ({ platform }) => platform.pushCounters().lost),
  push_failures_total: counter(
    "Tries that opened no push channel",
    ({ platform }) => platform.pushCounters().failures,
  ),
  push_frames_total: counter(
    "Messages pushed by the platform, readable or not",
    ({ platform }) => platform.pushCounters().frames,
  ),
  unreadable_shapes: gauge(
    "Kinds of answers that could not be read",
    ({ platform }) => platform.shapeReports().length,
  ),
  controllers: gauge("Controllers, by availability", availabilities, "availability"),
  readings: gauge(
    "Sensors of all controllers, by quality",
    ({ mirror }) =>
      countedQualities([...mirror.store.controllers()].flatMap(({ sensors }) => [...sensors.values()])),
    "quality",
  ),
  actuators: gauge(
    "Actuators of all controllers, by quality of their state",
    ({ mirror }) =>
      countedQualities([...mirror.store.controllers()].flatMap(({ actuators }) => [...actuators.values()])),
    "quality",
  ),
  overdue: gauge("Promised reads and topics that are late", ({ own }) => own().overdue),
  broker_connected: gauge(
    "1 while the link stands and every subscription is granted",
    ({ connection }) => connection.state === "online",
  ),
  broker_deaf: gauge("1 while the broker takes messages but delivers none to us", ({ own }) => own().isDeaf),
  broker_connects_total: counter("Links made", ({ connection }) => connection.counters().connects),
  broker_disconnects_total: counter("Links lost", ({ connection }) => connection.counters().disconnects),
  broker_refusals_total: counter(
    "Links refused by the broker",
    ({ connection }) => connection.counters().refused,
  ),
  broker_takeovers_total: counter(
    "Links lost to another client with our client id",
    ({ connection }) => connection.counters().takenOver,
  ),
  broker_self_tests_total: counter(
    "Messages to ourselves, by result",
    ({ own }) => counted("result", own().selfTests),
    "result",
  ),
  messages_published_total: counter(
    "Messages acknowledged by the broker",
    ({ connection }) => connection.counters().published,
  ),
  messages_lost_total: counter(
    "Messages not sent, not acknowledged or refused; states follow in the next snapshot",
    lostMessages,
  ),
  messages_received_total: counter("Messages received", ({ connection }) => connection.counters().received),
  journal_available: gauge(
    "1 while the journal can be written; 0: commands are refused",
    ({ journal }) => journal.state().available,
  ),
  journal_bytes: gauge("Size of the journal on disk", ({ journal }) => journal.state().bytes),
  journal_records: gauge("Number of the newest record", ({ journal }) => journal.state().sequence),
} as const satisfies Readonly<Record<string, Metric>>;

const prefix = "greenhouse2mqtt_";

function samplesOf(reading: Reading): readonly Sample[] {
  return typeof reading === "object" ? reading : [[{}, Number(reading)]];
}

/** Has prom-client ask for the figure whenever a page is made. */
function register(
  name: string,
  { type, help, labels, read }: Metric,
  sources: MetricSources,
  registry: Registry,
) {
  const common = { name: `${prefix}${name}`, help, labelNames: labels, registers: [registry] };
  if (type === "gauge") {
    const metric: Gauge = new Gauge({
      ...common,
      collect: () => {
        for (const [at, value] of samplesOf(read(sources))) metric.set(at, value);
      },
    });
    return;
  }
  const metric: Counter = new Counter({
    ...common,
    collect: () => {
      metric.reset();
      for (const [at, value] of samplesOf(read(sources))) metric.inc(at, value);
    },
  });
}

/** Upper bounds in seconds: from an answer of a fan to a curtain that travels for minutes. */
const buckets = [0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600];

/** The page of `/metrics`, of one run. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #outcomes: Counter<"outcome">;
  readonly #refusals: Counter<"reason">;
  readonly #durations: Histogram;

  constructor(sources: MetricSources) {
    const registers = [this.#registry];
    this.#outcomes = new Counter({
      ...{ name: `${prefix}commands_total`, help: "Commands answered, by outcome", registers },
      labelNames: ["outcome"],
    });
    this.#refusals = new Counter({
      ...{ name: `${prefix}command_refusals_total`, help: "Refused commands, by reason", registers },
      labelNames: ["reason"],
    });
    this.#durations = new Histogram({
      name: `${prefix}command_duration_seconds`,
      help: "From arrival to result, of commands that were sent to the platform",
      ...{ buckets, registers },
    });
    // Every word is there from the start, so that a rate can be taken.
    for (const outcome of outcomes) this.#outcomes.inc({ outcome }, 0);
    for (const reason of refusalReasons) this.#refusals.inc({ reason }, 0);
    for (const [name, metric] of Object.entries(metrics)) register(name, metric, sources, this.#registry);
  }

  /** Counts how a command ended. */
  note({ outcome, reason, sent_at: sentAt, duration_ms: durationMs }: CommandResult): void {
    this.#outcomes.inc({ outcome });
    if (outcome === "refused" && reason !== null) this.#refusals.inc({ reason });
    if (sentAt !== null) this.#durations.observe(durationMs / 1_000);
  }

  async page(): Promise<string> {
    const text = await this.#registry.metrics();
    // prom-client writes `Nan`, the format says `NaN`.
    return text.replaceAll(/ Nan$/gm, " NaN");
  }
}
