import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Document, parse, visit } from "yaml";
import { editedText } from "../../src/saving/edit.js";
import type { Path } from "../../src/settings/problem.js";
import type { Written } from "../../src/saving/value-text.js";

/* Any document, written in any of YAML's forms, with remarks and blank lines anywhere. */

const names = fc.constantFrom("a", "b", "name", "GH-0001", "灯", "x.y", "on", "12");
const texts = fc.oneof(
  fc.constantFrom(
    "",
    "plain",
    "with blank",
    "0012",
    "true",
    "a: b",
    "# no remark",
    "it's",
    '"',
    "温室",
    "- x",
    "{",
    "a\nb",
  ),
  fc.string({ maxLength: 6 }),
);
const scalars = fc.oneof(texts, fc.integer({ min: -5, max: 999 }), fc.boolean());
const { tree } = fc.letrec<{ tree: Written; node: Written }>((tie) => ({
  node: fc.oneof(
    { maxDepth: 3 },
    scalars,
    fc.array(tie("node"), { maxLength: 3 }),
    fc.dictionary(names, tie("node"), { maxKeys: 4, noNullPrototype: true }),
  ),
  tree: fc.dictionary(names, tie("node"), { maxKeys: 4, noNullPrototype: true }),
}));

const looks = fc.infiniteStream(fc.nat(19));

function written(value: Written, chance: Iterator<number>, windows: boolean): string {
  const document = new Document(value, { version: "1.2", schema: "core" });
  const next = () => chance.next().value as number;
  visit(document, {
    Collection: (_, node) => {
      if (next() < 7) node.flow = true;
      if (next() < 3) node.comment = " behind the last";
    },
    Scalar: (_, node) => {
      const look = next();
      if (typeof node.value === "string" && look < 6) node.type = look < 3 ? "QUOTE_DOUBLE" : "QUOTE_SINGLE";
      if (look === 7) node.comment = " a remark";
      if (look === 8) node.commentBefore = " above";
      if (look === 9) node.spaceBefore = true;
    },
  });
  const text = document.toString({ lineWidth: 0, indentSeq: next() < 10 });
  return windows ? text.replace(/\n/g, "\r\n") : text;
}

type Plain = Readonly<Record<string, unknown>>;

function placesIn(value: unknown, above: Path = []): readonly Path[] {
  if (typeof value !== "object" || value === null) return [];
  const entries: readonly (readonly [string | number, unknown])[] = Array.isArray(value)
    ? [...value.entries()]
    : Object.entries(value);
  return entries.flatMap(([key, inner]) => [[...above, key], ...placesIn(inner, [...above, key])]);
}

/** The same as plain values; sections that are empty afterwards count as absent, as they do in a configuration. */
function withChange(value: unknown, [part, ...rest]: Path, wanted: unknown): unknown {
  if (part === undefined) return wanted;
  if (typeof part === "number") {
    const items = [...(value as unknown[])];
    if (rest.length === 0 && wanted === undefined) items.splice(part, 1);
    else items[part] = withChange(items[part], rest, wanted);
    return items;
  }
  const { [part]: old, ...others } = value as Plain;
  if (rest.length === 0 && wanted === undefined) return others;
  const next = withChange(old, rest, wanted);
  return Object.fromEntries([
    ...Object.entries(value as Plain).map(([key, one]) => [key, key === part ? next : one]),
    [part, next],
  ]);
}

const isEmpty = (value: unknown): boolean =>
  value === null ||
  value === undefined ||
  value === "" ||
  (typeof value === "object" && Object.keys(value).length === 0);

const bare = (value: unknown): string =>
  JSON.stringify(value, (_, inner: unknown) => (isEmpty(inner) ? null : inner));

describe("whatever a file looks like", () => {
  it.each([false, true])(
    "a change changes what it says and nothing else (line ends of Windows: %s)",
    (windows) => {
      let done = 0;
      fc.assert(
        fc.property(
          tree,
          looks,
          fc.nat(),
          fc.option(scalars, { nil: undefined }),
          names,
          (value, stream, where, wanted, key) => {
            const text = written(value, stream, windows);
            const places = placesIn(value);
            const place = places.length === 0 || where % 3 === 0 ? null : places[where % places.length];
            const path = place ?? [key];
            const edited = editedText(text, [{ path, value: wanted }], () => false);
            // What cannot be told apart from the text around it is refused, and that is no change either.
            if (!edited.ok) return;
            done += 1;
            expect(bare(parse(edited.text))).toBe(bare(withChange(parse(text), path, wanted)));
            if (windows) expect(edited.text.replaceAll("\r\n", "")).not.toContain("\n");
            const isNew = place === null && !Object.hasOwn(value as Plain, key);
            if (isNew) expect(linesLost(text, edited.text)).toBeLessThanOrEqual(1);
          },
        ),
        { numRuns: 700 },
      );
      expect(done).toBeGreaterThan(500);
    },
  );
});

it("whatever a text becomes, it stays in the quotes that it has", () => {
  const some = fc.oneof(texts, fc.stringMatching(/^\d{1,40}$/), fc.constantFrom("null", "1.5", "-1", "0x1F"));
  const forms = fc.constantFrom(
    "a: %",
    "a: { b: 1, c: % } # x",
    "a:\n  - %\n  - 2",
    "a: [1, %]",
    '"12": [%]',
  );
  fc.assert(
    fc.property(forms, fc.constantFrom("'", '"'), fc.boolean(), some, (form, quote, isText, wanted) => {
      const before = form.replace("%", `${quote}East${quote}`);
      const path = placesIn(parse(before)).find((one) => valueAt(parse(before), one) === "East") ?? [];
      const edited = editedText(before, [{ path, value: wanted }], () => isText);
      const after = edited.ok ? edited.text : "";
      expect(valueAt(parse(after), path)).toBe(wanted);
      expect(["'", '"']).toContain(after[form.indexOf("%")]);
      expect(after.endsWith(form.slice(form.indexOf("%") + 1))).toBe(true);
    }),
  );
});

const valueAt = (value: unknown, path: Path): unknown =>
  path.reduce<unknown>((at, part) => (at as Readonly<Record<string, unknown>>)[part], value);

/** How many lines of the old text are not in the new one. */
function linesLost(before: string, after: string): number {
  const left = after.split("\n");
  return before.split("\n").filter((line) => {
    const at = left.indexOf(line);
    if (at !== -1) left.splice(at, 1);
    return at === -1;
  }).length;
}
