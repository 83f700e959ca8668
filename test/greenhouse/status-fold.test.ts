import anyAscii from "any-ascii";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { statusNumber } from "../../src/greenhouse/device-types.js";
import type { RunningStatusItem } from "../../src/greenhouse/ports.js";
import { foldStatuses, statusState } from "../../src/greenhouse/status-fold.js";
import { start, validId } from "../support/folding.js";

const status = (
  name: string,
  number: number | null,
  value: RunningStatusItem["value"] = 1,
): RunningStatusItem => ({
  name,
  number: number === null ? null : statusNumber(number),
  value,
});
const fold = (...answers: RunningStatusItem[][]) =>
  answers.reduce(
    (held, items, place) => foldStatuses(held, items, start + place, anyAscii),
    foldStatuses(new Map(), [], start, anyAscii),
  );
const shown = (...answers: RunningStatusItem[][]) =>
  [...fold(...answers)].map(([id, { state }]) => [id, state]);

describe("a running status", () => {
  it.each<[RunningStatusItem["value"], string]>([
    [1, "on"],
    ["1", "on"],
    [true, "on"],
    [" ON ", "on"],
    ["开启", "on"],
    [0, "off"],
    ["0", "off"],
    [false, "off"],
    ["关", "off"],
    [3, "3"],
    ["自动", "自动"],
    [null, "unknown"],
    ["", "unknown"],
  ])("is on, off or the raw value: %j is %s", (value, state) => {
    expect(statusState(value)).toBe(state);
  });

  it("is named by number and name together, since numbers repeat within one device", () => {
    const ids = shown([status("fan", 16), status("fan 2", 16, 0), status("fan", null)]);
    expect(ids).toEqual([
      ["16_fan", "on"],
      ["16_fan_2", "off"],
      ["fan", "on"],
    ]);
  });

  it("keeps the map, its place and its time while its value stays", () => {
    const first = fold([status("fan", 16), status("湿帘", 19)]);
    const again = foldStatuses(first, [status("湿帘", 19), status("fan", 16)], start + 5, anyAscii);
    expect(again).toBe(first);
    const changed = foldStatuses(first, [status("fan", 16, 0)], start + 5, anyAscii);
    expect(changed.get("16_fan")).toMatchObject({ state: "off", receivedAt: start + 5 });
    const other = [...first.keys()].find((id) => id !== "16_fan") ?? "";
    expect(changed.get(other)).toBe(first.get(other));
  });

  it("left out of an answer keeps what was seen", () => {
    expect(shown([status("fan", 16), status("b", 17)], [status("b", 17)])).toHaveLength(2);
  });

  it("an unchanged answer brings no news, also where it holds an item twice", () => {
    const twice = [status("fan", 16, 1), status("fan", 16, 0)];
    const first = fold(twice);
    expect(foldStatuses(first, twice, start + 9, anyAscii)).toBe(first);
  });

  it("ids are the same whatever the order of the first answer", () => {
    const items = [status("Fan", 16, 1), status("fan", 16, 0)];
    expect(new Map(shown([...items].reverse()) as [string, string][])).toEqual(
      new Map(shown(items) as [string, string][]),
    );
  });

  it("whatever it is called its id is valid, and no two share one", () => {
    const name = fc.oneof(
      fc.string({ unit: "binary", maxLength: 10 }),
      fc.constantFrom(
        "fan",
        "Fan",
        "FAN",
        "",
        "/",
        "+",
        "#",
        "\u0000",
        "x".repeat(70_000),
        "16 fan",
        "16_fan",
      ),
    );
    const some = fc.record({ name, number: fc.constantFrom(16, 17, null) });
    fc.assert(
      fc.property(fc.array(fc.array(some, { maxLength: 4 }), { maxLength: 3 }), (answers) => {
        const all = fold(...answers.map((items) => items.map(({ name, number }) => status(name, number))));
        const keys = new Set(answers.flat().map(({ name, number }) => `${number}:${name}`));
        expect(all.size).toBe(keys.size);
        for (const [id, one] of all) {
          expect(id).toMatch(validId);
          expect(one.id).toBe(id);
        }
      }),
      { numRuns: 1_000 },
    );
  });
});
