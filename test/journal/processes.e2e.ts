import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { holderText, identityOf } from "../../src/journal/lock.js";
import { modulesFolder } from "../end-to-end/support/program.js";
import { acquire, openJournal, recordsIn, tempDirectory } from "./support/disk.js";

const since = "2026-05-01T06:00:00.000Z";

describe("two processes on one data directory", () => {
  const program = `
import { DirectoryLock } from "${pathToFileURL(modulesFolder).href}/journal/lock.js";
const quiet = () => {};
const log = { trace: quiet, debug: quiet, info: quiet, warn: quiet, error: quiet, fatal: quiet };
const [, directory, boot] = process.argv;
await new DirectoryLock(directory, { boot, at: "now", pid: process.pid, log }).take();
process.stdout.write("locked");
process.stdin.resume();
`;

  it("refuse each other until the first is killed", async () => {
    const directory = await tempDirectory();
    const child = spawn(process.execPath, ["--input-type=module", "--eval", program, directory, "child"], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    const exited = once(child, "exit");
    await once(child.stdout, "data");
    await expect(acquire(directory)).rejects.toMatchObject({ pid: child.pid });
    child.kill("SIGKILL");
    await exited;
    await acquire(directory);
  });

  it("of which the first was killed and is not waited for, as in some containers, do not refuse each other", async () => {
    const directory = await tempDirectory();
    // The shell becomes a program that never asks for the ends of its children.
    const careless = spawn("sh", ["-c", 'sleep 600 & echo "$!"; exec sleep 600'], { stdio: "pipe" });
    onTestFinished(() => {
      careless.kill("SIGKILL");
    });
    const [said] = (await once(careless.stdout, "data")) as [Buffer];
    const holder = { ...(await identityOf(Number(said))), boot: "gone", since, socket: null };
    await writeFile(join(directory, "bridge.lock"), holderText(holder));
    await expect(acquire(directory)).rejects.toMatchObject({ pid: holder.pid });
    process.kill(holder.pid, "SIGKILL");
    await vi.waitFor(async () =>
      expect(await readFile(`/proc/${holder.pid}/stat`, "utf8")).toContain(") Z "),
    );
    await acquire(directory);
  });
});

const built = pathToFileURL(modulesFolder).href;
const writer = `
import { Journal } from "${built}/journal/journal.js";
import { systemClock } from "${built}/runtime/clock.js";
const quiet = () => {};
const log = { trace: quiet, debug: quiet, info: quiet, warn: quiet, error: quiet, fatal: quiet };
const journal = await Journal.open(process.argv[1], { clock: systemClock, log, limits: { fileBytes: 20_000 } });
for (let n = 0; ; n += 1) {
  const record = (name) => ({ type: "event", event: name, severity: "info", message: "x".repeat(n % 300) });
  await Promise.all([
    journal.append(record("durable"), { durable: true }).then((seq) => process.stdout.write(seq + "\\n")),
    journal.append(record("soon"), { durable: false }),
  ]);
}
`;

/** Runs the writer until it has acknowledged `count` records, kills it with -9, and gives all it acknowledged. */
async function killAfter(directory: string, count: number): Promise<readonly number[]> {
  const child = spawn(process.execPath, ["--input-type=module", "--eval", writer, directory], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  const acknowledged: number[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    acknowledged.push(Number(line));
    if (acknowledged.length === count) child.kill("SIGKILL");
  }
  await exited;
  return acknowledged;
}

describe("kill -9 of a bridge that writes", () =>
  it("loses no acknowledged durable record, over many lives in one directory", async () => {
    const directory = await tempDirectory();
    const acknowledged: number[] = [];
    for (let life = 0; life < 12; life += 1)
      acknowledged.push(...(await killAfter(directory, 1 + life * 17)));
    const journal = await openJournal(directory);
    expect(journal.facts()).toMatchObject({ available: true, unreadable: 0 });
    const numbers = (await recordsIn(directory)).map(({ seq }) => seq);
    const present = new Set(numbers);
    expect(acknowledged.length).toBeGreaterThan(1_000);
    expect(acknowledged.filter((seq) => !present.has(seq))).toEqual([]);
    expect(numbers).toEqual([...present].sort((a, b) => a - b));
    expect(acknowledged).toEqual([...new Set(acknowledged)].sort((a, b) => a - b));
  }, 60_000));
