import { Sentence } from "../language/text.js";
import { inert } from "./plain-text.js";

/** A table for a spreadsheet: UTF-8 with a byte order mark, RFC 4180; texts like formulas get a quote in front. */
export const csvText = (rows: readonly (readonly unknown[])[]): string =>
  `\uFEFF${rows.map((row) => `${row.map(cellText).join(",")}\r\n`).join("")}`;

function cellText(value: unknown): string {
  if (value === null || value === undefined) return "";
  const said = value instanceof Sentence ? String(value) : value;
  const text = typeof said === "string" ? said.replace(/^(?=[=+\-@\t\r])/, "'") : JSON.stringify(said);
  const cell = inert(text);
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}
