import { expect, it } from "vitest";
import type { LayoutSlot } from "../../src/greenhouse/model.js";
import { removable } from "../../src/homeassistant/announced.js";
import { controllerSettings } from "../support/builders.js";
import { controller, reading, status } from "./fixtures.js";

const sensor = reading("t1", "t1", "temperature", "°C");
const running = status(2, "fan", 1);
const slot = (name: string): LayoutSlot => ({
  ...{ name, factor: null, channel: null, unit: null, definition: null, provisional: false },
});
const ignoring = controllerSettings({ sensors: [{ id: "t0", from: "t0", ignore: true }] });

it.each([
  ["an actuator", "cover_101", controller(), false, true],
  ["a parameter", "sensor_parameter_501", controller(), false, true],
  ["a state of an actuator", "sensor_state_101", controller(), false, true],
  ["a sensor, too early", "sensor_name_t0", controller({ sensors: [sensor] }), false, false],
  ["a sensor, where none was read", "sensor_factor_t0", controller({ statuses: [running] }), true, false],
  ["a sensor, where others were read", "sensor_channel_3", controller({ sensors: [sensor] }), true, true],
  ["a status, too early", "binary_sensor_status_2", controller({ statuses: [running] }), false, false],
  ["a status, where none was read", "sensor_text_2", controller({ sensors: [sensor] }), true, false],
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
