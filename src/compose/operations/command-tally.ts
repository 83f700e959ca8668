import { type CommandResult, outcomes, refusalReasons } from "../../greenhouse/command/outcomes.js";
import type { MetricSample } from "../../http/metrics-text.js";

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
