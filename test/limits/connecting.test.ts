import { describe, expect, it } from "vitest";
import { CommandBench, type CommandBenchOptions } from "../support/command-bench.js";
import { platformError } from "../support/scripted-platform.js";
import { bench, blow, guard, limits, lockOf, skylight, valve } from "./bench.js";

/*
 * A POST that waits for its connection: what is judged before its first byte, and that nothing of it is sent where it may not
 * leave any more.
 */

const wind = guard({ clearAfterMs: 0, allow: { words: ["close"], degrees: { min: 0, max: 10 } } });
const stop = { address: "109", value: "00000100" };
const guarded = skylight({ stop, limits: limits({ guards: [wind] }) });

const waitingBench = async (connectMs: number, over: CommandBenchOptions = {}): Promise<CommandBench> => {
  const one = await bench({ actuators: [guarded], ...over });
  await one.play(blow(3), 0);
  one.platform.connectMs = connectMs;
  return one;
};

describe("while a POST waits for its connection", () => {
  it("a guard that begins to hold keeps it back: refused, and nothing was sent", async () => {
    const one = await waitingBench(4_000);
    await one.play("open", 1_000, blow(14), 60_000);
    expect(one.platform).toMatchObject({ tries: 1, posts: [] });
    expect(one.results).toMatchObject([
      { outcome: "refused", reason: "interlock", steps: [], sent_at: null, interlock: { rule: "wind" } },
    ]);
  });

  it("so does a lock", async () => {
    const one = await waitingBench(4_000);
    await one.play("open", 1_000);
    await one.engine.change("GH-0001", ["roof"], { lock: lockOf(one) });
    await one.clock.advance(60_000);
    expect(one.values()).toEqual([]);
    expect(one.outcomes).toEqual({ c1: "refused interlock" });
  });

  it.each([
    ["readOnly", "refused read_only"],
    ["dryRun", "dry_run"],
  ] as const)("so does %s, switched on meanwhile", async (key, end) => {
    const options = { readOnly: false, dryRun: false };
    const one = new CommandBench(Object.assign(options, { registers: { "101": "10001" } }));
    one.platform.connectMs = 4_000;
    await one.play("open", 1_000);
    options[key] = true;
    await one.clock.advance(60_000);
    expect(one.values()).toEqual([]);
    expect(one.outcomes).toEqual({ c1: end });
  });

  it("its age passes: it ends as it does, and a connection that comes later sends nothing", async () => {
    const one = await waitingBench(20_000);
    await one.play('{"command":"open","max_age":"5s"}', 5_000);
    expect(one.results).toEqual([]);
    await one.clock.advance(1);
    expect(one.outcomes).toEqual({ c1: "refused expired" });
    await one.clock.advance(60_000);
    expect(one.values()).toEqual([]);
  });

  it("between the mode and the degree a guard begins to hold: what was sent is told", async () => {
    const one = await waitingBench(0);
    await one.play("60", 1_000, () => (one.platform.connectMs = 4_000), 3_000, blow(14), 60_000);
    expect(one.values()).toEqual(["101=10100"]);
    expect(one.results).toMatchObject([
      { outcome: "failed", reason: "interlock", steps: [{ purpose: "mode", value: "10100" }] },
    ]);
  });

  it("between the mode and the degree it grows too old: expired midway", async () => {
    const one = await waitingBench(0);
    const slow = () => (one.platform.connectMs = 30_000);
    await one.play('{"command":60,"max_age":"10s"}', 1_000, slow, 60_000);
    expect(one.values()).toEqual(["101=10100"]);
    expect(one.results).toMatchObject([
      { outcome: "failed", reason: "expired_midway", steps: [{ purpose: "mode", read_back: "10100" }] },
    ]);
  });

  it("a stop goes at once, and nothing was sent of what it stops", async () => {
    const one = await waitingBench(20_000);
    await one.play("open", 1_000, () => (one.platform.connectMs = 0), "stop", 60_000);
    expect(one.platform.posts).toMatchObject([{ at: 1_000, address: "109" }]);
    expect(one.outcomes).toEqual({ c1: "superseded before_sending", c2: "confirmed" });
  });

  it("a stop between the mode and the degree: what was sent is told", async () => {
    const one = await waitingBench(0);
    const slow = () => (one.platform.connectMs = 20_000);
    await one.play("60", 1_000, slow, 3_000, () => (one.platform.connectMs = 0), "stop", 60_000);
    expect(one.values()).toEqual(["101=10100", "109=00000100"]);
    expect(one.results[0]).toMatchObject({
      ...{ outcome: "superseded", reason: "after_sending" },
      steps: [{ purpose: "mode", read_back: "10100" }],
    });
  });

  it("the end of the program sends nothing of it", async () => {
    const one = await waitingBench(20_000);
    await one.play("open", 1_000, () => one.commander.close(), 60_000);
    expect(one.values()).toEqual([]);
    expect(one.outcomes).toEqual({ c1: "refused shutting_down" });
  });

  it("it moves nothing yet: those that wait keep their places, and no start is counted", async () => {
    const one = await waitingBench(20_000, {
      actuators: [skylight({ limits: limits({ guards: [wind], startsPerHour: 1 }) })],
    });
    await one.play(
      "open",
      1_000,
      blow(14),
      30_000,
      blow(3),
      () => (one.platform.connectMs = 0),
      "open",
      60_000,
    );
    expect(one.outcomes).toEqual({ c1: "refused interlock", c2: "confirmed" });
  });
});

describe("a stop that never left", () => {
  const unreachable = () => platformError({ kind: "unreachable", sent: false });

  it("goes out again at once, then every second, until there is a connection", async () => {
    const one = await waitingBench(0);
    one.platform.connects = (nth) => (nth <= 4 ? unreachable() : null);
    await one.play("stop", 0);
    expect(one.platform.tries).toBe(2);
    await one.play(60_000);
    expect(one.platform.posts).toMatchObject([{ at: 3_000, address: "109" }]);
    expect(one.results).toMatchObject([{ outcome: "confirmed", steps: [{ attempts: 1 }] }]);
  });

  it("until it is too old; then it failed, and the network is named", async () => {
    const one = await waitingBench(0);
    one.platform.connects = unreachable;
    await one.play('{"command":"stop","max_age":"10s"}', 60_000);
    expect(one.platform).toMatchObject({ tries: 12, posts: [] });
    expect(one.results).toMatchObject([
      { outcome: "failed", reason: "not_sent", message: "the platform did not do it", sent_at: null },
    ]);
  });

  it("is not begun anew by every further press, which would send none", async () => {
    const one = await waitingBench(0);
    one.platform.connects = (nth) => (nth <= 2 ? unreachable() : null);
    await one.play("stop", 500, "stop", 60_000);
    expect(one.platform.posts).toMatchObject([{ at: 1_000 }, { at: 3_000 }]);
    expect(one.outcomes).toEqual({ c1: "confirmed", c2: "confirmed" });
  });

  it("another command that never left fails at once", async () => {
    const one = await waitingBench(0);
    one.platform.connects = unreachable;
    await one.play("open", 0);
    expect(one.platform.tries).toBe(1);
    expect(one.outcomes).toEqual({ c1: "failed not_sent" });
  });
});

describe("no unanswered request of others holds up", () => {
  const paced = (one: CommandBench) => new Set(one.platform.paces);

  it("a stop", async () => {
    const one = await waitingBench(0);
    await one.play("stop", 60_000);
    expect(paced(one)).toEqual(new Set(["first"]));
  });

  it("what a guard sends, from its checks to its read-backs", async () => {
    const acting = { ...wind, sends: "close" };
    const one = await waitingBench(0, {
      actuators: [skylight({ limits: limits({ guards: [acting] }) })],
      registers: { "101": "10010" },
    });
    await one.play(blow(14), 60_000);
    expect(one.values()).toEqual(["101=10001"]);
    expect(paced(one)).toEqual(new Set(["first"]));
  });

  it("the end of a lease; what began it waits as any command", async () => {
    const one = await bench({ actuators: [valve()] });
    await one.play('{"command":"on","for":"20m"}', 60_000);
    expect(paced(one)).toEqual(new Set(["urgent"]));
    one.platform.paces.length = 0;
    await one.clock.advance(20 * 60_000);
    expect(one.values()).toEqual(["210=1010", "210=1001"]);
    expect(paced(one)).toEqual(new Set(["first"]));
  });
});
