import { describe, expect, test } from "vitest";
import type { LayoutSlot } from "../../src/greenhouse/model.js";
import {
  announcedBy,
  discoveryTopic,
  foundDocument,
  nextDocument,
  removable,
  revivedDocument,
  sameTopicGapMs,
} from "../../src/homeassistant/announced.js";
import { bridgeDocument, controllerDocument } from "../../src/homeassistant/device-documents.js";
import {
  type Component,
  type DeviceDocument,
  type Platform,
  platforms,
} from "../../src/homeassistant/documents.js";
import { topicsUnder } from "../../src/mqtt/topics.js";
import { controllerSettings } from "../support/builders.js";
import { faultsOf } from "./announcement-faults.js";
import { controllers } from "./controllers.js";
import { controller, reading, settings, status } from "./fixtures.js";

const full = (platform: Platform) => ({ platform, unique_id: "x" });
const documentOf = (components: Record<string, Component>): DeviceDocument => ({
  device: { identifiers: ["x"], name: "x" },
  origin: { name: "greenhouse2mqtt" },
  components,
});
const wanted = documentOf({ a: full("sensor"), b: full("cover") });

describe("from what is announced to what is wanted", () => {
  test.each<[string, Record<string, Platform>, Record<string, Component>, number | null]>([
    ["nothing announced yet", {}, wanted.components, null],
    ["the same", { a: "sensor", b: "cover" }, wanted.components, null],
    ["less than wanted", { a: "sensor" }, wanted.components, null],
    [
      "a component too many: first left with its platform alone, then left out",
      { a: "sensor", old: "switch" },
      { ...wanted.components, old: { platform: "switch" } },
      sameTopicGapMs,
    ],
    [
      "a key under another platform: removed before it comes back",
      { a: "sensor", b: "select" },
      { a: full("sensor"), b: { platform: "select" } },
      sameTopicGapMs,
    ],
  ])("%s", (_, announced, components, followUpAfterMs) => {
    const entities = Object.entries(announced).map(([key, platform]) => [key, full(platform)] as const);
    const next = nextDocument(new Map(entities), wanted);
    expect(next.publish.components).toEqual(components);
    expect(next.followUpAfterMs).toBe(followUpAfterMs);
  });

  test("a component that was already reduced is not announced any more", () => {
    const reduced = documentOf({ a: full("sensor"), old: { platform: "switch" } });
    expect([...announcedBy(reduced)]).toEqual([["a", { platform: "sensor", unique_id: "x" }]]);
  });
});

test.each(platforms)("a withdrawn %s is announced once more as Home Assistant takes it", (platform) => {
  const components = new Map([["gone", { platform, unique_id: "greenhouse2mqtt_GH-0001_gone" }]]);
  const topic = discoveryTopic("homeassistant", "GH-0001");
  const revived = revivedDocument(topic, { code: "GH-0001", components }, settings());
  expect(faultsOf(topic, JSON.stringify(revived))).toEqual([]);
});

const document = (origin: unknown, topic: string, extra: Record<string, unknown> = {}) =>
  JSON.stringify({
    device: { identifiers: ["x"], serial_number: "GH-1" },
    origin,
    components: { sensor_a: { platform: "sensor", unique_id: "a", state_topic: topic } },
    ...extra,
  });
const ours = { name: "greenhouse2mqtt" };

describe("whose announcement it is", () => {
  test.each<[string, string, boolean]>([
    ["our origin and base topic", document(ours, "greenhouse/gh-1/sensor/a"), true],
    ["another origin", document({ name: "zigbee2mqtt" }, "greenhouse/gh-1/sensor/a"), false],
    ["no origin", document(undefined, "greenhouse/gh-1/sensor/a"), false],
    ["another base topic", document(ours, "farm/gh-1/sensor/a"), false],
    ["a base topic that begins alike", document(ours, "greenhouse2/gh-1/sensor/a"), false],
    [
      "a bridge whose base topic lies under ours",
      document(ours, "greenhouse/two/gh-1/sensor/a", {
        availability: [{ topic: "greenhouse/two/bridge/state" }],
      }),
      false,
    ],
    ["not JSON", "{", false],
    ["an array", "[]", false],
    ["null", "null", false],
    ["components that are no object", JSON.stringify({ origin: ours, components: [1] }), false],
  ])("%s: ours %j", (_, payload, expected) =>
    expect(foundDocument(payload, "greenhouse") !== null).toBe(expected),
  );

  test("what the bridge announces itself is ours, under this base topic alone", () => {
    const payloads = [
      bridgeDocument(settings()),
      ...Object.values(controllers).map((one) => controllerDocument(one, settings())),
    ];
    for (const payload of payloads.map((one) => JSON.stringify(one))) {
      expect(foundDocument(payload, "greenhouse")).not.toBeNull();
      expect(foundDocument(payload, "green")).toBeNull();
    }
    const nested = controllerDocument(controllers.C001, settings({ topics: topicsUnder("greenhouse/two") }));
    expect(foundDocument(JSON.stringify(nested), "greenhouse")).toBeNull();
  });

  test("a found component that Home Assistant would refuse a whole message for is not taken over", () => {
    const payload = JSON.stringify({
      origin: ours,
      components: {
        sensor_a: { platform: "sensor", unique_id: "a", state_topic: "greenhouse/x" },
        gone: { platform: "sensor" },
        strange: { platform: "teapot", state_topic: "x" },
        "bad key": { platform: "sensor", state_topic: "x" },
        none: null,
      },
    });
    expect([...(foundDocument(payload, "greenhouse")?.components ?? [])]).toEqual([
      ["sensor_a", { platform: "sensor", unique_id: "a" }],
    ]);
  });
});

const temperature = reading("t1", "t1", "temperature", "°C");
const running = status(2, "fan", 1);
const slot = (name: string): LayoutSlot => ({
  ...{ name, factor: null, channel: null, unit: null, definition: null, provisional: false },
});
const ignoring = controllerSettings({ sensors: [{ id: "t0", from: "t0", ignore: true }] });

test.each([
  ["an actuator", "cover_101", controller(), false, true],
  ["a parameter", "sensor_parameter_501", controller(), false, true],
  ["a state of an actuator", "sensor_state_101", controller(), false, true],
  ["a sensor, too early", "sensor_name_t0", controller({ sensors: [temperature] }), false, false],
  ["a sensor, where none was read", "sensor_factor_t0", controller({ statuses: [running] }), true, false],
  [
    "a sensor, where others were read",
    "sensor_channel_3",
    controller({ sensors: [temperature] }),
    true,
    true,
  ],
  ["a status, too early", "binary_sensor_status_2", controller({ statuses: [running] }), false, false],
  ["a status, where none was read", "sensor_text_2", controller({ sensors: [temperature] }), true, false],
  ["a status, where others were read", "sensor_text_2", controller({ statuses: [running] }), true, true],
  [
    "an ignored sensor",
    "sensor_name_t0",
    { ...controller(), settings: ignoring, layout: [slot("t0")] },
    false,
    true,
  ],
  ["a sensor told from no other", "sensor_name_t0", { ...controller(), layout: [slot("t0")] }, false, false],
] as const)("%s of an earlier run (%s) may be removed: %#", (_, key, of, hadTime, may) =>
  expect(removable(new Map([[key, { platform: "sensor", unique_id: "x" }]]), of, hadTime).has(key)).toBe(may),
);
