import { describe, expect, it } from "vitest";
import { seeActuator } from "../../src/commands/aftermath.js";
import type { Rest } from "../../src/commands/command.js";
import { CommandBench } from "../support/command-bench.js";

const fan = {
  id: "roof",
  kind: "circulation_fan",
  address: "140",
  confirmWithinMs: 60_000,
  travelMs: 0,
} as const;

const rest = (state: string, position: number | null = null, passing: number | null = null): Rest => ({
  state,
  position,
  passing,
});

describe("moved by somebody else", () => {
  it.each<[string, Rest | null, { state: string | null; position: number | null }, boolean, object | null]>([
    ["the first sight of a state", null, { state: "open", position: null }, false, null],
    ["the same state", rest("open"), { state: "open", position: null }, false, null],
    [
      "another state",
      rest("open"),
      { state: "closed", position: null },
      false,
      { from: "open", to: "closed" },
    ],
    [
      "another state while a command of ours is open",
      rest("open"),
      { state: "closed", position: null },
      true,
      null,
    ],
    ["anything after auto", rest("auto"), { state: "open", position: null }, false, null],
    ["into auto", rest("open"), { state: "auto", position: null }, false, { from: "open", to: "auto" }],
    ["a degree seen once", rest("position", 20), { state: "position", position: 50 }, false, null],
    [
      "a degree seen twice",
      rest("position", 20, 50),
      { state: "position", position: 50 },
      false,
      { from: "20", to: "50" },
    ],
    [
      "a degree after only the mode was known",
      rest("position"),
      { state: "position", position: 50 },
      false,
      null,
    ],
    ["an unreadable value", rest("open"), { state: "unknown", position: null }, false, null],
  ])("%s", (_, before, now, ours, moved) => expect(seeActuator(before, now, ours).moved).toEqual(moved));

  it("is raised once, with what changed", async () => {
    const bench = new CommandBench({ actuators: [fan] });
    const read = (raw: string) => bench.polled("140", raw);
    read("1001");
    await bench.clock.advance(1_000);
    read("1010");
    await bench.clock.advance(1_000);
    read("1010");
    expect(bench.events).toMatchObject([{ type: "changed_elsewhere", facts: { from: "off", to: "on" } }]);
  });
});

describe("our own value after the command had ended unconfirmed", () =>
  it("is confirmed_late, is no change by somebody else, and clears the problem", async () => {
    const bench = new CommandBench({ actuators: [fan], registers: { "140": "1001" } });
    bench.platform.onWrite = () => Promise.resolve({ code: "200", requestId: null });
    expect(await bench.run("on")).toMatchObject({ outcome: "unconfirmed" });
    bench.store.dispatch("GH-0001", {
      type: "registers_read",
      values: new Map([["140", "1010"]]),
      startedAt: bench.clock.monotonic(),
      readAt: bench.clock.now(),
      fresh: false,
      source: "poll",
    });
    await bench.clock.advance(10);
    expect(bench.events.map(({ type }) => type)).toEqual(["command_unconfirmed", "confirmed_late"]);
    expect(bench.store.get("GH-0001")?.problem).toBe(false);
  }));

describe("a confirmed value that is set back before its travel time is over", () => {
  const roof = { travelMs: 90_000 };

  it("raises the event, and the problem until the next command is confirmed", async () => {
    const bench = new CommandBench({ actuators: [roof], registers: { "101": "10001" } });
    await bench.play("open", 6_000);
    expect(bench.results).toMatchObject([{ outcome: "confirmed" }]);
    bench.platform.registers.set("101", "10001");
    bench.polled("101", "10001");
    await bench.clock.advance(90_000);
    expect(bench.events).toMatchObject([
      { type: "reverted", severity: "error", facts: { id: "c1", value: "10010", read_back: "10001" } },
    ]);
    expect(bench.store.get("GH-0001")?.problem).toBe(true);
    expect(bench.records).toContainEqual(expect.objectContaining({ type: "reverted", id: "c1" }));
    await bench.run("open");
    expect(bench.store.get("GH-0001")?.problem).toBe(false);
    expect(bench.events).toHaveLength(1);
  });

  it("is told once: it is not changed elsewhere as well", async () => {
    const bench = new CommandBench({ actuators: [roof], registers: { "101": "10001" } });
    await bench.run("close");
    await bench.play("open", 6_000);
    bench.platform.registers.set("101", "10001");
    await bench.clock.advance(200_000);
    bench.polled("101", "10001");
    expect(bench.events.map(({ type }) => type)).toEqual(["reverted"]);
  });
});
