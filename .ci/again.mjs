// usage: node .ci/again.mjs [vitest's arguments]
// Runs tests. Files that fail beside the others, at most two, are run once more by themselves and named: what is broken
// fails there too, and what only lost a race on a busy machine is seen in the output and does not end the run.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const chosen = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), "tests-"));
const report = join(folder, "report.json");
const vitest = (...more) =>
  spawnSync("npx", ["vitest", "run", ...chosen, ...more], { stdio: "inherit" }).status ?? 1;

function failedFiles() {
  try {
    const { testResults } = JSON.parse(readFileSync(report, "utf8"));
    return testResults.filter(({ status }) => status === "failed").map(({ name }) => name);
  } catch {
    return [];
  }
}

let code = vitest("--reporter=default", "--reporter=json", `--outputFile.json=${report}`);
const failed = code === 0 ? [] : failedFiles();
rmSync(folder, { recursive: true });
if (failed.length > 0 && failed.length <= 2) {
  console.log(`\nRED BESIDE OTHERS, once more by themselves:\n  ${failed.join("\n  ")}\n`);
  code = vitest(...failed);
}
process.exit(code);
