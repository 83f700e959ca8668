import {
  Document,
  isMap,
  isScalar,
  type Node,
  Pair,
  parseDocument,
  Scalar,
  type Tags,
  visit,
  YAMLMap,
  YAMLSeq,
} from "yaml";
import { strayIn } from "../config/yaml/odd-characters.js";

type Tag = Exclude<Tags[number], string>;

/** References are kept as they are written, whatever they refer to. */
export const references: Tag[] = ["!env", "!secret"].map((tag) => ({ tag, resolve: (name: string) => name }));

/** Numbers of a file keep their spelling: `0012` must not become 12. */
const asWritten = (tags: Tags): Tags => [
  ...references,
  ...tags.map((tag) => {
    if (typeof tag === "string" || !/:(?:int|float)$/.test(tag.tag)) return tag;
    return { ...tag, stringify: ({ source, value }: Scalar) => source ?? String(value) } as Tag;
  }),
];

/** Quotes texts with invisible characters, which are refused outside of quotes. */
function quoteUnseen(contents: Node): void {
  visit(contents, {
    Scalar(_key, scalar) {
      if (typeof scalar.value === "string" && strayIn(scalar.value) !== null) scalar.type = "QUOTE_DOUBLE";
    },
  });
}

/** A YAML text of these nodes. A key without a value has nothing after it. */
export function yamlText(contents: Node, head: readonly string[] = [], foot: readonly string[] = []): string {
  quoteUnseen(contents);
  const document = new Document(null, { version: "1.2", schema: "core", customTags: asWritten });
  document.contents = contents;
  document.commentBefore = comment(head);
  document.comment = comment(foot);
  const text = document.toString({ lineWidth: 0, flowCollectionPadding: true, indentSeq: true, nullStr: "" });
  return `${text.trimEnd()}\n`;
}

type Set = (path: readonly string[], value: unknown) => void;

/** A YAML text after `edit`; comments and references stay. */
export function editedYaml(text: string, edit: (root: unknown, set: Set) => void): string {
  const document = parseDocument(text, { version: "1.2", schema: "core", customTags: asWritten });
  edit(document.contents, (path, value) => document.setIn(path, document.createNode(value)));
  return document.toString({ lineWidth: 0, flowCollectionPadding: true, indentSeq: true, nullStr: "" });
}

/** The value of a key in a section, as written; null for none. */
export function textIn(section: unknown, key: string): string | null {
  const node: unknown = isMap(section) ? section.get(key, true) : undefined;
  return isScalar(node) ? (node.source ?? String(node.value)) : null;
}

const comment = (lines: readonly string[]): string | null =>
  lines.length === 0 ? null : lines.map((line) => ` ${line}`).join("\n");

export const keyOf = (key: unknown): string => {
  if (!isScalar(key)) return "";
  return typeof key.value === "string" ? key.value : (key.source ?? "");
};

/** A key with its value, and comments above the key. */
export function pairOf(key: string, value: unknown, remarks: readonly string[] = []): Pair {
  const scalar = new Scalar(key);
  scalar.commentBefore = comment(remarks);
  return new Pair(scalar, value);
}

/** A section with lines of its own, and comments at its begin and end. */
export function sectionOf(
  items: readonly Pair[],
  {
    before = [],
    after = [],
  }: { readonly before?: readonly string[]; readonly after?: readonly string[] } = {},
): Node {
  const [first] = items;
  if (first === undefined) {
    const nothing = new Scalar(null);
    nothing.commentBefore = comment([...before, ...after]);
    return nothing;
  }
  if (isScalar(first.key)) first.key.commentBefore ??= comment(before);
  const section = new YAMLMap();
  section.items = [...items];
  section.comment = comment(after);
  return section;
}

/** Such as `key: { kind: skylight, address: 101 } # remark`; texts are quoted where YAML requires it. */
export function entryOf(key: string, values: Readonly<Record<string, EntryValue>>, remark: string): Pair {
  const entry = flowMap(values);
  entry.comment = comment([remark]);
  return pairOf(key, entry);
}

/** A value that fits into one line. */
export type EntryValue =
  string | number | boolean | readonly EntryValue[] | { readonly [key: string]: EntryValue };

function flowMap(values: Readonly<Record<string, EntryValue>>): YAMLMap {
  const map = new YAMLMap();
  map.items = Object.entries(values).map(([name, value]) => new Pair(new Scalar(name), flowNode(value)));
  map.flow = true;
  return map;
}

/** A value in one line, such as `{ open: [ "100" ] }`. */
export function flowNode(value: EntryValue): Node {
  if (typeof value !== "object") return new Scalar(value);
  if (!isList(value)) return flowMap(value);
  const list = new YAMLSeq();
  list.items = value.map(flowNode);
  list.flow = true;
  return list;
}

const isList = (value: object): value is readonly EntryValue[] => Array.isArray(value);

/** Digits as a number if nothing is lost, as addresses read better without quotes. */
export const plainNumber = (text: string): string | number =>
  /^(?:0|[1-9]\d{0,14})$/.test(text) ? Number(text) : text;

// Line ends, control, invisible and direction characters, and whatever YAML cannot hold.
const unfit = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}\p{White_Space}]+/gu;

const longest = 80;

/**
 * A text of the platform as part of one comment line: nothing in it can end the line or hide the rest. Longer texts are
 * cut.
 */
export function commentText(text: string, most = longest): string {
  // Enough for the cut, so that a text of megabytes costs nothing.
  const line = text
    .slice(0, 8 * most)
    .replace(unfit, " ")
    .trim();
  const characters = Array.from(line);
  return characters.length > most || text.length > 8 * most
    ? `${characters.slice(0, most).join("").trim()}…`
    : line;
}

/** A cleaned name, or `otherwise` where it is missing or empty. */
export function nameOr(text: string | null, otherwise: string): string {
  const clean = text === null ? "" : commentText(text);
  return clean === "" ? otherwise : clean;
}

/** A title and its items, wrapped into lines of readable length. */
export const wrap = (title: string, items: readonly string[]): readonly string[] =>
  items.length === 0
    ? []
    : Array.from(
        `${title}${items.join(", ")}`.matchAll(/(.{1,98}(?:,|$)|.+?(?:,|$)) ?/g),
        ([, line = ""], at) => (at === 0 ? line : `  ${line}`),
      );
