import { appendFile, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parameterGroup } from "../../../src/greenhouse/device-types.js";
import { Progress } from "../../../src/setup/discover/progress.js";
import type { Answer } from "../../../src/setup/discover/survey.js";
import { VirtualClock } from "../../support/virtual-clock.js";
import { folder } from "../../cli/in-process.js";
import { device } from "./support/surveys.js";

const hosts = ["https://business.example.com", "https://realtime.example.com"] as const;

describe("the progress on disk", () => {
  const ask = parameterGroup(2);
  const answer: Answer = { type: "values", values: [["101", "10001"]] };
  const answers = new Map([[ask, answer]]);

  async function saved(clock: VirtualClock) {
    const dataDir = await folder();
    const progress = new Progress(dataDir, hosts, clock);
    await progress.add("GH-0001", ask, answer);
    await progress.list({ takenAt: clock.now(), stations: [], devices: [device()] });
    return dataDir;
  }

  const opened = async (dataDir: string, clock: VirtualClock, other: readonly [string, string] = hosts) => {
    const progress = new Progress(dataDir, other, clock);
    await progress.load();
    return { answer: progress.answer("GH-0001", ask), devices: progress.lists?.devices.length ?? null };
  };

  it("is there in the next run", async () => {
    const clock = new VirtualClock();
    expect(await opened(await saved(clock), clock)).toEqual({ answer, devices: 1 });
  });

  it.each(["", "null", "[]", "{}", '{"version":4', '{"version":3,"hosts":["a","b"],"answers":[]}'])(
    "what is none starts over: %s",
    async (text) => {
      const clock = new VirtualClock();
      const dataDir = await saved(clock);
      await writeFile(join(dataDir, "discover-progress.json"), text);
      expect(await opened(dataDir, clock)).toEqual({ answer: null, devices: null });
    },
  );

  it("belongs to both hosts it came from", async () => {
    const clock = new VirtualClock();
    const dataDir = await saved(clock);
    for (const other of [
      [hosts[0], "https://other"],
      ["https://other", hosts[1]],
    ] as const)
      expect(await opened(dataDir, clock, other)).toEqual({ answer: null, devices: null });
  });

  it.each([
    ["9 minutes later", 9 * 60_000, { answer, devices: 1 }],
    ["11 minutes later the lists are old: online flags change", 11 * 60_000, { answer, devices: null }],
    ["25 hours later all of it is old", 25 * 3_600_000, { answer: null, devices: null }],
    ["after the clock was set back nothing can be judged", -1_000, { answer: null, devices: null }],
  ])("%s", async (_title, laterMs, expected) => {
    const clock = new VirtualClock();
    const dataDir = await saved(clock);
    clock.setWall(clock.now() + laterMs);
    expect(await opened(dataDir, clock)).toEqual(expected);
  });

  it("a finished scan takes only its own answers away", async () => {
    const clock = new VirtualClock();
    const dataDir = await saved(clock);
    const progress = new Progress(dataDir, hosts, clock);
    await progress.load();
    await progress.add("GH-0002", ask, answer);
    await progress.finish([{ device: device({ code: "GH-0002" }), answers }]);
    expect((await opened(dataDir, clock)).answer).toEqual(answer);
    await progress.finish([{ device: device(), answers }]);
    await expect(readFile(join(dataDir, "discover-progress.json"))).rejects.toThrow("ENOENT");
  });

  it("a line that was broken off costs one answer, and what is added behind it none", async () => {
    const clock = new VirtualClock();
    const dataDir = await saved(clock);
    await appendFile(join(dataDir, "discover-progress.json"), '\n{"code":"GH-0002","ask":2,"at');
    const progress = new Progress(dataDir, hosts, clock);
    await progress.load();
    await progress.add("GH-0003", ask, answer);
    const next = new Progress(dataDir, hosts, clock);
    await next.load();
    expect(["GH-0001", "GH-0002", "GH-0003"].map((code) => next.answer(code, ask))).toEqual([
      answer,
      null,
      answer,
    ]);
  });

  it("a disk that takes nothing rejects, and the next answer is tried again", async () => {
    const clock = new VirtualClock();
    const dataDir = join(await folder(), "data");
    await writeFile(dataDir, "a file where the folder should be");
    const progress = new Progress(dataDir, hosts, clock);
    await expect(progress.add("GH-0001", ask, answer)).rejects.toThrow("EEXIST");
    await rm(dataDir);
    await progress.add("GH-0001", ask, answer);
    expect((await opened(dataDir, clock)).answer).toEqual(answer);
  });
});
