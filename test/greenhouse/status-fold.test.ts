import anyAscii from "any-ascii";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { statusNumber } from "../../src/greenhouse/device-types.js";
import { foldStatuses, statusState } from "../../src/greenhouse/fold-statuses.js";
import type { Controller } from "../../src/greenhouse/model.js";
import type { RunningStatusItem } from "../../src/greenhouse/ports.js";
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
const read = (held: Controller["statuses"], items: readonly RunningStatusItem[], at: number) =>
  foldStatuses(held, { type: "statuses_read", items, receivedAt: at }, anyAscii);
const fold = (...answers: RunningStatusItem[][]) =>
  answers.reduce((held, items, place) => read(held, items, start + place), read(new Map(), [], start));
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
  ])("is on, off or the raw value: %j is %s", (value, state) => expect(statusState(value)).toBe(state));

  it("is named by number and name together, since numbers repeat within one device", () => {
    const ids = shown([status("fan", 16), status("fan 2", 16, 0), status("fan", null)]);
    expect(ids).toEqual([
      ["16_fan", "on"],
      ["16_fan_2", "off"],
      ["fan", "on"],
    ]);
  });

  it("keeps its place and the time of its last change while its value stays", () => {
    const first = fold([status("fan", 16), status("湿帘", 19)]);
    const again = read(first, [status("湿帘", 19), status("fan", 16)], start + 5);
    expect([...again.keys()]).toEqual([...first.keys()]);
    expect(again.get("16_fan")).toMatchObject({ changedAt: start, readAt: start + 5 });
    const changed = read(again, [status("fan", 16, 0), status("湿帘", 19)], start + 9);
    expect(changed.get("16_fan")).toMatchObject({ state: "off", changedAt: start + 9, readAt: start + 9 });
  });

  it("left out of whole answers is missing, and gone with the third in a row", () => {
    const others = [status("b", 17)];
    const missed = (...answers: RunningStatusItem[][]) =>
      fold([status("fan", 16), ...others], ...answers).get("16_fan")?.missed ?? "gone";
    expect(missed(others)).toBe(1);
    expect(missed(others, others)).toBe(2);
    expect(missed(others, others, others)).toBe("gone");
    expect(missed(others, others, [status("fan", 16)], others)).toBe(1);
    expect(missed([], [], [])).toBe("gone");
  });

  it("that comes back has the id it had", () => {
    const first = [status("Fan", 16), status("fan", 16)];
    const back = fold(first, [], [], [], first);
    expect([...back.keys()]).toEqual([...fold(first).keys()]);
  });

  it("an unchanged answer brings no news, also where it holds an item twice", () => {
    const twice = [status("fan", 16, 1), status("fan", 16, 0)];
    const first = fold(twice);
    expect(read(first, twice, start)).toBe(first);
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
        const items = answers.flat().map(({ name, number }) => status(name, number));
        const all = items.reduce((held, _, n) => read(held, items.slice(0, n + 1), start), fold());
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
