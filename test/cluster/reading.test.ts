import { errors } from "@nats-io/transport-node";
import { describe, expect, it } from "vitest";
import { batchOf, firstAnswer, withoutGaps } from "../../src/cluster/nats.js";
import { settled, VirtualClock } from "../support/virtual-clock.js";

const numbers = [1, 2, 5, 6, 7, 9];
const entry = (number: number) => ({
  number,
  subject: "file.x",
  operation: "",
  run: "r",
  data: Buffer.alloc(0),
});

/** Consumers that each lose the deliveries at those of their own positions, and the numbers at which they began. */
function consumers(losing: readonly (readonly number[])[]) {
  const began: number[] = [];
  async function* deliveries(from: number) {
    const lost = losing[began.length] ?? [];
    began.push(from);
    await Promise.resolve();
    const given = numbers.filter((number) => number >= from);
    for (const [at, number] of given.entries())
      if (!lost.includes(at + 1)) yield { count: at + 1, entry: entry(number) };
  }
  return { began, deliveries };
}

async function read({ deliveries }: ReturnType<typeof consumers>): Promise<readonly number[]> {
  const seen: number[] = [];
  for await (const { number } of withoutGaps(deliveries, 1)) seen.push(number);
  return seen;
}

describe("the reading of a stream", () => {
  it.each([
    ["small entries", { bytes: 50_000_000, messages: 100_000 }, 4_096],
    ["entries of some kB", { bytes: 10_000_000, messages: 1_000 }, 209],
    ["the largest entries", { bytes: 52_428_800, messages: 100 }, 8],
    ["none", { bytes: 0, messages: 0 }, 8],
  ])("asks for so many at once that they are not too much: %s", (_, state, batch) => {
    expect(batchOf(state)).toBe(batch);
  });

  it("takes what was purged for no gap", async () => {
    const made = consumers([]);
    expect(await read(made)).toEqual(numbers);
    expect(made.began).toEqual([1]);
  });

  it("is begun anew behind the last entry in its place where a link that was lost took some with it", async () => {
    const made = consumers([[3, 4], [2]]);
    expect(await read(made)).toEqual(numbers);
    expect(made.began).toEqual([1, 3, 6]);
  });

  it("fails where nothing comes in its place", async () => {
    await expect(read(consumers([[1]]))).rejects.toThrow("not given whole");
  });
});

describe("what may be asked more than once", () => {
  type Answer = "yes" | "no" | null;

  /** The delay in ms and the answer to each question; an Error is a refusal, and 3 s are the time-out. */
  async function asked(answers: readonly (readonly [ms: number, answer: Answer | Error])[]) {
    const clock = new VirtualClock();
    const given = [...answers];
    let questions = 0;
    const from = clock.monotonic();
    const found: { answer?: Answer; error?: string; at?: number } = {};
    const ask = () =>
      new Promise<Answer>((resolve, reject) => {
        questions += 1;
        const [ms, answer] = given.shift() ?? [3_000, new errors.TimeoutError()];
        clock.after(ms, () => (answer instanceof Error ? reject(answer) : resolve(answer)));
      });
    firstAnswer(clock, ask).then(
      (answer) => Object.assign(found, { answer, at: clock.monotonic() - from }),
      (error: unknown) => Object.assign(found, { error: String(error), at: clock.monotonic() - from }),
    );
    await clock.advance(10_000);
    await settled();
    return { ...found, questions };
  }
  const never = [3_000, new errors.TimeoutError()] as const;
  const refused = [0, new Error("no responders")] as const;

  it.each([
    ["an answer at once", [[5, "yes"]], { answer: "yes", at: 5, questions: 1 }],
    ["the first of which nobody got", [never, [5, "yes"]], { answer: "yes", at: 1_005, questions: 2 }],
    ["two that nobody got", [never, never, [5, "yes"]], { answer: "yes", at: 2_005, questions: 3 }],
    ["two that are refused", [refused, refused, [5, "yes"]], { answer: "yes", at: 2_005, questions: 3 }],
    ["one that is slow", [[2_900, "yes"], never, never], { answer: "yes", at: 2_900, questions: 3 }],
    ["nothing there", [[5, null]], { answer: null, at: 5, questions: 1 }],
    [
      "a slow one, which changed what the next one found",
      [
        [1_500, "yes"],
        [5, null],
      ],
      { answer: "yes", at: 1_500, questions: 2 },
    ],
    ["one that nobody got, and nothing there", [never, [5, null]], { answer: null, at: 3_000, questions: 2 }],
    ["none of which anybody got", [], { error: "TimeoutError: timeout", at: 3_000, questions: 3 }],
  ] as const)("is asked again each second until there is an answer: %s", async (_, answers, outcome) => {
    expect(await asked(answers)).toEqual(outcome);
  });
});
