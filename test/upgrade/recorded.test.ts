import { cp, readFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { Withdrawals } from "../../src/homeassistant/withdrawals.js";
import { journalDirectory, openJournal } from "../../src/journal/open.js";
import { readHistory } from "../../src/journal/reader.js";
import { silentLog } from "../support/builders.js";
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

const left = {
  limits: expect.arrayContaining([
    {
      controller: "GH-0001",
      actuator: "left_skylight",
      kept: expect.objectContaining({
        lock: expect.objectContaining({ by: "anna", reason: "inside" }) as unknown,
      }) as unknown,
    },
    {
      controller: "GH-0001",
      actuator: "valve_1",
      kept: expect.objectContaining({
        lease: expect.objectContaining({
          by: "ben",
          command: "on",
          id: "c17557d7-7fc2-4758-a88a-6cc4773bd767",
        }) as unknown,
        hold: expect.objectContaining({ by: "ben" }) as unknown,
      }) as unknown,
    },
  ]) as unknown,
  open: [{ taken: { id: "open-at-the-upgrade", actuator: "right_skylight", command: "60" } }],
};

describe("a data directory of 0.1.0", () => {
  it("is read without losing a lock, a lease, a hold or an open command", async () => {
    const history = await readHistory(journalDirectory(await copyOf("0.1.0")));
    expect(history).toMatchObject(left);
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
      expect(opened.journal.state()).toMatchObject({ available: true, unreadable: 0 });
      await opened.close();
    }
    expect(await readHistory(journalDirectory(directory))).toMatchObject(left);
    expect(await readFile(join(directory, "format"), "utf8")).toBe("1\n");
  });
});
