import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { tellFigures } from "../proof/figures.js";
import { mutants } from "./mutants.js";
import { runSeeds } from "./seed-pool.js";

const root = resolve(import.meta.dirname, "../..");
const seeds = Array.from({ length: 200 }, (_, n) => 1 + n);
const lines: string[] = [];
const seedsNeeded: Record<string, string> = {};

afterAll(async () => {
  await tellFigures("mutants", false, seedsNeeded);
  console.log(`| planted bug | seeds needed | noticed as |\n|---|---|---|\n${lines.join("\n")}`);
});

describe.concurrent("a planted bug is noticed within 200 seeds", () => {
  it.each(Object.entries(mutants))("%s", async (name, planted) => {
    const text = readFileSync(resolve(root, planted.file), "utf8");
    expect(text.split(planted.from), `its text is not found exactly once in ${planted.file}`).toHaveLength(2);
    const runs = await runSeeds({ seeds, hours: 6, processes: 1, mostFailures: 1, planted });
    const noticed = runs.find(({ failure }) => failure !== null);
    expect(noticed?.failure, "no seed noticed it").toBeTypeOf("string");
    expect(planted.breaks, noticed?.failure ?? "").toContain(noticed?.invariant);
    seedsNeeded[name] = `noticed after ${runs.length} of ${seeds.length} seeds`;
    const message = noticed?.failure?.split("\n")[0]?.replace(/^seed \d+: /, "") ?? "";
    lines.push(`| ${name} | ${runs.length} | ${message} |`);
  });
});
