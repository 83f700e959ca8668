/*
 * The result of a command, word for word as it is published: the journal keeps the published form, so that a result can
 * be found, repeated and shown without being made again.
 */
export const outcomes = [
  "confirmed",
  "already",
  "dry_run",
  "refused",
  "superseded",
  "rejected",
  "unconfirmed",
  "failed",
  "unknown",
] as const;
export type Outcome = (typeof outcomes)[number];

export const stepPurposes = ["mode", "lead_in", "value", "stop"] as const;
export type StepPurpose = (typeof stepPurposes)[number];

/** What the bridge itself knows about the sender: text, or named facts such as `{client, user}`. */
export type Via = string | Readonly<Record<string, string | null>> | null;

export interface ResultStep {
  readonly purpose: StepPurpose;
  readonly address: string;
  readonly value: string;
  readonly attempts: number;
  readonly code: string | null;
  readonly read_back: string | null;
}

/** Times are ISO texts, durations ms; every field is present, `null` where there is nothing to say. */
export interface CommandResult {
  readonly id: string;
  readonly controller: string;
  readonly actuator: string;
  readonly command: string | null;
  readonly value: string | null;
  readonly outcome: Outcome;
  readonly reason: string | null;
  readonly message: string | null;
  readonly request_id: string | null;
  readonly by: string | null;
  readonly via: Via;
  readonly steps: readonly ResultStep[];
  readonly read_back: string | null;
  readonly received_at: string;
  readonly sent_at: string | null;
  readonly finished_at: string;
  readonly duration_ms: number;
  readonly repeated: boolean;
  /** The first result, in the answer to a duplicate. */
  readonly original?: CommandResult;
}
