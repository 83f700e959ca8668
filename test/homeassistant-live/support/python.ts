import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import type { Installation } from "./process.js";

/** Lines that a program beside this file prints in Home Assistant's own Python, given one JSON text a line; none runs for it. */
export async function judged(
  { python }: Installation,
  program: "schema.py" | "templates.py",
  input: readonly unknown[],
): Promise<readonly string[]> {
  const script = readFileSync(new URL(program, import.meta.url), "utf8");
  const output = await new Promise<string>((resolve, reject) => {
    const options = { maxBuffer: 1e8 };
    const child = execFile(python, ["-c", script, tmpdir()], options, (error, stdout, stderr) => {
      if (error) reject(new Error(stderr));
      else resolve(stdout);
    });
    child.stdin?.end(input.map((one) => `${JSON.stringify(one)}\n`).join(""));
  });
  return output.trim().split("\n");
}
