import { expect, it } from "vitest";
import { dayBefore, drawnSpan, limitsOf } from "../../src/page/span.js";

const limits = limitsOf({ low_low: 0, low: 5, high: 35, high_high: 40 });

it.each([
  ["a calm day shows the limits that are near", [20, 20.2], 5, [5, 35]],
  ["a day at the upper limit shows the outer one, too", [33, 34], 5, [33, 40]],
  ["a day of wide swings keeps what lies as far as it swings", [8, 28], 5, [0, 35]],
  ["values beyond a limit stay where they are", [38, 47], 5, [35, 47]],
  ["what is far from every limit is drawn alone", [90, 91], 5, [88, 93]],
])("%s", (_, values, least, span) => {
  expect(drawnSpan(values, least, limits)).toEqual(span);
});

it("noise of two tenths does not fill the height, and nothing is drawn below zero that was never there", () => {
  expect(drawnSpan([20, 20.2], 5)).toEqual([17.6, 22.6]);
  expect(drawnSpan([0, 10], 1_000)).toEqual([0, 1_000]);
  expect(drawnSpan([-1, 0], 5)).toEqual([-3, 2]);
  expect(drawnSpan([7, 7], 0)).toEqual([6.5, 7.5]);
  expect(drawnSpan([null], 5)).toBeNull();
});

it("the day before is drawn at the same time of day, also where it was asked for a little later", () => {
  const curves = (since: string, points: readonly (number | null)[]) => ({
    ...{ since, step_s: 60, sensors: { air: points } },
  });
  const shown = curves("2026-03-02T08:00:00.000Z", [20, null, 22, 23]);
  const before = (since: string, points: readonly (number | null)[]) =>
    dayBefore("air", shown, curves(since, points));
  expect(before("2026-03-01T08:00:00.000Z", [10, 11, null, 13])).toEqual([10, 11, null, 13]);
  expect(before("2026-03-01T08:01:00.000Z", [11, 12, 13, 14])).toEqual([null, 11, 12, 13]);
  expect(dayBefore("soil", shown, shown)).toEqual([]);
});
