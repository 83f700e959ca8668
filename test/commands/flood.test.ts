import { describe, expect, it } from "vitest";
import { Allowances } from "../../src/commands/flood.js";

describe("the allowance of a target", () => {
  it("is 60 in any minute: one more has its place when the oldest is a minute old", () => {
    const allowances = new Allowances();
    const taken = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, n) => allowances.take("fan", from + n)).filter(Boolean).length;
    expect(taken(0, 200)).toBe(60);
    expect(taken(59_990, 60_000)).toBe(0);
    expect(taken(60_000, 60_010)).toBe(10);
    expect(taken(60_010, 60_200)).toBe(50);
  });

  it("is not used up by what is refused for it", () => {
    const allowances = new Allowances();
    for (let at = 0; at < 120_000; at += 10) allowances.take("fan", at);
    expect(allowances.take("fan", 120_000)).toBe(true);
  });

  it("is each target's own", () => {
    const allowances = new Allowances();
    for (let n = 0; n < 100; n += 1) allowances.take("fan", 0);
    expect(allowances.take("roof", 0)).toBe(true);
  });

  it("of names without end is forgotten when it is over, and shared by those beyond a thousand", () => {
    const allowances = new Allowances(1_000);
    for (let n = 0; n < 1_000; n += 1) allowances.take(`invented ${n}`, 0);
    const shared = Array.from({ length: 100 }, (_, n) => allowances.take(`more ${n}`, 1)).filter(Boolean);
    expect(shared).toHaveLength(60);
    const later = Array.from({ length: 100 }, (_, n) => allowances.take(`more ${n}`, 60_001)).filter(Boolean);
    expect(later).toHaveLength(100);
  });
});
