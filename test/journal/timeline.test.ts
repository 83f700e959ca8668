import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { Alarm } from "../../src/greenhouse/limits.js";
import { msg } from "../../src/language/text.js";
import { newestEntries } from "../../src/journal/reader.js";
import type { KeptLimits, RecordBody } from "../../src/journal/records.js";
import { encodeLine } from "../../src/journal/segments.js";
import { timelineCsv } from "../../src/journal/timeline-table.js";
import { Timeline, type TimelineEntry, withControllerId } from "../../src/journal/timeline.js";
import { tempDirectory } from "./support/disk.js";
import { ended, refused, sent, stamped, taken } from "./support/samples.js";

const nothing: KeptLimits = {
  guards: {},
  starts: [],
  moved_until: null,
  direction: null,
  lock: null,
  lease: null,
  hold: null,
};

const at = (kept: Partial<KeptLimits> | null): RecordBody => ({
  type: "lane",
  controller: "GH-1",
  actuator: "roof",
  target: "actuator",
  memory: { limits: kept && { ...nothing, ...kept } },
});

const lock = { by: "ben", via: null, reason: "mending", since: 1_000, until: null };
const lease = { id: "7", by: "anna", command: "on", ends_with: "off", until: 60_000 };
const hold = { id: "8", by: "anna", until: 90_000 };
const held = { phase: "held", sending: "idle", id: null, tries: 0 } as const;

const alarm = (
  state: Alarm["state"],
  by: string | null = null,
  severity: Alarm["severity"] = "error",
): RecordBody => ({
  type: "alarm_kept",
  name: "flood",
  alarm: {
    id: "flood",
    type: "flood",
    state,
    since: "2026-05-01T06:00:00.000Z",
    severity,
    controller: null,
    actuator: null,
    message: "Very many.",
    remedy: "",
    by,
    clearedAt: null,
  },
});

const freed = (what: "lock" | "hold"): RecordBody => ({
  type: "freed",
  controller: "GH-1",
  actuator: "roof",
  what,
  by: "carla",
  via: null,
});

function told(bodies: readonly RecordBody[], timeline = new Timeline()): readonly string[] {
  return stamped(bodies)
    .flatMap((record) => timeline.entries(record))
    .map((entry) => [entry.kind, entry.type, byOf(entry)].filter(Boolean).join(" "));
}

const byOf = (entry: TimelineEntry) => ("by" in entry && typeof entry.by === "string" ? entry.by : "");

describe("the timeline of a house", () => {
  it.each<[string, readonly RecordBody[], readonly string[]]>([
    [
      "a lock, and that it ended by itself",
      [at({ lock }), at({ lock, starts: [1] }), at(null)],
      ["lock locked ben", "lock unlocked"],
    ],
    [
      "who unlocked, once",
      [at({ lock }), freed("lock"), at(null)],
      ["lock locked ben", "lock unlocked carla"],
    ],
    [
      "who released a hold, once",
      [at({ hold }), freed("hold"), at(null)],
      ["hold held anna", "hold hold_ended carla"],
    ],
    ["a lease and its end", [at({ lease }), at({})], ["lease lease_begun anna", "lease lease_ended"]],
    [
      "when a guard holds and lets go",
      [at({}), at({ guards: { wind: held } }), at({ guards: { wind: { ...held, phase: "clear" } } })],
      ["guard guard_holds", "guard guard_clears"],
    ],
    [
      "an alarm that is raised, acknowledged by somebody, and cleared",
      [alarm("active"), alarm("active"), alarm("acknowledged", "anna"), alarm("cleared"), alarm("cleared")],
      ["alarm alarm_raised", "alarm alarm_acknowledged anna", "alarm alarm_cleared"],
    ],
    [
      "an alarm that becomes worse and better again, once that it became worse",
      [alarm("active", null, "warning"), alarm("active"), alarm("active"), alarm("active", null, "warning")],
      ["alarm alarm_raised", "alarm alarm_raised"],
    ],
    [
      "who came in, and who did not",
      [
        { type: "logged_in", user: "anna", address: "10.0.0.2" },
        { type: "login_failed", listener: "http", client: null, user: null, address: "10.0.0.3" },
      ],
      ["login logged_in", "login login_failed"],
    ],
    [
      "what a guard sent apart from what a person did",
      [
        taken("a"),
        sent("a"),
        ended("a", { by: "anna" }),
        ended("b", { by: "rule wind" }),
        refused("c", "expired"),
      ],
      ["command result", "rule result", "command refusal"],
    ],
  ])("tells %s", (_, bodies, entries) => {
    expect(told(bodies)).toEqual(entries);
  });

  it("begins with what was in force: at the head of a file, and in a running bridge", () => {
    const about = { controller: "GH-1", actuator: "roof" };
    const kept = { ...nothing, lock };
    const lanes = [{ ...about, target: "actuator", memory: { limits: kept } }] as const;
    const carried: RecordBody = { type: "carried", open: [], lanes, starts: [], alarms: [] };
    expect(told([carried, at({ lock }), at(null)])).toEqual(["lock unlocked"]);
    expect(told([at({ lock }), at(null)], new Timeline({ lanes, alarms: [] }))).toEqual(["lock unlocked"]);
  });

  it("is read from the newest file back, by kind, controller and time, with all that one record says", async () => {
    const directory = await tempDirectory();
    const records = stamped([
      at({ lock, hold }),
      ended("a", { by: "anna" }),
      freed("lock"),
      at({ hold }),
      alarm("active"),
    ]);
    await writeFile(join(directory, "journal-000000000001.jsonl"), Buffer.concat(records.map(encodeLine)));
    const types = async (filter: Parameters<typeof newestEntries>[1]) =>
      (await newestEntries(directory, filter)).entries.map(({ type }) => type);
    expect(await types({ limit: 10, kinds: new Set(["lock"]) })).toEqual(["locked", "unlocked"]);
    expect(await types({ limit: 10, controllers: new Set(["GH-2"]) })).toEqual([]);
    expect(await types({ limit: 10, actuator: "roof" })).toEqual(["locked", "held", "result", "unlocked"]);
    expect(await types({ limit: 10, actuator: "valve" })).toEqual([]);
    expect(await types({ limit: 10, by: "ANN" })).toEqual(["held", "result"]);
    expect(await types({ limit: 4 })).toEqual(["locked", "held", "result", "unlocked", "alarm_raised"]);
    const csv = timelineCsv((await newestEntries(directory, { limit: 10 })).entries);
    expect(csv.split("\r\n")[0]).toMatch(/^\uFEFFat,kind,type,controller,actuator/);
    expect(csv).toContain("lock,locked,GH-1,roof");
    expect(csv).toContain("mending");
  });

  it("is a table for a spreadsheet that says each message as its sentence, who came in, and which alarm", () => {
    const timeline = new Timeline();
    const message = msg`${"=roof"} was sent, "so to say".`;
    const entries = stamped([
      ended("a", { by: "anna", message }),
      at({ lock }),
      alarm("active"),
      { type: "logged_in", user: "vera", address: "10.0.0.2" },
    ]).flatMap((record) => timeline.entries(record));
    const csv = timelineCsv(entries.map((one) => withControllerId(one, (code) => code.toLowerCase())));
    const [head = "", ...rows] = csv.slice(1).trim().split("\r\n");
    expect(rows[0]).toContain(`,"'=roof was sent, ""so to say"".",`);
    const cells = rows.slice(1).map((row) => {
      const named = row.split(",").map((cell, at) => [head.split(",")[at], cell] as const);
      return Object.fromEntries(named) as Readonly<Record<string, string>>;
    });
    expect(cells).toMatchObject([
      { type: "locked", controller: "gh-1", actuator: "roof", by: "ben" },
      { type: "alarm_raised", id: "flood" },
      { type: "logged_in", by: "vera", message: "10.0.0.2" },
    ]);
  });

  it.each([1, 2, 3, 4])("is read page by page to its end, %i at a time over several files", async (limit) => {
    const directory = await tempDirectory();
    const records = stamped([alarm("active"), at({ lock, hold }), ended("a", { by: "anna" }), at({ lease })]);
    for (const half of [records.slice(0, 2), records.slice(2)]) {
      const name = `journal-00000000000${String(half[0]?.seq)}.jsonl`;
      await writeFile(join(directory, name), Buffer.concat(half.map(encodeLine)));
    }
    const read: string[] = [];
    for (let before: number | null | undefined = undefined; before !== null;) {
      const page: Awaited<ReturnType<typeof newestEntries>> = await newestEntries(directory, {
        limit,
        before,
      });
      expect(page.entries).not.toEqual([]);
      read.unshift(...page.entries.map(({ type }) => type));
      before = page.next;
    }
    expect(read).toEqual(["alarm_raised", "locked", "held", "result", "lease_begun"]);
  });
});
