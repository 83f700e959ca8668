import { pino } from "pino";
import { describe, expect, it } from "vitest";
import { mayDo } from "../../src/config/live-settings.js";
import { configurationSchema } from "../../src/config/schema.js";
import { parameterGroup } from "../../src/greenhouse/device-types.js";
import { PlatformError, type PlatformErrorKind } from "../../src/greenhouse/ports.js";
import { newController, reduce } from "../../src/greenhouse/reduce.js";
import { logActuators, warnOfSensors } from "../../src/sync/mirror.js";
import type { PollJob } from "../../src/sync/poll-plan.js";
import { perform, PollTally } from "../../src/sync/poll-reads.js";
import { capturedLog } from "../mqtt-connection/support.js";
import {
  actuator,
  controller,
  controllerSettings,
  item,
  limits,
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
  const shown = (raw: string, address = "101") =>
    world.store.dispatch("GH-0", {
      type: "registers_read",
      values: new Map([[address, raw]]),
      startedAt: world.clock.monotonic(),
      readAt: world.clock.now(),
      fresh: true,
      source: "read_back",
    });
  return { ...world, run, roof, names, shown };
}

describe("one read", () => {
  it.each<[PollJob, string[]]>([
    [{ kind: "controllers" }, ["controllers"]],
    [{ kind: "devices", dataType: "TEXT" }, ["devices TEXT"]],
    [{ kind: "sensors", code: "GH-0" }, ["sensors GH-0"]],
    [{ kind: "running_status", code: "GH-0" }, ["running_status GH-0"]],
    [address, ["value GH-0 101"]],
    [{ ...address, read: { type: "group", group } }, ["values GH-0 10"]],
  ])("%j asks %j", async (job, calls) => {
    const one = bench();
    await one.run(job);
    expect(one.names()).toEqual(calls);
  });

  it("what it shows is folded, dated when it came and ordered by when it was asked", async () => {
    const one = bench();
    one.platform.registers.set("GH-0 101", "10010");
    await one.run(address);
    expect(one.roof()).toMatchObject({ state: "open", source: "poll", readAt: one.clock.now() - 980 });
    expect(one.roof()?.registers["101"]).toMatchObject({ startedAt: 0, fresh: false });
  });

  it("one that was asked before a read-back that ended meanwhile changes nothing", async () => {
    const one = bench();
    one.platform.registers.set("GH-0 101", "10001");
    one.platform.registers.set("GH-0 101 fresh", "10010");
    const slow = perform(address, { ...one, tally: one.poller.tally }, one.abort.signal);
    await one.clock.advance(10);
    one.shown("10010");
    await one.clock.advance(1_000);
    await slow;
    expect(one.roof()?.state).toBe("open");
  });

  it("an answer without the address changes nothing", async () => {
    const one = bench();
    one.shown("10010");
    const before = one.roof();
    await one.run(address);
    expect(one.roof()).toBe(before);
  });

  it("a failed one rejects and changes nothing", async () => {
    const one = bench();
    one.shown("10010");
    one.platform.fate = () => {
      throw failure("rejected", "realtime");
    };
    const before = one.store.get("GH-0");
    await expect(one.run(address)).rejects.toThrow("did not do it");
    expect(one.store.get("GH-0")).toBe(before);
  });
});

describe("an unflushed value that contradicts a flushed one", () => {
  it("is read again from the device, which decides", async () => {
    const one = bench();
    one.shown("10010");
    one.platform.registers.set("GH-0 101", "10001");
    one.platform.registers.set("GH-0 101 fresh", "10010");
    const states: unknown[] = [];
    one.store.onChange(() => states.push(one.roof()?.state));
    await one.run(address);
    expect(one.names()).toEqual(["value GH-0 101", "value GH-0 101 fresh"]);
    expect(states).not.toContain("closed");
    expect(one.roof()?.registers["101"]).toMatchObject({ raw: "10010", fresh: true });
  });

  it("is never shown where the device cannot be asked", async () => {
    const one = bench();
    one.shown("10010");
    one.platform.registers.set("GH-0 101", "10001");
    one.platform.fate = ({ name }) => {
      if (name.endsWith("fresh")) throw failure("unreachable", "realtime");
    };
    await expect(one.run(address)).rejects.toThrow();
    expect(one.roof()?.state).toBe("open");
  });

  it("in a group is read from the device too, each address, also when one of them cannot be", async () => {
    const one = bench();
    one.shown("10010");
    one.shown("10010", "102");
    for (const address of ["101", "102"]) one.platform.registers.set(`GH-0 ${address}`, "10001");
    one.platform.fate = ({ name }) => {
      if (name === "value GH-0 101 fresh") throw failure("rejected", "realtime");
    };
    await expect(one.run({ ...address, read: { type: "group", group } })).rejects.toThrow();
    expect(one.names()).toEqual(["values GH-0 10", "value GH-0 101 fresh", "value GH-0 102 fresh"]);
    expect(one.roof()?.state).toBe("open");
    expect(one.store.get("GH-0")?.actuators.get("side")?.state).toBe("closed");
  });

  it("is a change where the device says so too", async () => {
    const one = bench();
    one.shown("10010");
    one.platform.registers.set("GH-0 101", "10001");
    await one.run(address);
    expect(one.roof()?.state).toBe("closed");
  });

  it.each([
    ["equal", "10010"],
    ["equal as a number", 10010],
  ])("is none when it is %s", async (_, raw) => {
    const one = bench();
    one.shown("10010");
    one.platform.registers.set("GH-0 101", raw);
    await one.run(address);
    expect(one.names()).toHaveLength(1);
  });
});

const { signal } = new AbortController();

async function book() {
  const clock = new VirtualClock();
  const platform = new CountingPlatform(clock);
  const reads = new PollTally(clock);
  /** Lets a read end. */
  const ended = async (read: Promise<unknown>) => {
    const caught = read.catch((error: unknown) => error);
    await clock.advance(20);
    return caught;
  };
  await clock.advance(1_000);
  const sensors = (code: string) => ended(reads.noted("sensors", code, platform.sensors(code, signal)));
  return { clock, platform, reads, sensors, ended };
}

describe("what polling asked", () => {
  it("is counted by operation and result, and the answer passes through unchanged", async () => {
    const { platform, reads, sensors, ended } = await book();
    platform.registers.set("GH-1 101", "10010");
    expect(await ended(reads.noted("register", "GH-1", platform.value("GH-1", "101", false, signal)))).toBe(
      "10010",
    );
    await sensors("GH-1");
    await sensors("GH-2");
    expect(reads.count("register", "ok")).toBe(1);
    expect(reads.count("sensors", "ok")).toBe(2);
    expect(reads.count("controllers", "ok")).toBe(0);
  });

  it("a failed read passes on its error; one that was held back is told apart", async () => {
    const { platform, reads, sensors } = await book();
    platform.fate = () => {
      throw failure("rejected", "realtime");
    };
    expect(await sensors("GH-1")).toMatchObject({ facts: { kind: "rejected" } });
    platform.gate = () => {
      throw failure("paused", "realtime");
    };
    expect(await sensors("GH-1")).toMatchObject({ facts: { kind: "paused" } });
    platform.gate = () => {
      throw failure("throttled", "realtime");
    };
    expect(await sensors("GH-1")).toMatchObject({ facts: { kind: "throttled", sent: false } });
    expect([reads.count("sensors", "failed"), reads.count("sensors", "held")]).toEqual([1, 2]);
    expect(reads.answeredAt("sensors", "GH-1")).toBeNull();
  });

  it("the time of the last answer is kept for each controller, that of the last end for all", async () => {
    const { clock, platform, reads, sensors } = await book();
    expect(reads.endedAt).toBeNull();
    await sensors("GH-1");
    expect(reads.answeredAt("sensors", "GH-1")).toBe(1_020);
    expect(reads.answeredAt("sensors", "GH-2")).toBeNull();
    expect(reads.answeredAt("running_status", "GH-1")).toBeNull();
    platform.fate = () => {
      throw failure("unreachable", "realtime");
    };
    await sensors("GH-1");
    expect(reads.answeredAt("sensors", "GH-1")).toBe(1_020);
    expect(reads.endedAt).toBe(clock.monotonic());
    reads.forget("GH-1");
    expect(reads.answeredAt("sensors", "GH-1")).toBeNull();
  });
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

/** The lines above debug that a running poller wrote. */
async function toldWhile(story: (world: World) => Promise<void>): Promise<readonly string[]> {
  const { log, lines } = capturedLog();
  const world = polledMirror({ log });
  const run = world.poller.run(world.abort.signal);
  await story(world);
  world.abort.abort();
  await world.clock.advance(0);
  await run;
  return lines.filter((line) => !line.startsWith("debug"));
}

/** Every request whose name begins so fails; returns what ends that. */
function breakAll({ platform }: World, beginning: string, kind: PlatformErrorKind = "rejected") {
  platform.fate = ({ name }) => {
    if (name.startsWith(beginning)) throw failing(kind);
  };
  return () => {
    platform.fate = () => undefined;
  };
}

describe("a poll that fails though its host answers", () => {
  it.each([
    ["controllers", "the list of controllers"],
    ["devices", "the list of other devices"],
    ["sensors", "sensors"],
    ["running_status", "running statuses"],
  ])("is told once with the platform's words, and once when it works again: %s", async (name, subject) => {
    const lines = await toldWhile(async (world) => {
      world.platform.list = devices(3);
      await world.clock.advance(10 * minute);
      const mend = breakAll(world, name);
      await world.clock.advance(5 * hour);
      mend();
      await world.clock.advance(2 * hour);
    });
    expect(lines).toEqual([
      expect.stringMatching(new RegExp(`^warn polling ${subject} fails.*code 500, "the table is broken"`)),
      expect.stringMatching(new RegExp(`^info polling ${subject} works again`)),
    ]);
  });

  it("for 500 controllers is one line that names the first of them", async () => {
    const lines = await toldWhile(async (world) => {
      breakAll(world, "sensors");
      world.platform.list = devices(500);
      await world.clock.advance(5 * minute);
    });
    expect(lines).toEqual([expect.stringContaining("(GH-0 was the first)")]);
  });

  it("is over only when it works for every controller", async () => {
    const lines = await toldWhile(async (world) => {
      world.platform.list = devices(3);
      await world.clock.advance(10 * minute);
      breakAll(world, "sensors");
      await world.clock.advance(10 * minute);
      breakAll(world, "sensors GH-1");
      await world.clock.advance(10 * minute);
    });
    expect(lines).toHaveLength(1);
  });

  it("every other time is not told every time", async () => {
    const lines = await toldWhile(async (world) => {
      world.platform.list = devices(1);
      let calls = 0;
      world.platform.fate = ({ name }) => {
        if (name.startsWith("sensors") && ++calls % 2 === 1) throw failing();
      };
      await world.clock.advance(hour);
    });
    expect(lines.length).toBeGreaterThan(2);
    expect(lines.length).toBeLessThanOrEqual(12);
  });

  it("of a controller that went away no longer counts", async () => {
    const lines = await toldWhile(async (world) => {
      world.platform.list = devices(2);
      await world.clock.advance(10 * minute);
      breakAll(world, "sensors GH-1");
      await world.clock.advance(5 * minute);
      world.platform.list = devices(1);
      world.store.remove("GH-1");
      world.poller.forget("GH-1");
      await world.clock.advance(10 * minute);
      const mend = breakAll(world, "sensors GH-0");
      await world.clock.advance(5 * minute);
      mend();
      await world.clock.advance(5 * minute);
    });
    expect(lines.map((line) => line.split(":")[0])).toEqual([
      expect.stringContaining("GH-1 was the first"),
      expect.stringContaining("GH-0 was the first"),
      expect.stringMatching(/^info polling sensors works again/),
    ]);
  });
});

describe("what is not told of a single kind of poll", () => {
  it.each(["unreachable", "paused", "unauthorized"] as const)(
    "%s: it is the host's, and told there",
    async (kind) => {
      const lines = await toldWhile(async (world) => {
        breakAll(world, "", kind);
        await world.clock.advance(hour);
      });
      expect(lines).toEqual([]);
    },
  );

  it("anything while its host is gone", async () => {
    const lines = await toldWhile(async (world) => {
      world.platform.list = devices(2);
      await world.clock.advance(10 * minute);
      world.poller.hostReachable("realtime", false);
      breakAll(world, "sensors", "timeout");
      await world.clock.advance(hour);
    });
    expect(lines).toEqual([]);
  });

  it("one time-out; two in a row are", async () => {
    const linesOf = (failures: number) =>
      toldWhile(async (world) => {
        world.platform.list = devices(1);
        await world.clock.advance(10 * minute);
        let left = failures;
        world.platform.fate = ({ name }) => {
          if (name.startsWith("sensors") && left-- > 0) throw failing("timeout");
        };
        await world.clock.advance(10 * minute);
      });
    expect(await linesOf(1)).toEqual([]);
    expect(await linesOf(2)).toHaveLength(2);
  });
});

const commands = (over: object) =>
  configurationSchema.parse({
    platform: { business_url: "http://127.0.0.1:1", realtime_url: "http://127.0.0.1:1", token: "none" },
    commands: over,
  }).commands;

it.each([
  [{}, "commands are taken and sent to the platform"],
  [{ dry_run: true }, "dry run: commands are checked, and nothing is sent"],
  [{ read_only: true, dry_run: true }, "read-only: every command is refused"],
])("the log says at the start what the bridge may do: %j", (over, line) =>
  expect(mayDo(commands(over))).toBe(line),
);

it.each([
  ["空气温渡", 'the platform shows no sensor "空气温渡", did you mean "空气温度"?'],
  ["t7", 'the platform shows no sensor "t7"; it shows 空气温度'],
])("a configured sensor whose `from` fits nothing is told, with what was meant: %s", (from, msg) => {
  const lines: string[] = [];
  const log = pino({ level: "info" }, { write: (line: string) => lines.push(line) });
  const sensors = [sensorSettings({ id: "air", from }), sensorSettings({ id: "here", from: "空气温度" })];
  const read = { type: "sensors_read", items: [item()], receivedAt: 0, source: "poll" } as const;
  const found = reduce(controller(controllerSettings({ sensors })), read, {
    now: 0,
    freshness: limits,
    transliterate: (text) => text,
  });
  warnOfSensors(found, log);
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([{ level: 40, sensor: "air", msg }]);
});

it("the log has a line at info for each actuator found", () => {
  const lines: string[] = [];
  const log = pino({ level: "info" }, { write: (line: string) => lines.push(line) });
  const settings = controllerSettings({
    actuators: [actuator(), actuator({ id: "fan", kind: "circulation_fan", address: "150", readOnly: true })],
  });
  logActuators(log, newController("GH-0001", "gh-0001", settings, true));
  expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
    { controller: "gh-0001", actuator: "roof", kind: "skylight", msg: "actuator found: gh-0001/roof" },
    { actuator: "fan", msg: "actuator found, read-only: gh-0001/fan" },
  ]);
});
