import { describe, expect, it, onTestFinished } from "vitest";
import { deviceType } from "../../src/greenhouse/device-types.js";
import type { DeviceList, PlatformHost } from "../../src/greenhouse/ports.js";
import { PlatformWatch, untriedHost } from "../../src/sync/hosts.js";
import { actuator, clientStatus, controllerSettings, item, record, silentLog } from "../support/builders.js";
import { failure } from "../support/counting-platform.js";
import { minute } from "../support/folding.js";
import { devices, hour, mirrorSettings, polledMirror, type PolledOptions } from "../support/polled-mirror.js";

type Polled = ReturnType<typeof polledMirror>;

/** A poller that runs until the test is over, and leaves no timer then. */
function polling(options: PolledOptions = {}): Polled {
  const world = polledMirror(options);
  const run = world.poller.run(world.abort.signal);
  onTestFinished(async () => {
    world.abort.abort();
    await world.clock.advance(0);
    await run;
    expect(world.clock.pendingTimers).toBe(0);
  });
  return world;
}

/** Polls an account with this list for so long. */
async function polledFor(ms: number, list: DeviceList, options: PolledOptions = {}): Promise<Polled> {
  const world = polling(options);
  world.platform.list = list;
  await world.clock.advance(ms);
  return world;
}

/** Polls this list for ten minutes; what was asked by then does not count. */
async function begun({ platform, clock }: Polled, list: DeviceList): Promise<void> {
  platform.list = list;
  await clock.advance(10 * minute);
  platform.calls.length = 0;
}

const gaps = (times: readonly number[]) => times.slice(1).map((at, place) => at - (times[place] ?? 0));
const average = (all: readonly number[]) => all.reduce((sum, one) => sum + one, 0) / all.length;

function mostInAMinute(starts: readonly number[]): number {
  let first = 0;
  return starts.reduce((most, at, last) => {
    while ((starts[first] ?? 0) <= at - minute) first++;
    return Math.max(most, last - first + 1);
  }, 0);
}

describe("intervals", () => {
  it("everything is asked for about once an interval, and nothing twice at a time", async () => {
    const settings = mirrorSettings([controllerSettings({ code: "GH-0", actuators: [actuator()] })]);
    const { platform, clock } = polling({ settings });
    platform.list = devices(20);
    platform.latencyMs = 3_000;
    await clock.advance(6 * hour);
    expect(platform.overlaps).toEqual([]);
    expect(platform.mostAtOnce).toBeLessThanOrEqual(4);
    for (const [name, intervalMs] of [
      ["sensors GH-3", minute],
      ["running_status GH-3", 5 * minute],
      ["value GH-0 101", 2 * minute],
      ["controllers", 5 * minute],
    ] as const) {
      const between = gaps(platform.times(name));
      expect(average(between) / intervalMs).toBeGreaterThan(0.9);
      expect(average(between) / intervalMs).toBeLessThan(1.1);
      expect(Math.max(...between)).toBeLessThan(1.7 * intervalMs);
    }
  });

  it("of each controller it is told once that everything was asked for, whatever was answered", async () => {
    const settings = mirrorSettings([controllerSettings({ code: "GH-0", actuators: [actuator()] })]);
    const { platform, clock, tried } = polling({ settings });
    platform.list = devices(3);
    platform.latencyMs = 1_000;
    platform.fate = ({ name }) => {
      if (name === "sensors GH-1") throw failure("rejected", "realtime");
    };
    await clock.advance(1_500);
    expect(tried).toEqual([]);
    await clock.advance(hour);
    expect([...tried].sort()).toEqual(["GH-0", "GH-1", "GH-2"]);
  });

  it("the controllers' list is never asked for more often than its interval", async () => {
    for (const seed of [1, 2, 3]) {
      const { platform } = await polledFor(12 * hour, devices(2), { seed });
      expect(Math.min(...gaps(platform.times("controllers")))).toBeGreaterThanOrEqual(5 * minute);
    }
  });

  it("each device is asked for its status once; from then on online flags come from the list", async () => {
    const { platform } = await polledFor(12 * hour, devices(5));
    for (const { code } of platform.list) expect(platform.times(`connection ${code}`)).toHaveLength(1);
  });

  it("a device whose status was not answered is asked again until it was", async () => {
    const { platform, clock } = polling();
    platform.list = devices(1);
    platform.fate = ({ name, at }) => {
      if (name.startsWith("connection") && at < 20 * minute) throw failure("rejected", "realtime");
    };
    await clock.advance(12 * hour);
    const times = platform.times("connection GH-0");
    expect(times.length).toBeGreaterThan(3);
    expect(times.at(-1)).toBeLessThan(30 * minute);
  });

  it("a list's offline is settled by the device's own status, before anything else is asked", async () => {
    const seen: string[] = [];
    const { platform, clock, store } = polling({ concurrency: 1 });
    platform.list = devices(20);
    platform.status = (code) => clientStatus(code === "GH-3" ? "offline" : "online");
    await clock.advance(30_000);
    store.onChange((before, after) => {
      if (after && before?.availability !== after.availability) seen.push(after.info.code);
    });
    platform.list = devices(20, { online: false });
    await clock.advance(12 * minute);
    expect(seen).toEqual([]);
    expect(platform.times("connection GH-7").length).toBeGreaterThan(1);
  });

  it("a device without a flag that has an MQTT client is asked as often as the list; one without is asked once", async () => {
    const { platform, clock, store } = polling();
    platform.list = devices(1);
    platform.other = ["WS-1", "WS-2"].map((code) => record({ code, type: deviceType("W001"), online: null }));
    platform.status = (code) => clientStatus(code === "WS-2" ? "offline" : "online");
    await clock.advance(2 * hour);
    platform.status = () => clientStatus("offline");
    await clock.advance(10 * minute);
    expect(platform.times("connection WS-1").length).toBeGreaterThan(20);
    expect(platform.times("connection WS-2")).toHaveLength(1);
    expect([store.get("WS-1")?.availability, store.get("WS-2")?.availability]).toEqual([
      "offline",
      "unknown",
    ]);
  });

  it("a pest monitor is asked for readings until three answers had none", async () => {
    const { platform } = await polledFor(2 * hour, [record({ code: "PM-1", type: deviceType("V003") })]);
    expect(platform.times("sensors PM-1")).toHaveLength(3);
    expect(platform.times("running_status PM-1").length).toBeLessThan(4);
  });

  it("offline controllers are asked more slowly", async () => {
    const { platform } = await polledFor(5 * hour, [
      record({ code: "on" }),
      record({ code: "off", online: false }),
    ]);
    const [on, off] = [platform.times("sensors on").length, platform.times("sensors off").length];
    expect(off).toBeGreaterThan(5);
    expect(off).toBeLessThan(on / 3);
  });

  const camera = record({ code: "GH-0", type: deviceType("V009") });
  const offline = record({ code: "GH-1", online: false });
  const withActuator = mirrorSettings([controllerSettings({ code: "GH-0", actuators: [actuator()] })]);
  it.each<[string, DeviceList, number, PolledOptions["settings"]?]>([
    ["an empty account: its list of controllers", [], 10],
    ["cameras only: the list again, as they have no readings", [camera], 10],
    ["a camera with an actuator: that one's register", [camera], 2, withActuator],
    ["a controller with readings: its sensors", devices(1), 1],
    ["one that is offline is asked more rarely", [offline], 5],
    ["the quickest of several", [offline, ...devices(1)], 1],
  ])("the shortest of the reads that are made is known: %s", async (_, list, minutes, settings) => {
    const { poller } = await polledFor(minute, list, { settings, intervals: { controllers: 10 * minute } });
    expect(poller.shortestIntervalMs).toBe(minutes * minute);
  });

  it("after the first round requests are spread evenly: no second has more than a few times the mean", async () => {
    const { platform } = await polledFor(32 * minute, devices(500), { concurrency: 8 });
    const perSecond = new Map<number, number>();
    for (const { at } of platform.calls) {
      if (at < 12 * minute) continue;
      const second = Math.floor(at / 1_000);
      perSecond.set(second, (perSecond.get(second) ?? 0) + 1);
    }
    const mean = [...perSecond.values()].reduce((sum, one) => sum + one, 0) / (20 * 60);
    expect(mean).toBeGreaterThan(9);
    expect(Math.max(...perSecond.values())).toBeLessThan(3.5 * mean);
  });
});

describe("the first round", () => {
  it("asks for the account, then for all sensors, then the rest, as fast as it may", async () => {
    const settings = mirrorSettings(
      devices(3).map(({ code }) => controllerSettings({ code, actuators: [actuator()] })),
    );
    const { platform } = await polledFor(1_000, devices(3), { settings, concurrency: 1 });
    expect(platform.calls.map(({ name }) => name.split(" ")[0])).toEqual([
      ...["controllers", "devices", "devices", "sensors", "sensors", "sensors"],
      ...["value", "value", "value", "running_status", "running_status", "running_status"],
      ...["connection", "connection", "connection"],
    ]);
  });

  it("takes up a controller as soon as a list shows it, and drops it when it is removed", async () => {
    const { platform, clock, store, poller } = polling();
    platform.list = devices(1);
    await clock.advance(10 * minute);
    platform.list = devices(2);
    await clock.advance(6 * minute);
    expect(platform.times("sensors GH-1").length).toBeGreaterThan(0);
    store.remove("GH-1");
    poller.forget("GH-1");
    platform.list = devices(1);
    await clock.advance(30_000);
    platform.calls.length = 0;
    await clock.advance(hour);
    expect(platform.times("sensors GH-1")).toEqual([]);
  });

  it.each([
    ["found in the list", mirrorSettings()],
    ["named in the configuration", mirrorSettings([controllerSettings({ code: "CAM" })])],
  ])("cameras have no sensor polls: %s", async (_, settings) => {
    const { platform, clock } = polling({ settings });
    platform.list = [record({ code: "CAM", type: deviceType("V009") }), ...devices(1)];
    await clock.advance(10 * minute);
    platform.calls.length = 0;
    await clock.advance(hour);
    expect(platform.times("sensors GH-0").length).toBeGreaterThan(0);
    expect(platform.times("sensors CAM")).toEqual([]);
  });
});

describe("the request budget", () => {
  it.each([30, 120])("of %d is not exceeded in any 60 s, whatever is asked", async (perMinute) => {
    const { platform, clock, poller } = polling({ perMinute });
    platform.list = devices(100);
    await clock.advance(20 * minute);
    void poller.refresh();
    await clock.advance(20 * minute);
    expect(mostInAMinute(platform.calls.map(({ at }) => at))).toBeLessThanOrEqual(perMinute);
  });

  it("is not exceeded by the second reads of values that contradict each other", async () => {
    const settings = mirrorSettings([
      controllerSettings({
        code: "GH-0",
        actuators: Array.from({ length: 30 }, (_, n) => actuator({ id: `a${n}`, address: `${n}` })),
      }),
    ]);
    const { platform, clock, store } = polling({ settings, perMinute: 20 });
    platform.list = devices(1);
    for (let n = 0; n < 30; n++) {
      platform.registers.set(`GH-0 ${n}`, "10001");
      platform.registers.set(`GH-0 ${n} fresh`, "10010");
    }
    store.dispatch("GH-0", {
      ...{ type: "registers_read", startedAt: clock.monotonic(), readAt: clock.now() },
      ...{ fresh: true, source: "read_back" },
      values: new Map(Array.from({ length: 30 }, (_, n) => [`${n}`, "10010"])),
    });
    await clock.advance(10 * minute);
    expect(mostInAMinute(platform.calls.map(({ at }) => at))).toBeLessThanOrEqual(20);
  });

  it("that is too small stretches all intervals evenly and says by how much; fewer controllers undo it", async () => {
    const { platform, clock, poller, store, stretches } = polling({ perMinute: 60 });
    platform.list = devices(100);
    await clock.advance(hour);
    expect(poller.stretch).toBeCloseTo(2, 0);
    for (const { code } of platform.list.slice(10)) {
      store.remove(code);
      poller.forget(code);
    }
    platform.list = devices(10);
    await clock.advance(10 * minute);
    expect(poller.stretch).toBe(1);
    expect(stretches.at(-1)).toBe(1);
    expect(average(gaps(platform.times("sensors GH-50"))) / minute).toBeGreaterThan(1.8);
    expect(average(gaps(platform.times("sensors GH-50"))) / minute).toBeLessThan(2.3);
  });

  it.each([3, 10, 100])(
    "that is used up leaves no hole in which nothing is asked and nobody new is seen (%i controllers)",
    async (count) => {
      const second = { controllers: 1_000, sensors: 1_000, running_status: 1_000, actuators: 1_000 };
      const { platform, clock, poller } = polling({ perMinute: 300, intervals: second });
      platform.list = devices(count);
      await clock.advance(20_000);
      platform.list = devices(count + 5);
      await clock.advance(10 * minute);
      const calls = platform.calls.map(({ at }) => at).filter((at) => at > 2 * minute);
      expect(Math.max(...gaps(calls))).toBeLessThan(600);
      const lists = gaps(platform.times("controllers").filter((at) => at > 2 * minute));
      expect(Math.max(...lists) / (1_000 * poller.stretch)).toBeLessThan(1.6);
    },
  );

  it("that suffices while most are offline stretches the intervals as they come back", async () => {
    const { platform, clock, poller } = polling({ perMinute: 60 });
    platform.list = devices(100, { online: false });
    await clock.advance(30 * minute);
    expect(poller.stretch).toBe(1);
    platform.list = devices(100);
    await clock.advance(30 * minute);
    expect(poller.stretch).toBeCloseTo(2, 0);
  });

  it("that suffices stretches nothing", async () => {
    const { stretches } = await polledFor(hour, devices(20), { perMinute: 300 });
    expect(stretches).toEqual([]);
  });
});

/** Both hosts fail from now on; a circuit lets one request in 30 s out, as the platform client's does. */
function outage({ platform, clock, poller }: Polled) {
  const facts = { business: { ...untriedHost, contactAt: 0 }, realtime: { ...untriedHost, contactAt: 0 } };
  let isDown = true;
  let probedAt = -Infinity;
  const watch = new PlatformWatch({
    clock,
    log: silentLog,
    onState: () => undefined,
    onHost: (host, reachable) => poller.hostReachable(host, reachable),
    onEvent: () => undefined,
  });
  const learn = (host: PlatformHost, failed: boolean) => {
    facts[host] = failed
      ? {
          ...facts[host],
          failures: facts[host].failures + 1,
          failingSince: facts[host].failingSince ?? clock.monotonic(),
        }
      : { ...untriedHost, contactAt: clock.monotonic() };
    watch.learnt(host, facts[host]);
  };
  platform.gate = (host) => {
    if (facts[host].failures < 5) return;
    if (clock.monotonic() - probedAt < 30_000) throw failure("paused", host);
    probedAt = clock.monotonic();
  };
  platform.fate = ({ host }) => {
    learn(host, isDown);
    if (isDown) throw failure("unreachable", host);
  };
  return {
    over: () => {
      isDown = false;
    },
  };
}

describe("a platform that is gone", () => {
  it("for an hour is asked at most 150 times, cheaply, and everything within 60 s of its return", async () => {
    const items = (_: string, clock: Polled["clock"]) => [item({ measuredAt: clock.now() })];
    const world = polling({ items, perMinute: 300 });
    const { platform, clock, poller } = world;
    platform.list = devices(40);
    await clock.advance(20 * minute);
    platform.calls.length = platform.attempts = 0;
    const down = outage(world);
    await clock.advance(hour);
    expect(platform.calls.length).toBeLessThanOrEqual(150);
    expect(platform.attempts).toBeLessThanOrEqual(2_000);
    platform.calls.length = 0;
    down.over();
    await clock.advance(minute + 100);
    const seen = new Set(platform.calls.map(({ name }) => name));
    for (const { code } of platform.list) expect(seen).toContain(`sensors ${code}`);
    for (const { code } of platform.list) expect(seen).toContain(`running_status ${code}`);
    expect(seen).toContain("controllers");
    expect(poller.stretch).toBe(1);
  });

  it("is asked at its return for all that failed, and for nothing that is asked once", async () => {
    const world = polling();
    const { platform, clock } = world;
    await begun(world, devices(10));
    const down = outage(world);
    await clock.advance(7 * minute);
    const failed = platform.calls.map(({ name }) => name).filter((name) => name !== "controllers");
    platform.calls.length = 0;
    down.over();
    await clock.advance(31_000);
    const again = platform.calls.map(({ name }) => name);
    expect(failed.length).toBeGreaterThan(10);
    expect(again).toEqual(expect.arrayContaining(failed));
    expect(again.filter((name) => name.startsWith("connection"))).toEqual([]);
  });

  it("from the start is no reason not to start, and is taken up when it comes", async () => {
    const world = polling();
    const down = outage(world);
    world.platform.list = devices(3);
    await world.clock.advance(20 * minute);
    expect(world.store.size).toBe(0);
    down.over();
    await world.clock.advance(minute + 100);
    expect(world.platform.times("sensors GH-2").length).toBeGreaterThan(0);
  });

  it("one controller that always fails keeps no other from being read", async () => {
    const { platform, clock } = polling();
    platform.list = devices(3);
    platform.fate = ({ name }) => {
      if (name === "sensors GH-1") throw failure("rejected", "realtime");
      if (name === "sensors GH-2") throw new TypeError("a defect of ours");
    };
    await clock.advance(hour);
    for (const code of ["GH-0", "GH-1", "GH-2"])
      expect(platform.times(`sensors ${code}`).length).toBeGreaterThan(50);
  });
});

describe("refresh", () => {
  const isDone = async (promise: Promise<void>, { clock }: Polled, withinMs: number) => {
    let done = false;
    void promise.then(() => {
      done = true;
    });
    await clock.advance(withinMs);
    return done;
  };

  it("asks for everything now and resolves when its reads are done, not before", async () => {
    const world = polling({ concurrency: 2 });
    const { platform, poller } = world;
    await begun(world, devices(10));
    platform.latencyMs = 1_000;
    const refreshed = poller.refresh();
    expect(await isDone(refreshed, world, 9_000)).toBe(false);
    expect(await isDone(refreshed, world, 10_000)).toBe(true);
    const names = new Set(platform.calls.map(({ name }) => name));
    for (const { code } of platform.list) expect(names).toContain(`sensors ${code}`);
    expect(names).toContain("controllers");
  });

  it("of one controller asks for that one only", async () => {
    const world = polling();
    const { platform, poller } = world;
    await begun(world, devices(100));
    const before = platform.calls.length;
    expect(await isDone(poller.refresh("GH-7"), world, 100)).toBe(true);
    const names = platform.calls.slice(before).map(({ name }) => name);
    expect(names).toContain("sensors GH-7");
    expect(names).toContain("running_status GH-7");
    expect(names.length).toBeLessThan(6);
  });

  it("of a controller nobody knows resolves at once", async () => {
    const world = polling();
    expect(await isDone(world.poller.refresh("nobody"), world, 0)).toBe(true);
  });

  it("resolves also where every read fails", async () => {
    const world = polling();
    await begun(world, devices(3));
    world.platform.fate = () => {
      throw failure("rejected", "realtime");
    };
    expect(await isDone(world.poller.refresh(), world, 5_000)).toBe(true);
  });

  it("resolves also where a device turns out to be a camera meanwhile, then and ever after", async () => {
    const settings = mirrorSettings([controllerSettings({ code: "CAM" })]);
    const world = polling({ settings });
    const { platform, clock, poller } = world;
    platform.list = [record({ code: "CAM", type: deviceType("V009") }), ...devices(1)];
    platform.latencyMs = 1_000;
    await clock.advance(500);
    expect(await isDone(poller.refresh(), world, 3 * minute)).toBe(true);
    expect(await isDone(poller.refresh(), world, 3 * minute)).toBe(true);
  });

  it("resolves within a minute also during an outage", async () => {
    const world = polling();
    await begun(world, devices(20));
    outage(world);
    await world.clock.advance(10 * minute);
    expect(await isDone(world.poller.refresh(), world, minute)).toBe(true);
  });

  it("resolves within a minute also where the outage begins while it is under way", async () => {
    const world = polling({ concurrency: 1 });
    await begun(world, devices(20));
    world.platform.latencyMs = 1_000;
    const refreshed = world.poller.refresh();
    await world.clock.advance(5_000);
    outage(world);
    expect(await isDone(refreshed, world, minute)).toBe(true);
  });

  it("asked for again and again shares one round under way and one to follow, which shows what came after the asking", async () => {
    const world = polling({ concurrency: 2 });
    const { platform, clock, poller } = world;
    await begun(world, devices(10));
    platform.latencyMs = 1_000;
    const refreshes: Promise<void>[] = [];
    for (let times = 0; times < 50; times++) {
      refreshes.push(poller.refresh());
      await clock.advance(100);
    }
    const askedLast = clock.monotonic() - 100;
    expect(await isDone(Promise.all(refreshes).then(), world, 30_000)).toBe(true);
    for (const { code } of platform.list) {
      const times = platform.times(`sensors ${code}`);
      expect(times.length).toBe(2);
      expect(times.at(-1)).toBeGreaterThanOrEqual(askedLast);
    }
  });

  it("resolves also where polling ends meanwhile, and ever after", async () => {
    const world = polling();
    await begun(world, devices(10));
    world.platform.latencyMs = Infinity;
    const refreshed = world.poller.refresh();
    await world.clock.advance(minute);
    world.abort.abort();
    expect(await isDone(refreshed, world, 0)).toBe(true);
    expect(await isDone(world.poller.refresh(), world, 0)).toBe(true);
  });

  it("resolves also where a controller goes before its read began", async () => {
    const world = polling({ concurrency: 1 });
    const { platform, poller, store } = world;
    await begun(world, devices(10));
    platform.latencyMs = 1_000;
    platform.list = devices(9);
    const refreshed = poller.refresh();
    store.remove("GH-9");
    poller.forget("GH-9");
    expect(await isDone(refreshed, world, 2 * minute)).toBe(true);
  });
});

describe("the end", () =>
  it("aborts what is being read and leaves no timer, at whatever moment it comes", async () => {
    for (let at = 0; at <= 120; at += 7) await polledFor(at, devices(5));
  }));
