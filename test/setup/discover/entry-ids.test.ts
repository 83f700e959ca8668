import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type ActuatorRow,
  parameterGroup,
  type ParameterRow,
  typeRows,
} from "../../../src/greenhouse/device-types.js";
import { actuatorIds, byAddress, controllerIds, parameterIds } from "../../../src/setup/discover/findings.js";

const none = new Set<string>();

function actuator(type: number, address: string) {
  const group = parameterGroup(type);
  return { address, group, row: typeRows.get(group) as ActuatorRow };
}

const ids = (found: readonly ReturnType<typeof actuator>[], taken: ReadonlySet<string> = none) =>
  Object.fromEntries(actuatorIds(found, taken));

describe("ids of actuators", () => {
  const number = fc.integer({ min: 1, max: 9_999 });
  const address = fc.oneof(number.map(String), fc.stringMatching(/^[A-Za-z0-9._-]{1,64}$/));
  const addresses = fc.uniqueArray(address, { minLength: 1, maxLength: 30 });
  const takenIds = fc.uniqueArray(fc.stringMatching(/^left_skylight(?:_[0-9]{1,2})?$/));

  it("ids are valid and unique, whatever the addresses", () =>
    fc.assert(
      fc.property(addresses, takenIds, (some, taken) => {
        const skylights = some.map((one) => actuator(2, one));
        const given = Object.values(ids(skylights, new Set(taken)));
        expect(given).toHaveLength(some.length);
        expect(new Set([...given, ...taken]).size).toBe(given.length + taken.length);
        for (const id of given) expect(id).toMatch(/^[a-z0-9_-]{1,64}$/);
      }),
    ));

  it("an address that comes later, behind the others, changes none of their ids", () =>
    fc.assert(
      fc.property(fc.uniqueArray(number, { minLength: 2, maxLength: 20 }), (numbers) => {
        const sorted = numbers.map(String).sort(byAddress);
        const earlier = ids(sorted.slice(0, -1).map((one) => actuator(3, one)));
        expect(ids(sorted.map((one) => actuator(3, one)))).toMatchObject(earlier);
      }),
    ));
});

describe("ids of parameters", () =>
  it("each has its address in it", () => {
    const group = parameterGroup(212);
    const row = typeRows.get(group) as ParameterRow;
    const found = ["501", "502"].map((address) => ({ address, group, row }));
    expect([...parameterIds(found, new Set(["machine_parameter_502"])).values()]).toEqual([
      "machine_parameter_501",
      expect.stringMatching(/^machine_parameter_502_[0-9a-z]{8}$/),
    ]);
  }));

describe("ids of controllers", () => {
  it("a code that makes a topic id by itself needs none", () =>
    expect(controllerIds(["GH-0001", "GH-0002"], none)).toEqual(new Map()));

  it("an id another controller of the file has is not given again", () =>
    expect(controllerIds(["EAST"], new Set(["east"])).get("EAST")).toMatch(/^east_[0-9a-z]{8}$/));
});
