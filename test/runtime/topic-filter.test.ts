import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { filterCovers } from "../../src/runtime/mqtt.js";

describe("a topic filter", () => {
  it.each([
    ["a/#", "a", true],
    ["a/#", "a/b/c", true],
    ["a/+", "a", false],
    ["a/+", "a/", true],
    ["+/b", "a/b", true],
    ["+", "$SYS", false],
    ["#", "$SYS/a", false],
    ["$SYS/#", "$SYS/a", true],
    ["a/b", "a/b/c", false],
  ])("%s matches %s: %s", (filter, topic, matches) => expect(filterCovers(filter, topic)).toBe(matches));

  it("covers another only if it matches every topic the other matches", () => {
    const level = fc.constantFrom("a", "b", "", "+");
    const filter = fc
      .tuple(fc.array(level, { minLength: 1, maxLength: 4 }), fc.boolean())
      .map(([levels, open]) => {
        return open ? [...levels, "#"].join("/") : levels.join("/");
      });
    const topic = fc
      .array(fc.constantFrom("a", "b", "c", ""), { minLength: 1, maxLength: 6 })
      .map((parts) => parts.join("/"));
    fc.assert(
      fc.property(filter, filter, topic, (allowed, asked, some) => {
        if (filterCovers(allowed, asked) && filterCovers(asked, some))
          expect(filterCovers(allowed, some)).toBe(true);
      }),
      { numRuns: 5_000 },
    );
  });
});
