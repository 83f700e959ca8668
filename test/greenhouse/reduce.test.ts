import { describe, expect, it } from "vitest";
import type { ControllerEvent } from "../../src/greenhouse/events.js";
import { judge } from "../../src/greenhouse/freshness.js";
import type { Controller, Sensor } from "../../src/greenhouse/model.js";
import { newController } from "../../src/greenhouse/reduce.js";
import { controllerMessages } from "../../src/mqtt/projection.js";
import { topicsUnder } from "../../src/mqtt/topics.js";
import {
  actuator,
  clientStatus,
  controller,
  controllerSettings,
  item,
  limits,
  record,
} from "../support/builders.js";
import { after, minute, onlySensor, registersRead, sensorsRead, start } from "../support/folding.js";

const settings = controllerSettings({
  actuators: [actuator()],
  parameters: [{ id: "ec", address: "501", scale: 0.01 }],
});
const items = [
  item({ measuredAt: start }),
  item({ name: "神秘", value: "ok", raw: "ok", unit: null, measuredAt: start }),
];
const listed: ControllerEvent = { type: "listed", record: record(), availability: "online" };
const statuses = {
  type: "statuses_read",
  items: [{ name: "fan", number: null, value: 1 }],
  receivedAt: start,
} as const satisfies ControllerEvent;

const alive = after(
  controller(settings),
  start,
  listed,
  sensorsRead(items),
  statuses,
  registersRead({ "101": "10010", "501": 250 }),
);

describe("an event without news", () => {
  it.each<[string, ControllerEvent]>([
    ["the same record", listed],
    ["a status that could not be read", { type: "connection", status: clientStatus("unknown") }],
    ["the platform as reachable as before", { type: "platform", reachable: true }],
    ["no problem as before", { type: "problem", open: [] }],
    ["time that makes nothing old", { type: "time_passed" }],
    ["the same readings", sensorsRead(items)],
    ["the same running statuses", statuses],
  ])("leaves the controller the same reference: %s", (_, event) =>
    expect(after(alive, start + 1_000, event)).toBe(alive),
  );

  it("an unchanged answer of any kind publishes nothing", () => {
    const later = after(
      alive,
      start + minute,
      listed,
      sensorsRead(items, start + minute),
      { ...statuses, receivedAt: start + minute },
      registersRead({ "101": "10010", "501": 250 }, { startedAt: 60, readAt: start + minute }),
    );
    expect(controllerMessages(topicsUnder("greenhouse"), alive, later)).toEqual([]);
  });
});

describe("what the list says of a controller", () => {
  it.each([
    ["the configuration's name", "East", "Haus", "East"],
    ["the platform's name", undefined, "Haus", "Haus"],
    ["the code where the platform gives none", undefined, null, "GH-0001"],
    ["the code where the platform's is empty", undefined, "", "GH-0001"],
  ])("its name is %s", (_, configured, given, shown) => {
    const named = newController("GH-0001", "gh-0001", controllerSettings({ name: configured }), true);
    const event: ControllerEvent = { ...listed, record: record({ name: given }), availability: "online" };
    expect(after(named, start, event).info.name).toBe(shown);
  });

  it("a renamed controller keeps its code, id, sensors and actuators", () => {
    const renamed = after(alive, start, { ...listed, record: record({ name: "West house" }) });
    expect(renamed.info).toMatchObject({ code: "GH-0001", id: "gh-0001", name: "West house" });
    expect(renamed.sensors).toBe(alive.sensors);
    expect(renamed.actuators).toBe(alive.actuators);
  });

  it("one that is offline, absent or without platform has nothing good, and is judged anew when it is back", () => {
    const gone: ControllerEvent[] = [
      { type: "connection", status: clientStatus("offline") },
      { type: "absent", forMs: 5 },
      { type: "platform", reachable: false },
    ];
    for (const event of gone) {
      const away = after(alive, start + 1_000, event);
      const qualities = [...away.sensors.values(), ...away.actuators.values(), ...away.parameters.values()];
      expect(qualities.map(({ quality }) => quality)).toEqual(["stale", "stale", "stale", "stale"]);
      expect(away.nextJudgementAt).toBeNull();
      const status: ControllerEvent = { type: "connection", status: clientStatus("online") };
      const back = after(away, start + 2_000, listed, status, { type: "platform", reachable: true });
      expect([...back.sensors.values()].map(({ quality }) => quality)).toEqual(["good", "good"]);
    }
  });

  it("absence counts from the first list that leaves it out and ends with the next that has it", () => {
    const absent = after(alive, start, { type: "absent", forMs: 5 });
    expect(absent).toMatchObject({ absentSince: start - 5, availability: "offline" });
    expect(after(absent, start, { type: "absent", forMs: 9 })).toBe(absent);
    expect(after(absent, start, listed)).toMatchObject({ absentSince: null, availability: "online" });
  });
});

describe("the last known value is never stamped anew", () =>
  it("neither time, nor the platform's going or coming, nor the same reading again moves its times", () => {
    const one = after(controller(), start, sensorsRead([item({ measuredAt: start })]));
    const later = after(
      one,
      start + 60 * minute,
      { type: "time_passed" },
      { type: "platform", reachable: false },
      { type: "platform", reachable: true },
      sensorsRead([item({ measuredAt: start })], start + 60 * minute),
    );
    const kept = { value: 21.5, measuredAt: start, receivedAt: start, quality: "stale" };
    expect(onlySensor(later)).toMatchObject(kept);
  }));

it("a running status is good while it is listed and young, else stale, and goes once three lists left it out", () => {
  const empty: ControllerEvent = { type: "statuses_read", items: [], receivedAt: start };
  const qualities = (now: number, ...events: ControllerEvent[]) =>
    [...after(alive, now, ...events).statuses.values()].map(({ quality }) => quality);
  expect(qualities(start, { type: "time_passed" })).toEqual(["good"]);
  expect(qualities(start + 24 * 60 * minute, { type: "time_passed" })).toEqual(["stale"]);
  expect(qualities(start, empty)).toEqual(["stale"]);
  expect(qualities(start, empty, empty, empty)).toEqual([]);
});

describe("registers of a controller", () => {
  it("one answer feeds the actuators and parameters whose address it holds, and no others", () => {
    const roof = { state: "open", value: "10010", readAt: start, source: "poll", quality: "good" };
    expect(alive.actuators.get("roof")).toMatchObject(roof);
    expect(alive.parameters.get("ec")).toMatchObject({ value: 2.5, quality: "good" });
    const other = after(alive, start, registersRead({ "999": "1" }, { startedAt: 50 }));
    expect(other.actuators.get("roof")).toBe(alive.actuators.get("roof"));
    expect(other.parameters.get("ec")).toBe(alive.parameters.get("ec"));
  });

  it("one begun before our POST changes nothing, one begun after it does", () => {
    const posted = after(
      alive,
      start,
      { type: "posted", target: "actuator", id: "roof", at: 100 },
      { type: "posted", target: "parameter", id: "ec", at: 100 },
    );
    const shown = (startedAt: number) => {
      const read = after(posted, start, registersRead({ "101": "10001", "501": 300 }, { startedAt }));
      return [read.actuators.get("roof")?.state, read.parameters.get("ec")?.value];
    };
    expect([shown(99), shown(100)]).toEqual([
      ["open", 2.5],
      ["closed", 3],
    ]);
  });
});

const held = after(controller(), start, listed, sensorsRead([item({ measuredAt: start })]));
const read = onlySensor(held);

describe("a reading's quality", () => {
  it.each<[string, Partial<Sensor>, Partial<Controller>, Sensor["quality"]]>([
    ["measured now", {}, {}, "good"],
    ["as old as allowed", { measuredAt: start - 15 * minute }, {}, "good"],
    ["older than allowed", { measuredAt: start - 15 * minute - 1 }, {}, "stale"],
    ["without a usable time", { measuredAt: null }, {}, "uncertain"],
    ["without a time, long received", { measuredAt: null, receivedAt: start - 16 * minute }, {}, "stale"],
    ["a little in the future", { measuredAt: start + minute }, {}, "good"],
    ["in the future", { measuredAt: start + 60 * minute }, {}, "uncertain"],
    ["implausible", { fault: "implausible" }, {}, "bad"],
    ["unreadable", { fault: "unreadable" }, {}, "bad"],
    ["of an offline controller", {}, { availability: "offline" }, "stale"],
    ["of a controller whose state is unknown", {}, { availability: "unknown" }, "good"],
    ["while the platform is away", {}, { platformReachable: false }, "stale"],
    ["bad, while the platform is away", { fault: "unreadable" }, { platformReachable: false }, "stale"],
  ])("%s", (_, over, around, quality) => {
    const sensors = new Map([["one", { ...read, ...over }]]);
    const judged = judge({ ...held, ...around, sensors }, start, limits);
    expect(judged.sensors.get("one")?.quality).toBe(quality);
  });
});

describe("an actuator with two addresses", () =>
  it("is as fresh as the one that was read longest ago", () => {
    const settings = controllerSettings({
      actuators: [actuator({ modeAddress: "201", positionAddress: "202" })],
    });
    const both = registersRead({ "201": "10100", "202": "45" });
    const one = registersRead({ "201": "10100" }, { startedAt: 1, readAt: start + 16 * minute });
    const later = after(after(controller(settings), start, listed, both), start + 16 * minute, one);
    expect(later.actuators.get("roof")?.quality).toBe("stale");
  }));

describe("what may be the answer to another question", () => {
  const qualities = ({ sensors, statuses: running, actuators, parameters }: Controller) => ({
    sensors: [...sensors.values()].map(({ quality }) => quality),
    statuses: [...running.values()].map(({ quality }) => quality),
    actuators: [...actuators.values()].map(({ quality }) => quality),
    parameters: [...parameters.values()].map(({ quality }) => quality),
  });
  const doubted = (["sensors", "statuses", "registers"] as const).map((what): ControllerEvent => ({
    type: "doubted",
    what,
  }));

  it("is not good until it was read anew, each where it was doubted", () => {
    expect(qualities(alive)).toEqual({
      sensors: ["good", "good"],
      statuses: ["good"],
      actuators: ["good"],
      parameters: ["good"],
    });
    const held = after(alive, start, ...doubted);
    expect(qualities(held)).toEqual({
      sensors: ["uncertain", "uncertain"],
      statuses: ["stale"],
      actuators: ["uncertain"],
      parameters: ["stale"],
    });
    const registers = registersRead({ "101": "10010", "501": 250 }, { startedAt: 1 });
    expect(qualities(after(held, start, sensorsRead(items), statuses, registers))).toEqual(qualities(alive));
  });

  it("gives way to an older reading, which is the sensor's own", () => {
    const foreign = item({ measuredAt: start, value: 40, raw: 40 });
    const own = item({ measuredAt: start - minute, value: 20, raw: 20 });
    const held = after(controller(), start, listed, sensorsRead([foreign]), ...doubted);
    expect(onlySensor(after(held, start, sensorsRead([own])))).toMatchObject({ value: 20, quality: "good" });
  });
});
