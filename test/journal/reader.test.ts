import { appendFile, readdir, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { followRecords, newestRecords, readHistory, readRecentCommands } from "../../src/journal/reader.js";
import {
  commandOutcomes,
  type JournalRecord,
  type RecordBody,
  mayHold,
  type RecordFilter,
} from "../../src/journal/records.js";
import { encodeLine } from "../../src/journal/segments.js";
import { journalTable } from "../../src/journal/timeline-table.js";
import { openJournal, stillClock, tempDirectory } from "./support/disk.js";
import { ended, refused, sent, stamped, taken } from "./support/samples.js";

/** Three files of four records each, a second apart. */
async function threeFiles(): Promise<string> {
  const directory = await tempDirectory();
  const records = stamped([
    ...[taken("a"), sent("a"), ended("a"), refused("b", "expired")],
    ...[
      taken("c"),
      { ...sent("c"), controller: "GH-0002" },
      ended("c"),
      { type: "start", version: "1" } as const,
    ],
    ...[taken("d"), ended("d", { controller: "east" }), refused("e", "no_age"), taken("f")],
  ]);
  for (let at = 0; at < records.length; at += 4) {
    const name = `journal-${String(at + 1).padStart(12, "0")}.jsonl`;
    await writeFile(join(directory, name), Buffer.concat(records.slice(at, at + 4).map(encodeLine)));
  }
  return directory;
}

const second = (n: number) => Date.UTC(2026, 4, 1, 6, 0, n);
const numbers = (records: readonly JournalRecord[]) => records.map(({ seq }) => seq);

describe("reading the journal", () => {
  it.each<[string, RecordFilter & { limit: number }, readonly number[]]>([
    ["the newest come, newest last", { limit: 3 }, [10, 11, 12]],
    ["over files", { limit: 6 }, [7, 8, 9, 10, 11, 12]],
    ["no more than there are", { limit: 100 }, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]],
    ["none when none are wanted", { limit: 0 }, []],
    ["by type", { limit: 3, types: commandOutcomes }, [7, 10, 11]],
    ["by device code", { limit: 9, controllers: new Set(["GH-0002"]) }, [6]],
    ["by topic id", { limit: 9, controllers: new Set(["east"]) }, [10]],
    ["since a time", { limit: 9, sinceMs: second(11) }, [11, 12]],
    ["since a time in an older file", { limit: 9, sinceMs: second(4) }, [4, 5, 6, 7, 8, 9, 10, 11, 12]],
    ["all of it together", { limit: 1, sinceMs: second(2), types: new Set(["result"]) }, [10]],
  ])("%s", async (_, filter, found) => {
    expect(numbers(await newestRecords(await threeFiles(), filter))).toEqual(found);
  });

  it("passes over broken lines and a torn last one", async () => {
    const directory = await threeFiles();
    const [, middle = "", last = ""] = await readdir(directory);
    await appendFile(join(directory, middle), "broken\n\u0000\u0000");
    await appendFile(join(directory, last), '{"seq":13,"at":"20');
    expect(numbers(await newestRecords(directory, { limit: 20 }))).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,
    ]);
  });

  it("of a directory that does not exist gives nothing", async () => {
    const nowhere = join(await tempDirectory(), "none");
    expect(await newestRecords(nowhere, { limit: 5 })).toEqual([]);
    expect(await readRecentCommands(nowhere, 0)).toEqual([]);
  });

  it("keeps memory bounded: the newest of 60,000 records in little more than the limit", async () => {
    const directory = await tempDirectory();
    const lines = stamped(Array.from({ length: 60_000 }, (_, n) => ended(`${n}`))).map(encodeLine);
    await writeFile(join(directory, "journal-000000000001.jsonl"), Buffer.concat(lines));
    lines.length = 0;
    const before = process.memoryUsage().heapUsed;
    const found = await newestRecords(directory, { limit: 20 });
    expect(numbers(found).at(-1)).toBe(60_000);
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(60_000_000);
  });

  it("finds interrupted and recent commands of a journal another process writes", async () => {
    const directory = await tempDirectory();
    const clock = stillClock();
    const journal = await openJournal(directory, { clock });
    journal.compareClock(() => 0);
    await journal.append(taken("old"), { durable: false });
    await journal.append(ended("old"), { durable: false });
    await clock.advance(13 * 3_600_000);
    await journal.append(taken("open"), { durable: true });
    expect((await readHistory(directory)).open).toMatchObject([{ taken: { id: "open" } }]);
    const recent = await readRecentCommands(directory, clock.now() - 12 * 3_600_000);
    expect(recent.map(({ id }) => id)).toEqual(["open"]);
  });
});

describe("a line of the journal", () => {
  const [one, other] = stamped([ended("a"), { ...taken("b"), by: '"type":"result"' }]).map(encodeLine);
  const torn = Buffer.concat([one?.subarray(0, -1) ?? "", other ?? ""].map((part) => Buffer.from(part)));

  it.each<[string, Buffer | undefined, readonly JournalRecord["type"][], boolean]>([
    ["may hold a record of its type", one, ["delivered", "result"], true],
    ["is passed over where it has none of these types", one, ["delivered", "command_taken"], false],
    ["may hold two of which the newline between them was lost", torn, ["command_taken"], true],
    ["is not taken for a type that a text in it names", other, ["result"], false],
  ])("%s", (_, line, types, isHeld) => {
    expect(mayHold(new Set(types))(line ?? Buffer.alloc(0))).toBe(isHeld);
  });
});

const turn = () => new Promise((resolve) => setImmediate(resolve));

/** A reader with a clock of its own, as another process has. `poll` lets it look once and gives what it saw by then. */
function reader(directory: string, filter: RecordFilter = {}, after = 0) {
  const clock = stillClock();
  const stop = new AbortController();
  const seen: JournalRecord[] = [];
  const ended = (async () => {
    for await (const record of followRecords(directory, { clock, filter, after }, stop.signal))
      if (record.type !== "carried") seen.push(record);
  })();
  const idle = async () => {
    while (clock.pendingTimers === 0) await turn();
  };
  const poll = async () => {
    await idle();
    await clock.advance(500);
    await idle();
    return seen.map((record) => ("id" in record ? record.id : record.type));
  };
  return { seen, poll, stop: () => (stop.abort(), ended) };
}

describe("following a journal", () => {
  it("shows records as they come, also into files begun later, each once and in order", async () => {
    const directory = join(await tempDirectory(), "journal");
    const follower = reader(directory);
    expect(await follower.poll()).toEqual([]);
    const journal = await openJournal(directory, { limits: { fileBytes: 2_000 } });
    const written: string[] = [];
    for (let n = 0; n < 60; n += 1) {
      await journal.append(taken(`${n}`), { durable: false });
      written.push(`${n}`);
      if (n % 7 === 0) expect(await follower.poll()).toEqual(written);
    }
    expect(await follower.poll()).toEqual(written);
    expect((await readdir(directory)).length).toBeGreaterThan(3);
    await follower.stop();
  });

  it("waits for the end of a line that is half written, and survives its being cut off", async () => {
    const directory = await tempDirectory();
    const journal = await openJournal(directory);
    await journal.append(taken("a"), { durable: true });
    const [name = ""] = await readdir(directory);
    const follower = reader(directory);
    await appendFile(join(directory, name), '{"seq":9,"at"');
    expect(await follower.poll()).toEqual(["a"]);
    await journal.close();
    const next = await openJournal(directory);
    await next.append(taken("b"), { durable: true });
    expect(await follower.poll()).toEqual(["a", "journal_damaged", "b"]);
    await follower.stop();
  });

  it("goes on after a given number, with the filters of reading", async () => {
    const directory = await tempDirectory();
    const journal = await openJournal(directory);
    await journal.append(ended("a"), { durable: false });
    const shown = await journal.append(ended("b"), { durable: false });
    await journal.append(taken("c"), { durable: false });
    await journal.append(ended("c"), { durable: false });
    const follower = reader(directory, { types: new Set(["result"]) }, shown);
    await follower.poll();
    expect(follower.seen).toMatchObject([{ result: { id: "c" } }]);
    await follower.stop();
  });

  it("does not end or repeat itself when the file becomes shorter than it was", async () => {
    const directory = await tempDirectory();
    const journal = await openJournal(directory);
    await journal.append(taken("a"), { durable: true });
    const follower = reader(directory);
    expect(await follower.poll()).toEqual(["a"]);
    const [name = ""] = await readdir(directory);
    await truncate(join(directory, name), 20);
    expect(await follower.poll()).toEqual(["a"]);
    await follower.stop();
  });
});

const one = (body: RecordBody): JournalRecord => stamped([body])[0] as JournalRecord;
const utc = { timeZone: "UTC" };
const growing = { ...utc, grows: true };

describe("the table of past commands", () => {
  it("shows time, controller, actuator, command, outcome, reason, sender and duration", () => {
    const records = stamped([
      ended("a", { by: "张三", via: { client: "ha", user: "home" } }),
      refused("b", "unknown_command", {
        command: null,
        message: '"opne" is no command of this actuator; it accepts open, close.',
      }),
      {
        type: "refusals_counted",
        controller: "GH-0001",
        actuator: "roof",
        count: 412,
        reasons: { expired: 400, retained: 12 },
        since: "2026-05-01T06:00:00.000Z",
      },
    ]);
    expect(journalTable(records, utc).text).toBe(
      [
        "TIME                 CONTROLLER  ACTUATOR  COMMAND   OUTCOME    REASON                    BY              DURATION  MESSAGE",
        "2026-05-01 06:00:01  GH-0001     roof      open      confirmed                            张三 (ha/home)  5.0 s",
        '2026-05-01 06:00:02  GH-0001     roof                refused    unknown_command           grower          5.0 s     "opne" is no command of this actuator; it accepts open, close.',
        "2026-05-01 06:00:03  GH-0001     roof      412 more  refused    expired 400, retained 12",
      ].join("\n"),
    );
  });

  it("shows the time of the place", () => {
    const { text } = journalTable([one(ended("a"))], { timeZone: "Asia/Shanghai" });
    expect(text).toContain("2026-05-01 14:00:01  ");
  });

  it("obeys no control characters of a sender and keeps its columns", () => {
    const record = one(ended("a", { by: "\u001b[2Jevil\n\u202edrow\u0007 " + "温".repeat(40) }));
    const line = journalTable([], growing).line(record);
    expect(line).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(line).toContain("…");
    expect(line.endsWith("5.0 s")).toBe(true);
  });

  it("shows any other record by its type, so that a whole journal can be shown", () => {
    const { text } = journalTable([one({ type: "stop", reason: "SIGTERM" }), one(sent("a"))], utc);
    expect(text).toMatch(/ stop +SIGTERM$/m);
    expect(text).toMatch(/ GH-0001 +roof +10010 +step_sent$/m);
  });

  it("goes on with the columns it began with, however long the cells of later lines are", () => {
    const past = stamped([ended("a", { by: "a rather long name of somebody" }), refused("b", "expired")]);
    const table = journalTable(past, growing);
    const [header = "", ...rows] = table.text.split("\n");
    const via = { client: `aedes_${"0".repeat(36)}`, user: null };
    const long = { command: "fans_1_2_3_and_more", by: "somebody", via, duration_ms: 3_599_000 };
    const later = [ended("c", long), refused("d", "lead_in_not_confirmed", { message: "x".repeat(280) })];
    const lines = [...rows, ...later.map((body) => table.line(one(body)))];
    for (const title of ["CONTROLLER", "ACTUATOR", "COMMAND", "OUTCOME", "REASON", "BY", "DURATION"]) {
      const at = header.indexOf(title);
      for (const line of lines) expect(line.charAt(at - 1), `${title}: ${line}`).toBe(" ");
    }
    for (const line of lines)
      expect(line.slice(header.indexOf("OUTCOME"))).toMatch(/^(?:confirmed|refused) /);
    expect(lines.at(-1)?.slice(header.indexOf("MESSAGE"))).toBe("x".repeat(280));
    expect(journalTable([], growing).text).toMatch(/^TIME +CONTROLLER +ACTUATOR.* MESSAGE$/);
  });

  it.each([
    [12.4, "12 ms"],
    [4_230, "4.2 s"],
    [125_900, "2 min 5 s"],
  ])("%d ms is %s", (ms, text) =>
    expect(journalTable([one(ended("a", { duration_ms: ms }))], utc).text).toContain(`  ${text}`),
  );
});
