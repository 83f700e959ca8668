import { chmod, readdir, readFile, stat, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createFile, replaceFile, withDeadline } from "../../src/runtime/file-system.js";
import { faultyDisk, tempDirectory } from "../journal/support/disk.js";
import { VirtualClock } from "../support/virtual-clock.js";

describe("a file replaced durably", () => {
  it("is written aside, fsynced, renamed, and its directory fsynced, in this order", async () => {
    const disk = faultyDisk();
    const directory = await tempDirectory();
    await replaceFile(join(directory, "token.json"), "{}", { files: disk.files });
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

  it("is for its owner's eyes only, whatever the old one was", async () => {
    const path = join(await tempDirectory(), "token.json");
    await writeFile(path, "old");
    await chmod(path, 0o644);
    await replaceFile(path, "new");
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it("keeps its old content when the disk fills up at any byte, and leaves nothing behind", async () => {
    const directory = await tempDirectory();
    const path = join(directory, "cache.json");
    await replaceFile(path, "the old content");
    for (let free = 0; free < 20; free += 1) {
      const disk = faultyDisk();
      disk.freeBytes = free;
      await expect(replaceFile(path, "the whole new content", { files: disk.files })).rejects.toMatchObject({
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
    await Promise.all(contents.map((content) => replaceFile(path, content)));
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
    await replaceFile(join(directory, "cache.json"), "{}");
    expect((await readdir(directory)).sort()).toEqual([
      "cache.json",
      "cache.json.bak",
      "other.json.0123456789ab.tmp",
    ]);
  });
});

describe("a file made new", () => {
  it("is made once when ten make it at once, and nothing is left beside it", async () => {
    const directory = await tempDirectory();
    const path = join(directory, "lock");
    const made = await Promise.all(
      Array.from({ length: 10 }, (_, n) => createFile(path, String(n).repeat(5_000), 0o640)),
    );
    expect(made.filter(Boolean)).toHaveLength(1);
    expect(await readFile(path, "utf8")).toBe(String(made.indexOf(true)).repeat(5_000));
    expect((await stat(path)).mode & 0o777).toBe(0o640);
    expect(await readdir(directory)).toEqual(["lock"]);
  });

  it("that cannot be made is named in the error by its own name", async () => {
    const path = join(await tempDirectory(), "none", "config.yaml");
    await expect(createFile(path, "a: 1")).rejects.toThrow(
      `ENOENT: no such file or directory, open '${path}'`,
    );
  });
});

describe("a small file of a disk that does not answer", () => {
  function silentFile() {
    const clock = new VirtualClock();
    const asked: { readonly what: string; readonly answer: () => void }[] = [];
    const ask = <T>(what: string, value: T) =>
      new Promise<T>((resolve) => asked.push({ what, answer: () => resolve(value) }));
    const file = { read: () => ask("read", "text"), write: (text: string) => ask(text, undefined) };
    const ends: string[] = [];
    const noted = (asking: Promise<unknown>) =>
      void asking.then(String, (error: unknown) => (error as Error).name).then((end) => ends.push(end));
    return { clock, asked, ends, noted, file: withDeadline(file, clock) };
  }

  it("is waited for for three seconds, and asked nothing more before it has answered", async () => {
    const { clock, asked, ends, noted, file } = silentFile();
    noted(file.write("1"));
    await clock.advance(3_199);
    expect(ends).toEqual([]);
    await clock.advance(1);
    expect(ends).toEqual(["TooLate"]);
    noted(file.read());
    noted(file.write("2"));
    await clock.advance(0);
    expect([ends, asked.length]).toEqual([["TooLate", "TooLate", "TooLate"], 1]);
  });

  it("gets the newest text once it answers, and is as it was then", async () => {
    const { clock, asked, ends, noted, file } = silentFile();
    noted(file.read());
    await clock.advance(3_200);
    for (const text of ["1", "2"]) noted(file.write(text));
    asked[0]?.answer();
    await clock.advance(0);
    expect(asked.map(({ what }) => what)).toEqual(["read", "2"]);
    asked[1]?.answer();
    await clock.advance(0);
    noted(file.read());
    asked[2]?.answer();
    await clock.advance(0);
    expect(ends).toEqual(["TooLate", "TooLate", "TooLate", "text"]);
    expect(clock.pendingTimers).toBe(0);
  });
});
