import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { mayDo } from "../../src/config/live-settings.js";
import { configurationSchema } from "../../src/config/schema.js";
import { parameterGroup } from "../../src/greenhouse/device-types.js";
import { PlatformError, type PlatformErrorKind, type RawValue } from "../../src/greenhouse/ports.js";
import { newController, reduce } from "../../src/greenhouse/reduce.js";
import { countsLogger, logActuators, warnOfSensors, warnOfUnlisted } from "../../src/sync/mirror.js";
import type { PollJob } from "../../src/sync/poll-plan.js";
import { perform, PollTally } from "../../src/sync/poll-reads.js";
import { capturedLog } from "../mqtt-connection/support.js";
import {
  actuator,
  controller,
  controllerSettings,
  item,
  limits,
  record,
  sensorSettings,
} from "../support/builders.js";
import { CountingPlatform, failure } from "../support/counting-platform.js";
import { minute } from "../support/folding.js";
import { devices, hour, mirrorSettings, polledMirror } from "../support/polled-mirror.js";
import { VirtualClock } from "../support/virtual-clock.js";

const group = parameterGroup(10);
const address: PollJob = { kind: "registers", code: "GH-0", read: { type: "address", address: "101" } };

function bench() {
  const settings = controllerSettings({
    code: "GH-0",
    actuators: [actuator(), actuator({ id: "side", address: "102", group })],
    parameters: [{ id: "ec", address: "501", scale: 1 }],
  });
  const world = polledMirror({
    settings: mirrorSettings([settings]),
    items: (_, clock) => [item({ measuredAt: clock.now() })],
  });
  world.platform.list = devices(1);
  const run = async (job: PollJob) => {
    const done = perform(job, { ...world, tally: world.poller.tally }, world.abort.signal);
    done.catch(() => undefined);
    await world.clock.advance(1_000);
    return done;
  };
  const roof = () => world.store.get("GH-0")?.actuators.get("roof");
  const names = () => world.platform.calls.map(({ name }) => name);
  /** The register as the device itself showed it just now. */
  const shown = (raw: string, address = "101", startedAt = world.clock.monotonic()) =>
    world.store.dispatch("GH-0", {
      type: "registers_read",
      values: new Map([[address, raw]]),
      startedAt,
      readAt: world.clock.now(),
      fresh: true,
      source: "read_back",
    });
  return { ...world, run, roof, names, shown };
}

describe("one read", () => {
  it("what it shows is folded, dated when it came and ordered by when it was asked", async () => {
    const one = bench();
    one.platform.registers.set("GH-0 101", "10010");
    await one.run(address);
    expect(one.roof()).toMatchObject({ state: "open", source: "poll", readAt: one.clock.now() - 980 });
    expect(one.roof()?.registers["101"]).toMatchObject({ startedAt: 0, fresh: false });
  });

  it("one that was asked before a read-back that ended meanwhile changes nothing", async () => {
    const one = bench();
    one.platform.registers.set("GH-0 101", "10001").set("GH-0 101 fresh", "10010");
    const slow = perform(address, { ...one, tally: one.poller.tally }, one.abort.signal);
    await one.clock.advance(10);
    one.shown("10010");
    await one.clock.advance(1_000);
    await slow;
    expect(one.roof()?.state).toBe("open");
  });

  it("an answer without the address changes nothing, nor does a failure, which rejects", async () => {
    const one = bench();
    one.shown("10010");
    const before = one.roof();
    await one.run(address);
    one.platform.fate = () => {
      throw failure("rejected", "realtime");
    };
    await expect(one.run(address)).rejects.toThrow("did not do it");
    expect(one.roof()).toBe(before);
  });
});

describe("videos that are asked for a device each", () => {
  const misses = () =>
    new PlatformError("it misses something", {
      ...failure("rejected", "business").facts,
      platformMessage: "deviceCode is missing",
    });

  /** What two cameras show after these answers, of which null is a refusal. */
  async function shown(...rounds: (readonly [one: string | null, other: string | null])[]) {
    const codes = ["GH-0", "GH-1"];
    const world = polledMirror({
      settings: mirrorSettings(codes.map((code) => controllerSettings({ code, stream: true }))),
    });
    world.platform.list = devices(2);
    const { store, clock, platform, poller, abort } = world;
    const run = async (job: PollJob) => {
      const done = perform(job, { ...world, tally: poller.tally }, abort.signal).then(() => "read", String);
      await clock.advance(1_000);
      return done;
    };
    await run({ kind: "controllers" });
    const ends: string[] = [];
    for (const round of rounds) {
      platform.videos = (_: AbortSignal, code?: string) => {
        if (code === undefined) return Promise.reject(misses());
        const hls = round[codes.indexOf(code)] ?? null;
        if (hls === null) return Promise.reject(failure("rejected", "business"));
        return Promise.resolve([{ ...record({ code }), hls }]);
      };
      ends.push(await run({ kind: "videos" }));
      // A list comes between.
      await run({ kind: "controllers" });
    }
    return { ends, streams: codes.map((code) => store.get(code)?.info.stream) };
  }

  it("one that is refused keeps what is known of it, and the others are read", async () =>
    expect(await shown(["rtsp://a", "rtsp://b"], [null, "rtsp://c"])).toEqual({
      ends: ["read", "read"],
      streams: ["rtsp://a", "rtsp://c"],
    }));

  it("the read fails where all are refused", async () =>
    expect(await shown(["rtsp://a", "rtsp://b"], [null, null])).toEqual({
      ends: ["read", expect.stringContaining("did not do it")],
      streams: ["rtsp://a", "rtsp://b"],
    }));
});

describe("an unflushed value that contradicts a flushed one", () => {
  const [unflushed, flushed] = ["value GH-0 101", "value GH-0 101 fresh"];
  it.each<[rule: string, unflushed: RawValue, fresh: RawValue, calls: string[], states: string[]]>([
    ["is read again from the device, which decides", "10001", "10010", [unflushed, flushed], ["open"]],
    ["is a change where the device says so too", "10001", "10001", [unflushed, flushed], ["closed"]],
    ["is none when it is equal", "10010", "10010", [unflushed], ["open"]],
    ["is none when it is equal as a number", 10010, 10010, [unflushed], ["open"]],
  ])("%s", async (_, raw, fresh, calls, shown) => {
    const one = bench();
    one.shown("10010");
    one.platform.registers.set("GH-0 101", raw).set("GH-0 101 fresh", fresh);
    const states = new Set<unknown>();
    one.store.onChange(() => states.add(one.roof()?.state));
    await one.run(address);
    expect(one.names()).toEqual(calls);
    expect([...states, one.roof()?.state].slice(-1)).toEqual(shown);
    expect(states).not.toContain(shown[0] === "open" ? "closed" : "open");
  });

  it.each<[rule: string, owner: string, address: string, open: string, closed: string]>([
    ["of an actuator", "roof", "101", "10010", "10001"],
    ["of a parameter", "ec", "501", "2", "1"],
  ])(
    "%s is read again too where the device was asked before a poll and answered behind it",
    async (_, owner, at, open, closed) => {
      const one = bench();
      const job: PollJob = { ...address, read: { type: "address", address: at } };
      const names = () =>
        one
          .names()
          .splice(-2)
          .filter((name) => name.endsWith("fresh"));
      const shows = () => {
        const { actuators, parameters } = one.store.get("GH-0") ?? {};
        return String(actuators?.get(owner)?.registers[at]?.raw ?? parameters?.get(owner)?.register?.raw);
      };
      const fresh = `value GH-0 ${at} fresh`;
      one.platform.registers.set(`GH-0 ${at}`, open).set(fresh.slice(6), open);
      await one.run(job);
      // The device agrees: its word stands, and an older one of the platform's memory has to be asked again.
      one.shown(open, at, -1);
      one.platform.registers.set(`GH-0 ${at}`, closed);
      await one.run(job);
      expect([names(), shows()]).toEqual([[fresh], open]);
    },
  );

  it("is read again where the one before it differed from what the device said meanwhile", async () => {
    const one = bench();
    one.platform.registers.set("GH-0 101", "10001").set("GH-0 101 fresh", "10010");
    await one.run(address);
    one.shown("10010", "101", -1);
    expect(one.roof()?.state).toBe("closed");
    await one.run(address);
    expect(one.names()).toEqual([unflushed, unflushed, flushed]);
    expect(one.roof()?.state).toBe("open");
    await one.run(address);
    one.platform.registers.set("GH-0 101", "10010");
    await one.run(address);
    expect(one.names().slice(3)).toEqual([unflushed, flushed, unflushed]);
  });

  it("in a group too, each address, and is never shown where the device cannot be asked", async () => {
    const one = bench();
    one.shown("10010");
    one.shown("10010", "102");
    for (const address of ["101", "102"]) one.platform.registers.set(`GH-0 ${address}`, "10001");
    one.platform.fate = ({ name }) => {
      if (name === flushed) throw failure("rejected", "realtime");
    };
    await expect(one.run({ ...address, read: { type: "group", group } })).rejects.toThrow();
    expect(one.names()).toEqual(["values GH-0 10", flushed, "value GH-0 102 fresh"]);
    expect(one.roof()?.state).toBe("open");
    expect(one.store.get("GH-0")?.actuators.get("side")?.state).toBe("closed");
  });
});

it("what polling asked is counted by operation and result; the time of the last answer is kept for each controller", async () => {
  const clock = new VirtualClock();
  const platform = new CountingPlatform(clock);
  const tally = new PollTally(clock);
  await clock.advance(1_000);
  const sensors = async (code: string) => {
    const read = platform.sensors(code, new AbortController().signal);
    const caught = tally.track("sensors", code, read).catch((error: unknown) => error);
    await clock.advance(20);
    return caught;
  };
  expect(tally.endedAt).toBeNull();
  expect(await sensors("GH-1")).toEqual([]);
  await sensors("GH-2");
  for (const kind of ["rejected", "paused", "throttled"] as const) {
    platform.gate = () => {
      throw failure(kind, "realtime");
    };
    expect(await sensors("GH-1")).toMatchObject({ facts: { kind } });
  }
  const counts = (["ok", "failed", "held"] as const).map((result) => tally.count("sensors", result));
  expect([...counts, tally.count("controllers", "ok")]).toEqual([2, 1, 2, 0]);
  expect(tally.answeredAt("sensors", "GH-1")).toBe(1_020);
  expect(tally.answeredAt("running_status", "GH-1")).toBeNull();
  expect(tally.endedAt).toBeGreaterThan(1_040);
  tally.forget("GH-1");
  expect([tally.answeredAt("sensors", "GH-1"), tally.answeredAt("sensors", "GH-2")]).toEqual([null, 1_040]);
});

type World = ReturnType<typeof polledMirror>;

const failing = (kind: PlatformErrorKind = "rejected") =>
  new PlatformError('the platform refused: code 500, "the table is broken"', {
    kind,
    host: "realtime",
    operation: "sensor-data",
    code: "500",
    platformMessage: "the table is broken",
    sent: true,
  });

/** The lines above debug that a running poller wrote after it had read this many controllers for ten minutes. */
async function toldWhile(count: number, story: (world: World) => Promise<void>): Promise<readonly string[]> {
  const { log, lines } = capturedLog();
  const world = polledMirror({ log });
  world.platform.list = devices(count);
  const run = world.poller.run(world.abort.signal);
  await world.clock.advance(10 * minute);
  await story(world);
  world.abort.abort();
  await world.clock.advance(0);
  await run;
  return lines.filter((line) => !line.startsWith("debug"));
}

/** Requests whose name begins so fail for a time, as often as it is said. */
async function broken(
  { platform, clock }: World,
  beginning: string,
  ms: number,
  error = failing(),
  often = Infinity,
) {
  let left = often;
  platform.fate = ({ name }) => {
    if (name.startsWith(beginning) && left-- > 0) throw error;
  };
  await clock.advance(ms);
  platform.fate = () => undefined;
}

describe("a poll that fails though its host answers", () => {
  it.each([
    ["controllers", "the list of controllers"],
    ["devices", "the list of other devices"],
    ["sensors", "sensors"],
    ["running_status", "running statuses"],
  ])("is told once with the platform's words, and once when it works again: %s", async (name, subject) => {
    const lines = await toldWhile(3, async (world) => {
      await broken(world, name, 5 * hour);
      await world.clock.advance(2 * hour);
    });
    expect(lines).toEqual([
      expect.stringMatching(new RegExp(`^warn polling ${subject} fails.*code 500, "the table is broken"`)),
      expect.stringMatching(new RegExp(`^info polling ${subject} works again`)),
    ]);
  });

  it("is one line for all that names the first of them, and over only when it works for every controller", async () => {
    const lines = await toldWhile(3, async (world) => {
      await broken(world, "sensors", 10 * minute);
      await broken(world, "sensors GH-1", 10 * minute);
    });
    expect(lines).toEqual([expect.stringMatching(/\(GH-\d was the first\)/)]);
  });

  it("every other time is not told every time", async () => {
    const lines = await toldWhile(1, async (world) => {
      for (let n = 0; n < 30; n++) await broken(world, "sensors", 2 * minute, failing(), 1);
    });
    expect(lines.length).toBeGreaterThan(2);
    expect(lines.length).toBeLessThanOrEqual(12);
  });

  it("of a controller that went away no longer counts", async () => {
    const lines = await toldWhile(2, async (world) => {
      const { platform, store, poller } = world;
      await broken(world, "sensors GH-1", 5 * minute);
      platform.list = devices(1);
      store.remove("GH-1");
      poller.forget("GH-1");
      await world.clock.advance(10 * minute);
      await broken(world, "sensors GH-0", 5 * minute);
      await world.clock.advance(5 * minute);
    });
    expect(lines.map((line) => line.split(":")[0])).toEqual([
      expect.stringContaining("GH-1 was the first"),
      expect.stringContaining("GH-0 was the first"),
      expect.stringMatching(/^info polling sensors works again/),
    ]);
  });
});

it.each<[what: string, lines: number, story: (world: World) => Promise<void>]>([
  [
    "what is its host's is told there: unreachable",
    0,
    (world) => broken(world, "", hour, failing("unreachable")),
  ],
  [
    "what is its host's is told there: unauthorized",
    0,
    (world) => broken(world, "", hour, failing("unauthorized")),
  ],
  [
    "anything while its host is gone",
    0,
    (world) => {
      world.hostReachable("realtime", false);
      return broken(world, "sensors", hour, failing("timeout"));
    },
  ],
  ["one time-out", 0, (world) => broken(world, "sensors", 10 * minute, failing("timeout"), 1)],
  [
    "two of them in a row are told",
    2,
    (world) => broken(world, "sensors", 10 * minute, failing("timeout"), 2),
  ],
])("what is not told of a single kind of poll: %s", async (_, lines, story) => {
  expect(await toldWhile(1, story)).toHaveLength(lines);
});

it.each([
  [{}, "commands are taken and sent to the platform"],
  [{ dry_run: true }, "dry run: commands are checked, and nothing is sent"],
  [{ read_only: true, dry_run: true }, "read-only: every command is refused"],
])("the log says at the start what the bridge may do: %j", (commands, line) => {
  const platform = { business_url: "http://127.0.0.1:1", realtime_url: "http://127.0.0.1:1", token: "none" };
  expect(mayDo(configurationSchema.parse({ platform, commands }).commands)).toBe(line);
});

const logged = () => {
  const lines: unknown[] = [];
  return { lines, log: pino({ level: "debug" }, { write: (line: string) => lines.push(JSON.parse(line)) }) };
};

it.each([
  ["空气温渡", 'the platform shows no sensor "空气温渡", did you mean "空气温度"?'],
  ["t7", 'the platform shows no sensor "t7"; it shows 空气温度'],
])("a configured sensor whose `from` fits nothing is told, with what was meant: %s", (from, msg) => {
  const { lines, log } = logged();
  const sensors = [sensorSettings({ id: "air", from }), sensorSettings({ id: "here", from: "空气温度" })];
  const read = { type: "sensors_read", items: [item()], receivedAt: 0, source: "poll" } as const;
  const found = reduce(controller(controllerSettings({ sensors })), read, {
    now: 0,
    freshness: limits,
    transliterate: (text) => text,
  });
  warnOfSensors(found, log);
  expect(lines).toMatchObject([{ level: 40, sensor: "air", msg }]);
});

it("an address that no group lists is told once, with its actuator and what to do", () => {
  const { lines, log } = logged();
  warnOfUnlisted(controller(controllerSettings({ actuators: [actuator()] })), group, ["101"], log);
  expect(lines).toMatchObject([{ level: 40, type_id: 10, addresses: ["101"] }]);
  expect(JSON.stringify(lines)).toMatch(
    /does not hold the address 101 \(actuator \\"roof\\"\).*leave type_id out/,
  );
});

it("the log says at info how much is mirrored, once for all lists of a start, and again where a list has changed that", async () => {
  const { lines, log } = logged();
  const clock = new VirtualClock();
  const mirrored = [controller(controllerSettings({ actuators: [actuator()] }))];
  const onList = countsLogger({ controllers: () => mirrored }, log, clock);
  onList();
  mirrored.push(controller(controllerSettings({ code: "GH-0002" })));
  onList();
  await clock.advance(minute);
  onList();
  await clock.advance(minute);
  mirrored.push(controller(controllerSettings({ code: "GH-0003" })));
  onList();
  await clock.advance(minute);
  expect(lines).toMatchObject([
    { level: 30, controllers: 2, actuators: 1, msg: "mirroring 2 controllers with 1 actuator" },
    { level: 30, controllers: 3, actuators: 1, msg: "mirroring 3 controllers with 1 actuator" },
  ]);
});

it("the log names each actuator found at debug, as many sites have too many for every start", () => {
  const { lines, log } = logged();
  const settings = controllerSettings({
    actuators: [actuator(), actuator({ id: "fan", kind: "circulation_fan", address: "150", readOnly: true })],
  });
  logActuators(log, newController("GH-0001", "gh-0001", settings, true));
  expect(lines).toMatchObject([
    {
      level: 20,
      controller: "gh-0001",
      actuator: "roof",
      msg: "actuator found: gh-0001/roof",
    },
    { actuator: "fan", msg: "actuator found, read-only: gh-0001/fan" },
  ]);
});
