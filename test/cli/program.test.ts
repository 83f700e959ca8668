import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:net";
import { userInfo } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { userName } from "../../src/terminal/common.js";
import { readOnlyOperations } from "../../src/platform/operations.js";
import { ignoredTlsEnvironment } from "../../src/runtime/sockets.js";
import { profileNames } from "../../src/simulator/dialects.js";
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

it.each([
  [["--token", "mine"], "mine", [200, 401]],
  [[], "simulator", [200, 200]],
])(
  "simulate %j prints a token that it takes, and refuses another where one was given",
  async (words, token, codes) => {
    const stop = new AbortController();
    let out = "";
    const printed = (text: string) => void (out += text);
    const ended = greenhouse2mqtt(["simulate", "--port", "0", ...words], { stop: stop.signal, printed });
    await expect.poll(() => out, { timeout: 20_000 }).toContain(`  token: ${token}\n`);
    const [, url = ""] = /business_url: (\S+)/.exec(out) ?? [];
    const statuses = [token, "another"].map(async (one) => {
      const answer = await fetch(`${url}/api/station`, { headers: { authorization: `Bearer ${one}` } });
      return answer.status;
    });
    expect(await Promise.all(statuses)).toEqual(codes);
    stop.abort();
    expect((await ended).code).toBe(0);
  },
);

it("schema --example prints the example with every key, wherever the program is installed", async () => {
  const { code, out } = await greenhouse2mqtt(["schema", "--example"]);
  expect(code).toBe(0);
  expect(out).toBe(await readFile(new URL("../../config.example.yaml", import.meta.url), "utf8"));
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

async function help(...words: string[]) {
  const { code, out } = await greenhouse2mqtt([...words, "--help"]);
  expect(code).toBe(0);
  return out;
}

const commands = [
  ...[
    "run",
    "demo",
    "simulate",
    "init",
    "doctor",
    "discover",
    "dashboard",
    "config",
    "check",
    "schema",
    "backup",
    "restore",
    "passwd",
  ],
  ...[
    "get",
    "history",
    "read",
    "cleanup",
    "set",
    "journal",
    "lock",
    "unlock",
    "release",
    "alarms",
    "tags",
    "notify",
    "fleet",
  ],
];

it("journal follows as lines, and a table for a spreadsheet ends: the two are not asked at once", async () => {
  const { code, err } = await run("journal", "--csv", "--follow");
  expect([code, err]).toEqual([2, expect.stringMatching(/--csv.*--follow/)]);
});

it.each([
  ["fleet.yaml", ["fleet"]],
  ["config.yaml", ["fleet", "-c", "config.yaml"]],
  ["config.yaml", ["-c", "config.yaml", "fleet", "status"]],
  ["fleet.yaml", ["--account", "north", "check"]],
  ["config.yaml", ["--account", "north", "-c", "config.yaml", "check"]],
])("a fleet's file is %s of %j: the one that was named, or fleet.yaml", async (file, words) => {
  const { code, out, err } = await run(...words);
  expect(code).toBe(2);
  expect(`${out}${err}`).toContain(`${file}: `);
});

describe("help", () => {
  it("of the program names every command in its group, what every command takes, exit codes and examples", async () => {
    const text = await help();
    const groups = [...text.matchAll(/^(.+):\n((?: {2}.*\n)+)/gm)].map(
      ([, title, lines = ""]) =>
        [title, [...lines.matchAll(/^ {2}(\w+)/gm)].map(([, word]) => word)] as const,
    );
    expect(Object.fromEntries(groups)).toMatchObject({
      "Run it": ["run", "fleet", "help"],
      "Try it without a greenhouse": ["demo", "simulate"],
      "Set it up": ["init", "doctor", "discover", "passwd", "config", "check", "schema", "backup", "restore"],
      "Ask and command": [
        ...["get", "read", "cleanup", "history", "set", "journal"],
        ...["lock", "unlock", "release", "alarms", "tags", "dashboard", "notify"],
      ],
      "Exit codes": ["0", "1", "2", "3"],
    });
    for (const option of ["--config", "--log-level", "--data-dir"]) expect(text).toContain(option);
  });

  it.each(commands)(
    "of %s gives an example that begins with the program's name, and lists what every command takes",
    async (command) => {
      const text = await help(command);
      expect(text).toMatch(/\nExamples?:\n {2}greenhouse2mqtt/);
      for (const option of ["--config", "--log-level", "--data-dir"]) expect(text).toContain(option);
    },
  );

  it("of cleanup promises for --all what it does", async () => {
    const text = await help("cleanup");
    expect(text).toMatch(/refuses\s+while\s+a\s+bridge\s+runs/);
    expect(text).toMatch(/--all +also the bridge's own topics/);
    expect(text).not.toContain("without asking");
  });

  it("of get lists the operations, of simulate the profiles", async () => {
    const get = await help("get");
    for (const { name } of readOnlyOperations) expect(get).toMatch(new RegExp(`^ {2}${name} `, "m"));
    const simulate = (await help("simulate")).replace(/\s+/g, " ");
    expect(simulate).toContain(`(choices: ${profileNames.map((name) => `"${name}"`).join(", ")}`);
  });
});

const nobody = () => {
  throw new Error("ENOENT: no such file or directory, uv_os_get_passwd");
};

it("names the user of the program", () => expect(userName()).toBe(userInfo().username));

it("names a user without an entry by number, and never fails", () => {
  expect(userName(nobody, () => 1026)).toBe("uid 1026");
  expect(userName(nobody, () => undefined)).toBe("unknown");
});

describe("an environment that asks for unverified certificates", () =>
  it.each([
    [{ NODE_TLS_REJECT_UNAUTHORIZED: "0" }, true],
    [{ NODE_TLS_REJECT_UNAUTHORIZED: "1" }, false],
    [{}, false],
  ])("%j is told of: %s, with what to do instead", (environment, isTold) => {
    const told = ignoredTlsEnvironment(environment);
    if (isTold) expect(told).toMatch(/changes nothing.*NODE_EXTRA_CA_CERTS.*mqtt\.tls\.ca/);
    else expect(told).toBeNull();
  }));
