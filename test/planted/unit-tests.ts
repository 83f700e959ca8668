import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import type { Planted } from "./plant.mjs";

const root = resolve(import.meta.dirname, "../..");

interface Report {
  readonly numFailedTests: number;
}

/** Runs files of unit tests on the sources with one bug planted, or with none: the exit code, and how many tests were red. */
export async function unitTests(
  files: readonly string[],
  bug: Planted | null,
): Promise<{ readonly code: unknown; readonly failed: number }> {
  const folder = await mkdtemp(join(tmpdir(), "greenhouse2mqtt-planted-"));
  const report = join(folder, "report.json");
  const options = ["--config", "test/planted/vitest.config.ts", "--reporter", "json", "--outputFile", report];
  try {
    const child = spawn(
      process.execPath,
      [join(root, "node_modules/vitest/vitest.mjs"), "run", ...options, ...files],
      {
        cwd: root,
        env: { PATH: process.env["PATH"] ?? "", PLANTED: JSON.stringify(bug) },
        stdio: ["ignore", "ignore", "inherit"],
      },
    );
    const [code] = (await once(child, "close")) as unknown[];
    const { numFailedTests: failed } = JSON.parse(await readFile(report, "utf8")) as Report;
    return { code, failed };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
