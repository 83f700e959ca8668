import { describe, expect, test } from "vitest";
import { discoveryFaults, discoveryFaultsOfAll } from "./validator.js";

const topic = "homeassistant/device/x/config";
const entity = (fields: Record<string, unknown>) => ({
  platform: "sensor",
  unique_id: "u",
  state_topic: "a/b",
  ...fields,
});
const message = (components: Record<string, unknown>, root: Record<string, unknown> = {}) =>
  JSON.stringify({ device: { identifiers: ["i"], name: "n" }, origin: { name: "o" }, components, ...root });
const one = (fields: Record<string, unknown>, root: Record<string, unknown> = {}) =>
  message({ a: entity(fields) }, root);
const command = { command_topic: "a/set" };

test("a plain message has no faults", () => expect(discoveryFaults(topic, one({}))).toEqual([]));

test("a component that is being removed needs nothing but its platform", () =>
  expect(discoveryFaults(topic, message({ a: entity({}), b: { platform: "cover" } }))).toEqual([]));

describe.each<[string, [string, string][]]>([
  [
    "(a) strict key sets",
    [
      ["unknown key area", one({}, { area: "x" })],
      ["unknown key ~", one({}, { "~": "x" })],
      ["device: unknown key vendor", one({}, { device: { identifiers: ["i"], name: "n", vendor: "x" } })],
      [
        "device: sw_version is not a text",
        one({}, { device: { identifiers: ["i"], name: "n", sw_version: 3 } }),
      ],
      ["device: model is not a text", one({}, { device: { identifiers: ["i"], name: "n", model: "" } })],
      ["neither identifiers nor connections", one({}, { device: { name: "n" } })],
      ["device: no name", one({}, { device: { identifiers: ["i"] } })],
      ["origin: unknown key url", one({}, { origin: { name: "o", url: "x" } })],
      ["origin: no name", one({}, { origin: {} })],
      ["no origin", one({}, { origin: undefined })],
      ["sensor does not read stat_topic", one({ stat_topic: "x" })],
      ["object_id is no longer read", one({ object_id: "x" })],
    ],
  ],
  [
    "(b) required keys",
    [
      ["no unique_id", message({ a: { platform: "sensor", state_topic: "a" } })],
      ["no platform", message({ a: { unique_id: "u", state_topic: "a" } })],
      ["state_topic is required", one({ state_topic: undefined })],
      ["command_topic is required", one({ platform: "button", state_topic: undefined, payload_press: "x" })],
      ["event_types is required", one({ platform: "event" })],
      ["event_types are empty", one({ platform: "event", event_types: [] })],
    ],
  ],
  [
    "(c) availability after the merge",
    [
      ["exclude each other", one({ availability: [{ topic: "a" }] }, { availability_topic: "b" })],
      ["exclude each other", one({ availability_topic: "b" }, { availability: [{ topic: "a" }] })],
      ["need mode all", one({ availability: [{ topic: "a" }, { topic: "b" }] })],
      ["unknown key template", one({ availability: [{ topic: "a", template: "x" }] })],
      ["availability_mode", one({ availability_mode: "every", availability: [{ topic: "a" }] })],
    ],
  ],
  [
    "(d) class, unit and state class",
    [
      ["unit klx for illuminance", one({ device_class: "illuminance", unit_of_measurement: "klx" })],
      ["unit null for temperature", one({ device_class: "temperature" })],
      ["unit pH for ph", one({ device_class: "ph", unit_of_measurement: "pH" })],
      ["unit us/cm for conductivity", one({ device_class: "conductivity", unit_of_measurement: "us/cm" })],
      [
        "unknown device_class wind_direction",
        one({ device_class: "wind_direction", unit_of_measurement: "°" }),
      ],
      [
        "measurement_angle is not in 2024.11",
        one({ state_class: "measurement_angle", unit_of_measurement: "°" }),
      ],
      [
        "measurement for precipitation",
        one({ device_class: "precipitation", unit_of_measurement: "mm", state_class: "measurement" }),
      ],
      ["options without class enum", one({ options: ["a"] })],
      ["options are empty", one({ device_class: "enum", options: [] })],
      [
        "options with class or unit",
        one({ device_class: "enum", options: ["a"], state_class: "measurement" }),
      ],
      ["last_reset_value_template without total", one({ last_reset_value_template: "{{ value }}" })],
      ["suggested_display_precision", one({ suggested_display_precision: -1 })],
      ["blank unit", one({ unit_of_measurement: " " })],
    ],
  ],
  [
    "(e) categories",
    [
      ["may not be of category config", one({ entity_category: "config" })],
      ["may not be of category config", one({ platform: "binary_sensor", entity_category: "config" })],
      ["unknown entity_category", one({ entity_category: "main" })],
    ],
  ],
  [
    "(f) options of a select",
    [
      ["options are empty", one({ platform: "select", ...command, options: [] })],
      ["options repeat", one({ platform: "select", ...command, options: ["a", "a"] })],
      ["an option named none", one({ platform: "select", ...command, options: ["a", "NONE"] })],
      [
        "without a state topic",
        one({ platform: "select", ...command, state_topic: undefined, options: ["a"] }),
      ],
    ],
  ],
  [
    "(g) covers",
    [
      ["set_position_topic without", one({ platform: "cover", ...command, set_position_topic: "a/set" })],
      ["without a state topic", one({ platform: "cover", ...command, state_topic: undefined })],
      ["position_template without", one({ platform: "cover", position_template: "{{ value }}" })],
      ["unknown device_class roof", one({ platform: "cover", device_class: "roof" })],
    ],
  ],
  [
    "(h) valves",
    [["payload_open in a valve", one({ platform: "valve", reports_position: true, payload_open: "OPEN" })]],
  ],
  [
    "(j) topics and keys",
    [
      ["state_topic", one({ state_topic: "a/#" })],
      ["command_topic", one({ platform: "switch", command_topic: "a/+/set" })],
      ["state_topic", one({ state_topic: "" })],
      ["availability", one({ availability: [{ topic: "a/+" }] })],
      ["component key", message({ "a b": entity({}) })],
    ],
  ],
  ["(k) size", [["bytes are too many", one({ name: "x".repeat(256 * 1024) })]]],
  [
    "(l) newer than 2024.11",
    [
      ["unknown key message_expiry_interval", one({}, { message_expiry_interval: 30 })],
      ["platform date is not in 2024.11", one({ platform: "date", ...command })],
    ],
  ],
  [
    "the rest",
    [
      ["not JSON", "{"],
      ["not a JSON object", "[]"],
      ["default_entity_id", one({ default_entity_id: "sensor.Über" })],
      ["default_entity_id", one({ default_entity_id: "cover.x" })],
      ["default_entity_id", one({ default_entity_id: "sensor.a__b" })],
      ["icon", one({ icon: "fan" })],
      ["min is not below max", one({ platform: "number", ...command, min: 5, max: 5 })],
      ["step below 0.001", one({ platform: "number", ...command, step: 0.0001 })],
      ["value_template is no template", one({ value_template: "value" })],
      ["a lone surrogate", one({ name: "\ud800" })],
      ["unit_of_measurement is null", one({ unit_of_measurement: null })],
      ["qos", one({ qos: 3 })],
      ["message_expiry_interval", one({ message_expiry_interval: 0 })],
    ],
  ],
])("%s", (_, cases) =>
  test.each(cases)("a message with the fault «%s» fails", (fault, payload) =>
    expect(discoveryFaults(topic, payload).join("\n")).toContain(fault),
  ),
);

test.each([
  "homeassistant/device/a b/config",
  "homeassistant/device/a/b/c/config",
  "homeassistant/device/ä/config",
])("(j) the discovery topic %s fails", (illegal) =>
  expect(discoveryFaults(illegal, one({}))).toEqual([`illegal discovery topic ${illegal}`]),
);

describe("(i) over all messages", () => {
  const other = "homeassistant/device/y/config";
  const device = (identifier: string, more: Record<string, unknown> = {}) => ({
    device: { identifiers: [identifier], name: "n", ...more },
  });

  test("a unique id used twice fails", () => {
    const messages = new Map([
      [topic, one({}, device("i"))],
      [other, one({}, device("j"))],
    ]);
    expect(discoveryFaultsOfAll(messages)).toEqual([`${other} a: u is already used by ${topic} a`]);
  });

  test("two devices with one identifier fail, as Home Assistant makes one of them", () => {
    const messages = new Map([
      [topic, one({}, device("i"))],
      [other, one({ unique_id: "v" }, device("i"))],
    ]);
    expect(discoveryFaultsOfAll(messages)).toEqual([`${other}: i is already used by ${topic}`]);
  });

  test("a via_device that nobody announces fails; a removal is no fault", () => {
    const messages = new Map([
      [topic, one({}, device("i", { via_device: "hub" }))],
      [other, ""],
    ]);
    expect(discoveryFaultsOfAll(messages)).toEqual([`${topic}: via_device hub was never announced`]);
  });
});
