import { describe, expect, it } from "vitest";
import type { ActuatorKind } from "../../src/greenhouse/actuator-kinds.js";
import { targetOf } from "../../src/greenhouse/command/words.js";
import { contradiction, deviceType, parameterGroup } from "../../src/greenhouse/device-types.js";
import { actuator, controller, controllerSettings, record } from "../support/builders.js";
import { after, start } from "../support/folding.js";

const told = (kind: ActuatorKind, typeId?: number, device: string | null = "C001", acceptType = false) =>
  contradiction(
    { kind, group: typeId === undefined ? undefined : parameterGroup(typeId), acceptType },
    device === null ? null : deviceType(device),
  );

describe("the kind of an actuator and its control-parameter type", () => {
  it.each<[ActuatorKind, number]>([
    ["skylight", 2],
    ["skylight", 4],
    ["shade_curtain", 3],
    ["shade_curtain", 41],
    ["shade_curtain", 146],
    ["side_vent", 7],
    ["thermal_curtain", 157],
    ["fan_wet_curtain", 10],
    ["circulation_fan", 11],
    ["light", 12],
    ["irrigation", 190],
    ["irrigation", 201],
    ["positioner", 2],
    ["positioner", 157],
    ["positioner", 212],
    ["machine", 11],
    ["machine", 12],
    ["machine", 195],
    ["custom", 2],
    ["motor", 12],
    ["custom", 203],
    ["skylight", 9999],
  ])("%s and type %i do not contradict each other", (kind, typeId) => expect(told(kind, typeId)).toBeNull());

  it.each<[ActuatorKind, number, string]>([
    ["light", 2, "type_id says type 2 (left skylight), which is the kind skylight, not light"],
    [
      "skylight",
      3,
      "type_id says type 3 (inner shade curtain), which is the kind shade_curtain, not skylight",
    ],
    [
      "co2_supply",
      11,
      "type_id says type 11 (circulation fan), which is the kind circulation_fan, not co2_supply",
    ],
    [
      "positioner",
      11,
      "type_id says type 11 (circulation fan), which is the kind circulation_fan, not positioner",
    ],
    ["positioner", 12, "type_id says type 12 (supplemental light), which is the kind light, not positioner"],
    ["machine", 2, "type_id says type 2 (left skylight), which is the kind skylight, not machine"],
    ["irrigation", 212, "type_id says type 212 (machine parameters), which is no actuator at all"],
  ])("%s and type %i do", (kind, typeId, why) => {
    expect(told(kind, typeId)).toBe(why);
    expect(told(kind, typeId, null)).toBe(why);
    expect(told(kind, typeId, "C001", true)).toBeNull();
  });

  it.each<[string, ActuatorKind]>([
    ["W001", "skylight"],
    ["V003", "light"],
    ["V009", "custom"],
  ])("a %s has no actuators, so none of the kind %s", (device, kind) => {
    expect(told(kind, undefined, device)).toContain(`the platform lists its controller as ${device}`);
    expect(told(kind, undefined, device, true)).toBeNull();
  });

  it("without any type nothing is contradicted", () => {
    expect(told("skylight", undefined, null)).toBeNull();
    expect(told("skylight", undefined, "X1")).toBeNull();
  });
});

describe("a command to an actuator whose type contradicts its kind", () => {
  const target = (over: Parameters<typeof actuator>[0], type = "C001") =>
    targetOf(
      after(controller(controllerSettings({ actuators: [actuator(over)] })), start, {
        type: "listed",
        record: record({ type: deviceType(type) }),
        availability: "online",
      }),
      { controllerId: "gh-0001", target: "actuator", targetId: "roof" },
      { raw_addresses: false, min_interval: 0 },
    );

  it("is refused, with what contradicts and what to do", () => {
    const refusal = {
      reason: "unknown_actuator",
      message: expect.stringMatching(/type 12 \(supplemental light\).*accept_type: true/) as string,
    };
    expect(target({ group: parameterGroup(12) })).toEqual(refusal);
    expect(target({}, "W001")).toMatchObject({ reason: "unknown_actuator" });
  });

  it("is taken where the configuration accepts it, or the type is right", () => {
    expect(target({ group: parameterGroup(12), acceptType: true })).toMatchObject({ id: "roof" });
    expect(target({ group: parameterGroup(2) })).toMatchObject({ id: "roof" });
  });
});
