import { describe, expect, it } from "vitest";
import { parseFaults } from "../../src/simulator/faults.js";

describe("a fault file", () => {
  it("is a list of faults with durations as text or milliseconds", () => {
    const file = {
      faults: [
        { fault: "late", controller: "GH-0001", address: 101, delay: "1.5m", chance: 0.1 },
        { fault: "host_down", host: "realtime", how: "hang", at: 500, for: "2h" },
        { fault: "throttle", retry_after: "30s", operation: "sensor-data", count: 3 },
        { fault: "bad_sensor", sensor: "空气温度", value: null },
      ],
    };
    expect(parseFaults(file)).toEqual({
      errors: [],
      faults: [
        { fault: "late", controller: "GH-0001", address: "101", delay: 90_000, chance: 0.1 },
        { fault: "host_down", host: "realtime", how: "hang", at: 500, for: 7_200_000 },
        { fault: "throttle", retry_after: 30_000, operation: "sensor-data", count: 3 },
        { fault: "bad_sensor", sensor: "空气温度", value: null },
      ],
    });
  });

  it("may be the bare list", () =>
    expect(parseFaults([{ fault: "reset" }]).faults).toEqual([{ fault: "reset" }]));

  it.each<[unknown, string]>([
    [{ fault: "resets" }, "faults[0].fault: expected one of slow,"],
    [{ fault: "reset", chanse: 1 }, "faults[0].chanse: expected one of the keys"],
    [{ fault: "reset", chance: 2 }, "faults[0].chance: expected a number from 0 to 1"],
    [{ fault: "slow", delay: "5 minutes" }, "faults[0].delay: expected a duration"],
    [{ fault: "slow", delay: -1 }, "faults[0].delay: expected a duration"],
    [{ fault: "reset", operation: "set" }, "faults[0].operation: expected one of sign-in,"],
    [{ fault: "reset", when: "during" }, "faults[0].when: expected one of before, after"],
    [{ fault: "bad_sensor", value: [] }, "faults[0].value: expected a text, number, boolean or null"],
    [{ fault: "reset", ["__proto__"]: 1 }, "faults[0].__proto__: expected one of the keys"],
    ["reset", "faults[0]: expected an object"],
  ])("%o is refused with its place and what was expected", (fault, error) => {
    const { faults, errors } = parseFaults({ faults: [fault] });
    expect(errors[0]?.slice(0, error.length)).toBe(error);
    expect(faults).toEqual([]);
  });

  it.each([[null], [3], ["x"], [{}], [{ faults: {} }]])("%o is no fault file", (json) =>
    expect(parseFaults(json).errors).toEqual(['expected {"faults": [...]}']),
  );

  it("names everything that is wrong and then arms nothing", () => {
    const { faults, errors } = parseFaults([
      { fault: "reset", when: "x", chance: 9 },
      { fault: "empty" },
      {},
    ]);
    expect(errors).toHaveLength(3);
    expect(faults).toEqual([]);
  });
});
