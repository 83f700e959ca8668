import { alarmTitles } from "../greenhouse/alarms.js";
import { type CommandResult, outcomes, refusalReasons } from "../greenhouse/command/outcomes.js";
import { isGuard, type Restrictions } from "../greenhouse/limits.js";
import { platformStates } from "../greenhouse/model.js";
import { Counter, Histogram, prefix, register, Registry, type Row, type Sample } from "../runtime/metrics.js";
import { pollOperations, pollResults } from "../sync/poll-reads.js";
import type { Core } from "../feature/core.js";
import type { OwnFacts } from "./health.js";

/** One sample for each word, under one label. */
const samplesOf = (label: string, counts: Readonly<Record<string, number>>): readonly Sample[] =>
  Object.entries(counts).map(([word, count]) => [{ [label]: word }, count]);

/** The number of `all` that equal each of the `words`. */
function tally<Word extends string>(label: string, words: readonly Word[], all: readonly Word[]) {
  return samplesOf(
    label,
    Object.fromEntries(words.map((word) => [word, all.filter((one) => one === word).length])),
  );
}

/* Names of metrics are a promise, like topics. docs/metrics.md lists them; a test keeps both equal. */

function processRows({ version }: Core, { lagMs }: OwnFacts): readonly Row[] {
  const { memoryUsage, version: node } = process;
  const lag = "99th percentile of the event loop's delay, looked at each second";
  return [
    ["build_info", "1, with the versions as labels", [[{ version, node }, 1]], "version", "node"],
    ["resident_memory_bytes", "Memory of the process", memoryUsage.rss()],
    ["heap_used_bytes", "Used part of the JavaScript heap", memoryUsage().heapUsed],
    ["event_loop_lag_seconds", lag, lagMs / 1_000],
  ];
}

function bridgeRows({ clock, commands, rules, journal }: Core, own: OwnFacts): readonly Row[] {
  const { available, bytes, sequence } = journal.facts();
  const uptime = (clock.monotonic() - own.startedAt) / 1_000;
  const readOnly = rules().read_only;
  const rival = "1 while another bridge of the same account is seen, and commands are refused";
  const usable = "1 while the journal can be written; 0: commands are refused";
  return [
    ["uptime_seconds", "Since the start of this run, on the monotonic clock", uptime],
    ["clock_jumps_total", "How often the wall clock was set since the start", own.clockJumps],
    ["http_wrong_tokens_total", "Requests with a wrong http.token", own.wrongTokens],
    ["commands_open", "Commands taken and not ended", commands.commander.open.length],
    ["results_waiting", "Results the broker has not taken yet", commands.outbox.waiting],
    ["read_only", "1 while commands are refused by commands.read_only or after a crash loop", readOnly],
    ["other_bridge", rival, own.otherBridge !== null],
    ["overdue", "Promised reads and topics that are late", own.overdueCount],
    ["journal_available", usable, available],
    ["journal_bytes", "Size of the journal on disk", bytes],
    ["journal_records", "Number of the newest record", sequence],
  ];
}

function platformRows({ platform, mirror, clock }: Core): readonly Row[] {
  const { requests, writes, signins, retries, failures, paused } = platform.counters();
  const push = platform.pushCounters();
  const { state } = mirror.watch;
  const states = tally("state", platformStates, state === null ? [] : [state]);
  const sinceContact = (["business", "realtime"] as const).map((host): Sample => {
    const at = platform.link(host).contactAt;
    return [{ host }, at === null ? NaN : (clock.monotonic() - at) / 1_000];
  });
  const reconnects = "How often the platform came back after it was unreachable";
  const held = "Calls held back without a request, while a host is away or asks for a pause";
  const contact = "Since the host last answered; NaN while it has not";
  return [
    ["platform_state", "1 for the state that bridge/platform shows", states, "state"],
    ["platform_last_contact_seconds", contact, sinceContact, "host"],
    ["platform_reconnects_total", reconnects, mirror.watch.reconnects],
    ["requests_total", "HTTP requests sent, reads, sign-ins and control values", requests],
    ["control_posts_total", "Control values POSTed", writes],
    ["sign_ins_total", "Sign-ins sent", signins],
    ["request_retries_total", "Requests sent again", retries],
    ["request_failures_total", "Requests without a usable answer", failures],
    ["requests_held_total", held, paused],
    ["push_channels", "Push channels that stand; 0 where the platform is only polled", push.open],
    ["push_connects_total", "Push channels opened", push.connects],
    ["push_lost_total", "Open push channels that ended", push.lost],
    ["push_failures_total", "Tries that opened no push channel", push.failures],
    ["push_frames_total", "Messages pushed by the platform, readable or not", push.frames],
    ["unreadable_shapes", "Kinds of answers that could not be read", platform.shapeReports().length],
  ];
}

function mirrorRows({ mirror: { store, poller, budget }, clock }: Core): readonly Row[] {
  const polls = pollOperations.flatMap((operation) =>
    pollResults.map((result): Sample => [{ operation, result }, poller.tally.count(operation, result)]),
  );
  const cost = samplesOf("operation", poller.callsPerHour());
  const left = budget.remaining(clock.monotonic()) ?? Infinity;
  const all = [...store.controllers()];
  const controllers = tally(
    "availability",
    ["online", "offline", "unknown"],
    all.map(({ availability }) => availability),
  );
  const qualitiesOf = (things: "sensors" | "actuators") =>
    tally(
      "quality",
      ["good", "uncertain", "stale", "bad"],
      all.flatMap((controller) => [...controller[things].values()].map(({ quality }) => quality)),
    );
  const stretch = "By how much the budget stretches all intervals; 1 when it does not";
  const actuators = "Actuators of all controllers, by quality of their state";
  return [
    ["polls_total", "Reads that polling made, by operation and result", polls, "operation", "result"],
    ["polling_calls_per_hour", "What polling costs as it is planned now, by operation", cost, "operation"],
    ["request_budget_left", "Requests that polling may start now; +Inf without a limit", left],
    ["polling_stretch_ratio", stretch, poller.stretch],
    ["controllers", "Controllers, by availability", controllers, "availability"],
    ["readings", "Sensors of all controllers, by quality", qualitiesOf("sensors"), "quality"],
    ["actuators", actuators, qualitiesOf("actuators"), "quality"],
  ];
}

const alarmTypes = Object.keys(alarmTitles);

/** Rows about alarms, guards and limits. */
function limitRows({ commands, mirror: { store } }: Core): readonly Row[] {
  const on = commands.limits.alarms.list.filter(({ state }) => state !== "cleared");
  const unseen = on.filter(({ state }) => state === "active").length;
  const byType = tally(
    "type",
    alarmTypes,
    on.map(({ type }) => type),
  );
  const actuators = [...store.controllers()].flatMap((controller) => [...controller.actuators.values()]);
  const because = actuators.flatMap(({ restrictions }) => restrictions?.allowed.because ?? []);
  const guards = because.filter(({ rule }) => isGuard(rule));
  const blind = guards.filter(({ quality }) => quality !== "good" && quality !== null).length;
  const count = (has: (limits: Restrictions) => unknown) =>
    actuators.filter(({ restrictions }) => restrictions && has(restrictions)).length;
  const guardsHelp = "Guards that hold, each counted at each actuator that it limits";
  return [
    ["alarms", "Alarms that are on, by type", byType, "type"],
    ["alarms_unacknowledged", "Alarms that are on and that nobody has seen", unseen],
    ["guards_holding", guardsHelp, guards.length],
    ["guards_blind", "Those of them that hold because their value is not good", blind],
    ["actuators_locked", "Actuators with a lock", count(({ lock }) => lock)],
    ["actuators_held", "Actuators with a hold", because.filter(({ rule }) => rule === "hold").length],
    ["actuators_leased", "Actuators whose command ends by itself", count(({ lease }) => lease)],
  ];
}

function brokerRows({ connection }: Core, { hearing }: OwnFacts): readonly Row[] {
  const link = connection.counters();
  const lost = link.dropped + link.unacknowledged + link.publishRefused;
  const tests = samplesOf("result", hearing.counters);
  const isDeaf = hearing.deafSince !== null;
  const lostHelp = "Messages not sent, not acknowledged or refused; states follow in the next snapshot";
  const connected = "1 while the link stands and every subscription is granted";
  return [
    ["broker_connected", connected, connection.state === "online"],
    ["broker_deaf", "1 while the broker takes messages but delivers none to us", isDeaf],
    ["broker_connects_total", "Links made", link.connects],
    ["broker_disconnects_total", "Links lost", link.disconnects],
    ["broker_refusals_total", "Links refused by the broker", link.refused],
    ["broker_takeovers_total", "Links lost to another client with our client id", link.takenOver],
    ["broker_self_tests_total", "Messages to ourselves, by result", tests, "result"],
    ["messages_published_total", "Messages acknowledged by the broker", link.published],
    ["messages_lost_total", lostHelp, lost],
    ["messages_received_total", "Messages received", link.received],
  ];
}

/** Upper bounds in seconds: from a fan's quick answer to a curtain that travels for minutes. */
const buckets = [0.5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600];

const durationsIn = (registry: Registry): Histogram =>
  new Histogram({
    name: `${prefix}command_duration_seconds`,
    help: "From arrival to result, of commands that were sent to the platform",
    buckets,
    registers: [registry],
  });

export class Metrics {
  readonly #facts: () => readonly [core: Core, own: OwnFacts];
  readonly #ofFeatures: () => readonly Registry[];
  /** Values counted as they happen; all others are read when the page is requested. */
  readonly #counted = new Registry();
  readonly #outcomes: Counter<"outcome">;
  readonly #refusals: Counter<"reason">;
  /**
   * Null until the first command is sent, as it takes more memory than all else here and most of a thousand accounts
   * send none.
   */
  #durations: Histogram | null = null;

  constructor(facts: () => readonly [core: Core, own: OwnFacts], ofFeatures: () => readonly Registry[]) {
    this.#facts = facts;
    this.#ofFeatures = ofFeatures;
    const registers = [this.#counted];
    this.#outcomes = new Counter({
      name: `${prefix}commands_total`,
      help: "Commands answered, by outcome",
      registers,
      labelNames: ["outcome"],
    });
    this.#refusals = new Counter({
      name: `${prefix}command_refusals_total`,
      help: "Refused commands, by reason",
      registers,
      labelNames: ["reason"],
    });
    // Every word exists from the start, so that rates can be computed.
    for (const outcome of outcomes) this.#outcomes.inc({ outcome }, 0);
    for (const reason of refusalReasons) this.#refusals.inc({ reason }, 0);
  }

  /** Counts the end of a command. */
  note({ outcome, reason, sent_at: sentAt, duration_ms: durationMs }: CommandResult): void {
    this.#outcomes.inc({ outcome });
    if (outcome === "refused" && reason !== null) this.#refusals.inc({ reason });
    if (sentAt === null) return;
    this.#durations ??= durationsIn(this.#counted);
    this.#durations.observe(durationMs / 1_000);
  }

  registry(): Registry {
    const [core, own] = this.#facts();
    const now = new Registry();
    if (this.#durations === null) durationsIn(now);
    register(now, processRows(core, own), true);
    for (const rows of [bridgeRows, platformRows, mirrorRows, limitRows, brokerRows])
      register(now, rows(core, own));
    return Registry.merge([this.#counted, now, ...this.#ofFeatures()]);
  }
}
