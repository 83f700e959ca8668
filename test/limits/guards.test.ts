import { describe, expect, it } from "vitest";
import type { Guard } from "../../src/greenhouse/limits.js";
import type { Quality } from "../../src/greenhouse/model.js";
import { foldReading, type GuardState, holds, unjudged } from "../../src/limits/rules/guards.js";
import { guardSentence, shownBy } from "../../src/limits/rules/judge.js";
import { inChinese } from "../support/chinese.js";
import { guard } from "./bench.js";

type Value = string | number | boolean | null;
/** Seconds since the start, a value, and its quality. */
type Read = readonly [s: number, value: Value, quality?: Quality];

function after(one: Guard, reads: readonly Read[], from: GuardState = unjudged, mayActBlind = false) {
  let state = from;
  for (const [s, value, quality = "good"] of reads)
    state = foldReading(one, state, { values: [value], quality }, { mono: s * 1_000 }, mayActBlind);
  return state;
}

/** `0: 3, 60: 3 stale`: at 0 s a good 3, at 60 s one that is stale. */
const reads = (text: string): readonly Read[] =>
  [...text.matchAll(/(\d+): ([\d.]+|null)(?: (\w+))?/g)].map(([, s, value, quality]) => [
    Number(s),
    value === "null" ? null : Number(value),
    quality as Quality | undefined,
  ]);

const above = guard({ clearAfterMs: 60_000 });
const clear = "0: 3, 60: 3, ";

describe("above 12, clear_at 9, clear_after 60 s", () => {
  it.each<[string, string, boolean]>([
    ["without a kept state it begins as holding", "", true],
    ["a good value below clear_at does not let it go at once", "0: 3", true],
    ["it is let go after clear_after in one piece", clear, false],
    ["the limit itself is not above it", `${clear}61: 12`, false],
    ["it holds from above the limit", `${clear}61: 12.1`, true],
    ["between the two it goes on holding", `${clear}61: 13, 62: 10, 500: 10`, true],
    ["at clear_at it is no longer above it", `${clear}61: 13, 62: 9, 122: 9`, false],
    [
      "a value above clear_at in between begins clear_after anew",
      `${clear}61: 13, 62: 8, 100: 10, 110: 8, 160: 8`,
      true,
    ],
    ["a value that is not good holds, whatever it is", `${clear}61: 3 stale`, true],
    ["uncertain is not good", `${clear}61: 3 uncertain`, true],
    ["a blind time begins clear_after anew", `${clear}61: 13, 62: 8, 100: 8 stale, 110: 8, 160: 8`, true],
    [
      "what was clear before a blind time is clear with the first good value that is not between",
      `${clear}61: 3 stale, 62: 4`,
      false,
    ],
    ["between the two it is not, yet", `${clear}61: 3 stale, 62: 10`, true],
  ])("%s", (_, text, held) => expect(holds(after(above, reads(text)))).toBe(held));

  it.each<[string, Value, boolean]>([
    ["text where a number is needed is as bad as none", "calm", true],
    ["a number in text is one", " 3.5 ", false],
    ["digits of another base are no number", "0x3", true],
  ])("%s", (_, value, held) => expect(holds(after(above, [...reads(clear), [61, value]]))).toBe(held));
});

describe("other conditions", () => {
  it.each<[string, Partial<Guard>, Value, boolean]>([
    ["below is mirrored", { condition: { type: "below", limit: 5, clearAt: 5 } }, 4, true],
    ["at the limit it is not below", { condition: { type: "below", limit: 5, clearAt: 5 } }, 5, false],
    ["is compares words in any case", { condition: { type: "is", words: ["on", "storm"] } }, "STORM", true],
    ["is another word", { condition: { type: "is", words: ["on"] } }, "off", false],
    ["is_not holds for any other word", { condition: { type: "is_not", words: ["off"] } }, "auto", true],
    ["moving", { condition: { type: "moving" } }, true, true],
    ["at rest", { condition: { type: "moving" } }, false, false],
  ])("%s", (_, over, value, held) =>
    expect(holds(after(guard({ clearAfterMs: 0, ...over }), [[0, value]]))).toBe(held),
  );
});

describe("what a guard says of its limit", () => {
  it.each<[Guard["condition"], string, english: string, chinese: string]>([
    [
      { type: "is", words: ["yes"] },
      "yes",
      'weather/wind is yes, and the limit is "yes".',
      "风速 为 yes，限值为“yes”。",
    ],
    [
      { type: "is", words: ["on", "wet"] },
      "wet",
      'weather/wind is wet, and the limit is "on", "wet".',
      "风速 为 wet，限值为“开启”, “wet”。",
    ],
    [
      { type: "is_not", words: ["off"] },
      "auto",
      'weather/wind is auto, and the limit is anything but "off".',
      "风速 为 自动，限值为“关闭”以外的状态。",
    ],
  ])("%j", (condition, value, english, chinese) => {
    const one = guard({ condition });
    const said = guardSentence(one, after(one, [[0, value]]), true);
    expect(String(said)).toContain(`holds: ${english} Allowed: `);
    expect(inChinese(said)).toContain(`：${chinese}仍允许：`);
    expect(`${shownBy(one, after(one, [[0, value]]))}.`).toBe(english);
  });
});

describe("what a guard sends", () => {
  const closing = guard({ clearAfterMs: 0, sends: "close" });
  it.each<[string, string, GuardState["sending"]]>([
    ["is not called for by a start without a value", "0: null stale", "idle"],
    ["is called for once the condition begins on a good value", "0: 3, 1: 13", "due"],
    ["is not called for between the thresholds", "0: 10", "idle"],
    ["is not called for by a lost value", "0: 3, 1: 3 stale", "idle"],
    ["is over when the guard is let go", "0: 13, 1: 3", "idle"],
  ])("%s", (_, text, sending) => expect(after(closing, reads(text)).sending).toBe(sending));

  it("is called for by a lost value where the guard acts blind", () =>
    expect(after(closing, reads("0: 3 stale"), unjudged, true).sending).toBe("due"));

  it("is not called for again by what goes on holding", () => {
    const done: GuardState = { ...after(closing, reads("0: 13")), sending: "done" };
    expect(after(closing, reads("1: 10, 2: 14, 3: 14 stale, 4: 15"), done).sending).toBe("done");
  });
});

describe("a time in which nobody looked", () => {
  const one = guard({ clearAfterMs: 600_000 });
  const good = { values: [3], quality: "good" } as const;
  const held = after(one, [
    [0, 13],
    [10, 3],
  ]);

  it("does not count to what has to be good in one piece", () => {
    const watchedSince = 3_600_000;
    const woken = foldReading(one, held, good, { mono: watchedSince, watchedSince }, false);
    expect(holds(woken)).toBe(true);
    const almost = foldReading(one, woken, good, { mono: watchedSince + 599_999, watchedSince }, false);
    expect(holds(almost)).toBe(true);
    const over = foldReading(one, almost, good, { mono: watchedSince + 600_000, watchedSince }, false);
    expect(holds(over)).toBe(false);
  });

  it("before the condition ended changes nothing", () =>
    expect(holds(foldReading(one, held, good, { mono: 610_000, watchedSince: 5_000 }, false))).toBe(false));
});
