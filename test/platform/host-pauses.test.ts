import { describe, expect, it } from "vitest";
import { isHostRefusing, noPauses, pauseHost } from "../../src/platform/host-pauses.js";

/**
 * What accounts hear of their host one after the other, as `3!` (the third is to wait) and `3` (it is answered); `+30` lets as many
 * seconds pass. Returns the words by which all were to wait, which they do for 60 s.
 */
function heard(accounts: number, story: string): string[] {
  const kept = noPauses<number>();
  const pauses: string[] = [];
  let now = 0;
  for (const [at, word] of story.split(" ").entries()) {
    if (word.startsWith("+")) now += Number(word) * 1_000;
    else if (
      isHostRefusing(kept, Number.parseInt(word, 10), word.endsWith("!") ? "refused" : "answered", {
        accounts,
        now,
      })
    ) {
      pauses.push(`${at}: ${word}`);
      pauseHost(kept, now + 60_000);
    }
  }
  return pauses;
}

describe("whether a host refuses all, or these accounts alone", () => {
  it.each<[string, number, string, string[]]>([
    ["one is always its own matter", 1, "1! 1! 1!", []],
    ["both of two", 2, "1! 2!", ["1: 2!"]],
    ["two of three", 3, "1! 2! 1! 2!", []],
    ["two of two hundred, again and again", 200, "1! 2! +5 1! 2! +5 1! 2!", []],
    ["three of four", 4, "1! 2! 3!", ["2: 3!"]],
    ["three of four within more than a minute", 4, "1! +40 2! +21 3!", []],
    ["refused often counts once", 4, "1! 1! 1! 2!", []],
    ["an answer since is evidence against it", 4, "1! 2! 1 3!", []],
    ["an answer of before is none", 4, "1 1! 2! 3!", ["3: 3!"]],
    ["what was under way when all paused brings no second pause", 4, "1! 2! 3! +1 4! 1!", ["2: 3!"]],
    [
      "who only waited for the others tries, and is refused",
      8,
      "1! 2! 3! 4! 5! 6! +60 7!",
      ["5: 6!", "7: 7!"],
    ],
    [
      "he is answered: for ten minutes nothing but a refusal of all counts",
      4,
      "1! 2! 3! +60 4 1! 2! 3! +60 1! 2! 3! +600 1! 2! 3!",
      ["2: 3!", "15: 3!"],
    ],
    ["for all ten minutes a refusal of all counts", 4, "1! 2! 3! +60 4 +1 1! 2! 3! 4!", ["2: 3!", "9: 4!"]],
    [
      "who was refused himself decides nothing after the pause",
      8,
      "1! 2! 3! 4! 5! 6! +60 1! +1 7",
      ["5: 6!"],
    ],
    [
      "what he hears while all pause is not the answer",
      8,
      "1! 2! 3! 4! 5! 6! +59 7 +1 7!",
      ["5: 6!", "9: 7!"],
    ],
  ])("%s", (_, accounts, story, expected) => {
    expect(heard(accounts, story)).toEqual(expected);
  });
});
