import type { CommandResult } from "../../../src/greenhouse/command/outcomes.js";
import type {
  CommandTaken,
  JournalRecord,
  RecordBody,
  Refusal,
  ResultRecord,
  StepSent,
} from "../../../src/journal/records.js";

export const about = { controller: "GH-0001", actuator: "roof" } as const;

export const taken = (id: string, changes: Partial<CommandTaken> = {}): CommandTaken => ({
  type: "command_taken",
  ...about,
  id,
  command: "open",
  value: "10010",
  steps: [{ purpose: "value", address: "101", value: "10010" }],
  by: "grower",
  via: null,
  payload_hash: "5f2b",
  received_at: "2026-05-01T06:00:00.000Z",
  max_age_ms: 60_000,
  ...changes,
});

export const sent = (id: string, changes: Partial<StepSent> = {}): StepSent => ({
  type: "step_sent",
  ...about,
  id,
  purpose: "value",
  address: "101",
  value: "10010",
  attempt: 1,
  ...changes,
});

export const result = (id: string, changes: Partial<CommandResult> = {}): CommandResult => ({
  id,
  ...about,
  command: "open",
  value: "10010",
  outcome: "confirmed",
  reason: null,
  message: null,
  request_id: null,
  by: "grower",
  via: null,
  steps: [{ purpose: "value", address: "101", value: "10010", attempts: 1, code: "200", read_back: "10010" }],
  read_back: "10010",
  received_at: "2026-05-01T06:00:00.000Z",
  sent_at: "2026-05-01T06:00:01.000Z",
  finished_at: "2026-05-01T06:00:05.000Z",
  duration_ms: 5_000,
  repeated: false,
  interlock: null,
  ...changes,
});

export const ended = (id: string, changes: Partial<CommandResult> = {}): ResultRecord => ({
  type: "result",
  ...about,
  result: result(id, changes),
});

export const refused = (id: string, reason: string, changes: Partial<CommandResult> = {}): Refusal => ({
  type: "refusal",
  ...about,
  result: result(id, { outcome: "refused", reason, read_back: null, steps: [], sent_at: null, ...changes }),
});

interface Stamping {
  readonly from?: number;
  readonly boot?: string;
  readonly synced?: boolean | null;
}

/** Records as a reader would give them, a second apart. */
export const stamped = (
  bodies: readonly RecordBody[],
  { from = 1, boot = "boot-a", synced = true }: Stamping = {},
): readonly JournalRecord[] =>
  bodies.map((body, index) => ({
    seq: from + index,
    at: new Date(Date.UTC(2026, 4, 1, 6, 0, from + index)).toISOString(),
    mono: 1_000 * (from + index),
    boot,
    clock_synced: synced,
    ...body,
  }));
