import { appendFile, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { deviceType, parameterGroup, scannedTypes } from "../../../src/greenhouse/device-types.js";
import type { PlatformErrorFacts, PlatformReader } from "../../../src/greenhouse/ports.js";
import { RequestBudget } from "../../../src/runtime/schedule.js";
import { platformError } from "../../support/scripted-platform.js";
import { scanAccount } from "../../../src/setup/discover/scan.js";
import { type Meter, Progress } from "../../../src/setup/discover/progress.js";
import {
  type Answer,
  type ListedDevice,
  pauseBeforeRetryMs,
  planScan,
} from "../../../src/setup/discover/survey.js";
import { folder } from "../../cli/in-process.js";
import { VirtualClock } from "../../support/virtual-clock.js";
import { device } from "./support/surveys.js";

const house = device({ code: "GH-0001" });
const machine = device({ code: "FM-0002", type: deviceType("C003") });
const station = device({ code: "WS-0001", type: deviceType("W001"), online: null });
const camera = device({ code: "CAM-0001", type: deviceType("V008"), online: null });
const stranger = device({ code: "Z-0001", type: deviceType("Z001"), online: null, isController: false });
const ignored = device({ code: "GH-0007" });
const account = [house, machine, station, camera, stranger];

const odd = (code: string) => device({ code });
const every = 2 + 31;

describe("the plan of a scan", () => {
  it.each<[string, readonly ListedDevice[], readonly string[], Readonly<Record<string, number>>]>([
    [
      "one request per type brings all addresses of a controller, beside one for readings and one for statuses",
      account,
      [],
      { "GH-0001": every, "FM-0002": every, "WS-0001": 2, "CAM-0001": 0, "Z-0001": 2 },
    ],
    [
      "--controller takes a code or a topic id, and asks that device for addresses whatever its type",
      account,
      ["gh-0001", "WS-0001", "Z-0001"],
      { "GH-0001": every, "WS-0001": every, "Z-0001": every },
    ],
    [
      "--controller takes the topic id that the bridge makes of a code in another script",
      [odd("温室1")],
      ["wen_shi1_fmxa87c0"],
      { 温室1: every },
    ],
    ["what the configuration ignores is not asked", [ignored], [], {}],
    ["unless it is named", [ignored], [ignored.code], { [ignored.code]: every }],
    [
      "a device whose code cannot be part of a request is not asked",
      [odd("../x?y=1")],
      [],
      { "../x?y=1": 0 },
    ],
    ["one with an odd code that can is", [odd("x?y=1")], [], { "x?y=1": every }],
  ])("%s", (_, devices, controllers, asked) => {
    const plan = planScan(devices, { controllers, types: scannedTypes }, (code) => code === ignored.code);
    expect(Object.fromEntries(plan.map(({ device: { code }, asks }) => [code, asks.length]))).toEqual(asked);
    for (const { asks } of plan)
      if (asks.length === every) expect(asks).toEqual(["sensors", "statuses", ...scannedTypes]);
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
    [{ kind: "paused", retryAfterMs: 30_000, ofOperation: true }, 0, null],
  ])("%j, tried %i times: after %s ms", (given, tries, afterMs) =>
    expect(pauseBeforeRetryMs(facts(given), tries)).toBe(afterMs),
  ));

/** What a scan learns of an account of three greenhouses, with these answers in the place of the usual ones. */
async function scanned(over: Partial<PlatformReader>) {
  const nothing = () => Promise.resolve([]);
  const records = ["GH-1", "GH-2", "GH-3"].map((code) => ({
    ...{ code, name: code, type: deviceType("C001"), typeName: null, stationId: null, stationName: null },
    ...{ brand: null, hls: null, version: null, online: true, extra: {} },
  }));
  const usual = {
    ...{ controllers: () => Promise.resolve(records), devices: nothing, stations: nothing },
    ...{ sensors: nothing, runningStatuses: nothing, listing: nothing },
  };
  const notes: string[] = [];
  const nothingDone = () => undefined;
  const meter = {
    ...{ note: (text: unknown) => notes.push(String(text)) },
    ...{ begin: nothingDone, onAsked: nothingDone, onSpared: nothingDone },
  };
  const kept = () => Promise.resolve();
  const survey = await scanAccount(
    { controllers: [], types: scannedTypes },
    () => false,
    {
      ...{ clock: new VirtualClock(), budget: new RequestBudget(0), concurrency: 2 },
      platform: { ...usual, ...over } as unknown as PlatformReader,
      progress: { lists: null, answer: () => null, list: kept, add: kept } as unknown as Progress,
      meter: meter as unknown as Meter,
    },
    new AbortController().signal,
  );
  return { survey, notes };
}

describe("what brings nothing usable costs itself alone", () => {
  it.each<[string, Partial<PlatformErrorFacts>]>([
    ["an HTTP error", { kind: "server", status: 502 }],
    ["an answer that cannot be read", { kind: "protocol", status: 200 }],
    ["not asked any more", { kind: "paused", sent: false, ofOperation: true, retryAfterMs: 300_000 }],
  ])("types that are all answered with %s leave readings and running statuses", async (_, facts) => {
    const { survey } = await scanned({ listing: () => Promise.reject(platformError(facts)) });
    expect(survey.devices.map(({ device: { code } }) => code)).toEqual(["GH-1", "GH-2", "GH-3"]);
    for (const { answers, unanswered } of survey.devices) {
      expect([...answers.keys()]).toEqual(["sensors", "statuses"]);
      expect(unanswered).toHaveLength(scannedTypes.length);
    }
  });

  it("a platform that does not answer at all ends the scan all the same", () =>
    expect(
      scanned({ listing: () => Promise.reject(platformError({ kind: "unreachable", sent: false })) }),
    ).rejects.toMatchObject({ name: "ScanEnded", reason: "gave_up" }));
});

describe("nothing is left out without a word", () => {
  it("what of an answer cannot be read is kept with it, once", async () => {
    const { survey } = await scanned({
      listing: (_, __, ___, onUnread) => {
        for (let n = 0; n < 3; n += 1) onUnread?.("an item without the fields it needs");
        return Promise.resolve([]);
      },
    });
    const [first] = survey.devices;
    expect(first?.answers.get(parameterGroup(2))).toMatchObject({
      unread: ["an item without the fields it needs"],
    });
    expect(first?.answers.get("sensors")).toEqual({ type: "sensors", items: [] });
  });

  it("what is left out of the account's lists, or a list that is missing, is a note of the scan", async () => {
    const { survey, notes } = await scanned({
      devices: (_, __, onUnread) => {
        onUnread?.("a device code that is listed twice");
        return Promise.resolve([]);
      },
      stations: () => Promise.reject(platformError({ kind: "server" })),
    });
    expect(survey.notes?.map(String)).toEqual(notes);
    expect(notes).toEqual([
      "left out of the list of devices: a device code that is listed twice",
      expect.stringContaining("going on without a list"),
    ]);
  });
});

const hosts = ["https://business.example.com", "https://realtime.example.com"] as const;

describe("the progress on disk", () => {
  const ask = parameterGroup(2);
  const answer: Answer = { type: "values", values: [["101", "10001"]] };
  const answers = new Map([[ask, answer]]);

  /** A scan that was saved, the clock it was saved by, and what a later run finds of it. */
  async function saved() {
    const clock = new VirtualClock();
    const dataDir = await folder();
    const run = async (of: readonly [string, string] = hosts) => {
      const progress = new Progress(dataDir, of, clock);
      await progress.load();
      return progress;
    };
    const first = await run();
    await first.add("GH-0001", ask, answer);
    await first.list({ takenAt: clock.now(), stations: [], devices: [device()] });
    const found = async (of?: readonly [string, string]) => {
      const progress = await run(of);
      return { answer: progress.answer("GH-0001", ask), devices: progress.lists?.devices.length ?? null };
    };
    return { clock, file: join(dataDir, "discover-progress.json"), run, found };
  }

  it.each(["", "null", "[]", "{}", '{"version":4', '{"version":3,"hosts":["a","b"],"answers":[]}'])(
    "what is none starts over: %s",
    async (text) => {
      const { file, found } = await saved();
      await writeFile(file, text);
      expect(await found()).toEqual({ answer: null, devices: null });
    },
  );

  it.each([[[hosts[0], "https://other"]], [["https://other", hosts[1]]]] as const)(
    "belongs to both hosts it came from: %j",
    async (others) => expect(await (await saved()).found(others)).toEqual({ answer: null, devices: null }),
  );

  it.each([
    ["9 minutes later", 9 * 60_000, { answer, devices: 1 }],
    ["11 minutes later the lists are old: online flags change", 11 * 60_000, { answer, devices: null }],
    ["25 hours later all of it is old", 25 * 3_600_000, { answer: null, devices: null }],
    ["after the clock was set back nothing can be judged", -1_000, { answer: null, devices: null }],
  ])("%s", async (_title, laterMs, expected) => {
    const { clock, found } = await saved();
    clock.setWall(clock.now() + laterMs);
    expect(await found()).toEqual(expected);
  });

  it("a finished scan takes only its own answers away", async () => {
    const { file, run, found } = await saved();
    const progress = await run();
    await progress.add("GH-0002", ask, answer);
    await progress.finish([{ device: device({ code: "GH-0002" }), answers }]);
    expect((await found()).answer).toEqual(answer);
    await progress.finish([{ device: device(), answers }]);
    await expect(readFile(file)).rejects.toThrow("ENOENT");
  });

  it("a line that was broken off costs one answer, and what is added behind it none", async () => {
    const { file, run } = await saved();
    await appendFile(file, '\n{"code":"GH-0002","ask":2,"at');
    await (await run()).add("GH-0003", ask, answer);
    const next = await run();
    const kept = ["GH-0001", "GH-0002", "GH-0003"].map((code) => next.answer(code, ask));
    expect(kept).toEqual([answer, null, answer]);
  });

  it("a disk that takes nothing rejects, and the next answer is tried again", async () => {
    const dataDir = join(await folder(), "data");
    await writeFile(dataDir, "a file where the folder should be");
    const progress = new Progress(dataDir, hosts, new VirtualClock());
    await expect(progress.add("GH-0001", ask, answer)).rejects.toThrow("EEXIST");
    await rm(dataDir);
    await progress.add("GH-0001", ask, answer);
    expect(await readFile(join(dataDir, "discover-progress.json"), "utf8")).toContain("GH-0001");
  });
});
