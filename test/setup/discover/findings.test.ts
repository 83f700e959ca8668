import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ActuatorKind } from "../../../src/greenhouse/actuator-kinds.js";
import {
  type ActuatorRow,
  parameterGroup,
  type ParameterRow,
  typeRows,
} from "../../../src/greenhouse/device-types.js";
import { byAddress } from "../../../src/greenhouse/addresses-seen.js";
import type { RawValue } from "../../../src/greenhouse/ports.js";
import {
  actuatorIds,
  controllerIds,
  evidenceFor,
  findingsOf,
  parameterIds,
  stateWord,
} from "../../../src/setup/discover/findings.js";
import { commentText, nameOr } from "../../../src/saving/yaml-text.js";
import { answers, type Groups } from "./support/surveys.js";

const found = (groups: Groups) => {
  const { actuators, parameters, doubtful } = findingsOf({ answers: answers(groups) });
  return {
    actuators: actuators.map(({ address, group, row }) => `${address} ${group} ${row.kind}`),
    parameters: parameters.map(({ address, group }) => `${address} ${group}`),
    doubtful: doubtful.map(({ address, why }) => `${address}: ${String(why)}`),
  };
};

describe("evidence for a kind", () =>
  it.each<[ActuatorKind, RawValue, ReturnType<typeof evidenceFor>, string | null]>([
    ["skylight", "10001", "sure", "closed"],
    ["skylight", 10010, "sure", "open"],
    ["skylight", "10100", "sure", "position"],
    ["skylight", "45", "possible", "45 %"],
    ["skylight", "0", "possible", "0 %"],
    ["skylight", "350", "none", null],
    ["skylight", "1010", "none", null],
    ["fan_wet_curtain", "00000", "sure", "off"],
    ["fan_wet_curtain", 0, "possible", "off"],
    ["fan_wet_curtain", 11100, "sure", "fans_1_2_3"],
    ["fan_wet_curtain", "10101", "none", null],
    ["light", "1100", "sure", "auto"],
    ["skylight", "11010", "possible", null],
    ["skylight", 11001, "possible", null],
    ["light", "1110", "possible", null],
    ["skylight", "11100", "none", null],
    ["light", 0, "none", null],
    ["irrigation", 11111111, "sure", "rotation"],
    ["irrigation", "on", "none", null],
    ["circulation_fan", true, "none", null],
  ])("%s reading %j: %s, %s", (kind, raw, evidence, state) => {
    expect(evidenceFor(kind, raw)).toBe(evidence);
    expect(stateWord(kind, raw)).toBe(state);
  }));

describe("what an address is", () => {
  const noValue = (kind: string) =>
    `no value of the kind ${kind}: a parameter, or kind: custom with its values`;

  it.each<[string, Groups, Partial<ReturnType<typeof found>>]>([
    [
      "an address with a control value of its type's kind is an actuator",
      { 2: { "101": "10001" }, 12: { "220": "1001" } },
      { actuators: ["101 2 skylight", "220 12 light"] },
    ],
    [
      "several addresses of a type are several actuators, in the order of their numbers",
      { 2: { "99": "10001", "1000": "11000", "101": "10010" } },
      { actuators: ["99 2 skylight", "101 2 skylight", "1000 2 skylight"] },
    ],
    [
      "a degree proves a positioner where its type has no other address",
      { 2: { "101": "45" } },
      { actuators: ["101 2 skylight"] },
    ],
    [
      "automatic combined with what runs is one where its type has no other address",
      { 2: { "101": "11010" }, 11: { "150": "1101" } },
      { actuators: ["101 2 skylight", "150 11 circulation_fan"] },
    ],
    [
      "and stays a comment where it has",
      { 2: { "101": "11010", "601": "350" } },
      {
        doubtful: [
          "101: kind: skylight in automatic, combined with what runs, or a parameter",
          `601: ${noValue("skylight")}`,
        ],
      },
    ],
    [
      "a degree proves none where it has",
      { 2: { "101": "10001", "601": "45" } },
      {
        actuators: ["101 2 skylight"],
        doubtful: ["601: kind: skylight, a position_address of another one, or a parameter"],
      },
    ],
    [
      "a value that is none of the kind is never an actuator",
      { 2: { "101": "350" }, 11: { "150": "0" } },
      { doubtful: [`101: ${noValue("skylight")}`, `150: ${noValue("circulation_fan")}`] },
    ],
    [
      "types without control values hold parameters, whatever their value",
      { 203: { "501": "10001" }, 212: { "601": 5 }, 219: { "801": "1" } },
      { parameters: ["501 203", "601 212", "801 219"] },
    ],
    [
      "an address that no configuration can hold stays a comment",
      { 2: { "10 1\n": "10001" } },
      { doubtful: ["10 1\n: a configuration cannot hold such an address"] },
    ],
  ])("%s", (_, groups, expected) =>
    expect(found(groups)).toEqual({ actuators: [], parameters: [], doubtful: [], ...expected }),
  );

  it("a type that is not in the table is never an actuator", () => {
    const { actuators, doubtful } = found({ 5: { "101": "10001" } });
    expect(actuators).toEqual([]);
    expect(doubtful).toEqual([
      "101: this type is not in the interface's table: a parameter, or kind: custom with its values",
    ]);
  });

  it("an address in two types of one kind is one actuator, and both are named", () => {
    const { actuators } = findingsOf({ answers: answers({ 41: { "102": "10010" }, 3: { "102": "10010" } }) });
    expect(actuators).toMatchObject([{ address: "102", group: 3, alsoIn: [41] }]);
  });

  it("an address in types of different kinds is no actuator, so a platform that ignores the type invents none", () => {
    const all = { "101": "10001", "150": "1100", "501": "180" };
    const { actuators, doubtful } = found({ 2: all, 3: all, 11: all, 190: all, 212: all });
    expect(actuators).toEqual([]);
    expect(doubtful).toHaveLength(3);
    expect(doubtful[0]).toContain("several types hold it (type 2 (left skylight), type 3");
  });

  it("an address among the machine parameters as well is an actuator only with a control value", () => {
    expect(found({ 2: { "101": "10001" }, 212: { "101": "10001" } }).actuators).toEqual(["101 2 skylight"]);
    expect(found({ 2: { "101": "45" }, 212: { "101": "45" } }).actuators).toEqual([]);
  });

  it("every address is listed once, whatever the answers hold", () => {
    const values = fc.dictionary(
      fc.oneof(fc.integer({ min: 1, max: 30 }).map(String), fc.string({ maxLength: 4 })),
      fc.oneof(fc.constantFrom("10001", "1100", "00000", "45"), fc.integer(), fc.string(), fc.boolean()),
      { noNullPrototype: true },
    );
    const groups = fc.dictionary(fc.constantFrom("2", "3", "10", "11", "203", "5"), values, {
      noNullPrototype: true,
    });
    fc.assert(
      fc.property(groups, (given) => {
        const { actuators, parameters, doubtful } = findingsOf({ answers: answers(given) });
        const listed = [...actuators, ...parameters, ...doubtful].map(({ address }) => address).sort();
        const all = new Set(Object.values(given).flatMap((one) => Object.keys(one)));
        expect(listed).toEqual([...all].sort());
        for (const { row, raw } of actuators) expect(evidenceFor(row.kind, raw)).not.toBe("none");
      }),
    );
  });

  it.each([
    ["9", "10", -1],
    ["10", "10", 0],
    ["D1", "10", 1],
    ["D1", "D2", -1],
    ["0010", "10", -1],
  ])("%s and %s are ordered %i", (one, other, sign) => expect(Math.sign(byAddress(one, other))).toBe(sign));
});

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

describe("names of the platform in comments", () => {
  it.each([
    ["1号日光温室", "1号日光温室"],
    ["  a   b ", "a b"],
    ["a\ncontrollers: {}", "a controllers: {}"],
    ["a\r\u0085\u2028\u2029b", "a b"],
    ["a\u0000\u001b[31mb", "a [31mb"],
    ["\ufeff\u200b", ""],
    ["evil\u202egnp.exe", "evil gnp.exe"],
    ["half \ud83d pair", "half pair"],
    ["\uffff", ""],
    ["🌱 ok", "🌱 ok"],
  ])("%j is written as %j", (name, written) => expect(commentText(name)).toBe(written));

  it("a long name is cut at a whole character", () => {
    const cut = commentText("🌱".repeat(100_000));
    expect(Array.from(cut)).toHaveLength(81);
    expect(cut).toMatch(/^(?:🌱){80}…$/u);
  });

  it("a name that is nothing once cleaned gives way to another", () => {
    expect(nameOr(null, "GH-1")).toBe("GH-1");
    expect(nameOr("\u0000", "GH-1")).toBe("GH-1");
    expect(nameOr("East", "GH-1")).toBe("East");
  });
});
