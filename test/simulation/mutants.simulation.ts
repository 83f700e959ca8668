import { afterAll, describe, expect, it } from "vitest";
import { plantedBugs } from "../planted/bugs.js";
import { tellFigures } from "../proof/figures.js";
import { runSeeds } from "./seeds.js";

const seeds = Array.from({ length: 200 }, (_, n) => 1 + n);
const lines: string[] = [];
const seedsNeeded: Record<string, string> = {};

afterAll(async () => {
  await tellFigures("mutants", false, seedsNeeded);
  console.log(`| planted bug | seeds needed | noticed as |\n|---|---|---|\n${lines.join("\n")}`);
});

describe.concurrent("a planted bug is noticed within 200 seeds", () => {
  const known = Object.entries(plantedBugs).filter(([, { breaks }]) => breaks !== undefined);
  it.each(known)("%s", async (name, planted) => {
    const runs = await runSeeds({ seeds, hours: 6, processes: 1, mostFailures: 1, planted });
    const noticed = runs.find(({ failure }) => failure !== null);
    expect(noticed?.failure, "no seed noticed it").toBeTypeOf("string");
    expect(planted.breaks, noticed?.failure ?? "").toContain(noticed?.invariant);
    seedsNeeded[name] = `noticed after ${runs.length} of ${seeds.length} seeds`;
    const message = noticed?.failure?.split("\n")[0]?.replace(/^seed \d+: /, "") ?? "";
    lines.push(`| ${name} | ${runs.length} | ${message} |`);
  });
});
