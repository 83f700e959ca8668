import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundle, root } from "../../../build/bundle.mjs";
import { programFile } from "../../end-to-end/support/program.js";
import { plantedBugs } from "../../planted/bugs.js";
import { tellFigures } from "../../proof/figures.js";
import { type Planted, planted, seamFile } from "../../planted/plant.mjs";

/* Checks that the campaign can fail: it must find each bug built into the program, one at a time. */

let folder = "";
/** What the campaign counted for each bug, for the report. */
const foundBy: Record<string, string> = {};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "greenhouse2mqtt-planted-"));
  await cp("package.json", join(folder, "package.json"));
});
afterAll(async () => {
  await tellFigures("planted", false, foundBy);
  await rm(folder, { recursive: true, force: true });
});

/** Builds the program with the bug in its module. */
async function plant(bug: Planted, name: string): Promise<string> {
  const copy = join(folder, name);
  const seam = join(root, "src", `${seamFile(bug)}.ts`);
  let isPlanted = false;
  const plugin = {
    name: "planted",
    transform(text: string, file: string) {
      if (file !== seam) return null;
      isPlanted = true;
      return { code: planted(javaScript(text), bug), moduleType: "js" as const, map: { mappings: "" } };
    },
  };
  await bundle({ folder: copy, plugins: [plugin] });
  expect(isPlanted, `${seam} is part of the program`).toBe(true);
  await cp(join(dirname(programFile), "page"), join(copy, "page"), { recursive: true });
  return join(copy, "main.js");
}

const javaScript = (text: string) =>
  ts.transpileModule(text, {
    compilerOptions: {
      target: ts.ScriptTarget.ES2023,
      module: ts.ModuleKind.ESNext,
      verbatimModuleSyntax: true,
    },
  }).outputText;

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
    foundBy[name] = `${totals[asked.found] ?? 0} ${asked.found} in ${asked.rows}`;
  });
});
