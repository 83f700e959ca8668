import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { freePort } from "./mosquitto.js";

describe("nothing in the tests is left to chance", () => {
  it("property tests begin with the same seed each time", () => {
    const expected = Number(process.env["FC_SEED"] ?? 20_260);
    expect(fc.readConfigureGlobal()).toMatchObject({ seed: expected });
  });

  it("a free port is none that the system gives to others", async () => {
    const ports = [await freePort(), await freePort(), await freePort()];
    expect(new Set(ports).size).toBe(3);
    for (const port of ports) expect(port).toBeLessThan(32_768);
  });
});
