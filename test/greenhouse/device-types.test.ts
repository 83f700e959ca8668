import { describe, expect, it } from "vitest";
import { typeList } from "../../src/setup/commands.js";
import type { ActuatorKind } from "../../src/greenhouse/actuator-kinds.js";
import { targetOf } from "../../src/greenhouse/command/words.js";
import {
  contradiction,
  deviceType,
  parameterGroup,
  scannedTypes,
  typeRows,
} from "../../src/greenhouse/device-types.js";
import { actuator, controller, controllerSettings, record } from "../support/builders.js";
import { after, start } from "../support/folding.js";

const rangeOf = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n);

describe("control-parameter types", () => {
  it("every type of the interface's table is asked for, and none besides", () => {
    const table = [
      ...[2, 3, 4, 7, 10, 11, 12, 41, 146, 157],
      ...[...rangeOf(190, 201), ...rangeOf(203, 207), 211, 212, 213, 219],
    ];
    expect(scannedTypes).toEqual(table);
  });

  it("the kinds that the interface gives no values for say that they are assumed", () => {
    const assumed = [...typeRows].flatMap(([id, row]) => ("assumption" in row ? [id] : []));
    expect(assumed).toEqual([7, 157]);
  });

  it("every type has a word of its own that is a valid id, and a name in both languages", () => {
    const rows = [...typeRows.values()];
    expect(new Set(rows.map(({ word }) => word)).size).toBe(rows.length);
    for (const { word, en, zh } of rows) {
      expect(word).toMatch(/^[a-z0-9_]{1,40}$/);
      expect(en).toMatch(/^[A-Z]/);
      expect(zh).toMatch(/[一-鿿]/);
    }
  });
});

describe("--types", () =>
  it.each([
    ["2", [2]],
    ["2, 12,2", [2, 12]],
    ["2,190-193", [2, 190, 191, 192, 193]],
    ["0-0", [0]],
    ["", null],
    ["2,", null],
    ["x", null],
    ["-1", null],
    ["5-3", null],
    ["1-99999", null],
    ["1000001", null],
    ["1.5", null],
  ])("%j is %j", (text, types) => {
    if (types === null) expect(() => typeList(text)).toThrow("expected type ids such as 2,12 or 190-201");
    else expect(typeList(text)).toEqual(types);
  }));

const told = (kind: ActuatorKind, typeId?: number, device: string | null = "C001", acceptType = false) =>
  contradiction(
    { kind, group: typeId === undefined ? undefined : parameterGroup(typeId), acceptType },
    device === null ? null : deviceType(device),
  )?.toString() ?? null;

describe("the kind of an actuator and its control-parameter type", () => {
  it.each<[ActuatorKind, number[]]>([
    ["skylight", [2, 4, 9999]],
    ["shade_curtain", [3, 41, 146]],
    ["side_vent", [7]],
    ["thermal_curtain", [157]],
    ["fan_wet_curtain", [10]],
    ["circulation_fan", [11]],
    ["light", [12]],
    ["irrigation", [190, 201]],
    ["positioner", [2, 157, 212]],
    ["machine", [11, 12, 195]],
    ["custom", [2, 203]],
    ["motor", [12]],
  ])("%s contradicts none of the types %j", (kind, typeIds) =>
    expect(typeIds.map((typeId) => told(kind, typeId))).toEqual(typeIds.map(() => null)),
  );

  it.each<[ActuatorKind, number, string]>([
    ["light", 2, "type_id says type 2 (left skylight), which is the kind skylight, not light"],
    [
      "positioner",
      11,
      "type_id says type 11 (circulation fan), which is the kind circulation_fan, not positioner",
    ],
    ["machine", 2, "type_id says type 2 (left skylight), which is the kind skylight, not machine"],
    ["irrigation", 212, "type_id says type 212 (machine parameters), which is no actuator at all"],
  ])("%s and type %i contradict each other", (kind, typeId, why) => {
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

  it("the letter of a type that nobody knows contradicts nothing: what answers decides", () => {
    expect(told("skylight", undefined, "W003")).toBeNull();
    expect(told("machine", undefined, "V001")).toBeNull();
  });
});

describe("a command to an actuator whose type contradicts its kind", () => {
  /** Once each of these types was listed for its controller. */
  const target = (over: Parameters<typeof actuator>[0], ...types: readonly string[]) => {
    let listed = controller(controllerSettings({ actuators: [actuator(over)] }));
    for (const type of types)
      listed = after(listed, start, {
        type: "listed",
        record: record({ type: deviceType(type) }),
        availability: "online",
      });
    return targetOf(
      listed,
      { controllerId: "gh-0001", target: "actuator", targetId: "roof" },
      { raw_addresses: false, min_interval: 0 },
    );
  };

  it("is refused, with what contradicts and what to do", () => {
    const refusal = {
      reason: "unknown_actuator",
      message: expect.stringMatching(/type 12 \(supplemental light\).*accept_type: true/) as string,
    };
    expect(target({ group: parameterGroup(12) }, "C001")).toEqual(refusal);
    expect(target({}, "W001")).toMatchObject({ reason: "unknown_actuator" });
  });

  it("is taken where the configuration accepts it, or the type is right", () => {
    expect(target({ group: parameterGroup(12), acceptType: true }, "C001")).toMatchObject({ id: "roof" });
    expect(target({ group: parameterGroup(2) }, "C001")).toMatchObject({ id: "roof" });
  });

  it("is judged before anything was listed, and by the type that was listed last", () => {
    expect(target({ group: parameterGroup(12) })).toMatchObject({ reason: "unknown_actuator" });
    expect(target({ group: parameterGroup(2) })).toMatchObject({ id: "roof" });
    expect(target({}, "C001", "W001")).toMatchObject({ reason: "unknown_actuator" });
    expect(target({}, "W001", "C001")).toMatchObject({ id: "roof" });
  });
});
