import { describe, expect, it } from "vitest";
import { readOnlyOperations } from "../../src/platform/operations.js";
import { profileNames } from "../../src/simulator/dialects.js";
import { greenhouse2mqtt } from "./in-process.js";

async function help(...words: string[]) {
  const { code, out } = await greenhouse2mqtt([...words, "--help"]);
  expect(code).toBe(0);
  return out;
}

const commands = [
  ...["run", "demo", "simulate", "init", "doctor", "discover", "check", "schema", "passwd"],
  ...["get", "read", "cleanup", "set", "journal", "lock", "unlock", "release", "alarms"],
];

describe("help", () => {
  it("of the program names every command in its group, what every command takes, exit codes and examples", async () => {
    const text = await help();
    const groups = [...text.matchAll(/^(.+):\n((?: {2}.*\n)+)/gm)].map(
      ([, title, lines = ""]) =>
        [title, [...lines.matchAll(/^ {2}(\w+)/gm)].map(([, word]) => word)] as const,
    );
    expect(Object.fromEntries(groups)).toMatchObject({
      "Run it": ["run", "help"],
      "Try it without a greenhouse": ["demo", "simulate"],
      "Set it up": ["init", "doctor", "discover", "check", "schema", "passwd"],
      "Ask and command": [
        ...["get", "read", "cleanup", "set", "journal"],
        ...["lock", "unlock", "release", "alarms"],
      ],
      "Exit codes": ["0", "1", "2", "3"],
    });
    for (const option of ["--config", "--log-level", "--data-dir"]) expect(text).toContain(option);
  });

  it.each(commands)(
    "of %s gives an example that begins with the program's name, and lists what every command takes",
    async (command) => {
      const text = await help(command);
      expect(text).toMatch(/\nExamples?:\n {2}greenhouse2mqtt/);
      for (const option of ["--config", "--log-level", "--data-dir"]) expect(text).toContain(option);
    },
  );

  it("of cleanup promises for --all what it does", async () => {
    const text = await help("cleanup");
    expect(text).toMatch(/refuses\s+while\s+a\s+bridge\s+runs/);
    expect(text).toMatch(/--all +also the bridge's own topics/);
    expect(text).not.toContain("without asking");
  });

  it("of get lists the operations, of simulate the profiles", async () => {
    const get = await help("get");
    for (const { name } of readOnlyOperations) expect(get).toMatch(new RegExp(`^ {2}${name} `, "m"));
    const simulate = (await help("simulate")).replace(/\s+/g, " ");
    expect(simulate).toContain(`(choices: ${profileNames.map((name) => `"${name}"`).join(", ")}`);
  });
});
