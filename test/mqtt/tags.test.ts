import { describe, expect, it } from "vitest";
import { statusNumber } from "../../src/greenhouse/device-types.js";
import { kindRows } from "../../src/greenhouse/actuator-kinds.js";
import { statesOf } from "../../src/mqtt/codes.js";
import { controllerMessages } from "../../src/mqtt/projection.js";
import { type Tag, tagsOf } from "../../src/mqtt/tags.js";
import { topicsUnder } from "../../src/mqtt/topics.js";
import { actuator, controller, controllerSettings, item, record } from "../support/builders.js";
import { after, registersRead, sensorsRead, start } from "../support/folding.js";

const topics = topicsUnder("greenhouse");
const withCodes = topicsUnder("greenhouse", { codes: true });
const withAll = topicsUnder("greenhouse", { codes: true, plain_times: true });
const settings = controllerSettings({
  actuators: [
    actuator({ name: "Left skylight" }),
    actuator({ id: "pump", address: "110", kind: "irrigation", readOnly: true }),
    actuator({ id: "vent", address: "120", kind: "custom", values: { half: "0110", full: "1001" } }),
  ],
  parameters: [
    { id: "ec", address: "501", scale: 0.01, unit: "mS/cm", writable: { min: 0, max: 5, step: 0.1 } },
  ],
});
const full = after(
  controller(settings),
  start,
  { type: "listed", record: record(), availability: "online" },
  sensorsRead([item({ measuredAt: start })]),
  {
    type: "statuses_read",
    items: [{ name: "fan", number: statusNumber(16), value: 1 }],
    receivedAt: start,
  },
  registersRead({ "101": "45", "120": "0110", "501": 150 }),
);

const tagAt = (leaf: string, of = topics): Tag | undefined =>
  tagsOf(of, full).find(({ topic }) => topic === `greenhouse/gh-0001/${leaf}`);

describe("the tags of a controller", () => {
  it("are every retained topic that it publishes, those that it takes, and no other", () => {
    const known = tagsOf(withAll, full).filter(({ type, writable }) => type !== "json" && !writable);
    const published = controllerMessages(withAll, undefined, full)
      .filter(({ payload }) => payload !== "")
      .map(({ topic }) => topic)
      .filter((topic) => !/\/(?:json|info|tags|problems|allowed)$/.test(topic));
    const pump = /\/actuator\/pump\//;
    expect(
      known
        .map(({ topic }) => topic)
        .filter((topic) => !pump.test(topic))
        .sort(),
    ).toEqual(published.sort());
    const taken = tagsOf(topics, full).flatMap(({ topic, writable }) => (writable ? [topic] : []));
    expect(taken).toEqual(
      ["actuator/roof/set", "actuator/vent/set", "parameter/ec/set"].map(
        (leaf) => `greenhouse/gh-0001/${leaf}`,
      ),
    );
  });

  it.each([
    ["sensor/air_temperature", { name: "空气温度", kind: "temperature", unit: "°C", type: "number" }],
    [
      "sensor/air_temperature/quality",
      { type: "word", words: { good: 192, uncertain: 64, stale: 68, bad: 0 } },
    ],
    ["status/16_fan", { name: "fan", type: "word", words: { off: 0, on: 1, stale: 255 } }],
    [
      "actuator/roof/state",
      { kind: "skylight", words: { open: 4, closed: 3, auto: 2, position: 5, unknown: 255 } },
    ],
    ["actuator/roof/position", { type: "integer", unit: "%", min: 0, max: 100 }],
    [
      "actuator/roof/set",
      { name: "Left skylight", words: { open: 4, close: 3, auto: 2 }, min: 0, max: 100, writable: true },
    ],
    ["actuator/vent/state", { words: { half: 100, full: 101, unknown: 255 } }],
    ["parameter/ec/set", { type: "number", unit: "mS/cm", min: 0, max: 5, writable: true }],
  ])("say of %s what stands there", (leaf, expected) => expect(tagAt(leaf)).toMatchObject(expected));

  it("are published again when one of them changes, and not for a new reading", () => {
    const topicsFor = (next: typeof full) =>
      controllerMessages(topics, full, next).flatMap(({ topic }) => (topic.endsWith("/tags") ? [topic] : []));
    const read = (more: Parameters<typeof sensorsRead>[0]) =>
      after(full, start + 60_000, sensorsRead(more, start + 60_000));
    expect(topicsFor(read([item({ value: 22, raw: 22, measuredAt: start + 60_000 })]))).toEqual([]);
    expect(topicsFor(read([item({ measuredAt: start }), item({ name: "光照", unit: "lx" })]))).toEqual([
      "greenhouse/gh-0001/tags",
    ]);
  });
});

describe("the time of a reading stands on a topic of its own", () => {
  const leaf = "sensor/air_temperature/measured_at";
  const times = (of: typeof topics, before?: typeof full, next = full) =>
    controllerMessages(of, before, next).filter(({ topic }) => topic === `greenhouse/gh-0001/${leaf}`);
  const withTimes = topicsUnder("greenhouse", { plain_times: true });

  it("where the configuration asks for it, and as a tag then", () => {
    expect(times(topics)).toEqual([]);
    expect(tagAt(leaf)).toBeUndefined();
    expect(times(withTimes)).toMatchObject([{ payload: new Date(start).toISOString() }]);
    expect(tagAt(leaf, withTimes)).toMatchObject({ type: "time" });
  });

  it("before the JSON, when it is newer, and is emptied with its controller", () => {
    const newer = item({ measuredAt: start + 60_000 });
    const next = after(full, start + 60_000, sensorsRead([newer], start + 60_000));
    const [said, json] = controllerMessages(withTimes, full, next).slice(-2);
    expect(said).toMatchObject({ payload: new Date(start + 60_000).toISOString() });
    expect(json?.topic).toMatch(/\/json$/);
    const emptied = (of: typeof topics) =>
      controllerMessages(of, full, undefined).filter(({ topic }) => topic.endsWith(leaf));
    expect([emptied(topics).length, emptied(withTimes).length]).toEqual([0, 1]);
  });
});

describe("integers stand beside the words", () => {
  const codes = (of: typeof topics) =>
    Object.fromEntries(
      controllerMessages(of, undefined, full).flatMap(({ topic, payload }) =>
        topic.endsWith("_code") ? [[topic.slice("greenhouse/gh-0001/".length), payload]] : [],
      ),
    );

  it("where the configuration asks for them", () => {
    expect(codes(topics)).toEqual({});
    expect(codes(withCodes)).toEqual({
      "sensor/air_temperature/quality_code": "192",
      "status/16_fan/state_code": "1",
      "actuator/roof/state_code": "5",
      "actuator/roof/quality_code": "192",
      "actuator/vent/state_code": "100",
      "actuator/vent/quality_code": "192",
    });
  });

  it("and go where they are emptied with the controller", () => {
    const cleared = (of: typeof topics) =>
      controllerMessages(of, full, undefined).filter(({ topic }) => topic.endsWith("_code"));
    expect(cleared(topics)).toEqual([]);
    expect(cleared(withCodes).map(({ payload }) => payload)).toContain("");
  });

  it.each(Object.keys(kindRows) as (keyof typeof kindRows)[])(
    "each state of a %s has a number of its own",
    (kind) => {
      const states = [...statesOf({ kind, values: {} }).values()];
      expect(new Set(states).size).toBe(states.length);
      expect(states.every((one) => one < 100 || one === 255)).toBe(true);
    },
  );
});
