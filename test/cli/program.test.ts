import { createServer } from "node:net";
import { describe, expect, it } from "vitest";
import { runProgram } from "../../src/cli/program.js";

async function run(...words: string[]) {
  let errors = "";
  const write = (text: string) => {
    errors += text;
    return true;
  };
  const stop = AbortSignal.abort();
  const around = { env: {}, out: () => true, err: { write }, isTerminal: false, stop };
  const exitCode = await runProgram(["node", "greenhouse2mqtt", ...words], around);
  return { exitCode, errors };
}

describe("a command that does not exist", () => {
  it.each([
    ["jurnal", 'did you mean "journal"?'],
    ["doktor", 'did you mean "doctor"?'],
    ["frobnicate", "--help lists the commands"],
  ])("%s is named, with the nearest one or where they are listed", async (word, hint) => {
    const { exitCode, errors } = await run(word);
    expect(exitCode).toBe(2);
    expect(errors).toContain(`"${word}"`);
    expect(errors).toContain(hint);
  });
});

describe("simulate", () => {
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
  });
});
