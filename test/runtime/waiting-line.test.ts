import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { WaitingLine } from "../../src/runtime/waiting-line.js";

type Act = { readonly type: "add" | "delete"; readonly item: number } | { readonly type: "take" | "clear" };
const item = fc.nat({ max: 12 });
const acts = fc.array(
  fc.oneof<fc.Arbitrary<Act>[]>(
    fc.record({ type: fc.constantFrom("add" as const, "add" as const, "delete" as const), item }),
    fc.record({ type: fc.constant("take" as const) }),
    fc.record({ type: fc.constantFrom("take" as const, "take" as const, "clear" as const) }),
  ),
  { maxLength: 120 },
);

describe("a waiting line", () => {
  it("is taken from the front, each once, whatever is added, deleted and cleared between", () =>
    fc.assert(
      fc.property(acts, (all) => {
        const line = new WaitingLine<number>();
        let model: number[] = [];
        for (const act of all) {
          if (act.type === "add") {
            line.add(act.item);
            if (!model.includes(act.item)) model.push(act.item);
          } else if (act.type === "delete") {
            line.delete(act.item);
            model = model.filter((one) => one !== act.item);
          } else if (act.type === "clear") {
            line.clear();
            model = [];
          } else expect(line.take()).toBe(model.shift());
          expect(line.size).toBe(model.length);
        }
      }),
    ));
});
