import { expect, it } from "vitest";
import { CommandBench } from "../support/command-bench.js";

it("a stop whose journal record is still being written when the program ends is refused, not sent", async () => {
  const bench = new CommandBench({ actuators: [{ stop: { address: "109", value: "00000100" } }] });
  bench.send("stop");
  bench.commander.close();
  await bench.clock.advance(10_000);
  expect(bench.values()).toEqual([]);
  expect(bench.results).toMatchObject([{ outcome: "refused", reason: "shutting_down", sent_at: null }]);
});
