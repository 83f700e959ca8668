import { describe, expect, it } from "vitest";
import { laneKey } from "../../src/commands/command.js";
import { awaitedFrom, awaitedSince, unseenResults, lateResults } from "../../src/commands/restore.js";
import type { RecordBody } from "../../src/journal/records.js";
import { ended, sent, stamped } from "../journal/support/samples.js";
import { CommandBench } from "../support/command-bench.js";
import { roofProblem } from "../support/builders.js";
import { fan } from "./benches.js";

const unconfirmed = { outcome: "unconfirmed" } as const;
const came: RecordBody = {
  ...{ type: "confirmed_late", controller: "GH-0001", actuator: "roof" },
  ...{ id: "a", value: "10010" },
};

describe("a value that an earlier run sent and had not seen", () => {
  it.each<[string, readonly RecordBody[], readonly string[]]>([
    ["is awaited", [ended("a", unconfirmed)], ["a"]],
    ["is awaited no more once it came", [ended("a", unconfirmed), came], []],
    ["only where the command was the newest sent", [ended("a", unconfirmed), ended("b")], []],
    [
      "whatever was refused since",
      [ended("a", unconfirmed), ended("b", { outcome: "refused", sent_at: null })],
      ["a"],
    ],
    [
      "not where the mode was not confirmed",
      [ended("a", { ...unconfirmed, reason: "mode_not_confirmed" })],
      [],
    ],
    ["not where it failed", [ended("a", { outcome: "failed" })], []],
    [
      "for each target apart",
      [ended("a", unconfirmed), { ...ended("b"), target: "parameter" }, { ...ended("c"), actuator: "other" }],
      ["a"],
    ],
  ])("%s", (_, records, ids) =>
    expect(lateResults(stamped(records)).map(({ result }) => result.id)).toEqual(ids),
  );

  it("is looked for over a day, and as far back as the oldest problem of its kind", () => {
    const now = Date.parse("2026-05-10T00:00:00.000Z");
    const day = Date.parse("2026-05-09T00:00:00.000Z");
    const problem = (outcome: "unconfirmed" | "failed", finished_at: string) =>
      ({
        controller: "GH-0001",
        actuator: "roof",
        target: "actuator",
        id: "a",
        reason: null,
        outcome,
        finished_at,
      }) as const;
    expect(awaitedSince([], now)).toBe(day);
    expect(awaitedSince([problem("failed", "2026-05-01T00:00:00.000Z")], now)).toBe(day);
    expect(awaitedSince([problem("unconfirmed", "no time")], now)).toBe(day);
    expect(awaitedSince([problem("unconfirmed", "2026-05-01T00:00:00.000Z")], now)).toBeLessThan(
      Date.parse("2026-05-01T00:00:00.000Z"),
    );
  });

  it.each([
    ["at the first read", ["1010"]],
    ["after another value", ["1001", "1010", "1010"]],
  ])("is confirmed_late %s, is no change by somebody else, and clears the problem", async (_, reads) => {
    const bench = new CommandBench({ actuators: [fan] });
    const about = { code: "GH-0001", target: "actuator", targetId: "roof" } as const;
    const step = { purpose: "value", address: "140", value: "1010" } as const;
    const steps = [{ ...step, attempts: 1, code: "200", read_back: "1001" }];
    const { result } = ended("a", { ...unconfirmed, command: "on", value: "1010", steps });
    const awaited = awaitedFrom({ ...about, result }, bench.store);
    if (!awaited) throw new Error("nothing is awaited");
    bench.commander.feed({ type: "problem", about, why: roofProblem });
    bench.commander.feed({ type: "awaiting", key: laneKey(about), awaited });
    for (const raw of reads) {
      bench.polled("140", raw);
      await bench.clock.advance(1_000);
    }
    expect(bench.events).toMatchObject([{ type: "confirmed_late", facts: { id: "a", actuator: "roof" } }]);
    expect(bench.events[0]?.message).toContain("shows on now");
    expect(bench.records).toMatchObject([{ type: "confirmed_late", controller: "GH-0001", id: "a" }]);
    expect(bench.store.get("GH-0001")?.problem).toBe(false);
  });

  it("of a target the configuration no longer has is not awaited", () => {
    const bench = new CommandBench({ actuators: [{ ...fan, id: "other" }] });
    const { result } = ended("a", unconfirmed);
    expect(awaitedFrom({ code: "GH-0001", target: "actuator", result }, bench.store)).toBeNull();
    expect(awaitedFrom({ code: "GH-0009", target: "actuator", result }, bench.store)).toBeNull();
  });
});

describe("a value that an earlier run confirmed", () => {
  const looked = (id: string | null, actuator = "roof"): RecordBody => ({
    ...{ type: "read_back", controller: "GH-0001", actuator, id, address: "101", value: "10010" },
  });
  const reverted: RecordBody = {
    ...{ type: "reverted", controller: "GH-0001", actuator: "roof", id: "a", value: "10001" },
  };

  it.each<[string, readonly RecordBody[], readonly string[]]>([
    ["is to be looked at again", [sent("a"), ended("a")], ["a"]],
    ["unless that was done", [sent("a"), ended("a"), looked("a")], []],
    ["unless it was reverted", [sent("a"), ended("a"), reverted], []],
    ["whatever the read-backs of POSTs say", [sent("a"), looked(null), ended("a"), looked(null)], ["a"]],
    ["unless a newer command was sent", [sent("a"), ended("a"), sent("b")], []],
    ["unless it was not confirmed", [sent("a"), ended("a", { outcome: "unconfirmed" })], []],
    [
      "for each target apart",
      [ended("a"), { ...sent("b"), target: "parameter" }, looked("a", "other")],
      ["a"],
    ],
  ])("%s", (_, records, ids) =>
    expect(unseenResults(stamped(records)).map(({ result }) => result.id)).toEqual(ids),
  );
});
