import { describe, expect, it } from "vitest";
import { notice, type NoticedFacts, noticedNothing } from "../../src/status/notices.js";
import type { ShapeReport } from "../../src/platform/counters.js";

const hour = 3_600_000;

const report = (over: Partial<ShapeReport> = {}): ShapeReport => ({
  operation: "sensor-data",
  problem: "no list of items",
  sample: ["code", "data"],
  count: 1,
  firstAt: 0,
  lastAt: 0,
  ...over,
});

/** What is told at each of several looks: `[monotonic ms, facts]`. */
function told(looks: readonly (readonly [number, Partial<NoticedFacts>])[]): readonly string[][] {
  let noticed = noticedNothing;
  return looks.map(([now, facts]) => {
    const all = { shapes: [], signIns: 0, contested: 0, isSignInRefused: false, ...facts };
    const { after, events } = notice(noticed, all, now, 1_700_000_000_000 + now);
    noticed = after;
    return events.map(({ type, facts: about }) => `${type} ${String(about?.["operation"] ?? "")}`.trim());
  });
}

const shape = "shape_unknown sensor-data";

describe("a session that somebody else keeps ending", () =>
  it("is told with the second token in a row, then once an hour while it goes on", () => {
    const looks = [
      [0, { contested: 0 }],
      [1_000, { contested: 1 }],
      [2_000, { contested: 2 }],
      [hour, { contested: 2 }],
      [2 * hour, { contested: 3 }],
    ] as const;
    expect(told(looks)).toEqual([[], ["session_contested"], [], [], ["session_contested"]]);
  }));

describe("an answer that cannot be read", () => {
  it("is told once, however often it comes", () => {
    const looks = [1, 2, 3].map((n) => [n * 1_000, { shapes: [report({ count: n * 100 })] }] as const);
    expect(told(looks)).toEqual([[shape], [], []]);
  });

  it("is told again after a day when it still comes, and not when it does not", () =>
    expect(
      told([
        [0, { shapes: [report({ count: 1 })] }],
        [25 * hour, { shapes: [report({ count: 1 })] }],
        [26 * hour, { shapes: [report({ count: 2 })] }],
        [27 * hour, { shapes: [report({ count: 3 })] }],
      ]),
    ).toEqual([[shape], [], [shape], []]));

  it("with other field names each time is one occurrence", () => {
    const shapes = Array.from({ length: 150 }, (_, n) => report({ sample: [`field-${n}`] }));
    expect(told([[0, { shapes }]])).toEqual([[shape]]);
  });

  it("of many kinds is told ten times an hour, and the rest when there is room", () => {
    const shapes = Array.from({ length: 25 }, (_, n) => report({ problem: `problem ${n}` }));
    const counts = told([
      [0, { shapes }],
      [hour - 1, { shapes }],
      [hour, { shapes }],
      [2 * hour, { shapes }],
      [3 * hour, { shapes }],
    ]).map((events) => events.length);
    expect(counts).toEqual([10, 0, 10, 5, 0]);
  });
});

describe("a refused sign-in", () => {
  const refused = (signIns: number) => ({ signIns, isSignInRefused: true });
  it.each([
    ["the first is told", [[0, refused(1)]], [1]],
    ["not while there is none", [[0, { signIns: 3 }]], [0]],
    [
      "once, as long as no other was sent",
      [
        [0, refused(1)],
        [hour, refused(1)],
      ],
      [1, 0],
    ],
    [
      "further ones at most every ten minutes",
      [
        [0, refused(1)],
        [10_000, refused(2)],
        [599_999, refused(4)],
        [600_000, refused(4)],
        [1_200_000, refused(5)],
      ],
      [1, 0, 0, 1, 1],
    ],
    [
      "at once again after it had worked",
      [
        [0, refused(1)],
        [10_000, { signIns: 2 }],
        [20_000, refused(3)],
      ],
      [1, 0, 1],
    ],
  ] as const)("%s", (_, looks, counts) => expect(told(looks).map((events) => events.length)).toEqual(counts));
});
