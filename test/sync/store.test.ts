import anyAscii from "any-ascii";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Controller } from "../../src/greenhouse/model.js";
import { GreenhouseStore } from "../../src/sync/store.js";
import {
  actuator,
  clientStatus,
  controllerSettings,
  item,
  limits,
  record,
  roofProblem,
  sensorSettings,
} from "../support/builders.js";
import { minute, registersRead, sensorsRead, validId } from "../support/folding.js";
import { hour, mirrorSettings } from "../support/polled-mirror.js";
import { VirtualClock } from "../support/virtual-clock.js";

const year = 365 * 24 * hour;

/** A running store with one controller that has one good sensor and one good actuator. */
function living() {
  const clock = new VirtualClock();
  const settings = mirrorSettings([controllerSettings({ actuators: [actuator()] })]);
  const store = new GreenhouseStore(settings, clock, anyAscii);
  const told: [Controller | undefined, Controller | undefined][] = [];
  store.setReachable(true);
  store.admit("GH-0001");
  const read = () => {
    const now = clock.now();
    store.dispatch("GH-0001", sensorsRead([item({ measuredAt: now })], now));
    store.dispatch(
      "GH-0001",
      registersRead({ "101": "10010" }, { startedAt: clock.monotonic(), readAt: now }),
    );
  };
  store.dispatch("GH-0001", { type: "listed", record: record(), availability: "online" });
  read();
  store.onChange((...change) => told.push(change));
  const abort = new AbortController();
  const run = store.run(abort.signal);
  const end = async () => {
    abort.abort();
    await run;
  };
  onTestFinished(end);
  const qualities = () => {
    const held = store.get("GH-0001");
    return [...(held?.sensors.values() ?? []), ...(held?.actuators.values() ?? [])].map(
      ({ quality }) => quality,
    );
  };
  return { clock, store, told, read, qualities, end };
}

describe("a configuration that was read again", () => {
  const named = controllerSettings({
    name: "North",
    area: "N",
    actuators: [{ ...actuator(), name: "Roof" }],
    sensors: [sensorSettings({ id: "air_temperature", from: "空气温度", name: "Air" })],
  });

  it("gives other names, areas and limits at once, and leaves what was read as it is", () => {
    const { store, told } = living();
    const before = store.get("GH-0001");
    told.length = 0;
    store.rename(mirrorSettings([named], { bands: { temperature: { low: 5 } } }));
    const after = store.get("GH-0001");
    expect(after?.info).toMatchObject({ name: "North", area: "N" });
    expect(after?.actuators.get("roof")).toMatchObject({ settings: { name: "Roof" }, state: "open" });
    const sensor = after?.sensors.get("air_temperature");
    expect(sensor?.definition).toMatchObject({ name: "Air", bands: { limits: { low: 5 } } });
    expect(sensor).toMatchObject({ ...before?.sensors.get("air_temperature"), definition: {} });
    expect(after?.layout[0]?.definition).toBe(sensor?.definition);
    expect(told).toHaveLength(1);
  });

  it("the next reading is of the same sensor, and of the name and the limits of now", () => {
    const { store, read } = living();
    store.rename(mirrorSettings([named], { bands: { temperature: { low: 5 } } }));
    const definition = store.get("GH-0001")?.sensors.get("air_temperature")?.definition;
    read();
    expect(store.get("GH-0001")?.sensors.get("air_temperature")?.definition).toBe(definition);
  });

  it("takes names and limits away that it does not have any more", () => {
    const { store } = living();
    const bare = mirrorSettings([controllerSettings({ actuators: [actuator()] })]);
    const before = store.get("GH-0001");
    store.rename(mirrorSettings([named], { bands: { temperature: { low: 5 } } }));
    store.rename(bare);
    expect(store.get("GH-0001")).toEqual(before);
  });

  it("with nothing new tells nobody", () => {
    const { store, told } = living();
    told.length = 0;
    store.rename(mirrorSettings([controllerSettings({ actuators: [actuator()] })]));
    expect(told).toEqual([]);
  });

  it("gives a controller of which it said nothing a name, and takes it back", () => {
    const store = new GreenhouseStore(mirrorSettings(), new VirtualClock(), anyAscii);
    store.admit("GH-0001");
    store.dispatch("GH-0001", { type: "listed", record: record({ name: "East" }), availability: "online" });
    store.rename(mirrorSettings([controllerSettings({ name: "Mine" })]));
    expect(store.get("GH-0001")?.info.name).toBe("Mine");
    store.rename(mirrorSettings());
    expect(store.get("GH-0001")).toMatchObject({ settings: null, info: { name: "East" } });
  });

  it("brings actuators into its order", () => {
    const both = [actuator({ id: "a", address: "1" }), actuator({ id: "b", address: "2" })];
    const settings = mirrorSettings([controllerSettings({ actuators: both })]);
    const store = new GreenhouseStore(settings, new VirtualClock(), anyAscii);
    store.admit("GH-0001");
    store.rename(mirrorSettings([controllerSettings({ actuators: both.toReversed() })]));
    expect([...(store.get("GH-0001")?.actuators.keys() ?? [])]).toEqual(["b", "a"]);
  });
});

describe("time alone", () => {
  it("turns what is read no more stale within a second of its limit, once, and leaves no timer behind", async () => {
    const { clock, told, qualities, end } = living();
    await clock.advance(15 * minute);
    expect(qualities()).toEqual(["good", "good"]);
    expect(told).toHaveLength(0);
    await clock.advance(1_001);
    expect(qualities()).toEqual(["stale", "stale"]);
    expect(told).toHaveLength(1);
    await clock.advance(hour);
    expect(told).toHaveLength(1);
    await end();
    expect(clock.pendingTimers).toBe(0);
  });

  it.each([
    ["ten years ahead", (now: number) => now + 10 * year, "stale"],
    ["an hour ahead", (now: number) => now + hour, "stale"],
    ["a minute ahead", (now: number) => now + minute, "good"],
    ["14 days back", (now: number) => now - 14 * 24 * hour, "stale"],
    ["back to 1970", () => 0, "stale"],
  ])("a wall clock set %s is judged within 2 s, and again when it is right", async (_, to, quality) => {
    const { clock, qualities } = living();
    await clock.advance(10_000);
    const before = clock.now();
    clock.setWall(to(before));
    await clock.advance(2_000);
    expect(qualities()).toEqual([quality, quality]);
    clock.setWall(before + 2_000);
    await clock.advance(2_000);
    expect(qualities()).toEqual(["good", "good"]);
  });

  it("readings go on being folded while the clock is wrong", async () => {
    const { clock, read, qualities } = living();
    for (const wall of [0, 8e15, -1e12, Date.parse("2036-01-01T00:00:00Z")]) {
      clock.setWall(wall);
      await clock.advance(1_000);
      read();
      await clock.advance(1_000);
      expect(qualities()[1]).toBe("good");
    }
  });

  it("new limits are judged within a second", async () => {
    const { clock, store, qualities } = living();
    store.setFreshness({ ...limits, sensorFloorMs: hour, registerFloorMs: hour });
    await clock.advance(20 * minute);
    expect(qualities()).toEqual(["good", "good"]);
    store.setFreshness(limits);
    await clock.advance(1_001);
    expect(qualities()).toEqual(["stale", "stale"]);
  });
});

describe("listeners", () => {
  it("that name parts hear of changes of these alone, and of whatever comes or goes", () => {
    const { store, read } = living();
    const heard: string[] = [];
    store.onChange((_, after) => heard.push(after?.availability ?? "gone"), ["availability"]);
    read();
    expect(heard).toEqual([]);
    store.dispatch("GH-0001", { type: "connection", status: clientStatus("offline") });
    store.remove("GH-0001");
    store.admit("GH-0001");
    expect(heard).toEqual(["offline", "gone", "unknown"]);
  });

  it("are told before and after of what changed, and nothing of what did not or after they left", async () => {
    const { clock, store, told } = living();
    const measuredAt = clock.now();
    await clock.advance(minute);
    store.dispatch("GH-0001", sensorsRead([item({ measuredAt })], clock.now()));
    const leave = store.onChange(() => told.push([undefined, undefined]));
    leave();
    expect(told).toEqual([]);
    const before = store.get("GH-0001");
    store.dispatch("GH-0001", { type: "problem", open: [] });
    store.dispatch("GH-0001", { type: "time_passed" });
    store.dispatch("nobody", { type: "problem", open: [roofProblem] });
    store.setReachable(true);
    expect(told).toEqual([]);
    store.dispatch("GH-0001", { type: "problem", open: [roofProblem] });
    expect(told).toEqual([[before, store.get("GH-0001")]]);
  });

  it("hear of a controller that comes and goes; both ends of it cannot be found after", () => {
    const { store, told } = living();
    const came = store.admit("GH-9");
    expect(store.admit("GH-9")).toBe(came);
    expect(store.byId("gh-9")).toBe(came);
    store.remove("GH-9");
    store.remove("GH-9");
    expect(told).toEqual([
      [undefined, came],
      [came, undefined],
    ]);
    expect(store.get("GH-9")).toBeUndefined();
    expect(store.byId("gh-9")).toBeUndefined();
    expect(store.admit("GH-9").info.id).toBe("gh-9");
  });
});

it("a platform that is gone makes everything stale at once, also what is read behind its back; its return judges anew and stamps nothing", async () => {
  const { clock, store, read, qualities } = living();
  read();
  const times = () =>
    [...(store.get("GH-0001")?.sensors.values() ?? [])].map((one) => [one.measuredAt, one.receivedAt]);
  const before = times();
  await clock.advance(minute);
  store.setReachable(false);
  expect(qualities()).toEqual(["stale", "stale"]);
  await clock.advance(minute);
  store.setReachable(true);
  expect(qualities()).toEqual(["good", "good"]);
  expect(times()).toEqual(before);
  store.setReachable(false);
  read();
  expect(qualities()).toEqual(["stale", "stale"]);
});

describe("topic ids of controllers", () => {
  const idsOf = (codes: readonly string[], configured: [code: string, id: string][] = []) => {
    const settings = configured.map(([code, id]) => controllerSettings({ code, id }));
    const store = new GreenhouseStore(mirrorSettings(settings), new VirtualClock(), anyAscii);
    return codes.map((code) => store.admit(code).info.id);
  };

  it("the configured id, else the code made topic-safe; `bridge` is reserved; a configured id is never taken", () => {
    expect(idsOf(["GH-0001", "GH-0002"], [["GH-0001", "east"]])).toEqual(["east", "gh-0002"]);
    expect(idsOf(["bridge"])).toEqual([expect.stringMatching(/^bridge_[0-9a-z]{8}$/)]);
    expect(idsOf(["east", "GH-0001"], [["GH-0001", "east"]])).toEqual([
      expect.stringMatching(/^east_[0-9a-z]{8}$/),
      "east",
    ]);
  });

  it("whatever the codes, ids are valid, never shared, and the same whatever else there is", () => {
    const code = fc.oneof(
      fc.string({ unit: "binary", maxLength: 10 }),
      fc.constantFrom("gh-1", "GH-1", "Gh-1", "bridge", "Bridge", "", "/", "#", "温室", "x".repeat(70_000)),
    );
    fc.assert(
      fc.property(fc.uniqueArray(code, { maxLength: 8 }), (codes) => {
        const ids = idsOf(codes);
        expect(new Set(ids).size).toBe(codes.length);
        for (const id of ids) {
          expect(id).toMatch(validId);
          expect(id).not.toBe("bridge");
        }
        expect(codes.flatMap((one) => idsOf([one]))).toEqual(ids);
      }),
      { numRuns: 300 },
    );
  });
});
