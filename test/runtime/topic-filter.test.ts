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
    ["a/#", "ab", false],
    ["a+", "ab", false],
    ["a/+/c", "a//c", true],
    ["a/+", "a/#", false],
    ["a/+/#", "a/b", true],
    ["a", "a/#", false],
    ["a/#", "a/#", true],
  ])("%s matches %s: %s", (filter, topic, matches) => expect(filterCovers(filter, topic)).toBe(matches));

  /** The rule of MQTT 5, section 4.7, level by level. */
  function coversByLevels(filter: string, asked: string): boolean {
    if (asked.startsWith("$") && !filter.startsWith("$")) return false;
    const [levels, others] = [filter.split("/"), asked.split("/")];
    for (const [n, level] of levels.entries()) {
      if (level === "#") return true;
      const other = others[n];
      if (other === undefined || other === "#" || (level !== "+" && level !== other)) return false;
    }
    return others.length === levels.length;
  }

  it("covers what it covers level by level", () => {
    const level = fc.constantFrom("a", "ab", "", "+", "a+", "$a");
    const text = fc
      .tuple(fc.array(level, { minLength: 1, maxLength: 5 }), fc.boolean())
      .map(([levels, open]) => [...levels, ...(open ? ["#"] : [])].join("/"));
    fc.assert(
      fc.property(text, text, (filter, asked) => {
        expect(filterCovers(filter, asked)).toBe(coversByLevels(filter, asked));
      }),
      { numRuns: 20_000 },
    );
  });

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
