import { Document, isScalar, type Node, Scalar, type Tags, visit, type YAMLMap } from "yaml";

type Tag = Exclude<Tags[number], string>;

const references: Tag[] = ["!env", "!secret"].map((tag) => ({ tag, resolve: (name: string) => name }));

/** Numbers, flags and nulls that come from a file stay as they were written there: `0012` must not become 12. */
const asWritten = (tags: Tags): Tags => [
  ...references,
  ...tags.map((tag) =>
    typeof tag === "string" || !untyped.has(tag.tag)
      ? tag
      : ({
          ...tag,
          stringify: (item, ...more) => sourceOf(item) ?? tag.stringify?.(item, ...more) ?? "null",
        } as Tag),
  ),
];

const untyped = new Set(["int", "float", "bool", "null"].map((name) => `tag:yaml.org,2002:${name}`));

const sourceOf = (item: unknown): string | undefined =>
  isScalar(item) && item.source !== undefined && item.source !== "" ? item.source : undefined;

function yamlText(contents: Node): string {
  const document = new Document(null, { version: "1.2", schema: "core", customTags: asWritten });
  document.contents = contents;
  return document.toString({ lineWidth: 0, flowCollectionPadding: true, indentSeq: true }).trimEnd();
}

/** `value` in one line: `{ kind: skylight, address: 101 }`. Texts are quoted where YAML needs it. */
export function flowText(value: Readonly<Record<string, string | number | boolean>>): string {
  const document = new Document();
  return yamlText(document.createNode(value, { flow: true }));
}

/** A key as YAML writes it inside a section, with quotes where it needs them. */
export const keyText = (key: string): string => flowText({ [key]: 0 }).slice("{ ".length, -": 0 }".length);

/** A part of a file as lines, with its comments taken away. */
export function nodeLines(section: YAMLMap): readonly string[] {
  return yamlText(section).split("\n");
}

/** Text of digits as a number where nothing is lost: addresses read better without quotes. */
export const plainNumber = (text: string): string | number =>
  /^(?:0|[1-9]\d{0,14})$/.test(text) ? Number(text) : text;

/** Takes away what a reader wrote beside the values; a comment may hold an old password. */
export function withoutComments(node: Node): void {
  visit(node, {
    Node: (_key, inner) => {
      inner.comment = null;
      inner.commentBefore = null;
      inner.spaceBefore = false;
    },
  });
}

/** An environment variable in place of a value. */
export function environmentReference(name: string): Scalar {
  const scalar = new Scalar(name);
  scalar.tag = "!env";
  return scalar;
}

// Line ends, controls, invisible and direction marks, and what YAML cannot hold at all.
const unfit = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}\p{White_Space}]+/gu;

const longest = 80;

/**
 * Any text of the platform as a part of one comment line: nothing in it can end the line or hide the rest of it. Longer
 * texts are cut.
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

/** A name that may be missing or empty once cleaned. */
export function nameOr(text: string | null, otherwise: string): string {
  const clean = text === null ? "" : commentText(text);
  return clean === "" ? otherwise : clean;
}
