import type { CommandResult, Via } from "../greenhouse/command/outcomes.js";
import { type Column, longestMessage, localTime, type Table, textTable } from "../runtime/text-table.js";
import { csvText } from "../runtime/csv.js";
import type { JournalRecord } from "./records.js";
import type { Happened, TimelineEntry } from "./timeline.js";

type Entry = JournalRecord | Happened;

const columns = [
  { field: "time", title: "TIME", usual: 19, most: 24 },
  { field: "controller", title: "CONTROLLER", usual: 12, most: 24 },
  { field: "actuator", title: "ACTUATOR", usual: 16, most: 28 },
  { field: "command", title: "COMMAND", usual: 12, most: 20 },
  { field: "outcome", title: "OUTCOME", usual: 14, most: 20 },
  { field: "reason", title: "REASON", usual: 21, most: 40 },
  { field: "by", title: "BY", usual: 24, most: 32 },
  { field: "duration", title: "DURATION", usual: 11, most: 12 },
  // The sentence of the result; for a refused command it quotes what was sent.
  { field: "message", title: "MESSAGE", usual: 7, most: longestMessage },
] as const satisfies readonly Column<string>[];

/** One line of the table of past commands, as text. */
type Row = Readonly<Record<(typeof columns)[number]["field"], string>>;

/** Any entry as a row; what is not about a command shows its type as outcome. `timeZone` is the machine's own when absent. */
function rowOf(record: Entry, timeZone: string | undefined): Row {
  const controller = "controller" in record ? (record.controller ?? "") : "";
  const actuator = "actuator" in record ? (record.actuator ?? "") : "";
  const bare = { time: localTime(record.at, timeZone), controller, actuator };
  const empty = { command: "", outcome: record.type, reason: "", by: "", duration: "", message: "" };
  return { ...bare, ...empty, ...telling(record) };
}

/** What a record has to say beyond its type. */
function telling(record: Entry): Partial<Row> {
  if ("result" in record) return resultCells(record.result);
  if (record.type === "refusals_counted")
    return { outcome: "refused", command: `${record.count} more`, reason: counts(record.reasons) };
  if (record.type === "command_taken") return { command: record.command, by: sender(record.by, record.via) };
  if ("value" in record) return { command: record.value };
  if ("what" in record && record.type !== "freed") return happenedCells(record);
  if (record.type === "logged_in") return { by: record.user ?? "", message: record.address ?? "" };
  if (record.type === "login_failed") return { message: record.address ?? "" };
  if ("from" in record) return { message: `${record.from ?? "?"} → ${record.to ?? "?"}` };
  if (record.type === "configuration_changed")
    return { by: record.by ?? "", message: record.changes.join(", ") };
  return "reason" in record ? { reason: record.reason } : {};
}

function happenedCells({ kind, by, what, until, alarm }: Happened): Partial<Row> {
  const end = until === null ? "" : `until ${until}`;
  if (kind === "alarm") return { by: by ?? "", reason: alarm ?? "", message: what ?? "" };
  const isCommand = kind === "lease";
  return {
    by: by ?? "",
    command: isCommand ? (what ?? "") : "",
    reason: kind === "guard" ? (what ?? "") : "",
    message: [kind === "lock" ? what : null, end].filter(Boolean).join(", "),
  };
}

const resultCells = (result: CommandResult) => ({
  command: result.command ?? "",
  outcome: result.outcome,
  reason: result.reason ?? "",
  by: sender(result.by, result.via),
  duration: durationText(result.duration_ms),
  message: result.message ?? "",
});

const counts = (reasons: Readonly<Record<string, number>>): string =>
  Object.entries(reasons)
    .map(([reason, count]) => `${reason} ${count}`)
    .join(", ");

function sender(by: string | null, via: Via): string {
  const known =
    typeof via === "string"
      ? via
      : Object.values(via ?? {})
          .filter(Boolean)
          .join("/");
  return [by, known === "" ? null : `(${known})`].filter(Boolean).join(" ");
}

/** `850 ms`, `4.2 s`, `2 min 5 s`. */
function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1_000)} s`;
}

/** A word of the journal alone: "stop" is a command in other sentences. */
function typeTold(type: string, tell: (english: string) => string): string {
  const told = tell(`journal ${type}`);
  return told === `journal ${type}` ? type : told;
}

/** Past commands; of a table that grows, each column is at least as wide as its cells usually are. */
export function journalTable(
  records: readonly Entry[],
  {
    timeZone,
    grows = false,
    tell = (english) => english,
  }: {
    readonly timeZone?: string;
    readonly grows?: boolean;
    /** Says heads, outcomes and sentences in another language. */
    readonly tell?: (english: string) => string;
  } = {},
): Table<Entry> {
  const shown = columns.map((column) => ({ ...column, title: tell(column.title) }));
  const row = (record: Entry): Row => {
    const { outcome, message, reason, command, ...others } = rowOf(record, timeZone);
    const isCounted = record.type === "refusals_counted";
    return {
      ...others,
      outcome: "result" in record || isCounted ? tell(outcome) : typeTold(outcome, tell),
      message: tell(message),
      command: isCounted ? tell(command) : command,
      reason: record.type === "stop" ? tell(reason) : reason,
    };
  };
  return textTable(shown, records, row, grows);
}

const csvColumns = [
  ...["at", "kind", "type", "controller", "actuator", "command", "value", "outcome", "reason", "message"],
  ...["what", "until", "by", "via", "read_back", "sent_at", "finished_at", "duration_ms", "id", "seq"],
];

/** For a spreadsheet: a line for each entry, below the heads of the columns. */
export function timelineCsv(entries: readonly TimelineEntry[]): string {
  const rows = entries.map((entry) => {
    const cells: Readonly<Record<string, unknown>> = { ...entry, ...("result" in entry && entry.result) };
    return csvColumns.map((column) => cells[column]);
  });
  return csvText([csvColumns, ...rows]);
}
