import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { knownGaps } from "./known-gaps.js";
import { complaintAbout, testsIn } from "./verdict.js";

const source = (name: string) => readFileSync(join(import.meta.dirname, "paho", name), "utf8");
const tests = { "3.1.1": testsIn(source("client_test.py")), "5": testsIn(source("client_test5.py")) };

describe("the list of known gaps may only shrink (39)", () => {
  it.each([
    ["passed", false, null],
    ["failed", true, null],
    ["timed out", true, null],
    ["passed", true, "test_x passes now: remove it from test/conformance/known-gaps.ts"],
    ["failed", false, "test_x failed, and it is no known gap"],
    ["timed out", false, "test_x timed out, and it is no known gap"],
  ] as const)("%s, known gap %s: %s", (result, isKnownGap, complaint) => {
    expect(complaintAbout("test_x", result, isKnownGap)).toBe(complaint);
  });

  it("names only tests that there are", () => {
    expect(tests["3.1.1"]).toHaveLength(10);
    expect(tests["5"]).toHaveLength(27);
    for (const suite of ["3.1.1", "5"] as const)
      for (const name of Object.keys(knownGaps[suite])) expect(tests[suite]).toContain(name);
  });
});
