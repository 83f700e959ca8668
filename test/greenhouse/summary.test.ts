import { expect, it } from "vitest";
import { summaryOf } from "../../src/greenhouse/summary.js";
import { actuator, controller, reading } from "../homeassistant/fixtures.js";
import { record } from "../support/builders.js";

it("counts controllers that are online, offline, outdated or not understood, and actuators that are limited", () => {
  const holds = {
    allowed: { words: [], degrees: null, because: [{ rule: "wind" }, { rule: "rest" }, { rule: "lock" }] },
    lock: { by: "ben" },
    lease: null,
  } as never;
  const rests = { allowed: { words: [], degrees: null, because: [{ rule: "rest" }] }, lock: null } as never;
  const vent = (id: string, restrictions: never) => ({
    ...actuator({ id, kind: "skylight" }),
    restrictions,
  });
  const good = { ...reading("温度", "t", "temperature", "°C"), quality: "good" } as const;
  const stale = { ...good, quality: "stale" } as const;
  const one = (code: string, over: object) => ({ ...controller({ code, info: { id: code } }), ...over });
  const sensors = (...of: readonly (typeof good | typeof stale)[]) =>
    new Map(of.map((sensor, at) => [String(at), sensor]));
  const all = [
    one("a", {
      availability: "online",
      sensors: sensors(good),
      actuators: new Map([["v", vent("v", holds)]]),
    }),
    one("b", { availability: "online", problem: true, sensors: sensors(good, stale) }),
    one("c", {
      availability: "offline",
      sensors: sensors(stale),
      actuators: new Map([["v", vent("v", rests)]]),
    }),
    one("d", { availability: "unknown", sensors: new Map(), actuators: new Map() }),
  ];
  const counts = { controllers: 4, online: 2, offline: 1, old: 1, problems: 1, guards: 1, locks: 1 };
  expect(summaryOf(all)).toMatchObject(counts);
  expect(summaryOf([...all, { ...all[0], availability: "offline" } as (typeof all)[0]])).toMatchObject({
    ...counts,
    controllers: 5,
    offline: 2,
    guards: 2,
    locks: 2,
  });
  expect(Object.values(summaryOf([])).every((one) => one === 0 || one === null || Array.isArray(one))).toBe(
    true,
  );
});

it("tells from the coldest to the warmest greenhouse by what is good, in one unit, and where they stand", () => {
  const house = (value: number, over: object = {}, info: object = {}) => {
    const sensor = { ...reading("温度", "t", "temperature", "°C"), value, quality: "good" as const, ...over };
    return controller({ code: String(value), info: { id: String(value), ...info }, sensors: [sensor] });
  };
  const inStation = (stationName: string) => ({ record: record({ stationName, extra: {} }) });
  const station = house(-20, {}, { type: "W001" });
  const all = [
    house(18, {}, inStation("North")),
    house(4.5, {}, inStation("South")),
    house(99, { quality: "stale" }),
    station,
  ];
  expect(summaryOf(all)).toMatchObject({
    temperature: { least: 4.5, most: 18, unit: "°C" },
    stations: ["North", "South"],
  });
  expect(summaryOf([house(99, { quality: "stale" })])).toMatchObject({ temperature: null, stations: [] });
});
