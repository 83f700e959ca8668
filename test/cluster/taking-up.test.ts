import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { wholeContent } from "../../src/cluster/journal-moves.js";
import { Cluster, leaseMs } from "../../src/cluster/cluster.js";
import { bucketLimits } from "../../src/cluster/lease.js";
import { lossOf, readCopy } from "../../src/cluster/replica-position.js";
import type { Reach } from "../../src/cluster/membership.js";
import type { AccountStream } from "../../src/cluster/ports.js";
import { journalDirectory } from "../../src/journal/open.js";
import { every } from "../../src/runtime/clock.js";
import { silentLog } from "../../src/runtime/log.js";
import { alwaysThere, SimulatedDisk } from "../simulation/disk.js";
import { Chance } from "../simulation/scenario.js";
import { WallClock, worldTime } from "../simulation/time.js";
import { JetStreamModel } from "./support/jetstream-model.js";
import { Process } from "./support/process.js";

const segment = "journal-000000000001.jsonl";

/** Members at servers that lose nothing by themselves; each writes its own name. */
function cluster() {
  const time = worldTime();
  const servers = new JetStreamModel(time, new Chance(1, "servers"), {
    ttlMs: bucketLimits(leaseMs).ttl,
    isCut: () => false,
  });
  servers.isCalm = true;
  const start = (id: string) => {
    const process = new Process(id, time, new Chance(1, id));
    const disk = new SimulatedDisk(time, new WallClock(time, 0), new Chance(1, "disk"));
    const files = disk.mount(process.clock);
    const end = new AbortController();
    const made = {
      process,
      files,
      runs: [] as number[],
      ends: [] as number[],
      ended: null as string | null,
      end,
      warned: [] as unknown[],
      problem: (): string | null => "no owner yet",
      /** What the account's bridge does not reach while it runs here, and what is reached from here otherwise. */
      lacks: [] as readonly Reach[],
      reaches: [] as readonly string[],
    };
    const parts = new Cluster({
      id,
      bucket: servers.bucketOf(process),
      clock: process.clock,
      upMs: process.upMs,
      hash: (text) => -(text.codePointAt(text.length - 1) ?? 0),
      files,
      placeOf: () => alwaysThere,
      reaches: (url) => Promise.resolve(made.reaches.includes(url)),
      lostMs: () => 0,
      openStream: () => Promise.resolve(servers.streamOf(process)),
    });
    const dataDir = `/${id}`;
    const path = join(journalDirectory(dataDir), segment);
    const log = { ...silentLog, warn: (...said: unknown[]) => made.warned.push(said.at(-1)) };
    const owned = {
      account: "north",
      dataDir,
      controlMs: 30_000,
      identity: "north",
      hosts: { broker: ["broker"], platform: ["platform"] },
      onStandby: () => undefined,
    };
    const run: Parameters<Cluster["own"]>[1] = async ({ store, openJournal, stop, ownership }) => {
      made.runs.push(time.now);
      made.problem = ownership.commandsProblem;
      void every(2_000, process.clock, stop, () => ownership.lack(made.lacks));
      const opened = await openJournal({ dataDir, clock: process.clock, log: silentLog });
      const file = await store.files.open(path, "a");
      await file.write(Buffer.from(id));
      await file.sync();
      if (!stop.aborted) await new Promise((resolve) => stop.addEventListener("abort", resolve));
      await opened.close();
      made.ends.push(time.now);
    };
    void parts.run(end.signal);
    void parts.own({ ...owned, log: log as typeof silentLog }, run, end.signal).then(
      () => (made.ended = "in order"),
      (error: unknown) => (made.ended = String(error)),
    );
    return made;
  };
  return { time, servers, start };
}

const minute = 60_000;

describe("an account", () => {
  it("whose servers have lost what they acknowledged is not run by who still has it, and nothing there is cut off", async () => {
    const { time, servers, start } = cluster();
    const one = start("a");
    await time.runUntil(minute);
    expect(one.runs).toHaveLength(1);
    const copy = await readCopy(one.files, "/a");
    const { bytes } = await one.files.facts(join(journalDirectory("/a"), segment));
    one.process.kill();
    servers.lose(1);
    const again = start("a");
    Object.assign(again.files, one.files);
    await time.runUntil(3 * minute);
    expect(copy?.last).toBeGreaterThan(1);
    expect(again.ended).toContain("have lost records of north: the stream of the journal ends at entry");
    expect(again.runs).toEqual([]);
    expect((await again.files.facts(join(journalDirectory("/a"), segment))).bytes).toBe(bytes);
  });

  it.each([
    ["although the servers' clock was set back, so that the key of a dead owner stays", false],
    ["so too by a member that for a while was told nothing any more of what others do", true],
  ])("is taken over %s", async (_, isDeaf) => {
    const { time, servers, start } = cluster();
    const one = start("a");
    const other = start("b");
    await time.runUntil(minute);
    if (isDeaf) servers.deafen(other.process);
    await time.runUntil(2 * minute);
    expect([one.runs.length, other.runs.length]).toEqual([1, 0]);
    one.process.kill();
    servers.keepKeys(60 * minute);
    await time.runUntil(2 * minute + 30_000);
    expect(other.runs).toHaveLength(1);
  });

  it.each([0, 500, 1_000, 1_500, 2_000, 2_500])(
    "takes commands again at once when the servers have found another leader, %i ms after a renewal",
    async (ms) => {
      const { time, servers, start } = cluster();
      const one = start("a");
      const other = start("b");
      await time.runUntil(2 * minute + ms);
      expect(one.problem()).toBeNull();
      servers.isDown = true;
      await time.runUntil(2 * minute + ms + 5_500);
      servers.isDown = false;
      await time.runUntil(2 * minute + ms + 10_000);
      expect(one.problem()).toBeNull();
      expect([one.runs.length, other.runs.length]).toEqual([1, 0]);
    },
  );

  it("is handed in order to a member that is first with it, once that has been there for half a minute", async () => {
    const { time, start } = cluster();
    const one = start("b");
    await time.runUntil(2 * minute);
    const other = start("a");
    await time.runUntil(2 * minute + 28_000);
    expect([one.runs.length, other.runs.length]).toEqual([1, 0]);
    await time.runUntil(2 * minute + 45_000);
    expect([one.runs.length, other.runs.length]).toEqual([1, 1]);
    expect(other.runs[0]).toBeLessThan((one.ends[0] ?? 0) + 2_000);
  });

  it("whose import is not whole is run by nobody, until it is", async () => {
    const { time, servers, start } = cluster();
    const importer = new Process("i", time, new Chance(1, "i"));
    const stream = servers.streamOf(importer);
    const entry = (operation: string) => ({ subject: "import", operation, run: "i", data: Buffer.alloc(0) });
    void stream.append(entry("begun"), 0);
    await time.runUntil(1_000);
    const one = start("a");
    await time.runUntil(minute);
    expect(one.runs).toEqual([]);
    expect(one.warned.filter((text) => String(text).includes("has begun and is not whole"))).toHaveLength(1);
    void stream.append(entry("whole"), 1);
    await time.runUntil(2 * minute);
    expect(one.runs).toHaveLength(1);
  });
});

describe("an account whose owner does not reach what it needs", () => {
  /** Three members, of which `a` runs the account: how often each has had it, and which had it last. */
  const trio = async () => {
    const { time, start } = cluster();
    const members = { a: start("a"), b: start("b"), c: start("c") };
    const runs = () => Object.values(members).map(({ runs }) => runs.length);
    await time.runUntil(minute);
    expect(runs()).toEqual([1, 0, 0]);
    return { time, members, runs };
  };

  it("goes within a minute to a member that does, which has it two seconds after it was given up", async () => {
    const { time, members, runs } = await trio();
    Object.assign(members.a, { lacks: ["platform"] });
    Object.assign(members.b, { reaches: ["broker"] });
    Object.assign(members.c, { reaches: ["platform"] });
    await time.runUntil(2 * minute);
    expect(runs()).toEqual([1, 0, 1]);
    expect(members.a.warned.at(-1)).toContain("the account goes there");
    expect(members.c.runs[0]).toBeLessThan((members.a.ends[0] ?? 0) + 2_000);
    // The next in order does not reach it either.
    await time.runUntil(12 * minute);
    expect(runs()).toEqual([1, 0, 1]);
  });

  it("stays where it is while nobody reaches more", async () => {
    const { time, members, runs } = await trio();
    Object.assign(members.a, { lacks: ["platform", "broker"] });
    Object.assign(members.b, { reaches: ["broker"] });
    Object.assign(members.c, { reaches: ["platform"] });
    await time.runUntil(10 * minute);
    expect(runs()).toEqual([1, 0, 0]);
  });

  it("goes on to a third one five minutes later, and not sooner", async () => {
    const { time, members, runs } = await trio();
    Object.assign(members.a, { lacks: ["broker"] });
    Object.assign(members.b, { reaches: ["broker"], lacks: ["broker"] });
    await time.runUntil(2 * minute);
    expect(runs()).toEqual([1, 1, 0]);
    Object.assign(members.b, { reaches: [] });
    Object.assign(members.c, { reaches: ["broker"] });
    await time.runUntil(6 * minute);
    expect(runs()).toEqual([1, 1, 0]);
    await time.runUntil(8 * minute);
    expect(runs()).toEqual([1, 1, 1]);
  });

  it("comes back to the member that is first in order once that reaches it again, and not sooner", async () => {
    const { time, members, runs } = await trio();
    Object.assign(members.a, { lacks: ["broker"] });
    Object.assign(members.b, { reaches: ["broker"] });
    await time.runUntil(20 * minute);
    expect(runs()).toEqual([1, 1, 0]);
    Object.assign(members.a, { lacks: [], reaches: ["broker"] });
    await time.runUntil(22 * minute);
    expect(runs()).toEqual([2, 1, 0]);
  });

  it("is run by who gave it up where all others have died, without a wait for them", async () => {
    const { time, members, runs } = await trio();
    Object.assign(members.a, { lacks: ["broker"] });
    Object.assign(members.b, { reaches: ["broker"] });
    await time.runUntil(2 * minute);
    members.b.process.kill();
    members.c.process.kill();
    await time.runUntil(2 * minute + 15_000);
    expect(runs()).toEqual([2, 1, 0]);
  });
});

it("a member whose first look at the bucket is never answered takes an account all the same", async () => {
  const { time, servers, start } = cluster();
  const bucketOf = servers.bucketOf.bind(servers);
  let looks = 0;
  servers.bucketOf = (process) => {
    const bucket = bucketOf(process);
    return {
      ...bucket,
      watch: (...given) => {
        looks += 1;
        return looks === 1 ? new Promise(() => undefined) : bucket.watch(...given);
      },
    };
  };
  const { runs, end } = start("a");
  await time.runUntil(minute);
  expect(looks).toBe(2);
  expect(runs).toHaveLength(1);
  end.abort();
  await time.runUntil(minute + 10_000);
});

describe("a copy of the journal", () => {
  const found = { created: "first", last: 100, count: 90, imported: "none" } as const;
  it.each([
    ["there is none", null, found, null],
    ["the stream has all of it", { created: "first", last: 100 }, found, null],
    [
      "the stream ends before",
      { created: "first", last: 101 },
      found,
      "ends at entry 100, and 101 was acknowledged",
    ],
    ["the stream is another", { created: "zeroth", last: 3 }, found, "made anew"],
    [
      "the stream was made by an import",
      { created: "zeroth", last: 300 },
      { ...found, imported: "whole" as const },
      null,
    ],
    [
      "the stream's import is not whole",
      { created: "zeroth", last: 3 },
      { ...found, imported: "begun" as const },
      "made anew",
    ],
  ])("is more than the servers have: %s", (_, copy, state, loss) => {
    if (loss === null) expect(lossOf(copy, state)).toBeNull();
    else expect(lossOf(copy, state)).toContain(loss);
  });
});

describe("a stream that is read while it is written to", () => {
  /** The successive states of the stream, and how many entries each reading gives. */
  const stream = (states: readonly (readonly [last: number, count: number])[], counts: readonly number[]) => {
    const left = [...states];
    const given = [...counts];
    return {
      state: () => {
        const [last = 0, count = 0] = (left.length > 1 ? left.shift() : left[0]) ?? [];
        return Promise.resolve({ created: "", last, count });
      },
      read: async function* () {
        await Promise.resolve();
        const count = (given.length > 1 ? given.shift() : given[0]) ?? 0;
        for (let at = 1; at <= count; at += 1)
          yield { number: at, subject: "file.x", operation: "", run: "", data: Buffer.from(String(at)) };
      },
    } satisfies Pick<AccountStream, "state" | "read">;
  };
  const read = async (one: ReturnType<typeof stream>) =>
    (await wholeContent(one, () => Promise.resolve())).files.get("x")?.toString();

  it("is read again while something came, went, or was not given", async () => {
    expect(await read(stream([[3, 3]], [3]))).toBe("123");
    expect(
      await read(
        stream(
          [
            [2, 2],
            [3, 3],
            [3, 3],
            [3, 3],
          ],
          [2, 3],
        ),
      ),
    ).toBe("123");
    expect(
      await read(
        stream(
          [
            [3, 3],
            [3, 2],
            [3, 2],
            [3, 2],
          ],
          [3, 2],
        ),
      ),
    ).toBe("12");
    expect(await read(stream([[3, 3]], [2, 3]))).toBe("123");
  });

  it("is not written out where that never ends", async () => {
    await expect(read(stream([[3, 3]], [2]))).rejects.toThrow("changed each time while it was read");
  });
});
