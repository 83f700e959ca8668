import fc from "fast-check";
import { expect, test } from "vitest";
import { DueQueue } from "../../src/homeassistant/task-loop.js";

test("keys come out by due time, and in the order of putting where that is equal", () => {
  const puts = fc.array(fc.tuple(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 20 })), {
    maxLength: 200,
  });
  fc.assert(
    fc.property(puts, (entries) => {
      const queue = new DueQueue();
      const wanted = new Map<string, { at: number; order: number }>();
      entries.forEach(([key, at], order) => {
        queue.put(String(key), at);
        const known = wanted.get(String(key));
        if (known === undefined || at < known.at) wanted.set(String(key), { at, order });
      });
      expect(queue.size).toBe(wanted.size);
      const expected = [...wanted].sort(([, one], [, other]) => one.at - other.at || one.order - other.order);
      for (const [key, { at }] of expected) {
        expect(queue.nextAt()).toBe(at);
        expect(queue.take(at - 1)).toBeNull();
        expect(queue.take(at)).toBe(key);
      }
      expect(queue.nextAt()).toBeNull();
    }),
  );
});
