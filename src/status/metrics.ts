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
type Read = (sources: MetricSources) => Reading;
/** Further words are labels. */
type Row = readonly [name: string, help: string, read: Read, ...labels: string[]];

/** The count of each word, under one label. */
const counted = (label: string, counts: Readonly<Record<string, number>>): readonly Sample[] =>
  Object.entries(counts).map(([word, count]) => [{ [label]: word }, count]);

type Quality = "good" | "uncertain" | "stale" | "bad";

function qualities(all: Iterable<{ readonly quality: Quality }>) {
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

function sinceContact({ platform, clock }: MetricSources): readonly Sample[] {
  return (["business", "realtime"] as const).map((host) => {
    const at = platform.link(host).contactAt;
    return [{ host }, at === null ? NaN : (clock.monotonic() - at) / 1_000];
  });
}

const pollCounts = ({ mirror: { poller } }: MetricSources): readonly Sample[] =>
  pollOperations.flatMap((operation) =>
    pollResults.map((result): Sample => [{ operation, result }, poller.tally.count(operation, result)]),
  );

const controllersOf = ({ mirror }: MetricSources) => [...mirror.store.controllers()];
const requests = ({ platform }: MetricSources) => platform.counters();
const pushed = ({ platform }: MetricSources) => platform.pushCounters();
const link = ({ connection }: MetricSources) => connection.counters();

/** Names are a promise, like topics. docs/metrics.md lists them; a test keeps both equal. What ends with `_total` counts. */
const metrics: readonly Row[] = [
  [
    "build_info",
    "1, with the versions as labels",
    ({ version }) => [[{ version, node: process.version }, 1]],
    "version",
    "node",
  ],
  [
    "uptime_seconds",
    "Since the start of this run, on the monotonic clock",
    ({ clock, own }) => (clock.monotonic() - own().startedAt) / 1_000,
  ],
  ["resident_memory_bytes", "Memory of the process", () => process.memoryUsage.rss()],
  ["heap_used_bytes", "Used part of the JavaScript heap", () => process.memoryUsage().heapUsed],
  [
    "event_loop_lag_seconds",
    "99th percentile of the event loop's delay, of at most the last minute",
    ({ own }) => own().lagMs / 1_000,
  ],
  ["clock_jumps_total", "How often the wall clock was set since the start", ({ own }) => own().clockJumps],
  ["http_wrong_tokens_total", "Requests with a wrong http.token", ({ own }) => own().wrongTokens],
  ["commands_open", "Commands taken and not ended", ({ desk }) => desk.commander.open.length],
  ["results_waiting", "Results the broker has not taken yet", ({ desk }) => desk.outbox.waiting],
  [
    "read_only",
    "1 while commands are refused by commands.read_only or after a crash loop",
    ({ live }) => live.current.commands.read_only,
  ],
  [
    "other_bridge",
    "1 while another bridge of the same account is seen, and commands are refused",
    ({ own }) => own().hasOtherBridge,
  ],
  [
    "platform_state",
    "1 for the state that bridge/platform shows",
    ({ mirror }) => platformStates.map((state) => [{ state }, state === mirror.watch.state ? 1 : 0]),
    "state",
  ],
  [
    "platform_last_contact_seconds",
    "Since the host last answered; NaN while it has not",
    sinceContact,
    "host",
  ],
  [
    "platform_reconnects_total",
    "How often the platform came back after it was unreachable",
    ({ own }) => own().platformReconnects,
  ],
  ["polls_total", "Reads that polling made, by operation and result", pollCounts, "operation", "result"],
  [
    "polling_calls_per_hour",
    "What polling costs as it is planned now, by operation",
    ({ mirror }) => counted("operation", mirror.poller.callsPerHour()),
    "operation",
  ],
  [
    "requests_total",
    "HTTP requests sent, reads, sign-ins and control values",
    (from) => requests(from).requests,
  ],
  ["control_posts_total", "Control values POSTed", (from) => requests(from).writes],
  ["sign_ins_total", "Sign-ins sent", (from) => requests(from).signins],
  ["request_retries_total", "Requests sent again", (from) => requests(from).retries],
  ["request_failures_total", "Requests without a usable answer", (from) => requests(from).failures],
  [
    "requests_held_total",
    "Calls held back without a request, while a host is away or asks for a pause",
    (from) => requests(from).paused,
  ],
  [
    "request_budget_left",
    "Requests that polling may start now; +Inf without a limit",
    ({ mirror, clock }) => mirror.budget.left(clock.monotonic()) ?? Infinity,
  ],
  [
    "polling_stretch_ratio",
    "By how much the budget stretches all intervals; 1 when it does not",
    ({ mirror }) => mirror.poller.stretch,
  ],
  [
    "push_channels",
    "Push channels that stand; 0 where the platform is only polled",
    (from) => pushed(from).open,
  ],
  ["push_connects_total", "Push channels opened", (from) => pushed(from).connects],
  ["push_lost_total", "Open push channels that ended", (from) => pushed(from).lost],
  ["push_failures_total", "Tries that opened no push channel", (from) => pushed(from).failures],
  ["push_frames_total", "Messages pushed by the platform, readable or not", (from) => pushed(from).frames],
  [
    "unreadable_shapes",
    "Kinds of answers that could not be read",
    ({ platform }) => platform.shapeReports().length,
  ],
  ["controllers", "Controllers, by availability", availabilities, "availability"],
  [
    "readings",
    "Sensors of all controllers, by quality",
    (from) => qualities(controllersOf(from).flatMap(({ sensors }) => [...sensors.values()])),
    "quality",
  ],
  [
    "actuators",
    "Actuators of all controllers, by quality of their state",
    (from) => qualities(controllersOf(from).flatMap(({ actuators }) => [...actuators.values()])),
    "quality",
  ],
  ["overdue", "Promised reads and topics that are late", ({ own }) => own().overdue],
  [
    "broker_connected",
    "1 while the link stands and every subscription is granted",
    ({ connection }) => connection.state === "online",
  ],
  ["broker_deaf", "1 while the broker takes messages but delivers none to us", ({ own }) => own().isDeaf],
  ["broker_connects_total", "Links made", (from) => link(from).connects],
  ["broker_disconnects_total", "Links lost", (from) => link(from).disconnects],
  ["broker_refusals_total", "Links refused by the broker", (from) => link(from).refused],
  [
    "broker_takeovers_total",
    "Links lost to another client with our client id",
    (from) => link(from).takenOver,
  ],
  [
    "broker_self_tests_total",
    "Messages to ourselves, by result",
    ({ own }) => counted("result", own().selfTests),
    "result",
  ],
  ["messages_published_total", "Messages acknowledged by the broker", (from) => link(from).published],
  [
    "messages_lost_total",
    "Messages not sent, not acknowledged or refused; states follow in the next snapshot",
    (from) => link(from).dropped + link(from).unacknowledged + link(from).publishRefused,
  ],
  ["messages_received_total", "Messages received", (from) => link(from).received],
  [
    "journal_available",
    "1 while the journal can be written; 0: commands are refused",
    ({ journal }) => journal.state().available,
  ],
  ["journal_bytes", "Size of the journal on disk", ({ journal }) => journal.state().bytes],
  ["journal_records", "Number of the newest record", ({ journal }) => journal.state().sequence],
];

const prefix = "greenhouse2mqtt_";

/** Has prom-client ask for the figure whenever a page is made. */
function register([name, help, read, ...labelNames]: Row, sources: MetricSources, registry: Registry) {
  const samples = (): readonly Sample[] => {
    const reading = read(sources);
    return typeof reading === "object" ? reading : [[{}, Number(reading)]];
  };
  const common = { name: `${prefix}${name}`, help, labelNames, registers: [registry] };
  if (!name.endsWith("_total")) {
    const gauge: Gauge = new Gauge({
      ...common,
      collect: () => {
        for (const [at, value] of samples()) gauge.set(at, value);
      },
    });
    return;
  }
  const counter: Counter = new Counter({
    ...common,
    collect: () => {
      counter.reset();
      for (const [at, value] of samples()) counter.inc(at, value);
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
    for (const row of metrics) register(row, sources, this.#registry);
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
