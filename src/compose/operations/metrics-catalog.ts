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
