import { describe, expect, it } from "vitest";
import type { Restrictions } from "../../src/greenhouse/limits.js";
import type { Controller } from "../../src/greenhouse/model.js";
import { reduce } from "../../src/greenhouse/reduce.js";
import {
  deviceDifference,
  deviceMetrics,
  isAlive,
  isRead,
  type Metric,
  nodeMetrics,
  type Picture,
  resultPlace,
  type ShownAlarm,
} from "../../src/sparkplug/metrics.js";
import { actuator, clientStatus, controller, controllerSettings, item, record } from "../support/builders.js";
import { after, registersRead, sensorsRead, start } from "../support/folding.js";

const settings = controllerSettings({
  actuators: [actuator()],
  parameters: [
    { id: "ec", address: "501", unit: "mS/cm", scale: 0.01, writable: { min: 0, max: 5, step: 0.1 } },
    { id: "mode", address: "502", scale: 1 },
  ],
});
const listed = { type: "listed", record: record(), availability: "online" } as const;
const read = after(
  controller(settings),
  start,
  listed,
  sensorsRead([
    item({ value: 21.5, measuredAt: start - 5_000 }),
    item({ name: "状态", value: "多云", raw: "多云", unit: null, measuredAt: start }),
  ]),
  { type: "statuses_read", items: [{ name: "阀门", number: null, value: 1 }], receivedAt: start },
  registersRead({ "101": "10001", "501": "180", "502": "3" }),
);

const picture = (of: Controller, over: Partial<Picture> = {}): Picture => ({
  controller: of,
  alarms: [],
  results: new Map(),
  ...over,
});
const named = (metrics: readonly Metric[], part: string) =>
  Object.fromEntries(metrics.filter(({ name }) => name.startsWith(part)).map((one) => [one.name, one]));
const shown = (of: Controller, part: string) => named(deviceMetrics(picture(of)), part);

const alarm = (over: Partial<ShownAlarm> = {}): ShownAlarm => ({
  id: "command_problem.gh-0001.roof",
  type: "command_problem",
  state: "active",
  since: new Date(start).toISOString(),
  severity: "error",
  controller: "gh-0001",
  actuator: "roof",
  message: "Look.",
  remedy: "Go.",
  by: null,
  ...over,
});

describe("a device shows", () => {
  it("readings as numbers or texts, with unit, quality and the time at which they were measured", () => {
    const sensors = Object.values(shown(read, "sensor/"));
    expect(sensors).toMatchObject([
      { type: "Double", value: 21.5, quality: 192, at: start - 5_000, properties: { engUnit: "°C" } },
      { type: "String", value: "多云", quality: 192, at: start },
    ]);
  });

  it.each([
    ["stale", 500, 21.5, after(read, start + 3_600_000, { type: "time_passed" })],
    ["uncertain", 500, 22, after(read, start, sensorsRead([item({ value: 22, measuredAt: null })]))],
    ["bad", 0, 21.5, after(read, start, sensorsRead([item({ value: null, raw: "?", measuredAt: start })]))],
  ] as const)("%s readings with the code %s and the value that is kept", (_, quality, value, of) => {
    const [air] = Object.values(shown(of, "sensor/"));
    expect(air).toMatchObject({ quality, value });
  });

  it("state, degree and value of an actuator as they were read, and no wish", () => {
    expect(shown(read, "actuator/roof/")).toMatchObject({
      "actuator/roof/state": { type: "String", value: "closed", quality: 192, at: start },
      "actuator/roof/position": { type: "Double", value: null, properties: { engUnit: "%" } },
      "actuator/roof/value": { value: "10001" },
      "actuator/roof/command": { type: "String", value: null },
      "actuator/roof/allowed": { value: expect.stringContaining('"open"') as unknown },
      "actuator/roof/lock": { value: null },
      "actuator/roof/lease": { value: null },
      "actuator/roof/result": { value: null },
    });
    const open = after(read, start, registersRead({ "101": "45" }, { startedAt: 1 }));
    expect(shown(open, "actuator/roof/position")).toMatchObject({ "actuator/roof/position": { value: 45 } });
  });

  it("parameters with unit and range, as numbers where they are numbers", () => {
    expect(shown(read, "parameter/")).toMatchObject({
      "parameter/ec": { type: "Double", value: 1.8, properties: { engUnit: "mS/cm", engLow: 0, engHigh: 5 } },
      "parameter/ec/result": { value: null },
      "parameter/mode": { type: "Double", value: 3 },
    });
  });

  it("running statuses, what it is, and its alarms", () => {
    const metrics = deviceMetrics(picture(read, { alarms: [alarm()] }));
    expect(Object.values(named(metrics, "status/"))).toMatchObject([{ type: "String", value: "on" }]);
    expect(named(metrics, "info/")).toMatchObject({
      "info/name": { value: "East house" },
      "info/code": { value: "GH-0001" },
      "info/description": { value: null },
    });
    expect(named(metrics, "alarm/")).toMatchObject({
      "alarm/command_problem.gh-0001.roof": { value: "active", at: start, properties: { severity: "error" } },
    });
  });

  it("nothing that was never read, but its place", () => {
    expect(shown(controller(settings), "actuator/roof/state")).toMatchObject({
      "actuator/roof/state": { value: null, quality: 500 },
    });
  });
});

describe("from one picture to the next", () => {
  const restrictions: Restrictions = {
    allowed: { words: ["close"], degrees: null, because: [] },
    lock: { by: "anna", via: null, reason: null, since: "x", until: null },
    lease: null,
  };
  const changes = (next: Controller, over: Partial<Picture> = {}) => {
    const told = deviceDifference(picture(read), picture(next, over));
    return told.type === "birth" ? "birth" : told.metrics.map(({ name }) => name);
  };
  const air = [...read.sensors.keys()][0] ?? "";

  it.each<[string, Controller, readonly string[] | "birth"]>([
    ["nothing changed", read, []],
    [
      "a reading of another value",
      after(
        read,
        start,
        sensorsRead([
          item({ value: 22, measuredAt: start }),
          item({ name: "状态", value: "多云", raw: "多云", unit: null, measuredAt: start }),
        ]),
      ),
      [`sensor/${air}`],
    ],
    [
      "the same value measured again",
      after(
        read,
        start,
        sensorsRead([
          item({ value: 21.5, measuredAt: start }),
          item({ name: "状态", value: "多云", raw: "多云", unit: null, measuredAt: start }),
        ]),
      ),
      [],
    ],
    [
      "a register read again",
      after(
        read,
        start + 60_000,
        registersRead({ "101": "10001" }, { startedAt: 5, readAt: start + 60_000 }),
      ),
      [],
    ],
    [
      "a state",
      after(read, start, registersRead({ "101": "10010" }, { startedAt: 5 })),
      ["actuator/roof/state", "actuator/roof/value"],
    ],
    [
      "a lock",
      after(read, start, { type: "restricted", id: "roof", restrictions }),
      ["actuator/roof/allowed", "actuator/roof/lock"],
    ],
    ["a name", after(read, start, { ...listed, record: record({ name: "West" }) }), ["info/name"]],
    [
      "a field of the list that is new",
      after(read, start, { ...listed, record: record({ extra: { tag: "a" } }) }),
      "birth",
    ],
    [
      "another unit",
      after(
        read,
        start,
        sensorsRead([
          item({ value: 70, unit: "℉", measuredAt: start }),
          item({ name: "状态", value: "多云", raw: "多云", unit: null, measuredAt: start }),
        ]),
      ),
      "birth",
    ],
    [
      "a sensor that came",
      after(
        read,
        start,
        sensorsRead([
          item({ value: 21.5, measuredAt: start - 5_000 }),
          item({ name: "状态", value: "多云", raw: "多云", unit: null, measuredAt: start }),
          item({ name: "光照", value: 3, measuredAt: start }),
        ]),
      ),
      "birth",
    ],
  ])("%s", (_, next, told) => expect(changes(next)).toEqual(told));

  it("the platform that is gone turns every quality, and keeps values and times", () => {
    const gone = after(read, start, { type: "platform", reachable: false });
    const told = deviceDifference(picture(read), picture(gone));
    expect(told).toMatchObject({ type: "data" });
    const [first] = told.type === "data" ? told.metrics : [];
    expect(first).toMatchObject({ name: `sensor/${air}`, value: 21.5, quality: 500, at: start - 5_000 });
  });

  it("an alarm that comes needs a birth, one that changes is data", () => {
    expect(changes(read, { alarms: [alarm()] })).toBe("birth");
    const before = picture(read, { alarms: [alarm()] });
    const told = deviceDifference(before, picture(read, { alarms: [alarm({ state: "acknowledged" })] }));
    expect(told).toMatchObject({ type: "data", metrics: [{ value: "acknowledged" }] });
  });
});

it.each([
  ["online", after(controller(), start, listed), true],
  ["offline", after(read, start, { type: "connection", status: clientStatus("offline") }), false],
  ["unknown and never read", controller(settings), false],
  [
    "unknown and read",
    reduce(controller(), sensorsRead([item()]), {
      now: start,
      freshness: { staleAfterMs: 1, sensorFloorMs: 0, registerFloorMs: 0, statusFloorMs: 0 },
      transliterate: (text) => text,
    }),
    true,
  ],
])("a controller that is %s is there for hosts: %s", (_, of, alive) => expect(isAlive(of)).toBe(alive));

it("a controller is read once its sensors, actuators and parameters were", () => {
  expect([isRead(read), isRead(after(controller(settings), start, listed)), isRead(controller())]).toEqual([
    true,
    false,
    false,
  ]);
});

it.each([
  ["actuator", "roof", "actuator/roof/result"],
  ["actuator", "nothing", null],
  ["parameter", "ec", "parameter/ec/result"],
  ["parameter", "mode", null],
  ["address", "7", null],
] as const)("the result of the %s %s has the place %s", (target, id, place) =>
  expect(resultPlace(target, id, read)).toBe(place),
);

it("the node names every alarm that there can be, so that a new one needs no birth of all", () => {
  const about = { version: "1.0", platform: "online" } as const;
  const calm = nodeMetrics({ ...about, alarms: [] });
  const alarmed = nodeMetrics({
    ...about,
    alarms: [alarm(), alarm({ id: "flood", type: "flood", controller: null, actuator: null })],
  });
  expect(alarmed.map(({ name }) => name)).toEqual(calm.map(({ name }) => name));
  expect(named(alarmed, "alarm/flood")).toMatchObject({ "alarm/flood": { value: "active" } });
  expect(named(calm, "bridge/")).toMatchObject({ "bridge/platform": { value: "online" } });
});
