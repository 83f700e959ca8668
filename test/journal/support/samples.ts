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

/** A record in words: `a taken`, `a sending`, `a sent`, `a ended unknown` (`confirmed` where it says nothing), `a refused expired`, `a late`. */
function recordOf(words: string, sentOf: (id: string) => RecordBody): RecordBody {
  const [id = "", what, how = "confirmed"] = words.split(" ");
  if (what === "taken") return taken(id);
  if (what === "sending") return { type: "phase", ...about, id, phase: "sending" };
  if (what === "sent") return sentOf(id);
  if (what === "refused") return refused(id, how);
  if (what === "late") return { type: "confirmed_late", ...about, id, value: "1" };
  return ended(id, { outcome: how as CommandResult["outcome"] });
}

/** What was recorded, in words as far as they say it, and the ids that are found. */
export type RecordRow = [rule: string, records: readonly (string | RecordBody)[], ids: string];

/** The records of a row; `sentOf` says how its version wrote that a step was sent. */
export const recorded = (parts: RecordRow[1], sentOf: (id: string) => RecordBody = sent) =>
  stamped(
    parts.flatMap((part) =>
      typeof part === "string" ? part.split(", ").map((words) => recordOf(words, sentOf)) : [part],
    ),
  );

/** Which commands are open, whichever version wrote the records. */
export const openRows: readonly RecordRow[] = [
  ["taken without result is open", ["a taken, b taken, a ended"], "b"],
  ["a refusal of a duplicate does not close the first", ["a taken, a sent, a refused duplicate"], "a"],
  ["nor before anything was sent", ["a taken, a refused duplicate"], "a"],
  ["one refused before it was taken never was", ["a refused expired"], ""],
  ["one whose own record was not durable is closed", ["a taken, a refused journal_unavailable"], ""],
  ["but not once something was sent", ["a taken, a sent, a refused journal_unavailable"], "a"],
  ["an id used again is open again", ["a taken, a ended, a taken"], "a"],
];
