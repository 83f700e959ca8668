import { describe, expect, it } from "vitest";
import { chanceFor } from "./chance.js";
import { caseOf } from "./mutation.js";

const cases = (seed: number) => Array.from({ length: 300 }, (_, n) => caseOf(chanceFor(seed, n), n));

describe("the packets of the fuzz", () => {
  it("are the same for the same seed, and others for another", () => {
    expect(cases(7)).toEqual(cases(7));
    expect(cases(7)).not.toEqual(cases(8));
  });

  it("are of all versions, transports and endings", () => {
    const values = (key: "version" | "transport" | "ending") => new Set(cases(1).map((one) => one[key])).size;
    expect([values("version"), values("transport"), values("ending")]).toEqual([3, 2, 3]);
  });
});
