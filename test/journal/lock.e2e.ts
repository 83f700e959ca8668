import { spawn } from "node:child_process";
import { once } from "node:events";
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { DirectoryLock } from "../../src/journal/lock.js";
import { programFile } from "../end-to-end/support/program.js";
import { capturedLog } from "./support/captured-log.js";
import { tempDirectory } from "./support/temp-directory.js";

const since = "2026-05-01T06:00:00.000Z";
let boots = 0;

async function acquire(directory: string, log = capturedLog().log) {
  boots += 1;
  const lock = await DirectoryLock.acquire(directory, {
    boot: `b${boots}`,
    at: since,
    pid: process.pid,
    log,
  });
  onTestFinished(() => lock.release());
  return lock;
}

describe("two processes on one data directory", () => {
  const program = `
import { DirectoryLock } from "${pathToFileURL(dirname(programFile)).href}/journal/lock.js";
const quiet = () => {};
const log = { trace: quiet, debug: quiet, info: quiet, warn: quiet, error: quiet, fatal: quiet };
const [, directory, boot] = process.argv;
await DirectoryLock.acquire(directory, { boot, at: "now", pid: process.pid, log });
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
});
