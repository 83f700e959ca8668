import { describe, expect, it } from "vitest";
import type { Sensor, SensorDefinition } from "../../src/greenhouse/model.js";
import { sensorMessages, valueText } from "../../src/mqtt/projection.js";
import { topicsUnder } from "../../src/mqtt/topics.js";

const topics = topicsUnder("greenhouse");
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
const leaves = (before: Sensor | undefined, after: Sensor) =>
  sensorMessages(topics, "east", before, after).map(({ topic, payload }) =>
    topic.endsWith("/json") ? "json" : `${topic.split("/").at(-1) ?? ""}=${payload}`,
  );

describe("a sensor's retained topics", () => {
  it("a new good value goes out before its quality; the JSON last", () =>
    expect(leaves(undefined, good)).toEqual(["air=21.5", "quality=good", "json"]));

  it("a quality that turns bad goes out before the value", () =>
    expect(leaves(good, { ...good, value: 20, quality: "stale" })).toEqual([
      "quality=stale",
      "air=20",
      "json",
    ]));

  it("a value that turns good goes out before the quality", () =>
    expect(leaves({ ...good, quality: "bad" }, { ...good, value: 22 })).toEqual([
      "air=22",
      "quality=good",
      "json",
    ]));

  it("a newer time alone renews only the JSON", () =>
    expect(leaves(good, { ...good, measuredAt: Date.parse("2026-03-01T08:01:00Z") })).toEqual(["json"]));

  it("a later arrival of the same reading publishes nothing", () => {
    expect(leaves(good, { ...good, receivedAt: 0 })).toEqual([]);
    expect(leaves(good, good)).toEqual([]);
  });

  it("nothing was ever read: quality and JSON, but no value is invented", () =>
    expect(
      leaves(undefined, { ...good, value: null, raw: null, fault: "unreadable", quality: "bad" }),
    ).toEqual(["quality=bad", "json"]));

  it("the JSON carries everything the contract names", () => {
    const json = sensorMessages(topics, "east", undefined, good).at(-1)?.payload ?? "";
    expect(JSON.parse(json)).toEqual({
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
    });
  });
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
