import { describe, expect, it } from "vitest";
import { SharedRuns } from "../../src/sync/poller.js";
import { settled } from "../support/virtual-clock.js";

/** Work that ends when the test says so. */
function works() {
  const ends: (() => void)[] = [];
  const runs = new SharedRuns<string>();
  const ended: string[] = [];
  const ask = (key: string, name: string) => {
    void runs
      .run(key, () => new Promise<void>((resolve) => ends.push(resolve)))
      .then(() => {
        ended.push(name);
      });
  };
  const end = async (place: number) => {
    ends[place]?.();
    await settled();
  };
  return { ask, end, ended, begun: () => ends.length };
}

describe("shared runs", () => {
  it("let nobody share a run that began before he asked", async () => {
    const { ask, end, ended, begun } = works();
    ask("a", "first");
    ask("a", "second");
    ask("a", "third");
    expect(begun()).toBe(1);
    await end(0);
    expect(ended).toEqual(["first"]);
    expect(begun()).toBe(2);
    ask("a", "fourth");
    await end(1);
    expect(ended).toEqual(["first", "second", "third"]);
    await end(2);
    expect(ended).toContain("fourth");
    expect(begun()).toBe(3);
  });

  it("keep keys apart, and begin anew when nobody waits any more", async () => {
    const { ask, end, ended, begun } = works();
    ask("a", "a");
    ask("b", "b");
    expect(begun()).toBe(2);
    await end(1);
    await end(0);
    ask("a", "again");
    await end(2);
    expect(ended).toEqual(["b", "a", "again"]);
  });
});
