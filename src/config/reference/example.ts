import { configurationSchema } from "../schema.js";
import { entriesOf, type Entry } from "./entries.js";
import { yamlText } from "./yaml-text.js";

interface Line {
  readonly depth: number;
  readonly text: string;
  readonly note: string;
  /** Depth of the outermost key above (or here) that is shown as a comment; null where none is. */
  readonly offFrom: number | null;
}

const header = `# Configuration of greenhouse2mqtt, with every key. Copy it to config.yaml and change the copy;
# \`greenhouse2mqtt check\` says what is wrong in it. A key without "default:" beside it shows its default or an example.
# Durations: 500ms, 30s, 5m, 1h. Addresses, values and device codes are taken as written: 0012 stays 0012.
# !env NAME takes a value from the environment, !secret name from secrets.yaml beside this file (lines of "name: value").
# Files and folders are relative to the folder of this file.
`;

/** The text of config.example.yaml. */
export function exampleText(): string {
  const sections = entriesOf(configurationSchema).map((entry) =>
    linesOf(entry, 0, null)
      .flatMap((line) => printed(line))
      .join("\n"),
  );
  return `${header}\n${sections.join("\n\n")}\n`;
}

function linesOf(entry: Entry, depth: number, above: number | null): Line[] {
  const { facts } = entry;
  const value = facts.example ?? (facts.default === undefined ? null : yamlText(facts.default));
  const offFrom = above ?? (facts.off === true || (entry.holds === "value" && value === null) ? depth : null);
  const line = (text: string): Line => ({ depth, text, note: noteOf(entry, value), offFrom });
  if (entry.holds === "value") return [line(value === null ? `${entry.key}:` : `${entry.key}: ${value}`)];
  const below = (at: number) => entry.below.flatMap((inner) => linesOf(inner, at, offFrom));
  const head = line(`${entry.key}:`);
  if (entry.holds === "section") return [head, ...below(depth + 1)];
  if (entry.holds === "list") return [head, ...asItem(below(depth + 2))];
  const bare = (text: string): Line => ({ depth: depth + 1, text, note: "", offFrom });
  const more = facts.more?.split("\n").map(bare) ?? [];
  return [head, bare(`${facts.entry ?? "name"}:`), ...below(depth + 2), ...more];
}

/** The first key of an item stands behind its dash. */
const asItem = ([first, ...rest]: readonly Line[]): Line[] =>
  first === undefined ? [] : [{ ...first, depth: first.depth - 1, text: `- ${first.text}` }, ...rest];

function noteOf({ facts, holds }: Entry, shown: string | null): string {
  if (holds !== "value" || facts.default === undefined || yamlText(facts.default) === shown)
    return facts.description;
  return `${facts.description.replace(/\.$/, "")}; default: ${yamlText(facts.default)}`;
}

const noteColumn = 40;
const width = 120;

function printed({ depth, text, note, offFrom }: Line): string[] {
  const indent = "  ".repeat(depth);
  const outer = "  ".repeat(offFrom ?? 0);
  const line = offFrom === null ? indent + text : `${outer}# ${indent.slice(outer.length)}${text}`;
  if (note === "") return [line];
  const length = columnsOf(line);
  const column = Math.max(noteColumn, length + 2);
  const [first, ...rest] = wrapped(note, width - column - 2);
  return [
    `${line}${" ".repeat(column - length)}# ${first ?? ""}`,
    ...rest.map((part) => `${" ".repeat(column)}# ${part}`),
  ];
}

/** Chinese characters take two columns in an editor. */
const columnsOf = (text: string) => text.replace(/[\u2e80-\uffef]/g, "xx").length;

function wrapped(text: string, room: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last === undefined || last.length + 1 + word.length > room) lines.push(word);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}
