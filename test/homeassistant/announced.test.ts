import { describe, expect, test } from "vitest";
import type { LayoutSlot } from "../../src/greenhouse/model.js";
import {
  type AnnouncedEntity,
  announcedIn,
  discoveryTopic,
  foundDocument,
  heldAfter,
  heldComponents,
  nothingHeld,
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

/** `a:sensor` is a component with this key and platform; a third word is a name of its own. */
const componentsOf = (text: string): Record<string, Component> =>
  Object.fromEntries(
    text.split(" ").map((part) => {
      const [key = "", platform, name = "x"] = part.split(":");
      return [key, { platform: platform as Platform, unique_id: "x", name }];
    }),
  );

/** What is wanted, or null for a device that is gone; what is held, by whom it was announced; what was withdrawn. */
interface Situation {
  readonly wanted?: null;
  readonly run?: string;
  readonly earlier?: string;
  readonly stubs?: string;
  readonly withdrawn?: string;
}

const topic = discoveryTopic("homeassistant", "GH-0001");
const wantedDocument: DeviceDocument = {
  ...{ device: { identifiers: ["x"], name: "x" }, origin: { name: "greenhouse2mqtt" } },
  components: componentsOf("a:sensor b:cover"),
};

/** Of an earlier run only keys that begin with `old` may be removed. */
const stepOf = ({ run, earlier, stubs, withdrawn, wanted }: Situation) => {
  const by = (who: AnnouncedEntity["by"], text?: string) => announcedIn(text && componentsOf(text), who);
  const held = [...by("this run", run), ...by("earlier run", earlier), ...by("stub", stubs)];
  const known = { topic, code: "GH-0001", held: { ...nothingHeld, components: new Map(held) } };
  const again = { ...known, withdrawn: by("earlier run", withdrawn) };
  return reconcile(
    again,
    wanted === undefined ? wantedDocument : null,
    (key) => key.startsWith("old"),
    settings(),
  );
};

/** `a` is announced, `a?` as a stub, `-a` removed; nothing clears the topic. */
const brief = (text: string) =>
  Object.entries(text === "" ? {} : (JSON.parse(text) as DeviceDocument).components)
    .map(([key, one]) => (Object.keys(one).length === 1 ? `-${key}` : "name" in one ? key : `${key}?`))
    .join(" ");

test.each<[string, Situation, string, string]>([
  ["nothing held", {}, "a b", "more"],
  ["less than wanted", { run: "a:sensor" }, "a b", "more"],
  ["another text for a component", { run: "a:sensor:y" }, "a b", "changed"],
  ["another text, of an earlier run", { earlier: "a:sensor:y" }, "a b", "changed"],
  [
    "one too many is first left with its platform alone",
    { run: "a:sensor gone:switch" },
    "a b -gone",
    "more, followed",
  ],
  [
    "a key under another platform is removed before it comes back",
    { run: "b:select" },
    "a -b",
    "more, followed",
  ],
  ["of an earlier run goes what may go", { earlier: "old:switch kept:sensor" }, "a b -old", "more, followed"],
  [
    "what was withdrawn is a stub, unless it is there or wanted",
    { run: "b:cover d:cover", withdrawn: "a:sensor c:sensor d:cover" },
    "c? a b -d",
    "more, followed",
  ],
  ["a stub is removed next", { stubs: "c:sensor" }, "a b -c", "more, followed"],
  ["stubs of a device that is gone", { withdrawn: "c:sensor", wanted: null }, "c?", "more, followed"],
  ["a device that is gone is cleared", { run: "a:sensor", wanted: null }, "", "changed"],
])("from what is held to what is wanted: %s", (_, situation, expected, news) => {
  const { text, ...step } = stepOf(situation);
  expect([brief(text), `${step.news}${step.isFollowed ? ", followed" : ""}`]).toEqual([expected, news]);
  const left = [...heldComponents(heldAfter(nothingHeld, { ...step, text })).keys()];
  const announced = expected
    .replaceAll("?", "")
    .split(" ")
    .filter((key) => /^[a-z]/.test(key));
  expect(left.sort()).toEqual(announced.sort());
});

test("what a run announced is kept as one text and read from it as it was", () => {
  const components = announcedIn(controllerDocument(controllers.C001, settings()).components, "this run");
  const held = heldAfter(nothingHeld, { ...stepOf({}), components });
  expect(typeof held.components).toBe("string");
  expect(heldComponents(held)).toEqual(components);
});

test.each(platforms)("a withdrawn %s is announced once more as Home Assistant takes it", (platform) => {
  const { text } = stepOf({ withdrawn: `gone:${platform}`, wanted: null });
  expect(faultsOf(topic, text)).toEqual([]);
});

const ours = { name: "greenhouse2mqtt" };
const document = (origin: unknown, topic: string, extra: Record<string, unknown> = {}) =>
  JSON.stringify({
    ...{ device: { identifiers: ["x"], serial_number: "GH-1" }, origin },
    components: { sensor_a: { platform: "sensor", unique_id: "a", state_topic: topic } },
    ...extra,
  });
const nested = { availability: [{ topic: "greenhouse/two/bridge/state" }] };

describe("whose announcement it is", () => {
  test.each<[string, string, boolean]>([
    ["our origin and base topic", document(ours, "greenhouse/gh-1/sensor/a"), true],
    ["another origin", document({ name: "zigbee2mqtt" }, "greenhouse/gh-1/sensor/a"), false],
    ["no origin", document(undefined, "greenhouse/gh-1/sensor/a"), false],
    ["another base topic", document(ours, "farm/gh-1/sensor/a"), false],
    ["a base topic that begins alike", document(ours, "greenhouse2/gh-1/sensor/a"), false],
    ["a bridge with a base topic under ours", document(ours, "greenhouse/two/gh-1/sensor/a", nested), false],
    ["not JSON", "{", false],
    ["our names in what is no JSON", "greenhouse2mqtt greenhouse/gh-1/sensor/a", false],
    ["an array", "[]", false],
    ["null", "null", false],
    ["components that are no object", JSON.stringify({ origin: ours, components: [1] }), false],
  ])("%s: ours %j", (_, payload, expected) =>
    expect(foundDocument(payload, "greenhouse") !== null).toBe(expected),
  );

  test("a base topic that a writer of JSON may escape is found all the same", () => {
    const text = document(ours, "大棚/gh-1/sensor/a").replace("大棚", "\\u5927\\u68da");
    expect(foundDocument(text, "大棚")).not.toBeNull();
  });

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

const slot = (name: string): LayoutSlot => ({
  ...{ name, factor: null, channel: null, unit: null, definition: null, provisional: false },
});
const withSensor = controller({ sensors: [reading("t1", "t1", "temperature", "°C")] });
const withStatus = controller({ statuses: [status(2, "fan", 1)] });
const ignoring = controllerSettings({ sensors: [{ id: "t0", from: "t0", ignore: true }] });
const unread = { ...controller(), layout: [slot("t0")] };

test.each([
  ["an actuator", "cover_101", controller(), false, true],
  ["a parameter", "sensor_parameter_501", controller(), false, true],
  ["a state of an actuator", "sensor_state_101", controller(), false, true],
  ["a sensor, too early", "sensor_name_t0", withSensor, false, false],
  ["a sensor, where none was read", "sensor_factor_t0", withStatus, true, false],
  ["a sensor, where others were read", "sensor_channel_3", withSensor, true, true],
  ["a status, too early", "binary_sensor_status_2", withStatus, false, false],
  ["a status, where none was read", "sensor_text_2", withSensor, true, false],
  ["a status, where others were read", "sensor_text_2", withStatus, true, true],
  ["a connection, too early", "binary_sensor_connectivity", withSensor, false, false],
  ["a connection, in time", "binary_sensor_connectivity", withSensor, true, true],
  ["an ignored sensor", "sensor_name_t0", { ...unread, settings: ignoring }, false, true],
  ["a sensor told from no other", "sensor_name_t0", unread, false, false],
  ["anything of the bridge", "sensor_name_t0", "bridge", false, true],
] as const)("%s of an earlier run (%s) may be removed: %#", (_, key, of, hadTime, may) =>
  expect(removable(of, hadTime)(key)).toBe(may),
);
