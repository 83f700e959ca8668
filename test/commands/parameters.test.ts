import { describe, expect, it } from "vitest";
import { actuator } from "../support/builders.js";
import { CommandBench } from "../support/command-bench.js";
import { ignored } from "./benches.js";

const ec = { id: "ec", address: "501", scale: 0.01, writable: { min: 0, max: 5, step: 0.1 } } as const;

const toEc = { target: "parameter", targetId: "ec" } as const;
const toRaw = { target: "address", targetId: "900" } as const;

function bench(options: ConstructorParameters<typeof CommandBench>[0] = {}): CommandBench {
  const hidden = [actuator({ id: "old", address: "103", modeAddress: "104" })];
  const made = new CommandBench({ parameters: [ec], ignored: hidden, ...options });
  made.platform.registers.set("501", "180");
  made.platform.registers.set("900", "0007");
  return made;
}

const shown = (made: CommandBench) => made.store.get("GH-0001");

describe("a command to a writable parameter", () => {
  it("goes the path of an actuator: read, journaled, sent once, read back, confirmed", async () => {
    const made = bench();
    const result = await made.run("2.5", toEc);
    expect(result).toMatchObject({
      actuator: "ec",
      command: "2.5",
      value: "250",
      outcome: "confirmed",
      read_back: "250",
    });
    expect(made.values()).toEqual(["501=250"]);
    expect(made.records.find(({ type }) => type === "command_taken")).toMatchObject({
      target: "parameter",
      actuator: "ec",
    });
    expect(shown(made)?.parameters.get("ec")).toMatchObject({
      value: 2.5,
      register: { source: "read_back" },
    });
  });

  it("is already there when the platform shows the value with zeros in front", async () => {
    const made = bench();
    made.platform.registers.set("501", "0250");
    expect(await made.run("2.5", toEc)).toMatchObject({ outcome: "already" });
    expect(made.values()).toEqual([]);
  });

  it("takes a number of JSON, also a fraction", async () => {
    expect(await bench().run('{"command": 2.5}', toEc)).toMatchObject({ outcome: "confirmed", value: "250" });
  });

  it.each([
    ["9", "out_of_range"],
    ["2.55", "out_of_range"],
    ["open", "bad_payload"],
  ])("%s is refused: %s", async (payload, reason) => {
    const made = bench();
    expect(await made.run(payload, toEc)).toMatchObject({ outcome: "refused", reason });
    expect(made.values()).toEqual([]);
  });

  it("is refused for one that is not writable, and by a read-only bridge", async () => {
    const plain = { id: "ec", address: "501", scale: 0.01 };
    const refusal = { outcome: "refused", reason: "read_only" };
    expect(await bench({ parameters: [plain] }).run("2.5", toEc)).toMatchObject(refusal);
    expect(await bench({ readOnly: true }).run("2.5", toEc)).toMatchObject(refusal);
  });

  it("our own value coming after unconfirmed is confirmed_late and clears the problem", async () => {
    const made = bench();
    made.platform.onWrite = ignored;
    expect(await made.run("2.5", toEc)).toMatchObject({ outcome: "unconfirmed" });
    expect(shown(made)?.problem).toBe(true);
    made.polled("501", "250");
    await made.clock.advance(1);
    expect(made.events.map(({ type }) => type)).toContain("confirmed_late");
    expect(shown(made)?.problem).toBe(false);
  });

  it("one id for an actuator and a parameter is two things: a POST to one holds back nothing of the other", async () => {
    const made = bench({ parameters: [{ ...ec, id: "roof" }] });
    made.platform.registers.set("101", "10001");
    await made.run("2.5", { target: "parameter", targetId: "roof" });
    expect(shown(made)?.actuators.get("roof")?.postedAt).toBeNull();
    expect(shown(made)?.parameters.get("roof")?.postedAt).not.toBeNull();
  });
});

it("a command to an actuator that is ignored is refused, and says so", async () => {
  const made = bench();
  expect(await made.run("open", { target: "actuator", targetId: "old" })).toMatchObject({
    outcome: "refused",
    reason: "unknown_actuator",
    message: expect.stringContaining("ignore: true") as string,
  });
  expect(made.values()).toEqual([]);
});

describe("a command to a raw address", () => {
  it("is refused unless the configuration allows raw addresses", async () => {
    const made = bench();
    expect(await made.run("1", toRaw)).toMatchObject({ outcome: "refused", reason: "unknown_actuator" });
    expect(made.values()).toEqual([]);
  });

  it("sends the value as it is written, and shows what was read back", async () => {
    const made = bench({ rawAddresses: true });
    expect(await made.run("0110", toRaw)).toMatchObject({ outcome: "confirmed", value: "0110" });
    expect(made.values()).toEqual(["900=0110"]);
    expect(shown(made)?.addresses.get("900")?.register?.raw).toBe("0110");
  });

  it.each(["101", "501", "0101", "000501", "103", "0104"])(
    "%s is refused: it belongs to an actuator or parameter, whatever its leading zeros, also to one that is ignored",
    async (targetId) => {
      const made = bench({ rawAddresses: true });
      const result = await made.run("1", { target: "address", targetId });
      expect(result).toMatchObject({ outcome: "refused", reason: "unknown_actuator" });
      expect(String(result.message)).toContain("belongs to");
      expect(made.values()).toEqual([]);
    },
  );

  it("is refused by a read-only bridge", async () => {
    const made = bench({ rawAddresses: true, readOnly: true });
    expect(await made.run("1", toRaw)).toMatchObject({ outcome: "refused", reason: "read_only" });
  });

  it("a read begun before our POST does not show on its topic", async () => {
    const made = bench({ rawAddresses: true });
    await made.run("0110", toRaw);
    made.store.dispatch("GH-0001", {
      type: "registers_read",
      values: new Map([["900", "9999"]]),
      startedAt: -1,
      readAt: made.clock.now(),
      fresh: true,
      source: "poll",
    });
    expect(shown(made)?.addresses.get("900")?.register?.raw).toBe("0110");
  });
});
