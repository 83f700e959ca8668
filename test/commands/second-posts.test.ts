import { describe, expect, it } from "vitest";
import { secondPost } from "../../src/commands/sending.js";
import type { Step } from "../../src/greenhouse/command/plan.js";
import { actuator } from "../support/builders.js";
import { CommandBench } from "../support/command-bench.js";
import { platformError } from "../support/scripted-platform.js";
import { roofBench } from "./benches.js";

const stoppable = { stop: { address: "109", value: "00000100" } };
const refused = () => Promise.reject(platformError({ kind: "unauthorized", status: 401 }));
const noCredential = () => platformError({ kind: "unauthorized", sent: false, code: undefined });
const noConnection = () => platformError({ kind: "unreachable", sent: false });

/** The first POST is refused as told, later ones are accepted. */
const refusingOnce = (bench: CommandBench, how: () => Promise<never>) => {
  bench.platform.onWrite = (post, nth) => (nth === 1 ? how() : bench.platform.accept(post));
};

describe("after a refused credential nothing was taken", () => {
  it("a stop whose value stands in the register from before is sent all the same", async () => {
    const bench = new CommandBench({
      actuators: [stoppable],
      registers: { "101": "10010", "109": "00000100" },
    });
    refusingOnce(bench, refused);
    expect(await bench.run("stop")).toMatchObject({ outcome: "confirmed", steps: [{ attempts: 2 }] });
    expect(bench.values()).toEqual(["109=00000100", "109=00000100"]);
  });

  it.each<[string, string]>([
    ["nothing can be read", "open"],
    ["it is too old by then", '{"command":"open","max_age":"3s"}'],
  ])("and %s, it is rejected, not unknown", async (why, payload) => {
    const bench = roofBench();
    if (why === "nothing can be read")
      bench.platform.onRead = (_, nth) => (nth > 1 ? platformError({ operation: "get-value" }) : "10001");
    refusingOnce(bench, refused);
    expect(await bench.run(payload)).toMatchObject({ outcome: "rejected", reason: "unauthorized" });
    expect(bench.values()).toHaveLength(1);
  });
});

describe("without a credential at hand nothing was sent", () => {
  it("and none can be had, it failed as not sent, with no time of sending", async () => {
    const bench = new CommandBench({ actuators: [stoppable] });
    bench.platform.renewWorks = false;
    bench.platform.connects = noCredential;
    expect(await bench.run("stop")).toMatchObject({
      outcome: "failed",
      reason: "not_sent",
      sent_at: null,
      steps: [{ attempts: 0, code: null }],
    });
  });

  it("a stop goes out as soon as there is one", async () => {
    const bench = new CommandBench({ actuators: [stoppable], registers: { "109": "00000100" } });
    bench.platform.connects = (nth) => (nth === 1 ? noCredential() : null);
    expect(await bench.run("stop")).toMatchObject({ outcome: "confirmed", steps: [{ attempts: 1 }] });
    expect(bench.platform.posts).toMatchObject([{ at: 0 }]);
  });

  it("what goes out once there is one begins as any first POST does", async () => {
    const bench = new CommandBench({ actuators: [stoppable], registers: { "109": "00000100" } });
    bench.platform.connects = (nth) => (nth === 1 ? noCredential() : null);
    const { id } = await bench.run("stop");
    expect(bench.phases).toEqual([`${id} waiting`, `${id} sending`, `${id} confirming`, `${id} done`]);
  });

  it("and the renewed one cannot be sent either, the refusal is told", async () => {
    const bench = roofBench();
    bench.platform.onWrite = refused;
    bench.platform.connects = (nth) => (nth === 1 ? null : noConnection());
    expect(await bench.run("open")).toMatchObject({
      ...{ outcome: "rejected", reason: "unauthorized", read_back: "10001" },
      steps: [{ attempts: 1 }],
    });
  });

  it("and that one is refused, it is rejected", async () => {
    const bench = roofBench();
    bench.platform.onWrite = refused;
    bench.platform.connects = (nth) => (nth === 1 ? noCredential() : null);
    expect(await bench.run("open")).toMatchObject({ outcome: "rejected", reason: "unauthorized" });
    expect(bench.values()).toHaveLength(1);
  });
});

describe("an ambiguous POST whose second one finds no credential at hand", () => {
  it.each<[string, string, object]>([
    ["comes true late", "10010", { outcome: "confirmed", read_back: "10010" }],
    ["never does", "10001", { outcome: "failed", reason: null, read_back: "10001" }],
  ])("is read back, and not called rejected: it %s", async (_what, later, expected) => {
    const bench = roofBench();
    bench.platform.onWrite = () => Promise.reject(platformError({ kind: "interrupted" }));
    bench.platform.connects = (nth) => {
      if (nth === 1) return null;
      void bench.clock.wait(4_000).then(() => bench.platform.registers.set("101", later));
      return noCredential();
    };
    expect(await bench.run("open")).toMatchObject(expected);
    expect(bench.values()).toHaveLength(1);
    expect(bench.platform.tries).toBe(2);
  });
});

const apart = { actuators: [{ modeAddress: "101", positionAddress: "102", confirmWithinMs: 120_000 }] };
const together = { actuators: [{ confirmWithinMs: 120_000 }] };

describe("a position still travelling is never a reason to send again", () => {
  it.each<[string, object, number, string[]]>([
    ["an address of its own, from 0", apart, 0, ["101=10100", "102=60"]],
    ["an address of its own, from 90", apart, 90, ["101=10100", "102=60"]],
    ["the mode's address, from 0", together, 0, ["101=10100", "101=60"]],
    ["the mode's address, from 90", together, 90, ["101=10100", "101=60"]],
  ])(
    "%s: on its way after a POST that was cut off, it is read back until it arrives",
    async (_where, options, start, sent) => {
      const bench = new CommandBench(options);
      const { platform, clock } = bench;
      platform.registers.set("101", "10001").set("102", String(start));
      platform.onWrite = (post) => {
        if (post.value === "10100") return platform.accept(post);
        for (let second = 1; second <= 60; second += 1) {
          const degree = Math.round(start + ((60 - start) * second) / 60);
          void clock.wait(second * 1_000).then(() => platform.registers.set(post.address, String(degree)));
        }
        return Promise.reject(platformError({ kind: "interrupted" }));
      };
      const result = await bench.run("60");
      expect(bench.values()).toEqual(sent);
      expect(result).toMatchObject({ outcome: "confirmed", read_back: "60" });
      expect(result.steps.at(-1)).toMatchObject({ attempts: 1 });
    },
  );

  it("that never arrives ends failed at confirm_within, with the degree it was last seen at", async () => {
    const bench = new CommandBench({ ...apart, registers: { "101": "10001", "102": "0" } });
    bench.platform.onWrite = (post) => {
      if (post.value === "10100") return bench.platform.accept(post);
      bench.platform.registers.set("102", "20");
      return Promise.reject(platformError({ kind: "interrupted" }));
    };
    const result = await bench.run("60");
    expect(result).toMatchObject({ outcome: "failed", read_back: "20" });
    expect(result.duration_ms).toBeGreaterThanOrEqual(120_000);
    expect(bench.values()).toEqual(["101=10100", "102=60"]);
  });
});

describe("a degree that was refused while the command before it still travels", () => {
  it("is sent again all the same, for that movement is not its own", async () => {
    const bench = new CommandBench({ ...apart, registers: { "101": "10100", "102": "0" } });
    const { platform, clock } = bench;
    let isRefused = false;
    platform.onWrite = (post) => {
      if (post.value === "30") {
        for (let second = 1; second <= 30; second += 1)
          void clock.wait(second * 1_000).then(() => platform.registers.set("102", String(second)));
        return Promise.resolve({ code: "200", requestId: null });
      }
      if (post.value !== "60" || isRefused) return platform.accept(post);
      isRefused = true;
      return refused();
    };
    await bench.play("30", 12_000, "60", 200_000);
    expect(bench.values()).toEqual(["101=10100", "102=30", "101=10100", "102=60", "102=60"]);
    expect(bench.results.at(-1)).toMatchObject({ command: "60", steps: [{}, { attempts: 2 }] });
  });
});

describe("a degree that a cut-off POST did not bring", () => {
  it.each([
    ["an address of its own", apart, ["101=10100", "102=60", "102=60"]],
    ["the mode's address", together, ["101=10100", "101=60", "101=60"]],
  ])("%s: nothing moved, so it is sent once more, not earlier than 5 s", async (_where, options, sent) => {
    const bench = new CommandBench({ ...options, registers: { "101": "10001", "102": "20" } });
    bench.platform.onWrite = (post, nth) =>
      nth === 2 ? Promise.reject(platformError({ kind: "interrupted" })) : bench.platform.accept(post);
    expect(await bench.run("60")).toMatchObject({ outcome: "confirmed", read_back: "60" });
    expect(bench.values()).toEqual(sent);
    const [, first, second] = bench.platform.posts;
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(5_000);
  });
});

it("a second POST that never left gives the mode no more time to be proven", async () => {
  const bench = roofBench();
  bench.platform.connectMs = 10_000;
  bench.platform.connects = (nth) => (nth === 2 ? noConnection() : null);
  bench.platform.onWrite = () => Promise.reject(platformError({ kind: "interrupted" }));
  bench.platform.onRead = () => (bench.clock.monotonic() < 45_000 ? "10001" : "10100");
  expect(await bench.run('{"command":45,"max_age":"120s"}')).toMatchObject({
    outcome: "failed",
    reason: "mode_not_confirmed",
  });
  expect(bench.values()).toEqual(["101=10100"]);
});

describe("what a read before a second POST says", () => {
  const open: Step = { purpose: "value", address: "101", value: "10010" };
  const degree: Step = { ...open, value: "60" };
  const mode: Step = { ...open, purpose: "mode", value: "10100" };
  const stop: Step = { purpose: "stop", address: "109", value: "00000100" };
  const facts = { attempts: 1, code: null, requestId: null, readBack: null };
  const refusal = { type: "not_sent", message: "", ...facts } as const;
  type Told = "confirmed" | "again" | "over";
  type Row = [
    shows: string,
    step: Step,
    before: string | null,
    raw: string | number | null,
    told: Told,
    force?: boolean,
  ];
  const judged = (end: typeof refusal | null, [, step, before, raw, , force = false]: Row, kind = {}) =>
    secondPost({ settings: actuator({ stop, ...kind }), force }, step, { before, end }, raw);

  it.each<Row>([
    ["the value", open, "10001", "10010", "confirmed"],
    ["the value, with force", open, "10001", "10010", "confirmed", true],
    ["the value of a stop", stop, null, "00000100", "confirmed"],
    ["another value", open, "10001", "10001", "again"],
    ["nothing", open, "10001", null, "over"],
    ["nothing, of a stop", stop, null, null, "over"],
    ["a degree between start and target", degree, "0", "20", "over"],
    ["one as a number with a fraction", degree, "0", "20.0", "over"],
    ["one beyond the target, or away from it", degree, "20", 10, "over"],
    ["one where it stood before", degree, "20", "20", "again"],
    ["one where it stood before, spelt otherwise", degree, "20", "020", "again"],
    ["one where the mode stood: the POST was taken", degree, "10100", "20", "over"],
    ["one where nothing was known", degree, null, "20", "over"],
    ["a mode, which is no degree", degree, "0", "10100", "again"],
    ["nor is a word", degree, "0", "10001", "again"],
    ["nor is what nobody knows", degree, "0", "??", "again"],
    ["a degree, which is read where the mode was taken", mode, "0", "20", "confirmed"],
    ["a degree for a step that sends a word", open, "0", "20", "again"],
  ])("after an ambiguous one: %s", (...row) => expect(judged(null, row)).toBe(row[4]));

  it.each<Row>([
    ["the value", open, "10001", "10010", "confirmed"],
    ["the value, with force", open, "10001", "10010", "again", true],
    ["the mode, which may be of before", mode, "10001", "10100", "again"],
    ["another value", open, "10001", "10001", "again"],
    ["a position that moves, which is not its doing", degree, "20", "25", "again"],
    ["nothing", open, "10001", null, "over"],
    ["nothing, of a mode", mode, "10001", null, "over"],
    ["nothing, of a stop", stop, null, null, "again"],
  ])("after a refused one: %s", (...row) => expect(judged(refusal, row)).toBe(row[4]));

  it("a kind without degrees is never on its way", () => {
    const row: Row = ["", { ...degree, value: "1010" }, "0", "20", "again"];
    expect(judged(null, row, { kind: "circulation_fan" })).toBe("again");
  });
});

describe("a degree does not follow a mode that shows later than it has to", () => {
  it.each<[string, boolean]>([
    ["accepted", false],
    ["cut off", true],
  ])("whose POST was %s, as the computer slept meanwhile", async (_, isCutOff) => {
    const bench = new CommandBench({ registers: { "101": "10001" } });
    const { platform, clock } = bench;
    platform.onWrite = async (post) => {
      void clock.wait(1_000).then(() => clock.stall(60_000));
      const accepted = await platform.accept(post);
      if (isCutOff) throw platformError({ kind: "interrupted" });
      return accepted;
    };
    expect(await bench.run('{"command":"60","max_age":"10m"}')).toMatchObject({
      outcome: "failed",
      reason: "expired_midway",
      read_back: "10100",
      steps: [{ purpose: "mode", attempts: 1, read_back: "10100" }],
    });
    expect(bench.values()).toEqual(["101=10100"]);
  });
});
