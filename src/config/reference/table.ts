import { configurationSchema } from "../schema.js";
import { entriesOf, type Entry } from "./entries.js";
import { yamlText } from "./yaml-text.js";

/** Every key as a Markdown table: key, type, default, meaning. */
export function referenceTable(): string {
  const rows = entriesOf(configurationSchema).flatMap((entry) => rowsOf(entry, ""));
  return ["| key | type | default | meaning |", "| --- | --- | --- | --- |", ...rows].join("\n");
}

function rowsOf(entry: Entry, above: string): string[] {
  const path = `${above}${entry.key}`;
  const own = row(path, entry);
  if (entry.holds === "value") return [own];
  const each = entry.holds === "map" ? `.${entry.facts.each ?? "<id>"}` : entry.holds === "list" ? "[]" : "";
  return [own, ...entry.below.flatMap((inner) => rowsOf(inner, `${path}${each}.`))];
}

function row(path: string, { facts, holds, required, type }: Entry): string {
  const value = required ? "required" : facts.default === undefined ? "" : `\`${yamlText(facts.default)}\``;
  const cells = [`\`${path}\``, type, holds === "section" ? "" : value, facts.description];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}
