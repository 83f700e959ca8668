import { describe, expect, it } from "vitest";
import { foldParameter, foldRegister, unreadActuator } from "../../src/greenhouse/fold-registers.js";
import type { Actuator, Parameter } from "../../src/greenhouse/model.js";
import { actuatorMessages, controllerMessages, parameterMessages } from "../../src/mqtt/projection.js";
import { topicsUnder } from "../../src/mqtt/topics.js";
import { actuator, controller, controllerSettings } from "../support/builders.js";
import { register, start } from "../support/folding.js";

const topics = topicsUnder("greenhouse");
const unread = unreadActuator(actuator());
const read = (raw: string | number, startedAt = 1, held: Actuator = unread): Actuator => ({
  ...foldRegister(held, "101", register(raw, startedAt, { readAt: start + startedAt })),
  quality: "good",
});
const leaves = (before: Actuator | undefined, after: Actuator) =>
  actuatorMessages(topics, "east", before, after).map(({ topic, payload }) => {
    const leaf = topic.split("/").at(-1) ?? "";
    return leaf === "json" ? "json" : `${leaf}=${payload}`;
  });

describe("an actuator's retained topics", () => {
  it("nothing is published of what was not read yet", () => expect(leaves(undefined, unread)).toEqual([]));

  it.each<[string, Actuator | undefined, Actuator, string[]]>([
    [
      "everything with the first read, no position cleared",
      undefined,
      read("10010"),
      ["position=", "value=10010", "state=open", "json"],
    ],
    ["a degree", undefined, read(45), ["position=45", "value=45", "state=position", "json"]],
    ["a degree of 0", undefined, read("0"), ["position=0", "value=0", "state=position", "json"]],
    [
      "the position is cleared when the next read is no degree",
      read(45),
      read("10001", 2, read(45)),
      ["position=", "value=10001", "state=closed", "json"],
    ],
    ["another degree", read(45), read(50, 2, read(45)), ["position=50", "value=50", "json"]],
    ["the same value read again", read(45), read(45, 2, read(45)), []],
    ["a value in no table", undefined, read("777"), ["position=", "value=777", "state=unknown", "json"]],
    ["the quality alone", read(45), { ...read(45), quality: "stale" }, ["json"]],
  ])("%s", (_, before, after, expected) => expect(leaves(before, after)).toEqual(expected));

  it("a degree read before its mode goes out whole once the mode is known", () => {
    const apart = unreadActuator(actuator({ modeAddress: "201", positionAddress: "202" }));
    const degree = foldRegister(apart, "202", register("45"));
    const both = foldRegister(degree, "201", register("10100"));
    expect(leaves(apart, degree)).toEqual([]);
    expect(leaves(degree, both)).toEqual(["position=45", "value=45", "state=position", "json"]);
  });

  it("the JSON has the contract's fields", () => {
    const json = actuatorMessages(topics, "east", undefined, read(45)).at(-1)?.payload ?? "";
    expect(JSON.parse(json)).toEqual({
      state: "position",
      position: 45,
      value: "45",
      read_at: new Date(start + 1).toISOString(),
      source: "poll",
      quality: "good",
    });
  });
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
  const shown = (before: Parameter | undefined, after: Parameter) =>
    parameterMessages(topics, "east", before, after).map(({ topic, payload }) =>
      topic.endsWith("json") ? "json" : payload,
    );

  it.each<[string, Parameter | undefined, Parameter, string[]]>([
    ["nothing before the first read", undefined, ec, []],
    ["the scaled value with the first", ec, set(250), ["2.5", "json"]],
    ["the same again", set(250), set(250, 2), []],
    ["another", set(250), set(260, 2), ["2.6", "json"]],
    ["its quality alone", set(250), { ...set(250), quality: "stale" }, ["json"]],
    ["a text", undefined, set("auto"), ["auto", "json"]],
  ])("%s", (_, before, after, payloads) => expect(shown(before, after)).toEqual(payloads));
});

it("clearing empties every retained topic of an actuator and a parameter, and never `set`", () => {
  const removed = controller(
    controllerSettings({
      actuators: [actuator()],
      parameters: [{ id: "ec", address: "501", scale: 1 }],
    }),
  );
  const cleared = controllerMessages(topics, removed, undefined);
  const root = "greenhouse/gh-0001";
  expect(cleared.map(({ topic }) => topic).filter((topic) => topic.split("/").length > 3)).toEqual([
    ...["state", "position", "value", "json", "allowed", "lock", "lease", "command"].map(
      (leaf) => `${root}/actuator/roof/${leaf}`,
    ),
    ...["", "/json", "/command"].map((leaf) => `${root}/parameter/ec${leaf}`),
  ]);
  expect(new Set(cleared.map(({ payload }) => payload))).toEqual(new Set([""]));
});
