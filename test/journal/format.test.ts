import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openJournal } from "../../src/journal/open.js";
import { silentLog } from "../support/builders.js";
import { VirtualClock } from "../support/virtual-clock.js";
import { tempDirectory } from "./support/disk.js";

const open = (dataDir: string) => openJournal({ dataDir, clock: new VirtualClock(), log: silentLog });

describe("the format of a data directory", () => {
  it("is told in it from the first start on", async () => {
    const directory = await tempDirectory();
    await (await open(directory)).close();
    expect(await readFile(join(directory, "format"), "utf8")).toBe("3\n");
  });

  it.each(["4\n", "70\n"])(
    "that is newer than the program keeps it from starting, and stays: %j",
    async (text) => {
      const directory = await tempDirectory();
      await writeFile(join(directory, "format"), text);
      await expect(open(directory)).rejects.toThrow(
        `The data directory ${directory} was written by a newer version of the program (format ${text.trim()}; this one knows up to 3).`,
      );
      expect(await readFile(join(directory, "format"), "utf8")).toBe(text);
      await writeFile(join(directory, "format"), "3\n");
      await (await open(directory)).close();
    },
  );

  it("that is older than the first release keeps it from starting, and nothing is changed", async () => {
    const directory = await tempDirectory();
    await writeFile(join(directory, "format"), "2\n");
    await expect(open(directory)).rejects.toThrow(
      `The data directory ${directory} was written by a version before the first release (format 2; this one knows 3). Nothing in it was changed.`,
    );
    expect(await readdir(directory)).toEqual(["format"]);
    expect(await readFile(join(directory, "format"), "utf8")).toBe("2\n");
  });

  it.each(["", "1", "one\n", "\0\0"])("that cannot be read keeps nobody from starting: %j", async (text) => {
    const directory = await tempDirectory();
    await writeFile(join(directory, "format"), text);
    await (await open(directory)).close();
    expect(await readFile(join(directory, "format"), "utf8")).toBe("3\n");
  });
});
