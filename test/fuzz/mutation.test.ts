import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { chanceFor } from "./chance.js";
import { caseOf } from "./mutation.js";

const cases = (seed: number) => Array.from({ length: 300 }, (_, n) => caseOf(chanceFor(seed, n), n));

/** Of all bytes: comparing them one by one takes long. */
const digest = (seed: number) => {
  const hash = createHash("sha256");
  for (const { pieces, ...rest } of cases(seed)) {
    hash.update(JSON.stringify(rest));
    for (const piece of pieces) hash.update(`${piece.length}:`).update(piece);
  }
  return hash.digest("hex");
};

describe("the packets of the fuzz", () => {
  it("are the same for the same seed, and others for another", () => {
    expect(digest(7)).toBe(digest(7));
    expect(digest(7)).not.toBe(digest(8));
  });

  it("are of all versions, transports and endings", () => {
    const all = cases(1);
    const values = (key: "version" | "transport" | "ending") => new Set(all.map((one) => one[key])).size;
    expect([values("version"), values("transport"), values("ending")]).toEqual([3, 2, 3]);
  });
});
