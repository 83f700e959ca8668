import { expect, it } from "vitest";
import type { LimitService } from "../../src/limits/limits.js";
import { flagField } from "../../src/mqtt/requests.js";
import { lock } from "../../src/status/requests.js";
import { CommandBench } from "../support/command-bench.js";

it.each(["0s", "2020-01-01T00:00:00Z", "2026-03-02", "soon", "999999999w"])(
  "a lock until %s is refused, and nothing is locked",
  async (until) => {
    const { engine, store, clock } = new CommandBench();
    const controller = store.get("GH-0001");
    if (controller === undefined) throw new Error("the bench has no controller");
    const ports = { limits: { engine } as unknown as LimitService, clock, onEvent: () => undefined };
    await expect(lock(ports, controller, { by: "anna", until }, null)).rejects.toThrow('"until"');
    expect(engine.inForce("GH-0001", "roof")?.lock ?? null).toBeNull();
  },
);

it("one topic locks and unlocks: what is neither true nor false is refused, and left out it locks", () => {
  const locked = [{}, { locked: true }, { locked: false }].map((fields) => flagField(fields, "locked", true));
  expect(locked).toEqual([true, true, false]);
  expect(() => flagField({ locked: "no" }, "locked", true)).toThrow('"locked" must be true or false');
});
