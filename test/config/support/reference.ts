import { z } from "zod";
import { configurationSchema } from "../../../src/config/schema.js";
import { english, type ReferenceWords } from "./reference-words.js";
import { pageNames, pageOf, type PageName } from "./section-pages.js";
import { fieldFacts, type FieldFacts, typeFacts } from "../../../src/settings/values.js";
import { bare, type Shape, shapeOf } from "../../../src/config/yaml/read-document.js";

/* What is made from the schema: config.example.yaml, and the pages in docs/configuration and docs/zh/configuration. */

type Schema = z.core.$ZodType;

/** One key of a section, as the reference and the example show it. */
interface Entry {
  readonly key: string;
  readonly facts: FieldFacts;
  readonly type: string;
  /** The keys below it, for a section (also one that may be turned off) and for the entries of a map or list. */
  readonly below: readonly Entry[];
  readonly holds: "value" | "section" | "map" | "list";
  readonly required: boolean;
}

/** The keys of a section in the schema's order; none for anything else. */
function entriesOf(schema: Schema): Entry[] {
  const shape = sectionShape(shapeOf(schema));
  if (shape?.type !== "section") return [];
  return [...shape.keys].map(([key, field]) => entryOf(key, field));
}

function entryOf(key: string, field: Schema): Entry {
  const facts = fieldFacts.get(field) ?? { description: "" };
  const shape = sectionShape(shapeOf(field)) ?? shapeOf(field);
  const inner = shape.type === "map" ? shape.value : shape.type === "list" ? shape.item : field;
  const below = entriesOf(inner);
  const holds =
    below.length === 0 ? "value" : shape.type === "map" ? "map" : shape.type === "list" ? "list" : "section";
  const required = !(field instanceof z.ZodOptional) && !(field instanceof z.ZodPrefault);
  return { key, facts, type: typeName(field), below, holds, required };
}

/** Of alternatives (`http: false` or its keys), the section. */
function sectionShape(shape: Shape): Shape | undefined {
  return shape.type === "either" ? shape.options.find((option) => option.type === "section") : shape;
}

function typeName(field: Schema): string {
  let inner = field;
  for (;;) {
    const named = typeFacts.get(inner);
    if (named !== undefined) return named.name;
    if (inner instanceof z.ZodOptional || inner instanceof z.ZodPrefault) inner = inner.def.innerType;
    else if (inner instanceof z.ZodPipe) inner = inner.def.in;
    else return plainType(bare(inner));
  }
}

function plainType(schema: Schema): string {
  if (schema instanceof z.ZodLiteral) return [...schema.values].join(", ");
  if (schema instanceof z.ZodArray) return listOf(typeName(schema.def.element));
  if (schema instanceof z.ZodRecord) return `map of ${several(typeName(schema.def.valueType))}`;
  if (schema instanceof z.ZodUnion) return "section or false";
  return schema instanceof z.ZodObject ? "section" : "text";
}

/** The words themselves where there are several to choose from. */
const listOf = (name: string): string => (name.includes(", ") ? `list of: ${name}` : `list of ${name}s`);

/** `lists of values` of `list of values`. */
const several = (name: string): string =>
  name.startsWith("list of ")
    ? name.replace("list", "lists")
    : name === "section or false"
      ? "sections or false"
      : `${name}s`;

const plain = /^[A-Za-z0-9./_][A-Za-z0-9./_-]*$/;
const words = /^(?:null|true|false|~)$/i;

/** A default as a user would write it in YAML. */
function yamlText(value: unknown): string {
  if (typeof value !== "string") return JSON.stringify(value);
  return plain.test(value) && !words.test(value) && Number.isNaN(Number(value))
    ? value
    : JSON.stringify(value);
}

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

const tableHead = ({ columns }: ReferenceWords) => [
  `| ${columns.join(" | ")} |`,
  `|${" --- |".repeat(columns.length)}`,
];

/** Every key of the file as a Markdown table: key, type, default, meaning. */
export function referenceTable(words = english): string {
  const rows = entriesOf(configurationSchema).flatMap((entry) => rowsOf(entry, "", words));
  return [...tableHead(words), ...rows].join("\n");
}

function rowsOf(entry: Entry, above: string, words: ReferenceWords): string[] {
  const path = `${above}${entry.key}`;
  const own = row(path, entry, words);
  if (entry.holds === "value") return [own];
  return [own, ...entry.below.flatMap((inner) => rowsOf(inner, `${path}${eachOf(entry)}.`, words))];
}

const eachOf = ({ facts, holds }: Entry): string =>
  holds === "map" ? `.${facts.each ?? "<id>"}` : holds === "list" ? "[]" : "";

function row(path: string, { facts, holds, required, type }: Entry, words: ReferenceWords): string {
  const value = required
    ? words.required
    : facts.default === undefined
      ? ""
      : `\`${yamlText(facts.default)}\``;
  const cells = [
    `\`${path}\``,
    words.type(type),
    holds === "section" ? "" : value,
    asWords(words.meaning(path, facts.description)),
  ];
  return `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
}

/** A list of words of the program at the end of a sentence is marked as such. */
const asWords = (sentence: string): string =>
  sentence.replace(/(?<=: |：)[a-z_0-9]+(?:(?:, |、)[a-z_0-9]+){9,}(?=[.。]$)/, (words) =>
    words.replace(/[a-z_0-9]+/g, "`$&`"),
  );

/** The pages in docs/configuration by their names: of each section its example and its keys. */
export function referencePages(words = english): ReadonlyMap<string, string> {
  const sections = entriesOf(configurationSchema);
  return new Map(
    pageNames.map((name) => [
      name,
      pageText(
        name,
        sections.filter(({ key }) => pageOf(key).page === name),
        words,
      ),
    ]),
  );
}

function pageText(name: PageName, sections: readonly Entry[], words: ReferenceWords): string {
  const said =
    sections.length === 1 ? sections.map(({ key, facts }) => words.meaning(key, facts.description)) : [];
  const examples = sections.map(({ key }) => words.example(pageOf(key).example)).join("\n");
  return [
    `# ${words.title(sections.map(({ key }) => key))}`,
    ...[...said, ...words.more(name)],
    `\`\`\`yaml\n${examples}\n\`\`\``,
    [...tableHead(words), ...sections.flatMap((entry) => rowsOnPage(entry, words)).slice(said.length)].join(
      "\n",
    ),
    `${words.allSections}\n`,
  ].join("\n\n");
}

/** What holds for a kind has the keys of an actuator, which are not explained twice. */
function rowsOnPage(entry: Entry, words: ReferenceWords): string[] {
  const rows = rowsOf(entry, "", words);
  if (entry.key !== "kinds") return rows;
  const keys = entry.below.map(({ key }) => `\`${key}\``);
  return [
    ...rows.slice(0, 1),
    `| \`kinds.<kind>.…\` | ${words.type("section")} | | ${words.ofActuator(keys)} |`,
  ];
}
