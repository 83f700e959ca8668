import { expect } from "vitest";
import { Sentence } from "../../src/language/text.js";

/** Makes a sentence equal its English text, so that tests can write the text. */
expect.addEqualityTesters([
  (one: unknown, other: unknown) => {
    if (one instanceof Sentence && typeof other === "string") return one.toString() === other;
    if (typeof one === "string" && other instanceof Sentence) return one === other.toString();
    return undefined;
  },
]);

/** The same for matchers of parts of a text. */
for (const about of ["stringMatching", "stringContaining"] as const) {
  const own = expect[about];
  Object.assign(expect, {
    [about]: (part: string & RegExp) => {
      const matcher = Reflect.apply(own, expect, [part]) as { asymmetricMatch(other: unknown): boolean };
      const matches = matcher.asymmetricMatch.bind(matcher);
      return Object.assign(matcher, {
        asymmetricMatch: (other: unknown) => matches(other instanceof Sentence ? other.toString() : other),
      });
    },
  });
}
