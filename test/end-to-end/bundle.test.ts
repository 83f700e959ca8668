import { readdirSync, readFileSync } from "node:fs";
import { mkdtemp, writeFile } from "node:fs/promises";
import { builtinModules } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { isAllowed } from "../../build/notices.mjs";
import { programFile, startProgram } from "./support/program.js";

const dist = dirname(programFile);
const files = readdirSync(dist, { recursive: true, encoding: "utf8" });
const scripts = files.filter((file) => /^(?:main|program\/[^/]+)\.js$/.test(file));
// One that only hands on what another has needs no map.
const maps = files.filter((file) => file.endsWith(".js.map"));
const text = (file: string) => readFileSync(join(dist, file), "utf8");

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
  it("needs nothing but Node.js: each import is a file of its own or a module of Node's", () => {
    const specifiers = scripts.flatMap((file) =>
      [
        ...text(file).matchAll(
          /^(?:import|export) .*?from "([^"]+)";$|^import "([^"]+)";$|\bimport\("([^"]+)"\)/gm,
        ),
      ].map(([, one, two, three]) => one ?? two ?? three ?? ""),
    );
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
    expect(scripts.filter((file) => /from "\.\/edge-node\.js"/.test(text(file)))).toEqual([]);
  });

  it("says of an error that nobody foresaw where in the sources it came from", async () => {
    const folder = await mkdtemp(join(tmpdir(), "greenhouse2mqtt-bundle-"));
    const plant = `data:text/javascript,${encodeURIComponent("globalThis.URL = class { constructor() { throw new Error('planted'); } };")}`;
    const program = startProgram(["--version"], { folder, env: { NODE_OPTIONS: `--import "${plant}"` } });
    const { stderr, code } = await program.ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^Error: planted\n {4}at .*\n {4}at programVersion \(src\/cli\/surroundings\.ts:\d+:\d+\)/,
    );
  });
});
