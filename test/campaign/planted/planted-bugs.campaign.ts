import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { programFile } from "../../end-to-end/support/program.js";
import { type PlantedBug, plantedBugs } from "./bugs.js";

/* Whether the campaign can fail: it is run on copies of the built program with one bug each, and must find it. */

let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "greenhouse2mqtt-planted-"));
  await symlink(resolve("node_modules"), join(folder, "node_modules"));
  await cp("package.json", join(folder, "package.json"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function plant(bug: PlantedBug, name: string): Promise<string> {
  const copy = join(folder, name);
  await cp(dirname(programFile), copy, { recursive: true });
  const file = join(copy, bug.file);
  const before = await readFile(file, "utf8");
  expect(before.split(bug.text), `${bug.file} holds the text to replace exactly once`).toHaveLength(2);
  await writeFile(
    file,
    before.replace(bug.text, () => bug.replacement),
  );
  return join(copy, "main.js");
}

interface Outcome {
  readonly code: unknown;
  readonly output: string;
  readonly totals: Readonly<Record<string, number>>;
}

async function campaign(program: string, name: string, { rows, lanes }: Pick<PlantedBug, "rows" | "lanes">) {
  const report = join(folder, `${name}.json`);
  const vitest = resolve("node_modules/vitest/vitest.mjs");
  const child = spawn(
    process.execPath,
    [vitest, "run", "--config", "vitest.proof.config.ts", "--mode", "campaign"],
    {
      env: {
        ...{ PATH: process.env["PATH"] ?? "", CAMPAIGN: "reduced", CAMPAIGN_WORLDS: "1" },
        ...{
          CAMPAIGN_ONLY: rows,
          CAMPAIGN_LANES: lanes,
          CAMPAIGN_REPORT: report,
          GREENHOUSE2MQTT_DIST: program,
        },
      },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  let output = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  const [code] = (await once(child, "close")) as unknown[];
  const text = await readFile(report, "utf8").catch(() => "{}");
  const { totals = {} } = JSON.parse(text) as Partial<Outcome>;
  return { code, output, totals } satisfies Outcome;
}

describe.concurrent("the campaign", () => {
  it("is green on the program as it is, with the same rows", async () => {
    const rows = plantedBugs.map((bug) => bug.rows).join("|");
    const { code, output } = await campaign(programFile, "as-it-is", {
      rows,
      lanes: "^(embedded|mosquitto)-5$",
    });
    expect(code, output.slice(-3_000)).toBe(0);
  });

  it.each(plantedBugs.map((bug, place) => [bug.name, bug, place] as const))(
    "is red for: %s",
    async (_, bug, place) => {
      const name = `bug-${place + 1}`;
      const { code, output, totals } = await campaign(await plant(bug, name), name, bug);
      expect(totals[bug.found], output.slice(-3_000)).toBeGreaterThan(0);
      expect(code).toBe(1);
      process.stdout.write(`planted: ${bug.name}: ${bug.found} ${totals[bug.found] ?? 0}\n`);
    },
  );
});
