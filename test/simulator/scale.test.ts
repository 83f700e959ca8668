import { describe, expect, it } from "vitest";
import { Asking, list, minuteMs } from "./asking.js";

describe("ten thousand controllers", () => {
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
    asking.pass(60 * minuteMs).readings("GH-0001");
    expect(asking.state.touched()).toHaveLength(1);
  });
});
