import { describe, expect, test } from "vitest";
import { bridgeDocument, controllerDocument } from "../../src/homeassistant/device-documents.js";
import { foundDocument } from "../../src/homeassistant/announced.js";
import { topicsUnder } from "../../src/mqtt/topics.js";
import { controllers } from "./controllers.js";
import { settings } from "./fixtures.js";

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
