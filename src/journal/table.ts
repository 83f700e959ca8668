import { fit } from "./column-text.js";
import type { JournalRecord } from "./records.js";
import type { CommandResult, Via } from "./results.js";

/** One line of the table of past commands, as text. */
export interface Row {
  readonly time: string;
  readonly controller: string;
  readonly actuator: string;
  readonly command: string;
  readonly outcome: string;
  readonly reason: string;
  readonly by: string;
  readonly duration: string;
}

const columns = [
  { field: "time", title: "TIME", usual: 19, most: 24 },
  { field: "controller", title: "CONTROLLER", usual: 12, most: 24 },
  { field: "actuator", title: "ACTUATOR", usual: 16, most: 28 },
  { field: "command", title: "COMMAND", usual: 10, most: 20 },
  { field: "outcome", title: "OUTCOME", usual: 14, most: 20 },
  { field: "reason", title: "REASON", usual: 20, most: 40 },
  { field: "by", title: "BY", usual: 16, most: 32 },
  { field: "duration", title: "DURATION", usual: 8, most: 12 },
] as const satisfies readonly { field: keyof Row; title: string; usual: number; most: number }[];

export interface TableOptions {
  /** IANA name; the machine's own when absent. */
  readonly timeZone?: string;
}

/** Any record as a row; what is not about a command shows its type as outcome. */
export function rowOf(record: JournalRecord, { timeZone }: TableOptions = {}): Row {
  const controller = "controller" in record ? (record.controller ?? "") : "";
  const actuator = "actuator" in record ? (record.actuator ?? "") : "";
  const bare = { time: localTime(record.at, timeZone), controller, actuator };
  const empty = { command: "", outcome: record.type, reason: "", by: "", duration: "" };
  return { ...bare, ...empty, ...telling(record) };
}

/** What a record has to say beyond its type. */
function telling(record: JournalRecord): Partial<Row> {
  if ("result" in record) return resultCells(record.result);
  if (record.type === "refusals_counted")
    return { outcome: "refused", command: `${record.count} more`, reason: counts(record.reasons) };
  if (record.type === "command_taken") return { command: record.command, by: sender(record.by, record.via) };
  if ("value" in record) return { command: record.value };
  return "reason" in record ? { reason: record.reason } : {};
}

const resultCells = (result: CommandResult) => ({
  command: result.command ?? "",
  outcome: result.outcome,
  reason: result.reason ?? "",
  by: sender(result.by, result.via),
  duration: durationText(result.duration_ms),
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
export function durationText(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1_000)} s`;
}

/** `2026-11-20 08:00:00`; the text as it stands when it is no time. */
function localTime(iso: string, timeZone: string | undefined): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return iso;
  return at.toLocaleString("sv-SE", { timeZone });
}

/** Header and rows, each column as wide as its widest cell. Ends without a newline. */
export function formatTable(records: readonly JournalRecord[], options: TableOptions = {}): string {
  const rows = records.map((record) => rowOf(record, options));
  const widths = columns.map(({ field, title, most }) =>
    Math.min(
      most,
      rows.reduce((widest, row) => Math.max(widest, fit(row[field], most).width), title.length),
    ),
  );
  return [headerCells, ...rows.map(cellsOf)].map((cells) => lineOf(cells, widths)).join("\n");
}

const headerCells = columns.map(({ title }) => title);
const usualWidths = columns.map(({ usual }) => usual);
const cellsOf = (row: Row): readonly string[] => columns.map(({ field }) => row[field]);

/** For a table that grows: columns of fixed width, longer cells push the rest aside. */
export const tableHeader = (): string => lineOf(headerCells, usualWidths);
export const tableLine = (record: JournalRecord, options: TableOptions = {}): string =>
  lineOf(cellsOf(rowOf(record, options)), usualWidths);

/** The record as one line of JSON. */
export const jsonLine = (record: JournalRecord): string => JSON.stringify(record);

function lineOf(cells: readonly string[], widths: readonly number[]): string {
  const padded = cells.map((cell, index) => {
    const { text, width } = fit(cell, columns[index]?.most ?? 40);
    return text + " ".repeat(Math.max(0, (widths[index] ?? 0) - width));
  });
  return padded.join("  ").trimEnd();
}
