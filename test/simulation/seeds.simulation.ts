import { expect, it } from "vitest";
import { tellFigures } from "../proof/figures.js";
import { processesOfThisMachine, runSeeds } from "./seed-pool.js";
import { tallyOf, tell } from "./tally.js";

const count = Number(process.env["SEEDS"] ?? 500);
const from = Number(process.env["FROM"] ?? 1);
const hours = 6;

it(`no rule is broken in ${count} seeds x ${hours} h, and every rare path occurs`, async () => {
  const startedAt = performance.now();
  const processes = processesOfThisMachine();
  const seeds = Array.from({ length: count }, (_, n) => from + n);
  const runs = await runSeeds({ seeds, hours, processes, mostFailures: 3 });
  const tally = tallyOf(runs, { hours, processes, minutes: (performance.now() - startedAt) / 60_000 });
  const lines: string[] = [];
  tell(tally, (line) => lines.push(line));
  console.log(lines.join("\n"));
  const { commands, posts, programStarts, violations, minutes } = tally;
  await tellFigures("simulation", count < 500, {
    seeds: count,
    commands,
    posts,
    programStarts,
    violations,
    minutes,
  });
  expect(runs.flatMap(({ failure }) => failure ?? []).join("\n\n")).toBe("");
  expect(tally.missing).toEqual([]);
});
