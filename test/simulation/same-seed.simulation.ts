import { expect, it } from "vitest";
import { simulate } from "./simulate.js";

const seeds = Array.from({ length: 20 }, (_, n) => 9_001 + n);

it("the same seed twice gives the same history", async () => {
  const digests = async () => {
    const found: string[] = [];
    for (const seed of seeds) found.push((await simulate(seed, 2)).digest);
    return found;
  };
  const first = await digests();
  expect(await digests()).toEqual(first);
  expect(new Set(first).size).toBe(seeds.length);
});
