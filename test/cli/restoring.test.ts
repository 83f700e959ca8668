import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
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

it("one whose process does not end is given up, and keeps back no other one", async () => {
  const { piece, clock, restoring } = await restoringIn();
  const folder = await tempDirectory();
  const [program, started] = [join(folder, "hangs.mjs"), join(folder, "pid")];
  await writeFile(
    program,
    `import { writeFileSync } from "node:fs";
writeFileSync(${JSON.stringify(started)}, String(process.pid));
setInterval(() => undefined, 1_000);`,
  );
  const [, own = ""] = process.argv;
  onTestFinished(() => void (process.argv[1] = own));
  process.argv[1] = program;
  const end = { password: null, account: null, language: "en" } as const;
  const answer = restoring.take({ id: "one", at: 0, bytes: new Uint8Array(10), end });
  const pid = () => readFile(started, "utf8").then(Number);
  await expect.poll(() => pid().catch(() => 0), { timeout: 20_000 }).toBeGreaterThan(0);
  expect(await piece("two", 0)).toEqual({ isBusy: true });
  await clock.advance(16 * 60_000);
  expect(await answer).toEqual({ wrong: expect.stringContaining("takes too long") as string });
  const runs = await pid();
  await expect.poll(() => isThere(runs), { timeout: 20_000 }).toBe(false);
  expect(await piece("two", 0)).toEqual({ size: 10, isMissing: false });
});

function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

it("what a process left that ended meanwhile is removed, and nothing else", async () => {
  const { piece, dataDir, restoring, clock } = await restoringIn();
  await piece("one", 0);
  const ownFile = await readdir(dataDir);
  await writeFile(join(dataDir, "restore-by-hand.tmp"), "");
  await restoring.clear();
  expect(await readdir(dataDir)).toEqual([...ownFile, "restore-by-hand.tmp"].sort());
  const next = new Restoring({ file: "fleet.yaml", data_dir: dataDir }, () => Promise.resolve(), clock);
  await next.clear();
  expect(await readdir(dataDir)).toEqual(["restore-by-hand.tmp"]);
});
