import { describe, expect, it } from "vitest";
import { parameterGroup } from "../../src/greenhouse/device-types.js";
import type { ActuatorSettings } from "../../src/greenhouse/settings.js";
import type { CommandBench } from "../support/command-bench.js";
import { platformError, type Post } from "../support/scripted-platform.js";
import { ignored, roofBench } from "./benches.js";

/*
 * What the interface document leaves open may be so or otherwise. Each platform here is made by hand after one of the readings that
 * its words allow, and the settings are those that the documentation names for it.
 */

/** get-value gives how far the window is open, whatever was set; at once where it travels no time. */
function actualPositions(bench: CommandBench): void {
  const wayOf = ({ value }: Post) => ({ "10010": "100", "10001": "0" })[value] ?? value;
  bench.platform.onWrite = (post) => {
    if (post.value !== "10100" && post.value !== "11000") bench.platform.registers.set("101", wayOf(post));
    return Promise.resolve({ code: "200", requestId: null });
  };
}

const reads = { open: ["10010", "100"], close: ["10001", "0"], auto: ["11000", "11010", "11001"] };
const windowOf = (over: Partial<ActuatorSettings>, held = "0") =>
  roofBench({ actuators: [over], registers: { "101": held } });

describe("get-value may give the actual position", () => {
  it("without a setting a command ends unconfirmed, with a sentence that says what to set", async () => {
    const bench = windowOf({});
    actualPositions(bench);
    const result = await bench.run("open");
    expect(result).toMatchObject({ outcome: "unconfirmed", read_back: "100" });
    expect(String(result.message)).toContain('add reads: { open: ["100"] }');
  });

  it.each([
    ["on its way", "0", "57"],
    ["stopped by a wall switch where it stood", "57", "57"],
    ["where it stood all the time, the end itself", "100", "100"],
    ["the other end", "57", "0"],
  ])(
    "%s (%s, then %s) it shows what it would show if nothing was done: no word is to mean that",
    async (_, held, shown) => {
      const bench = windowOf({}, held);
      bench.platform.onWrite = () => {
        bench.platform.registers.set("101", shown);
        return ignored();
      };
      const result = await bench.run("open");
      expect(result).toMatchObject({ outcome: "unconfirmed", read_back: shown });
      expect(String(result.message)).not.toContain("reads:");
    },
  );

  it.each<[string, Partial<ActuatorSettings>, string, string]>([
    ["a value of another kind", {}, "auto", "11100"],
    ["a number of something else", { kind: "machine", travelMs: 0 }, "on", "37"],
    ["a word", { kind: "machine", travelMs: 0 }, "on", "fault"],
    ["a longer value", { kind: "machine", travelMs: 0 }, "on", "11001010"],
  ])("%s may be that of another thing, and is not to mean a word", async (_, over, command, shown) => {
    const bench = windowOf(over, over.kind === undefined ? "10001" : "1001");
    bench.platform.onWrite = () => {
      bench.platform.registers.set("101", shown);
      return ignored();
    };
    const result = await bench.run(command);
    expect(result).toMatchObject({ outcome: "unconfirmed" });
    expect(String(result.message)).not.toContain("reads:");
  });

  it.each([
    ["open", "0", "confirmed", "open 100"],
    ["close", "100", "confirmed", "closed 0"],
    ["45", "0", "confirmed", "position 45"],
    ["100", "0", "confirmed", "open 100"],
  ])("with `reads` %s is confirmed", async (command, held, outcome, shown) => {
    const bench = windowOf({ reads }, held);
    actualPositions(bench);
    expect(await bench.run(command)).toMatchObject({ outcome });
    const roof = bench.store.get("GH-0001")?.actuators.get("roof");
    expect(`${roof?.state ?? ""} ${roof?.position ?? ""}`).toBe(shown);
    expect(bench.events).toEqual([]);
  });

  it("a degree does not say who set it, so that it is never there already for a word", async () => {
    const bench = windowOf({ reads }, "100");
    actualPositions(bench);
    expect(await bench.run("open")).toMatchObject({ outcome: "confirmed" });
    expect(bench.values()).toEqual(["101=10010"]);
  });

  it("a window on its way to the end is no reason for a second POST", async () => {
    const bench = windowOf({ reads });
    bench.platform.onWrite = () => Promise.reject(platformError({ kind: "interrupted" }));
    bench.platform.onRead = () => String(Math.min(100, Math.floor(bench.clock.monotonic() / 1_000) * 2));
    expect(await bench.run("open")).toMatchObject({ outcome: "confirmed" });
    expect(bench.values()).toEqual(["101=10010"]);
  });

  it("one value of a word after the other is nobody's doing, another word is somebody's", async () => {
    const bench = windowOf({ reads, travelMs: 0 });
    for (const raw of ["10010", "100", "10010", "100"])
      await bench.play(() => bench.polled("101", raw), 1_000);
    expect(bench.events).toEqual([]);
    await bench.play(
      () => bench.polled("101", "0"),
      1_000,
      () => bench.polled("101", "0"),
      1_000,
    );
    expect(bench.events).toMatchObject([
      { type: "changed_elsewhere", facts: { from: "open", to: "closed" } },
    ]);
  });
});

describe("an address that goes on reading the mode", () => {
  const modeStays = (bench: CommandBench) => {
    bench.platform.onWrite = ({ value }) => {
      if (!/^(?:\d{1,2}|100)$/.test(value)) bench.platform.registers.set("101", value);
      return Promise.resolve({ code: "200", requestId: null });
    };
  };
  const elsewhere = (bench: CommandBench) => bench.events.filter(({ type }) => type === "changed_elsewhere");

  it("a degree that the mode proves is nobody else's doing, whenever the mode is read again", async () => {
    const bench = windowOf({ positionReads: "mode" }, "10001");
    modeStays(bench);
    for (const degree of ["45", "60"]) {
      expect(await bench.run(degree)).toMatchObject({ outcome: "confirmed" });
      await bench.play(
        600_000,
        () => bench.polled("101", "10100"),
        1_000,
        () => bench.polled("101", "10100"),
        1_000,
      );
    }
    expect(elsewhere(bench)).toEqual([]);
  });

  it("the mode that a command has left behind is its own doing, whenever it is seen", async () => {
    const bench = windowOf({}, "10001");
    modeStays(bench);
    await bench.play(() => bench.polled("101", "10001"), 1_000);
    expect(await bench.run("45")).toMatchObject({ outcome: "unconfirmed", read_back: "10100" });
    await bench.play(
      () => bench.polled("101", "10100"),
      600_000,
      () => bench.polled("101", "10100"),
      1_000,
    );
    expect(bench.store.get("GH-0001")?.actuators.get("roof")?.state).toBe("position");
    expect(elsewhere(bench)).toEqual([]);
    await bench.play(() => bench.polled("101", "10010"), 1_000);
    expect(elsewhere(bench)).toMatchObject([{ facts: { from: "position", to: "open" } }]);
  });
});

describe("in automatic the read-back may combine bits", () => {
  const automatic = (bench: CommandBench, read: string) => {
    bench.platform.onWrite = ({ address }) => {
      bench.platform.registers.set(address, read);
      return Promise.resolve({ code: "200", requestId: null });
    };
  };

  it("without a setting automatic is unconfirmed, with a sentence that says what to set", async () => {
    const bench = windowOf({}, "10010");
    automatic(bench, "11010");
    const result = await bench.run("auto");
    expect(result).toMatchObject({ outcome: "unconfirmed" });
    expect(String(result.message)).toContain('add reads: { auto: ["11010"] }');
  });

  it.each<[Partial<ActuatorSettings>, string]>([
    [{ reads }, "11010"],
    [{ reads }, "11001"],
    [{ kind: "machine", reads: { auto: ["1110", "1101"] }, travelMs: 0 }, "1110"],
  ])("%# with `reads` it is confirmed, shown, and no change by somebody else", async (over, read) => {
    const bench = windowOf(over, over.kind === "machine" ? "1010" : "10010");
    automatic(bench, read);
    expect(await bench.run("auto")).toMatchObject({ outcome: "confirmed", read_back: read });
    for (const raw of [read, "11000", "1100", read])
      await bench.play(() => bench.polled("101", raw), 300_000);
    expect(bench.store.get("GH-0001")?.actuators.get("roof")).toMatchObject({ state: "auto" });
    expect(bench.events).toEqual([]);
  });
});

describe("an address may go on reading the mode after a degree", () => {
  const modeStays = (bench: CommandBench) => {
    bench.platform.onWrite = ({ address, value }) => {
      bench.platform.registers.set(address, Number(value) <= 100 ? "10100" : value);
      return Promise.resolve({ code: "200", requestId: null });
    };
  };
  const roof = (bench: CommandBench) => bench.store.get("GH-0001")?.actuators.get("roof");

  /** The message of a degree that ended unconfirmed, where its type listed this beside it. */
  const adviceWith = async (
    over: Partial<ActuatorSettings>,
    listed: Readonly<Record<string, string | number>> | null,
  ) => {
    const bench = windowOf({ group: parameterGroup(2), ...over }, "10001");
    modeStays(bench);
    if (listed !== null) bench.listed(2, listed);
    const result = await bench.run("45");
    expect(result).toMatchObject({ outcome: "unconfirmed" });
    return String(result.message);
  };

  it("where its type lists nothing else that may be a degree, `position_reads: mode` is named last", async () => {
    const message = await adviceWith({}, { "101": "10001", "900": "180", "901": "-3", "902": "on" });
    expect(message).toMatch(
      /set position_address\. Only if you saw it go there, set position_reads: mode\.$/,
    );
  });

  it.each<[string, string | number]>([
    ["102", "0"],
    ["102", 40],
    ["102", "100"],
    ["102", "045"],
    ["102", "45.5"],
    ["a.7", " 7 "],
  ])(
    "where nobody owns %s with %j the position address is named, and no weaker proof",
    async (address, value) => {
      const message = await adviceWith({}, { "101": "10001", [address]: value });
      expect(message).toContain(`${address} (${String(value).trim()})`);
      expect(message).toContain("Set position_address");
      expect(message).not.toContain("position_reads");
    },
  );

  it("an address that an actuator or a parameter has is nobody else's degree", async () => {
    const message = await adviceWith(
      { stop: { address: "102", value: "00000100" } },
      { "101": "10001", "102": "40" },
    );
    expect(message).toContain("set position_reads: mode");
  });

  it.each<[string, Partial<ActuatorSettings>, Readonly<Record<string, string>> | null]>([
    ["its type is not known", { group: undefined }, { "101": "10001" }],
    ["its type was not read yet", {}, null],
    ["its type does not list its own address", {}, { "300": "10001" }],
  ])("where %s it says where to look first, and names no weaker proof", async (_, over, listed) => {
    const message = await adviceWith(over, listed);
    expect(message).toMatch(/discover.*set position_address/);
    expect(message).not.toContain("position_reads");
  });

  it("what the type listed last counts", async () => {
    const bench = windowOf({ group: parameterGroup(2) }, "10001");
    modeStays(bench);
    bench.listed(2, { "101": "10001" });
    bench.listed(2, { "101": "10001", "102": "0" });
    expect(String((await bench.run("45")).message)).toContain("102 (0)");
    bench.listed(2, { "101": "10100", "102": "180" });
    expect(String((await bench.run("45")).message)).toContain("set position_reads: mode");
  });

  it("a degree sent to the address of the mode, which takes none, ends unconfirmed and never as a weaker proof", async () => {
    const apart = { group: parameterGroup(2), positionAddress: "102" };
    for (const [over, outcome] of [
      [{ group: parameterGroup(2) }, "unconfirmed"],
      [apart, "confirmed"],
    ] as const) {
      const bench = roofBench({ actuators: [over], registers: { "101": "10001", "102": "0" } });
      bench.platform.onWrite = ({ address, value }) => {
        if (address === "102" || value.length === 5) bench.platform.registers.set(address, value);
        return ignored();
      };
      bench.listed(2, { "101": "10001", "102": "0" });
      expect(await bench.run("40")).toMatchObject({ outcome });
    }
  });

  it("a position address that shows the mode is not taken for one that shows no degree", async () => {
    const bench = roofBench({
      actuators: [{ group: parameterGroup(2), positionAddress: "102" }],
      registers: { "101": "10001", "102": "10100" },
    });
    bench.platform.onWrite = (post) => (post.address === "102" ? ignored() : bench.platform.accept(post));
    bench.listed(2, { "101": "10001", "102": "10100" });
    const { message } = await bench.run("40");
    expect(String(message)).toContain("check position_address");
    expect(String(message)).not.toContain("position_reads");
  });

  it("with `position_reads: mode` it is confirmed, and the degree is shown as uncertain", async () => {
    const bench = windowOf({ positionReads: "mode" }, "10001");
    modeStays(bench);
    const result = await bench.run("45");
    expect(result).toMatchObject({ outcome: "confirmed", read_back: "10100" });
    expect(String(result.message)).toContain("The degree itself cannot be read");
    expect(roof(bench)).toMatchObject({
      state: "position",
      position: 45,
      value: "10100",
      quality: "uncertain",
    });
    bench.polled("101", "10100");
    expect(roof(bench)).toMatchObject({ position: 45, quality: "uncertain" });
    expect(bench.events).toEqual([]);
  });

  it("any word that is read ends the degree, also when the mode comes back", async () => {
    const bench = windowOf({ positionReads: "mode" }, "10001");
    modeStays(bench);
    await bench.run("45");
    bench.polled("101", "10010");
    expect(roof(bench)).toMatchObject({ state: "open", position: null, quality: "good" });
    bench.polled("101", "10100");
    expect(roof(bench)).toMatchObject({ state: "position", position: null, quality: "good" });
  });

  it("a position is never there already, as the mode tells no degree", async () => {
    const bench = windowOf({ positionReads: "mode" }, "10100");
    modeStays(bench);
    await bench.run("45");
    await bench.run("45");
    expect(bench.values()).toEqual(["101=10100", "101=45", "101=10100", "101=45"]);
    expect(bench.results.map(({ outcome }) => outcome)).toEqual(["confirmed", "confirmed"]);
  });

  it("where no POST was answered the mode proves nothing", async () => {
    const bench = windowOf({ positionReads: "mode" }, "10100");
    modeStays(bench);
    const { onWrite } = bench.platform;
    bench.platform.onWrite = (post, nth) =>
      post.value === "10100" ? onWrite(post, nth) : Promise.reject(platformError({ kind: "timeout" }));
    const result = await bench.run("45");
    expect(result).toMatchObject({ outcome: "unknown", read_back: "10100" });
    expect(bench.values().filter((value) => value === "101=45")).toHaveLength(2);
  });

  it("a second POST that is accepted is proven by the mode", async () => {
    const bench = windowOf({ positionReads: "mode" }, "10100");
    modeStays(bench);
    const { onWrite } = bench.platform;
    let lost = 0;
    bench.platform.onWrite = (post, nth) =>
      post.value === "10100" || lost++ > 0 ? onWrite(post, nth) : Promise.reject(platformError({}));
    expect(await bench.run("45")).toMatchObject({ outcome: "confirmed", read_back: "10100" });
  });
});

describe("an answer that echoes what was sent, without a code", () => {
  const echoed = { code: null, requestId: null };

  it("is read back as any other, and never sent again where the register is slow", async () => {
    const bench = windowOf({}, "10001");
    bench.platform.onWrite = ({ value }) => {
      void bench.clock.wait(40_000).then(() => bench.platform.registers.set("101", value));
      return Promise.resolve(echoed);
    };
    expect(await bench.run("open")).toMatchObject({
      outcome: "confirmed",
      steps: [{ code: null, attempts: 1 }],
    });
    expect(bench.values()).toEqual(["101=10010"]);
  });

  it("is unconfirmed where its value never shows", async () => {
    const bench = windowOf({}, "10001");
    bench.platform.onWrite = () => Promise.resolve(echoed);
    expect(await bench.run("open")).toMatchObject({ outcome: "unconfirmed" });
    expect(bench.values()).toEqual(["101=10010"]);
  });
});

describe("fan and wet curtain may have a way back to automatic", () =>
  it("with `values` and `reads` the word is sent, confirmed and shown", async () => {
    const kind = { kind: "fan_wet_curtain", travelMs: 0 } as const;
    const plain = windowOf(kind, "11110");
    expect(await plain.run("auto")).toMatchObject({ outcome: "refused", reason: "unknown_command" });
    const bench = windowOf({ ...kind, values: { auto: "11111" }, reads: { auto: ["10101"] } }, "11110");
    bench.platform.onWrite = ignored;
    bench.send("auto");
    await bench.clock.advance(1_000);
    bench.platform.registers.set("101", "10101");
    await bench.clock.advance(100_000);
    expect(bench.results.at(-1)).toMatchObject({ outcome: "confirmed", value: "11111", read_back: "10101" });
  }));
