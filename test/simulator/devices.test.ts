import { describe, expect, it } from "vitest";
import { Asking, hourMs, json, minuteMs } from "./asking.js";

const code = "GH-0001";

describe("a value sent to an address", () => {
  it("shows in the register at once and in the device after its travel", () => {
    const asking = new Asking();
    asking.post(code, "101", "10010");
    expect(asking.read(code, "101")).toBe("10010");
    expect(asking.level(code, "101")).toBe(0);
    expect(asking.pass(45_000).level(code, "101")).toBeCloseTo(0.5, 5);
    expect(asking.control.trueState(code, "101").isMoving).toBe(true);
    expect(asking.pass(45_000).level(code, "101")).toBe(1);
    expect(asking.control.trueState(code, "101").isMoving).toBe(false);
  });

  it("starts its motor once each time it begins to run or turns round", () => {
    const asking = new Asking();
    const starts = () => asking.control.trueState(code, "101").starts;
    expect(starts()).toEqual([0]);
    asking.post(code, "101", "10010");
    asking.pass(45_000).post(code, "101", "10010");
    expect(starts()).toEqual([1]);
    asking.pass(10_000).post(code, "101", "10001");
    expect(starts()).toEqual([2]);
    asking.pass(hourMs).post(code, "101", "10001");
    expect(starts()).toEqual([2]);
  });
});

describe("a position", () => {
  it("is answered with success and ignored without 10100 before it", () => {
    const asking = new Asking();
    expect(json(asking.post(code, "101", "45").body).code).toBe(200);
    expect(asking.pass(minuteMs).read(code, "101")).toBe("10001");
    expect(asking.control.posts().at(-1)).toMatchObject({
      accepted: true,
      effect: "ignored_no_position_mode",
    });
  });

  it("reads how far it is where the dialect shows the travel", () => {
    const asking = new Asking({ dialect: { positionReads: "travelling" } });
    asking.post(code, "101", "10100");
    asking.post(code, "101", "100");
    expect(asking.pass(45_000).read(code, "101")).toBe("50");
    expect(asking.pass(45_000).read(code, "101")).toBe("100");
  });
});

it("an address goes on reading the mode after a degree where the dialect says so, and moves all the same", () => {
  const asking = new Asking({ dialect: { positionReads: "mode" } });
  asking.post(code, "101", "10100");
  asking.post(code, "101", "100");
  expect(asking.pass(90_000).read(code, "101")).toBe("10100");
  expect(asking.control.held(code, "101").at(-1)?.value).toBe("100");
  for (const value of ["10010", "10001"]) {
    asking.post(code, "101", value);
    expect(asking.read(code, "101")).toBe(value);
  }
  asking.post(code, "108", "10100");
  asking.post(code, "109", "40");
  expect(asking.read(code, "109")).toBe("40");
});

describe("the supplemental light", () => {
  it("ignores everything before 1010 came once", () => {
    const asking = new Asking();
    asking.post(code, "220", "1100");
    expect(asking.read(code, "220")).toBe("1001");
    expect(asking.control.posts().at(-1)?.effect).toBe("ignored_before_on");
    asking.post(code, "220", "1010");
    asking.post(code, "220", "1001");
    asking.post(code, "220", "1100");
    expect(asking.read(code, "220")).toBe("1100");
  });

  it("wants 1010 again after each 1001 where the dialect says so", () => {
    const asking = new Asking({ dialect: { lightWants: "after_off" } });
    for (const value of ["1010", "1001", "1100"]) asking.post(code, "220", value);
    expect(asking.read(code, "220")).toBe("1001");
  });
});

describe("automatic", () =>
  it("moves the device by the climate and never changes the register", () => {
    const asking = new Asking();
    asking.post(code, "101", "11000");
    const levels = new Set<number>();
    for (let n = 0; n < 48; n++) {
      levels.add(asking.pass(30 * minuteMs).level(code, "101"));
      expect(asking.read(code, "101")).toBe("11000");
    }
    expect(levels.size).toBeGreaterThan(2);
    expect(asking.control.held(code, "101").map((held) => held.value)).toEqual(["10001", "11000"]);
  }));

describe("irrigation in rotation", () => {
  it("ends by itself and then reads off", () => {
    const asking = new Asking();
    asking.post(code, "210", "11111111");
    expect(asking.pass(29 * minuteMs).read(code, "210")).toBe("11111111");
    expect(asking.pass(minuteMs).read(code, "210")).toBe("1001");
    expect(asking.control.held(code, "210").at(-1)?.by).toBe("rotation_end");
  });
});

describe("the record of what happened", () => {
  it("keeps no more than the newest POSTs and values", () => {
    const asking = new Asking();
    for (let n = 0; n < 21_000; n++) asking.post(code, "150", n % 2 === 0 ? "1010" : "1001");
    expect(asking.control.posts()).toHaveLength(20_000);
    expect(asking.control.held(code, "150")).toHaveLength(1_000);
  });
});
