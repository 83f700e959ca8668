import { expect, it } from "vitest";
import { processesOfThisMachine, runSeeds } from "./seed-pool.js";

const seeds = Array.from({ length: 20 }, (_, n) => 9_001 + n);

it("the same seed gives the same history, whatever ran before it in the process", async () => {
  const asked = { hours: 2, processes: processesOfThisMachine(), mostFailures: 1 };
  const digests = async (order: readonly number[]) =>
    (await runSeeds({ ...asked, seeds: order })).map(({ digest }) => digest);
  const first = await digests(seeds);
  expect(await digests([...seeds].reverse())).toEqual(first);
  expect(new Set(first).size).toBe(seeds.length);
});
