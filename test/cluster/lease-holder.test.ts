import { describe, expect, it } from "vitest";
import { leaseOf } from "../../src/cluster/lease.js";
import type { Bucket, BucketEntry } from "../../src/cluster/ports.js";
import { LeaseHolder } from "../../src/cluster/lease-holder.js";
import { Registry } from "../../src/runtime/metrics.js";
import { VirtualClock } from "../support/virtual-clock.js";

const times = { leaseMs: 9_000, controlMs: 30_000 };

/** A bucket with one key. */
function bucket() {
  const made: {
    entry: BucketEntry | null;
    revision: number;
    isAnswerLost: boolean;
    isAway: boolean;
    /** Whether it answers like a server that does not have the key yet. */
    isBehind: boolean;
    port: Bucket;
  } = {
    entry: { revision: 1, value: "us" },
    revision: 1,
    isAnswerLost: false,
    isAway: false,
    isBehind: false,
    port: {
      claim: (_key, value) => {
        if (made.entry !== null) return Promise.resolve(null);
        return put(value);
      },
      renew: (_key, value, revision) => {
        if (made.isAway) return Promise.reject(new Error("timeout"));
        const isKnown = made.entry?.revision === revision && !made.isBehind;
        return isKnown ? put(value) : Promise.resolve(null);
      },
      release: async (_key, revision) => {
        if (made.entry?.revision === revision) await put(null);
      },
      get: () => {
        if (made.isAway) return Promise.reject(new Error("timeout"));
        return Promise.resolve(made.isBehind ? null : made.entry);
      },
      put: (_key, value) => put(value),
      watch: () => Promise.resolve(),
    },
  };
  const put = (value: string | null) => {
    made.revision += 1;
    made.entry = { revision: made.revision, value };
    return made.isAnswerLost ? Promise.reject(new Error("timeout")) : Promise.resolve(made.revision);
  };
  return made;
}

/** A member that has just claimed its account, and holds it until `stop`. */
function owner({ isAlone = false } = {}) {
  const clock = new VirtualClock();
  const kept = bucket();
  const stop = new AbortController();
  const instant = () => ({ mono: clock.monotonic(), up: clock.monotonic(), wall: clock.monotonic() });
  const answeredAt = clock.monotonic();
  const lease = leaseOf({ revision: 1, sentAt: instant(), answeredAt, isAlone }, times);
  const made = {
    runs: 0,
    fences: 0,
    isToHandBack: false,
    changes: [] as string[],
    isJournalFull: false,
    fenceMs: 0,
    lostMs: 0,
  };
  const holder = new LeaseHolder(lease, {
    bucket: kept.port,
    member: "one",
    key: "owner.a",
    value: "us",
    times,
    instant,
    wait: (ms, signal) => clock.wait(ms, signal),
    fence: async () => {
      made.fences += 1;
      if (made.isJournalFull) throw new Error("maximum bytes exceeded");
      if (made.fenceMs > 0) await clock.wait(made.fenceMs);
    },
    journalProblem: () => null,
    lostMs: () => made.lostMs,
    isToGoTo: () => (made.isToHandBack ? "handing back" : null),
    onLack: () => undefined,
    metrics: () => new Registry(),
    onChange: (what) => made.changes.push(what),
  });
  const run = (stopped: AbortSignal) => {
    made.runs += 1;
    return new Promise<void>((resolve) => stopped.addEventListener("abort", () => resolve()));
  };
  const held = holder.hold(run, stop.signal);
  const end = async () => {
    stop.abort();
    await held;
  };
  return { clock, kept, holder, state: made, end };
}

describe("an account that is given up in order", () => {
  const hasMark = ({ kept }: ReturnType<typeof owner>) => kept.entry?.value === null;

  it("has a mark also while something of the owner before may be under way: the journal tells the next one", async () => {
    const one = owner();
    await one.clock.advance(20_000);
    expect(one.holder.ownership.mayPost()).toBe(true);
    await one.end();
    expect(hasMark(one)).toBe(true);
  });

  it("has none before it is fenced", async () => {
    const one = owner();
    await one.clock.advance(5_000);
    await one.end();
    expect(hasMark(one)).toBe(false);
  });

  it("has one once nothing is to be waited for", async () => {
    const one = owner();
    await one.clock.advance(41_000);
    await one.end();
    expect(hasMark(one)).toBe(true);
  });

  it.each([
    ["one without an answer", false, false, 29_000, false],
    ["one without an answer, once it cannot be under way", false, false, 30_000, true],
    ["one that was answered", false, true, 0, true],
    ["one that the journal has", true, false, 0, true],
  ])(
    "with a POST that need not be in the journal: %s",
    async (_, isRecorded, isAnswered, afterMs, isMarked) => {
      const one = owner();
      await one.clock.advance(41_000);
      const answered = one.holder.ownership.postBegins(isRecorded);
      if (isAnswered) answered();
      await one.clock.advance(afterMs);
      await one.end();
      expect(hasMark(one)).toBe(isMarked);
    },
  );

  it("is handed back, with one", async () => {
    const one = owner();
    one.state.isToHandBack = true;
    await one.clock.advance(5_000);
    expect(one.state.changes).toEqual([]);
    await one.clock.advance(10_000);
    // The next owner would have to wait again for what this one may have in progress.
    expect(one.state.changes).toEqual([]);
    await one.clock.advance(40_000);
    expect(one.state.changes).toEqual(["handing back"]);
    await one.end();
    expect(hasMark(one)).toBe(true);
  });

  it("takes commands for what nothing is under way to as soon as it is fenced, for the others once that is over", async () => {
    const one = owner({ isAlone: true });
    const { ownership } = one.holder;
    await one.clock.advance(3_000);
    expect(ownership.commandsProblem("vent")).toContain("has just taken over");
    ownership.foundUnderWay(new Set(["vent"]));
    expect(ownership.commandsProblem("vent")).toContain("has just taken over");
    expect(ownership.commandsProblem("fan")).toBeNull();
    await one.clock.advance(28_000);
    expect(ownership.commandsProblem("vent")).toBeNull();
    await one.end();
  });
});

describe("an account whose journal takes no entry", () => {
  it("does not run, is told once after a lease's time, and runs as soon as it takes one again", async () => {
    const one = owner({ isAlone: true });
    one.state.isJournalFull = true;
    await one.clock.advance(5_000);
    expect(one.state.changes).toEqual([]);
    await one.clock.advance(60_000);
    expect(one.state).toMatchObject({ runs: 0, changes: ["not fenced"] });
    one.state.isJournalFull = false;
    await one.clock.advance(1_000);
    expect(one.state.runs).toBe(1);
    await one.end();
  });
});

describe("an account whose owner slept as it was fenced", () => {
  it("does not run before it is known that nobody else has it", async () => {
    const one = owner({ isAlone: true });
    one.state.fenceMs = 15_000;
    await one.clock.advance(1_000);
    one.kept.isAway = true;
    await one.clock.advance(20_000);
    expect(one.state).toMatchObject({ fences: 1, runs: 0 });
    one.kept.isAway = false;
    await one.clock.advance(1_000);
    expect(one.state).toMatchObject({ fences: 1, runs: 1 });
    await one.end();
  });
});

describe("an account whose link to the NATS servers is gone", () => {
  it("takes no commands from two seconds on, and sends what the journal has as long as the lease is young enough", async () => {
    const one = owner({ isAlone: true });
    await one.clock.advance(41_000);
    const { ownership } = one.holder;
    one.state.lostMs = 1_900;
    expect(ownership.commandsProblem("vent")).toBeNull();
    one.state.lostMs = 2_000;
    expect(ownership.commandsProblem("vent")).toContain("do not confirm");
    expect(ownership.mayPost()).toBe(true);
    await one.end();
  });
});

describe("a lease that is kept", () => {
  it("is none where another member was given the same mark: nothing was fenced under it", async () => {
    const one = owner({ isAlone: true });
    one.kept.entry = { revision: 2, value: "other" };
    await one.clock.advance(2_000);
    expect(one.state).toMatchObject({ changes: ["lost"], fences: 0, runs: 0 });
    await one.end();
  });

  it("is fenced anew, after its waiting, where the key vanished and the answer to the new claim was lost", async () => {
    const one = owner();
    await one.clock.advance(41_000);
    one.kept.entry = null;
    one.kept.isAnswerLost = true;
    await one.clock.advance(4_000);
    one.kept.isAnswerLost = false;
    expect(one.kept.entry).toMatchObject({ value: "us" });
    await one.clock.advance(2_000);
    expect(one.holder.isConfirmed).toBe(true);
    expect(one.holder.ownership.mayPost()).toBe(false);
    expect(one.state.fences).toBe(1);
    await one.clock.advance(14_000);
    expect(one.state.fences).toBe(2);
    expect(one.holder.ownership.mayPost()).toBe(true);
    await one.end();
  });

  it("is fenced anew where a server that was behind had said that the key is gone", async () => {
    const one = owner();
    await one.clock.advance(41_000);
    one.kept.isBehind = true;
    await one.clock.advance(3_000);
    one.kept.isBehind = false;
    expect(one.holder.ownership.mayPost()).toBe(false);
    await one.clock.advance(14_000);
    expect(one.state.fences).toBe(2);
    expect(one.holder.ownership.mayPost()).toBe(true);
    await one.end();
  });

  it("that has run out is not renewed over another member's, whose number happens to be the same", async () => {
    const one = owner();
    await one.clock.advance(41_000);
    const { revision } = one.kept;
    one.kept.isAway = true;
    await one.clock.advance(10_000);
    one.kept.entry = { revision, value: "other" };
    one.kept.isAway = false;
    await one.clock.advance(1_000);
    expect(one.holder.isLost).toBe(true);
    expect(one.kept.entry).toEqual({ revision, value: "other" });
    await one.end();
  });
});
