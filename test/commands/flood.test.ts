import { describe, expect, it } from "vitest";
import { emptyBook } from "../../src/commands/book.js";
import { countOnly, countsOver, takePlace } from "../../src/commands/admission.js";

describe("the allowance of a target", () => {
  const allowance = (target: "actuator" | "address" = "actuator") => {
    let { allowances } = emptyBook;
    return (targetId: string, now: number, isStop = false): boolean => {
      const about = { code: "GH-0001", target, targetId } as const;
      const after = takePlace(allowances, about, { isKnown: true, isStop }, now);
      if (after) allowances = after;
      return after !== null;
    };
  };

  it("is 60 in any minute: one more has its place when the oldest is a minute old", () => {
    const take = allowance();
    const taken = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, n) => take("fan", from + n)).filter(Boolean).length;
    expect(taken(0, 200)).toBe(60);
    expect(taken(59_990, 60_000)).toBe(0);
    expect(taken(60_000, 60_010)).toBe(10);
    expect(taken(60_010, 60_200)).toBe(50);
  });

  it("is not used up by what is refused for it", () => {
    const take = allowance();
    for (let at = 0; at < 120_000; at += 10) take("fan", at);
    expect(take("fan", 120_000)).toBe(true);
  });

  it("is each target's own, and stops have one beside it", () => {
    const take = allowance();
    for (let n = 0; n < 100; n += 1) take("fan", 0);
    expect([take("fan", 0), take("fan", 0, true), take("roof", 0)]).toEqual([false, true, true]);
  });

  it("of names without end is forgotten when it is over, and shared by those beyond a thousand", () => {
    const take = allowance("address");
    for (let n = 0; n < 1_000; n += 1) take(`invented${n}`, 0);
    const shared = Array.from({ length: 100 }, (_, n) => take(`more${n}`, 1)).filter(Boolean);
    expect(shared).toHaveLength(60);
    const later = Array.from({ length: 100 }, (_, n) => take(`more${n}`, 60_001)).filter(Boolean);
    expect(later).toHaveLength(100);
  });
});

describe("refusals that are only counted", () => {
  const result = (received_at: string) => ({
    ...{ id: "x", controller: "c", actuator: "a", command: null, value: null, outcome: "refused" as const },
    ...{ reason: "overloaded" as const, message: null, request_id: null, by: null, via: null, steps: [] },
    ...{ read_back: null, received_at, sent_at: null, finished_at: received_at, duration_ms: 0 },
    repeated: false,
    interlock: null,
  });

  it("stand under their own target, and beyond a thousand targets under none", () => {
    const invented = Array.from({ length: 1_100 }, (_, n) => `invented${n}`);
    let { refusals } = emptyBook;
    for (const actuator of [...invented, "invented0"])
      refusals = countOnly(refusals, { controller: "GH-0001", actuator }, result("t"), 0);
    const { over } = countsOver(refusals, 120_000);
    expect(over.find(({ actuator }) => actuator === "invented0")).toMatchObject({ count: 2 });
    expect(over.filter(({ count }) => count > 2)).toMatchObject([
      { controller: "*", actuator: "*", count: 100 },
    ]);
  });
});
