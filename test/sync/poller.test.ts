import { describe, expect, it, onTestFinished, vi } from "vitest";
import { deviceType, parameterGroup } from "../../src/greenhouse/device-types.js";
import type { Guard, Limits } from "../../src/greenhouse/limits.js";
import type { DeviceList, SensorItem } from "../../src/greenhouse/ports.js";
import { PollSchedule } from "../../src/sync/poll-plan.js";
import { actuator, clientStatus, controllerSettings, item, record } from "../support/builders.js";
import { failure } from "../support/counting-platform.js";
import { minute } from "../support/folding.js";
import { devices, hour, mirrorSettings, polledMirror, type PolledOptions } from "../support/polled-mirror.js";

type Polled = ReturnType<typeof polledMirror>;

/** A poller that runs until the test is over, and leaves no timer then. */
function polling(list: DeviceList, options: PolledOptions = {}): Polled {
  const world = polledMirror(options);
  world.platform.list = list;
  const run = world.poller.run(world.abort.signal);
  onTestFinished(async () => {
    world.abort.abort();
    await world.clock.advance(0);
    await run;
    expect(world.clock.pendingTimers).toBe(0);
  });
  return world;
}

/** Polls an account with this list for so long; what was asked by then does not count. */
async function polledFor(ms: number, list: DeviceList, options: PolledOptions = {}): Promise<Polled> {
  const world = polling(list, options);
  await world.clock.advance(ms);
  world.platform.calls.length = 0;
  return world;
}

const remove = ({ store, poller, platform }: Polled, left: number) => {
  for (const { code } of platform.list.slice(left)) {
    store.remove(code);
    poller.forget(code);
  }
  platform.list = platform.list.slice(0, left);
};
const gaps = (times: readonly number[]) => times.slice(1).map((at, place) => at - (times[place] ?? 0));
const average = (all: readonly number[]) => all.reduce((sum, one) => sum + one, 0) / all.length;

function mostInAMinute({ platform }: Polled): number {
  const starts = platform.calls.map(({ at }) => at);
  let first = 0;
  return starts.reduce((most, at, last) => {
    while ((starts[first] ?? 0) <= at - minute) first++;
    return Math.max(most, last - first + 1);
  }, 0);
}

const camera = record({ code: "CAM", type: deviceType("V009") });
const offline = record({ code: "OFF", online: false });
const roofed = (...codes: string[]) =>
  mirrorSettings(codes.map((code) => controllerSettings({ code, actuators: [actuator()] })));

describe("intervals", () => {
  it("everything is asked for about once an interval, offline controllers more slowly, and nothing twice at a time", async () => {
    const { platform, clock } = polling([...devices(20), offline], { settings: roofed("GH-0") });
    platform.latencyMs = 3_000;
    await clock.advance(6 * hour);
    expect(platform.overlaps).toEqual([]);
    expect(platform.mostAtOnce).toBeLessThanOrEqual(4);
    for (const [name, intervalMs] of [
      ["sensors GH-3", minute],
      ["sensors OFF", 5 * minute],
      ["running_status GH-3", 5 * minute],
      ["value GH-0 101", 2 * minute],
      ["controllers", 5 * minute],
    ] as const) {
      const between = gaps(platform.times(name));
      expect(average(between) / intervalMs).toBeGreaterThan(0.9);
      expect(average(between) / intervalMs).toBeLessThan(1.1);
      expect(Math.max(...between)).toBeLessThan(1.7 * intervalMs);
    }
    expect(Math.min(...gaps(platform.times("controllers")))).toBeGreaterThanOrEqual(5 * minute);
  });

  it("what was offline for hours is read within an interval of its return, and no more often where it comes and goes", async () => {
    const { platform, clock, store } = polling([offline], { settings: roofed("OFF") });
    const isOnline = () => store.get("OFF")?.availability === "online";
    const turn = async (online: boolean) => {
      platform.list = [record({ code: "OFF", online })];
      platform.status = () => clientStatus(online ? "online" : "offline");
      while (isOnline() !== online) await clock.advance(1_000);
    };
    await turn(false);
    await clock.advance(2 * hour + 17_000);
    await turn(true);
    const age = (name: string) => clock.monotonic() - (platform.times(name).at(-1) ?? 0);
    for (let second = 0; second < 300; second += 1) {
      await clock.advance(1_000);
      expect(age("sensors OFF")).toBeLessThan(1.6 * minute);
      expect(age("value OFF 101")).toBeLessThan(3.2 * minute);
    }
    platform.calls.length = 0;
    for (let n = 0; n < 20; n += 1) await turn(n % 2 === 1);
    expect(Math.min(...gaps(platform.times("value OFF 101")))).toBeGreaterThan(0.9 * minute);
  });

  it("what comes back by one list is brought forward by one look at the jobs, however many that are", async () => {
    const spied = vi.spyOn(PollSchedule.prototype, "bringForward");
    onTestFinished(() => spied.mockRestore());
    const { platform, clock, store } = polling(devices(100, { online: false }));
    // Else each would be settled by a status of its own.
    platform.fate = ({ name }) => {
      if (name.startsWith("connection")) throw failure("rejected", "realtime");
    };
    await clock.advance(hour);
    const isBack = () => [...store.controllers()].every(({ availability }) => availability === "online");
    expect(isBack()).toBe(false);
    platform.list = devices(100);
    spied.mockClear();
    while (!isBack()) await clock.advance(1_000);
    const visited = spied.mock.contexts.flatMap((one) =>
      one instanceof PollSchedule ? [...one.jobs()] : [],
    ).length;
    expect(visited).toBeGreaterThan(300);
    expect(visited).toBeLessThan(1_500);
  });

  it("what was offline and comes back while the realtime host is away is read within an interval of that host's return", async () => {
    const { platform, clock, store, hostReachable } = polling([offline], { settings: roofed("OFF") });
    await clock.advance(2 * hour + 17_000);
    const turn = async (online: boolean) => {
      platform.list = [record({ code: "OFF", online })];
      platform.status = () => clientStatus(online ? "online" : "offline");
      while (store.get("OFF")?.availability !== (online ? "online" : "offline")) await clock.advance(1_000);
    };
    for (let round = 0; round < 10; round += 1) {
      await turn(false);
      await clock.advance(20 * minute + round * 61_000);
      hostReachable("realtime", false);
      await turn(true);
      hostReachable("realtime", true);
      const backAt = clock.monotonic();
      await clock.advance(minute + 5_000);
      expect(platform.times("sensors OFF").at(-1) ?? 0).toBeGreaterThanOrEqual(backAt);
      await clock.advance(minute);
      expect(platform.times("value OFF 101").at(-1) ?? 0).toBeGreaterThanOrEqual(backAt);
    }
  });

  it.each([
    ["for its credential", "unauthorized"],
    ["with a time-out", "timeout"],
    ["with 503", "server"],
    ["for a reason of its own", "rejected"],
  ] as const)(
    "a list that fails at first %s is asked for again soon, and more rarely the longer that lasts",
    async (_why, kind) => {
      for (const lastsS of [10, 100, 1_000]) {
        const { platform, clock, news } = polling(devices(1));
        platform.other = [record({ code: "WS-1", type: deviceType("W001"), online: null })];
        platform.fate = ({ name, at }) => {
          if (name.startsWith("devices") && at < lastsS * 1_000) throw failure(kind, "business");
        };
        await clock.advance(lastsS * 1_000 + Math.min(1.3 * lastsS * 1_000 + 10_000, 1.6 * 5 * minute));
        expect(news.map((one) => ("code" in one ? one.code : ""))).toContain("WS-1");
        const asked = platform.times("devices TEXT").length;
        await clock.advance(59 * minute);
        expect(platform.times("devices TEXT").length).toBeLessThanOrEqual(asked + 2);
        expect(asked).toBeLessThan(14);
      }
    },
  );

  it("a list that fails is asked for as often as the controllers' list at most, whether or not it was ever answered, until it is", async () => {
    const { platform, clock } = polling(devices(1));
    platform.fate = ({ name, at }) => {
      const isAnswered = name === "devices STREAM" && (at < minute || at > 6 * hour);
      if (name.startsWith("devices") && !isAnswered) throw failure("rejected", "business");
    };
    await clock.advance(12 * hour);
    expect(platform.times("devices TEXT").length).toBeLessThan(12 * 12 + 12);
    const again = platform.times("devices STREAM");
    const between = again.filter((at) => at > 90 * minute && at < 6 * hour);
    expect(Math.max(...gaps(between))).toBeLessThan(8 * minute);
    expect(again.filter((at) => at > 6 * hour + 10 * minute).length).toBeLessThan(8);
  });

  it("averages that fail for each of many are made again after minutes, and more rarely the longer that lasts", async () => {
    const codes = devices(50).map(({ code }) => code);
    const settings = mirrorSettings(codes.map((code) => controllerSettings({ code, averages: true })));
    const { platform, clock } = polling(devices(50), { settings });
    platform.fate = ({ name }) => {
      if (name.startsWith("averages")) throw failure("server", "business");
    };
    const asked = () => platform.calls.filter(({ name }) => name.startsWith("averages")).length;
    await clock.advance(2 * minute);
    expect(asked()).toBe(50);
    await clock.advance(10 * minute);
    expect(asked()).toBeGreaterThanOrEqual(100);
    expect(asked()).toBeLessThanOrEqual(150);
  });

  it("one that was dropped while it was read counts as never answered when it comes again", async () => {
    const settings = mirrorSettings([controllerSettings({ code: "GH-0", averages: true })]);
    const { platform, clock, poller } = polling(devices(1), { settings });
    platform.latencyMs = 2_000;
    while (platform.times("averages GH-0").length === 0) await clock.advance(1_000);
    poller.forget("GH-0");
    await clock.advance(minute);
    platform.fate = ({ name }) => {
      if (name.startsWith("averages")) throw failure("server", "business");
    };
    poller.follow("GH-0");
    await clock.advance(minute);
    expect(platform.times("averages GH-0")).toHaveLength(2);
    await clock.advance(8 * minute);
    expect(platform.times("averages GH-0")).toHaveLength(3);
  });

  it("what failed for the credential is asked for again at once when there is another, and nothing else is", async () => {
    const { platform, clock, poller } = polling(devices(3), { settings: roofed("GH-0") });
    let isGood = true;
    platform.fate = ({ name, host }) => {
      if (name === "running_status GH-1") throw failure("timeout", host);
      if (!isGood) throw failure("unauthorized", host);
    };
    await clock.advance(hour);
    isGood = false;
    await clock.advance(70 * minute);
    isGood = true;
    platform.calls.length = 0;
    poller.credentialRenewed();
    poller.credentialRenewed();
    await clock.advance(5_100);
    for (const name of [
      "controllers",
      "devices TEXT",
      "sensors GH-0",
      "value GH-0 101",
      "running_status GH-2",
    ])
      expect(platform.times(name).length).toBeGreaterThan(0);
    expect(platform.times("running_status GH-1")).toHaveLength(0);
    expect(platform.times("devices TEXT")).toHaveLength(1);
    platform.calls.length = 0;
    poller.credentialRenewed();
    await clock.advance(500);
    expect(platform.times("devices TEXT")).toHaveLength(0);
  });

  it("one controller that always fails keeps no other from being read; of each it is told once that all was asked for", async () => {
    const { platform, clock, tried } = polling(devices(3), { settings: roofed("GH-0") });
    platform.latencyMs = 1_000;
    platform.fate = ({ name }) => {
      if (name === "sensors GH-1") throw failure("rejected", "realtime");
      if (name === "sensors GH-2") throw new TypeError("a defect of ours");
    };
    await clock.advance(1_500);
    expect(tried).toEqual([]);
    await clock.advance(hour);
    expect([...tried].sort()).toEqual(["GH-0", "GH-1", "GH-2"]);
    for (const code of tried) expect(platform.times(`sensors ${code}`).length).toBeGreaterThan(50);
  });

  it("each device is asked for its status until it was answered once; from then on online flags come from the list", async () => {
    const { platform, clock } = polling(devices(3));
    platform.fate = ({ name, at }) => {
      if (name === "connection GH-0" && at < 20 * minute) throw failure("rejected", "realtime");
    };
    await clock.advance(12 * hour);
    const times = platform.times("connection GH-0");
    expect(times.length).toBeGreaterThan(3);
    expect(times.at(-1)).toBeLessThan(30 * minute);
    for (const code of ["GH-1", "GH-2"]) expect(platform.times(`connection ${code}`)).toHaveLength(1);
  });

  it("one that tells when it was online last is asked for that with each list, of many each more rarely", async () => {
    const asked = async (count: number) => {
      const { platform, clock, store } = polling(devices(count));
      platform.status = () => ({ ...clientStatus("online"), lastOnlineAt: clock.now() });
      await clock.advance(2 * hour);
      return { times: platform.times("connection GH-0").length, info: store.get("GH-0")?.info, clock };
    };
    const few = await asked(3);
    expect(few.times).toBeGreaterThan(20);
    expect(few.clock.now() - (few.info?.client?.lastOnlineAt ?? 0)).toBeLessThan(7 * minute);
    expect((await asked(200)).times).toBeLessThan(9);
  });

  it("a list's offline is settled by the device's own status, before anything else is asked", async () => {
    const seen: string[] = [];
    const { platform, clock, store } = polling(devices(20), { concurrency: 1 });
    platform.status = (code) => clientStatus(code === "GH-3" ? "offline" : "online");
    await clock.advance(6 * minute);
    store.onChange((before, after) => {
      if (after && before?.availability !== after.availability) seen.push(after.info.code);
    });
    platform.list = devices(20, { online: false });
    await clock.advance(12 * minute);
    expect(seen).toEqual([]);
    expect(platform.times("connection GH-7").length).toBeGreaterThan(1);
  });

  it("a device without a flag that has an MQTT client is asked as often as the list; one without once an hour", async () => {
    const { platform, clock, store } = polling(devices(1));
    platform.other = ["WS-1", "WS-2"].map((code) => record({ code, type: deviceType("W001"), online: null }));
    platform.status = (code) => clientStatus(code === "WS-2" ? "offline" : "online");
    await clock.advance(2 * hour);
    platform.status = () => clientStatus("offline");
    await clock.advance(10 * minute);
    expect(platform.times("connection WS-1").length).toBeGreaterThan(20);
    expect(platform.times("connection WS-2").length).toBeLessThanOrEqual(3);
    expect(["WS-1", "WS-2"].map((code) => store.get(code)?.availability)).toEqual(["offline", "unknown"]);
  });

  it("a pest monitor is asked for readings as others until three answers had none, then once an hour, and as others again once it has some", async () => {
    let items: readonly SensorItem[] = [];
    const { platform, clock, poller } = polling([record({ code: "PM-1", type: deviceType("V003") })], {
      items: () => items,
    });
    const asked = () => platform.times("sensors PM-1").length;
    await clock.advance(10 * minute);
    expect(asked()).toBe(3);
    await clock.advance(5 * hour);
    expect(asked()).toBeGreaterThan(6);
    expect(asked()).toBeLessThan(10);
    const before = asked();
    poller.onSign("PM-1");
    void poller.refresh("PM-1");
    items = [item({ measuredAt: clock.now() })];
    await clock.advance(minute);
    expect(asked()).toBe(before + 1);
    await clock.advance(10 * minute);
    expect(asked()).toBeGreaterThan(before + 7);
  });

  it("a camera that a list shows online and that has no MQTT client is neither online nor offline, and asked for it once an hour", async () => {
    const station = record({ code: "WS-1", type: deviceType("W001"), online: true });
    const { platform, clock, store } = polling([station, ...devices(1)]);
    platform.status = (code) => clientStatus(code === "WS-1" ? "offline" : "online");
    await clock.advance(3 * hour);
    expect(store.get("WS-1")).toMatchObject({ availability: "unknown", availabilityBy: "status" });
    expect(platform.times("connection WS-1").length).toBeLessThan(6);
    platform.status = () => clientStatus("online");
    await clock.advance(2 * hour);
    expect(store.get("WS-1")?.availability).toBe("online");
  });

  it.each<[string, DeviceList, number, PolledOptions["settings"]?]>([
    ["an empty account: its list of controllers", [], 10],
    ["cameras only: the list again, as they have no readings", [camera], 10],
    ["a camera with an actuator: that one's register", [camera], 2, roofed("CAM")],
    ["one that is offline is asked more rarely", [offline], 5],
    ["the quickest of several", [offline, ...devices(1)], 1],
  ])("the shortest of the reads that are made is known: %s", async (_, list, minutes, settings) => {
    const { poller } = await polledFor(3 * minute, list, {
      settings,
      intervals: { controllers: 10 * minute },
    });
    expect(poller.shortestIntervalMs).toBe(minutes * minute);
  });

  it("after the first round requests are spread evenly: no second has more than a few times the mean", async () => {
    const { platform, clock } = await polledFor(12 * minute, devices(500), { concurrency: 8 });
    await clock.advance(20 * minute);
    const perSecond = new Map<number, number>();
    for (const { at } of platform.calls) {
      const second = Math.floor(at / 1_000);
      perSecond.set(second, (perSecond.get(second) ?? 0) + 1);
    }
    const mean = platform.calls.length / (20 * 60);
    expect(mean).toBeGreaterThan(9);
    expect(Math.max(...perSecond.values())).toBeLessThan(3.5 * mean);
  });
});

describe("an address that the group of its type_id does not list", () => {
  const group = parameterGroup(2);
  const split = actuator({ group, modeAddress: "101", positionAddress: "102" });
  const settings = mirrorSettings([controllerSettings({ code: "GH-0", actuators: [split] })]);
  /** Mode and degree are there, and only the mode is listed. */
  function listing(list: DeviceList = devices(1)): Polled {
    const world = polling(list, { settings });
    world.platform.registers.set("GH-0 101", "10100").set("GH-0 102", "45");
    world.platform.unlisted.add("GH-0 102");
    return world;
  }

  it("is read by itself as often, and told once", async () => {
    const { clock, platform, store, poller, unlisted } = listing();
    await clock.advance(hour);
    expect(store.get("GH-0")?.actuators.get("roof")).toMatchObject({ state: "position", position: 45 });
    expect(platform.times("value GH-0 102").length).toBeGreaterThan(25);
    expect(platform.times("value GH-0 101")).toEqual([]);
    expect(unlisted).toEqual(["GH-0 2 102"]);
    expect(poller.unlistedGroups()).toEqual(new Map([["GH-0", new Map([["102", group]])]]));
    expect(poller.callsPerHour()).toMatchObject({ register: 30, registers: 30 });
  });

  it("costs no request of its own once it is listed", async () => {
    const { clock, platform, poller } = listing();
    await clock.advance(10 * minute);
    platform.unlisted.clear();
    await clock.advance(3 * minute);
    platform.calls.length = 0;
    await clock.advance(hour);
    expect(platform.times("value GH-0 102")).toEqual([]);
    expect(poller.unlistedGroups().size).toBe(0);
  });

  it("of a controller that is offline is left as it is: its groups may be empty for that alone", async () => {
    const { clock, platform, unlisted } = listing([record({ code: "GH-0", online: false })]);
    platform.status = () => clientStatus("offline");
    await clock.advance(hour);
    expect([unlisted, platform.times("value GH-0 102")]).toEqual([[], []]);
  });

  it("goes with its controller", async () => {
    const world = listing();
    await world.clock.advance(10 * minute);
    remove(world, 0);
    await world.clock.advance(minute);
    world.platform.calls.length = 0;
    await world.clock.advance(hour);
    expect(world.platform.times("value GH-0 102")).toEqual([]);
    expect(world.poller.unlistedGroups().size).toBe(0);
  });
});

describe("a group that tells another value than the address itself", () => {
  const group = parameterGroup(2);
  const addresses = ["101", "102", "103"];
  const roofs = addresses.map((address) =>
    actuator({ id: `roof_${address}`, address, group, travelMs: 90_000 }),
  );
  const settings = mirrorSettings([controllerSettings({ code: "GH-0", actuators: roofs })]);
  const held = (over: Parameters<typeof polling>[1] = {}): Polled => {
    const world = polling(devices(1), { settings, ...over });
    for (const address of addresses) world.platform.registers.set(`GH-0 ${address}`, "10001");
    return world;
  };
  const freshTimes = ({ platform }: Polled, address: string) => platform.times(`value GH-0 ${address} fresh`);

  it("each address of it is read by itself once after the start, one after the other", async () => {
    const world = held();
    await world.clock.advance(hour);
    const times = addresses.flatMap((address) => freshTimes(world, address));
    expect(times).toHaveLength(3);
    expect(Math.min(...times.slice(1).map((at, place) => at - (times[place] ?? 0)))).toBeGreaterThanOrEqual(
      1_000,
    );
    expect(world.apart).toEqual([]);
  });

  it("a small budget spreads these reads, and polling keeps the rest of it", async () => {
    const world = held({ perMinute: 16 });
    await world.clock.advance(hour);
    const times = addresses.flatMap((address) => freshTimes(world, address));
    expect((times[2] ?? 0) - (times[0] ?? 0)).toBeGreaterThanOrEqual(60_000);
  });

  it("for longer than it travels is passed over for that address, which is read by itself; told once", async () => {
    const world = held();
    world.platform.registers.set("GH-0 102", "100");
    world.platform.groupTells.set("GH-0 102", "10010");
    await world.clock.advance(30 * minute);
    expect(world.apart).toEqual(["GH-0 102: 10010, 100"]);
    expect(world.poller.apart()).toEqual(new Map([["GH-0", new Set(["102"])]]));
    expect(world.store.get("GH-0")?.actuators.get("roof_102")).toMatchObject({
      position: 100,
      quality: "good",
    });
    world.platform.calls.length = 0;
    await world.clock.advance(hour);
    expect(freshTimes(world, "102")).toEqual([]);
    expect(world.platform.times("value GH-0 102").length).toBeGreaterThan(25);
    expect(world.platform.times("value GH-0 101")).toEqual([]);
  });

  it("only while it travels is no other reading", async () => {
    const world = held();
    world.platform.registers.set("GH-0 102", "20");
    world.platform.groupTells.set("GH-0 102", "45");
    await world.clock.advance(130_000);
    world.platform.registers.set("GH-0 102", "45");
    await world.clock.advance(hour);
    expect([world.apart, world.poller.apart().size]).toEqual([[], 0]);
  });

  it("counts from our own last control value on", async () => {
    const world = held();
    world.platform.registers.set("GH-0 102", "20");
    world.platform.groupTells.set("GH-0 102", "45");
    for (let poll = 0; poll < 10; poll++) {
      await world.clock.advance(minute);
      const at = world.clock.monotonic();
      world.store.dispatch("GH-0", { type: "posted", target: "actuator", id: "roof_102", at });
    }
    expect(world.apart).toEqual([]);
  });

  it("an address that cannot be read is tried three times, then left to the polls", async () => {
    const world = held();
    world.platform.fate = ({ name }) => {
      if (name === "value GH-0 101 fresh") throw failure("rejected", "realtime");
    };
    await world.clock.advance(hour);
    expect(addresses.map((address) => freshTimes(world, address).length)).toEqual([3, 1, 1]);
  });

  it("goes with its controller", async () => {
    const world = held();
    world.platform.groupTells.set("GH-0 102", "10010");
    await world.clock.advance(10 * minute);
    remove(world, 0);
    await world.clock.advance(minute);
    expect(world.poller.apart().size).toBe(0);
  });
});

describe("the first round", () => {
  it("asks for the account, then all of as many controllers as are asked at once, then all sensors, then the rest", async () => {
    const settings = roofed("GH-0", "GH-1", "GH-2");
    const { platform, clock } = polling(devices(3), { settings, concurrency: 1 });
    await clock.advance(1_000);
    expect(platform.calls.map(({ name }) => name.split(" ").slice(0, 2).join(" "))).toEqual([
      ...["controllers", "devices TEXT", "devices STREAM"],
      ...["sensors GH-0", "running_status GH-0", "value GH-0"],
      ...["sensors GH-1", "sensors GH-2", "value GH-1", "value GH-2"],
      ...["running_status GH-1", "running_status GH-2"],
    ]);
  });

  it("of a controller is over before its single-device status was asked for, as lists tell that too", async () => {
    const { platform, clock, tried } = polling(devices(1), { concurrency: 1 });
    let triedBefore: readonly string[] | null = null;
    platform.fate = ({ name }) => {
      if (name.startsWith("connection")) triedBefore = [...tried];
    };
    await clock.advance(6 * minute);
    expect(triedBefore).toEqual(["GH-0"]);
  });

  it("makes no timer of its own while every place is taken", async () => {
    const { platform, clock } = polling(devices(9), { concurrency: 4 });
    platform.latencyMs = 1_000;
    await clock.advance(2_500);
    expect([platform.mostAtOnce, clock.pendingTimers]).toEqual([4, 4]);
  });

  it("takes up a controller as soon as a list shows it, and drops it when it is removed", async () => {
    const world = await polledFor(10 * minute, devices(1));
    const { platform, clock } = world;
    platform.list = devices(2);
    await clock.advance(6 * minute);
    expect(platform.times("sensors GH-1").length).toBeGreaterThan(0);
    remove(world, 1);
    await clock.advance(30_000);
    platform.calls.length = 0;
    await clock.advance(hour);
    expect(platform.times("sensors GH-1")).toEqual([]);
  });

  it("has no sensor polls of cameras, found in the list or named in the configuration", async () => {
    const list = [camera, record({ code: "CAM-2", type: deviceType("V009") }), ...devices(1)];
    const settings = mirrorSettings([controllerSettings({ code: "CAM" })]);
    const { platform, clock } = await polledFor(10 * minute, list, { settings });
    await clock.advance(hour);
    expect(platform.times("sensors GH-0").length).toBeGreaterThan(0);
    for (const code of ["CAM", "CAM-2"]) expect(platform.times(`sensors ${code}`)).toEqual([]);
  });
});

const statuses = ({ platform }: Polled) => platform.calls.filter(({ name }) => name.startsWith("connection"));
/** The most of these that began within so many ms. */
const mostWithin = (ms: number, calls: readonly { readonly at: number }[]): number => {
  let first = 0;
  return calls.reduce((most, { at }, last) => {
    while ((calls[first]?.at ?? 0) <= at - ms) first++;
    return Math.max(most, last - first + 1);
  }, 0);
};

describe("the status of single devices, which the platform advises against asking of many at once", () => {
  it("is asked of 500 controllers once, after their first readings, spread over polling.controllers", async () => {
    const world = polling(devices(500), { concurrency: 8 });
    const { platform, clock } = world;
    await clock.advance(7 * minute);
    const asked = statuses(world);
    expect(new Set(asked.map(({ name }) => name)).size).toBe(500);
    expect(asked).toHaveLength(500);
    expect(mostWithin(10_000, asked)).toBeLessThanOrEqual(30);
    for (const { code } of platform.list) {
      const [status = 0] = platform.times(`connection ${code}`);
      for (const what of ["sensors", "running_status"])
        expect(status).toBeGreaterThan(platform.times(`${what} ${code}`)[0] ?? Infinity);
    }
  });

  it("is asked at once of what no list says whether it is online", async () => {
    const world = polling([]);
    world.platform.other = [record({ code: "WS-1", type: deviceType("W001"), online: null })];
    await world.clock.advance(2_000);
    expect(statuses(world)).toHaveLength(1);
  });

  it("is no part of a refresh", async () => {
    const world = await polledFor(10 * minute, devices(20));
    for (const code of [undefined, "GH-7"]) {
      void world.poller.refresh(code);
      await world.clock.advance(5_000);
    }
    expect(world.platform.times("sensors GH-7").length).toBeGreaterThanOrEqual(2);
    expect(statuses(world)).toEqual([]);
  });

  it("is asked at once of ten controllers that come back together", async () => {
    const world = await polledFor(25 * minute, devices(10), { perMinute: 300 });
    const { platform, clock } = world;
    platform.list = devices(10, { online: false });
    while (platform.times("controllers").length === 0) await clock.advance(1_000);
    await clock.advance(1_000);
    expect(new Set(statuses(world).map(({ name }) => name)).size).toBe(10);
  });

  it.each<[count: number, perMinute: number, mostInTenSeconds: number]>([
    [500, 0, 27],
    [2_000, 0, 44],
    [500, 300, 27],
    [30, 300, 20],
  ])(
    "after a list that turns all of %i offline is asked at a pace (%i requests a minute), all before the next list",
    async (count, perMinute, mostInTenSeconds) => {
      const intervals = { controllers: 10 * minute, sensors: hour, running_status: hour };
      const world = await polledFor(25 * minute, devices(count), { perMinute, intervals });
      const { platform, clock } = world;
      platform.list = devices(count, { online: false });
      platform.status = () => clientStatus("online");
      while (platform.times("controllers").length === 0) await clock.advance(1_000);
      await clock.advance(10 * minute - 1_000);
      const asked = statuses(world);
      expect(mostWithin(10_000, asked)).toBeLessThanOrEqual(mostInTenSeconds);
      expect(new Set(asked.map(({ name }) => name)).size).toBe(count);
    },
  );

  it("is asked of a controller that is gone as soon as a read of it fails, once until one works again", async () => {
    const world = await polledFor(70 * minute, devices(20), { intervals: { controllers: hour } });
    const { platform, clock, store } = world;
    platform.status = (code) => clientStatus(code === "GH-3" ? "offline" : "online");
    const broken = new Set(["GH-3", "GH-4"]);
    platform.fate = ({ name }) => {
      const [what = "", code = ""] = name.split(" ");
      if (what !== "connection" && broken.has(code)) throw failure("rejected", "realtime");
    };
    await clock.advance(75_000);
    expect(["GH-3", "GH-4", "GH-5"].map((code) => store.get(code)?.availability)).toEqual([
      "offline",
      "online",
      "online",
    ]);
    await clock.advance(40 * minute);
    expect(platform.times("connection GH-4")).toHaveLength(1);
  });

  it.each(["throttled", "unreachable", "paused"] as const)(
    "is not asked because of what concerns the whole host: %s",
    async (kind) => {
      const world = await polledFor(70 * minute, devices(20), { intervals: { controllers: hour } });
      world.platform.fate = ({ name }) => {
        if (name === "sensors GH-3") throw failure(kind, "realtime");
      };
      await world.clock.advance(5 * minute);
      expect(world.platform.times("sensors GH-3").length).toBeGreaterThan(3);
      expect(world.platform.times("connection GH-3")).toEqual([]);
    },
  );

  it("is not asked of what the next list turned back before", async () => {
    const world = await polledFor(25 * minute, devices(500), { perMinute: 20 });
    const { platform, clock } = world;
    platform.status = () => clientStatus("online");
    platform.list = devices(500, { online: false });
    const lists = () => platform.times("controllers").length;
    while (lists() < 1) await clock.advance(1_000);
    platform.list = devices(500);
    while (lists() < 2) await clock.advance(1_000);
    await clock.advance(1_000);
    const before = statuses(world).length;
    await clock.advance(30 * minute);
    expect(before).toBeGreaterThan(5);
    expect(statuses(world).length).toBe(before);
  });
});

describe("what is asked for soon", () => {
  const fresh = (address: string) =>
    ({ kind: "registers", code: "GH-0", read: { type: "fresh", address } }) as const;
  const month = 30 * 24 * hour;
  const rested = { controllers: month, sensors: month, running_status: month, actuators: month };
  /** One controller that is polled no more; times count from here. */
  async function resting(options: PolledOptions = {}) {
    const world = await polledFor(2 * minute, devices(1), { intervals: rested, ...options });
    const from = world.clock.monotonic();
    const seconds = (address: string) =>
      world.platform.times(`value GH-0 ${address} fresh`).map((at) => (at - from) / 1_000);
    const soon = (address: string, gapMs = 5_000) => world.poller.readSoon(fresh(address), gapMs, null);
    return { ...world, seconds, soon };
  }

  it("is read at once, and once however often it is wanted; wanted again it waits for its distance", async () => {
    const { clock, soon, seconds } = await resting();
    for (let times = 0; times < 100; times++) soon("a");
    soon("b");
    await clock.advance(50);
    soon("a");
    await clock.advance(59_950);
    soon("a");
    await clock.advance(1_000);
    expect([seconds("a"), seconds("b")]).toEqual([[0, 5, 60], [0]]);
  });

  it("is read once more where it is wanted while a read of it hangs", async () => {
    const { clock, platform, soon, seconds } = await resting();
    platform.latencyMs = 15_000;
    soon("a", 2_000);
    await clock.advance(3_000);
    soon("a", 2_000);
    await clock.advance(40_000);
    expect(seconds("a")).toEqual([0, 15]);
    expect(platform.overlaps).toEqual([]);
  });

  it("goes before a whole round that is due, and takes a quarter of the budget at most", async () => {
    const world = polling(devices(500), { perMinute: 100 });
    await world.clock.advance(minute);
    world.platform.calls.length = 0;
    for (let n = 0; n < 200; n++) world.poller.readSoon(fresh(String(n)), 0, null);
    await world.clock.advance(minute - 1);
    const [soon, others] = [true, false].map((isSoon) =>
      world.platform.calls.filter(({ name }) => name.endsWith("fresh") === isSoon),
    );
    expect(soon).toHaveLength(25);
    expect(others?.length).toBeGreaterThan(70);
    expect(soon?.[0]?.at).toBeLessThan(minute + 1_000);
  });

  it("is read again at growing pauses where it fails, and after the sixth time left to polling; wanted anew, at once", async () => {
    const { clock, platform, soon, seconds, poller } = await resting();
    let fails = true;
    platform.fate = ({ name }) => {
      if (fails || name.includes(" a ")) throw failure("rejected", "realtime");
    };
    platform.latencyMs = 0;
    for (const address of ["a", "b"]) soon(address);
    await clock.advance(20_000);
    fails = false;
    soon("b");
    await clock.advance(hour);
    expect(seconds("a")).toEqual([0, 5, 15, 35, 75, 155]);
    expect(seconds("b")).toEqual([0, 5, 15, 20]);
    expect(["a", "b"].map((address) => poller.isWanted(fresh(address)))).toEqual([false, false]);
  });

  it("that is wanted for just when it is read again still ends after the sixth failure", async () => {
    const { clock, platform, soon, seconds } = await resting();
    platform.latencyMs = 0;
    platform.fate = () => {
      throw failure("rejected", "realtime");
    };
    soon("a");
    await clock.advance(1_000);
    soon("a");
    await clock.advance(hour);
    expect(seconds("a")).toHaveLength(6);
  });

  it("is what is polled too: the read of one is the read of the other", async () => {
    const { clock, platform, poller } = await resting({ intervals: { ...rested, running_status: minute } });
    const job = { kind: "running_status", code: "GH-0" } as const;
    const read = () => platform.times("running_status GH-0").length;
    for (let minutes = 0; minutes < 60; minutes++) {
      poller.readSoon(job, minute, null);
      await clock.advance(minute);
    }
    expect(read()).toBeGreaterThanOrEqual(58);
    expect(read()).toBeLessThanOrEqual(62);
  });

  it("costs nothing by itself: neither intervals nor what polling is said to cost change by it", async () => {
    const { clock, poller, soon } = await resting();
    const before = poller.callsPerHour();
    soon("a");
    await clock.advance(hour);
    expect([poller.callsPerHour(), poller.stretch]).toEqual([before, 1]);
  });
});

describe("the request budget", () => {
  it("is not exceeded by the second reads of values that contradict each other", async () => {
    const addresses = Array.from({ length: 30 }, (_, n) => `${n}`);
    const actuators = addresses.map((address) => actuator({ id: `a${address}`, address }));
    const settings = mirrorSettings([controllerSettings({ code: "GH-0", actuators })]);
    const world = polling(devices(1), { settings, perMinute: 20 });
    const { platform, clock, store } = world;
    for (const n of addresses) platform.registers.set(`GH-0 ${n}`, "10001").set(`GH-0 ${n} fresh`, "10010");
    store.dispatch("GH-0", {
      ...{ type: "registers_read", startedAt: clock.monotonic(), readAt: clock.now() },
      ...{ fresh: true, source: "read_back" },
      values: new Map(addresses.map((address) => [address, "10010"])),
    });
    await clock.advance(10 * minute);
    expect(mostInAMinute(world)).toBeLessThanOrEqual(20);
  });

  it("that is too small is never exceeded: it stretches all intervals evenly; fewer controllers undo it", async () => {
    const world = polling(devices(100), { perMinute: 60 });
    const { platform, clock, poller, stretches } = world;
    await clock.advance(hour);
    expect(poller.stretch).toBeCloseTo(2, 0);
    void poller.refresh();
    await clock.advance(10 * minute);
    expect(mostInAMinute(world)).toBeLessThanOrEqual(60);
    expect(average(gaps(platform.times("sensors GH-50"))) / minute).toBeGreaterThan(1.7);
    expect(average(gaps(platform.times("sensors GH-50"))) / minute).toBeLessThan(2.3);
    remove(world, 10);
    await clock.advance(10 * minute);
    expect(poller.stretch).toBe(1);
    expect(stretches.at(-1)).toBe(1);
  });

  it.each([3, 100])(
    "that is used up leaves no hole in which nothing is asked and nobody new is seen (%i controllers)",
    async (count) => {
      const second = { controllers: 1_000, sensors: 1_000, running_status: 1_000, actuators: 1_000 };
      const { platform, clock, poller } = polling(devices(count), { perMinute: 300, intervals: second });
      await clock.advance(20_000);
      platform.list = devices(count + 5);
      await clock.advance(10 * minute);
      const calls = platform.calls.map(({ at }) => at).filter((at) => at > 2 * minute);
      // Jobs leave at moments a second apart at most.
      expect(Math.max(...gaps(calls))).toBeLessThan(1_100);
      const lists = gaps(platform.times("controllers").filter((at) => at > 2 * minute));
      expect(Math.max(...lists) / (1_000 * poller.stretch)).toBeLessThan(1.6);
    },
  );

  it("that suffices while most are offline stretches the intervals as they come back", async () => {
    const { platform, clock, poller } = polling(devices(100, { online: false }), {
      perMinute: 60,
    });
    await clock.advance(30 * minute);
    expect(poller.stretch).toBe(1);
    platform.list = devices(100);
    await clock.advance(30 * minute);
    expect(poller.stretch).toBeCloseTo(2, 0);
  });
});

/** Both hosts fail until it is called; after the second failure one is known to be away. */
function outage({ platform, hostReachable }: Polled) {
  const failures = { business: 0, realtime: 0 };
  let isDown = true;
  platform.fate = ({ host }) => {
    failures[host] = isDown ? failures[host] + 1 : 0;
    if (failures[host] !== 1) hostReachable(host, !isDown);
    if (isDown) throw failure("unreachable", host);
  };
  return () => {
    isDown = false;
  };
}

describe("a platform that is gone", () => {
  it("for an hour is asked now and then, and for everything within 60 s of its return; nothing is stretched", async () => {
    const world = await polledFor(20 * minute, devices(40), { perMinute: 300 });
    const { platform, clock, stretches } = world;
    const over = outage(world);
    await clock.advance(hour);
    expect(platform.calls.length).toBeLessThanOrEqual(2_000);
    platform.calls.length = 0;
    over();
    await clock.advance(minute + 100);
    const seen = new Set(platform.calls.map(({ name }) => name));
    expect(seen).toContain("controllers");
    for (const { code } of platform.list)
      for (const what of ["sensors", "running_status"]) expect(seen).toContain(`${what} ${code}`);
    expect(stretches).toEqual([]);
  });

  it("is asked at its return for all that failed, and for nothing that is asked once", async () => {
    const world = await polledFor(10 * minute, devices(10));
    const { platform, clock } = world;
    const over = outage(world);
    await clock.advance(7 * minute);
    const failed = platform.calls.map(({ name }) => name).filter((name) => name !== "controllers");
    platform.calls.length = 0;
    over();
    await clock.advance(31_000);
    const again = platform.calls.map(({ name }) => name);
    expect(failed.length).toBeGreaterThan(10);
    expect(again).toEqual(expect.arrayContaining(failed));
    expect(again.filter((name) => name.startsWith("connection"))).toEqual([]);
  });

  it("from the start is no reason not to start, and is taken up when it comes", async () => {
    const world = polling(devices(3));
    const over = outage(world);
    await world.clock.advance(20 * minute);
    expect(world.store.size).toBe(0);
    over();
    await world.clock.advance(minute + 100);
    expect(world.platform.times("sensors GH-2").length).toBeGreaterThan(0);
  });
});

describe("refresh", () => {
  const isDone = async (promise: Promise<unknown>, { clock }: Polled, withinMs: number) => {
    let done = false;
    void promise.then(() => {
      done = true;
    });
    await clock.advance(withinMs);
    return done;
  };

  it("asks for everything now and resolves when its reads are done, not before", async () => {
    const world = await polledFor(10 * minute, devices(10), { concurrency: 2 });
    const { platform, poller } = world;
    platform.latencyMs = 1_000;
    const refreshed = poller.refresh();
    expect(await isDone(refreshed, world, 9_000)).toBe(false);
    expect(await isDone(refreshed, world, 10_000)).toBe(true);
    const names = new Set(platform.calls.map(({ name }) => name));
    for (const { code } of platform.list) expect(names).toContain(`sensors ${code}`);
    expect(names).toContain("controllers");
  });

  const availabilities = ({ store, platform }: Polled) =>
    new Set(platform.list.map(({ code }) => store.get(code)?.availability));

  it("reads also the status of each device that its list is against, which decides, before it resolves", async () => {
    const world = await polledFor(10 * minute, devices(30));
    for (const online of [false, true]) {
      world.platform.list = devices(30, { online });
      const refreshed = world.poller.refresh();
      expect(await isDone(refreshed, world, 5_000)).toBe(false);
      while (!(await isDone(refreshed, world, 100)));
      expect(availabilities(world)).toEqual(new Set([online ? "online" : "offline"]));
      expect(await refreshed).toEqual([]);
      await world.clock.advance(20_000);
    }
  });

  it("tells of a status that its list asked for and that could not be read", async () => {
    const world = await polledFor(10 * minute, devices(3));
    world.platform.list = devices(3, { online: false });
    world.platform.fate = ({ name }) => {
      if (name === "connection GH-1") throw failure("rejected", "realtime");
    };
    const refreshed = world.poller.refresh();
    expect(await isDone(refreshed, world, 4_000)).toBe(true);
    expect((await refreshed).map(({ code, request }) => [code, request])).toEqual([
      ["GH-1", "GET /api/mqtt-client-status"],
    ]);
  });

  it("waits for no status that a later list has made needless", async () => {
    const world = await polledFor(10 * minute, devices(100));
    const { platform, poller, clock } = world;
    platform.list = devices(100, { online: false });
    platform.status = () => clientStatus("online");
    const refreshed = poller.refresh();
    expect(await isDone(refreshed, world, 20_000)).toBe(false);
    platform.list = devices(100);
    poller.readAnew("GET /api/control/mqtt", undefined);
    expect(await isDone(refreshed, world, 5_000)).toBe(true);
    await clock.advance(minute);
    expect(statuses(world).length).toBeLessThan(50);
  });

  it("reads all of a controller that its list has added", async () => {
    const world = await polledFor(10 * minute, devices(3));
    world.platform.list = devices(4);
    world.platform.slowMs = (name) => (name === "sensors GH-3" ? 2_000 : undefined);
    const refreshed = world.poller.refresh();
    expect(await isDone(refreshed, world, 1_500)).toBe(false);
    expect(await isDone(refreshed, world, 1_500)).toBe(true);
    for (const what of ["sensors", "running_status"])
      expect(world.platform.times(`${what} GH-3`)).toHaveLength(1);
  });

  it("says of a host that is away that nothing of it was read, at once", async () => {
    const world = await polledFor(10 * minute, devices(2));
    world.hostReachable("realtime", false);
    world.platform.list = devices(2, { online: false });
    const refreshed = world.poller.refresh();
    expect(await isDone(refreshed, world, 1_000)).toBe(true);
    const failed = (await refreshed).map(({ code, request, why }) => [code, request, why]);
    for (const request of ["sensor-data", "device_status", "mqtt-client-status"])
      expect(failed).toContainEqual(["GH-1", `GET /api/${request}`, "the realtime host cannot be reached"]);
    expect(failed.filter(([code]) => code === null)).toEqual([]);
  });

  it("tells which reads failed, and why, and nothing of those that did not", async () => {
    const world = await polledFor(10 * minute, devices(3));
    world.platform.fate = ({ name }) => {
      if (name === "sensors GH-1") throw failure("rejected", "realtime");
      if (name === "controllers") throw failure("timeout", "business");
    };
    const refreshed = world.poller.refresh();
    expect(await isDone(refreshed, world, minute)).toBe(true);
    const failed = (await refreshed).map(({ code, request, why }) => [code, request, why]);
    expect(failed.sort()).toEqual([
      [null, "GET /api/control/mqtt", expect.stringMatching(/./)],
      ["GH-1", "GET /api/sensor-data", expect.stringMatching(/./)],
    ]);
    world.platform.fate = () => undefined;
    const again = world.poller.refresh("GH-1");
    await world.clock.advance(minute);
    expect(await again).toEqual([]);
  });

  it("of a host that goes meanwhile tells each read of it as failed", async () => {
    const world = await polledFor(10 * minute, devices(3), { concurrency: 1 });
    world.platform.latencyMs = 1_000;
    const refreshed = world.poller.refresh("GH-2");
    await world.clock.advance(100);
    world.poller.hostReachable("realtime", false);
    await world.clock.advance(minute);
    const failed = await refreshed;
    expect(new Set(failed.map(({ code }) => code))).toEqual(new Set(["GH-2"]));
    expect(failed.map(({ why }) => why)).toContain("the realtime host cannot be reached");
  });

  it("of one controller asks for that one only", async () => {
    const world = await polledFor(10 * minute, devices(100));
    expect(await isDone(world.poller.refresh("GH-7"), world, 100)).toBe(true);
    const names = world.platform.calls.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["sensors GH-7", "running_status GH-7"]));
    expect(names.length).toBeLessThan(6);
  });

  it.each<[where: string, withinMs: number, meanwhile: (world: Polled) => unknown]>([
    [
      "every read fails",
      minute,
      ({ platform }) =>
        (platform.fate = () => {
          throw failure("rejected", "realtime");
        }),
    ],
    ["the platform goes while it is under way", minute, outage],
    ["a controller goes before its read began", 2 * minute, (world) => remove(world, 9)],
    [
      "a device turns out to be a camera",
      3 * minute,
      ({ platform }) => (platform.list = [record({ code: "GH-0", type: deviceType("V009") })]),
    ],
    ["polling ends", 0, ({ abort }) => abort.abort()],
  ])("resolves also where %s, then and ever after", async (_, withinMs, meanwhile) => {
    const world = await polledFor(10 * minute, devices(10), { concurrency: 1 });
    world.platform.latencyMs = 1_000;
    const refreshed = world.poller.refresh();
    await world.clock.advance(100);
    meanwhile(world);
    expect(await isDone(refreshed, world, withinMs)).toBe(true);
    expect(await isDone(world.poller.refresh(), world, withinMs)).toBe(true);
    expect(await isDone(world.poller.refresh("nobody"), world, 0)).toBe(true);
  });

  it("asked for again and again shares one round under way and one to follow, which shows what came after the asking", async () => {
    const world = await polledFor(10 * minute, devices(10), { concurrency: 2 });
    const { platform, clock, poller } = world;
    platform.latencyMs = 1_000;
    const refreshes: Promise<unknown>[] = [];
    for (let times = 0; times < 50; times++) {
      refreshes.push(poller.refresh());
      await clock.advance(100);
    }
    const askedLast = clock.monotonic() - 100;
    expect(await isDone(Promise.all(refreshes), world, 30_000)).toBe(true);
    for (const { code } of platform.list) {
      const times = platform.times(`sensors ${code}`);
      expect(times.length).toBe(2);
      expect(times.at(-1)).toBeGreaterThanOrEqual(askedLast);
    }
  });
});

describe("controllers that do not answer", () => {
  const mute = ["GH-0", "GH-1", "GH-2", "GH-3"];
  const isMute = (name: string) => mute.some((code) => name.split(" ")[1] === code);
  const many = Array.from({ length: 10 }, (_, n) => actuator({ id: `a${n}`, address: String(101 + n) }));
  const settings = mirrorSettings(mute.map((code) => controllerSettings({ code, actuators: many })));
  const unanswered = () => {
    const world = polling(devices(20), { settings });
    const { platform } = world;
    let mostAtOnce = 0;
    platform.slowMs = (name) => (isMute(name) ? 15_000 : undefined);
    platform.fate = ({ name, at }) => {
      const open = [...platform.open].filter(([one, count]) => count > 0 && isMute(one)).length;
      if (at > minute) mostAtOnce = Math.max(mostAtOnce, open);
      if (isMute(name)) throw failure("timeout", "realtime");
    };
    return { ...world, most: () => mostAtOnce };
  };

  it("keep half of the places at most, so that all others are read at their intervals", async () => {
    const { platform, clock, most } = unanswered();
    await clock.advance(30 * minute);
    expect(most()).toBe(2);
    for (let n = 4; n < 20; n += 1)
      expect(Math.max(...gaps(platform.times(`sensors GH-${n}`)))).toBeLessThan(1.7 * minute);
    // Their 48 reads of 15 s take six minutes with two places.
    for (const code of mute) expect(platform.times(`sensors ${code}`).length).toBeGreaterThanOrEqual(5);
  });

  it("are read as often as others as soon as they answer again", async () => {
    const { platform, clock } = unanswered();
    await clock.advance(10 * minute);
    platform.slowMs = () => undefined;
    platform.fate = () => undefined;
    await clock.advance(2 * minute);
    platform.calls.length = 0;
    await clock.advance(20 * minute);
    for (const code of mute)
      expect(Math.max(...gaps(platform.times(`sensors ${code}`)))).toBeLessThan(1.7 * minute);
  });

  it("of which one read alone is not answered keep no other of theirs back", async () => {
    const { platform, clock } = polling(devices(6), { settings });
    platform.slowMs = (name) => (name.startsWith("value") ? 15_000 : undefined);
    platform.fate = ({ name }) => {
      if (name.startsWith("value")) throw failure("timeout", "realtime");
    };
    await clock.advance(30 * minute);
    for (const { code } of platform.list)
      expect(Math.max(...gaps(platform.times(`sensors ${code}`).slice(3)))).toBeLessThan(2 * minute);
  });
});

describe("what a guard looks at", () => {
  const guard = (input: Guard["input"]): Guard => ({
    ...{ name: "wind", input, from: "", clearAfterMs: 0, sends: null, actsBlind: false },
    condition: { type: "above", limit: 12, clearAt: 9 },
    allow: { words: ["close"], degrees: null },
  });
  const limits: Limits = {
    ...{ restMs: 0, reversalMs: 0, startsPerHour: null, forMs: null, atMostMs: null, endsWith: null },
    guards: [
      guard({ type: "sensor", controller: "gh-7", id: "wind" }),
      guard({ type: "actuator", controller: null, id: "twin" }),
    ],
  };
  const settings = mirrorSettings([
    controllerSettings({
      code: "GH-0",
      actuators: [actuator({ limits }), actuator({ id: "twin", address: "102" })],
    }),
  ]);

  it("is read first where the platform is too slow for everything, and nothing else is left unread", async () => {
    const { platform, clock } = polling(devices(100), { settings });
    platform.latencyMs = 3_000;
    await clock.advance(hour);
    const longest = (name: string) => Math.max(...gaps(platform.times(name).slice(2)));
    expect(longest("sensors GH-7")).toBeLessThan(1.4 * minute);
    expect(longest("value GH-0 102")).toBeLessThan(2.6 * minute);
    expect(longest("sensors GH-8")).toBeGreaterThan(1.4 * minute);
    for (const { code } of platform.list) expect(longest(`sensors ${code}`)).toBeLessThan(8 * minute);
  });
});

it("the end aborts what is being read and leaves no timer, at whatever moment it comes", async () => {
  for (let at = 0; at <= 120; at += 7) await polledFor(at, devices(5));
});
