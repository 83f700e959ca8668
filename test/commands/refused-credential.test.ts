import { describe, expect, it } from "vitest";
import { CommandBench } from "../support/command-bench.js";
import { platformError } from "../support/scripted-platform.js";
import { roofBench } from "./benches.js";

const stoppable = { stop: { address: "109", value: "00000100" } };
const refused = () => Promise.reject(platformError({ kind: "unauthorized", status: 401 }));
const unsent = () => Promise.reject(platformError({ kind: "unauthorized", sent: false, code: undefined }));

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

  it("the mode is sent all the same where the register shows a mode or degree of before", async () => {
    const bench = new CommandBench({ registers: { "101": "30" } });
    refusingOnce(bench, refused);
    expect(await bench.run("60")).toMatchObject({ outcome: "confirmed" });
    expect(bench.values()).toEqual(["101=10100", "101=10100", "101=60"]);
  });

  it("a forced value is sent all the same where the register shows it", async () => {
    const bench = new CommandBench({ registers: { "101": "10010" } });
    refusingOnce(bench, refused);
    expect(await bench.run('{"command":"open","force":true}')).toMatchObject({ outcome: "confirmed" });
    expect(bench.values()).toEqual(["101=10010", "101=10010"]);
  });

  it("a value that shows by then is confirmed without a second POST", async () => {
    const bench = roofBench();
    bench.platform.onWrite = () => {
      bench.platform.registers.set("101", "10010");
      return refused();
    };
    expect(await bench.run("open")).toMatchObject({ outcome: "confirmed", steps: [{ attempts: 1 }] });
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
    bench.platform.onWrite = unsent;
    expect(await bench.run("stop")).toMatchObject({
      outcome: "failed",
      reason: "not_sent",
      sent_at: null,
      steps: [{ attempts: 1, code: null }],
    });
  });

  it("a stop goes out as soon as there is one", async () => {
    const bench = new CommandBench({ actuators: [stoppable], registers: { "109": "00000100" } });
    refusingOnce(bench, unsent);
    expect(await bench.run("stop")).toMatchObject({ outcome: "confirmed", steps: [{ attempts: 2 }] });
    const [first, second] = bench.platform.posts;
    expect((second?.at ?? Infinity) - (first?.at ?? 0)).toBeLessThan(1_000);
  });

  it("and the renewed one cannot be sent either, the refusal is told", async () => {
    const bench = roofBench();
    bench.platform.onWrite = (_, nth) =>
      nth === 1 ? refused() : Promise.reject(platformError({ kind: "unreachable", sent: false }));
    expect(await bench.run("open")).toMatchObject({
      ...{ outcome: "rejected", reason: "unauthorized", read_back: "10001" },
      steps: [{ attempts: 2 }],
    });
  });

  it("and that one is refused, it is rejected", async () => {
    const bench = roofBench();
    bench.platform.onWrite = (_, nth) => (nth === 1 ? unsent() : refused());
    expect(await bench.run("open")).toMatchObject({ outcome: "rejected", reason: "unauthorized" });
    expect(bench.values()).toHaveLength(2);
  });
});
