import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { onTestFinished } from "vitest";

/** Gone when the test is over. */
export async function tempDirectory(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "journal-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}
