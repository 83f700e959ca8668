import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Command } from "../../src/commands/command.js";
import { Faults } from "../../src/http/faults.js";
import { LiveViews, mergePatch } from "../../src/http/live.js";
import { msg } from "../../src/language/text.js";
import type { Role } from "../../src/page/protocol.js";
import { RecentLog, silentLog } from "../../src/runtime/log.js";
import { VirtualClock } from "../support/virtual-clock.js";
import { emptyService, patched, Reader } from "./support.js";

/** Also with names that every plain object inherits. */
const names = fc.constantFrom("x", "y", "__proto__", "constructor", "toString");
const documentOf = (value: fc.Arbitrary<unknown>): fc.Arbitrary<object> =>
  fc.array(fc.tuple(names, value), { maxLength: 4 }).map((entries) => Object.fromEntries(entries));

describe("a merge patch", () => {
  const document = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: "small" },
      fc.constantFrom(null, 0, 1, "a", "b", true),
      fc.array(fc.constantFrom(1, 2, "a"), { maxLength: 2 }),
      documentOf(tie("value")),
    ),
  })).value;
  const object = documentOf(document);

  it("leads from any document to any other, where null and absent are one", () =>
    fc.assert(
      fc.property(object, object, (before, after) => {
        const patch: unknown = JSON.parse(JSON.stringify(mergePatch(before, after) ?? null));
        const shown = patch === null ? before : patched(before, patch);
        expect(JSON.stringify(sorted(patched({}, shown)))).toBe(JSON.stringify(sorted(patched({}, after))));
      }),
    ));

  it("is nothing where nothing changed", () =>
    expect(mergePatch({ a: { b: [1], c: null } }, { a: { b: [1] } })).toBeUndefined());
});

const sorted = (value: unknown): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? Object.entries(value)
        .map(([key, inner]) => [key, sorted(inner)] as const)
        .toSorted(([one], [other]) => (one < other ? -1 : 1))
    : value;

/** Ended with the test. */
function running(live: LiveViews): LiveViews {
  const end = new AbortController();
  void live.run(end.signal);
  onTestFinished(() => end.abort());
  return live;
}

function scene() {
  const clock = new VirtualClock();
  const shown = { count: 0, padding: "" };
  const looks = { count: 0 };
  const view = (name: string) => {
    looks.count += 1;
    return name === "counter" ? { ...shown } : null;
  };
  const live = running(new LiveViews(clock, view, new Faults(silentLog, clock)));
  const join = (isWelcome?: () => boolean, place?: string, role?: Role) =>
    new Reader().join(live, "counter", isWelcome, place, role);
  const change = (change: Partial<typeof shown> = {}) => {
    Object.assign(shown, { count: shown.count + 1 }, change);
  };
  return { clock, live, looks, join, change };
}

const kindsOf = ({ sent }: Reader) => sent.map(({ kind }) => kind).filter((kind) => kind !== "alive");

describe("live views", () => {
  it("tell the newest value at most four times a second", async () => {
    const { clock, join, change } = scene();
    const reader = join();
    for (let times = 0; times < 100; times += 1) {
      change();
      await clock.advance(20);
    }
    expect(kindsOf(reader).filter((kind) => kind === "patch").length).toBeLessThanOrEqual(8);
    await clock.advance(300);
    expect(reader.sent.at(-1)).toMatchObject({ kind: "patch", data: { count: 100 } });
  });

  it("answer subscriptions at most four times a second, however often they come", async () => {
    const { clock, join } = scene();
    const reader = join();
    for (let times = 0; times < 200; times += 1) reader.subscribe("counter");
    await clock.advance(1_000);
    expect(kindsOf(reader).length).toBeLessThanOrEqual(2);
    for (let times = 0; times < 100; times += 1) {
      reader.subscribe(...(times % 2 === 0 ? [] : ["counter"]));
      await clock.advance(20);
    }
    expect(kindsOf(reader).length).toBeLessThanOrEqual(2 + 9);
    expect(reader.sent.at(-1)).toMatchObject({ kind: "snapshot" });
  });

  it("tell sentences in the language that each reader asks for, and English to who asks for none", async () => {
    const clock = new VirtualClock();
    const shown = {
      count: 1,
      message: msg`${"root"} has locked this actuator${""}; nothing passes until it is unlocked.`,
    };
    const live = running(new LiveViews(clock, () => ({ ...shown }), new Faults(silentLog, clock)));
    const [one, other] = [new Reader().join(live, "lock"), new Reader().join(live, "lock")];
    other.emit("message", Buffer.from(JSON.stringify({ subscribe: ["lock"], language: "zh" })), false);
    const told = ({ sent }: Reader) =>
      sent.flatMap(({ kind, data }) => (kind === "snapshot" ? [(data as { message: string }).message] : []));
    await expect
      .poll(async () => {
        await clock.advance(300);
        return told(other).at(-1);
      })
      .toMatch(/^root 已锁定/);
    expect(told(one)).toEqual(["root has locked this actuator; nothing passes until it is unlocked."]);
    Object.assign(shown, { message: msg`This actuator is read-only in the configuration.` });
    await clock.advance(600);
    const [english, chinese] = [one, other].map(({ sent }) => sent.findLast(({ kind }) => kind === "patch"));
    expect(english).toMatchObject({ data: { message: "This actuator is read-only in the configuration." } });
    expect(chinese).toMatchObject({ data: { message: expect.stringMatching(/只读/) as string } });
  });

  it("give a sign of life at least every 5 s", async () => {
    const { clock, join } = scene();
    const reader = join();
    await clock.advance(60_000);
    expect(reader.sent.filter(({ kind }) => kind === "alive").length).toBeGreaterThanOrEqual(12);
  });

  it("send who reads too slowly nothing more, and a snapshot when he has caught up", async () => {
    const { clock, join, change } = scene();
    const [slow, quick] = [join(), join()];
    slow.isStalled = true;
    change({ padding: "x".repeat(100_000) });
    await clock.advance(300);
    const held = slow.bufferedAmount;
    for (let times = 0; times < 40; times += 1) {
      change({ padding: String(times).repeat(50_000) });
      await clock.advance(250);
    }
    expect(slow.bufferedAmount).toBe(held);
    expect(kindsOf(quick).filter((kind) => kind === "patch").length).toBeGreaterThan(30);
    slow.isStalled = false;
    slow.bufferedAmount = 0;
    await clock.advance(300);
    expect(slow.sent.at(-1)).toMatchObject({ kind: "snapshot", data: { count: 41 } });
    change();
    await clock.advance(300);
    expect(slow.sent.at(-1)).toMatchObject({ kind: "patch", data: { count: 42 } });
  });

  it("answer no subscription of who reads none of the answers", () => {
    const reader = scene().join();
    reader.isStalled = true;
    reader.bufferedAmount = 65 * 1024;
    const before = reader.sent.length;
    for (let n = 0; n < 100; n += 1) {
      reader.subscribe();
      reader.subscribe("counter", "nonsense");
    }
    expect(reader.sent).toHaveLength(before);
  });

  it("of one user are 20 at most: the newest takes the place of his own oldest", () => {
    const { live, join } = scene();
    const own = Array.from({ length: 20 }, () => join());
    expect(live.isFullFor("anna", "viewer")).toBe(false);
    join();
    expect(own.map(({ closedWith }) => closedWith)).toEqual([4409, ...Array<null>(19).fill(null)]);
  });

  it("of viewers leave ten places to operators, however many viewers there are", () => {
    const { live, join } = scene();
    for (const viewer of ["a", "b", "c"])
      for (let at = 0; at < 20; at += 1) if (!live.isFullFor(viewer, "viewer")) join(undefined, viewer);
    expect(["c", "new"].map((viewer) => live.isFullFor(viewer, "viewer"))).toEqual([true, true]);
    expect(["a", "b"].map((viewer) => live.isFullFor(viewer, "viewer"))).toEqual([false, false]);
    for (let at = 0; at < 10; at += 1) {
      expect(live.isFullFor(`operator ${at}`, "operator")).toBe(false);
      join(undefined, `operator ${at}`, "operator");
    }
    expect(live.isFullFor("one more", "operator")).toBe(true);
    expect(live.isFullFor("operator 0", "operator")).toBe(false);
  });

  it("let go who never reads", async () => {
    const { clock, join, change } = scene();
    const reader = join();
    reader.isStalled = true;
    change({ padding: "x".repeat(100_000) });
    await clock.advance(62_000);
    expect(reader.isTerminated).toBe(true);
  });

  it("end with what let somebody in, and do nothing when nobody is there", async () => {
    const { clock, looks, join, change } = scene();
    let isWelcome = true;
    const reader = join(() => isWelcome);
    isWelcome = false;
    await clock.advance(5_000);
    expect(reader.closedWith).toBe(4401);
    reader.emit("close");
    change();
    await clock.advance(1_000);
    const asked = looks.count;
    change();
    await clock.advance(60_000);
    expect([looks.count, clock.pendingTimers]).toEqual([asked, 0]);
    const late = join();
    expect(kindsOf(late)).toEqual(["snapshot"]);
    change();
    await clock.advance(1_000);
    expect(kindsOf(late)).toEqual(["snapshot", "patch"]);
  });
});

describe("the live log", () => {
  function scene() {
    const clock = new VirtualClock();
    const recentLog = new RecentLog();
    const live = running(emptyService({ clock, recentLog }).live);
    let written = 0;
    const write = (lines: number) => {
      for (let n = 0; n < lines; n += 1) recentLog.add(`${JSON.stringify({ msg: `line ${++written}` })}\n`);
    };
    const added = ({ sent }: Reader) =>
      sent
        .filter(({ kind }) => kind === "append")
        .flatMap(({ data }) => (data as { message: string }[]).map(({ message }) => message));
    return { clock, live, write, added };
  }
  const lines = (first: number, last: number) =>
    Array.from({ length: last - first + 1 }, (_, at) => `line ${first + at}`);

  it("begins with the newest 100 lines and misses none of a burst", async () => {
    const { clock, live, write, added } = scene();
    write(300);
    const reader = new Reader().join(live, "log");
    expect(reader.sent[0]).toMatchObject({ kind: "snapshot", data: { next: null } });
    const shown = (reader.sent[0]?.data as { records: { message: string }[] }).records;
    expect(shown.map(({ message }) => message)).toEqual(lines(201, 300).toReversed());
    write(450);
    await clock.advance(250);
    expect(added(reader)).toEqual(lines(301, 750));
    write(1);
    await clock.advance(250);
    expect(added(reader)).toEqual(lines(301, 751));
  });

  it("says where lines were left out, and how many, as too many came at once", async () => {
    const { clock, live, write, added } = scene();
    write(10);
    const reader = new Reader().join(live, "log");
    write(3_000);
    await clock.advance(250);
    const told = ["2500 lines were left out here: too many came at once.", ...lines(2_511, 3_010)];
    expect(added(reader)).toEqual(told);
    write(1);
    await clock.advance(250);
    expect(added(reader)).toEqual([...told, "line 3011"]);
  });

  it("counts what nobody looked at as left out of nothing", async () => {
    const { clock, live, write } = scene();
    new Reader().join(live, "log").emit("close");
    await clock.advance(250);
    write(3_000);
    const reader = new Reader().join(live, "log");
    const shown = (reader.sent[0]?.data as { records: { message: string }[] }).records;
    expect(shown.map(({ message }) => message)).toEqual(lines(2_901, 3_000).toReversed());
  });
});

describe("a view in which nothing happens that anybody waits for", () => {
  it("is looked at once a second, and at once when something does", async () => {
    const clock = new VirtualClock();
    const [shown, looks] = [{ count: 0 }, { count: 0, isCalm: true }];
    const view = () => {
      looks.count += 1;
      return { ...shown };
    };
    const live = running(new LiveViews(clock, view, new Faults(silentLog, clock), () => looks.isCalm));
    const reader = new Reader().join(live, "overview");
    await clock.advance(1_000);
    looks.count = 0;
    const counts: number[] = [];
    for (let tick = 0; tick < 12; tick++) {
      shown.count += 1;
      await clock.advance(250);
      counts.push(looks.count);
    }
    expect(counts.at(-1)).toBe(3);
    // What changed in between is told as the newest that it is.
    const patches = reader.sent.filter(({ kind }) => kind === "patch");
    expect(patches.length).toBeLessThanOrEqual(4);
    looks.isCalm = false;
    looks.count = 0;
    shown.count += 1;
    await clock.advance(250);
    expect(looks.count).toBe(1);
    expect(reader.sent.at(-1)).toMatchObject({ kind: "patch", data: { count: shown.count } });
  });

  it("is the overview, until something is told of a command", async () => {
    const clock = new VirtualClock();
    let looks = 0;
    const kinds = () => {
      looks += 1;
      return [];
    };
    const service = emptyService({ clock, kinds });
    running(service.live);
    new Reader().join(service.live, "overview");
    const looksIn = async (ms: number) => {
      const before = looks;
      await clock.advance(ms);
      return looks - before;
    };
    await clock.advance(1_000);
    expect(await looksIn(3_000)).toBe(3);
    const taken = { id: "1", controllerId: "c", target: "actuator", targetId: "fan", by: null, via: null };
    const command = { ...taken, receivedAt: 0, wanted: { type: "word", word: "on" } };
    service.phase(command as unknown as Command, "sending", true);
    expect(await looksIn(250)).toBe(1);
  });
});
