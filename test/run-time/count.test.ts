import { describe, expect, it } from "vitest";
import { hasRunTime } from "../../src/greenhouse/actuator-kinds.js";
import { afterRead, isOn, nothingCounted, runTimeOf } from "../../src/run-time/watch.js";
import { unreadActuator } from "../../src/greenhouse/reduce.js";
import { actuator } from "../support/builders.js";
import { minute } from "../support/folding.js";

/** `[minute, 1 on, 0 off, null nobody can tell]` */
type Read = readonly [at: number, on: 0 | 1 | null, day?: string];

const counted = (reads: readonly Read[]) => {
  let state = nothingCounted(0, "2026-03-01");
  for (const [at, on, day = "2026-03-01"] of reads)
    state = afterRead(state, at * minute, on === null ? null : on === 1, day);
  const { on_s, starts, today_on_s, today_starts } = runTimeOf(state);
  return [on_s / 60, starts, today_on_s / 60, today_starts];
};

describe("how long it was on", () => {
  it.each<[rule: string, reads: Read[], minutes: number, starts: number]>([
    [
      "counts between two reads that both say so",
      [
        [0, 0],
        [1, 1],
        [3, 1],
        [5, 1],
        [6, 0],
      ],
      4,
      1,
    ],
    [
      "starts nothing where it was on before anybody looked",
      [
        [0, 1],
        [2, 1],
      ],
      2,
      0,
    ],
    [
      "counts nothing over a read that nobody can rely on",
      [
        [0, 1],
        [2, 1],
        [4, null],
        [60, 1],
        [61, 1],
      ],
      3,
      0,
    ],
    [
      "counts a read once",
      [
        [0, 1],
        [2, 1],
        [2, 1],
        [1, 1],
        [3, 1],
      ],
      3,
      0,
    ],
    [
      "counts each start",
      [
        [0, 0],
        [1, 1],
        [2, 0],
        [3, 1],
        [4, 0],
      ],
      0,
      2,
    ],
  ])("%s", (_, reads, minutes, starts) => expect(counted(reads)).toEqual([minutes, starts, minutes, starts]));

  it("begins anew each day, and goes on altogether", () =>
    expect(
      counted([
        [0, 0],
        [1, 1],
        [11, 1],
        [20, 1, "2026-03-02"],
        [22, 1, "2026-03-02"],
      ]),
    ).toEqual([21, 1, 11, 0]));

  it.each<[rule: string, last: Read]>([
    ["where nobody can tell any more", [900, null, "2026-03-02"]],
    ["where nothing was read since", [3, 1, "2026-03-02"]],
  ])("begins anew each day, also %s", (_, last) =>
    expect(counted([[0, 0], [1, 1], [3, 1], last])).toEqual([2, 1, 0, 0]),
  );

  it("says zero today also where the whole day was off", () =>
    expect(
      counted([
        [0, 0],
        [1, 1],
        [2, 1],
        [3, 0],
        [900, 0, "2026-03-02"],
      ]),
    ).toEqual([1, 1, 0, 0]));
});

describe("what counts as on", () => {
  const pump = unreadActuator(actuator({ kind: "irrigation" }));
  it.each([
    ["on", undefined, "good", true],
    ["rotation", undefined, "good", true],
    ["off", undefined, "good", false],
    ["auto", undefined, "good", null],
    ["auto", "on", "good", true],
    ["on", "off", "good", false],
    ["on", "unknown", "good", true],
    ["on", undefined, "stale", null],
    ["unknown", undefined, "good", null],
  ] as const)("%s, running %s, %s", (state, runs, quality, on) =>
    expect(isOn({ ...pump, state, quality, ...(runs && { runs }) })).toBe(on),
  );

  it("is asked of what runs, and of no window or motor", () =>
    expect(
      (["irrigation", "light", "fan_wet_curtain", "skylight", "motor"] as const).filter((kind) =>
        hasRunTime(kind),
      ),
    ).toEqual(["irrigation", "light", "fan_wet_curtain"]));
});
