import { describe, expect, it } from "vitest";
import { shortestIntervalMs } from "../../src/status/overdue.js";
import { readPauseMs, stuckPart } from "../../src/status/status.js";
import { newController } from "../../src/greenhouse/reduce.js";
import { actuator, controllerSettings } from "../support/builders.js";

const minute = 60_000;
const intervals = {
  controllers: 10 * minute,
  sensors: minute,
  running_status: 5 * minute,
  actuators: 2 * minute,
};

const bare = newController("GH-0001", "east", null, true);
const working = controllerSettings({ actuators: [actuator()] });
const online = { availability: "online" } as const;
const readings = { ...bare, ...online };
const withActuator = { ...newController("GH-0002", "west", working, true), ...online };
const offline = { ...readings, availability: "offline" } as const;

describe("the shortest interval of the reads that are made", () => {
  it.each([
    ["an empty account: its list of controllers", [], true, 10],
    ["cameras only: the list again, as they have no readings", [readings, readings], false, 10],
    ["a camera with an actuator: that one's register", [withActuator], false, 2],
    ["a controller with readings: its sensors", [readings], true, 1],
    ["one that is offline is asked more rarely", [offline], true, 5],
    ["the quickest of several", [offline, readings], true, 1],
  ] as const)("%s", (_, controllers, hasReadings, minutes) =>
    expect(shortestIntervalMs(intervals, controllers, () => hasReadings)).toBe(minutes * minute),
  );

  it("keeps a bridge alive that polls an empty account's list every ten minutes", () => {
    const pauseMs = readPauseMs(shortestIntervalMs(intervals, [], () => true));
    const progress = { startedAt: 0, lateMs: 0, readEndedAt: 0, readPauseMs: pauseMs };
    const at = 10 * minute;
    expect(stuckPart({ ...progress, outputsAt: at }, at)).toBeNull();
    expect(stuckPart({ ...progress, outputsAt: 31 * minute }, 31 * minute)).toBe("polling");
  });
});
