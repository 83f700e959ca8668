import { describe, expect, it } from "vitest";
import { addressTable } from "../../src/simulator/addresses.js";
import { FaultPlan, type FaultSpec } from "../../src/simulator/faults.js";
import { Asking, hourMs, json, list, matching, minuteMs, object } from "./asking.js";

const code = "GH-0001";

/** A platform with one armed fault, and what a POST of "open" to the left skylight got and did. */
function posted(fault: FaultSpec) {
  const asking = new Asking({ faults: [fault] });
  const decision = asking.post(code, "101", "10010");
  return { asking, decision, register: asking.control.trueState(code, "101").value };
}

describe("answers that go wrong", () => {
  it.each<[FaultSpec, Record<string, unknown>, string]>([
    [{ fault: "reset" }, { cut: "before" }, "10001"],
    [{ fault: "reset", when: "after" }, { cut: "after" }, "10010"],
    [{ fault: "timeout" }, { delayMs: Infinity, cut: null }, "10001"],
    [{ fault: "timeout", when: "after" }, { delayMs: Infinity, cut: null }, "10010"],
    [{ fault: "truncated" }, { cut: "during", status: 200 }, "10010"],
    [{ fault: "empty" }, { status: 200, body: "" }, "10010"],
    [{ fault: "slow", delay: 7000 }, { status: 200, delayMs: 7000 }, "10010"],
    [{ fault: "html" }, { status: 200 }, "10001"],
    [{ fault: "html", status: 503, when: "after" }, { status: 503 }, "10010"],
    [{ fault: "http_status", status: 502 }, { status: 502 }, "10001"],
    [{ fault: "unauthorized" }, { status: 401 }, "10001"],
    [{ fault: "unauthorized", status: 403, when: "after" }, { status: 403 }, "10010"],
    [{ fault: "redirect" }, { status: 307 }, "10001"],
    [{ fault: "throttle", retry_after: 90_000 }, { status: 429, headers: { "retry-after": "90" } }, "10001"],
    [{ fault: "body_code" }, { status: 200 }, "10001"],
    [{ fault: "body_code", when: "after" }, { status: 200 }, "10010"],
  ])("%o", (fault, expected, register) => {
    const { decision, register: held } = posted(fault);
    expect(decision).toMatchObject(expected);
    expect(held).toBe(register);
  });

  it("a body code comes with its message and a request id", () => {
    const { decision } = posted({ fault: "body_code", code: 5001, message: "设备忙" });
    const body = { code: 5001, message: "设备忙", requestId: matching(/^[0-9a-f-]{36}$/) };
    expect(json(decision.body)).toMatchObject(body);
  });
});

describe("a controller that is slow or silent", () => {
  const delays = (fault: FaultSpec, other = false) => {
    const asking = new Asking({ controllers: 3, faults: [fault] });
    const of = other ? "GH-0003" : code;
    const query = { deviceCode: of, address: "101" };
    const delay = () => asking.decide({ path: "/api/get-value", query }).delayMs;
    return [asking.post(of, "101", "10010").delayMs, delay(), delay()];
  };

  it.each<[FaultSpec, number[]]>([
    [{ fault: "slow_controller", controller: code, delay: 1500 }, [1500, 1500, 1500]],
    [{ fault: "slow_controller", controller: code, delay: 1500, requests: "reads" }, [0, 1500, 1500]],
    [{ fault: "silent_controller", controller: code }, [Infinity, Infinity, Infinity]],
    [{ fault: "silent_controller", controller: code, requests: "posts" }, [Infinity, 0, 0]],
    [{ fault: "silent_controller", controller: code, requests: "reads", count: 1 }, [0, Infinity, 0]],
  ])("%o: its POSTs and reads alone", (fault, expected) => {
    expect(delays(fault)).toEqual(expected);
    expect(delays(fault, true)).toEqual([0, 0, 0]);
  });

  it.each<[FaultSpec["when"], string]>([
    [undefined, "10001"],
    ["after", "10010"],
  ])("a silent one with when %s holds %s after a POST", (when, held) => {
    const fault = { fault: "silent_controller", ...(when === undefined ? {} : { when }) } as const;
    expect(posted(fault).register).toBe(held);
  });

  it("the lists of the account answer", () => {
    const asking = new Asking({ controllers: 3, faults: [{ fault: "silent_controller" }] });
    expect(list(asking.get("/api/control/mqtt").data)).toHaveLength(3);
  });
});

it("a page of a list stands beside the count of all; a page size that is asked for is given", () => {
  const asking = new Asking({ controllers: 20, faults: [{ fault: "paged", value: 3, chance: 1 }] });
  const page = asking.get("/api/control/mqtt");
  expect([list(page.data).length, page.total]).toEqual([3, 20]);
  expect(list(asking.get("/api/control/mqtt", { pageSize: "500" }).data)).toHaveLength(20);
  expect(asking.get("/api/device", { dataType: "TEXT" })).toMatchObject({ total: 26 });
});

describe("a POST that is accepted", () => {
  it("and ignored: success, and the register never shows it", () => {
    const { asking, decision } = posted({ fault: "ignore" });
    expect(json(decision.body).code).toBe(200);
    expect(asking.pass(hourMs).read(code, "101")).toBe("10001");
    expect(asking.control.posts()[0]).toMatchObject({ accepted: true, effect: "ignored_by_fault" });
  });

  it("and done, and set back to what the register held before", () => {
    const { asking } = posted({ fault: "revert", delay: 40_000 });
    expect(asking.pass(39_000).read(code, "101")).toBe("10010");
    expect(asking.pass(2_000).read(code, "101")).toBe("10001");
    expect(asking.control.held(code, "101").at(-1)?.by).toBe("revert");
  });

  it("and done a second time later, over whatever came between", () => {
    const { asking } = posted({ fault: "twice", delay: minuteMs });
    expect(asking.pass(30_000).read(code, "101")).toBe("10010");
    asking.control.moveByHand(code, "101", "10001");
    expect(asking.pass(30_000).read(code, "101")).toBe("10010");
    expect(asking.control.posts()).toHaveLength(1);
  });

  it("while the device goes offline between check and POST", () => {
    const asking = new Asking({ faults: [{ fault: "offline_at_post", for: minuteMs, count: 1 }] });
    const status = () => asking.get("/api/mqtt-client-status", { deviceCode: code });
    expect(status()).toMatchObject({ data: { status: 1 } });
    expect(json(asking.post(code, "101", "10010").body).code).toBe(200);
    expect(status()).toMatchObject({ data: { status: 0 } });
    expect(asking.control.posts()[0]?.effect).toBe("offline");
    asking.pass(minuteMs);
    expect(status()).toMatchObject({ data: { status: 1 } });
    expect(asking.read(code, "101")).toBe("10001");
  });
});

describe("reads that lie", () => {
  it("a wrong read-back shows another value of the kind, or the one given", () => {
    const wrong = new Asking({ faults: [{ fault: "wrong_read_back" }] });
    expect(wrong.read(code, "101")).not.toBe("10001");
    expect(wrong.read(code, "101")).toBe("10001");
    const given = new Asking({ faults: [{ fault: "wrong_read_back", value: "00000" }] });
    expect(given.read(code, "101")).toBe("00000");
  });

  it.each(["stale_read_back", "stale_group"] as const)(
    "%s shows an older value, a read of the device does not",
    (fault) => {
      const asking = new Asking({ faults: [{ fault, delay: minuteMs, chance: 1 }] });
      const type = { deviceCode: code, deviceTypeId: "2" };
      const stale = () =>
        fault === "stale_group"
          ? object(asking.get("/api/set-value/flush", type).data)["101"]
          : asking.read(code, "101", "0");
      asking.pass(2 * minuteMs).post(code, "101", "10010");
      asking.pass(minuteMs - 1);
      expect(stale()).toBe("10001");
      expect(asking.read(code, "101")).toBe("10010");
      asking.pass(1);
      expect(stale()).toBe("10010");
    },
  );

  it("a busy device answers get-value, and nothing else, with a code and a request id", () => {
    const asking = new Asking({ faults: [{ fault: "busy", code: 503, controller: code, chance: 1 }] });
    const answer = asking.get("/api/get-value", { deviceCode: code, address: "101" });
    expect(answer).toMatchObject({ code: 503, message: "设备忙" });
    expect(answer.requestId).toBeTypeOf("string");
    const group = asking.get("/api/set-value/flush", { deviceCode: code, deviceTypeId: "2" });
    expect(group).toMatchObject({ code: 200, data: { "101": "10001" } });
    expect(asking.read("GH-0003", "101")).toBe("10001");
  });
});

describe("events", () => {
  it("somebody moves something now and then, at the given rate", () => {
    const asking = new Asking({ controllers: 1, faults: [{ fault: "moved_by_hand", per_hour: 12 }] });
    asking.pass(100 * hourMs).control.posts();
    const moves = [...addressTable("C001").keys()]
      .flatMap((address) => asking.control.held(code, address))
      .filter((held) => held.by === "hand");
    expect(moves.length).toBeGreaterThan(1000);
    expect(moves.length).toBeLessThan(1400);
  });

  it("a storm closes what stands open, leaves the register of automatic ones, and blows", () => {
    const asking = new Asking();
    asking.post(code, "101", "10010");
    asking.post(code, "103", "11000");
    asking.pass(5 * minuteMs).control.fault({ fault: "storm", for: 20 * minuteMs });
    expect(asking.read(code, "101")).toBe("10001");
    expect(asking.read(code, "103")).toBe("11000");
    expect(asking.control.held(code, "101").at(-1)?.by).toBe("storm");
    expect(asking.pass(5 * minuteMs).number("WS-0001", "windspeed")).toBeGreaterThan(14);
    expect(asking.level(code, "103")).toBe(0);
    expect(asking.read("GH-0003", "101")).toBe("10001");
    expect(asking.pass(20 * minuteMs).number("WS-0001", "windspeed")).toBeLessThan(14);
  });
});

describe("when a fault hits", () => {
  const target = { host: "realtime", operation: "set-value", controller: code, address: "101" } as const;

  it.each<[string, FaultSpec, number]>([
    ["once where it names nothing", { fault: "reset" }, 1],
    ["the operation it names", { fault: "reset", operation: "set-value" }, 1],
    ["no other operation", { fault: "reset", operation: "get-value" }, 0],
    ["the controller it names", { fault: "reset", controller: code }, 1],
    ["no other controller", { fault: "reset", controller: "GH-0003" }, 0],
    ["no other address", { fault: "reset", address: "103" }, 0],
    ["no other host", { fault: "reset", host: "business" }, 0],
    ["nothing before its time", { fault: "reset", at: 10 }, 0],
    ["nothing without a chance", { fault: "reset", chance: 0 }, 0],
    ["nothing of another sort", { fault: "ignore" }, 0],
    ["as often as its count", { fault: "reset", count: 3 }, 3],
    ["without end with a chance", { fault: "reset", chance: 1 }, 10],
    ["without end within its duration", { fault: "reset", for: 7 }, 7],
  ])("it hits %s", (_when, spec, times) => {
    const book = new FaultPlan(1);
    book.arm(spec, 0);
    const hits = Array.from({ length: 10 }, (_, now) => book.take(["reset"], target, now)).filter(Boolean);
    expect(hits).toHaveLength(times);
  });

  it("a chance hits about that share of the requests", () => {
    const book = new FaultPlan(1);
    book.arm({ fault: "reset", chance: 0.25 }, 0);
    const hits = Array.from({ length: 4000 }, () => book.take(["reset"], target, 0)).filter(Boolean).length;
    expect(hits / 4000).toBeCloseTo(0.25, 1);
  });

  it("clearing the faults disarms all and brings everything back", () => {
    const asking = new Asking({
      faults: [
        { fault: "ignore", chance: 1 },
        { fault: "moved_by_hand", per_hour: 3600 },
      ],
    });
    void asking.control.hostDown("both", "hang");
    asking.control.push("silent");
    void asking.control.clearFaults();
    asking.pass(hourMs).post(code, "101", "10010");
    expect(asking.read(code, "101")).toBe("10010");
    expect(asking.state.pushMode).toBe("normal");
    expect(asking.control.held(code, "101")).toHaveLength(2);
  });
});
