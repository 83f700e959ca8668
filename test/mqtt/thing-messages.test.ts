import { foldParameter, foldRegister, unreadActuator } from "../../src/greenhouse/reduce.js";
import { describe, expect, it } from "vitest";
import type { ControllerEvent } from "../../src/greenhouse/events.js";
import type {
  Actuator,
  Controller,
  Parameter,
  Sensor,
  SensorDefinition,
} from "../../src/greenhouse/model.js";
import { controllerMessages, targetMessages, valueText } from "../../src/mqtt/projection.js";
import { topicsUnder } from "../../src/mqtt/topics.js";
import { registerReads } from "../../src/sync/poll-plan.js";
import { actuator, controller, controllerSettings } from "../support/builders.js";
import { after, register, registersRead, start } from "../support/folding.js";

const topics = topicsUnder("greenhouse");
const bare = controller();

/** What is published where a controller changes in these parts alone; undefined where there was none of them. */
function messages(before: Partial<Controller> | undefined, next: Partial<Controller>) {
  const all = controllerMessages(topics, { ...bare, ...before }, { ...bare, ...next });
  return all.filter(({ topic }) => !/\/(?:allowed|lock|lease|tags)$/.test(topic));
}

const leavesOf = (all: readonly { readonly topic: string; readonly payload: string }[]) =>
  all.map(({ topic, payload }) =>
    topic.endsWith("/json") ? "json" : `${topic.split("/").at(-1) ?? ""}=${payload}`,
  );

const jsonOf = (next: Partial<Controller>): unknown => JSON.parse(messages({}, next).at(-1)?.payload ?? "");

const airOf = (one: Sensor): Partial<Controller> => ({ sensors: new Map([["air", one]]) });

const definition: SensorDefinition = {
  id: "air",
  key: "factor:t1",
  name: "Air",
  platformName: "空气温度",
  factor: "t1",
  channel: "3",
  kind: "temperature",
  unit: "°C",
  decimals: null,
  numeric: true,
  scale: 1,
  offset: 0,
  min: -60,
  max: 80,
  staleAfterMs: null,
};
const good: Sensor = {
  definition,
  value: 21.5,
  raw: "21.5",
  measuredAt: Date.parse("2026-03-01T08:00:00Z"),
  receivedAt: Date.parse("2026-03-01T08:00:05Z"),
  fault: null,
  source: "poll",
  quality: "good",
};
const leaves = (before: Sensor | undefined, next: Sensor) =>
  leavesOf(messages(before && airOf(before), airOf(next)));

describe("a sensor's retained topics", () => {
  const bad: Sensor = { ...good, value: null, raw: null, fault: "unreadable", quality: "bad" };
  it.each<[string, Sensor | undefined, Sensor, string]>([
    [
      "a new good value goes out before its quality; the JSON last",
      undefined,
      good,
      "air=21.5 quality=good json",
    ],
    [
      "a quality that turns bad goes before",
      good,
      { ...good, value: 20, quality: "stale" },
      "quality=stale air=20 json",
    ],
    [
      "one that turns good goes after",
      { ...good, quality: "bad" },
      { ...good, value: 22 },
      "air=22 quality=good json",
    ],
    ["a newer time alone renews only the JSON", good, { ...good, measuredAt: start + 60_000 }, "json"],
    ["a later arrival of the same reading publishes nothing", good, { ...good, receivedAt: 0 }, ""],
    [
      "of what was never read no value is invented",
      undefined,
      { ...bad, measuredAt: null },
      "quality=bad json",
    ],
  ])("%s", (_, before, next, expected) => expect(leaves(before, next).join(" ")).toEqual(expected));

  it("the JSON carries everything the contract names", () =>
    expect(jsonOf(airOf(good))).toEqual({
      value: 21.5,
      raw: "21.5",
      unit: "°C",
      kind: "temperature",
      measured_at: "2026-03-01T08:00:00.000Z",
      received_at: "2026-03-01T08:00:05.000Z",
      quality: "good",
      source: "poll",
      name: "空气温度",
      factor: "t1",
      channel: "3",
    }));
});

describe("numbers are plain text for SCADA", () =>
  it.each([
    [21.5, "21.5"],
    [0, "0"],
    [-0.25, "-0.25"],
    [1e-7, "0.0000001"],
    [1e21, "1000000000000000000000"],
    ["东北", "东北"],
  ])("%j is %s", (value, text) => expect(valueText(value)).toBe(text)));

const unread = unreadActuator(actuator());
const read = (raw: string | number, startedAt = 1, held: Actuator = unread): Actuator => ({
  ...foldRegister(held, "101", register(raw, startedAt, { readAt: start + startedAt })),
  quality: "good",
});
const roofOf = (one: Actuator): Partial<Controller> => ({ actuators: new Map([["roof", one]]) });
const changes = (before: Actuator | undefined, next: Actuator) =>
  leavesOf(messages(before && roofOf(before), roofOf(next)));

describe("an actuator's retained topics", () => {
  const apart = unreadActuator(actuator({ modeAddress: "201", positionAddress: "202" }));
  const degree = foldRegister(apart, "202", register("45"));
  const whole = foldRegister(degree, "201", register("10100"));
  it.each<[string, Actuator | undefined, Actuator, string]>([
    ["nothing that was not read yet", undefined, unread, ""],
    ["all with the first read", undefined, read("10010"), "position= value=10010 state=open json"],
    ["a degree", undefined, read(45), "position=45 value=45 state=position json"],
    ["a degree of 0", undefined, read("0"), "position=0 value=0 state=position json"],
    ["no degree any more", read(45), read("10001", 2, read(45)), "position= value=10001 state=closed json"],
    ["another degree", read(45), read(50, 2, read(45)), "position=50 value=50 json"],
    ["the same value read again", read(45), read(45, 2, read(45)), ""],
    ["a value in no table", undefined, read("777"), "position= value=777 state=unknown json"],
    ["the quality alone", read(45), { ...read(45), quality: "stale" }, "json"],
    ["a degree before its mode: nothing", apart, degree, ""],
    ["and then its mode: all", degree, whole, "position=45 value=45 state=position json"],
  ])("%s", (_, before, next, expected) => expect(changes(before, next).join(" ")).toEqual(expected));

  it("the JSON has the contract's fields", () =>
    expect(jsonOf(roofOf(read(45)))).toEqual({
      state: "position",
      position: 45,
      value: "45",
      read_at: new Date(start + 1).toISOString(),
      source: "poll",
      quality: "good",
    }));
});

const ec: Parameter = {
  settings: { id: "ec", address: "501", scale: 0.01, unit: "mS/cm" },
  register: null,
  value: null,
  quality: "stale",
};
const set = (raw: number | string, startedAt = 1): Parameter => ({
  ...foldParameter(ec, "501", register(raw, startedAt)),
  quality: "good",
});

describe("a parameter's retained topics", () => {
  const ecOf = (one: Parameter): Partial<Controller> => ({ parameters: new Map([["ec", one]]) });
  const shown = (before: Parameter | undefined, next: Parameter) =>
    leavesOf(messages(before && ecOf(before), ecOf(next)));

  it.each<[string, Parameter | undefined, Parameter, string]>([
    ["nothing before the first read", undefined, ec, ""],
    ["the scaled value with the first", ec, set(250), "ec=2.5 json"],
    ["the same again", set(250), set(250, 2), ""],
    ["another", set(250), set(260, 2), "ec=2.6 json"],
    ["its quality alone", set(250), { ...set(250), quality: "stale" }, "json"],
    ["a text", undefined, set("auto"), "ec=auto json"],
  ])("%s", (_, before, next, leaves) => expect(shown(before, next).join(" ")).toBe(leaves));
});

const fresh = controller(controllerSettings({ actuators: [actuator()] }));
const readBack = (values: Record<string, string>, startedAt = 100): ControllerEvent => ({
  ...registersRead(values, { startedAt }),
  source: "read_back",
});
const published = (before: Controller | undefined, next: Controller | undefined) =>
  controllerMessages(topics, before, next).map(({ topic, payload }) => `${topic} ${payload}`);

describe("a raw address", () => {
  it("has a topic only after a command read it back; what a poll happens to carry, or an actuator owns, is nobody's", () => {
    expect(after(fresh, start, registersRead({ "900": "1" })).addresses.size).toBe(0);
    expect(after(fresh, start, readBack({ "101": "10010" })).addresses.size).toBe(0);
    const commanded = after(fresh, start, readBack({ "900": "0110" }));
    expect(published(fresh, commanded)).toEqual(["greenhouse/gh-0001/address/900 0110"]);
    // From then on it is polled.
    expect(registerReads(commanded)).toContainEqual({ type: "address", address: "900" });
    const same = after(commanded, start, registersRead({ "900": "0110" }, { startedAt: 200 }));
    expect(published(commanded, same)).toEqual([]);
    const other = after(same, start, registersRead({ "900": "0" }, { startedAt: 300 }));
    expect(published(same, other)).toEqual(["greenhouse/gh-0001/address/900 0"]);
  });

  it("is shown again as it is after a refused command, and cleared with its controller", () => {
    const commanded = after(fresh, start, readBack({ "900": "0110" }));
    const again = targetMessages(topics, commanded, "address", "900");
    expect(again).toEqual([{ topic: "greenhouse/gh-0001/address/900", payload: "0110" }]);
    expect(published(commanded, undefined)).toContain("greenhouse/gh-0001/address/900 ");
  });
});
