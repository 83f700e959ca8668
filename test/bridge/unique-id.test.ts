import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { uniqueId } from "../../src/bridge/unique-id.js";
import { hash8 } from "../../src/greenhouse/ids.js";
import { validId } from "../support/folding.js";

const never = () => false;

describe("a unique id", () => {
  it.each<[string, string, (id: string) => boolean, string]>([
    ["gh-1", "GH-1", never, "gh-1"],
    ["bridge", "Bridge", never, `bridge_${hash8("Bridge")}`],
    ["gh-1", "GH-1", (id) => id === "gh-1", `gh-1_${hash8("GH-1")}`],
    ["x".repeat(64), "X", (id) => id.length === 64 && !id.includes("_"), `${"x".repeat(55)}_${hash8("X")}`],
  ])("%s wanted by %s", (wanted, raw, isTaken, id) => {
    expect(uniqueId(wanted, raw, isTaken)).toBe(id);
  });

  it("is always free, valid and made of the text alone", () => {
    const wanted = fc.stringMatching(/^[a-z0-9_-]{1,64}$/);
    fc.assert(
      fc.property(wanted, fc.string({ minLength: 1 }), fc.nat({ max: 4 }), (id, raw, refusals) => {
        const taken = new Set<string>();
        const take = (one: string) => {
          if (taken.has(one) || taken.size >= refusals) return false;
          taken.add(one);
          return true;
        };
        const given = uniqueId(id, raw, take);
        expect(given).toMatch(validId);
        expect(taken.has(given)).toBe(false);
        const again = uniqueId(id, raw, (one) => taken.has(one));
        expect(again).toBe(given);
      }),
    );
  });
});
