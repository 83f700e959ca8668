import { describe, expect, it } from "vitest";
import { Asking, hourMs, json, minuteMs } from "./asking.js";

const code = "GH-0001";

describe("a value sent to an address", () => {
  it("shows in the register at once and in the device after its travel; each turn starts the motor once", () => {
    const asking = new Asking();
    const starts = () => asking.control.trueState(code, "101").starts;
    expect(starts()).toEqual([0]);
    asking.post(code, "101", "10010");
    expect(asking.read(code, "101")).toBe("10010");
    expect(asking.level(code, "101")).toBe(0);
    expect(asking.pass(45_000).level(code, "101")).toBeCloseTo(0.5, 5);
    expect(asking.control.trueState(code, "101").isMoving).toBe(true);
    asking.post(code, "101", "10010");
    expect(starts()).toEqual([1]);
    expect(asking.pass(45_000).level(code, "101")).toBe(1);
    expect(asking.control.trueState(code, "101").isMoving).toBe(false);
    for (const sent of ["10001", "10001"]) {
      asking.post(code, "101", sent);
      expect(starts()).toEqual([2]);
      asking.pass(hourMs);
    }
  });

  it("that is a degree is answered with success and ignored without 10100 before it", () => {
    const asking = new Asking();
    expect(json(asking.post(code, "101", "45").body).code).toBe(200);
    expect(asking.pass(minuteMs).read(code, "101")).toBe("10001");
    const ignored = { accepted: true, effect: "ignored_no_position_mode" };
    expect(asking.control.posts().at(-1)).toMatchObject(ignored);
  });

  it.each([
    ["how far it is where the dialect shows the travel", "travelling", "50", "100"],
    ["the mode still where the dialect says so, and moves all the same", "mode", "10100", "10100"],
  ] as const)("that is a degree reads %s", (_, positionReads, halfway, there) => {
    const asking = new Asking({ dialect: { positionReads } });
    for (const value of ["10100", "100"]) asking.post(code, "101", value);
    expect(asking.pass(45_000).read(code, "101")).toBe(halfway);
    expect(asking.pass(45_000).read(code, "101")).toBe(there);
    expect(asking.control.held(code, "101").at(-1)?.value).toBe("100");
    asking.post(code, "101", "10001");
    expect(asking.read(code, "101")).toBe("10001");
    asking.post(code, "108", "10100");
    asking.post(code, "109", "40");
    if (positionReads === "mode") expect(asking.read(code, "109")).toBe("40");
  });
});

it.each([
  ["before 1010 came once", undefined, ["1100"], "1001"],
  ["no more once it came", undefined, ["1100", "1010", "1001", "1100"], "1100"],
  ["again after each 1001 where the dialect says so", "after_off", ["1010", "1001", "1100"], "1001"],
] as const)("the supplemental light ignores everything %s", (_, lightWants, values, shown) => {
  const asking = new Asking(lightWants && { dialect: { lightWants } });
  const effects = values.map((value) => {
    asking.post(code, "220", value);
    return asking.control.posts().at(-1)?.effect;
  });
  expect(asking.read(code, "220")).toBe(shown);
  expect(effects.at(-1) === "ignored_before_on").toBe(shown === "1001");
});

it("automatic moves the device by the climate and never changes the register", () => {
  const asking = new Asking();
  asking.post(code, "101", "11000");
  const levels = new Set<number>();
  for (let n = 0; n < 48; n++) {
    levels.add(asking.pass(30 * minuteMs).level(code, "101"));
    expect(asking.read(code, "101")).toBe("11000");
  }
  expect(levels.size).toBeGreaterThan(2);
  expect(asking.control.held(code, "101").map((held) => held.value)).toEqual(["10001", "11000"]);
});

it("irrigation in rotation ends by itself and then reads off", () => {
  const asking = new Asking();
  asking.post(code, "210", "11111111");
  expect(asking.pass(29 * minuteMs).read(code, "210")).toBe("11111111");
  expect(asking.pass(minuteMs).read(code, "210")).toBe("1001");
  expect(asking.control.held(code, "210").at(-1)?.by).toBe("rotation_end");
});

it("the record of what happened keeps no more than the newest POSTs and values", () => {
  const asking = new Asking();
  for (let n = 0; n < 21_000; n++) asking.post(code, "150", n % 2 === 0 ? "1010" : "1001");
  expect(asking.control.posts()).toHaveLength(20_000);
  expect(asking.control.held(code, "150")).toHaveLength(1_000);
});
