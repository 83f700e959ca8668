import { describe, expect, it } from "vitest";
import { tellFigures } from "../proof/figures.js";
import { askedOfTheMachine } from "../support/machine.js";
import { VirtualClock } from "../support/virtual-clock.js";
import { SimulatedDisk } from "./disk.js";
import { Chance } from "./scenario.js";
import { processesOfThisMachine, runSeeds, tallyOf, tell } from "./seeds.js";
import { WallClock, worldTime } from "./time.js";
import { simulate } from "./world.js";

const count = Number(process.env["SEEDS"] ?? 500);
const from = Number(process.env["FROM"] ?? 1);
const hours = 6;

it(`no rule is broken in ${count} seeds x ${hours} h, and every rare path occurs`, async () => {
  const startedAt = performance.now();
  const processes = processesOfThisMachine();
  const seeds = Array.from({ length: count }, (_, n) => from + n);
  const runs = await runSeeds({ seeds, hours, processes, mostFailures: 3 });
  const tally = tallyOf(runs, { hours, processes, minutes: (performance.now() - startedAt) / 60_000 });
  tell(tally, (line) => console.log(line));
  const { commands, posts, programStarts, violations, minutes } = tally;
  const figures = { seeds: count, commands, posts, programStarts, violations, minutes };
  await tellFigures("simulation", count < 500, figures);
  expect(runs.flatMap(({ failure }) => failure ?? []).join("\n\n")).toBe("");
  expect(tally.missing).toEqual([]);
});

describe("the simulation itself", () => {
  it("gives the same history for the same seed, whatever ran before it in the process", async () => {
    const twice = Math.min(20, Math.ceil(count / 4));
    const seeds = Array.from({ length: twice }, (_, n) => 9_001 + n);
    const asked = { hours: 2, processes: processesOfThisMachine(), mostFailures: 1 };
    const digests = async (order: readonly number[]) =>
      (await runSeeds({ ...asked, seeds: order })).map(({ digest }) => digest);
    const first = await digests(seeds);
    expect(await digests([...seeds].reverse())).toEqual(first);
    expect(new Set(first).size).toBe(seeds.length);
  });

  it("asks nothing of the machine that it runs on, so that a seed is the same on a busy one", async () => {
    const history = () => simulate(9_001, 1);
    // Modules that are imported late are read from disk the first time.
    await history();
    expect(await askedOfTheMachine(history)).toEqual([]);
  });

  it("knows of a whole line that a cut off write left on a full disk", async () => {
    const lineOf = (by: string) => `{"type":"result","result":{"by":"${by}"}}\n`;
    const seen = new Set<string>();
    for (let seed = 1; seed <= 40; seed += 1) {
      const time = worldTime();
      const disk = new SimulatedDisk(time, new WallClock(time, 0), new Chance(seed, "disk"));
      const file = await disk.mount(new VirtualClock()).open("/data/journal", "a", 0o600);
      disk.full = true;
      await expect(file.write(Buffer.from(lineOf("r1") + lineOf("r2")))).rejects.toThrow("ENOSPC");
      const bytes = new Uint8Array(1_000);
      const left = Buffer.from(bytes.subarray(0, await file.read(bytes, 0))).toString();
      for (const by of ["r1", "r2"]) expect(disk.written.has(`result ${by}`)).toBe(left.includes(lineOf(by)));
      seen.add([...disk.written].join());
    }
    expect([...seen].sort()).toEqual(["", "result r1"]);
  });
});
