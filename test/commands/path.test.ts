import { describe, expect, it } from "vitest";
import { CommandBench } from "../support/command-bench.js";
import { platformError, type ScriptedPlatform } from "../support/scripted-platform.js";
import { fan, fanBench, ignored, roofBench } from "./benches.js";

describe("the path of a command", () => {
  it("a command is in the journal when it comes, and that it is sent between its checks and its POST", async () => {
    const bench = new CommandBench();
    const seen: string[] = [];
    let noted = 0;
    const note = (what: string) => {
      const news = bench.records.slice(noted).map((one) => ("phase" in one ? one.phase : one.type));
      noted = bench.records.length;
      seen.push(what, ...news);
    };
    bench.platform.registers.set("101", "10001");
    bench.platform.onRead = () => {
      note("read after");
      return bench.platform.registers.get("101") ?? null;
    };
    bench.platform.onWrite = (post) => {
      note("POST after");
      return bench.platform.accept(post);
    };
    await bench.run("open");
    expect(seen.slice(0, 5)).toEqual(["read after", "command_taken", "POST after", "checking", "sending"]);
  });

  it.each(["open", '{"command":"close","dry_run":true}'])(
    "a command that sends nothing (%s) never says in the journal that it is sent",
    async (payload) => {
      const bench = new CommandBench({ registers: { "101": "10010" } });
      await bench.run(payload);
      const said = bench.records.map((one) => ("phase" in one ? one.phase : one.type));
      const checks = payload === "open" ? ["checking"] : [];
      expect(said).toEqual(["command_taken", ...checks, "result"]);
    },
  );

  const apart = { modeAddress: "101", positionAddress: "102" };

  it.each(["0", "30", 45])(
    "with two addresses a number at the mode address (%s) proves no mode: no degree is sent",
    async (stuck) => {
      const bench = new CommandBench({ actuators: [apart] });
      bench.platform.registers.set("101", stuck).set("102", "0");
      bench.platform.onWrite = ignored;
      expect(await bench.run("45")).toMatchObject({ outcome: "unconfirmed", reason: "mode_not_confirmed" });
      expect(bench.values()).toEqual(["101=10100"]);
      expect(bench.store.get("GH-0001")?.actuators.get("roof")).toMatchObject({
        state: "unknown",
        position: null,
        value: String(stuck),
      });
    },
  );

  it("with two addresses a degree that shows is not already there unless the mode address shows position mode", async () => {
    const bench = new CommandBench({ actuators: [apart], registers: { "101": "0", "102": "45" } });
    expect(await bench.run("45")).toMatchObject({ outcome: "confirmed" });
    expect(bench.values()).toEqual(["101=10100", "102=45"]);
    expect(await bench.run("45")).toMatchObject({ outcome: "already" });
  });

  it("an address that goes on showing the mode after a degree proves the mode alone, and the result says so", async () => {
    const bench = roofBench();
    bench.platform.onWrite = (post) => (post.value === "45" ? ignored() : bench.platform.accept(post));
    const result = await bench.run("45");
    expect(result).toMatchObject({ outcome: "unconfirmed", reason: null, read_back: "10100" });
    expect(String(result.message)).toContain("nothing says that it moved");
    expect(bench.values()).toEqual(["101=10100", "101=45"]);
  });

  /** Every state and position shown since, each once while it lasts. */
  function watchedShown(bench: CommandBench): string[] {
    const shown: string[] = [];
    bench.store.onChange((before, after) => {
      if (before?.actuators === after?.actuators) return;
      const { state = null, position = null, value = null } = after?.actuators.get("roof") ?? {};
      const now = `${state ?? "none"} ${position ?? "-"} (${value ?? "none"})`;
      if (shown.at(-1) !== now) shown.push(now);
    });
    return shown;
  }

  it("between its own steps a command leaves state and position as they were; the value follows each read", async () => {
    const bench = roofBench();
    const shown = watchedShown(bench);
    expect(await bench.run("45")).toMatchObject({ outcome: "confirmed" });
    expect(shown).toEqual(["closed - (10001)", "closed - (10100)", "position 45 (45)"]);
  });

  it("between its own steps a command leaves the degree of the last one shown, also while polls read the mode", async () => {
    const bench = new CommandBench({ registers: { "101": "30" } });
    bench.platform.onWrite = async (post) => {
      if (post.value === "10100") return bench.platform.accept(post);
      bench.polled("101", "10100");
      await bench.clock.wait(1_000);
      bench.polled("101", "10100");
      return bench.platform.accept(post);
    };
    const shown = watchedShown(bench);
    expect(await bench.run("60")).toMatchObject({ outcome: "confirmed" });
    expect(shown).toEqual(["position 30 (30)", "position 30 (10100)", "position 60 (60)"]);
  });

  it.each<[string, (platform: ScriptedPlatform) => void]>([
    [
      "rejected",
      (platform) => {
        const refused = () => Promise.reject(platformError({ kind: "protocol", code: "500" }));
        platform.onWrite = (post) => (post.value === "45" ? refused() : platform.accept(post));
      },
    ],
    [
      "failed",
      (platform) => {
        platform.connects = (nth) => (nth === 2 ? platformError({ sent: false }) : null);
      },
    ],
  ])("a command that is %s half way shows the mode it left behind", async (outcome, script) => {
    const bench = roofBench();
    script(bench.platform);
    const shown = watchedShown(bench);
    expect(await bench.run("45")).toMatchObject({ outcome });
    expect(shown).toEqual(["closed - (10001)", "closed - (10100)", "position - (10100)"]);
  });

  it("with addresses apart the degree read before the command is not shown as its doing", async () => {
    const bench = new CommandBench({
      actuators: [{ modeAddress: "101", positionAddress: "102" }],
      registers: { "101": "10010", "102": "30" },
    });
    const shown = watchedShown(bench);
    expect(await bench.run("60")).toMatchObject({ outcome: "confirmed" });
    expect(shown.filter((one) => /^position (30|-)/.test(one))).toEqual([]);
    expect(shown.at(-1)).toBe("position 60 (60)");
  });

  it("an intermediate degree is no confirmation; arriving is", async () => {
    const bench = new CommandBench({ registers: { "101": "10" } });
    bench.platform.onWrite = (post) => {
      if (post.value === "10100") return bench.platform.accept(post);
      void bench.clock.wait(1_000).then(() => bench.platform.registers.set("101", "30"));
      void bench.clock.wait(40_000).then(() => bench.platform.registers.set("101", "45"));
      return Promise.resolve({ code: "200", requestId: null });
    };
    const result = await bench.run("45");
    expect(result.outcome).toBe("confirmed");
    expect(result.duration_ms).toBeGreaterThan(40_000);
    expect(bench.values()).toEqual(["101=10100", "101=45"]);
  });

  it("a poll that shows the value is a reason to read it back at once", async () => {
    const bench = fanBench();
    bench.platform.onWrite = ignored;
    await bench.play("on", 20_000);
    bench.platform.registers.set("140", "1010");
    bench.polled("140", "1010");
    await bench.clock.advance(1_500);
    expect(bench.outcomes).toEqual({ c1: "confirmed" });
  });

  it("a poll that goes on showing the value is asked about again, as a read in between may have failed", async () => {
    const bench = fanBench();
    bench.platform.onWrite = ignored;
    await bench.play("on", 20_000);
    bench.platform.registers.set("140", "1010");
    bench.platform.onRead = () => platformError({ kind: "unreachable", sent: false });
    bench.polled("140", "1010");
    await bench.clock.advance(2_000);
    bench.platform.onRead = null;
    bench.polled("140", "1010");
    await bench.clock.advance(10_500);
    expect(bench.outcomes).toEqual({ c1: "confirmed" });
  });

  it("a poll that shows the value proves nothing", async () => {
    const bench = fanBench();
    bench.platform.onWrite = ignored;
    await bench.play("on", 20_000);
    bench.polled("140", "1010");
    await bench.clock.advance(400_000);
    expect(bench.outcomes).toEqual({ c1: "unconfirmed" });
  });

  it("never connected is no POST that has to be read back: the next command may find its value there", async () => {
    const bench = fanBench();
    bench.platform.connects = () => platformError({ kind: "unreachable", sent: false });
    expect(await bench.run("on")).toMatchObject({ outcome: "failed", reason: "not_sent", sent_at: null });
    expect(await bench.run("off")).toMatchObject({ outcome: "already" });
  });
});

describe("after an ambiguous POST", () => {
  it("the read that differs makes it failed, also when too old for a second POST and never readable again", async () => {
    const bench = new CommandBench({ actuators: [fan] });
    bench.platform.onRead = (_, nth) => (nth > 2 ? platformError({ operation: "get-value" }) : "1001");
    bench.platform.onWrite = () => Promise.reject(platformError({ kind: "timeout" }));
    const result = await bench.run('{"command":"on","max_age":"4s"}');
    expect(result).toMatchObject({ outcome: "failed", read_back: "1001" });
    expect(bench.values()).toHaveLength(1);
  });
});

describe("refusals before anything is sent", () => {
  it.each([
    ["no_age", "open", {}, { requireAge: true }],
    ["no_sender", "open", {}, { requireBy: true }],
    ["no_sender", '{"command":"open","by":" "}', { by: "" }, { requireBy: true }],
    ["no_sender", "open", { via: { client: "c", user: null } }, { requireBy: true }],
    ["no_sender", "open", { via: "sparkplug" }, { requireBy: true }],
  ])("%s", async (reason, payload, over, options) => {
    const bench = new CommandBench({ ...options, registers: { "101": "10001" } });
    const result = await bench.run(payload, over);
    expect(result).toMatchObject({ outcome: "refused", reason });
    expect(result.message).not.toBeNull();
    expect(bench.values()).toEqual([]);
  });

  it.each([
    ["the payload", '{"command":"on","by":"anna"}', {}],
    ["an MQTT 5 user property", "on", { by: "anna" }],
    ["the embedded broker", "on", { via: { client: "c", user: "anna" } }],
    ["the command line", "on", { via: "command line, user anna" }],
    ["a user behind Sparkplug", "on", { via: "sparkplug:anna" }],
  ])("no no_sender where %s says who asks", async (_, payload, over) => {
    const bench = new CommandBench({ actuators: [fan], requireBy: true, registers: { "140": "1001" } });
    expect(await bench.run(payload, over)).toMatchObject({ outcome: "confirmed" });
  });

  it("a stop needs no sender", async () => {
    const bench = new CommandBench({
      actuators: [{ stop: { address: "109", value: "1" } }],
      requireBy: true,
    });
    expect(await bench.run("stop")).toMatchObject({ outcome: "confirmed" });
  });

  it("controller_offline at once, though no read of it is answered; that one is given up", async () => {
    const bench = new CommandBench();
    bench.platform.connectionNow = "offline";
    bench.platform.isSilent = true;
    await bench.play("open", 0);
    expect(bench.outcomes).toEqual({ c1: "refused controller_offline" });
    expect(bench.platform.givenUp).toBe(1);
  });
});

describe("a command with a payload that is too large", () =>
  it.each([16 * 1024 + 1, 256 * 1024 + 1, 1024 * 1024])(
    "of %i bytes is refused with its size, once, and nothing of it is kept",
    async (size) => {
      const bench = roofBench();
      const result = await bench.run(`{"command":"open","id":"${"canary".repeat(size)}`.slice(0, size));
      expect(result).toMatchObject({ outcome: "refused", reason: "bad_payload", command: null });
      expect(String(result.message)).toContain(`has ${size} bytes`);
      expect(bench.results).toHaveLength(1);
      expect(bench.values()).toEqual([]);
      expect(JSON.stringify([bench.results, bench.records])).not.toContain("canary");
    },
  ));
