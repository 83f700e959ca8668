/* What a member counts of an account since the process began, in the text format of Prometheus. docs/metrics.md lists it. */

/** Upper bounds in seconds: from servers beside us to those that hardly answer. */
const bounds = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 5];

/** What is counted as it happens. */
export class ClusterFigures {
  #takeOvers = 0;
  #failures = 0;
  #appends = 0;
  #seconds = 0;
  readonly #within = bounds.map(() => 0);

  tookOver(): void {
    this.#takeOvers += 1;
  }

  onAppend(ms: number): void {
    const seconds = ms / 1_000;
    this.#appends += 1;
    this.#seconds += seconds;
    bounds.forEach((bound, at) => {
      if (seconds <= bound) this.#within[at] = (this.#within[at] ?? 0) + 1;
    });
  }

  onNotAppended(): void {
    this.#failures += 1;
  }

  page({ isOwner, leaseAgeMs, members }: ClusterStanding): string {
    const leaseAge = leaseAgeMs === null ? "NaN" : String(leaseAgeMs / 1_000);
    const append = `${prefix}cluster_append_seconds`;
    return [
      ...metric("cluster_owner", "gauge", "1 on the member that runs the account", Number(isOwner)),
      ...metric(
        "cluster_lease_age_seconds",
        "gauge",
        "Since the NATS servers confirmed that the account is run here; NaN while the member stands by",
        leaseAge,
      ),
      ...metric(
        "cluster_members",
        "gauge",
        "Members of the cluster that this one sees, with itself",
        members,
      ),
      ...metric(
        "cluster_takeovers_total",
        "counter",
        "How often this member claimed the account",
        this.#takeOvers,
      ),
      ...metric(
        "cluster_append_failures_total",
        "counter",
        "Entries of the journal that the NATS servers refused or did not acknowledge",
        this.#failures,
      ),
      `# HELP ${append} From an entry of the journal to its acknowledgement by the NATS servers`,
      `# TYPE ${append} histogram`,
      ...bounds.map((bound, at) => `${append}_bucket{le="${bound}"} ${this.#within[at] ?? 0}`),
      `${append}_bucket{le="+Inf"} ${this.#appends}`,
      `${append}_sum ${this.#seconds}`,
      `${append}_count ${this.#appends}`,
      "",
    ].join("\n");
  }
}

/** How it is at this moment. */
export interface ClusterStanding {
  readonly isOwner: boolean;
  /** Null while it stands by. */
  readonly leaseAgeMs: number | null;
  readonly members: number;
}

const prefix = "greenhouse2mqtt_";

const metric = (name: string, type: "gauge" | "counter", help: string, value: number | string) => [
  `# HELP ${prefix}${name} ${help}`,
  `# TYPE ${prefix}${name} ${type}`,
  `${prefix}${name} ${value}`,
];
