import { describe, expect, it } from "vitest";
import type { Interrupted } from "../../src/commands/command.js";
import { CommandBench } from "../support/command-bench.js";
import { fan, fanBench } from "./benches.js";

/** A fan whose register shows a POST only after 9 s. */
function lateFan(): CommandBench {
  const bench = fanBench();
  bench.platform.onWrite = ({ address, value }) => {
    void bench.clock.wait(9_000).then(() => bench.platform.registers.set(address, value));
    return Promise.resolve({ code: "200", requestId: null });
  };
  return bench;
}

describe("already", () => {
  it("is never said while the opposite is on its way: the newer command is sent and has the last word", async () => {
    const bench = lateFan();
    await bench.play("on", 4_500, "off", 400_000);
    expect(bench.values()).toEqual(["140=1010", "140=1001"]);
    expect(bench.outcomes).toEqual({ c1: "superseded after_sending", c2: "confirmed" });
    expect(bench.platform.registers.get("140")).toBe("1001");
  });

  it("is said again once the older command has ended and a later read shows the value", async () => {
    const bench = lateFan();
    await bench.play("on", 100_000, "on", 100_000);
    expect(bench.outcomes).toEqual({ c1: "confirmed", c2: "already" });
  });
});

/** A degree the last run sent, and what became of it by the time of this start. */
function interruptedDegree(bench: CommandBench, over: Partial<Interrupted> = {}): Interrupted {
  const settings = bench.store.get("GH-0001")?.settings?.actuators.find(({ id }) => id === "roof");
  if (!settings) throw new Error("no such actuator");
  const step = { purpose: "value", address: "101", value: "60", confirmWithinMs: 150_000 } as const;
  return {
    command: {
      ...{ id: "old", ownId: true, code: "GH-0001", controllerId: "gh-0001", target: "actuator" },
      ...{ targetId: "roof", settings, wanted: { type: "position", degree: 60 }, payloadKey: "k" },
      ...{ by: null, via: null, response: null, force: false, dryRun: false, term: null, rule: null },
      ...{ receivedAt: bench.clock.now(), receivedMono: 0, deadlineMono: 0 },
    },
    step,
    ...{ earlier: [], attempts: 1, code: "200", requestId: null, sentAt: bench.clock.now() },
    ...over,
  };
}

describe("after a restart", () => {
  it("a degree passed on the way is not already there: the travel time counts from the start", async () => {
    const bench = new CommandBench({ registers: { "101": "45" } });
    bench.recover(interruptedDegree(bench));
    await bench.play(10, "45", 5_000);
    expect(bench.values()).toEqual(["101=10100", "101=45"]);
  });

  it("a command that was never sent is no reason not to send an equal one, and raises no problem", async () => {
    const bench = new CommandBench({ registers: { "101": "20" } });
    bench.recover(interruptedDegree(bench, { attempts: 0, code: null, sentAt: null }));
    await bench.play(1_000, "60", 400_000);
    expect(bench.values()).toEqual(["101=10100", "101=60"]);
    expect(bench.outcomes).toMatchObject({ c1: "confirmed" });

    const message = expect.stringMatching("whether 60 had been sent is not known") as string;
    expect(bench.results.find(({ id }) => id === "old")).toMatchObject({ outcome: "superseded", message });

    const other = new CommandBench();
    other.platform.registers.set("101", "20");
    other.recover(interruptedDegree(other, { attempts: 0, code: null, sentAt: null }));
    await other.clock.advance(700_000);
    expect(other.outcomes).toEqual({ old: "failed" });
    expect(other.store.get("GH-0001")?.problem).toBe(false);
  });
});

describe("those that wait together", () => {
  /** The first command's POST takes 6 s. */
  function slowFan(): CommandBench {
    const bench = fanBench();
    bench.platform.onWrite = async (post) => {
      await bench.clock.wait(6_000);
      return bench.platform.accept(post);
    };
    return bench;
  }

  it.each([
    ["a dry run", '{"command":"off","dry_run":true}', "dry_run"],
    ["a command that is refused when its turn comes", '{"command":"off","max_age":"1s"}', "refused expired"],
  ])("%s takes nobody's place", async (_, payload, outcome) => {
    const bench = slowFan();
    await bench.play("on", 1_000, "auto", payload, 400_000);
    expect(bench.outcomes).toEqual({ c1: "superseded after_sending", c2: "confirmed", c3: outcome });
    expect(bench.values()).toEqual(["140=1010", "140=1100"]);
  });

  it("a dry run of what is there already takes nobody's place", async () => {
    const bench = new CommandBench({
      actuators: [{ ...fan, minIntervalMs: 60_000 }],
      registers: { "140": "1001" },
    });
    await bench.play("on", 30_000, "auto", '{"command":"on","dry_run":true}', 400_000);
    expect(bench.outcomes).toEqual({ c1: "confirmed", c2: "confirmed", c3: "already" });
  });

  it("the newest supersedes the others at once", async () => {
    const bench = slowFan();
    await bench.play("on", 1_000, "auto", "off", 10);
    expect(bench.outcomes).toEqual({ c2: "superseded before_sending" });
    await bench.clock.advance(400_000);
    expect(bench.results.map(({ id, outcome }) => `${id} ${outcome}`)).toEqual([
      "c2 superseded",
      "c1 superseded",
      "c3 confirmed",
    ]);
  });

  it("one that may be too old before the others are supersedes them when it is sent", async () => {
    const bench = slowFan();
    await bench.play("on", 1_000, "auto", '{"command":"off","max_age":"30s"}');
    expect(bench.outcomes).toEqual({});
    await bench.clock.advance(400_000);
    expect(bench.outcomes).toEqual({
      ...{ c1: "superseded after_sending", c2: "superseded before_sending", c3: "confirmed" },
    });
    expect(bench.values()).toEqual(["140=1010", "140=1001"]);
  });
});

describe("a command that takes over the read-backs of an equal one", () =>
  it("is in the journal with what was sent for both, before the older one's result", async () => {
    const bench = lateFan();
    await bench.play("on", 4_500, '{"command":"on","id":"heir"}', 100);
    const records = bench.records.map((record) =>
      record.type === "result"
        ? `result ${record.result.id}`
        : "id" in record
          ? `${record.type} ${String(record.id)}`
          : record.type,
    );
    expect(records.slice(-2)).toEqual(["command_taken heir", "result c1"]);
    expect(
      bench.records.findLast((record) => record.type === "command_taken" && record.id === "heir"),
    ).toMatchObject({ took_over: "c1" });
    await bench.clock.advance(100_000);
    expect(bench.outcomes).toEqual({ c1: "superseded after_sending", heir: "confirmed" });
  }));
