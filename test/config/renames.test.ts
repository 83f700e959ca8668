import { expect, it } from "vitest";
import { loadConfiguration } from "../../src/config/load.js";
import { formatProblem } from "../../src/settings/problem.js";
import { configurationSchema } from "../../src/config/schema.js";
import { shapeOf } from "../../src/config/yaml/read-document.js";
import { type Rename, renames } from "../../src/config/renames.js";
import { platform, tokenEnv } from "./loading.js";

/** As a later version may have them. */
const later: readonly Rename[] = [
  { from: "commands.oldest", to: "commands.max_age", since: "0.9.0" },
  { from: "controllers.*.region", to: "controllers.*.area", since: "0.9.0" },
  { from: "read_only", to: "commands.read_only", since: "0.9.0" },
];

async function load(text: string) {
  const bytes = new TextEncoder().encode(platform + text);
  const result = await loadConfiguration("config.yaml", {
    readFile: () => Promise.resolve({ ok: true, bytes, mode: 0o600 }),
    env: tokenEnv,
    renames: later,
  });
  return result.ok
    ? { configuration: result.configuration, lines: result.warnings.map(formatProblem) }
    : { configuration: null, lines: result.problems.map(formatProblem) };
}

it.each([
  ["commands: { oldest: 20s }", "5:13 commands.oldest: is called commands.max_age"],
  [
    "controllers: { GH-0001: { region: east } }",
    "5:27 controllers.GH-0001.region: is called controllers.GH-0001.area",
  ],
  ["read_only: true", "5:1 read_only: is called commands.read_only"],
])(
  "a key under its old name goes on working, with a warning that says the new one: %s",
  async (text, warning) => {
    const { configuration, lines } = await load(text);
    expect(lines).toEqual([`config.yaml:${warning} since 0.9.0; the old name still works, please change it`]);
    const { commands, controllers } = configuration ?? {};
    expect([commands?.max_age, controllers?.["GH-0001"]?.area, commands?.read_only]).toEqual([
      text.includes("oldest") ? 20_000 : 60_000,
      text.includes("region") ? "east" : undefined,
      text.includes("read_only"),
    ]);
  },
);

it.each([
  [
    "read_only: true\ncommands: { read_only: false }",
    "5:1 read_only: stands beside its new name commands.read_only; keep that one",
  ],
  ["commands: { oldest: soon }", "5:21 commands.max_age: "],
  ["read_only: true\ncommands: 5", "6:11 commands: "],
])("a mistake in what stands under an old name is said where it stands: %j", async (text, problem) => {
  const { lines } = await load(text);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain(`config.yaml:${problem}`);
});

it("an old name is no key of today, and its new name is one", () => {
  const has = (path: string) => {
    let shape = shapeOf(configurationSchema);
    for (const part of path.split(".")) {
      if (shape.type === "section") {
        const inner = shape.keys.get(part);
        if (inner === undefined) return false;
        shape = shapeOf(inner);
      } else if (shape.type === "map" && part === "*") shape = shapeOf(shape.value);
      else return false;
    }
    return true;
  };
  expect([...renames, ...later].filter(({ from, to }) => has(from) || !has(to))).toEqual([]);
});
