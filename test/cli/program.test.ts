import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { runProgram } from "../../src/cli/program.js";

async function run(...words: string[]) {
  let output = "";
  let errors = "";
  const write = (text: string) => {
    errors += text;
    return true;
  };
  const stop = AbortSignal.abort();
  const out = (text: string) => {
    output += text;
  };
  const around = { env: {}, out, err: { write }, isTerminal: false, stop };
  const exitCode = await runProgram(["node", "greenhouse2mqtt", ...words], around);
  return { exitCode, errors, output };
}

describe("a command that does not exist", () =>
  it.each([
    ["jurnal", 'did you mean "journal"?'],
    ["doktor", 'did you mean "doctor"?'],
    ["frobnicate", "--help lists the commands"],
  ])("%s is named, with the nearest one or where they are listed", async (word, hint) => {
    const { exitCode, errors } = await run(word);
    expect(exitCode).toBe(2);
    expect(errors).toContain(`"${word}"`);
    expect(errors).toContain(hint);
  }));

describe("options of every command", () => {
  it.each([
    ["behind the command", ["check", "-c", "none.yaml"]],
    ["before it", ["-c", "none.yaml", "check"]],
    ["before it, in one word", ["-cnone.yaml", "check"]],
    ["before it, with an equals sign", ["--config=none.yaml", "check"]],
    ["before and behind", ["--log-level", "debug", "check", "-c", "none.yaml"]],
    ["several before it", ["--data-dir", "dd", "--log-level=warn", "--config", "none.yaml", "check"]],
    ["twice, where the one behind counts", ["-c", "other.yaml", "check", "-c", "none.yaml"]],
  ])("may stand %s", async (_, words) => {
    const { exitCode, output } = await run(...words);
    expect(output).toContain("none.yaml");
    expect(output).not.toContain("other.yaml");
    expect(exitCode).toBe(2);
  });

  it("may be named like a command in their values", async () => {
    const { exitCode, output } = await run("-c", "journal", "check");
    expect(output).toContain("journal: ");
    expect(exitCode).toBe(2);
  });

  it("before a misspelt command still name the nearest", async () => {
    const { exitCode, errors } = await run("--log-level", "debug", "-c", "a.yaml", "chekc");
    expect(exitCode).toBe(2);
    expect(errors).toContain('did you mean "check"?');
  });

  it("before the command are judged like those behind it", async () => {
    const { exitCode, errors } = await run("--log-level", "loud", "check");
    expect(exitCode).toBe(2);
    expect(errors).toContain("expected one of trace");
  });

  it("change nothing about asking for help", async () => {
    const { exitCode, output } = await run("-c", "a.yaml", "help", "check");
    expect(exitCode).toBe(0);
    expect(output).toContain("Usage: greenhouse2mqtt check");
  });
});

describe("passwd", () =>
  it("ends at a signal, without a hash", async () => {
    expect(await run("passwd")).toEqual({ exitCode: 1, errors: "stopped; no hash was made\n", output: "" });
  }));

describe("cleanup", () =>
  it("promises for --all what it does", async () => {
    const { output } = await run("cleanup", "--help");
    expect(output).toMatch(/refuses\s+while\s+a\s+bridge\s+runs/);
    expect(output).toMatch(/--all +also the bridge's own topics/);
    expect(output).not.toContain("without asking");
  }));

describe("simulate", () =>
  it("names a port that is taken, and the way out", async () => {
    const taken = createServer();
    await new Promise<void>((resolve) => {
      taken.listen(0, "127.0.0.1", resolve);
    });
    const address = taken.address();
    const port = typeof address === "object" && address !== null ? String(address.port) : "";
    const { exitCode, errors } = await run("simulate", "--port", port);
    taken.close();
    expect(exitCode).toBe(1);
    expect(errors).toContain(`port ${port} cannot be opened`);
    expect(errors).toContain("--port");
  }));

describe("journal", () =>
  it("of a data directory that is a file is one sentence with place and remedy", async () => {
    const folder = await mkdtemp(join(tmpdir(), "program-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const [file, config] = [join(folder, "afile"), join(folder, "config.yaml")];
    await writeFile(file, "");
    await writeFile(
      config,
      "platform: { business_url: https://b.example, realtime_url: https://r.example, token_file: t }\n",
    );
    const { exitCode, errors } = await run("journal", "-c", config, "--data-dir", file);
    expect(exitCode).toBe(1);
    expect(errors.trimEnd()).toBe(
      `The journal in ${join(file, "journal")} cannot be read: a part of the path is a file, not a directory; name the data directory of the bridge.`,
    );
  }));
