import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { programFile } from "../end-to-end/support/program.js";

describe("a start with very few file descriptors", () =>
  it("says so in one line and asks for no package", async () => {
    const command = 'ulimit -n 30; exec "$0" "$1" run -c /nonexistent.yaml';
    const child = spawn("sh", ["-c", command, process.execPath, programFile], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (said += chunk));
    const [code] = (await once(child, "close")) as [number];
    expect(said).toMatch(/^this process may open only 30 files at a time[^\n]*\n$/);
    expect(code).toBe(1);
  }));
