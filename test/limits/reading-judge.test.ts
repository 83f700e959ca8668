import { describe, expect, it } from "vitest";
import { type Bands, bandsOf, beyondOf } from "../../src/greenhouse/bands.js";
import { judgeSide, type Side, within } from "../../src/limits/readings/judge.js";

const minute = 60_000;
const frost: Bands = {
  limits: { low_low: 2, low: 5, high: 35, high_high: 40 },
  deadband: 1,
  delayMs: 10 * minute,
};

/** The level after each reading: `.` none, `w` a warning, `E` an error; readings are [minute, value]. */
function levels(side: Side, bands: Bands, story: readonly (readonly [at: number, value: number])[]): string {
  let state = within;
  return story
    .map(([at, value]) => {
      state = judgeSide(side, bands, state, value, at * minute);
      return { none: ".", near: "w", far: "E" }[state.level];
    })
    .join("");
}

describe("a reading beyond its limit", () => {
  it.each<[rule: string, side: Side, story: [number, number][], told: string]>([
    [
      "at the limit is within it",
      "low",
      [
        [0, 5],
        [20, 5],
      ],
      "..",
    ],
    [
      "is told once the delay is over by the times of measuring",
      "low",
      [
        [0, 4.9],
        [9, 4.8],
        [10, 4.8],
      ],
      "..w",
    ],
    [
      "counts as long also where it is read seldom",
      "low",
      [
        [0, 4],
        [30, 4],
      ],
      ".w",
    ],
    [
      "that was back meanwhile counts anew",
      "low",
      [
        [0, 4],
        [5, 5],
        [8, 4],
        [12, 4],
        [18, 4],
      ],
      "....w",
    ],
    [
      "is over one deadband inside of the limit",
      "low",
      [
        [0, 4],
        [10, 4],
        [11, 5.9],
        [12, 6],
      ],
      ".ww.",
    ],
    [
      "is over at once, also by the first value that is far inside",
      "low",
      [
        [0, 4],
        [10, 4],
        [11, 20],
      ],
      ".w.",
    ],
    [
      "becomes an error once it is beyond the outer limit for as long",
      "low",
      [
        [0, 4],
        [6, 1],
        [10, 1],
        [16, 1],
      ],
      "..wE",
    ],
    [
      "that falls beyond both at once is an error at once",
      "low",
      [
        [0, 1],
        [10, 1],
      ],
      ".E",
    ],
    [
      "is a warning again one deadband inside of the outer limit",
      "low",
      [
        [0, 1],
        [10, 1],
        [11, 2.9],
        [12, 3],
        [13, 6],
      ],
      ".EEw.",
    ],
    [
      "is mirrored above",
      "high",
      [
        [0, 36],
        [10, 41],
        [20, 41],
        [21, 39],
        [22, 35],
        [23, 34],
      ],
      ".wEww.",
    ],
    [
      "says nothing of the other side",
      "high",
      [
        [0, 1],
        [10, 1],
      ],
      "..",
    ],
    [
      "measured by a clock that was set back counts from the earlier time",
      "low",
      [
        [60, 4],
        [0, 4],
        [10, 4],
      ],
      "..w",
    ],
  ])("%s", (_, side, story, told) => expect(levels(side, frost, story)).toBe(told));

  it("without a delay is told with the first value", () =>
    expect(
      levels("low", { ...frost, delayMs: 0 }, [
        [0, 4],
        [1, 1],
      ]),
    ).toBe("wE"));

  it("has one limit where there is one", () => {
    const one = { ...frost, limits: { low_low: 2 } };
    expect(
      levels("low", one, [
        [0, 4],
        [10, 1],
        [20, 1],
        [21, 2.5],
        [22, 3],
      ]),
    ).toBe("..EE.");
    expect(
      levels("high", one, [
        [0, 99],
        [20, 99],
      ]),
    ).toBe("..");
  });

  it("is over at the deadband whatever binary fractions make of it", () =>
    expect(
      levels("high", { limits: { high: 0.3 }, deadband: 0.1, delayMs: 0 }, [
        [0, 0.4],
        [1, 0.2],
      ]),
    ).toBe("w."));

  it("without news is the same state", () => {
    const state = judgeSide("low", frost, within, 4, 0);
    expect(judgeSide("low", frost, state, 4.5, minute)).toBe(state);
    expect(judgeSide("high", frost, within, 20, 0)).toBe(within);
  });
});

describe("the limits of a sensor", () => {
  const air = { kind: "temperature", unit: "°C" } as const;
  const byKind = { temperature: { low: 5, high: 35, delay: 10 * minute } };

  it.each([
    [
      "are those of its kind",
      undefined,
      { limits: { low: 5, high: 35 }, deadband: 0.5, delayMs: 10 * minute },
    ],
    [
      "are its own, key by key",
      { low: 8, deadband: 2 },
      { limits: { low: 8, high: 35 }, deadband: 2, delayMs: 10 * minute },
    ],
    [
      "can be fewer than those of its kind",
      { high: false },
      { limits: { low: 5 }, deadband: 0.5, delayMs: 10 * minute },
    ],
    ["can be none", false, null],
    ["are none where no number is left", { low: false, high: false }, null],
  ] as const)("%s", (_, own, bands) => expect(bandsOf(air, own, byKind)).toEqual(bands));

  it("are none where nobody says so, and of an average only where it is asked for by name", () => {
    expect(bandsOf({ kind: "humidity", unit: "%" }, undefined, byKind)).toBeNull();
    expect(bandsOf({ ...air, average: true }, undefined, byKind)).toBeNull();
    expect(bandsOf({ ...air, average: true }, { low: 1 }, byKind)?.limits).toEqual({ low: 1 });
  });

  it("of what the crop feels say nothing of the air outdoors, but where it is asked for by name", () => {
    const wind = { kind: "wind_speed", unit: "m/s", outdoors: true } as const;
    expect(bandsOf({ ...air, outdoors: true }, undefined, byKind)).toBeNull();
    expect(bandsOf({ ...air, outdoors: true }, { low: 1 }, byKind)?.limits).toEqual({ low: 1 });
    expect(bandsOf(wind, undefined, { wind_speed: { high: 14 } })?.limits).toEqual({ high: 14 });
  });

  it("have a deadband in the unit of the reading, which leaves room between them", () => {
    const deadband = (unit: string, high = 90) =>
      bandsOf({ kind: "temperature", unit }, { low: 40, high }, {})?.deadband;
    expect([deadband("°C"), deadband("°F"), deadband("°C", 40.4)]).toEqual([0.5, 0.9, expect.closeTo(0.2)]);
    expect(bandsOf({ kind: "illuminance", unit: "klx" }, { high: 80 }, {})?.deadband).toBe(1);
  });

  it("colour a value at once", () =>
    expect([1, 3, 20, 36, 50].map((value) => beyondOf(frost, value))).toEqual([
      ...["low_low", "low", null, "high", "high_high"],
    ]));
});
