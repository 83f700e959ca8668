import { join } from "node:path";
import { readdir, readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import type { AccountStream, StreamEntry } from "../../src/cluster/ports.js";
import { ClusterMetrics } from "../../src/cluster/metrics.js";
import { StreamStore } from "../../src/cluster/stream-store.js";
import { checkOrigin, markOrigin } from "../../src/journal/origin.js";
import { journalDirectory, openJournal } from "../../src/journal/open.js";
import { DataPlace } from "../../src/journal/place.js";
import { newestRecords } from "../../src/journal/reader.js";
import { nodeFileSystem, replaceFile, textFile } from "../../src/runtime/file-system.js";
import { silentLog } from "../../src/runtime/log.js";
import { tempFolder } from "../mqtt-connection/support.js";
import { VirtualClock } from "../support/virtual-clock.js";

interface TestStream {
  readonly entries: (StreamEntry | null)[];
  /** The first number of each reading. */
  readonly readFrom: number[];
  /** The fate of an append. `lost`: it is kept, but not acknowledged. */
  fail: (entry: StreamEntry) => "lost" | "refused" | null;
  beforeFence: () => unknown;
  readonly port: AccountStream;
}

/** A stream that keeps what it acknowledges. */
function stream(): TestStream {
  const entries: (StreamEntry | null)[] = [];
  const made: TestStream = {
    entries,
    readFrom: [],
    fail: () => null,
    beforeFence: () => undefined,
    port: {
      append: async (entry, after) => {
        if (entry.subject === "fence") await made.beforeFence();
        const failure = made.fail(entry);
        if (failure === "refused") throw new Error("timeout");
        if (entries.length !== after) return null;
        const number = entries.push(entry);
        if (failure === "lost") throw new Error("timeout");
        return number;
      },
      state: () =>
        Promise.resolve({
          created: "once",
          last: entries.length,
          count: entries.filter((entry) => entry !== null).length,
        }),
      newest: (subject) => Promise.resolve(entries.findLast((entry) => entry?.subject === subject) ?? null),
      async *read(from, through) {
        await Promise.resolve();
        made.readFrom.push(from);
        for (const [at, entry] of entries.entries())
          if (entry !== null && at + 1 >= from && at + 1 <= through) yield { ...entry, number: at + 1 };
      },
      purge: (subject, before) => {
        for (const [at, entry] of entries.entries())
          if (entry?.subject === subject && at + 1 < before) entries[at] = null;
        return Promise.resolve();
      },
    },
  };
  return made;
}

/** Holds the first answer to a purge until the returned function is called. */
function holdPurge({ port }: TestStream): () => void {
  const purge = port.purge.bind(port);
  let goOn: () => void = () => undefined;
  const held = new Promise<void>((resolve) => (goOn = resolve));
  Object.assign(port, {
    purge: async (...given: Parameters<typeof purge>) => {
      Object.assign(port, { purge });
      await held;
      await purge(...given);
    },
  });
  return () => goOn();
}

let runs = 0;

/** A member with a data directory of its own. */
async function member(of: ReturnType<typeof stream>, dataDir?: string, isToImport = false) {
  const folder = dataDir ?? (await tempFolder());
  runs += 1;
  const made = { lost: 0, folder, clock: new VirtualClock() };
  const store = new StreamStore({
    stream: of.port,
    files: nodeFileSystem,
    directory: journalDirectory(folder),
    dataDir: folder,
    notes: ["token.json"],
    run: `run-${runs}`,
    about: () => "{}",
    wait: () => Promise.resolve(),
    inTurn: (work) => work(),
    isToImport,
    monotonic: () => 0,
    metrics: new ClusterMetrics(),
    isConfirmed: () => true,
    onLost: () => (made.lost += 1),
  });
  const open = async () => {
    await store.admit();
    const original = { files: store.files, admit: () => store.admit(), place: new DataPlace(folder) };
    return openJournal({ dataDir: folder, clock: made.clock, log: silentLog, original });
  };
  const records = async () =>
    (await newestRecords(journalDirectory(folder), { limit: 100 })).map(({ type }) => type);
  return { ...made, store, open, records, state: made };
}

const start = { type: "start", version: "1" } as const;
const stop = { type: "stop", reason: "test" } as const;
const durable = { durable: true } as const;

describe("the journal of an account in a stream", () => {
  it("is with the next owner what it was with the one before, and goes on there", async () => {
    const kept = stream();
    const one = await member(kept);
    const { journal } = await one.open();
    await journal.append(start, durable);
    const other = await member(kept);
    const next = await other.open();
    await next.journal.append(stop, durable);
    expect(await other.records()).toEqual(["carried", "start", "stop"]);
    expect(next.journal.history().starts).toMatchObject([{ version: "1" }]);
    const names = await readdir(journalDirectory(one.folder));
    const bytes = (folder: string) => readFile(join(journalDirectory(folder), names[0] ?? ""), "utf8");
    expect(await bytes(other.folder)).toContain(await bytes(one.folder));
  });

  it("takes nothing more of the owner before: what it says then is refused, and it learns that it is not the owner", async () => {
    const kept = stream();
    const one = await member(kept);
    const { journal } = await one.open();
    await journal.append(start, durable);
    const other = await member(kept);
    await (await other.open()).journal.append(start, durable);
    await expect(journal.append(stop, durable)).rejects.toThrow("cannot be written");
    one.clock.advance(5_000).catch(() => undefined);
    await expect.poll(() => one.state.lost).toBe(1);
    await expect.poll(() => String(journal.state().reason)).toContain("another member");
    expect(kept.entries.filter((entry) => Buffer.from(entry?.data ?? "").includes('"stop"'))).toEqual([]);
  });

  it("holds also what an old owner appends until its successor's fence stands", async () => {
    const kept = stream();
    const { journal } = await (await member(kept)).open();
    await journal.append(start, durable);
    let late: Promise<number> | null = null;
    kept.beforeFence = () => (late ??= journal.append(stop, durable));
    const other = await member(kept);
    await other.open();
    expect(await other.records()).toEqual(["carried", "start", "stop"]);
  });

  it("takes none of the entries that are under way at an old owner once another one has taken the place of the first", async () => {
    const kept = stream();
    const { journal } = await (await member(kept)).open();
    await journal.append(start, durable);
    await (await member(kept)).store.admit();
    const before = kept.entries.length;
    const appends = [stop, start, stop].map(async (record) => {
      await Promise.resolve();
      return journal.append(record, durable);
    });
    for (const append of await Promise.allSettled(appends)) expect(append.status).toBe("rejected");
    expect(kept.entries.length).toBe(before);
  });

  it.each(["lost", "refused"] as const)(
    "goes on behind an append that is %s: what it has is what the stream has",
    async (how) => {
      const kept = stream();
      const one = await member(kept);
      const { journal } = await one.open();
      await journal.append(start, durable);
      kept.fail = () => how;
      await expect(journal.append(stop, durable)).rejects.toThrow("NATS servers");
      expect(journal.state().available).toBe(false);
      kept.fail = () => null;
      await one.clock.advance(4_000);
      await expect.poll(() => journal.state().available).toBe(true);
      expect((await one.records()).includes("stop")).toBe(how === "lost");
      const other = await member(kept);
      await other.open();
      expect(await other.records()).toEqual(await one.records());
      expect(one.state.lost).toBe(0);
    },
  );

  const segment = "journal-000000000001.jsonl";

  it("is read from where it was known after an outage, and whole where a file was not only appended to", async () => {
    const kept = stream();
    const one = await member(kept);
    await one.store.admit();
    const path = join(journalDirectory(one.folder), segment);
    const written = () => readFile(path, "utf8");
    let file = await one.store.files.open(path, "a");
    const outage = async (change: () => Promise<unknown>) => {
      kept.fail = ({ subject }) => (subject === "fence" ? null : "refused");
      await change().catch(() => undefined);
      await file.sync().catch(() => undefined);
      kept.fail = () => null;
      kept.readFrom.length = 0;
      await one.store.admit();
      file = await one.store.files.open(path, "a");
    };
    await file.write(Buffer.from("first "));
    await file.sync();
    const known = kept.entries.length;
    await outage(() => file.write(Buffer.from("refused ")));
    expect(kept.readFrom).not.toContain(1);
    expect(kept.readFrom).toContain(known + 1);
    expect(await written()).toBe("first ");
    kept.fail = ({ subject }) => (subject === "fence" ? null : "lost");
    await file.write(Buffer.from("second "));
    await outage(() => file.sync());
    expect(kept.readFrom).not.toContain(1);
    expect(await written()).toBe("first second ");
    await outage(() => file.truncate(2));
    expect(kept.readFrom).toContain(1);
    expect(await written()).toBe("first second ");
    const other = await member(kept);
    await other.store.admit();
    expect(await readFile(join(journalDirectory(other.folder), segment), "utf8")).toBe("first second ");
  });

  it("that was imported but in part is nobody's, and is imported again from the beginning", async () => {
    const kept = stream();
    const first = await member(kept, undefined, true);
    await first.store.admit();
    await first.store.keepImport("begun");
    const file = await first.store.files.open(join(journalDirectory(first.folder), segment), "a");
    await file.write(Buffer.from("the oldest part"));
    await file.sync();
    const other = await member(kept);
    await expect(other.store.admit()).rejects.toThrow("but a part of a journal");
    expect(other.state.lost).toBe(1);
    const again = await member(kept, undefined, true);
    await again.store.admit();
    expect(again.store.imported).toBe("begun");
    await again.store.files.remove(join(journalDirectory(again.folder), segment));
    await again.store.keepImport("whole");
    await other.store.admit();
    expect(await readdir(journalDirectory(other.folder))).toEqual([]);
  });

  it("drops of a file what there was when it was removed, and nothing that came later", async () => {
    const kept = stream();
    const one = await member(kept);
    await one.store.admit();
    const path = join(journalDirectory(one.folder), segment);
    await (await one.store.files.open(path, "a")).sync();
    const purged: number[] = [];
    Object.assign(kept.port, {
      purge: (_: string, before: number) => {
        purged.push(before);
        return Promise.resolve();
      },
    });
    await one.store.files.remove(path);
    expect(purged).toEqual([kept.entries.length + 1]);
  });

  it("is cut off and replaced with its files; a replacement that was not finished replaces nothing", async () => {
    const kept = stream();
    const one = await member(kept);
    await one.store.admit();
    const path = join(journalDirectory(one.folder), "journal-000000000001.jsonl");
    const file = await one.store.files.open(path, "a");
    await file.write(Buffer.from("first second"));
    await file.truncate(5);
    await file.sync();
    const shown = async () => {
      const other = await member(kept);
      await other.store.admit();
      return readFile(join(journalDirectory(other.folder), "journal-000000000001.jsonl"), "utf8");
    };
    expect(await shown()).toBe("first");
    const again = await member(kept, one.folder);
    await again.store.admit();
    const large = "x".repeat(600 * 1024);
    kept.fail = ({ operation }) => (operation === "part 2/2" ? "refused" : null);
    await expect(replaceFile(path, large, { files: again.store.files })).rejects.toThrow("acknowledge");
    kept.fail = () => null;
    expect(await shown()).toBe("first");
    const third = await member(kept, one.folder);
    await third.store.admit();
    await replaceFile(path, large, { files: third.store.files });
    expect(await shown()).toBe(large);
    expect(kept.entries.filter((entry) => entry?.subject.startsWith("file.")).length).toBe(2);
    await third.store.files.remove(path);
    await expect(shown()).rejects.toThrow("ENOENT");
  });

  it("brings small files with it, and takes away what the stream does not have", async () => {
    const kept = stream();
    const one = await member(kept);
    await one.store.admit();
    await one.store.keepNote("token.json", Buffer.from("old"));
    await one.store.keepNote("token.json", Buffer.from("new"));
    const other = await member(kept);
    await other.store.admit();
    expect(await textFile(other.folder, "token.json").read()).toBe("new");
    const empty = await member(stream(), other.folder);
    await empty.store.admit();
    expect(await textFile(other.folder, "token.json").read()).toBeNull();
  });

  it("keeps small files one after the other: what counts as kept is what stands there", async () => {
    const kept = stream();
    const one = await member(kept);
    await one.store.admit();
    const goOn = holdPurge(kept);
    const both = [one.store.keepNote("token.json", Buffer.from("old"))];
    both.push(one.store.keepNote("token.json", Buffer.from("new")));
    await new Promise(setImmediate);
    goOn();
    await Promise.all(both);
    await one.store.keepNote("token.json", Buffer.from("old"));
    const notes = kept.entries.flatMap((entry) => (entry?.subject.startsWith("note.") ? [entry.data] : []));
    expect(notes.map(String)).toEqual(["old"]);
  });

  it("keeps a small file as it is when its turn comes, and not as it was before", async () => {
    const kept = stream();
    const one = await member(kept);
    await one.store.admit();
    const file = textFile(one.folder, "token.json");
    await file.write("old");
    const goOn = holdPurge(kept);
    const both = [one.store.keepNoteFile("token.json"), one.store.keepNoteFile("token.json")];
    await file.write("new");
    goOn();
    await Promise.all(both);
    expect(String(kept.entries.findLast((entry) => entry?.subject === "note.token.json")?.data)).toBe("new");
  });

  it("keeps the small files that changed while the stream did not acknowledge", async () => {
    const kept = stream();
    const one = await member(kept);
    await one.store.admit();
    await one.store.keepNote("token.json", Buffer.from("old"));
    await textFile(one.folder, "token.json").write("new");
    kept.fail = () => "refused";
    await expect(one.store.keepNote("token.json", Buffer.from("new"))).rejects.toThrow("acknowledge");
    kept.fail = () => null;
    await one.store.admit();
    expect(await textFile(one.folder, "token.json").read()).toBe("new");
  });

  it("keeps its own files and says so where the servers have lost what they acknowledged", async () => {
    const kept = stream();
    const one = await member(kept);
    const { journal } = await one.open();
    await journal.append(start, durable);
    await journal.append(stop, durable);
    const before = await one.records();
    const lost = kept.entries.splice(-2);
    await expect(journal.append(start, durable)).rejects.toThrow();
    await expect(one.store.admit()).rejects.toThrow("lost what they acknowledged");
    expect(one.store.problem).toContain("still has those records in its data directory");
    expect((await one.records()).slice(0, before.length)).toEqual(before);
    expect(one.state.lost).toBe(0);
    kept.entries.push(...lost);
    await one.store.admit();
    expect(one.store.problem).toBeNull();
  });

  it("is not taken for a journal of its own, nor one of its own for a copy", async () => {
    const copy = await tempFolder();
    await markOrigin(copy, "greenhouses/north");
    await checkOrigin(copy, "greenhouses/north");
    await expect(openJournal({ dataDir: copy, clock: new VirtualClock(), log: silentLog })).rejects.toThrow(
      "is a copy of that of the cluster (greenhouses/north)",
    );
    await expect(checkOrigin(await tempFolder(), "greenhouses/north")).resolves.toBeUndefined();
    const own = await tempFolder();
    const opened = await openJournal({ dataDir: own, clock: new VirtualClock(), log: silentLog });
    await opened.journal.append(start, durable);
    await opened.close();
    await expect(checkOrigin(own, "greenhouses/north")).rejects.toThrow("run `journal import`");
  });
});
