import { describe, expect, it } from "vitest";
import { sensorQuality } from "../../src/greenhouse/freshness.js";
import type { Sensor, SensorDefinition } from "../../src/greenhouse/model.js";
import { actuator, controller, controllerSettings, limits, record } from "../support/builders.js";
import { after, registersRead, start } from "../support/folding.js";

const now = Date.parse("2026-03-01T08:00:00Z");
const minute = 60_000;

const definition: SensorDefinition = {
  id: "t",
  key: "name:t",
  name: "t",
  platformName: "t",
  factor: null,
  channel: null,
  kind: "temperature",
  unit: "°C",
  decimals: null,
  numeric: true,
  scale: 1,
  offset: 0,
  min: null,
  max: null,
  staleAfterMs: null,
};

const sensor = (over: Partial<Sensor>): Sensor => ({
  definition,
  value: 1,
  raw: 1,
  measuredAt: now,
  receivedAt: now,
  fault: null,
  source: "poll",
  quality: "stale",
  ...over,
});

const here = { availability: "online", platformReachable: true } as const;

describe("a reading's quality", () => {
  it.each([
    ["measured now", sensor({}), here, "good"],
    ["as old as allowed", sensor({ measuredAt: now - 15 * minute }), here, "good"],
    ["older than allowed", sensor({ measuredAt: now - 15 * minute - 1 }), here, "stale"],
    ["without a usable time", sensor({ measuredAt: null }), here, "uncertain"],
    [
      "without a time and long received",
      sensor({ measuredAt: null, receivedAt: now - 16 * minute }),
      here,
      "stale",
    ],
    ["a little in the future", sensor({ measuredAt: now + minute }), here, "good"],
    ["in the future", sensor({ measuredAt: now + 60 * minute }), here, "uncertain"],
    ["implausible", sensor({ fault: "implausible" }), here, "bad"],
    ["unreadable", sensor({ fault: "unreadable" }), here, "bad"],
    ["of an offline controller", sensor({}), { ...here, availability: "offline" } as const, "stale"],
    [
      "of a controller whose state is unknown",
      sensor({}),
      { ...here, availability: "unknown" } as const,
      "good",
    ],
    ["while the platform is away", sensor({}), { ...here, platformReachable: false }, "stale"],
    [
      "bad, while the platform is away",
      sensor({ fault: "unreadable" }),
      { ...here, platformReachable: false },
      "stale",
    ],
  ])("%s", (_, one, around, quality) => expect(sensorQuality(one, around, now, limits)).toBe(quality));
});

describe("an actuator with two addresses", () =>
  it("is as fresh as the one that was read longest ago", () => {
    const settings = controllerSettings({
      actuators: [actuator({ modeAddress: "201", positionAddress: "202" })],
    });
    const both = registersRead({ "201": "10100", "202": "45" });
    const one = registersRead({ "201": "10100" }, { startedAt: 1, readAt: start + 16 * minute });
    const listed = { type: "listed", record: record(), availability: "online" } as const;
    const later = after(after(controller(settings), start, listed, both), start + 16 * minute, one);
    expect(later.actuators.get("roof")?.quality).toBe("stale");
  }));
