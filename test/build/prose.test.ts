import { describe, expect, it } from "vitest";
import { asSaid, cellsOf, englishHalf, judge, sentencesOf, wordsOf } from "../../build/prose.mjs";

/* What the check of the documents counts, and what it does not. */

const long = `The bridge ${"and ".repeat(24)}window.`;

describe("the check of the documents", () => {
  it("counts what has a letter or a digit as a word", () => expect(wordsOf("two words — | 3")).toBe(3));

  it("takes sentences from paragraphs and lists, and none from code, tables or headings", () =>
    expect(
      sentencesOf(
        "# A heading here\n\nOne is here. Two is\nhere.\n\n- Three is here\n\n```\nNot this one\n```\n\n| nor | this |\n",
      ),
    ).toEqual(["One is here.", "Two is here.", "Three is here"]));

  it("reads a link as its text", () =>
    expect(sentencesOf("See [the page](a/b.md#c).")).toEqual(["See the page."]));

  it("takes the cells of a table without its rule", () =>
    expect(cellsOf("| a | b c |\n| --- | --- |\n| d | `e f` |\n")).toEqual(["a", "b c", "d", "`e\u00a0f`"]));

  it.each([
    ["longSentences", long],
    ["passiveStarts", "The value is sent by the bridge."],
    ["passiveStarts", "Retained commands are refused."],
    ["blackWords", "What he may not see is as if it were not there."],
    ["fullCells", `| ${"word ".repeat(21)}|\n`],
  ] as const)("finds %s", (kind, text) => expect(judge([["page", text]])[kind]).toHaveLength(1));

  it.each([
    ["longSentences", "The bridge reads. The bridge sends."],
    ["passiveStarts", "The bridge sends the value."],
    ["passiveStarts", "The bridge is read-only now."],
    ["fullCells", "| `one two three four five six seven eight nine ten eleven twelve` of these |\n"],
  ] as const)("leaves alone what is none of %s", (kind, text) =>
    expect(judge([["page", text]])[kind]).toEqual([]),
  );

  it("reads a sentence of the program with one of its numbers, and takes a semicolon for its end", () =>
    expect(asSaid("found {1, plural, one {# window} other {# windows}}; run {2} again")).toBe(
      "found # windows. run {2} again",
    ));

  it("leaves out the Chinese half of a page", () =>
    expect(englishHalf("# A page\n\nWords.\n\n# 中文 一页\n")).toBe("# A page\n\nWords.\n\n"));
});
