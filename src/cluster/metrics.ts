import { Counter, Histogram, prefix, register, Registry } from "../runtime/metrics.js";

/* What a member counts about an account since the process began; docs/metrics.md lists it. */

/** Upper bounds in seconds: from servers nearby to those that hardly answer. */
const buckets = [0.001, 0.005, 0.02, 0.1, 0.5, 2, 5];

/** Counts events as they happen. */
export class ClusterMetrics {
  readonly #counted = new Registry();
  readonly #takeOvers = new Counter({
    name: `${prefix}cluster_takeovers_total`,
    help: "How often this member claimed the account",
    registers: [this.#counted],
  });
  readonly #failures = new Counter({
    name: `${prefix}cluster_append_failures_total`,
    help: "Entries of the journal that the NATS servers refused or did not acknowledge",
    registers: [this.#counted],
  });
  readonly #appends = new Histogram({
    name: `${prefix}cluster_append_seconds`,
    help: "From an entry of the journal to its acknowledgement by the NATS servers",
    buckets,
    registers: [this.#counted],
  });

  tookOver(): void {
    this.#takeOvers.inc();
  }

  onAppend(ms: number): void {
    this.#appends.observe(ms / 1_000);
  }

  onNotAppended(): void {
    this.#failures.inc();
  }

  metrics({ isOwner, leaseAgeMs, members }: ClusterStanding): Registry {
    const now = new Registry();
    const leaseAge = leaseAgeMs === null ? NaN : leaseAgeMs / 1_000;
    const age =
      "Since the NATS servers confirmed that the account is run here; NaN while the member stands by";
    register(now, [
      ["cluster_owner", "1 on the member that runs the account", isOwner],
      ["cluster_lease_age_seconds", age, leaseAge],
    ]);
    const seen = "Members of the cluster that this one sees, with itself";
    register(now, [["cluster_members", seen, members]], true);
    return Registry.merge([now, this.#counted]);
  }
}

export interface ClusterStanding {
  readonly isOwner: boolean;
  /** Null while standing by. */
  readonly leaseAgeMs: number | null;
  readonly members: number;
}
