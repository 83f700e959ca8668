import type { CommandResult, Via } from "../greenhouse/command/outcomes.js";
import type { AlarmType } from "../greenhouse/limits.js";
import { endedText, factText } from "../greenhouse/wording.js";
import { byCode, joined, msg, row, type Text, word } from "../language/text.js";
import type { Tell } from "../language/words.js";
import { longestMessage, localTime, type Table, textTable } from "../runtime/text-table.js";
import { csvText } from "../runtime/csv.js";
import type { JournalRecord } from "./records.js";
import type { Happened, TimelineEntry } from "./timeline.js";
import { byKey, keysOf } from "../runtime/objects.js";

type Entry = JournalRecord | Happened;

const columns = [
  { field: "time", title: msg`TIME`, usual: 19, most: 24 },
  { field: "controller", title: msg`CONTROLLER`, usual: 12, most: 24 },
  { field: "actuator", title: msg`ACTUATOR`, usual: 16, most: 28 },
  { field: "command", title: msg`COMMAND`, usual: 12, most: 20 },
  { field: "outcome", title: msg`OUTCOME`, usual: 14, most: 20 },
  { field: "reason", title: msg`REASON`, usual: 21, most: 40 },
  { field: "by", title: msg`BY`, usual: 24, most: 32 },
  { field: "duration", title: msg`DURATION`, usual: 11, most: 12 },
  // The result's sentence; for a refused command it quotes what was sent.
  { field: "message", title: msg`MESSAGE`, usual: 7, most: longestMessage },
] as const;

/** A row in the table of past commands. */
type Row = Readonly<Record<(typeof columns)[number]["field"], Text>>;

/**
 * An entry as a row. An entry that is about no command shows its type as outcome. `timeZone`: by default the machine's.
 */
function rowOf(record: Entry, timeZone: string | undefined): Row {
  const controller = "controller" in record ? (record.controller ?? "") : "";
  const actuator = "actuator" in record ? (record.actuator ?? "") : "";
  const bare = { time: localTime(record.at, timeZone), controller, actuator };
  // The key differs, as "stop" is also a command in other sentences.
  const outcome = word(record.type, `journal ${record.type}`);
  const empty = { command: "", outcome, reason: "", by: "", duration: "", message: "" };
  return { ...bare, ...empty, ...telling(record, timeZone) };
}

/** The cells of an entry beside its type. */
function telling(record: Entry, timeZone: string | undefined): Partial<Row> {
  if ("result" in record) return resultCells(record.result, timeZone);
  if (record.type === "refusals_counted")
    return { outcome: word("refused"), command: msg`${record.count} more`, reason: counts(record.reasons) };
  if (record.type === "command_taken") return { command: record.command, by: sender(record.by, record.via) };
  if ("value" in record) return { command: record.value };
  if ("what" in record && record.type !== "freed") return happenedCells(record);
  if (record.type === "logged_in") return { by: record.user ?? "", message: record.address ?? "" };
  if (record.type === "login_failed") return { message: record.address ?? "" };
  if ("from" in record) return { message: `${record.from ?? "?"} → ${record.to ?? "?"}` };
  if (record.type === "configuration_changed")
    return { by: record.by ?? "", message: record.changes.join(", ") };
  return "reason" in record ? { reason: record.type === "stop" ? word(record.reason) : record.reason } : {};
}

function happenedCells({ kind, by, what, until, alarm, facts }: Happened): Partial<Row> {
  if (kind === "alarm")
    return { by: by ?? "", reason: alarm ?? "", message: alarmOf(alarm ?? "", what ?? "", facts) };
  const end = until === null ? [] : [msg`until ${until}`];
  const why = kind === "lock" ? (what ?? []) : [];
  const isCommand = kind === "lease";
  return {
    by: by ?? "",
    command: isCommand ? (what ?? "") : "",
    reason: kind === "guard" ? (what ?? "") : "",
    message: joined([why, end].flat(), ", "),
  };
}

/** The text of an alarm, preferably from its facts; its id begins with its type. */
function alarmOf(id: string, message: string, facts: Happened["facts"]): Text {
  const type = (id.split(".", 1)[0] ?? "") as AlarmType;
  return factText({ type, message, facts }) ?? byCode(`alarm.${type}`, message);
}

const resultCells = (result: CommandResult, timeZone: string | undefined) => ({
  command: result.command ?? "",
  outcome: word(result.outcome),
  reason: result.reason ?? "",
  by: sender(result.by, result.via),
  duration: durationText(result.duration_ms),
  message: result.message === null ? "" : endedText(result, timeZone)(result.message),
});

const counts = (reasons: Readonly<Record<string, number>>): string =>
  Object.entries(reasons)
    .map(([reason, count]) => `${reason} ${count}`)
    .join(", ");

function sender(by: string | null, via: Via): Text {
  const known =
    via === "command line"
      ? msg`command line`
      : typeof via === "string"
        ? via
        : Object.values(via ?? {})
            .filter(Boolean)
            .join("/");
  const named = by ?? "";
  if (known === "") return named;
  return named === "" ? row`(${known})` : row`${named} (${known})`;
}

/** Such as `850 ms`, `4.2 s`, `2 min 5 s`. */
function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1_000)} s`;
}

/** The table of past commands. In a table that grows each column is at least as wide as usual. */
export function journalTable(
  records: readonly Entry[],
  {
    timeZone,
    grows = false,
    tell = String,
  }: {
    readonly timeZone?: string;
    readonly grows?: boolean;
    /** Translates heads, outcomes and sentences. */
    readonly tell?: Tell;
  } = {},
): Table<Entry> {
  const shown = columns.map((column) => ({ ...column, title: tell(column.title) }));
  const row = (record: Entry) => {
    const cells = rowOf(record, timeZone);
    return byKey(keysOf(cells), (field) => tell(cells[field]));
  };
  return textTable(shown, records, row, grows);
}

const csvColumns = [
  ...["at", "kind", "type", "controller", "actuator", "command", "value", "outcome", "reason", "message"],
  ...["what", "until", "by", "via", "read_back", "sent_at", "finished_at", "duration_ms", "id", "seq"],
];

/** CSV for a spreadsheet, with a head line and one line for each entry. */
export function timelineCsv(entries: readonly TimelineEntry[]): string {
  const rows = entries.map((entry) => {
    const cells: Readonly<Record<string, unknown>> = { ...entry, ...("result" in entry && entry.result) };
    // As in the table for people: a login shows its user and its address.
    const told: typeof cells = {
      ...cells,
      by: cells["by"] ?? cells["user"],
      message: cells["message"] ?? cells["address"],
    };
    return csvColumns.map((column) => told[column]);
  });
  return csvText([csvColumns, ...rows]);
}
