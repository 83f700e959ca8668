import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { actuatorKinds } from "../../src/greenhouse/actuator-kinds.js";
import { statusNumber } from "../../src/greenhouse/device-types.js";
import type { Controller, RunningStatus } from "../../src/greenhouse/model.js";
import { sensorKinds } from "../../src/greenhouse/sensors.js";
import type { ActuatorSettings, HomeAssistantView } from "../../src/greenhouse/settings.js";
import { controllerDocument, sameParameter } from "../../src/homeassistant/device-documents.js";
import { within } from "../../src/homeassistant/labels.js";
import { discoveryTopic } from "../../src/homeassistant/announced.js";
import { topicsUnder } from "../../src/mqtt/topics.js";
import { controllers } from "./controllers.js";
import { actuator, controller, limits, parameter, reading, sensor, settings, status } from "./fixtures.js";
import { faultsOf } from "./announcement-faults.js";

const componentsOf = (one: Controller, language: "en" | "zh" = "en") =>
  controllerDocument(one, settings({ language })).components;
const componentsFor = (changes: Partial<ActuatorSettings> & Pick<ActuatorSettings, "kind">) =>
  componentsOf(controller({ actuators: [actuator({ id: "it", ...changes })] }));
const platformsFor = (changes: Partial<ActuatorSettings> & Pick<ActuatorSettings, "kind">) =>
  Object.values(componentsFor(changes))
    .filter((component) => JSON.stringify(component["default_entity_id"]).includes("_it"))
    .map(({ platform }) => platform);

const all = Object.values(controllers);
const components = all.flatMap((one) => Object.values(componentsOf(one)));
const commanding = components.filter((component) => component["command_topic"] !== undefined);

describe("commands", () => {
  test("every component that commands is never retained, QoS 1, and its commands die after 30 s", () => {
    expect(commanding.length).toBeGreaterThan(30);
    for (const component of commanding) {
      expect(component).toMatchObject({ retain: false, qos: 1, message_expiry_interval: 30 });
    }
  });

  test("nothing is optimistic: every component that shows a state reads it back", () => {
    for (const component of commanding) {
      if (component.platform !== "button") expect(component).toMatchObject({ optimistic: false });
      if (component.platform !== "button") expect(component["state_topic"]).toBeTypeOf("string");
    }
  });
});

describe("limits", () => {
  const request = { controller: "gh-0001", actuator: "it", by: "home-assistant" };

  test("an actuator with limits has a lock, which needs the bridge alone and keeps out of voice and area actions", () => {
    const component = componentsFor({ kind: "skylight", limits })["lock_101"];
    expect(component).toMatchObject({
      ...{ entity_category: "config", command_topic: "greenhouse/bridge/request/lock", optimistic: false },
      ...{ state_topic: "greenhouse/gh-0001/actuator/it/allowed", availability_mode: "all" },
      ...{ availability: [{ topic: "greenhouse/bridge/state" }], retain: false },
    });
    expect(JSON.parse(component?.["payload_lock"] as string)).toEqual(request);
    expect(JSON.parse(component?.["payload_unlock"] as string)).toEqual({ ...request, locked: false });
  });

  test.each<[string, Partial<ActuatorSettings>]>([
    ["has no limits", {}],
    ["is read-only", { limits, readOnly: true }],
    ["is not to be shown", { limits, homeAssistant: { enabled: true, as: "none" } }],
  ])("one that %s has none", (_, changes) =>
    expect(platformsFor({ kind: "skylight", ...changes })).not.toContain("lock"),
  );

  test.each<[ActuatorSettings["kind"], string]>([
    ["skylight", "cover"],
    ["irrigation", "valve"],
    ["light", "light"],
    ["machine", "select"],
    ["fan_wet_curtain", "select"],
  ])("of a %s the %s alone says what is allowed, and why no more", (kind, platform) => {
    const telling = Object.values(componentsFor({ kind })).filter(
      (component) => component["json_attributes_topic"] === "greenhouse/gh-0001/actuator/it/allowed",
    );
    expect(telling.map((component) => component.platform)).toEqual([platform]);
  });
});

describe("a running status", () => {
  const fans = actuator({
    id: "roof_fans",
    kind: "circulation_fan",
    name: "Roof fans",
    running: statusNumber(16),
  });
  const nameOf = (statuses: readonly RunningStatus[], language: "en" | "zh" = "en") =>
    Object.values(componentsOf(controller({ actuators: [fans], statuses }), language))
      .filter((component) => component["device_class"] === "running")
      .map(({ name }) => name);

  test("that the configuration ties to an actuator is named for it", () => {
    expect(nameOf([status(16, "一级风机", 1)])).toEqual(["Roof fans running"]);
    expect(nameOf([status(17, "二级风机", 1)])).toEqual(["Fan stage 2"]);
  });

  test("keeps the platform's name where the device shows the number twice", () =>
    expect(nameOf([status(16, "风机甲", 1, "a"), status(16, "风机乙", 1, "b")])).toEqual([
      "风机甲",
      "风机乙",
    ]));
});

describe("actuator kinds", () => {
  test("every word of every kind has a Chinese label", () => {
    for (const kind of actuatorKinds) {
      const one = controller({ actuators: [actuator({ id: "it", kind })] });
      const options = componentsOf(one, "zh")["select_101"]?.["options"] ?? [];
      for (const option of options as string[]) expect(option).toMatch(/^\p{Script=Han}+$/u);
    }
  });

  test("a cover has STOP only with a configured stop, and needs no button for it", () => {
    expect(componentsFor({ kind: "skylight" })["cover_101"]?.["payload_stop"]).toBeNull();
    const stop = { address: "9", value: "00000100" };
    expect(componentsFor({ kind: "skylight", stop })["cover_101"]?.["payload_stop"]).toBe("stop");
    expect(componentsFor({ kind: "skylight", stop })).not.toHaveProperty("button_stop_101");
    expect(componentsFor({ kind: "machine", stop })["button_stop_101"]).toMatchObject({
      payload_press: "stop",
    });
  });

  test.each<[ActuatorSettings["kind"], HomeAssistantView, string[]]>([
    ["light", "switch", ["switch", "select"]],
    ["light", "select", ["select"]],
    ["light", "none", []],
    ["machine", "light", ["light", "select"]],
    ["skylight", "select", ["select"]],
    ["irrigation", "switch", ["switch", "select"]],
    ["fan_wet_curtain", "switch", ["select"]],
    ["machine", "cover", ["select"]],
  ])("%s shown as %s is %j: a view its values do not allow is left out", (kind, as, platforms) =>
    expect(platformsFor({ kind, homeAssistant: { as, enabled: true } })).toEqual(platforms),
  );

  test("a motor with open and close may be a cover, which then has no position", () => {
    const values = { open: "00000001", close: "00000010" };
    const found = componentsFor({ kind: "motor", values, homeAssistant: { as: "cover", enabled: true } });
    expect(found["cover_101"]).toMatchObject({
      payload_open: "open",
      payload_close: "close",
      payload_stop: "stop",
    });
    expect(found["cover_101"]).not.toHaveProperty("set_position_topic");
  });

  test("a read-only actuator is shown and cannot be commanded", () => {
    const found = componentsFor({ kind: "skylight", readOnly: true });
    expect(platformsFor({ kind: "skylight", readOnly: true })).toEqual(["sensor", "sensor"]);
    expect(Object.keys(found).filter((key) => "command_topic" in (found[key] ?? {}))).toEqual([
      "button_acknowledge",
    ]);
  });

  test.each<[ActuatorSettings["kind"], HomeAssistantView | undefined, string[]]>([
    ["machine", undefined, ["It switch (disabled)", "It"]],
    ["machine", "switch", ["It", "It mode"]],
    ["skylight", undefined, ["It", "It mode"]],
    ["irrigation", undefined, ["It", "It mode"]],
    ["light", undefined, ["It", "It mode"]],
    ["fan_wet_curtain", undefined, ["It"]],
  ])("%s shown as %s reads %j: a switch beside the select only where it is asked for", (kind, as, names) => {
    const homeAssistant = { enabled: true, ...(as && { as }) };
    const found = Object.values(componentsFor({ kind, homeAssistant }));
    const shown = found.filter((one) =>
      /_it(_|$)/.test(JSON.stringify(one["default_entity_id"]).slice(1, -1)),
    );
    expect(
      shown.map(
        ({ name, enabled_by_default: on }) =>
          `${JSON.stringify(name).slice(1, -1)}${on === false ? " (disabled)" : ""}`,
      ),
    ).toEqual(names);
  });

  test("icon and enabled reach every component of the actuator; one that is none is not sent", () => {
    const homeAssistant = { enabled: false, icon: "mdi:fan" };
    const found = componentsFor({ kind: "machine", homeAssistant });
    expect(found["switch_101"]).toMatchObject({ enabled_by_default: false, icon: "mdi:fan" });
    expect(found["select_101"]).toMatchObject({ enabled_by_default: false, icon: "mdi:fan" });
    const wrong = componentsFor({ kind: "machine", homeAssistant: { enabled: true, icon: "fan" } });
    expect(wrong["switch_101"]).toMatchObject({ icon: "mdi:engine-outline" });
  });
});

describe("readings", () => {
  test("a reading of text has no unit, class or precision, which would make Home Assistant drop it", () => {
    const text = sensor({ key: "name:x", id: "x", numeric: false, unit: "°C", kind: "temperature" });
    const component = componentsOf(controller({ sensors: [text] }))["sensor_name_x"];
    for (const key of ["unit_of_measurement", "device_class", "state_class", "suggested_display_precision"])
      expect(component).not.toHaveProperty(key);
  });

  test("every numeric reading says how many decimals to show", () => {
    for (const kind of sensorKinds) {
      const component = componentsOf(controller({ sensors: [reading("x", "x", kind, null)] }))[
        "sensor_name_x"
      ];
      expect(component?.["suggested_display_precision"]).toBeTypeOf("number");
    }
  });

  test("a status has both entities whatever it shows; the one that fits is enabled", () => {
    const enabled = (value: number) => {
      const found = componentsOf(controller({ statuses: [status(16, "风机", value)] }));
      const entities = Object.values(found).slice(-2);
      return entities.map((component) => [component.platform, component["enabled_by_default"] !== false]);
    };
    expect(enabled(1)).toEqual([
      ["binary_sensor", true],
      ["sensor", false],
    ]);
    expect(enabled(7)).toEqual([
      ["binary_sensor", false],
      ["sensor", true],
    ]);
  });

  test("a parameter is a number where it may be written and has a range, else a sensor", () => {
    const platform = (writable: { min: number; max: number; step: number } | undefined) =>
      Object.entries(
        componentsOf(controller({ parameters: [parameter({ id: "p", ...(writable ? { writable } : {}) })] })),
      ).at(-1)?.[0];
    expect(platform({ min: 0, max: 5, step: 0.1 })).toBe("number_parameter_501");
    expect(platform({ min: 5, max: 5, step: 0.1 })).toBe("sensor_parameter_501");
    expect(platform(undefined)).toBe("sensor_parameter_501");
  });

  test("a value outside a parameter's limits is shown: the box is as wide as it needs while it is there", () => {
    const writable = { min: 0, max: 5, step: 0.1 };
    const box = (value: number | string | null) => {
      const one = { ...parameter({ id: "p", writable }), value };
      const found = componentsOf(controller({ parameters: [one] }))["number_parameter_501"];
      expect(found?.["value_template"]).toBe(within(Number(found?.["min"]), Number(found?.["max"])));
      return [found?.["min"], found?.["max"]];
    };
    expect(box(2)).toEqual([0, 5]);
    expect(box(7.2)).toEqual([0, 10]);
    expect(box(-30)).toEqual([-100, 5]);
    expect(box("--")).toEqual([0, 5]);
  });

  test("crossing a limit is news for Home Assistant, moving beyond it is none", () => {
    const one = parameter({ id: "p", writable: { min: 0, max: 5, step: 0.1 } });
    const at = (value: number) => ({ ...one, value });
    expect(sameParameter(at(2), at(3))).toBe(true);
    expect(sameParameter(at(2), at(7))).toBe(false);
    expect(sameParameter(at(7), at(8))).toBe(true);
  });

  test("a parameter step finer than Home Assistant takes is coarsened, not refused", () => {
    const writable = { min: 0, max: 1, step: 0.0001 };
    const found = componentsOf(controller({ parameters: [parameter({ id: "p", writable })] }));
    expect(found["number_parameter_501"]?.["step"]).toBe(0.001);
  });
});

describe("cameras and weather stations", () =>
  test.each(["V003", "V008", "V009", "W001"] as const)("a %s has nothing to command", (type) => {
    const one: Controller = {
      ...controllers[type],
      actuators: new Map([["fan", actuator({ id: "fan", kind: "machine" })]]),
      parameters: new Map([["p", parameter({ id: "p", writable: { min: 0, max: 5, step: 1 } })]]),
    };
    const found = componentsOf(one);
    expect(Object.values(found).filter((component) => "command_topic" in component)).toEqual([]);
    expect(found).not.toHaveProperty("binary_sensor_problem");
    expect(found).not.toHaveProperty("event_result");
    expect(found).toHaveProperty("binary_sensor_connectivity");
    const { record } = one.info;
    const silent = record && { ...one, info: { ...one.info, record: { ...record, online: null } } };
    expect(componentsOf(silent ?? one)).not.toHaveProperty("binary_sensor_connectivity");
  }));

describe("names", () => {
  const namesOf = (sensorNames: "translated" | "platform", language: "en" | "zh", ...sensors: string[]) => {
    const one = controller({ sensors: sensors.map((name, at) => reading(name, `s${at}`, "other", null)) });
    return Object.values(controllerDocument(one, settings({ sensorNames, language })).components)
      .slice(-sensors.length)
      .map(({ name }) => name);
  };

  test("sensors the catalogue knows are translated, unless the platform's names are wanted", () => {
    const names = ["空气温度", "10cm土壤湿度", "工作模式", "EC值"];
    expect(namesOf("translated", "en", ...names)).toEqual([
      "Air temperature",
      "Soil moisture 10 cm",
      "工作模式",
      "EC",
    ]);
    expect(namesOf("platform", "en", ...names)).toEqual(names);
    expect(namesOf("translated", "zh", "空气温度", "Soil temperature 2")).toEqual(["空气温度", "土壤温度2"]);
  });

  test("two sensors that would share a name keep the platform's", () =>
    expect(namesOf("translated", "en", "空气温度", "气温", "光照")).toEqual(["空气温度", "气温", "Light"]));

  test("a configured name stays as it is", () => {
    const named = sensor({ key: "channel:1", id: "a", name: "Ridge", platformName: "空气温度" });
    const component = componentsOf(controller({ sensors: [named] }))["sensor_channel_1"];
    expect(component?.["name"]).toBe("Ridge");
  });

  test("a running status is known by its number, and by its name too only where two share one", () => {
    const idsOf = (...statuses: RunningStatus[]) =>
      Object.values(componentsOf(controller({ statuses })))
        .filter(({ platform }) => platform === "binary_sensor")
        .flatMap(({ unique_id: id, default_entity_id: entity }) =>
          JSON.stringify(id).includes("status:") ? [[id, entity]] : [],
        );
    expect(idsOf(status(16, "一级风机", 1, "16_fan_stage_1"))).toEqual([
      ["greenhouse2mqtt_GH-0001_status:16", "binary_sensor.gh_0001_first_stage_fan"],
    ]);
    expect(idsOf(status(49, "灌溉计划1浇水", 1), status(49, "灌溉计划2浇水", 1, "b"))).toEqual([
      ["greenhouse2mqtt_GH-0001_status:49:灌溉计划1浇水", "binary_sensor.gh_0001_irrigation_plan_1_watering"],
      ["greenhouse2mqtt_GH-0001_status:49:灌溉计划2浇水", "binary_sensor.gh_0001_irrigation_plan_2_watering"],
    ]);
  });
});

describe("identity", () => {
  const idsOf = (one: Controller, changes: Parameters<typeof settings>[0] = {}) =>
    Object.entries(controllerDocument(one, settings(changes)).components).map(([key, component]) => [
      key,
      component["unique_id"],
    ]);

  test.each(Object.entries(controllers))(
    "ids of %s do not move with names, topic ids, language or base topic",
    (_, one) => {
      const renamed: Controller = {
        ...one,
        info: { ...one.info, id: "other", name: "Other", area: "Elsewhere" },
        sensors: new Map(
          [...one.sensors.values()].map((item, at) => {
            const definition = { ...item.definition, id: `s${at}`, name: `Sensor ${at}` };
            return [definition.id, { ...item, definition }];
          }),
        ),
        actuators: new Map(
          [...one.actuators.values()].map((item, at) => {
            const own = { ...item.settings, id: `a${at}`, name: `Actuator ${at}` };
            return [own.id, { ...item, settings: own }];
          }),
        ),
        parameters: new Map(
          [...one.parameters.values()].map((item, at) => {
            const own = { ...item.settings, id: `p${at}`, name: `Parameter ${at}` };
            return [own.id, { ...item, settings: own }];
          }),
        ),
      };
      const moved = { topics: topicsUnder("farm/two"), language: "zh" as const };
      expect(idsOf(renamed, moved)).toEqual(idsOf(one));
    },
  );

  test("hostile codes, names, keys and units still make a message Home Assistant takes", () => {
    const hostile = fc.oneof(
      fc.string({ unit: "binary", maxLength: 200 }),
      fc.constantFrom("", "\ud800", "a/b+#", "__proto__", "bridge", "x".repeat(70_000), "温室", "\0", "}}{{"),
    );
    fc.assert(
      fc.property(
        hostile,
        hostile,
        hostile,
        hostile,
        fc.constantFrom(...sensorKinds),
        (code, name, key, unit, kind) => {
          const one = controller({
            code,
            info: { id: "gh", name, area: name },
            sensors: [
              sensor({ key: `name:${key}`, id: "s", name, unit, kind }),
              sensor({ key: `factor:${key}`, id: "t", name: key, unit, numeric: false }),
            ],
            statuses: [status(16, name, 1, "r")],
            actuators: [actuator({ id: "a", kind: "skylight", address: key, name })],
            parameters: [parameter({ id: "p", address: `${key}.`, name, unit })],
          });
          const text = JSON.stringify(controllerDocument(one, settings()));
          expect(faultsOf(discoveryTopic("homeassistant", code), text)).toEqual([]);
          expect(Object.keys(controllerDocument(one, settings()).components)).toHaveLength(11);
        },
      ),
    );
  });
});
