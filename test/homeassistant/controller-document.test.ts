import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type ActuatorKind } from "../../src/greenhouse/actuator-kinds.js";
import { deviceType, statusNumber } from "../../src/greenhouse/device-types.js";
import type { Controller, RunningStatus, Sensor } from "../../src/greenhouse/model.js";
import { sensorKinds } from "../../src/greenhouse/sensors.js";
import type { ActuatorSettings, HomeAssistantView } from "../../src/greenhouse/settings.js";
import { discoveryTopic } from "../../src/homeassistant/announced.js";
import { controllerDocument } from "../../src/homeassistant/device-documents.js";
import { sameParameter } from "../../src/homeassistant/discovery-output.js";
import type { Component, DocumentSettings } from "../../src/homeassistant/documents.js";
import { templates, within } from "../../src/homeassistant/labels.js";
import { topicsUnder } from "../../src/mqtt/topics.js";
import { faultsOf } from "./announcement-faults.js";
import { controllers } from "./controllers.js";
import { actuator, controller, limits, parameter, reading, sensor, settings, status } from "./fixtures.js";

const componentsOf = (one: Controller, changes: Partial<DocumentSettings> = {}) =>
  controllerDocument(one, settings(changes)).components;

type Changes = Partial<ActuatorSettings> & Pick<ActuatorSettings, "kind">;
const componentsFor = (changes: Changes) =>
  componentsOf(controller({ actuators: [actuator({ id: "it", ...changes })] }));
const text = (value: unknown) => (typeof value === "string" ? value : "");
/** Those of the actuator itself. */
const ownOf = (changes: Changes): Component[] =>
  Object.values(componentsFor(changes)).filter((one) => /_it(_|$)/.test(text(one["default_entity_id"])));
/** Without how long it was on, which says nothing of how it is commanded. */
const viewsOf = (changes: Changes) => ownOf(changes).filter((one) => one["device_class"] !== "duration");
const platformsFor = (changes: Changes) => viewsOf(changes).map(({ platform }) => platform);

describe("commands", () => {
  const all = Object.values(controllers).flatMap((one) => Object.values(componentsOf(one)));
  const commanding = all.filter((component) => component["command_topic"] !== undefined);

  test("every component that commands is never retained, QoS 1, and its commands die after 30 s", () => {
    expect(commanding.length).toBeGreaterThan(30);
    for (const component of commanding)
      expect(component).toMatchObject({ retain: false, qos: 1, message_expiry_interval: 30 });
  });

  test("nothing is optimistic: every component that shows a state reads it back", () => {
    for (const component of commanding.filter(({ platform }) => platform !== "button"))
      expect(component).toMatchObject({ optimistic: false, state_topic: expect.any(String) as string });
  });
});

describe("averages", () =>
  test("are measurements whatever their quantity is, and none where no mean would be right", () => {
    const stateClass = (one: Sensor) =>
      Object.values(componentsOf(controller({ sensors: [one] }))).find(({ default_entity_id: id }) =>
        text(id).endsWith(`_${one.definition.id}`),
      )?.["state_class"];
    const of = (kind: "rain" | "wind_direction" | "temperature", unit: string, average?: true) =>
      sensor({ key: kind, id: kind, kind, unit, ...(average && { average }) });
    expect(stateClass(of("rain", "mm"))).toBe("total_increasing");
    expect(stateClass(of("rain", "mm", true))).toBe("measurement");
    expect(stateClass(of("temperature", "°C", true))).toBe("measurement");
    expect(stateClass(of("wind_direction", "°", true))).toBeUndefined();
    const counted = { key: "t", id: "flow", platformName: "累计流量", unit: "m³" } as const;
    expect(stateClass(sensor(counted))).toBe("total_increasing");
    expect(stateClass(sensor({ ...counted, average: true }))).toBe("measurement");
  }));

describe("limits", () => {
  test("an actuator with limits has a lock, which needs the bridge alone and keeps out of voice and area actions", () => {
    const request = { controller: "gh-0001", actuator: "it", by: "home-assistant" };
    expect(componentsFor({ kind: "skylight", limits })["lock_101"]).toMatchObject({
      ...{ entity_category: "config", command_topic: "greenhouse/bridge/request/lock", optimistic: false },
      ...{ state_topic: "greenhouse/gh-0001/actuator/it/allowed", availability_mode: "all" },
      ...{ availability: [{ topic: "greenhouse/bridge/state" }], retain: false },
      payload_lock: JSON.stringify(request),
      payload_unlock: JSON.stringify({ ...request, locked: false }),
    });
  });

  test.each<[string, Partial<ActuatorSettings>]>([
    ["has no limits", {}],
    ["is read-only", { limits, readOnly: true }],
    ["is not to be shown", { limits, homeAssistant: { enabled: true, as: "none" } }],
  ])("one that %s has none", (_, changes) =>
    expect(platformsFor({ kind: "skylight", ...changes })).not.toContain("lock"),
  );

  test.each<[ActuatorKind, string]>([
    ["skylight", "cover"],
    ["irrigation", "valve"],
    ["light", "light"],
    ["machine", "switch"],
    ["fan_wet_curtain", "select"],
  ])("of a %s the %s alone says what is allowed, and why no more", (kind, platform) => {
    const told = "greenhouse/gh-0001/actuator/it/allowed";
    const telling = ownOf({ kind }).filter((component) => component["json_attributes_topic"] === told);
    expect(telling.map((component) => component.platform)).toEqual([platform]);
  });
});

describe("actuator kinds", () => {
  test("a cover has STOP only with a configured stop, and needs no button for it", () => {
    const stop = { address: "9", value: "00000100" };
    expect(componentsFor({ kind: "skylight" })["cover_101"]).toMatchObject({ payload_stop: null });
    const found = componentsFor({ kind: "skylight", stop });
    expect(found["cover_101"]).toMatchObject({ payload_stop: "stop" });
    expect(found).not.toHaveProperty("button_stop_101");
    expect(componentsFor({ kind: "machine", stop })["button_stop_101"]).toMatchObject({
      payload_press: "stop",
    });
  });

  test.each<[ActuatorKind, HomeAssistantView, string]>([
    ["light", "switch", "switch select"],
    ["light", "select", "select"],
    ["light", "none", ""],
    ["machine", "light", "light select"],
    ["skylight", "select", "select"],
    ["irrigation", "switch", "switch select"],
    ["fan_wet_curtain", "switch", "select"],
    ["machine", "cover", "select"],
  ])("%s shown as %s is «%s»: a view its values do not allow is left out", (kind, as, platforms) =>
    expect(platformsFor({ kind, homeAssistant: { as, enabled: true } }).join(" ")).toBe(platforms),
  );

  test("a cover the other way round sends close for open, and its degree counted from the other end", () => {
    const homeAssistant = { inverted: true, enabled: true } as const;
    const cover = componentsFor({ kind: "shade_curtain", homeAssistant })["cover_101"];
    expect(cover).toMatchObject({
      ...{ payload_open: "close", payload_close: "open", payload_stop: null },
      ...{ value_template: templates.invertedState, position_template: templates.invertedPosition },
      set_position_template: "{{ 100 - position }}",
    });
    const plain = componentsFor({ kind: "shade_curtain" });
    expect(plain["cover_101"]?.["set_position_template"]).toBeUndefined();
    const select = componentsFor({ kind: "shade_curtain", homeAssistant })["select_101"];
    expect(select).toEqual(plain["select_101"]);
  });

  test("a motor with open and close may be a cover, which then has no position", () => {
    const values = { open: "00000001", close: "00000010" };
    const homeAssistant = { as: "cover", enabled: true } as const;
    const cover = componentsFor({ kind: "motor", values, homeAssistant })["cover_101"];
    expect(cover).toMatchObject({ payload_open: "open", payload_close: "close", payload_stop: "stop" });
    expect(cover).not.toHaveProperty("set_position_topic");
  });

  test("a read-only actuator is shown and cannot be commanded", () => {
    const found = componentsFor({ kind: "skylight", readOnly: true });
    expect(platformsFor({ kind: "skylight", readOnly: true })).toEqual(["sensor", "sensor"]);
    const commanding = Object.keys(found).filter((key) => "command_topic" in (found[key] ?? {}));
    expect(commanding).toEqual(["button_acknowledge"]);
  });

  test.each<[ActuatorKind, HomeAssistantView | undefined, string[]]>([
    ["machine", undefined, ["It", "It mode"]],
    ["circulation_fan", undefined, ["It", "It mode"]],
    ["machine", "switch", ["It", "It mode"]],
    ["machine", "select", ["It"]],
    ["skylight", undefined, ["It", "It mode"]],
    ["irrigation", undefined, ["It", "It mode"]],
    ["light", undefined, ["It", "It mode"]],
    ["fan_wet_curtain", undefined, ["It"]],
  ])(
    "%s shown as %s reads %j: the view that people expect and its select, both enabled",
    (kind, as, names) => {
      const found = viewsOf({ kind, homeAssistant: { enabled: true, ...(as && { as }) } });
      const off = (one: Component) => (one["enabled_by_default"] === false ? " (disabled)" : "");
      expect(found.map((one) => `${text(one["name"])}${off(one)}`)).toEqual(names);
    },
  );

  test("icon and enabled reach every component of the actuator; an icon that is none is not sent", () => {
    const homeAssistant = { enabled: false, icon: "mdi:fan" };
    for (const one of ownOf({ kind: "machine", homeAssistant }))
      expect(one).toMatchObject({ enabled_by_default: false, icon: "mdi:fan" });
    const wrong = componentsFor({ kind: "machine", homeAssistant: { enabled: true, icon: "fan" } });
    expect(wrong["switch_101"]).toMatchObject({ icon: "mdi:engine-outline" });
  });
});

describe("readings", () => {
  test("a reading of text has no unit, class or precision, which would make Home Assistant drop it", () => {
    const words = sensor({ key: "name:x", id: "x", numeric: false, unit: "°C", kind: "temperature" });
    const component = componentsOf(controller({ sensors: [words] }))["sensor_name_x"];
    for (const key of ["unit_of_measurement", "device_class", "state_class", "suggested_display_precision"])
      expect(component).not.toHaveProperty(key);
  });

  test.each(sensorKinds)("a numeric reading of kind %s says how many decimals to show", (kind) => {
    const component = componentsOf(controller({ sensors: [reading("x", "x", kind, null)] }))["sensor_name_x"];
    expect(component?.["suggested_display_precision"]).toBeTypeOf("number");
  });

  test.each<[string, number, string]>([
    ["on or off", 1, "binary_sensor, sensor disabled"],
    ["another value", 7, "binary_sensor disabled, sensor"],
  ])(
    "a status has both entities whatever it shows; of one that shows %s that which fits is enabled",
    (_, value, shown) => {
      const entities = Object.values(
        componentsOf(controller({ statuses: [status(16, "风机", value)] })),
      ).slice(-2);
      const off = (one: Component) => (one["enabled_by_default"] === false ? " disabled" : "");
      expect(entities.map((one) => `${one.platform}${off(one)}`).join(", ")).toBe(shown);
    },
  );

  test.each([
    ["number_parameter_501", { min: 0, max: 5, step: 0.1 }],
    ["sensor_parameter_501", { min: 5, max: 5, step: 0.1 }],
    ["sensor_parameter_501", undefined],
  ])(
    "a parameter is a number where it may be written and has a range, else a sensor: %s of %j",
    (key, writable) => {
      const one = parameter({ id: "p", ...(writable && { writable }) });
      expect(Object.keys(componentsOf(controller({ parameters: [one] }))).at(-1)).toBe(key);
    },
  );

  const one = parameter({ id: "p", writable: { min: 0, max: 5, step: 0.1 } });
  test.each([
    [2, 0, 5],
    [7.2, 0, 10],
    [-30, -100, 5],
    ["--", 0, 5],
  ])(
    "a parameter's value of %s outside its limits is shown: the box is as wide as it needs",
    (value, min, max) => {
      const found = componentsOf(controller({ parameters: [{ ...one, value }] }))["number_parameter_501"];
      expect(found).toMatchObject({ min, max, value_template: within(min, max) });
    },
  );

  test.each([
    [2, 3, true],
    [2, 7, false],
    [7, 8, true],
  ])(
    "crossing a limit is news for Home Assistant, moving beyond it is none: from %d to %d",
    (from, to, isSame) => expect(sameParameter({ ...one, value: from }, { ...one, value: to })).toBe(isSame),
  );

  test("a parameter step finer than Home Assistant takes is coarsened, not refused", () => {
    const fine = parameter({ id: "p", writable: { min: 0, max: 1, step: 0.0001 } });
    const found = componentsOf(controller({ parameters: [fine] }));
    expect(found["number_parameter_501"]).toMatchObject({ step: 0.001 });
  });
});

test.each(["V003", "V008", "V009", "W001"] as const)(
  "a camera or station (%s) has nothing to command",
  (type) => {
    const writable = { min: 0, max: 5, step: 1 };
    const one: Controller = {
      ...controllers[type],
      actuators: new Map([["fan", actuator({ id: "fan", kind: "machine" })]]),
      parameters: new Map([["p", parameter({ id: "p", writable })]]),
    };
    const found = componentsOf(one);
    expect(Object.values(found).filter((component) => "command_topic" in component)).toEqual([]);
    expect(found).not.toHaveProperty("binary_sensor_problem");
    expect(found).not.toHaveProperty("event_result");
    expect(found).toHaveProperty("binary_sensor_connectivity");
    const { record } = one.info;
    const silent = record && { ...one, info: { ...one.info, record: { ...record, online: null } } };
    expect(componentsOf(silent ?? one)).not.toHaveProperty("binary_sensor_connectivity");
  },
);

test.each<[type: "W001" | "V009", code: string, over: Partial<ActuatorSettings>]>([
  ["W001", "W001", { acceptType: true }],
  ["V009", "V010", {}],
  ["W001", "W003", {}],
])(
  "a %s, listed as %s, of which actuators take commands (%j) has them with problem and result",
  (given, type, over) => {
    const { info, ...one } = controllers[given];
    const found = componentsOf({
      ...one,
      info: { ...info, type: deviceType(type) },
      actuators: new Map([["fan", actuator({ id: "fan", kind: "machine", ...over })]]),
    });
    for (const key of ["switch_101", "select_101", "binary_sensor_problem", "event_result"])
      expect(found).toHaveProperty(key);
  },
);

describe("names", () => {
  const names = ["空气温度", "10cm土壤湿度", "工作模式", "EC值"];
  test.each<[string, "translated" | "platform", "en" | "zh", string[], string[]]>([
    [
      "that the catalogue knows are translated",
      ...(["translated", "en"] as const),
      names,
      ["Air temperature", "Soil moisture 10 cm", "工作模式", "EC"],
    ],
    ["are the platform's where these are wanted", "platform", "en", names, names],
    ["are Chinese too", "translated", "zh", ["空气温度", "Soil temperature 2"], ["空气温度", "土壤温度2"]],
    [
      "that two sensors would share stay the platform's",
      ...(["translated", "en"] as const),
      ["空气温度", "气温", "光照"],
      ["空气温度", "气温", "Light"],
    ],
  ])("of sensors %s", (_, sensorNames, language, given, shown) => {
    const one = controller({ sensors: given.map((name, at) => reading(name, `s${at}`, "other", null)) });
    const components = Object.values(componentsOf(one, { sensorNames, language }));
    expect(components.slice(-given.length).map(({ name }) => name)).toEqual(shown);
  });

  test("a configured name stays as it is", () => {
    const named = sensor({ key: "channel:1", id: "a", name: "Ridge", platformName: "空气温度" });
    expect(componentsOf(controller({ sensors: [named] }))["sensor_channel_1"]?.["name"]).toBe("Ridge");
  });

  const running = statusNumber(16);
  const fans = actuator({ id: "roof_fans", kind: "circulation_fan", name: "Roof fans", running: [running] });
  test.each<[string, RunningStatus[], [id: string, entity: string, name: string][]]>([
    [
      "is known by its number, and named for the actuator that the configuration ties to it",
      [status(16, "一级风机", 1, "16_fan_stage_1"), status(17, "二级风机", 1)],
      [
        ["16", "first_stage_fan", "Roof fans running"],
        ["17", "second_stage_fan", "Fan stage 2"],
      ],
    ],
    [
      "is known by its name too where two share a number, and keeps it",
      [status(16, "风机甲", 1, "a"), status(16, "风机乙", 1, "b")],
      [
        ["16:风机甲", "a", "风机甲"],
        ["16:风机乙", "b", "风机乙"],
      ],
    ],
    [
      "that shares its number has a readable entity id",
      [status(49, "灌溉计划1浇水", 1), status(49, "灌溉计划2浇水", 1, "b")],
      [
        ["49:灌溉计划1浇水", "irrigation_plan_1_watering", "Irrigation plan 1 watering"],
        ["49:灌溉计划2浇水", "irrigation_plan_2_watering", "Irrigation plan 2 watering"],
      ],
    ],
  ])("a running status %s", (_, statuses, expected) => {
    const components = Object.values(componentsOf(controller({ actuators: [fans], statuses })));
    const found = components.filter((one) => one["device_class"] === "running");
    expect(found.map((one) => [one["unique_id"], one["default_entity_id"], one["name"]])).toEqual(
      expected.map(([id, entity, name]) => [
        `greenhouse2mqtt_GH-0001_status:${id}`,
        `binary_sensor.gh_0001_${entity}`,
        name,
      ]),
    );
  });
});

describe("identity", () => {
  const renamed = <Item extends object>(items: Iterable<Item>, part: keyof Item) =>
    new Map(
      [...items].map((item, at) => [
        `i${at}`,
        { ...item, [part]: { ...item[part], id: `i${at}`, name: `Item ${at}` } },
      ]),
    );

  test.each(Object.entries(controllers))(
    "ids of %s do not move with names, topic ids, language or base topic",
    (_, one: Controller) => {
      const other: Controller = {
        ...one,
        info: { ...one.info, id: "other", name: "Other", area: "Elsewhere" },
        sensors: renamed(one.sensors.values(), "definition"),
        actuators: renamed(one.actuators.values(), "settings"),
        parameters: renamed(one.parameters.values(), "settings"),
      };
      const idsOf = (...given: Parameters<typeof componentsOf>) =>
        Object.entries(componentsOf(...given)).map(([key, component]) => [key, component["unique_id"]]);
      expect(idsOf(other, { topics: topicsUnder("farm/two"), language: "zh" })).toEqual(idsOf(one));
    },
  );

  test("hostile codes, names, keys and units still make a message Home Assistant takes", () => {
    const odd = ["", "\ud800", "a/b+#", "__proto__", "bridge", "x".repeat(70_000), "温室", "\0", "}}{{"];
    const hostile = fc.oneof(fc.string({ unit: "binary", maxLength: 200 }), fc.constantFrom(...odd));
    const kinds = fc.constantFrom(...sensorKinds);
    fc.assert(
      fc.property(hostile, hostile, hostile, hostile, kinds, (code, name, key, unit, kind) => {
        const one = controller({
          ...{ code, info: { id: "gh", name, area: name } },
          sensors: [
            sensor({ key: `name:${key}`, id: "s", name, unit, kind }),
            sensor({ key: `factor:${key}`, id: "t", name: key, unit, numeric: false }),
          ],
          statuses: [status(16, name, 1, "r")],
          actuators: [actuator({ id: "a", kind: "skylight", address: key, name })],
          parameters: [parameter({ id: "p", address: `${key}.`, name, unit })],
        });
        const document = controllerDocument(one, settings());
        expect(faultsOf(discoveryTopic("homeassistant", code), JSON.stringify(document))).toEqual([]);
        expect(Object.keys(document.components)).toHaveLength(12);
      }),
    );
  });
});
