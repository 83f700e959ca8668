import { PassThrough } from "node:stream";
import { describe, expect, it } from "vitest";
import { Speech } from "../../src/terminal/speech.js";
import { verifyPassword } from "../../src/runtime/passwords.js";
import { passwd } from "../../src/setup/init/command.js";

const password = "canary-Password-5531";

/** What somebody sees who types the lines, one after each question, at a terminal whose output may go to a file. */
async function asked(lines: readonly string[], isTTY: boolean) {
  const input = Object.assign(new PassThrough(), { isTTY, setRawMode: () => undefined });
  let [out, err] = ["", ""];
  let questions = 0;
  const write = (text: string) => {
    err += text;
    const isAsked = ["Password for the embedded broker", "The same again"][questions];
    if (isAsked === undefined || !text.includes(isAsked)) return;
    const line = lines[questions];
    questions += 1;
    if (line !== undefined) setImmediate(() => input.write(line));
  };
  if (!isTTY) input.end(lines.join(""));
  const stop = new AbortController().signal;
  const print = (text: string) => {
    out += text;
  };
  const context = { env: {}, out: print, err: { write }, isTerminal: false, stop, speech: new Speech() };
  const failure = await passwd(context, input).then(
    () => null,
    (error: unknown) => error as Error,
  );
  return { out, err, failure };
}

describe("passwd at a terminal", () => {
  it("shows nothing of it, and makes the hash, also where stdout is a file", async () => {
    const { out, err, failure } = await asked([`${password}\r`, `${password}\r`], true);
    expect(failure).toBeNull();
    expect(err).toMatch(/Password for the embedded broker[^]*The same again/);
    expect(err).not.toContain(password.slice(0, 4));
    expect(await verifyPassword(password, out.trim())).toBe(true);
  });

  it("makes no hash of two passwords that differ", async () => {
    const { out, failure } = await asked([`${password}\r`, "another\r"], true);
    expect(out).toBe("");
    expect(failure).toMatchObject({ exitCode: 2, message: expect.stringMatching(/two different/) as string });
  });

  it("ends at Ctrl-C", async () => {
    const { out, failure } = await asked(["half\u0003"], true);
    expect(out).toBe("");
    expect(failure?.message).toMatch(/stopped; no hash was made/);
  });
});

describe("passwd in a pipe", () => {
  it("takes the first line and asks nothing", async () => {
    const { out, err } = await asked([`${password}\n`, "more\n"], false);
    expect(err).toBe("");
    expect(await verifyPassword(password, out.trim())).toBe(true);
  });

  it("of nothing says that no password was given", async () => {
    expect((await asked([], false)).failure).toMatchObject({ exitCode: 2 });
  });
});
