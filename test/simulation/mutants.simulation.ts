import { afterAll, describe, expect, it } from "vitest";
import { rules } from "../judge/rules.js";
import { unitTests } from "../planted/unit-tests.js";
import { plantedBugs } from "../planted/bugs.js";
import { tellFigures } from "../proof/figures.js";
import { runSeeds } from "./seeds.js";

/*
 * Which judge finds which planted bug: for each the rule of the simulation and the number of seeds, or the failing unit
 * tests. Bugs for the campaign have a proof of their own (test/campaign/planted).
 */

const seeds = Array.from({ length: 200 }, (_, n) => 1 + n);
const lines: string[] = [];
const noticedBy: Record<string, string> = {};

afterAll(async () => {
  await tellFigures("mutants", false, noticedBy);
  console.log(`| planted bug | seeds needed | noticed as |\n|---|---|---|\n${lines.join("\n")}`);
});

describe.concurrent("a planted bug is noticed within 200 seeds", () => {
  const known = Object.entries(plantedBugs).filter(([, { breaks }]) => breaks !== undefined);
  it.each(known)("%s", async (name, planted) => {
    const runs = await runSeeds({ seeds, hours: 6, processes: 1, mostFailures: 1, planted });
    const noticed = runs.find(({ failure }) => failure !== null);
    expect(noticed?.failure, "no seed noticed it").toBeTypeOf("string");
    expect(planted.breaks, noticed?.failure ?? "").toContain(noticed?.invariant);
    const rule = planted.breaks?.find((one) => one === noticed?.invariant);
    noticedBy[name] =
      `${rule ?? "none"} (${rule === undefined ? "" : rules[rule]}) after ${runs.length} seeds`;
    const message = noticed?.failure?.split("\n")[0]?.replace(/^seed \d+: /, "") ?? "";
    lines.push(`| ${name} | ${runs.length} | ${message} |`);
  });
});

describe("a planted bug turns its unit tests red", () => {
  const known = Object.entries(plantedBugs).flatMap(([name, bug]) =>
    bug.tests === undefined ? [] : [{ name, bug, tests: bug.tests }],
  );

  it("which are green without it", async () => {
    const files = [...new Set(known.map(({ tests }) => tests))];
    expect(await unitTests(files, null)).toMatchObject({ code: 0 });
  });

  it.each(known)("$name", async ({ name, bug, tests }) => {
    const { code, failed } = await unitTests([tests], bug);
    expect(code).toBe(1);
    expect(failed, "tests that are red, and not a module that cannot be loaded").toBeGreaterThan(0);
    noticedBy[name] = `${failed} unit tests of ${tests}`;
    lines.push(`| ${name} | unit | ${failed} of ${tests} |`);
  });
});
