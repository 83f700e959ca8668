import { cp, readdir, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { Withdrawals } from "../../src/homeassistant/withdrawals.js";
import { journalDirectory, openJournal } from "../../src/journal/open.js";
import { readHistory } from "../../src/journal/reader.js";
import type { HistoryParts, LaneMemory } from "../../src/journal/records.js";
import { silentLog } from "../support/builders.js";
import { takeUp } from "../limits/bench.js";
import { CommandBench } from "../support/command-bench.js";
import { tempDirectory } from "../journal/support/disk.js";
import { VirtualClock } from "../support/virtual-clock.js";

/*
 * Data directories as earlier versions left them when they were killed, with all that must outlive an upgrade. What a version
 * recorded is never changed: a new version that cannot read it is wrong.
 */

const recorded = resolve(import.meta.dirname, "recorded");

async function copyOf(version: string): Promise<string> {
  const directory = await tempDirectory();
  await cp(join(recorded, version), directory, { recursive: true });
  return directory;
}

const limited = (actuator: string, limits: object): unknown =>
  expect.objectContaining({
    actuator,
    memory: expect.objectContaining({ limits: expect.objectContaining(limits) as unknown }) as unknown,
  });

const left = (leaseId: string) => ({
  lanes: expect.arrayContaining([
    limited("left_skylight", { lock: expect.objectContaining({ by: "anna", reason: "inside" }) as unknown }),
    limited("valve_1", {
      lease: expect.objectContaining({ by: "ben", command: "on", id: leaseId }) as unknown,
      hold: expect.objectContaining({ by: "ben" }) as unknown,
    }),
  ]) as unknown,
  open: [
    {
      taken: { id: "open-at-the-upgrade", actuator: "right_skylight", command: "60" },
      sent: {
        steps: [
          { purpose: "mode", code: "200" },
          { purpose: "value", value: "60" },
        ],
      },
    },
  ],
});

const leaseOf010 = "c17557d7-7fc2-4758-a88a-6cc4773bd767";
const leaseOfFormat1 = "3ffef751-b44f-418f-8bfd-225d678f5b2d";

/** By actuator. */
const memoriesOf = ({ lanes }: HistoryParts) =>
  Object.fromEntries(lanes.map(({ actuator, memory }) => [actuator, memory]));

const look = { step: { purpose: "value" }, ended_at: expect.any(String) as unknown };

/** Of format 1, whose records say what happened and not what their lanes must remember. */
const remembered = {
  left_skylight: { second_look: { ...look, step: { value: "40" } } },
  inner_shade: {
    problem: {
      command: "close",
      outcome: "unconfirmed",
      message: expect.stringContaining("10001") as unknown,
    },
    awaited: { ...look, word: "close", is_told: true, is_taken: true },
  },
  circulation_fan: {
    unread: true,
    problem: { command: "on", outcome: "unknown" },
    awaited: { ...look, word: "on", is_told: false, is_taken: true },
  },
  side_window: { second_look: look },
};

describe("a data directory of 0.1.0", () => {
  it("is read without losing a lock, a lease, a hold or an open command", async () => {
    const history = await readHistory(journalDirectory(await copyOf("0.1.0")));
    expect(history).toMatchObject(left(leaseOf010));
  });

  it("says what was withdrawn from Home Assistant, so that it is withdrawn again at a birth", async () => {
    const file = join(await copyOf("0.1.0"), "homeassistant-withdrawn.json");
    const memory = { read: () => readFile(file, "utf8"), write: () => Promise.resolve() };
    const withdrawals = new Withdrawals(memory, silentLog);
    await withdrawals.load();
    const due = withdrawals.due(Date.parse("2026-11-26T17:00:00Z"));
    const { code, components } = due.get("homeassistant/device/greenhouse2mqtt_GH-0001/config") ?? {};
    expect({ code, names: [...(components?.keys() ?? [])] }).toEqual({
      code: "GH-0001",
      names: ["valve_211", "select_211"],
    });
  });

  it("keeps all of that over starts of this version, which says from then on which format it is in", async () => {
    const directory = await copyOf("0.1.0");
    for (let start = 0; start < 3; start += 1) {
      const clock = new VirtualClock();
      const opened = await openJournal({ dataDir: directory, clock, log: silentLog });
      expect(opened.journal.facts()).toMatchObject({ available: true, unreadable: 0 });
      await opened.close();
    }
    expect(await readHistory(journalDirectory(directory))).toMatchObject(left(leaseOf010));
    expect(await readFile(join(directory, "format"), "utf8")).toBe("3\n");
  });
});

describe("a data directory of format 2", () => {
  const memories = {
    left_skylight: {
      second_look: { id: "before-the-upgrade", step: { value: "20" } },
      limits: {
        starts: [expect.any(Number)],
        direction: "up",
        lock: { by: "anna", reason: "inside", until: null },
      },
    },
    valve_1: {
      limits: {
        lease: { id: "lease-of-format-2", by: "ben", command: "on", ends_with: "off", address: "210" },
        hold: { by: "ben" },
      },
    },
  };

  it("is read without losing a lock, a lease, a hold or an open command, and one that was unlocked is not locked", async () => {
    const directory = await copyOf("format-2");
    const clock = new VirtualClock();
    for (let start = 0; start < 2; start += 1) {
      const history = await readHistory(journalDirectory(directory));
      const { right_skylight: right, ...others } = memoriesOf(history);
      expect(others).toMatchObject(memories);
      expect(right?.limits).toBeUndefined();
      expect(history.open).toMatchObject([
        { taken: { id: "open-at-the-upgrade" }, sent: { is_accepted: true } },
      ]);
      const opened = await openJournal({ dataDir: directory, clock, log: silentLog });
      await opened.journal.append({ type: "delivered", through: 1 }, { durable: true });
      expect(opened.journal.history()).toEqual(history);
      await opened.close();
    }
    expect(await readFile(join(directory, "format"), "utf8")).toBe("3\n");
  });
});

describe("a data directory of format 1", () => {
  it("is read without losing an unread POST, a problem, a value that may come or a window on its way", async () => {
    const history = await readHistory(journalDirectory(await copyOf("format-1")));
    expect(history).toMatchObject(left(leaseOfFormat1));
    expect(memoriesOf(history)).toMatchObject(remembered);
  });

  it("is the same in the next start after this version has begun a file of its own", async () => {
    const directory = await copyOf("format-1");
    const before = await readHistory(journalDirectory(directory));
    const clock = new VirtualClock();
    const opened = await openJournal({ dataDir: directory, clock, log: silentLog });
    const { journal } = opened;
    await journal.append({ type: "delivered", through: 1 }, { durable: true });
    expect(journal.history()).toEqual(before);
    await opened.close();
    expect(await readdir(journalDirectory(directory))).toHaveLength(2);
    expect(await readHistory(journalDirectory(directory))).toEqual(before);
    expect(await readFile(join(directory, "format"), "utf8")).toBe("3\n");
  });

  it("is what the book begins with", async () => {
    const history = await readHistory(journalDirectory(await copyOf("format-1")));
    const bench = new CommandBench({
      actuators: [
        { id: "left_skylight", address: "101" },
        { id: "right_skylight", address: "103" },
        { id: "inner_shade", kind: "shade_curtain", address: "102" },
        { id: "side_window", kind: "side_vent", address: "104", travelMs: 600_000 },
        { id: "circulation_fan", kind: "circulation_fan", address: "150" },
      ],
    });
    takeUp(bench, history);
    await bench.clock.advance(0);
    expect(bench.commander.open.map(({ id }) => id)).toEqual(["open-at-the-upgrade"]);
    expect(
      bench.store
        .get("GH-0001")
        ?.problems.map(({ actuator }) => actuator)
        .sort(),
    ).toEqual(["circulation_fan", "inner_shade"]);
    const { remembered: now } = bench.commander.print("GH-0001") as {
      readonly remembered: Readonly<Record<string, LaneMemory>>;
    };
    const names = Object.entries(now).map(([key, memory]) => [key.split(" ").at(-1), memory] as const);
    // Whatever was read of it since: a second POST may have begun of which there is no record.
    const open = { unread: true, sent: [{ id: "open-at-the-upgrade" }] };
    expect(Object.fromEntries(names)).toMatchObject({ ...remembered, right_skylight: open });
  });
});
