import { describe, expect, it } from "vitest";
import { scannedTypes, typeRows } from "../../src/greenhouse/device-types.js";
import { typeList } from "../../src/cli/commands.js";

const rangeOf = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, n) => from + n);

describe("control-parameter types", () => {
  it("every type of the interface's table is asked for, and none besides", () => {
    const table = [
      2,
      3,
      4,
      7,
      10,
      11,
      12,
      41,
      146,
      157,
      ...rangeOf(190, 201),
      ...rangeOf(203, 207),
      211,
      212,
      213,
      219,
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
