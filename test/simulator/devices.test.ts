import { describe, expect, it } from "vitest";
import { Asking, hourMs, json, minuteMs, object } from "./asking.js";

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

  it("shows in the register only after the lag of the device", () => {
    const asking = new Asking({ registerLagMs: 5000 });
    asking.post(code, "101", "10010");
    expect(asking.pass(4999).read(code, "101")).toBe("10001");
    expect(asking.pass(1).read(code, "101")).toBe("10010");
  });

  it("turns round where it is when a newer value comes half way", () => {
    const asking = new Asking();
    asking.post(code, "101", "10010");
    asking.pass(45_000).post(code, "101", "10001");
    expect(asking.pass(22_500).level(code, "101")).toBeCloseTo(0.25, 5);
    expect(asking.pass(30_000).level(code, "101")).toBe(0);
  });

  it("stops a motor where it is", () => {
    const asking = new Asking();
    asking.post(code, "300", "00000001");
    asking.pass(30_000).post(code, "300", "00000100");
    expect(asking.pass(hourMs).level(code, "300")).toBeCloseTo(0.4, 5);
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

  it("reaches the device faster with a speed-up", () => {
    const asking = new Asking({ speed: 60 });
    asking.post(code, "101", "10010");
    expect(asking.pass(1500).level(code, "101")).toBe(1);
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

  it("is ignored when 10100 went to another address", () => {
    const asking = new Asking();
    asking.post(code, "103", "10100");
    asking.post(code, "101", "45");
    expect(asking.read(code, "101")).toBe("10001");
  });

  it("is taken after 10100 at the same address and read back as the degree", () => {
    const asking = new Asking();
    asking.post(code, "101", "10100");
    expect(asking.read(code, "101")).toBe("10100");
    asking.post(code, "101", "45");
    expect(asking.read(code, "101")).toBe("45");
    expect(asking.pass(2 * minuteMs).level(code, "101")).toBeCloseTo(0.45, 5);
  });

  it("is ignored again once another mode was set", () => {
    const asking = new Asking();
    for (const value of ["10100", "45", "10010", "30"]) asking.post(code, "101", value);
    expect(asking.read(code, "101")).toBe("10010");
  });

  it("goes to its own address where the mode has one", () => {
    const asking = new Asking();
    asking.post(code, "109", "40");
    expect(asking.read(code, "109")).toBe("0");
    asking.post(code, "108", "10100");
    asking.post(code, "109", "40");
    expect(asking.read(code, "109")).toBe("40");
    expect(asking.pass(minuteMs).level(code, "109")).toBeCloseTo(0.4, 5);
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

  it("does not end what was commanded meanwhile", () => {
    const asking = new Asking();
    asking.post(code, "210", "11111111");
    asking.pass(minuteMs).post(code, "210", "1010");
    expect(asking.pass(hourMs).read(code, "210")).toBe("1010");
  });
});

describe("the record of what happened", () => {
  it("keeps every register value with its time and cause", () => {
    const asking = new Asking();
    const start = asking.now;
    asking.pass(1000).post(code, "101", "10010");
    asking.pass(1000);
    asking.control.moveByHand(code, "101", "10001");
    expect(asking.control.held(code, "101")).toEqual([
      { at: start, value: "10001", by: "initial" },
      { at: start + 1000, value: "10010", by: "command" },
      { at: start + 2000, value: "10001", by: "hand" },
    ]);
  });

  it("keeps real times of values at any speed", () => {
    const asking = new Asking({ speed: 600, startAt: Date.UTC(2020, 0, 1) });
    const at = asking.pass(1000).now;
    asking.post(code, "101", "10010");
    expect(asking.control.held(code, "101").at(-1)?.at).toBeCloseTo(at, 0);
  });

  it("logs each POST with its request id, also those that were refused", () => {
    const asking = new Asking();
    const answer = json(asking.post(code, "999", "1010").body);
    expect(answer.code).not.toBe(200);
    const [post] = asking.control.posts();
    expect(post).toMatchObject({
      at: asking.now,
      code,
      address: "999",
      accepted: false,
      effect: "not_processed",
    });
    expect(post?.requestId).toBe(answer.requestId);
  });

  it("keeps no more than the newest POSTs and values", () => {
    const asking = new Asking({ postLimit: 100, historyLimit: 10 });
    for (let n = 0; n < 1000; n++) asking.post(code, "150", n % 2 === 0 ? "1010" : "1001");
    expect(asking.control.posts()).toHaveLength(100);
    expect(asking.control.held(code, "150")).toHaveLength(10);
  });
});

describe("running statuses", () =>
  it("show the motors that run, with numbers that may repeat within one device", () => {
    const asking = new Asking();
    asking.post(code, "140", "11000");
    const { data } = asking.pass(minuteMs).get("/api/device_status", { deviceCode: code });
    const items = Array.isArray(data) ? data.map(object) : [];
    const status = (number: number) =>
      items.filter((item) => item.deviceTypeNumber === number).map((item) => item.status);
    expect([status(16), status(17), status(18), status(19)]).toEqual([[1], [1], [0], [0]]);
    expect(status(49)).toHaveLength(2);
  }));
