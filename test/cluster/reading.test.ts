import { describe, expect, it } from "vitest";
import { batchOf, withoutGaps } from "../../src/cluster/nats.js";

const numbers = [1, 2, 5, 6, 7, 9];
const entry = (number: number) => ({
  number,
  subject: "file.x",
  operation: "",
  run: "r",
  data: Buffer.alloc(0),
});

/** Consumers, each of which loses what stands at those places of its own counting; the numbers at which they began. */
function consumers(losing: readonly (readonly number[])[]) {
  const began: number[] = [];
  async function* deliveries(from: number) {
    const lost = losing[began.length] ?? [];
    began.push(from);
    await Promise.resolve();
    const given = numbers.filter((number) => number >= from);
    for (const [at, number] of given.entries())
      if (!lost.includes(at + 1)) yield { count: at + 1, entry: entry(number) };
  }
  return { began, deliveries };
}

async function read({ deliveries }: ReturnType<typeof consumers>): Promise<readonly number[]> {
  const seen: number[] = [];
  for await (const { number } of withoutGaps(deliveries, 1)) seen.push(number);
  return seen;
}

describe("the reading of a stream", () => {
  it.each([
    ["small entries", { bytes: 50_000_000, messages: 100_000 }, 4_096],
    ["entries of some kB", { bytes: 10_000_000, messages: 1_000 }, 209],
    ["the largest entries", { bytes: 52_428_800, messages: 100 }, 8],
    ["none", { bytes: 0, messages: 0 }, 8],
  ])("asks for so many at once that they are not too much: %s", (_, state, batch) => {
    expect(batchOf(state)).toBe(batch);
  });

  it("takes what was purged for no gap", async () => {
    const made = consumers([]);
    expect(await read(made)).toEqual(numbers);
    expect(made.began).toEqual([1]);
  });

  it("is begun anew behind the last entry in its place where a link that was lost took some with it", async () => {
    const made = consumers([[3, 4], [2]]);
    expect(await read(made)).toEqual(numbers);
    expect(made.began).toEqual([1, 3, 6]);
  });

  it("fails where nothing comes in its place", async () => {
    await expect(read(consumers([[1]]))).rejects.toThrow("not given whole");
  });
});
