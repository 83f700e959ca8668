import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { Restoring } from "../../src/cli/restoring.js";
import { tempDirectory } from "../journal/support/disk.js";
import { VirtualClock } from "../support/virtual-clock.js";

async function restoringIn() {
  const dataDir = await tempDirectory();
  const clock = new VirtualClock();
  const restoring = new Restoring({ file: "fleet.yaml", data_dir: dataDir }, () => Promise.resolve(), clock);
  const piece = (id: string, at: number, bytes = 10) =>
    restoring.take({ id, at, bytes: new Uint8Array(bytes), end: null });
  return { dataDir, clock, piece, restoring };
}

it("a backup grows piece by piece, and what does not follow is not taken", async () => {
  const { piece, dataDir } = await restoringIn();
  expect(await piece("one", 10)).toEqual({ size: 0, isMissing: true });
  expect(await piece("one", 0)).toEqual({ size: 10, isMissing: false });
  expect(await piece("one", 10)).toEqual({ size: 20, isMissing: false });
  // Sent twice by the network.
  expect(await piece("one", 10)).toEqual({ size: 20, isMissing: true });
  expect(await readdir(dataDir)).toHaveLength(1);
});

it("only one comes at a time, until its sender has been silent for a minute", async () => {
  const { piece, clock, dataDir } = await restoringIn();
  await piece("one", 0);
  expect(await piece("two", 0)).toEqual({ isBusy: true });
  await clock.advance(61_000);
  expect(await piece("two", 0)).toEqual({ size: 10, isMissing: false });
  expect(await piece("one", 10)).toEqual({ isBusy: true });
  expect(await readdir(dataDir)).toHaveLength(1);
});

it("one that begins again takes the place of what it had sent", async () => {
  const { piece, dataDir } = await restoringIn();
  await piece("one", 0, 100);
  expect(await piece("one", 0)).toEqual({ size: 10, isMissing: false });
  expect(await readdir(dataDir)).toHaveLength(1);
});

it("of two that begin at once, only one is taken", async () => {
  const { piece, clock, dataDir } = await restoringIn();
  await piece("one", 0);
  await clock.advance(61_000);
  const [two, three] = await Promise.all([piece("two", 0), piece("three", 0)]);
  expect([two, three]).toEqual([{ size: 10, isMissing: false }, { isBusy: true }]);
  expect(await readdir(dataDir)).toHaveLength(1);
});

it("what a process left that ended meanwhile is removed, and nothing else", async () => {
  const { piece, dataDir, restoring } = await restoringIn();
  await piece("one", 0);
  await writeFile(join(dataDir, "restore-by-hand.tmp"), "");
  await restoring.clear();
  expect(await readdir(dataDir)).toEqual(["restore-by-hand.tmp"]);
});
