import { readdir } from "node:fs/promises";
import { expect, it } from "vitest";
import { Restoring } from "../../src/cli/restoring.js";
import { tempDirectory } from "../journal/support/disk.js";
import { VirtualClock } from "../support/virtual-clock.js";

async function restoringIn() {
  const dataDir = await tempDirectory();
  const clock = new VirtualClock();
  const restoring = new Restoring({ dataDir, options: [], reload: () => Promise.resolve(), clock });
  const piece = (id: string, at: number, bytes = 10) =>
    restoring.take({ id, at, bytes: new Uint8Array(bytes), end: null });
  return { dataDir, clock, piece };
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
