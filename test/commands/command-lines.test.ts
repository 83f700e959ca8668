import { describe, expect, it } from "vitest";
import { fanBench } from "./benches.js";

const asked = { controller: "gh-0001", actuator: "roof", command: "on", value: "1010", by: "anna" };

describe("the log", () => {
  it("has a line of each command taken and one of its result: who, target, value, outcome", async () => {
    const bench = fanBench();
    await bench.run('{"command":"on","by":"anna","id":"a"}');
    expect(bench.lines).toEqual([
      ["command taken", { id: "a", ...asked, via: null }],
      ["command ended", { id: "a", ...asked, via: null, outcome: "confirmed", reason: null }],
    ]);
  });

  it("has a line of a command that was refused", async () => {
    const bench = fanBench();
    await bench.run("dance");
    expect(bench.lines).toMatchObject([["command ended", { outcome: "refused", reason: "unknown_command" }]]);
  });

  it("is not flooded: above 60 refusals a minute for one target there is one line of how many", async () => {
    const bench = fanBench();
    for (let n = 0; n < 1_000; n++) bench.send("dance");
    await bench.clock.advance(61_000);
    await bench.journalAgain();
    expect(bench.lines).toHaveLength(61);
    expect(bench.lines.at(-1)).toMatchObject(["commands ended that were only counted", { count: 940 }]);
  });
});
