import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { journalDirectory, openJournal as openTheJournal } from "../../src/journal/open.js";
import { newestRecords } from "../../src/journal/reader.js";
import type { JournalRecord } from "../../src/journal/records.js";
import { decodeLine, encodeLine, longestLineBytes } from "../../src/journal/segments.js";
import type { Alarm } from "../../src/greenhouse/limits.js";
import { msg, type Text } from "../../src/language/text.js";
import { tellBy } from "../../src/language/words.js";
import { systemClock } from "../../src/runtime/clock.js";
import { silentLog } from "../support/builders.js";
import { openJournal, tempDirectory } from "./support/disk.js";
import { ended, result, sent, stamped, taken } from "./support/samples.js";
import { tempFolder } from "../mqtt-connection/support.js";

const [first, second] = stamped([taken("a"), sent("a")]) as [JournalRecord, JournalRecord];
const withoutNewline = (record: JournalRecord) => encodeLine(record).subarray(0, -1);

describe("a line of the journal", () => {
  it("gives back exactly what was written, whatever the texts hold", () =>
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 60 }), fc.string(), (by, command) => {
        const [record] = stamped([ended("a", { by, command })]) as [JournalRecord];
        expect(decodeLine(withoutNewline(record)).records).toEqual([record]);
      }),
    ));

  it("keeps the sentence of a result, so that it can be told in every language, and its English for programs", () => {
    const message = msg`${120} is outside ${msg`${0} to ${100}`}.`;
    const [record] = stamped([ended("a", { message })]) as [JournalRecord];
    expect(encodeLine(record).toString()).toContain(`"message":"${message.toString()}"`);
    const [read] = decodeLine(withoutNewline(record)).records;
    const said = tellBy({ "{1} is outside {2}.": "{1} 超出 {2}。", "{1} to {2}": "{1} 到 {2}" }, "zh");
    expect(said((read as { result: { message: Text } }).result.message)).toBe("120 超出 0 到 100。");
    expect(JSON.parse(JSON.stringify(read))).toEqual(JSON.parse(JSON.stringify(record)));
  });

  it("keeps the sentences of an alarm's facts as well", () => {
    const ways = [{ name: "phone", service: "ntfy", problem: msg`it refuses ${"this"}` }];
    const alarm: Alarm = {
      ...{ id: "notify_failed", type: "notify_failed", state: "active", severity: "warning" },
      ...{ since: "2026-03-01T07:59:00.000Z", controller: null, actuator: null, by: null, clearedAt: null },
      ...{ message: "phone (ntfy): it refuses this.", remedy: "Check it.", facts: { ways } },
    };
    const [record] = stamped([{ type: "alarm_kept", name: alarm.id, alarm }]) as [JournalRecord];
    expect(encodeLine(record).toString()).toContain(`"problem":"it refuses this"`);
    const [read] = decodeLine(withoutNewline(record)).records;
    const problem = (read as { alarm: Alarm }).alarm.facts?.ways?.[0]?.problem ?? "";
    expect(tellBy({ "it refuses {1}": "它拒绝 {1}" }, "zh")(problem)).toBe("它拒绝 this");
    expect(JSON.parse(JSON.stringify(read))).toEqual(JSON.parse(JSON.stringify(record)));
  });

  it("of a group names each of its members and who missed it, however many there are", () => {
    const message = "m".repeat(400);
    const member = (n: number) => ({ controller: `GH-${n}`, actuator: "roof", id: `${"i".repeat(60)}/${n}` });
    const members = Array.from({ length: 300 }, (_, n) => ({ ...member(n), command: "open" }));
    const about = { kind: "group", name: "roofs", canonical: "open", payload_hash: "h" } as const;
    const facts = { id: "a", command: "open", by: null, via: null, received_at: "2026-05-01T06:00:00.000Z" };
    const told = {
      ...{ ...facts, group: "roofs", scene: null, reason: null, message, duration_ms: 1 },
      members: members.map((one) => {
        return { ...one, outcome: "refused", reason: "interlock", message, interlock: null } as const;
      }),
      missed: members.map(({ controller, actuator }) => `${controller}/${actuator}`),
      finished_at: facts.received_at,
      outcome: "refused",
      repeated: false,
    } as const;
    const bodies = [
      { type: "group_taken", group: { ...about, ...facts, members } },
      { type: "group_ended", group: { ...about, is_taken: true, told } },
    ] as const;
    const [began, end] = stamped(bodies).map((one) => decodeLine(withoutNewline(one)).records[0]);
    expect(began).toMatchObject(bodies[0]);
    expect(end).toMatchObject({ group: { told: { missed: told.missed } } });
    const idsOf = (of: readonly { readonly id: string }[]) => of.map(({ id }) => id);
    const read = end as JournalRecord & { readonly type: "group_ended" };
    expect(idsOf(read.group.told.members)).toEqual(idsOf(members));
    expect(encodeLine(end as JournalRecord).length).toBeLessThanOrEqual(2_048 + 300 * 512);
  });

  it("holds no newline but its last byte", () => {
    const [record] = stamped([taken("a", { by: "two\nlines\r" })]) as [JournalRecord];
    expect(encodeLine(record).indexOf("\n")).toBe(encodeLine(record).length - 1);
  });

  it("with any one byte changed is unreadable, never another record", () => {
    const line = withoutNewline(first);
    for (let at = 0; at < line.length; at += 1)
      for (const flip of [0x01, 0x80, 0xff]) {
        const broken = Buffer.from(line);
        broken.writeUInt8((broken.readUInt8(at) ^ flip) & 0xff, at);
        expect(decodeLine(broken)).toMatchObject({ records: [], foreign: 0, unreadable: true });
      }
  });

  it("that lost its newline or has garbage around it still gives its records", () => {
    const garbage = Buffer.from('\u0000\u0001,"crc":"{"seq":');
    const line = Buffer.concat([
      garbage,
      withoutNewline(first),
      garbage,
      withoutNewline(second),
      Buffer.from("xx"),
    ]);
    const decoded = decodeLine(line);
    expect(decoded.records).toEqual([first, second]);
    expect(decoded.unreadable).toBe(true);
    expect(decoded.goodEndAt).toBe(line.length - 2);
  });

  it("of a type this version does not know is no damage", () => {
    const future = { ...first, type: "from_the_future" } as unknown as JournalRecord;
    expect(decodeLine(withoutNewline(future))).toMatchObject({ records: [], foreign: 1, unreadable: false });
  });

  it("that misses a field its type needs is not taken for a record", () => {
    const odd = { ...first, id: 7 } as unknown as JournalRecord;
    expect(decodeLine(withoutNewline(odd)).records).toEqual([]);
  });

  it("stays short: long texts are cut, a record too long even so is replaced by an event", () => {
    const [long] = stamped([ended("a", { message: "m".repeat(1_000_000) })]) as [JournalRecord];
    expect(encodeLine(long).length).toBeLessThan(5_000);
    const steps = Array.from({ length: 60_000 }, () => ({
      purpose: "value" as const,
      address: "1",
      value: "1".repeat(40),
    }));
    const [huge] = stamped([taken("a", { steps })]) as [JournalRecord];
    expect(encodeLine(huge).length).toBeLessThan(longestLineBytes);
    expect(decodeLine(withoutNewline(huge)).records[0]).toMatchObject({ seq: 1, event: "record_too_long" });
  });

  it.each([
    ["a message of the platform", ended("a", { message: "长".repeat(5_000) })],
    ["the answer to a duplicate", ended("a", { original: result("b", { message: "m".repeat(1_900) }) })],
    ["a client with a long name", taken("a", { via: { client: "c".repeat(60_000), user: "u" } })],
    ["a long id", taken("长".repeat(200), { by: "长".repeat(200), via: "长".repeat(400) })],
    [
      "many changes",
      { type: "configuration_changed", changes: Array.from({ length: 500 }, (_, n) => `key ${n}`) },
    ],
  ] as const)("has at most 2 KiB and says what was cut: %s", (_, body) => {
    const [record] = stamped([body]) as [JournalRecord];
    const line = encodeLine(record);
    expect(line.length).toBeLessThanOrEqual(2_048);
    const [read] = decodeLine(line.subarray(0, -1)).records;
    expect(read).toMatchObject({ seq: 1, type: body.type, cut: true });
    const idOf = (one: unknown) => one as { id?: string; result?: { id: string } } | undefined;
    expect(idOf(read)?.id ?? idOf(read)?.result?.id).toBe(idOf(record)?.id ?? idOf(record)?.result?.id);
  });

  it("of a result keeps its own words before those of the problem that it leaves", () => {
    const message = "长".repeat(300);
    const problem = { command: "open", outcome: "rejected", reason: null, message, at: "" };
    const memory = { unread: true, problem: { ...problem, message } } as const;
    const [record] = stamped([{ ...ended("a", { outcome: "rejected", message }), memory }]);
    if (!record) throw new Error("there is no record");
    const line = encodeLine(record);
    expect(line.length).toBeLessThanOrEqual(2_048);
    const told = { ...problem, message: `${"长".repeat(64)}…` };
    expect(decodeLine(line.subarray(0, -1)).records).toMatchObject([
      { cut: true, result: { message }, memory: { unread: true, problem: told } },
    ]);
  });

  it("of what limits an actuator keeps its holder and its starts, which count after a restart", () => {
    const by = "安".repeat(64);
    const guard = {
      phase: "clear",
      sending: "due",
      id: "2e0d5b0f-8d6d-4f6e-9f3c-6b1f7f0f2a11",
      tries: 3,
    } as const;
    const until = 1_772_352_000_000;
    const kept = {
      ...{ guards: { storm: guard, rain: guard }, moved_until: until, direction: "up" as const },
      lease: { id: guard.id, by: "安".repeat(200), command: "rotation", ends_with: "off", until },
      hold: { id: guard.id, by: "安".repeat(200), until },
      starts: [until, ...Array.from({ length: 59 }, () => 59_999)],
      lock: { by, via: null, reason: "安".repeat(200), since: until, until },
    };
    const about = { controller: "GH-0001", actuator: "roof", target: "actuator" } as const;
    const body = { type: "lane", ...about, memory: { unread: true, limits: kept } } as const;
    const [record] = stamped([body]) as [JournalRecord];
    const line = encodeLine(record);
    expect(line.length).toBeLessThanOrEqual(2_048);
    expect(decodeLine(line.subarray(0, -1)).records).toMatchObject([
      {
        cut: true,
        memory: { unread: true, limits: { starts: kept.starts, guards: kept.guards, lock: { by } } },
      },
    ]);
  });

  it.each([
    ["texts that take six bytes a character", "\u0001"],
    ["Chinese texts", "长"],
  ])("of a command that a guard kept back has at most 2 KiB: %s", (_, character) => {
    const long = character.repeat(200);
    const via = { client: long, user: long };
    const told = { by: long, via, message: long, request_id: long };
    const numbers = { input: long, value: long, limit: 1, quality: "good", until: null } as const;
    const [record] = stamped([ended("a", { ...told, interlock: { rule: long, ...numbers } })]);
    if (!record) throw new Error("there is no record");
    const line = encodeLine(record);
    expect(line.length).toBeLessThanOrEqual(2_048);
    const { at, boot, result } = record as typeof record & ReturnType<typeof ended>;
    const { received_at, finished_at, steps } = result;
    const [read] = decodeLine(line.subarray(0, -1)).records;
    expect(read).toMatchObject({ cut: true, at, boot, result: { received_at, finished_at, steps } });
  });

  it("that is short enough is not said to be cut", () => {
    const [record] = stamped([ended("a", { message: "m".repeat(1_000) })]) as [JournalRecord];
    expect(decodeLine(withoutNewline(record)).records).toEqual([record]);
  });

  it("of any bytes whatever never throws", () => {
    const pieces = fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      fc.constantFrom(Buffer.from('{"seq":'), Buffer.from(',"crc":"00000000"}'), withoutNewline(first)),
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 8 }), (parts) => {
        for (const record of decodeLine(Buffer.concat(parts)).records) expect(record).toEqual(first);
      }),
    );
  });
});

it("a recorded journal with records of 21 types is read whole and gone on with", async () => {
  const directory = await tempDirectory();
  const recorded = join(import.meta.dirname, "fixtures", "records.jsonl");
  await copyFile(recorded, join(directory, "journal-000000000001.jsonl"));
  const journal = await openJournal(directory);
  expect(journal.facts()).toMatchObject({ available: true, unreadable: 0, sequence: 22 });
  const { open, starts } = journal.history();
  expect(open).toMatchObject([{ taken: { id: "b", own_id: true }, sent: null }]);
  expect(starts).toMatchObject([{ boot: "boot-old", stopped: true }]);
  const records = await newestRecords(directory, { limit: 100 });
  expect(records.map(({ seq }) => seq)).toEqual(Array.from({ length: 22 }, (_, n) => n + 1));
  expect(new Set(records.map(({ type }) => type)).size).toBe(21);
  expect(await journal.append({ type: "start", version: "2" }, { durable: true })).toBe(23);
});

it("a record says whether our clock agreed with the platform's, and null while nobody knew", async () => {
  const folder = await tempFolder();
  const opened = await openTheJournal({ dataDir: folder, clock: systemClock, log: silentLog });
  const note = () => opened.journal.append({ type: "delivered", through: 1 }, { durable: true });
  await note();
  let skewMs: number | null = null;
  opened.journal.compareClock(() => skewMs);
  for (const skew of [null, 0, -119_000, 121_000]) {
    skewMs = skew;
    await note();
  }
  await opened.close();
  const told = await newestRecords(journalDirectory(folder), { types: new Set(["delivered"]), limit: 10 });
  expect(told.map((record) => record.clock_synced)).toEqual([null, null, true, true, false]);
});
