import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { PlatformHost } from "../../src/greenhouse/ports.js";
import {
  admit,
  type Circuit,
  closedCircuit,
  openAfter,
  renewed,
  settle,
} from "../../src/platform/circuit.js";

/** Drives a circuit by hand: what was let through, and how it ended. */
function run(start: Circuit = closedCircuit) {
  let circuit = start;
  return {
    get state() {
      return circuit;
    },
    admit(host: PlatformHost, now: number, urgent = false) {
      const result = admit(circuit, host, now, urgent);
      circuit = result.circuit;
      return result.admission;
    },
    fail(host: PlatformHost, now: number, times = 1) {
      for (let n = 0; n < times; n += 1) circuit = settle(circuit, host, { type: "failed" }, now);
    },
    settle(host: PlatformHost, type: "answered" | "refused" | "challenged" | "abandoned", now: number) {
      circuit = settle(circuit, host, { type }, now);
    },
    hold(host: PlatformHost, ms: number, now: number) {
      circuit = settle(circuit, host, { type: "held", ms }, now);
    },
    renew() {
      circuit = renewed(circuit);
    },
  };
}

const go = { go: true, probe: false };
const probe = { go: true, probe: true };

describe("the circuit", () => {
  it("opens after 5 consecutive failures, and only then", () => {
    const drive = run();
    drive.fail("realtime", 0, openAfter - 1);
    expect(drive.admit("realtime", 1)).toEqual(go);
    drive.fail("realtime", 1);
    expect(drive.admit("realtime", 2)).toEqual({ go: false, because: "lost", retryInMs: 29_999 });
    expect(drive.admit("business", 2)).toEqual(go);
  });

  it("an answer between failures starts the count afresh, whatever it says", () => {
    for (const type of ["answered", "challenged"] as const) {
      const drive = run();
      drive.fail("realtime", 0, 4);
      drive.settle("realtime", type, 0);
      drive.fail("realtime", 0, 4);
      expect(drive.admit("realtime", 1)).toEqual(go);
    }
  });

  it("lets one probe through per 30 s, and no second one beside it", () => {
    const drive = run();
    drive.fail("realtime", 0, 5);
    expect(drive.admit("realtime", 30_000)).toEqual(probe);
    expect(drive.admit("realtime", 30_001)).toMatchObject({ go: false });
    drive.fail("realtime", 30_500);
    expect(drive.admit("realtime", 59_999)).toMatchObject({ go: false, retryInMs: 1 });
    expect(drive.admit("realtime", 60_000)).toEqual(probe);
  });

  it("a probe that is given up or never ends does not stop probing for ever", () => {
    const drive = run();
    drive.fail("realtime", 0, 5);
    drive.admit("realtime", 30_000);
    drive.settle("realtime", "abandoned", 31_000);
    expect(drive.admit("realtime", 60_000)).toEqual(probe);
    expect(drive.admit("realtime", 100_000)).toMatchObject({ go: false });
    expect(drive.admit("realtime", 150_000)).toEqual(probe);
  });

  it("both hosts share the probes and take turns while both are asked for", () => {
    const drive = run();
    drive.fail("realtime", 0, 5);
    drive.fail("business", 0, 5);
    const probed: PlatformHost[] = [];
    for (let now = 1_000; now <= 180_000; now += 1_000) {
      for (const host of ["realtime", "business"] as const) {
        if (!drive.admit(host, now).go) continue;
        probed.push(host);
        drive.fail(host, now);
      }
    }
    expect(probed).toEqual(["realtime", "business", "realtime", "business", "realtime", "business"]);
  });

  it("a host does not wait for ever for a turn the other does not take", () => {
    const drive = run();
    drive.fail("realtime", 0, 5);
    drive.fail("business", 0, 5);
    drive.admit("business", 1_000);
    drive.admit("realtime", 30_000);
    drive.fail("realtime", 30_100);
    expect(drive.admit("business", 40_000)).toMatchObject({ go: false });
    expect(drive.admit("realtime", 60_000)).toMatchObject({ go: false, retryInMs: 15_000 });
    expect(drive.admit("realtime", 75_000)).toEqual(probe);
  });

  it("when one host's probe succeeds the other's is due at once", () => {
    const drive = run();
    drive.fail("realtime", 0, 5);
    drive.fail("business", 0, 5);
    drive.admit("realtime", 30_000);
    drive.settle("realtime", "answered", 30_100);
    expect(drive.admit("realtime", 30_101)).toEqual(go);
    expect(drive.admit("business", 30_101)).toEqual(probe);
  });

  it("an urgent call always goes out and counts as the probe", () => {
    const drive = run();
    drive.fail("realtime", 0, 5);
    expect(drive.admit("realtime", 5_000, true)).toEqual(probe);
    drive.fail("realtime", 5_100);
    expect(drive.admit("realtime", 34_000)).toMatchObject({ go: false });
    drive.admit("realtime", 34_500, true);
    drive.settle("realtime", "answered", 34_600);
    expect(drive.admit("realtime", 34_700)).toEqual(go);
  });

  it("Retry-After holds a host's polls for its time, urgent calls excepted", () => {
    const drive = run();
    drive.hold("business", 10_000, 0);
    expect(drive.admit("business", 9_000)).toEqual({ go: false, because: "held", retryInMs: 1_000 });
    expect(drive.admit("business", 9_000, true)).toEqual(go);
    drive.settle("business", "answered", 9_500);
    expect(drive.admit("business", 9_600)).toMatchObject({ go: false });
    expect(drive.admit("business", 10_000)).toEqual(go);
    expect(drive.admit("realtime", 1)).toEqual(go);
  });

  it("refusals of the credential open it too; a new credential closes it", () => {
    const drive = run();
    for (let n = 0; n < 5; n += 1) {
      drive.settle("business", "challenged", n);
      drive.settle("business", "refused", n);
    }
    expect(drive.admit("business", 10)).toMatchObject({ go: false, because: "refused" });
    expect(drive.admit("business", 40_000)).toEqual(probe);
    drive.settle("business", "challenged", 40_001);
    drive.settle("business", "refused", 40_001);
    expect(drive.admit("business", 40_002)).toMatchObject({ go: false });
    drive.renew();
    expect(drive.admit("business", 40_003)).toEqual(go);
  });

  it("a healthy circuit is the same object: nothing happened", () => {
    const { circuit } = admit(closedCircuit, "realtime", 5, false);
    expect(settle(circuit, "realtime", { type: "answered" }, 6)).toBe(closedCircuit);
  });

  it("however calls come and fail, an hour without platform lets at most 150 through", () =>
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.boolean(), fc.integer({ min: 1, max: 9_000 })), { minLength: 400 }),
        (calls) => {
          const drive = run();
          let sent = 0;
          let now = 0;
          for (let n = 0; now < 3_600_000; n += 1) {
            const [isBusiness, pauseMs] = calls[n % calls.length] ?? [false, 1];
            const host = isBusiness ? "business" : "realtime";
            now += pauseMs;
            if (!drive.admit(host, now).go) continue;
            sent += 1;
            drive.fail(host, now);
          }
          expect(sent).toBeLessThanOrEqual(135);
        },
      ),
      { numRuns: 30 },
    ));
});
