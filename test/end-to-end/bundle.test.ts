import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, writeFile } from "node:fs/promises";
import { builtinModules } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { parseAst } from "rolldown/parseAst";
import type { ESTree } from "rolldown/utils";
import { describe, expect, it } from "vitest";
import { isAllowed } from "../../build/notices.mjs";
import { type SourceMap, sourceOf } from "../../src/runtime/stack-trace.js";
import { programFile, startProgram } from "./support/program.js";

const dist = dirname(programFile);
const files = readdirSync(dist, { recursive: true, encoding: "utf8" });
const scripts = files.filter((file) => /^(?:main|program\/[^/]+)\.js$/.test(file));
// One that only hands on what another has needs no map.
const maps = files.filter((file) => file.endsWith(".js.map"));
const text = (file: string) => readFileSync(join(dist, file), "utf8");

type AnyNode = Readonly<Record<string, unknown>>;

/** A node of a syntax tree with all below it. */
function* nodesIn(node: unknown): Generator<AnyNode> {
  if (typeof node !== "object" || node === null) return;
  if ("type" in node) yield { ...node };
  for (const inner of Object.values(node)) yield* nodesIn(inner);
}

interface Imports {
  /** Loaded with the file itself. */
  readonly now: readonly string[];
  /** Those and what is loaded when it is used; of one that is computed its kind of expression. */
  readonly all: readonly string[];
}

/** A text in quotation marks or in backquotes; else what stands there instead. */
function specifierOf(source: ESTree.Expression): string {
  if (source.type === "Literal") return String(source.value);
  const parts = source.type === "TemplateLiteral" ? source.quasis : [];
  return (parts.length === 1 ? parts[0]?.value.cooked : null) ?? source.type;
}

/** What a file of the program imports. */
function importsOf(file: string): Imports {
  const now: string[] = [];
  const later: string[] = [];
  for (const { type, source } of nodesIn(parseAst(text(file)))) {
    const specifier = source ? specifierOf(source as ESTree.Expression) : null;
    if (type === "ImportExpression") later.push(specifier ?? "");
    else if (/^(?:Import|ExportNamed|ExportAll)Declaration$/.test(String(type)) && specifier !== null)
      now.push(specifier);
  }
  return { now, all: [...now, ...later] };
}

/** Functions that are declared in a file of the program: name and place, line and column from 1. */
function functionsIn(file: string) {
  const code = text(file);
  return [...nodesIn(parseAst(code))].flatMap(({ type, id }) => {
    if (type !== "FunctionDeclaration") return [];
    const { name, start } = id as { readonly name: string; readonly start: number };
    const before = code.slice(0, start).split("\n");
    return [{ name, line: before.length, column: (before.at(-1) ?? "").length + 1 }];
  });
}

/** Runs a command line, and says which files of the program were loaded. */
async function loadedBy(args: readonly string[]) {
  const folder = await mkdtemp(join(tmpdir(), "greenhouse2mqtt-bundle-"));
  const hook = join(folder, "hook.mjs");
  const notes = `import { appendFileSync } from "node:fs";
    export async function load(url, context, next) {
      appendFileSync(${JSON.stringify(join(folder, "loaded"))}, url + "\\n");
      return next(url, context);
    }`;
  await writeFile(hook, notes);
  const register = encodeURIComponent(`import { register } from "node:module"; register("file://${hook}");`);
  const program = startProgram(args, {
    folder,
    env: { NODE_OPTIONS: `--import "data:text/javascript,${register}"` },
  });
  const { code, stderr } = await program.ended;
  const loaded = readFileSync(join(folder, "loaded"), "utf8").split("\n");
  const own = loaded.filter((url) => url.startsWith("file:") && !url.endsWith("package.json"));
  return { code, stderr, names: own.map((url) => /\/dist\/(.*)\.js$/.exec(url)?.[1] ?? url) };
}

describe("the built program", () => {
  const imports = new Map(scripts.map((file) => [file, importsOf(file)]));

  it("needs nothing but Node.js: each import is a file of its own or a module of Node's", () => {
    const specifiers = [...imports.values()].flatMap(({ all }) => all);
    expect(specifiers.length).toBeGreaterThan(100);
    const foreign = specifiers.filter(
      (one) => !one.startsWith(".") && !builtinModules.includes(one.replace(/^node:/, "")),
    );
    expect(foreign).toEqual([]);
  });

  it("tells of every package in it the licence, and all are on the list", () => {
    const named = new Set(
      maps.flatMap((file) => {
        const { sources } = JSON.parse(text(file)) as { readonly sources: readonly string[] };
        return sources.flatMap((source) => /.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(source)?.[1] ?? []);
      }),
    );
    const page = ["preact", "@preact/signals", "uplot"];
    const told = new Map(
      [...text("THIRD-PARTY-NOTICES").matchAll(/^-{78}\n\n(\S+) \S+ \((.+)\)\n\n(?=\S)/gm)].map(
        ([, name = "", licence = ""]) => [name, licence],
      ),
    );
    expect(named.size).toBeGreaterThan(30);
    expect([...named, ...page].filter((name) => !told.has(name))).toEqual([]);
    expect([...told].filter(([, licence]) => !isAllowed(licence))).toEqual([]);
  });

  it("is loaded in parts: what a command line does not use stays on the disk", async () => {
    const version = await loadedBy(["--version"]);
    expect(version).toMatchObject({
      code: 0,
      names: expect.arrayContaining(["main", "program/program"]) as unknown,
    });
    expect(version.names.filter((name) => /configuration|bridge|common/.test(name))).toEqual([]);
    const check = await loadedBy(["schema"]);
    expect(check).toMatchObject({
      code: 0,
      names: expect.arrayContaining(["program/configuration"]) as unknown,
    });
    expect(check.names.filter((name) => /trials|server|aedes|metrics/.test(name))).toEqual([]);
  });

  it("has what reads and writes payloads of Sparkplug in a file that nothing else loads with itself", () => {
    expect(scripts.filter((file) => text(file).includes("sparkplug_b.proto"))).toEqual([
      "program/edge-node.js",
    ]);
    const importers = [...imports.values()].filter(({ all }) => all.includes("./edge-node.js"));
    expect(importers.map(({ now }) => now.includes("./edge-node.js"))).toEqual([false]);
  });

  it("has in what every bridge loads neither the package of metrics nor bodies of forms", () => {
    const loaded = new Set<string>();
    const load = (file: string) => {
      if (loaded.has(file)) return;
      loaded.add(file);
      for (const one of imports.get(file)?.now ?? [])
        if (one.startsWith("./")) load(`program/${one.slice(2)}`);
    };
    load("program/bridge.js");
    const sources = [...loaded].flatMap((file) =>
      maps.includes(`${file}.map`) ? (JSON.parse(text(`${file}.map`)) as SourceMap).sources : [],
    );
    expect(sources.some((source) => source.endsWith("src/bridge.ts"))).toBe(true);
    const needless = /node_modules\/prom-client\/|undici\/lib\/web\//;
    expect(sources.filter((source) => needless.test(source))).toEqual([]);
  });

  it("has each function under its own name, at the line of its source", () => {
    const map = JSON.parse(text("program/common.js.map")) as SourceMap;
    const found = functionsIn("program/common.js").flatMap(({ name, line, column }) => {
      const [source = "", at = ""] = sourceOf(map, line, column)?.split(":") ?? [];
      // Of packages the map knows the files alone.
      if (source.startsWith("node_modules/")) return [];
      return [[name, readFileSync(source, "utf8").split("\n")[Number(at) - 1]]];
    });
    expect(found.length).toBeGreaterThan(30);
    expect(found.filter(([name, line]) => !new RegExp(`function\\*? ${name}\\b`).test(line ?? ""))).toEqual(
      [],
    );
  });

  /** Runs a command line in a process where this is what the program's own address is made with. */
  async function endOf(madeWith: string) {
    const folder = await mkdtemp(join(tmpdir(), "greenhouse2mqtt-bundle-"));
    const plant = `data:text/javascript,${encodeURIComponent(madeWith)}`;
    return startProgram(["--version"], { folder, env: { NODE_OPTIONS: `--import "${plant}"` } }).ended;
  }

  it("says of an error that nobody foresaw where in the sources it came from", async () => {
    const { stderr, code } = await endOf(
      "globalThis.URL = class { constructor() { throw new Error('planted'); } };",
    );
    expect(code).toBe(1);
    const [, line = "", column = ""] =
      /^Error: planted\n {4}at .*\n {4}at programVersion \(src\/terminal\/context\.ts:(\d+):(\d+)\)/.exec(
        stderr,
      ) ?? [];
    const source = readFileSync("src/terminal/context.ts", "utf8").split("\n")[Number(line) - 1];
    expect(source?.slice(Number(column) - 1)).toContain("new URL(");
  });

  it("says of one that nobody caught the stack alone, and not the line, which is most of a file", async () => {
    const { stderr, code } = await endOf(
      `globalThis.URL = class extends URL {
        constructor(...given) { super(...given); queueMicrotask(() => { throw new Error("planted"); }); }
      };`,
    );
    expect(code).toBe(1);
    expect(stderr).toMatch(/^Error: planted\n(?: {4}at .*\n)+$/);
  });
});
