import { chmod, readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { readJsonFile, writeFileDurably } from "../../src/journal/durable-file.js";
import { faultyDisk } from "./support/faulty-disk.js";
import { tempDirectory } from "./support/temp-directory.js";

describe("a file replaced durably", () => {
  it("is written aside, fsynced, renamed, and its directory fsynced, in this order (requirement 54)", async () => {
    const disk = faultyDisk();
    const directory = await tempDirectory();
    await writeFileDurably(join(directory, "token.json"), "{}", { files: disk.files });
    const temporary = /token\.json\.[0-9a-f]{12}\.tmp/;
    expect(disk.calls.map((call) => call.replace(temporary, "<temporary>"))).toEqual([
      "open <temporary>",
      "write <temporary>",
      "sync <temporary>",
      "close <temporary>",
      "rename token.json",
      `sync-directory ${directory.split("/").at(-1) ?? ""}`,
    ]);
  });

  it("has the mode asked for whatever the old one had", async () => {
    const path = join(await tempDirectory(), "token.json");
    await writeFile(path, "old");
    await chmod(path, 0o644);
    await writeFileDurably(path, "new");
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    await writeFileDurably(path, "new", { mode: 0o644 });
    expect((await stat(path)).mode & 0o777).toBe(0o644);
  });

  it("keeps its old content when the disk fills up at any byte, and leaves nothing behind", async () => {
    const directory = await tempDirectory();
    const path = join(directory, "cache.json");
    await writeFileDurably(path, "the old content");
    for (let free = 0; free < 20; free += 1) {
      const disk = faultyDisk();
      disk.freeBytes = free;
      await expect(
        writeFileDurably(path, "the whole new content", { files: disk.files }),
      ).rejects.toMatchObject({
        code: "ENOSPC",
      });
      expect(await readFile(path, "utf8")).toBe("the old content");
    }
    expect(await readdir(directory)).toEqual(["cache.json"]);
  });

  it("is whole when two writes meet", async () => {
    const directory = await tempDirectory();
    const path = join(directory, "cache.json");
    const contents = Array.from({ length: 20 }, (_, n) => String(n).repeat(5_000));
    await Promise.all(contents.map((content) => writeFileDurably(path, content)));
    expect(contents).toContain(await readFile(path, "utf8"));
    expect(await readdir(directory)).toEqual(["cache.json"]);
  });

  it("takes the leftovers of interrupted writes away, its own only", async () => {
    const directory = await tempDirectory();
    const old = ["cache.json.0123456789ab.tmp", "other.json.0123456789ab.tmp", "cache.json.bak"];
    for (const name of old) {
      await writeFile(join(directory, name), "torn");
      await utimes(join(directory, name), 1_000, 1_000);
    }
    await writeFileDurably(join(directory, "cache.json"), "{}");
    expect((await readdir(directory)).sort()).toEqual([
      "cache.json",
      "cache.json.bak",
      "other.json.0123456789ab.tmp",
    ]);
  });
});

describe("a cache read at the start", () => {
  it("gives what was written", async () => {
    const path = join(await tempDirectory(), "cache.json");
    await writeFileDurably(path, JSON.stringify({ a: [1, "°C"] }));
    expect(await readJsonFile(path)).toEqual({ state: "read", value: { a: [1, "°C"] } });
  });

  it("may be missing", async () => {
    expect(await readJsonFile(join(await tempDirectory(), "none.json"))).toEqual({ state: "missing" });
  });

  it("cut at any byte stops nothing and is kept as .corrupt-<n> (requirement 53)", async () => {
    const directory = await tempDirectory();
    const path = join(directory, "cache.json");
    const whole = Buffer.from('{"ids":{"GH-0001":"east"}}');
    for (let cut = 0; cut < whole.length; cut += 1) {
      await writeFile(path, whole.subarray(0, cut));
      const keptAs = `${path}.corrupt-${Math.min(cut + 1, 9)}`;
      expect(await readJsonFile(path)).toEqual({ state: "corrupt", keptAs });
      expect(await readFile(keptAs)).toEqual(whole.subarray(0, cut));
    }
    expect(await readdir(directory)).toHaveLength(9);
  });

  it("that cannot be read says so", async () => {
    expect(await readJsonFile(await tempDirectory())).toEqual({ state: "unusable", code: "EISDIR" });
  });
});
