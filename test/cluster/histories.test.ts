import { expect, it } from "vitest";
import { askedOfTheMachine } from "../support/machine.js";
import { historyOf } from "./support/world.js";

/*
 * Members of a cluster on a virtual clock: links are cut, processes stop and die, clocks are set, servers fail.
 * HISTORIES is the number of seeds, FROM the first one.
 */

const count = Number(process.env["HISTORIES"] ?? 20);
const from = Number(process.env["FROM"] ?? 1);

/**
 * For one member in calm. docs/inside/cluster.md has the measured number, which varies with the commands that end
 * meanwhile.
 */
const mostAskedPerMinute = 90;

it(
  `in ${count} histories no two members POST, no result is lost, no command is taken twice, and another takes over in time`,
  async () => {
    const wrong: string[] = [];
    const sum = { posts: 0, commands: 0, takeOvers: 0, readingMs: 0, commandMs: 0, askedPerMinute: 0 };
    for (let seed = from; seed < from + count; seed += 1) {
      const { violations, posts, commands, takeOvers, readingMs, commandMs, askedPerMinute } =
        await historyOf(seed);
      for (const one of violations) wrong.push(`seed ${seed}: ${one}`);
      sum.posts += posts;
      sum.commands += commands;
      sum.takeOvers += takeOvers;
      sum.readingMs = Math.max(sum.readingMs, readingMs);
      sum.commandMs = Math.max(sum.commandMs, commandMs);
      sum.askedPerMinute = Math.max(sum.askedPerMinute, Math.round(askedPerMinute));
      if (wrong.length > 5) break;
    }
    console.log(JSON.stringify(sum));
    expect(wrong).toEqual([]);
    expect(sum.posts).toBeGreaterThan(count);
    expect(sum.takeOvers).toBeGreaterThan(2 * count);
    expect(sum.askedPerMinute).toBeLessThan(mostAskedPerMinute);
    // Each takes seconds, and more on a busy machine.
  },
  count * 30_000,
);

it("a history asks nothing of the machine that it runs on, so that a seed is the same on a busy one", async () => {
  expect(await askedOfTheMachine(() => historyOf(from))).toEqual([]);
});
