import { appendFile, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { deviceType, parameterGroup, scannedTypes } from "../../../src/greenhouse/device-types.js";
import type { PlatformErrorFacts } from "../../../src/greenhouse/ports.js";
import { Progress } from "../../../src/setup/discover/progress.js";
import { type Answer, pauseBeforeRetryMs, planScan } from "../../../src/setup/discover/survey.js";
import { folder } from "../../cli/in-process.js";
import { VirtualClock } from "../../support/virtual-clock.js";
import { device } from "./support/surveys.js";

const all = { controllers: [], types: scannedTypes };
const everyone = () => false;

const house = device({ code: "GH-0001" });
const machine = device({ code: "FM-0002", type: deviceType("C003") });
const station = device({ code: "WS-0001", type: deviceType("W001"), online: null });
const camera = device({ code: "CAM-0001", type: deviceType("V008"), online: null });
const stranger = device({ code: "Z-0001", type: deviceType("Z001"), online: null, isController: false });
const account = [house, machine, station, camera, stranger];

const asks = (plan: ReturnType<typeof planScan>) =>
  Object.fromEntries(plan.map(({ device: { code }, asks: some }) => [code, some.length]));

describe("the plan of a scan", () => {
  it("one request per type brings all its addresses, beside one for readings and one for running statuses", () => {
    expect(asks(planScan(account, all, everyone))).toEqual({
      "GH-0001": 2 + 31,
      "FM-0002": 2 + 31,
      "WS-0001": 2,
      "CAM-0001": 0,
      "Z-0001": 2,
    });
    const [first] = planScan([house], all, everyone);
    expect(first?.asks).toEqual(["sensors", "statuses", ...scannedTypes]);
  });

  it("--controller takes a device code or a topic id, and asks that device for addresses whatever its type", () => {
    const chosen = { controllers: ["gh-0001", "WS-0001", "Z-0001"], types: scannedTypes };
    expect(asks(planScan(account, chosen, everyone))).toEqual({ "GH-0001": 33, "WS-0001": 33, "Z-0001": 33 });
  });

  it("--controller takes the topic id that the bridge makes of a code in another script", () => {
    const asked = planScan(
      [device({ code: "温室1" })],
      { ...all, controllers: ["wen_shi1_fmxa87c0"] },
      everyone,
    );
    expect(Object.keys(asks(asked))).toEqual(["温室1"]);
  });

  it("what the configuration ignores is asked only by name", () => {
    const ignored = (code: string) => code === "GH-0001";
    expect(asks(planScan([house], all, ignored))).toEqual({});
    expect(asks(planScan([house], { ...all, controllers: ["GH-0001"] }, ignored))).toEqual({ "GH-0001": 33 });
  });

  it("a device whose code cannot be part of a request is not asked", () => {
    expect(asks(planScan([device({ code: "../x?y=1" })], all, everyone))).toEqual({ "../x?y=1": 0 });
    expect(asks(planScan([device({ code: "x?y=1" })], all, everyone))).toEqual({ "x?y=1": 2 + 31 });
  });
});

const facts = (over: Partial<PlatformErrorFacts>): PlatformErrorFacts => ({
  kind: "server",
  host: "realtime",
  operation: "GET /api/set-value/flush",
  sent: true,
  ...over,
});

describe("a question that failed is asked again", () =>
  it.each<[Partial<PlatformErrorFacts>, number, number | null]>([
    [{ kind: "rejected" }, 0, null],
    [{ kind: "unauthorized" }, 0, null],
    [{ kind: "timeout" }, 0, 0],
    [{ kind: "timeout" }, 1, null],
    [{ kind: "server" }, 0, null],
    [{ kind: "paused", retryAfterMs: 30_000 }, 0, 30_000],
    [{ kind: "throttled" }, 0, 10_000],
    [{ kind: "throttled", retryAfterMs: 3_600_000 }, 0, null],
    [{ kind: "paused", retryAfterMs: 30_000 }, 6, null],
  ])("%j, tried %i times: after %s ms", (given, tries, afterMs) =>
    expect(pauseBeforeRetryMs(facts(given), tries)).toBe(afterMs),
  ));

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
