import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/runtime/clock.js";
import { Asking, list, minuteMs } from "./asking.js";
import { running } from "./running.js";

describe("ten thousand controllers", () => {
  it("start in under half a second", async () => {
    const startedAt = systemClock.monotonic();
    await running({ controllers: 10_000 });
    expect(systemClock.monotonic() - startedAt).toBeLessThan(500);
  });

  it("are all listed, and each has its own readings", () => {
    const asking = new Asking({ controllers: 10_000 });
    expect(list(asking.get("/api/control/mqtt").data)).toHaveLength(10_000);
    const temperatures = [1, 3333, 9999].map((n) =>
      asking.number(`GH-${String(n).padStart(4, "0")}`, "airtemp"),
    );
    expect(new Set(temperatures).size).toBeGreaterThan(1);
  });

  it("cost nothing while nobody looks at them, however fast time runs", () => {
    const asking = new Asking({ controllers: 10_000, speed: 3600 });
    const startedAt = systemClock.monotonic();
    asking.pass(60 * minuteMs).readings("GH-0001");
    expect(systemClock.monotonic() - startedAt).toBeLessThan(500);
    expect(asking.state.touched()).toHaveLength(1);
  });

  it("answer sensor data in far less time than a client needs for it", () => {
    const asking = new Asking({ controllers: 500, mix: "C001" });
    const codes = asking.control.codes();
    for (const code of codes) asking.decide({ path: "/api/sensor-data", query: { deviceCode: code } });
    let best = Infinity;
    for (let round = 0; round < 10; round++) {
      asking.pass(minuteMs);
      const startedAt = systemClock.monotonic();
      for (const code of codes) asking.decide({ path: "/api/sensor-data", query: { deviceCode: code } });
      best = Math.min(best, (systemClock.monotonic() - startedAt) / codes.length);
    }
    expect(best * 1000).toBeLessThan(50);
  });
});
