import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { programFile } from "../../end-to-end/support/program.js";
import { plantedBugs } from "../../planted/bugs.js";
import { type Planted, planted, seamFile } from "../../planted/plant.mjs";

/* Whether the campaign can fail: it is run on copies of the built program with one bug each, and must find it. */

let folder = "";

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "greenhouse2mqtt-planted-"));
  await symlink(resolve("node_modules"), join(folder, "node_modules"));
  await cp("package.json", join(folder, "package.json"));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function plant(bug: Planted, name: string): Promise<string> {
  const copy = join(folder, name);
  await cp(dirname(programFile), copy, { recursive: true });
  const file = join(copy, `${seamFile(bug)}.js`);
  await writeFile(file, planted(await readFile(file, "utf8"), bug));
  return join(copy, "main.js");
}

interface Outcome {
  readonly code: unknown;
  readonly output: string;
  readonly totals: Readonly<Record<string, number>>;
}

async function campaign(
  program: string,
  name: string,
  { rows, lanes }: { readonly rows: string; readonly lanes: string },
) {
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

const found = Object.entries(plantedBugs).flatMap(([name, bug]) =>
  bug.campaign ? [{ name, bug, campaign: bug.campaign }] : [],
);

describe.concurrent("the campaign", () => {
  it("is green on the program as it is, with the same rows", async () => {
    const rows = found.map((one) => one.campaign.rows).join("|");
    const { code, output } = await campaign(programFile, "as-it-is", {
      rows,
      lanes: "^(embedded|mosquitto)-5$",
    });
    expect(code, output.slice(-3_000)).toBe(0);
  });

  it.each(found)("is red for: $name", async ({ name, bug, campaign: asked }) => {
    const { code, output, totals } = await campaign(await plant(bug, name), name, asked);
    expect(totals[asked.found], output.slice(-3_000)).toBeGreaterThan(0);
    expect(code).toBe(1);
    process.stdout.write(`planted: ${name}: ${asked.found} ${totals[asked.found] ?? 0}\n`);
  });
});
