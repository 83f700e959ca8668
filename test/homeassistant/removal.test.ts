import { describe, expect, test } from "vitest";
import {
  type Component,
  type DeviceDocument,
  type Platform,
  platforms,
} from "../../src/homeassistant/documents.js";
import {
  announcedBy,
  discoveryTopic,
  nextDocument,
  revivedDocument,
  sameTopicGapMs,
} from "../../src/homeassistant/announced.js";
import { settings } from "./fixtures.js";
import { faultsOf } from "./announcement-faults.js";

const full = (platform: Platform): Component => ({ platform, unique_id: "x" });
const document = (components: Record<string, Component>): DeviceDocument => ({
  device: { identifiers: ["x"], name: "x" },
  origin: { name: "greenhouse2mqtt" },
  components,
});
const wanted = document({ a: full("sensor"), b: full("cover") });

describe("from what is announced to what is wanted", () => {
  test.each<[string, [string, Platform][], Record<string, Component>, number | null]>([
    ["nothing announced yet", [], wanted.components, null],
    [
      "the same",
      [
        ["a", "sensor"],
        ["b", "cover"],
      ],
      wanted.components,
      null,
    ],
    ["less than wanted", [["a", "sensor"]], wanted.components, null],
    [
      "a component too many: first left with its platform alone, then left out",
      [
        ["a", "sensor"],
        ["old", "switch"],
      ],
      { ...wanted.components, old: { platform: "switch" } },
      sameTopicGapMs,
    ],
    [
      "a key under another platform: removed before it comes back",
      [
        ["a", "sensor"],
        ["b", "select"],
      ],
      { a: full("sensor"), b: { platform: "select" } },
      sameTopicGapMs,
    ],
  ])("%s", (_, announced, components, followUpAfterMs) => {
    const entities = announced.map(([key, platform]) => [key, { platform, unique_id: "x" }] as const);
    const next = nextDocument(new Map(entities), wanted);
    expect(next.publish.components).toEqual(components);
    expect(next.followUpAfterMs).toBe(followUpAfterMs);
  });

  test("a component that was already reduced is not announced any more", () => {
    const reduced = document({ a: full("sensor"), old: { platform: "switch" } });
    expect([...announcedBy(reduced)]).toEqual([["a", { platform: "sensor", unique_id: "x" }]]);
  });
});

test.each(platforms)("a withdrawn %s is announced once more as Home Assistant takes it", (platform) => {
  const components = new Map([["gone", { platform, unique_id: "greenhouse2mqtt_GH-0001_gone" }]]);
  const topic = discoveryTopic("homeassistant", "GH-0001");
  const revived = revivedDocument(topic, { code: "GH-0001", components }, settings());
  expect(faultsOf(topic, JSON.stringify(revived))).toEqual([]);
});
