import { describe, expect, it } from "vitest";
import { PlatformError } from "../../src/greenhouse/ports.js";
import { stepsOf } from "../../src/greenhouse/command/plan.js";
import type { Journal } from "../../src/journal/journal.js";
import type { Checkpoint, KeptLimits } from "../../src/journal/records.js";
import { clientStatus } from "../support/builders.js";
import { CommandBench } from "../support/command-bench.js";
import { lock, unlock } from "../../src/status/requests.js";
import {
  bench,
  blow,
  guard,
  historyOf,
  ignored,
  keptIn,
  limits,
  nextStart,
  skylight,
  takeUp,
  valve,
} from "./bench.js";

/* What must not be lost on the way: of a rule's command, of a lease, of a lock. */

const wind = guard({ clearAfterMs: 60_000, allow: { words: ["close"], degrees: { min: 0, max: 20 } } });
const closing = { ...wind, sends: "close" };
const on = { words: ["on", "off"], degrees: null };
const stop = { address: "101", value: "00000" };
const open = { "101": "10010" };

function storm(more: Parameters<typeof skylight>[0] = {}, ofLimits: Parameters<typeof limits>[0] = {}) {
  const limited = limits({ guards: [closing], ...ofLimits });
  return bench({ actuators: [skylight({ stop, ...more, limits: limited })], registers: open });
}

/** A storm, and a platform that takes its time to say that the controller is online. */
async function slow() {
  const one = await storm();
  one.platform.connection = () => one.clock.wait(500).then(() => clientStatus("online"));
  return one;
}

describe("what a guard sends", () => {
  it("and a stop cuts short is sent again after 30 s and 2 min, then alarmed", async () => {
    const one = await storm();
    one.platform.onWrite = ignored;
    await one.play(blow(14), 5_000, "stop", 600_000);
    expect(one.values().filter((value) => value !== "101=00000")).toEqual([
      "101=10001",
      "101=10001",
      "101=10001",
    ]);
    expect(one.alarms.has("guard_unmet")).toBe(true);
    expect(one.alarmFacts.get("guard_unmet")).toMatchObject({ guards: [{ rule: "wind", sends: "close" }] });
  });

  it("and a stop keeps back before anything of it is sent has used up no try, and goes out again within seconds", async () => {
    const one = await slow();
    await one.play(blow(14), 100, "stop", 2_000, "stop", 5_100, "stop", 5_100, "stop", 4_000);
    const ends = one.results.filter(({ by }) => by === "rule wind");
    expect(ends.map(({ outcome, reason }) => `${outcome} ${reason}`)).toEqual(
      Array(4).fill("superseded before_sending"),
    );
    expect(one.values()).not.toContain("101=10001");
    await one.clock.advance(3_000);
    expect(one.values().at(-1)).toBe("101=10001");
  });

  it("is alarmed as kept back with the second command of it that sent nothing, and no longer once it went out", async () => {
    const one = await slow();
    await one.play(blow(14), 100, "stop", 1_000);
    expect(one.alarms.has("guard_unmet")).toBe(false);
    await one.play(1_100, "stop", 100);
    expect(one.alarms.get("guard_unmet")).toContain(
      "A newer command took its place before anything was sent.",
    );
    await one.clock.advance(30_000);
    expect(one.alarms.has("guard_unmet")).toBe(false);
  });

  it("goes every 10 minutes after the third try, for as long as the guard holds", async () => {
    const one = await storm();
    one.platform.onWrite = ignored;
    for (let minute = 0; minute < 40; minute++) await one.play(blow(14), 30_000, blow(14), 30_000);
    expect(one.values()).toHaveLength(6);
    expect(one.alarms.has("guard_unmet")).toBe(true);
    await one.play(blow(3), 60_000, blow(3), 1_000, blow(3), 59_000, blow(3), 1_000);
    for (let minute = 0; minute < 20; minute++) await one.play(blow(3), 59_000);
    expect(one.values()).toHaveLength(6);
    expect(one.alarms.has("guard_unmet")).toBe(false);
  });

  it("gives way to another command that the guard allows, and is not sent against it", async () => {
    const one = await storm();
    await one.play(blow(14), 500, "20", 400_000);
    expect(one.results.at(-1)).toMatchObject({ command: "20", outcome: "confirmed" });
    expect(one.values()).toEqual(["101=10001", "101=10100", "101=20"]);
  });

  it("is not given up for a command that went out while it waited, where nothing of it was sent", async () => {
    const one = await storm({ travelMs: 0 });
    let asked = 0;
    one.platform.connection = async () => {
      await one.clock.wait(500);
      if (asked++ === 1)
        throw new PlatformError("no answer", {
          kind: "unreachable",
          host: "business",
          operation: "status",
          sent: false,
        });
      return clientStatus("online");
    };
    await one.play(blow(3), "20", 100, blow(14), 60_000);
    const ends = one.results.map(({ by, outcome, reason }) => [by, outcome, reason]);
    expect(ends).toContainEqual(["rule wind", "refused", "platform_unavailable"]);
    expect(one.values()).toEqual(["101=10100", "101=20", "101=10001"]);
  });

  it("goes out itself where an equal command of somebody is still confirming", async () => {
    const one = await storm({ travelMs: 0, confirmWithinMs: 120_000 });
    one.platform.onWrite = ignored;
    await one.play(blow(3), "close", 1_000, blow(14), 1_000);
    expect(one.values()).toEqual(["101=10001", "101=10001"]);
    expect(one.results).toMatchObject([{ command: "close", outcome: "superseded", reason: "after_sending" }]);
  });

  it("goes before a newer command that rests", async () => {
    const one = await storm({ minIntervalMs: 10_000 }, { restMs: 10_000 });
    await one.play(blow(3), 60_000, "20", 3_000, blow(14), 0, '{"command":"5","max_age":"60s"}', 10_000);
    expect(one.values()).toEqual(["101=10100", "101=20", "101=10001"]);
  });

  it.each([
    ["and never reached the platform before a crash is sent again", "x", ["101=10001"], false],
    ["and was not confirmed stays alarmed over a restart, and is not sent again at once", null, [], true],
  ])("for the third time %s", async (_, id, values, isAlarmed) => {
    const kept = { guards: { wind: { phase: "held", sending: "due", id, tries: 3 } } } as const;
    const limited = limits({ guards: [closing] });
    const one = await bench({ actuators: [skylight({ limits: limited })], registers: open, kept });
    await one.play(blow(14), 60_000);
    expect(one.values()).toEqual(values);
    expect(one.alarms.has("guard_unmet")).toBe(isAlarmed);
  });
});

describe("what the disk has", () => {
  const newest = (one: CommandBench) => keptIn(one.records).at(-1);

  it("is the newest state of a guard as soon as the disk takes it again, also where nothing changes any more", async () => {
    const one = await storm();
    await one.play(blow(3), 61_000);
    one.journalProblem = "the disk is full";
    await one.play(blow(14), 200_000);
    expect(newest(one)?.guards["wind"]?.phase).not.toBe("held");
    one.journalProblem = null;
    await one.journalAgain();
    expect(newest(one)?.guards["wind"]).toMatchObject({ phase: "held", sending: "done" });
    const { length } = one.records;
    await one.journalAgain();
    expect(one.records).toHaveLength(length);
  });

  it("keeps the lease of a command that is about to be sent, whatever changes before it is", async () => {
    const guards = [{ ...wind, allow: on, clearAfterMs: 0 }];
    const one = await bench({ actuators: [valve({ limits: limits({ guards }) })] });
    await one.play(blow(3), 0);
    one.diskMs = 5_000;
    await one.play('{"command":"on","for":"20m"}', 1_000);
    expect(newest(one)).toMatchObject({ guards: { wind: { phase: "clear" } }, lease: { command: "on" } });
    await one.play(blow(14), 1_000);
    // A guard that holds begins so without a word on disk.
    expect(newest(one)).toMatchObject({ guards: {}, lease: { command: "on" } });
    expect(one.values()).toEqual([]);
  });

  it("has the newest state also where a rule sent its command while the disk took nothing", async () => {
    const one = await storm({}, { restMs: 600_000 });
    one.journalProblem = "the disk is full";
    await one.play(blow(14), 200_000);
    expect(one.values()).toEqual(["101=10001"]);
    one.journalProblem = null;
    await one.journalAgain();
    expect(newest(one)).toMatchObject({ guards: { wind: { sending: "done" } }, direction: "down" });
  });

  it("has no lease of a command that was never sent", async () => {
    const one = await bench({ actuators: [valve()] });
    one.refuses = (record) => record.type === "phase";
    const refused = await one.run('{"command":"on","for":"20m"}');
    expect(refused.reason).toBe("journal_unavailable");
    expect(newest(one)?.lease ?? null).toBeNull();
  });
});

function newestKept(one: CommandBench): KeptLimits {
  const kept = keptIn(one.records).at(-1);
  if (!kept) throw new Error("the disk has nothing");
  return kept;
}

describe("a lease", () => {
  const lease = (one: CommandBench) =>
    one.store.get("GH-0001")?.actuators.get("valve")?.restrictions?.lease ?? null;

  it("of a command that takes over the read-backs of an equal one is in force from then on", async () => {
    const one = await bench({ actuators: [valve()] });
    one.platform.onWrite = ignored;
    await one.play("on", 1_500, '{"command":"on","for":"20m"}', 1_000);
    expect(lease(one)).toMatchObject({ command: "on", ends_with: "off" });
    await one.clock.advance(120_000);
    expect(one.results.map(({ outcome }) => outcome)).toEqual(["superseded", "unconfirmed"]);
    expect(lease(one)).toMatchObject({ command: "on" });
    one.platform.onWrite = (post) => one.platform.accept(post);
    one.platform.registers.set("210", "1010");
    await one.clock.advance(1_200_000);
    expect(one.values()).toEqual(["210=1010", "210=1001"]);
  });

  it("of an actuator that the configuration has no more is told, and kept for a day past its end", () => {
    const one = new CommandBench({ actuators: [valve()] });
    const until = one.clock.now() - 60_000;
    const kept = { lease: { id: "x", by: null, command: "on", ends_with: "off", until } };
    const lost = takeUp(one, historyOf("pump", kept));
    expect(lost.lease_overrun).toMatch(/GH-0001\/pump.*"on".*off/);
    expect(one.records).toEqual([]);
    const old = { lease: { ...kept.lease, until: until - 86_400_000 } };
    expect(takeUp(one, historyOf("pump", old)).lease_overrun).toBeNull();
    expect(one.records).toMatchObject([{ type: "lane", actuator: "pump", memory: { limits: null } }]);
  });

  describe("of an address that its actuator has no more", () => {
    const limited = limits({ restMs: 60_000 });

    /** The disk of a run that has switched 210 on and was then started again with the valve at another address. */
    async function moved(address: string, kept?: KeptLimits) {
      const earlier = await bench({ actuators: [valve({ limits: limited })] });
      await earlier.play('{"command":"on","for":"20m"}', 5_000);
      const left = kept ?? newestKept(earlier);
      expect(left.lease?.address).toBe("210");
      const one = await bench({
        actuators: [valve({ address, limits: limited })],
        registers: { [address]: "1010" },
      });
      const lost = takeUp(one, historyOf("valve", left));
      await one.clock.advance(3_600_000);
      return { one, lost: lost.lease_overrun };
    }

    it("is told, and nothing is sent to the address of now", async () => {
      const { one, lost } = await moved("211");
      expect(lost).toMatch(/GH-0001\/valve at address 210 no more.*"on".*"off"/);
      expect(one.values()).toEqual([]);
      expect(lease(one)).toBeNull();
    });

    it("is ended as any other where the next start has the address again", async () => {
      const { one } = await moved("211");
      await one.play('{"command":"on","for":"5m"}', 600_000);
      const { one: next, lost } = await moved("210", newestKept(one));
      expect(lost).toBeNull();
      expect(next.values()).toEqual(["210=1001"]);
    });
  });

  it("that ran out while the bridge was down is ended, or found ended by somebody else, with the first read of its actuator", async () => {
    const until = new CommandBench().clock.now() - 60_000;
    const kept = { lease: { id: "x", by: null, command: "on", ends_with: "off", until } };
    const firstRead = async (raw: string) => {
      const one = await bench({ actuators: [valve()], isUnread: true, kept });
      await one.clock.advance(10_000);
      expect(one.values()).toEqual([]);
      one.platform.registers.set("210", raw);
      one.polled("210", raw);
      await one.clock.advance(0);
      return one;
    };
    expect((await firstRead("1010")).values()).toEqual(["210=1001"]);
    const moved = await firstRead("1001");
    expect(lease(moved)).toBeNull();
    await moved.clock.advance(600_000);
    expect(moved.values()).toEqual([]);
  });

  it("of an earlier version, which names no address, is ended at the address of now", async () => {
    const until = new CommandBench().clock.now() + 60_000;
    const kept = { lease: { id: "x", by: null, command: "on", ends_with: "off", until } };
    const one = await bench({ actuators: [valve({ address: "211" })], registers: { 211: "1010" }, kept });
    await one.clock.advance(120_000);
    expect(one.values()).toEqual(["211=1001"]);
  });
});

describe("a lock on its way to the disk", () => {
  it("is not written over by what else changes meanwhile, so that a kill leaves it in force", async () => {
    const one = await storm();
    one.diskMs = 1_000;
    const before = one.records.length;
    const lock = { by: "anna", via: null, reason: null, since: 0, until: null, endsAt: Infinity } as const;
    const locking = one.engine.change("GH-0001", ["roof"], { lock: { ...lock, isSpan: false } });
    await one.play(blow(14), 500, blow(3), 5_000);
    await locking;
    // What the guard asked for meanwhile too.
    const written = keptIn(one.records.slice(before));
    expect(written.length).toBeGreaterThan(2);
    expect(written.map((kept) => kept?.lock?.by)).toEqual(written.map(() => "anna"));
  });

  /** Beside a skylight that is shut, with what was asked of it and where that stands. */
  async function asked(diskMs: number) {
    const one = await bench({ actuators: [skylight()], registers: { "101": "10001" } });
    one.diskMs = diskMs;
    const controller = one.store.get("GH-0001");
    if (controller === undefined) throw new Error("no controller");
    const journal = { append: () => Promise.resolve(0) } as unknown as Journal;
    const core = { clock: one.clock, journal, onEvent: () => undefined };
    const ask = (what: typeof unlock | typeof lock) => {
      const here = { answer: "none yet" };
      const said = (answer: string) => void (here.answer = answer);
      const fields = { actuator: "roof", by: "anna" };
      what(one.engine, { controller, fields, via: null }, core).then(
        () => said("done"),
        (error: unknown) => said(String(error)),
      );
      return here;
    };
    return { one, ask };
  }
  const locked = { outcome: "refused", reason: "interlock" };

  it("forbids from the moment it is asked for: what comes behind it, and the next POST of what runs", async () => {
    const { one, ask } = await asked(0);
    one.platform.connection = () => one.clock.wait(500).then(() => clientStatus("online"));
    await one.play("open", 200);
    one.diskMs = 8_000;
    const asking = ask(lock);
    await one.play("close", 5_000);
    expect(one.results).toMatchObject([
      { command: "close", ...locked, interlock: { rule: "lock", value: "anna" } },
    ]);
    expect(asking.answer).toBe("none yet");
    // That of what ran was on its way to the disk.
    await one.clock.advance(30_000);
    expect(one.results.at(-1)).toMatchObject({ command: "open", ...locked });
    expect([one.values(), asking.answer]).toEqual([[], "done"]);
  });

  it("is told of after 10 s where the disk does not answer, forbids all the same, and is in force once it does", async () => {
    const { one, ask } = await asked(60_000);
    const asking = ask(lock);
    await one.play(9_000, "open", 1_100);
    expect(one.results).toMatchObject([locked]);
    expect(asking.answer).toMatch(/disk has not answered for 10 s.*What forbids counts already/);
    await one.play(60_000, "open", 1_000);
    expect([one.results.at(-1), one.values()]).toMatchObject([locked, []]);
    const shown = one.store.get("GH-0001")?.actuators.get("roof")?.restrictions;
    expect(shown?.lock).toMatchObject({ by: "anna" });
  });

  it("that the disk refuses is in force for nobody", async () => {
    const { one, ask } = await asked(0);
    one.journalProblem = "the disk is full";
    const asking = ask(lock);
    await one.clock.advance(100);
    one.journalProblem = null;
    expect(asking.answer).toContain("the disk is full");
    expect(await one.run("open")).toMatchObject({ outcome: "confirmed" });
  });

  it("and one behind it that frees count in their order, the latter once the disk has it", async () => {
    const { one, ask } = await asked(1_000);
    const [first, second, third] = [ask(lock), ask(unlock), ask(unlock)];
    await one.play(500, "open", 100);
    expect(one.results).toMatchObject([locked]);
    await one.clock.advance(2_000);
    expect([first.answer, second.answer, third.answer]).toMatchObject([
      "done",
      "done",
      expect.stringContaining("Nothing is locked"),
    ]);
    expect(await one.run("open")).toMatchObject({ outcome: "confirmed" });
  });
});

describe("a lock of a whole controller", () => {
  const asks = (one: CommandBench) => {
    const controller = one.store.get("GH-0001");
    if (controller === undefined) throw new Error("the bench has no controller");
    const { engine, clock } = one;
    const journal = { append: () => Promise.resolve(1) } as unknown as Journal;
    const core = { clock, journal, onEvent: () => undefined };
    const asked = (fields: object) => ({ controller, fields: { by: "anna", ...fields }, via: null });
    return {
      lock: (fields = {}) => lock(engine, asked(fields), core),
      unlock: (fields = {}) => unlock(engine, asked(fields), core),
    };
  };
  /** What the journal has at the end of that run. */
  const left = (...runs: readonly CommandBench[]): Checkpoint =>
    nextStart(runs.flatMap(({ records }) => records));
  const next = async (ids: readonly string[], ...runs: readonly CommandBench[]) => {
    const actuators = ids.map((id, place) => skylight({ id, address: String(101 + place) }));
    const one = await bench({ actuators });
    const lost = takeUp(one, left(...runs));
    await one.clock.advance(0);
    return { one, lost, locked: ids.filter((id) => one.engine.inForce("GH-0001", id)?.lock) };
  };
  const first = () =>
    bench({ actuators: [skylight({ id: "sky" }), skylight({ id: "sky2", address: "102" })] });

  it("is in force for an actuator that comes with a later start too, and shown there", async () => {
    const one = await first();
    await asks(one).lock();
    const { one: after, locked } = await next(["sky", "sky2", "sky3"], one);
    expect(locked).toEqual(["sky", "sky2", "sky3"]);
    const { restrictions } = after.store.get("GH-0001")?.actuators.get("sky3") ?? {};
    expect(restrictions?.lock).toMatchObject({ by: "anna" });
  });

  it("follows an actuator to another name, says whose lock has no actuator, and ends for all of it", async () => {
    const one = await first();
    await asks(one).lock();
    const { one: renamed, lost, locked } = await next(["sky", "window2"], one);
    expect(locked).toEqual(["sky", "window2"]);
    expect(lost.state_lost).toMatch(/GH-0001\/sky2 no more.*anna/);
    expect(await asks(renamed).unlock()).toMatchObject({ actuators: ["sky", "window2", "sky2"] });
    const back = await next(["sky", "sky2", "window2"], one, renamed);
    expect([back.locked, back.lost.state_lost]).toEqual([[], null]);
  });

  it("of which one actuator is unlocked leaves the others locked, and that one free after a start too", async () => {
    const one = await first();
    await asks(one).lock();
    await asks(one).unlock({ actuator: "sky" });
    expect((await next(["sky", "sky2"], one)).locked).toEqual(["sky2"]);
  });

  it("of which one actuator got a lock with an end of its own leaves that one free after a start too", async () => {
    const one = await first();
    await asks(one).lock();
    await asks(one).lock({ actuator: "sky", until: "2s" });
    await one.clock.advance(3_000);
    expect((await next(["sky", "sky2", "sky3"], one)).locked).toEqual(["sky2"]);
  });

  const hour = 3_600_000;

  it("for a time lasts that long and is kept with its new end where the clock is set", async () => {
    const one = await first();
    void one.store.run(AbortSignal.timeout(60_000));
    await asks(one).lock({ until: "10m" });
    const set = one.clock.now() + hour;
    one.clock.setWall(set);
    await one.clock.advance(5_000);
    const { restrictions } = one.store.get("GH-0001")?.actuators.get("sky") ?? {};
    expect(restrictions?.lock?.until).toBe(new Date(set + 600_000).toISOString());
    expect(left(one).lanes.map(({ memory }) => memory.limits?.lock?.until)).toEqual(
      Array(3).fill(set + 600_000),
    );
  });

  it("until a time of day ends by the clock as it was set", async () => {
    const one = await first();
    void one.store.run(AbortSignal.timeout(60_000));
    const right = one.clock.now();
    one.clock.setWall(right + hour);
    await one.clock.advance(5_000);
    await asks(one).lock({ until: new Date(right + hour + 15_000).toISOString() });
    one.clock.setWall(right + 5_000);
    await one.clock.advance(60_000);
    expect(one.engine.inForce("GH-0001", "sky")?.lock).toMatchObject({ until: right + hour + 15_000 });
    await one.clock.advance(hour);
    expect(one.engine.inForce("GH-0001", "sky")?.lock).toBeNull();
  });

  it("runs out for all of it, told once for each actuator", async () => {
    const one = await first();
    await asks(one).lock({ until: "1m" });
    await one.clock.advance(120_000);
    const told = one.events.flatMap(({ type, facts }) => (type === "unlocked" ? [facts?.["actuator"]] : []));
    expect(told.sort()).toEqual(["sky", "sky2"]);
    const { one: after, locked } = await next(["sky", "sky3"], one);
    expect([locked, after.events]).toEqual([[], []]);
  });
});

const unlockedIn = ({ events }: CommandBench) => events.filter(({ type }) => type === "unlocked");

describe("a lock", () => {
  const anna = (one: CommandBench, ms: number | null) => ({
    ...{ by: "anna", via: null, reason: null, since: one.clock.now() },
    until: ms === null ? null : one.clock.now() + ms,
    endsAt: ms === null ? Infinity : one.clock.monotonic() + ms,
    isSpan: true,
  });
  const unlocked = unlockedIn;

  it("that runs out is told as unlocked, once", async () => {
    const one = await bench({ actuators: [skylight()] });
    await one.engine.change("GH-0001", ["roof"], { lock: anna(one, 60_000) });
    await one.clock.advance(59_000);
    expect(unlocked(one)).toEqual([]);
    await one.clock.advance(3_600_000);
    expect(unlocked(one)).toMatchObject([
      { severity: "info", facts: { controller: "gh-0001", actuator: "roof", by: "anna" } },
    ]);
  });

  it("that ran out while the bridge was down is told as unlocked at the start", () => {
    const one = new CommandBench({ actuators: [skylight()] });
    const now = one.clock.now();
    const lock = { by: "anna", via: null, reason: null, since: now - 7_200_000, until: now - 3_600_000 };
    takeUp(one, historyOf("roof", { lock }), now);
    expect(unlocked(one)).toHaveLength(1);
    expect(keptIn(one.records).at(-1)).toBeNull();
  });

  it("of all of a controller is in force for all of it or for nothing, on disk too", async () => {
    const one = await bench({ actuators: [skylight(), valve()] });
    one.refuses = (record) => record.type === "lane" && record.actuator === "valve";
    const locked = one.engine.change("GH-0001", ["roof", "valve"], { lock: anna(one, null) });
    await expect(locked).rejects.toThrow("the disk does not take this one");
    for (const id of ["roof", "valve"]) expect(one.engine.inForce("GH-0001", id)?.lock ?? null).toBeNull();
    expect(one.records.findLast(({ type }) => type === "lane")).toMatchObject({
      ...{ actuator: "roof", memory: { limits: null } },
    });
  });
});

describe("a start with a clock that is a day ahead", () => {
  const day = 86_400_000;
  const start = (kept: Partial<KeptLimits>, clockSkewMs: number | null) =>
    bench({ actuators: [skylight({ limits: limits({ startsPerHour: 1 }) })], kept, clockSkewMs });
  const now = () => new CommandBench().clock.now();
  /** Kept by a run that saw the right time. */
  const until = () => now() - day + 3_600_000;
  const lock = () => ({ by: "anna", via: null, reason: null, since: now() - day, until: until() });
  const hold = () => ({ id: "1", by: "ben", until: until() });

  it.each([
    ["before the platform gave its time", null],
    ["that the platform contradicts", -day],
  ])("drops neither a lock nor a hold, %s", async (_, skewMs) => {
    const one = await start({ lock: lock(), hold: hold() }, skewMs);
    await one.clock.advance(60_000);
    expect(one.engine.inForce("GH-0001", "roof")).toMatchObject({
      lock: { by: "anna" },
      hold: { by: "ben" },
    });
    expect((await one.run("open")).interlock).toMatchObject({ rule: "lock" });
    expect(unlockedIn(one)).toEqual([]);
  });

  it("keeps both at the very moment at which the clock is set right, whatever comes first then", async () => {
    const one = await start({ lock: lock(), hold: hold() }, -day);
    await one.clock.advance(60_000);
    one.clock.setWall(one.clock.now() - day);
    one.clockSkewMs = 0;
    expect((await one.run("open")).interlock).toMatchObject({ rule: "lock" });
    expect(one.engine.inForce("GH-0001", "roof")).toMatchObject({
      lock: { by: "anna" },
      hold: { by: "ben" },
    });
    await one.clock.advance(3_600_000);
    expect(one.engine.inForce("GH-0001", "roof")).toMatchObject({ lock: null, hold: null });
  });

  it("ends both where it turns out right, or where no time came for as long as a reading may be old", async () => {
    const one = await start({ lock: lock(), hold: hold() }, null);
    await one.clock.advance(1_000);
    one.clockSkewMs = 0;
    await one.clock.advance(2_000);
    expect(one.engine.inForce("GH-0001", "roof")).toMatchObject({ lock: null, hold: null });
    expect(unlockedIn(one)).toHaveLength(1);
    const alone = await start({ lock: lock(), hold: hold() }, null);
    await alone.clock.advance(899_000);
    expect(alone.engine.inForce("GH-0001", "roof")?.lock).not.toBeNull();
    await alone.clock.advance(2_000);
    expect(alone.engine.inForce("GH-0001", "roof")).toMatchObject({ lock: null, hold: null });
  });

  it("keeps both over the clock being set right, and ends them in their time", async () => {
    const one = await start({ lock: lock(), hold: hold() }, -day);
    void one.store.run(AbortSignal.timeout(60_000));
    await one.clock.advance(10_000);
    one.clock.setWall(one.clock.now() - day);
    one.clockSkewMs = 0;
    await one.clock.advance(3_500_000);
    expect(one.engine.inForce("GH-0001", "roof")).toMatchObject({
      lock: { by: "anna" },
      hold: { by: "ben" },
    });
    await one.clock.advance(200_000);
    expect(one.engine.inForce("GH-0001", "roof")).toMatchObject({ lock: null, hold: null });
  });

  it("lets no start too many pass, and waits where it is not known yet how long ago the last one was", async () => {
    const starts = [now() - day - 1_800_000];
    const ahead = await start({ starts }, -day);
    await ahead.play("open", 0);
    expect(ahead.results.at(-1)?.interlock).toMatchObject({ rule: "starts_per_hour" });
    const unknown = await start({ starts }, null);
    await unknown.play("open", 5_000);
    expect([unknown.results, unknown.values()]).toEqual([[], []]);
    unknown.clockSkewMs = 0;
    await unknown.clock.advance(5_000);
    expect(unknown.values()).toEqual(["101=10010"]);
  });
});

it("rest is counted from the end of a command in the middle of which the bridge was started again", async () => {
  const rested = limits({ restMs: 30_000 });
  const earlier = await bench({ actuators: [valve({ limits: rested })] });
  earlier.platform.onWrite = ignored;
  earlier.send("on", { targetId: "valve" });
  await earlier.clock.advance(5_000);
  const [command] = earlier.commander.open;
  const [step] = command ? stepsOf(command.settings, command.wanted, null) : [];
  if (!command || !step) throw new Error("the command is over");
  const one = await bench({ actuators: [valve({ limits: rested })] });
  takeUp(one, historyOf("valve", keptIn(earlier.records).at(-1) ?? {}));
  one.openBefore.add(command.id);
  one.recover({ command, step, earlier: [], attempts: 1, code: "200", requestId: null, sentAt: 0 });
  await one.clock.advance(20_000);
  one.platform.registers.set("210", "1010");
  while (one.results.length === 0) await one.clock.advance(1_000);
  const endedAt = one.clock.monotonic();
  await one.play("rotation", 60_000);
  const [post] = one.platform.posts;
  expect(post).toMatchObject({ value: "11111111" });
  expect((post?.at ?? 0) - endedAt).toBeGreaterThanOrEqual(29_000);
});

it("a lease whose start did not know how long the bridge was down ends as the clock is set forward", async () => {
  const { clock } = new CommandBench({ actuators: [valve()] });
  const lease = { id: "x", by: null, command: "on", ends_with: "off", until: clock.now() + 600_000 };
  const started = await bench({ actuators: [valve()], registers: { "210": "1010" }, kept: { lease } });
  void started.store.run(AbortSignal.timeout(60_000));
  await started.clock.advance(60_000);
  expect(started.values()).toEqual([]);
  started.clock.setWall(started.clock.now() + 3_600_000);
  await started.clock.advance(5_000);
  expect(started.values()).toEqual(["210=1001"]);
});

it.each([
  ["20 min ahead", 45, 65],
  ["2 h ahead", 45, 165],
  ["10 min behind", 45, 35],
  ["80 min behind", 45, -35],
])(
  "a start of an earlier run counts for its hour where the clock, %s at first, is set right",
  async (_, ago, seen) => {
    const counted = limits({ startsPerHour: 1 });
    const starts = [new CommandBench({ actuators: [valve()] }).clock.now() - seen * 60_000];
    const one = await bench({ actuators: [valve({ limits: counted })], kept: { starts } });
    void one.store.run(AbortSignal.timeout(60_000));
    one.clock.setWall(one.clock.now() + (ago - seen) * 60_000);
    await one.clock.advance((50 - ago) * 60_000);
    expect(await one.run("on")).toMatchObject({ interlock: { rule: "starts_per_hour", limit: 1 } });
    await one.clock.advance(240_000);
    expect(await one.run("on")).toMatchObject({ outcome: "confirmed" });
  },
);

it.each([
  ["in a cluster, some seconds behind the member before", 20_000, true, []],
  ["in a cluster, more than two trusted clocks are apart", 121_000, true, ["210=1001"]],
  ["on one machine, set back by some seconds", 20_000, false, ["210=1001"]],
])(
  "a lease ends at once where it is not known how late it is: %s",
  async (_, behindMs, isOfCluster, sent) => {
    const one = await bench({ actuators: [valve()], registers: { "210": "1010" } });
    const newestAt = one.clock.now() + behindMs;
    const lease = { id: "x", by: null, command: "on", ends_with: "off", until: newestAt + 600_000 };
    takeUp(one, historyOf("valve", { lease }), newestAt, isOfCluster);
    await one.clock.advance(590_000);
    expect(one.values()).toEqual(sent);
    await one.clock.advance(20_000);
    expect(one.values()).toEqual(["210=1001"]);
  },
);

it.each([
  ["on one machine", 3_600_000, false, ["210=1001"]],
  ["in a cluster", 3_600_000, true, ["210=1001"]],
  ["not where that may be another member's trusted clock", 20_000, true, []],
])(
  "a lease whose times a clock wrote that was ahead ends at once, although newer records are by a right one: %s",
  async (_, aheadMs, isOfCluster, sent) => {
    const one = await bench({ actuators: [valve()], registers: { "210": "1010" } });
    const now = one.clock.now();
    const lease = { id: "x", by: null, command: "on", ends_with: "off", until: now + aheadMs + 600_000 };
    const history = historyOf("valve", { lease });
    const lanes = history.lanes.map((lane) => ({ ...lane, limited_at: now + aheadMs }));
    takeUp(one, { ...history, lanes }, now - 1_000, isOfCluster);
    await one.clock.advance(500_000);
    expect(one.values()).toEqual(sent);
  },
);

it("starts of the last hour count over a restart", async () => {
  const counted = limits({ startsPerHour: 2 });
  const earlier = await bench({ actuators: [valve({ limits: counted })] });
  for (const word of ["on", "off", "rotation", "off"]) await earlier.run(word, { targetId: "valve" });
  const kept = keptIn(earlier.records).at(-1);
  const one = await bench({ actuators: [valve({ limits: counted })] });
  await one.clock.advance(1_600_000);
  takeUp(one, historyOf("valve", kept ?? {}));
  const refused = await one.run("on");
  expect(refused.interlock).toMatchObject({ rule: "starts_per_hour", value: 2, limit: 2 });
  await one.clock.advance(1_700_000);
  expect((await one.run("on")).outcome).toBe("confirmed");
});
