import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { readableStack, stackText, type SourceMap, sourceOf } from "../../src/runtime/stack-trace.js";

const source = `interface Gone {
  readonly from: "the built file";
}

export const first = (text: string): number => text.length;
/* A comment that is left out. */
export function second({ from }: Gone): never {
  throw new Error(from);
}
`;

const built = ts.transpileModule(source, {
  fileName: "greenhouse/second.ts",
  compilerOptions: { target: ts.ScriptTarget.ES2023, sourceMap: true, removeComments: true },
});
const map = JSON.parse(built.sourceMapText ?? "") as SourceMap;

/** Line and column of a text, both from 1. */
function placeOf(within: string, text: string): readonly [line: number, column: number] {
  const before = within.slice(0, within.indexOf(text)).split("\n");
  return [before.length, (before.at(-1) ?? "").length + 1];
}

describe("a place in a built file", () => {
  it.each(["first", "text.length", "second", "throw new", "Error(from)"])(
    "is found in its source: %s",
    (text) => {
      const [line, column] = placeOf(source, text);
      expect(sourceOf(map, ...placeOf(built.outputText, text))).toBe(`second.ts:${line}:${column}`);
    },
  );

  it("between two that the map knows is the one before", () => {
    const [line, column] = placeOf(built.outputText, "throw new");
    const [sourceLine, sourceColumn] = placeOf(source, "throw new");
    expect(sourceOf(map, line, column + 2)).toBe(`second.ts:${sourceLine}:${sourceColumn}`);
  });

  it("behind the end of the map is in no source", () => expect(sourceOf(map, 1_000, 1)).toBeNull());

  it("is told from the root of the program", () =>
    expect(
      sourceOf({ ...map, sources: ["../../src/second.ts"] }, ...placeOf(built.outputText, "second")),
    ).toMatch(/^src\/second\.ts:/));
});

describe("a place in the file of a package", () => {
  it.each(["../../node_modules/ws/lib/receiver.js", "../../../else/node_modules/ws/lib/receiver.js"])(
    "is told by the file alone, wherever that lay: %s",
    (file) =>
      expect(sourceOf({ ...map, sources: [file] }, ...placeOf(built.outputText, "second"))).toBe(
        "node_modules/ws/lib/receiver.js",
      ),
  );
});

describe("a stack", () => {
  it("names the places of the sources, and leaves those of files without a map", () => {
    const folder = mkdtempSync(join(tmpdir(), "greenhouse2mqtt-stack-"));
    const file = pathToFileURL(join(folder, "built.js")).href;
    writeFileSync(join(folder, "built.js.map"), built.sourceMapText ?? "");
    const [line, column] = placeOf(built.outputText, "Error(from)");
    const stack = `Error: no\n    at second (${file}:${line}:${column})\n    at ${file}x.js:1:1\n    at node:internal/x:1:2`;
    const [sourceLine, sourceColumn] = placeOf(source, "Error(from)");
    expect(readableStack(stack)).toBe(
      `Error: no\n    at second (second.ts:${sourceLine}:${sourceColumn})\n    at ${file}x.js:1:1\n    at node:internal/x:1:2`,
    );
  });

  it("of an error begins with its name and message; what is no error is told as it is", () => {
    expect(stackText(new RangeError("too far"))).toMatch(/^RangeError: too far\n +at /);
    expect(stackText("too far")).toBe("too far");
  });
});
