import { describe, expect, it } from "vitest";
import type { ActuatorSettings } from "../../src/greenhouse/settings.js";
import type { CommandBench, CommandBenchOptions } from "../support/command-bench.js";
import { platformError, type Post } from "../support/scripted-platform.js";
import { ignored, roofBench } from "./benches.js";

/*
 * Further ways in which the interface document can be meant. Each platform here is made by hand after one of them; what is told without
 * its setting, and what holds with it.
 */

const windowOf = (over: Partial<ActuatorSettings>, registers: CommandBenchOptions["registers"]) =>
  roofBench({ actuators: [over], registers });
const roof = (bench: CommandBench) => bench.store.get("GH-0001")?.actuators.get("roof");

describe("a fresh read may order the device's answer and give the one before", () => {
  const machine = { kind: "machine", travelMs: 0 } as const;

  /** A platform that knows what the device answered to the read before; somebody has switched it on at the wall. */
  function lagging(over: Partial<ActuatorSettings> = {}) {
    const bench = windowOf({ ...machine, ...over }, { "101": "1001" });
    let known = "1001";
    let orders: readonly number[] = [];
    bench.platform.onRead = (address) => {
      const now = bench.clock.monotonic();
      if (orders.some((at) => at <= now)) known = String(bench.platform.registers.get(address));
      orders = [...orders.filter((at) => at > now), now + 3_000];
      return known;
    };
    return bench;
  }
  const atTheWall = (bench: CommandBench) => bench.platform.registers.set("101", "1010");
  const pushed = (bench: CommandBench) => {
    const at = bench.clock.monotonic();
    bench.store.dispatch("GH-0001", { type: "register_pushed", address: "101", raw: "1010", at });
  };

  it.each<[string, (bench: CommandBench) => void]>([
    ["polled", (bench) => bench.polled("101", "1010")],
    ["pushed", pushed],
  ])("what was %s of late speaks against it: the value is sent, and never there already", async (_, tell) => {
    const bench = lagging();
    await bench.play(atTheWall, tell, 1_000);
    expect(await bench.run("off")).toMatchObject({ outcome: "confirmed" });
    expect(bench.values()).toEqual(["101=1001"]);
    expect(bench.platform.registers.get("101")).toBe("1001");
  });

  it("what was shown more than five minutes ago says nothing any more", async () => {
    const bench = lagging();
    await bench.play(pushed, 301_000);
    expect(await bench.run("off")).toMatchObject({ outcome: "already" });
  });

  it("with `flush_lag` a second read decides, whatever was shown", async () => {
    const bench = lagging({ flushLagMs: 5_000 });
    await bench.play(atTheWall, 1_000);
    expect(await bench.run("off")).toMatchObject({ outcome: "confirmed" });
    expect(bench.values()).toEqual(["101=1001"]);
  });

  it("with `flush_lag` what is there stays there, 5 s later", async () => {
    const bench = lagging({ flushLagMs: 5_000 });
    bench.send("off");
    await bench.clock.advance(4_900);
    expect(bench.results).toEqual([]);
    await bench.clock.advance(200);
    expect(bench.results).toMatchObject([{ outcome: "already" }]);
    expect(bench.values()).toEqual([]);
  });

  it("with `flush_lag` the last read is ordered in time, so that what shows late is not missed", async () => {
    const bench = lagging({ flushLagMs: 5_000, confirmWithinMs: 60_000 });
    let orderedAt = -Infinity;
    bench.platform.onRead = () => {
      const shown = orderedAt + 3_000 >= 50_000 ? "1010" : "1001";
      orderedAt = bench.clock.monotonic();
      return shown;
    };
    bench.platform.onWrite = ignored;
    expect(await bench.run("on")).toMatchObject({ outcome: "confirmed" });
  });

  it("with `flush_lag` a read that may be the one before is no reason for a second POST", async () => {
    const bench = lagging({ flushLagMs: 5_000 });
    bench.platform.onWrite = (post) => {
      bench.platform.registers.set(post.address, post.value);
      return Promise.reject(platformError({ kind: "interrupted" }));
    };
    expect(await bench.run("on")).toMatchObject({ outcome: "confirmed" });
    expect(bench.values()).toEqual(["101=1010"]);
  });

  it("with `flush_lag` a read that shows another value is contradiction enough for the next equal command to be sent", async () => {
    const bench = lagging({ flushLagMs: 5_000 });
    bench.platform.onWrite = () => {
      const unanswered = () => platformError({ kind: "timeout" });
      const shown = bench.platform.onRead;
      let reads = 0;
      bench.platform.onRead = (...asked) =>
        ++reads === 1 ? (shown?.(...asked) ?? null) : reads === 2 ? unanswered() : "1001";
      bench.platform.onWrite = ignored;
      return Promise.reject(platformError({ kind: "interrupted" }));
    };
    await bench.play(() => bench.send("on"), 10_500);
    expect(bench.phases.at(-1)).toMatch(/ confirming$/);
    await bench.play(() => bench.send('{"command": "on", "id": "next"}'), 1_000);
    expect(bench.values()).toEqual(["101=1010", "101=1010"]);
  });

  it("with `flush_lag` a degree that the second read shows on its way is not sent again by an equal command", async () => {
    const bench = windowOf({ flushLagMs: 5_000 }, { "101": "0" });
    bench.platform.onWrite = (post) => {
      if (post.value === "10100") return bench.platform.accept(post);
      const unanswered = platformError({ kind: "timeout" });
      let reads = 0;
      bench.platform.onRead = () => (++reads === 1 ? "10100" : reads === 2 ? "30" : unanswered);
      return Promise.reject(platformError({ kind: "interrupted" }));
    };
    await bench.play(() => bench.send("50"), 20_000);
    expect(bench.phases.at(-1)).toMatch(/ confirming$/);
    bench.platform.onRead = () => "40";
    await bench.play(() => bench.send('{"command": 50, "id": "next"}'), 5_000);
    expect(bench.values()).toEqual(["101=10100", "101=50"]);
  });
});

describe("a motor's register may be a pulse", () => {
  const idle = "00000000";
  const motor = { kind: "motor", values: { open: "00000001", close: "00000010" } } as const;

  function pulsing(over: Partial<ActuatorSettings> = {}) {
    const bench = windowOf({ ...motor, travelMs: 60_000, confirmWithinMs: 90_000, ...over }, { "101": idle });
    bench.platform.onWrite = (post) => {
      bench.platform.registers.set("101", post.value);
      void bench.clock.wait(1_000).then(() => bench.platform.registers.set("101", idle));
      return Promise.resolve({ code: "200", requestId: null });
    };
    return bench;
  }

  it.each(["open", "close", "stop"])(
    "without the setting %s ends unconfirmed, names `pulse: true`, and calls no idle motor open",
    async (word) => {
      const result = await pulsing().run(word);
      expect(result).toMatchObject({ outcome: "unconfirmed", read_back: idle });
      expect(String(result.message)).toContain("set pulse: true");
      expect(String(result.message)).not.toContain("reads:");
      expect(result).not.toHaveProperty("proof");
    },
  );

  it.each(["open", "close", "stop"])(
    "with it %s is confirmed by the pulse, and the word is uncertain",
    async (word) => {
      const bench = pulsing({ pulse: true });
      expect(await bench.run(word)).toMatchObject({ outcome: "confirmed", proof: "pulse", read_back: idle });
      const state = word === "close" ? "close" : word;
      expect(roof(bench)).toMatchObject({ state, value: idle, quality: "uncertain" });
      bench.polled("101", idle);
      expect(roof(bench)).toMatchObject({ state, quality: "uncertain" });
      expect(bench.events).toEqual([]);
    },
  );

  it("its own word is nobody else's doing, whenever the idle register is read again", async () => {
    const bench = pulsing({ pulse: true });
    for (const word of ["stop", "close", "open"]) {
      await bench.run(word);
      await bench.play(600_000, () => bench.polled("101", idle), 1_000);
    }
    expect(bench.events).toEqual([]);
  });

  it("the same word is sent each time, and never there already", async () => {
    const bench = pulsing({ pulse: true });
    await bench.run("open");
    await bench.run("open");
    expect(bench.values()).toEqual(["101=00000001", "101=00000001"]);
  });

  it("a value that is another word is no proof", async () => {
    const bench = windowOf({ ...motor, travelMs: 0, pulse: true }, { "101": "00000010" });
    bench.platform.onWrite = ignored;
    expect(await bench.run("open")).toMatchObject({ outcome: "unconfirmed" });
  });

  it("where no POST was answered an idle register says nothing, and nothing is sent again", async () => {
    const bench = pulsing({ pulse: true });
    bench.platform.onWrite = () => Promise.reject(platformError({ kind: "timeout" }));
    const result = await bench.run("open");
    expect(result).toMatchObject({ outcome: "unknown" });
    expect(result).not.toHaveProperty("proof");
    expect(bench.values()).toEqual(["101=00000001"]);
  });

  it("a refusal stays one", async () => {
    const bench = pulsing({ pulse: true });
    bench.platform.onWrite = () => Promise.reject(platformError({ kind: "rejected", code: "500" }));
    expect(await bench.run("open")).toMatchObject({ outcome: "rejected" });
  });
});

describe("a mode's address may only be written", () => {
  const apart = { positionAddress: "102" } as const;

  function writeOnly(over: Partial<ActuatorSettings> = {}, travelled = "0") {
    const bench = windowOf({ ...apart, ...over }, { "102": travelled });
    bench.platform.onRead = (address) =>
      address === "101" ? null : (bench.platform.registers.get(address) ?? null);
    bench.platform.onWrite = ({ address, value }: Post) => {
      if (address === "102") bench.platform.registers.set("102", value);
      else if (value === "10010") bench.platform.registers.set("102", "100");
      return Promise.resolve({ code: "200", requestId: null });
    };
    return bench;
  }

  it("without the setting nothing is sent, and the message names it", async () => {
    const result = await writeOnly().run("45");
    expect(result).toMatchObject({ outcome: "refused", reason: "no_read_back" });
    expect(String(result.message)).toContain("mode_reads: never");
  });

  it("where no address of the degree is known either, the message names both settings", async () => {
    const result = await writeOnly({ positionAddress: undefined }).run("45");
    expect(result).toMatchObject({ outcome: "refused", reason: "no_read_back" });
    expect(String(result.message)).toMatch(/Check the address.*position_address and mode_reads: never/);
  });

  it("with it the degree alone is the proof", async () => {
    const bench = writeOnly({ modeReads: "never" });
    expect(await bench.run("45")).toMatchObject({
      outcome: "confirmed",
      read_back: "45",
      steps: [
        { purpose: "mode", address: "101", code: "200", read_back: null },
        { purpose: "value", address: "102", read_back: "45" },
      ],
    });
    expect(roof(bench)).toMatchObject({ state: "position", position: 45, quality: "good" });
  });

  it("with it a degree that never shows is not confirmed", async () => {
    const bench = writeOnly({ modeReads: "never" });
    bench.platform.onWrite = ignored;
    expect(await bench.run("45")).toMatchObject({ outcome: "unconfirmed" });
  });

  it("with it a degree that matches may be that of another mode, so that it is sent", async () => {
    const bench = writeOnly({ modeReads: "never" }, "45");
    await bench.run("45");
    expect(bench.values()).toEqual(["101=10100", "102=45"]);
  });

  it.each([
    ["open", "confirmed"],
    ["close", "unconfirmed"],
  ])("with it %s is proven by the end of its way: %s", async (word, outcome) => {
    const bench = writeOnly({ modeReads: "never" }, "40");
    expect(await bench.run(word)).toMatchObject({ outcome });
  });
});

describe("what becomes of a word at a mode that may only be written is read where its proof is", () => {
  const apart = {
    positionAddress: "102",
    modeReads: "never",
    travelMs: 90_000,
    confirmWithinMs: 120_000,
  } as const;

  function writeOnly(arrives: boolean) {
    const bench = windowOf(apart, { "102": "0" });
    const { registers } = bench.platform;
    bench.platform.onRead = (address) => (address === "101" ? null : (registers.get(address) ?? null));
    bench.platform.onWrite = () => {
      if (arrives) registers.set("102", "100");
      return Promise.resolve({ code: "200", requestId: null });
    };
    bench.polled("102", "0");
    return bench;
  }
  const told = (bench: CommandBench) => bench.events.map(({ type }) => type);

  it("set back before its travel time is over it is told as reverted", async () => {
    const bench = writeOnly(true);
    await bench.play("open", 6_000);
    expect(bench.results).toMatchObject([{ outcome: "confirmed" }]);
    bench.platform.registers.set("102", "40");
    await bench.clock.advance(90_000);
    expect(bench.events).toMatchObject([
      { type: "reverted", facts: { id: "c1", value: "10010", read_back: "40" } },
    ]);
  });

  it("that goes on being there nothing is told", async () => {
    const bench = writeOnly(true);
    await bench.play("open", 100_000);
    expect(told(bench)).toEqual([]);
    expect(bench.records).toContainEqual(
      expect.objectContaining({ type: "read_back", id: "c1", address: "102", value: "100" }),
    );
  });

  it("that comes after its end is told as confirmed late", async () => {
    const bench = writeOnly(false);
    await bench.play("open", 130_000);
    expect(bench.results).toMatchObject([{ outcome: "unconfirmed" }]);
    bench.polled("102", "100");
    await bench.clock.advance(10);
    expect(told(bench)).toEqual(["command_unconfirmed", "confirmed_late"]);
  });
});

describe("a controller may take one value at a time", () => {
  const two = [
    { id: "one", kind: "machine", address: "101", travelMs: 0 },
    { id: "other", kind: "machine", address: "102", travelMs: 0 },
  ] as const;

  function busy(controllerIntervalMs = 0) {
    const registers = { "101": "1001", "102": "1001" };
    const bench = roofBench({ actuators: two, registers, controllerIntervalMs });
    let last = -Infinity;
    bench.platform.onWrite = (post) => {
      if (post.at - last < 3_000) return Promise.reject(platformError({ kind: "rejected", code: "500" }));
      last = post.at;
      return bench.platform.accept(post);
    };
    return bench;
  }
  const both = (bench: CommandBench) => {
    bench.send("on", { targetId: "one" });
    bench.send("on", { targetId: "other" });
  };
  const messageOf = (bench: CommandBench) =>
    String(bench.results.find(({ outcome }) => outcome === "rejected")?.message);

  it("without the setting the second is rejected, and its message names it", async () => {
    const bench = busy();
    await bench.play(both, 100_000);
    expect(Object.values(bench.outcomes).sort()).toEqual(["confirmed", "rejected"]);
    expect(messageOf(bench)).toMatch(/\w\. Another value was sent .* set commands\.controller_interval\.$/);
  });

  it("a refusal long after is for something else", async () => {
    const bench = busy();
    await bench.play(() => bench.send("on", { targetId: "one" }), 10_000);
    bench.platform.onWrite = () => Promise.reject(platformError({ kind: "rejected", code: "500" }));
    await bench.play(() => bench.send("on", { targetId: "other" }), 100_000);
    expect(messageOf(bench)).not.toContain("controller_interval");
  });

  it("with it each waits for the one before, and the degree after its mode too", async () => {
    const bench = busy(3_000);
    await bench.play(both, 100_000);
    expect(Object.values(bench.outcomes)).toEqual(["confirmed", "confirmed"]);
    const [first, second] = bench.platform.posts.map(({ at }) => at);
    expect((second ?? 0) - (first ?? 0)).toBeGreaterThanOrEqual(3_000);
  });

  it("with it a stop goes before all that wait", async () => {
    const [one, other] = two;
    const stop = { address: "109", value: "1" };
    const registers = { "101": "1001", "102": "1001", "109": "0" };
    const actuators = [one, other, { ...one, id: "third", address: "103", stop }];
    const bench = roofBench({ actuators, registers, controllerIntervalMs: 5_000 });
    await bench.play(both, 1_000, () => bench.send("stop", { targetId: "third" }), 100_000);
    expect(bench.values()).toEqual(["101=1010", "109=1", "102=1010"]);
  });
});

describe("the mode sent again may restart a positioner", () => {
  const commands = async (over: Partial<ActuatorSettings>) => {
    const bench = windowOf({ travelMs: 0, ...over }, { "101": "10001" });
    for (const degree of ["45", "60"]) await bench.run(degree);
    expect(Object.values(bench.outcomes)).toEqual(["confirmed", "confirmed"]);
    return bench.values();
  };

  it("without the setting it goes before each degree", async () =>
    expect(await commands({})).toEqual(["101=10100", "101=45", "101=10100", "101=60"]));

  it("with it not where a fresh read shows it", async () =>
    expect(await commands({ modeAgain: "when_needed" })).toEqual(["101=10100", "101=45", "101=60"]));

  it("with it also where a degree may be how far the window is, which says nothing of the mode", async () => {
    const reads = { open: ["100"], close: ["0"] };
    const bench = windowOf({ travelMs: 0, modeAgain: "when_needed", reads }, { "101": "0" });
    await bench.run("45");
    expect(bench.values()).toEqual(["101=10100", "101=45"]);
  });

  it("with it again after a word, and by force", async () => {
    const bench = windowOf({ travelMs: 0, modeAgain: "when_needed" }, { "101": "10001" });
    for (const command of ["45", "close", "45", JSON.stringify({ command: 60, force: true })])
      await bench.run(command);
    expect(bench.values()).toEqual(
      ["10100", "45", "10001", "10100", "45", "10100", "60"].map((value) => `101=${value}`),
    );
  });
});
