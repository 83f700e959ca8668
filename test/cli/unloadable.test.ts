import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { openFilesLimit, unloadable } from "../../src/cli/unloadable.js";
import { compiledProgram } from "../compose/support/program.js";

const failure = (code: string, message = "the text") => Object.assign(new Error(message), { code });

describe("an error of a program that cannot be loaded", () => {
  it.each([
    ["EMFILE", 84, /^this process may open only 84 files at a time.*ulimit -n 1024.*LimitNOFILE/],
    ["ERR_MODULE_NOT_FOUND", 84, /^this process may open only 84 files at a time/],
    ["ERR_MODULE_NOT_FOUND", 1_024, /^a part of the program is missing: the text;.*npm ci/],
    ["ERR_MODULE_NOT_FOUND", null, /^a part of the program is missing/],
    ["EMFILE", 1_024, /^too many files are open.*the text/],
    ["ENFILE", 84, /^too many files are open.*the text/],
  ])("%s with a limit of %s files names the cause and the remedy", (code, limit, said) => {
    expect(unloadable(failure(code), () => limit)).toMatch(said);
  });

  it("is not any other error", () => {
    expect(unloadable(failure("ENOENT"), () => 84)).toBeNull();
    expect(unloadable("EMFILE", () => 84)).toBeNull();
  });

  it("is told by the limit of this process", () => {
    expect(openFilesLimit()).toBeGreaterThan(0);
  });
});

describe("a start with very few file descriptors", () => {
  const program = compiledProgram();

  it("says so in one line and asks for no package", async () => {
    const command = 'ulimit -n 30; exec "$0" "$1" run -c /nonexistent.yaml';
    const child = spawn("sh", ["-c", command, process.execPath, program()], {
      stdio: ["ignore", "ignore", "pipe"],
    });
    let said = "";
    child.stderr.setEncoding("utf8").on("data", (chunk: string) => (said += chunk));
    const [code] = (await once(child, "close")) as [number];
    expect(said).toMatch(/^this process may open only 30 files at a time[^\n]*\n$/);
    expect(code).toBe(1);
  });
});
