import { describe, expect, it } from "vitest";
import { seededRandom } from "../../src/runtime/random.js";
import type { FaultSpec } from "../../src/simulator/faults.js";
import { Asking, hourMs, minuteMs } from "./asking.js";

const faults: readonly FaultSpec[] = [
  { fault: "ignore", chance: 0.2 },
  { fault: "late", chance: 0.2, delayMs: 20_000 },
  { fault: "reset", chance: 0.1, when: "after" },
  { fault: "moved_by_hand", perHour: 4 },
  { fault: "offline", perHour: 1, forMs: 3 * minuteMs },
  { fault: "storm", perHour: 0.5 },
  { fault: "bad_sensor", perHour: 2 },
];

/** Everything a client saw in six hours of reads and commands, and everything the platform knows it did. */
function history(seed: number): string {
  const asking = new Asking({ seed, controllers: 8, faults });
  const random = seededRandom(99);
  const seen: unknown[] = [];
  for (let n = 0; n < 300; n++) {
    asking.pass(Math.floor(random() * 2.4 * minuteMs));
    const code = random() < 0.5 ? "GH-0001" : "GH-0003";
    const value = ["10010", "10001", "10100", "40"][Math.floor(random() * 4)] ?? "";
    seen.push(asking.post(code, "101", value));
    seen.push(asking.get("/api/sensor-data", { deviceCode: code }));
    seen.push(asking.get("/api/get-value", { deviceCode: code, address: "101" }));
  }
  return JSON.stringify([seen, asking.control.posts(), asking.control.held("GH-0001", "101")]);
}

describe("the same seed", () => {
  it("gives the same history, byte for byte", () => expect(history(4)).toBe(history(4)));

  it("gives another history than another seed", () => expect(history(4)).not.toBe(history(5)));

  it("gives the same climate however often somebody looks", () => {
    const [often, once] = [new Asking(), new Asking()];
    for (let n = 0; n < 24 * 12; n++) often.pass(5 * minuteMs).readings("GH-0001");
    once.pass(24 * hourMs);
    expect(often.readings("GH-0001")).toEqual(once.readings("GH-0001"));
  });

  it("gives a greenhouse the same readings whatever the size of the account", () => {
    const [small, large] = [new Asking({ controllers: 1 }), new Asking({ controllers: 10_000 })];
    expect(small.pass(hourMs).readings("GH-0001")).toEqual(large.pass(hourMs).readings("GH-0001"));
  });

  it("draws for each fault by itself: arming a second one does not move the hits of the first", () => {
    const hits = (more: readonly FaultSpec[]) => {
      const asking = new Asking({ faults: [{ fault: "ignore", chance: 0.3 }, ...more] });
      return Array.from({ length: 100 }, (_, n) => {
        asking.post("GH-0001", "150", n % 2 === 0 ? "1010" : "1001");
        return asking.control.posts().at(-1)?.effect;
      }).map((effect) => effect === "ignored_by_fault");
    };
    expect(hits([{ fault: "no_value", chance: 0.5 }])).toEqual(hits([]));
    expect(hits([]).filter(Boolean).length).toBeGreaterThan(10);
  });
});
