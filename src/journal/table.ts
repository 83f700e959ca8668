import type { CommandResult, Via } from "../greenhouse/command/outcomes.js";
import type { JournalRecord } from "./records.js";

/*
 * Names and senders come from outside: a terminal must neither obey their control characters nor lose its columns to
 * characters two cells wide.
 */

const unprintable = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;
const combining = /\p{M}/u;
const wide =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;

const cellsIn = (character: string): number => (combining.test(character) ? 0 : wide.test(character) ? 2 : 1);

/** The text made harmless and cut to `most` terminal cells, with the cells it takes. */
function fit(text: string, most: number): { readonly text: string; readonly width: number } {
  const characters = Array.from(text.slice(0, most * 8).replace(unprintable, "\ufffd"));
  const total = characters.reduce((sum, character) => sum + cellsIn(character), 0);
  if (total <= most) return { text: characters.join(""), width: total };
  let kept = "";
  let width = 0;
  for (const character of characters) {
    if (width + cellsIn(character) > most - 1) break;
    kept += character;
    width += cellsIn(character);
  }
  return { text: `${kept}…`, width: width + 1 };
}

/** One line of the table of past commands, as text. */
interface Row {
  readonly time: string;
  readonly controller: string;
  readonly actuator: string;
  readonly command: string;
  readonly outcome: string;
  readonly reason: string;
  readonly by: string;
  readonly duration: string;
  /** The sentence of the result; for a refused command it quotes what was sent. */
  readonly message: string;
}

const longestMessage = 300;

const columns = [
  { field: "time", title: "TIME", usual: 19, most: 24 },
  { field: "controller", title: "CONTROLLER", usual: 12, most: 24 },
  { field: "actuator", title: "ACTUATOR", usual: 16, most: 28 },
  { field: "command", title: "COMMAND", usual: 12, most: 20 },
  { field: "outcome", title: "OUTCOME", usual: 14, most: 20 },
  { field: "reason", title: "REASON", usual: 21, most: 40 },
  { field: "by", title: "BY", usual: 24, most: 32 },
  { field: "duration", title: "DURATION", usual: 11, most: 12 },
  { field: "message", title: "MESSAGE", usual: 7, most: longestMessage },
] as const satisfies readonly { field: keyof Row; title: string; usual: number; most: number }[];

/** Any record as a row; what is not about a command shows its type as outcome. `timeZone` is the machine's own when absent. */
function rowOf(record: JournalRecord, timeZone: string | undefined): Row {
  const controller = "controller" in record ? (record.controller ?? "") : "";
  const actuator = "actuator" in record ? (record.actuator ?? "") : "";
  const bare = { time: localTime(record.at, timeZone), controller, actuator };
  const empty = { command: "", outcome: record.type, reason: "", by: "", duration: "", message: "" };
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

/** `2026-11-20 08:00:00`; the text as it stands when it is no time. */
function localTime(iso: string, timeZone: string | undefined): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return iso;
  return at.toLocaleString("sv-SE", { timeZone });
}

interface Table {
  /** Header and the rows known so far. Ends without a newline. */
  readonly text: string;
  /** One more row in the same columns: a longer cell is cut to its column. */
  readonly line: (record: JournalRecord) => string;
}

/** Each column is as wide as its widest cell; of a table that grows, at least as wide as its cells usually are. */
export function journalTable(
  records: readonly JournalRecord[],
  { timeZone, grows = false }: { readonly timeZone?: string; readonly grows?: boolean } = {},
): Table {
  const cellsOf = (record: JournalRecord) => {
    const row = rowOf(record, timeZone);
    return columns.map(({ field }) => row[field]);
  };
  const rows = records.map(cellsOf);
  const widths = columns.map(({ title, usual, most }, at) => {
    const cells = rows.map((row) => fit(row[at] ?? "", most).width);
    const least = Math.max(title.length, grows ? usual : 0);
    return Math.min(
      most,
      cells.reduce((one, other) => Math.max(one, other), least),
    );
  });
  const header = columns.map(({ title }) => title);
  return {
    text: [header, ...rows].map((cells) => lineOf(cells, widths)).join("\n"),
    line: (record) => lineOf(cellsOf(record), widths),
  };
}

/** Nothing follows the last cell, so it may be longer than its column. */
function lineOf(cells: readonly string[], widths: readonly number[]): string {
  const padded = cells.map((cell, at) => {
    const isLast = at === cells.length - 1;
    const wanted = widths[at] ?? 0;
    const { text, width } = fit(cell, isLast ? longestMessage : wanted);
    return text + " ".repeat(Math.max(0, wanted - width));
  });
  return padded.join("  ").trimEnd();
}
