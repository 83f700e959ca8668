import { describe, expect, it } from "vitest";
import { slopeOf } from "./slope.js";

describe("the slope of a row of measurements", () => {
  it.each([
    ["a line", [0, 2, 4, 6], 2, 0],
    ["no growth", [5, 5, 5, 5], 0, 0],
    ["noise around no growth", [1, -1, 1, -1, 1], 0, 0.784],
    ["falling", [9, 6, 3], -3, 0],
  ])("of %s", (_name, values, value, margin) => {
    const slope = slopeOf(values.map((y, x) => ({ x, y })));
    expect(slope.value).toBeCloseTo(value, 6);
    expect(slope.margin).toBeCloseTo(margin, 2);
  });

  it("is not told from two points", () => expect(() =>
      slopeOf([
        { x: 0, y: 0 },
        { x: 1, y: 1 },
      ]),
    ).toThrow("three points"));
});
