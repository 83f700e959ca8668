import { describe, expect, it } from "vitest";
import { patched } from "../../src/page/live.js";
import { ageText, words } from "../../src/page/words.js";

describe("the texts of the page", () => {
  it("have the same placeholders in both languages", () => {
    const placeholders = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(([one]) => one).sort();
    for (const [word, [english, chinese]] of Object.entries(words))
      expect([word, chinese.length > 0, placeholders(chinese)]).toEqual([word, true, placeholders(english)]);
  });

  it("tell ages in the largest unit that is over, and none of what is ahead", () => {
    const now = Date.parse("2026-07-01T12:00:00Z");
    expect(ageText("2026-07-01T11:59:30Z", now)).toMatch(/^30 ?s/);
    expect(ageText("2026-07-01T10:30:00Z", now)).toMatch(/^1 ?h/);
    expect(ageText("2026-06-28T11:00:00Z", now)).toMatch(/^3 ?d/);
    expect(ageText("2026-07-01T12:00:09Z", now)).toMatch(/^0 ?s/);
    expect(ageText(null, now)).toBe("never");
  });
});

describe("a patched document", () => {
  it("is another where it changed, and the same object where it did not", () => {
    const before = { a: { x: 1, gone: 2 }, b: { y: 1 } };
    const after = patched(before, { a: { x: 3, gone: null } });
    expect(after).toEqual({ a: { x: 3 }, b: { y: 1 } });
    expect((after as typeof before).b).toBe(before.b);
  });
});
