import { describe, expect, it } from "vitest";
import { PollBook, type PollJob } from "../../src/sync/poll-plan.js";

const sensors = (code: string): PollJob => ({ kind: "sensors", code });

function book(...jobs: PollJob[]): PollBook {
  const one = new PollBook();
  for (const job of jobs) one.add(job);
  return one;
}

/** Names of everything due at `now`, in order; each is planned again far away. */
function due(one: PollBook, now: number): string[] {
  const names: string[] = [];
  while (one.waitMs(now) === 0) {
    const taken = one.take(now);
    if (taken !== null) names.push(taken.name);
  }
  return names;
}

describe("the poll book", () => {
  it("has a job once, due at once, first things first", () => {
    const one = book({ kind: "running_status", code: "A" }, sensors("A"), { kind: "controllers" });
    expect(one.add(sensors("A"))).toBe(false);
    expect(due(one, 100)).toEqual(["controllers", "sensors A", "running_status A"]);
    expect(one.waitMs(100)).toBeNull();
  });

  it("plans a job for the time it is given and forgets a removed one", () => {
    const one = book(sensors("A"), sensors("B"));
    due(one, 100);
    one.runAgainAt("sensors A", 500);
    one.runAgainAt("sensors B", 400);
    one.remove((job) => "code" in job && job.code === "B");
    one.runAgainAt("sensors B", 300);
    expect(one.has("sensors B")).toBe(false);
    expect(one.waitMs(200)).toBe(300);
    expect(due(one, 500)).toEqual(["sensors A"]);
  });

  it("makes chosen jobs due now and names them", () => {
    const one = book(sensors("A"), sensors("B"));
    due(one, 100);
    for (const name of ["sensors A", "sensors B"]) one.runAgainAt(name, 10_000);
    expect(one.makeDue(200, (job) => "code" in job && job.code === "B")).toEqual(["sensors B"]);
    expect(due(one, 200)).toEqual(["sensors B"]);
  });
});

describe("what is asked for again", () =>
  it("keeps its place: however often, the jobs of the lowest rank have their turn", () => {
    const one = book(sensors("A"), { kind: "running_status", code: "A" });
    due(one, 100);
    const taken: (string | undefined)[] = [];
    for (let now = 1_000; now < 4_000; now += 1_000) {
      one.makeDue(now, () => true);
      taken.push(one.take(now)?.name);
    }
    expect(taken).toContain("running_status A");
  }));

describe("a host that is away", () => {
  it("has one of its jobs tried now and then; the other host's go on", () => {
    const one = book({ kind: "controllers" }, sensors("A"), sensors("B"));
    one.hostAway("realtime", 0);
    expect(due(one, 100)).toEqual(["controllers"]);
    const tried: string[] = [];
    for (let now = 1_000; now <= 60_000; now += 1_000)
      for (const name of due(one, now)) {
        tried.push(name);
        one.runAgainAt(name, now + 1_000);
      }
    expect(tried.length).toBeGreaterThanOrEqual(6);
    expect(tried.filter((name) => name !== "controllers").length).toBeLessThanOrEqual(13);
    expect(new Set(tried)).toContain("sensors B");
  });

  it("has all of them due when it is back, each once", () => {
    const one = book(sensors("A"), sensors("B"));
    one.hostAway("realtime", 0);
    one.hostAway("realtime", 1);
    due(one, 100);
    one.hostBack("realtime", 1_000);
    expect(due(one, 1_000).sort()).toEqual(["sensors A", "sensors B"]);
    one.hostBack("realtime", 2_000);
    expect(one.waitMs(100_000)).toBeNull();
  });

  it("tries nothing where there is nothing to try", () => {
    const one = book({ kind: "controllers" });
    due(one, 0);
    one.hostAway("realtime", 0);
    for (let now = 0; now < 60_000; now += 1_000) expect(due(one, now)).toEqual([]);
  });
});
