import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { platform, tokenEnv } from "../config/loading.js";
import { folder, greenhouse2mqtt } from "./in-process.js";

/** After a signal, so that nothing goes on until stopped. */
const run = (...words: string[]) => greenhouse2mqtt(words, { env: tokenEnv, stop: AbortSignal.abort() });

it.each([
  [["jurnal"], 'there is no command "jurnal"; did you mean "journal"?'],
  [["doktor"], 'there is no command "doktor"; did you mean "doctor"?'],
  [["frobnicate"], 'there is no command "frobnicate"; greenhouse2mqtt --help lists the commands'],
  [["--log-level", "debug", "-c", "a.yaml", "chekc"], 'did you mean "check"?'],
  [["--log-level", "loud", "check"], "expected one of trace"],
])("%j is wrong usage, with the nearest word or where they are listed", async (words, hint) => {
  const { code, err } = await run(...words);
  expect(code).toBe(2);
  expect(err).toContain(hint);
});

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
    const { code, out } = await run(...words);
    expect(out).toContain("none.yaml");
    expect(out).not.toContain("other.yaml");
    expect(code).toBe(2);
  });

  it("may be named like a command in their values", async () => {
    expect(await run("-c", "journal", "check")).toMatchObject({
      code: 2,
      out: expect.stringContaining("journal: ") as string,
    });
  });

  it("change nothing about asking for help", async () => {
    const { code, out } = await run("-c", "a.yaml", "help", "check");
    expect(code).toBe(0);
    expect(out).toContain("Usage: greenhouse2mqtt check");
  });
});

it("passwd ends at a signal, without a hash", async () => {
  expect(await run("passwd")).toEqual({ code: 1, err: "stopped; no hash was made\n", out: "" });
});

it("simulate names a port that is taken, and the way out", async () => {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const address = taken.address();
  const port = typeof address === "object" && address !== null ? String(address.port) : "";
  const { code, err } = await run("simulate", "--port", port);
  taken.close();
  expect(code).toBe(1);
  expect(err).toContain(`port ${port} cannot be opened`);
  expect(err).toContain("--port");
});

it("journal of a data directory that is a file is one sentence with place and remedy", async () => {
  const home = await folder({ afile: "", "config.yaml": platform });
  const file = join(home, "afile");
  const { code, err } = await run("journal", "-c", join(home, "config.yaml"), "--data-dir", file);
  expect(code).toBe(1);
  expect(err.trimEnd()).toBe(
    `The journal in ${join(file, "journal")} cannot be read: a part of the path is a file, not a directory; name the data directory of the bridge.`,
  );
});
