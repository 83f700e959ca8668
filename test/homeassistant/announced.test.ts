import { describe, expect, test } from "vitest";
import type { LayoutSlot } from "../../src/greenhouse/model.js";
import {
  announcedIn,
  discoveryTopic,
  foundDocument,
  type Held,
  heldAfter,
  reconcile,
  removable,
} from "../../src/homeassistant/announced.js";
import { bridgeDocument, controllerDocument } from "../../src/homeassistant/device-documents.js";
import type { Component, DeviceDocument } from "../../src/homeassistant/documents.js";
import { type Platform, platforms } from "../../src/homeassistant/identity.js";
import { topicsUnder } from "../../src/mqtt/topics.js";
import { controllerSettings } from "../support/builders.js";
import { faultsOf } from "./announcement-faults.js";
import { controllers } from "./controllers.js";
import { controller, reading, settings, status } from "./fixtures.js";

const full = (platform: Platform, name = "x"): Component => ({ platform, unique_id: "x", name });
const documentOf = (components: Record<string, Component>): DeviceDocument => ({
  device: { identifiers: ["x"], name: "x" },
  origin: { name: "greenhouse2mqtt" },
  components,
});
const wanted = documentOf({ a: full("sensor"), b: full("cover") });
const gone = (platform: Platform): Component => ({ platform });
const stub: Component = { ...gone("sensor"), unique_id: "x", state_topic: "greenhouse/bridge/withdrawn" };

/** What is held, by whom it was announced; of an earlier run only keys that begin with `old` may be removed. */
interface Situation {
  readonly run?: Record<string, Component>;
  readonly earlier?: Record<string, Component>;
  readonly stubs?: Record<string, Component>;
  readonly withdrawn?: Record<string, Component>;
  readonly wanted?: DeviceDocument | null;
}

const topic = discoveryTopic("homeassistant", "GH-0001");
const none: Held = { hash: null, components: new Map() };

const stepOf = ({ run, earlier, stubs, withdrawn, wanted: document = wanted }: Situation) => {
  const held = [
    ...announcedIn(run, "this run"),
    ...announcedIn(earlier, "earlier run"),
    ...announcedIn(stubs, "stub"),
  ];
  const known = { topic, code: "GH-0001", held: { hash: null, components: new Map(held) } };
  const again = { ...known, withdrawn: announcedIn(withdrawn, "earlier run") };
  return reconcile(again, document, (key) => key.startsWith("old"), settings());
};

describe("from what is held to what is wanted", () => {
  const { components } = wanted;
  test.each<[string, Situation, Record<string, Component> | null, string, boolean]>([
    ["nothing held", {}, components, "more", false],
    ["less than wanted", { run: { a: full("sensor") } }, components, "more", false],
    ["another text for a component", { run: { a: full("sensor", "y") } }, components, "changed", false],
    [
      "another text, of an earlier run",
      { earlier: { a: full("sensor", "y") } },
      components,
      "changed",
      false,
    ],
    [
      "one too many is first left with its platform alone, then left out",
      { run: { ...components, gone: full("switch") } },
      { ...components, gone: gone("switch") },
      "more",
      true,
    ],
    [
      "one that is removed already is not removed again",
      { run: { c: gone("switch") } },
      components,
      "more",
      false,
    ],
    [
      "a key under another platform is removed before it comes back",
      { run: { ...components, b: full("select") } },
      { a: full("sensor"), b: gone("select") },
      "more",
      true,
    ],
    [
      "of an earlier run goes what may go, and the rest is merely left out",
      { earlier: { old: full("switch"), kept: full("sensor") } },
      { ...components, old: gone("switch") },
      "more",
      true,
    ],
    [
      "what was withdrawn is announced as a stub, unless it is there or wanted",
      { run: { b: full("cover") }, withdrawn: { a: full("sensor"), b: full("cover"), c: full("sensor") } },
      { c: stub, ...components },
      "more",
      true,
    ],
    ["a stub is removed next", { stubs: { c: stub } }, { ...components, c: gone("sensor") }, "more", true],
    [
      "of a device that is gone too",
      { withdrawn: { c: full("sensor") }, wanted: null },
      { c: stub },
      "more",
      true,
    ],
    ["a device that is gone is cleared", { run: components, wanted: null }, null, "changed", false],
  ])("%s", (_, situation, expected, news, isFollowed) => {
    const { text, ...step } = stepOf(situation);
    const components = text === "" ? null : (JSON.parse(text) as DeviceDocument).components;
    expect([components, step.news, step.isFollowed]).toEqual([expected, news, isFollowed]);
    const announced = Object.entries(expected ?? {}).filter(([, one]) => Object.keys(one).length > 1);
    const left = [...heldAfter(none, { ...step, text }).components.keys()];
    expect(left.sort()).toEqual(announced.map(([key]) => key).sort());
  });
});

test.each(platforms)("a withdrawn %s is announced once more as Home Assistant takes it", (platform) => {
  const { text } = stepOf({ withdrawn: { gone: full(platform) }, wanted: null });
  expect(faultsOf(topic, text)).toEqual([]);
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
      ["sensor_a", expect.objectContaining({ platform: "sensor", unique_id: "a" })],
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
  expect(removable(of, hadTime)(key)).toBe(may),
);
