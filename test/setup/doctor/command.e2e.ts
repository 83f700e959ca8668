import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runProgram } from "../../../src/cli/program.js";
import type { Simulator } from "../../../src/simulator/simulator.js";
import { canaries, folder, mosquitto, plainConfiguration, platform, type Section } from "./support/bench.js";

interface Run {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

interface Interrupted {
  readonly stop?: AbortSignal;
  readonly printed?: (text: string) => void;
}

async function doctor(
  args: readonly string[],
  isTTY: boolean | "only stderr" = false,
  { stop = new AbortController().signal, printed }: Interrupted = {},
): Promise<Run> {
  let [out, err] = ["", ""];
  const code = await runProgram(["node", "greenhouse2mqtt", "doctor", ...args], {
    env: {},
    out: (text) => {
      out += text;
      printed?.(text);
    },
    err: {
      isTTY: isTTY !== false,
      write: (text) => {
        err += text;
      },
    },
    isTerminal: isTTY === true,
    stop,
  });
  return { code, out, err };
}

/** Channels that wait for a frame would only make the tests slow. */
const withoutPush = (section: Section): Section => ({
  ...section,
  platform: { push: { enabled: false }, ...(section["platform"] as Section) },
});

async function configured(given: Section): Promise<string> {
  const section = withoutPush(given);
  const file = join(await folder(), "config.yaml");
  await writeFile(file, JSON.stringify(section), { mode: 0o600 });
  return file;
}

const users = { bridge: canaries.password };
const login = { username: "bridge", password: canaries.password };
const acl = ["user bridge", "topic readwrite #"];

interface Report {
  readonly ok: boolean;
  readonly counts: Readonly<Record<string, number>>;
  readonly checks: readonly {
    readonly check: string;
    readonly status: string;
    readonly remedy: string | null;
  }[];
}

describe("the command", () => {
  it(
    "ends with 0 where nothing failed, a line for each check and their sum at the end",
    { timeout: 60_000 },
    async () => {
      const simulator = await platform();
      const broker = await mosquitto({ users, acl });
      const file = await configured(plainConfiguration(simulator, { url: broker.url, ...login }));
      const { code, out, err } = await doctor(["-c", file]);
      const lines = out.trimEnd().split("\n");
      expect(code).toBe(0);
      expect(err).toBe("");
      expect(lines[0]).toMatch(/^greenhouse2mqtt \d+\.\d+\.\d+, Node\.js v\d+/);
      for (const line of lines.slice(1, -1))
        expect(line).toMatch(/^(ok|warning|skipped) +[a-z_]+[\w./-]* +\S/);
      expect(lines.at(-1)).toMatch(/^\d+ ok, \d+ warnings?, 0 failed, \d+ not tried$/);
    },
  );

  it(
    "ends with 1 where something failed, and what depends on it says that it was not tried",
    { timeout: 60_000 },
    async () => {
      const simulator = await platform({ auth: { tokens: "known" } });
      const file = await configured(plainConfiguration(simulator, { url: "mqtt://127.0.0.1:1" }));
      const { code, out } = await doctor(["-c", file]);
      expect(code).toBe(1);
      expect(out).toMatch(/^failed +token /m);
      expect(out).toMatch(
        /^skipped +shapes\.control\/mqtt +not tried: it needs "token", which did not pass$/m,
      );
      expect(out).toMatch(/^skipped +broker\.publish +not tried: it needs "broker"/m);
    },
  );

  it("ends with 2 for a configuration that cannot be used, and connects to nothing", async () => {
    const file = await configured({ platform: { business_url: "https://a.example" } });
    const { code, out, err } = await doctor(["-c", file]);
    expect(code).toBe(2);
    expect(out).toMatch(/^failed +configuration +.* problems?, so nothing else was tried/m);
    expect(err).toMatch(/platform/);
    expect((await doctor(["-c", join(await folder(), "none.yaml")])).err).toMatch(/greenhouse2mqtt init/);
  });

  it("--json is one document with every check", { timeout: 60_000 }, async () => {
    const simulator = await platform();
    const file = await configured(plainConfiguration(simulator, { url: "mqtt://127.0.0.1:1" }));
    const { code, out } = await doctor(["-c", file, "--json"]);
    const report = JSON.parse(out) as Report;
    expect(code).toBe(1);
    expect(report.ok).toBe(false);
    expect(report.counts["failed"]).toBe(1);
    expect(report.checks.find(({ check }) => check === "broker")).toMatchObject({ status: "failed" });
    expect(new Set(report.checks.map(({ check }) => check)).size).toBe(report.checks.length);
  });

  it("shows what it is doing on a terminal, and only there", { timeout: 60_000 }, async () => {
    const simulator = await platform();
    const file = await configured(plainConfiguration(simulator, { url: "mqtt://127.0.0.1:1" }));
    expect((await doctor(["-c", file], true)).err).toContain("token …");
    expect((await doctor(["-c", file], "only stderr")).err, "with a pipe behind it").toBe("");
  });
});

describe("an interrupted doctor", () => {
  const interrupted = async (args: readonly string[], isEnough: (text: string) => boolean) => {
    const simulator = await platform();
    const file = await configured(plainConfiguration(simulator, { url: "mqtt://127.0.0.1:1" }));
    const stop = new AbortController();
    const printed = (text: string) => {
      if (isEnough(text)) stop.abort();
    };
    return doctor(["-c", file, ...args], false, { stop: stop.signal, printed });
  };

  it("ends with 1 and names what was not tried", { timeout: 60_000 }, async () => {
    const { code, out, err } = await interrupted([], (text) => text.includes("business.dns"));
    const lines = out.trimEnd().split("\n");
    const last = lines.at(-1) ?? "";
    expect(code).toBe(1);
    expect(err).toBe("stopped before everything was tried\n");
    expect(last).toMatch(/, 0 failed, \d+ not tried$/);
    expect(out).toMatch(/^skipped +token +not tried: stopped$/m);
    expect(out).toMatch(/^skipped +broker +not tried: stopped$/m);
  });

  it("ends so where it was stopped before it began, also as a document", { timeout: 60_000 }, async () => {
    const simulator = await platform();
    const file = await configured(plainConfiguration(simulator, { url: "mqtt://127.0.0.1:1" }));
    const { code, out } = await doctor(["-c", file, "--json"], false, { stop: AbortSignal.abort() });
    const report = JSON.parse(out) as Report;
    expect(code).toBe(1);
    expect(report.ok).toBe(false);
    expect(report.counts).toMatchObject({ failed: 0 });
    expect(report.checks.filter(({ status }) => status === "skipped").length).toBeGreaterThan(10);
  });
});

/** Circumstances in which other programs like to print what they should not. */
const scenes: readonly (readonly [
  string,
  Parameters<typeof platform>[0],
  (simulator: Simulator) => Section,
])[] = [
  ["all is well", {}, () => ({})],
  ["the token is refused", { auth: { tokens: "known", refusal: "body" } }, () => ({})],
  [
    "the answer repeats the token",
    {
      faults: [
        {
          fault: "body_code",
          operation: "control/mqtt",
          code: 500,
          message: `bad ${canaries.token}`,
          forMs: 3_600_000,
        },
      ],
    },
    () => ({}),
  ],
  [
    "the push credential is in the query",
    { auth: { checkRealtime: true, tokens: "known" } },
    () => ({ platform: { push: { credential: "query" } } }),
  ],
  [
    "signing in is refused",
    { auth: { signIn: { account: "x", password: "y" } } },
    ({ businessUrl, realtimeUrl }) => ({
      platform: {
        business_url: businessUrl,
        realtime_url: realtimeUrl,
        token: undefined,
        sign_in: { body: { account: canaries.account, password: canaries.password } },
      },
    }),
  ],
];

describe("secrets", () =>
  it.each(scenes)("are in no output of any mode: %s", { timeout: 120_000 }, async (_, options, more) => {
    const simulator = await platform(options);
    const broker = await mosquitto({ users: { bridge: "another-password" } });
    const file = await configured(
      plainConfiguration(simulator, { url: broker.url, ...login }, more(simulator)),
    );
    for (const mode of [
      ["--log-level", "trace"],
      ["--json"],
      ["--redact", "--record", `${file}.recorded`, "--bundle", join(file, "..", "bundle.json")],
    ]) {
      const { out, err } = await doctor(["-c", file, ...mode]);
      for (const canary of Object.values(canaries)) expect(out + err).not.toContain(canary);
    }
    const bundle = await readFile(join(file, "..", "bundle.json"), "utf8");
    for (const canary of Object.values(canaries)) expect(bundle).not.toContain(canary);
    const directory = `${file}.recorded`;
    for (const name of await readdir(directory).catch(() => []))
      for (const canary of Object.values(canaries))
        expect(await readFile(join(directory, name), "utf8")).not.toContain(canary);
  }));

describe("--redact", () => {
  it(
    "shows no host, code, name, user or path, and neither does the bundle; the same placeholder for the same thing",
    { timeout: 60_000 },
    async () => {
      const simulator = await platform({
        faults: [
          {
            ...{ fault: "body_code", operation: "sensor-data", code: 500, forMs: 3_600_000 },
            message: "device GH-0001 of a@mail.example at 10.9.8.7 is away",
          },
        ],
      });
      const broker = await mosquitto({ users: { "canary-user": "p" } });
      const section = plainConfiguration(
        simulator,
        { url: broker.url, username: "canary-user", password: "p", base_topic: "canary/base" },
        { data_dir: "/nowhere/canary-folder/file.txt/data" },
      );
      const file = await configured(section);
      const bundle = join(await folder(), "bundle.json");
      const { out } = await doctor(["-c", file, "--redact", "--bundle", bundle]);
      const written = await readFile(bundle, "utf8");
      const plain = (await doctor(["-c", file])).out;
      const port = new URL(simulator.businessUrl).port;
      for (const own of ["127.0.0.1", port, "canary", "GH-0001", "mail.example", "10.9.8.7", "East roof"])
        for (const text of [out, written]) expect(text, own).not.toContain(own);
      expect(JSON.parse(written)).toMatchObject({
        bridge: "none is online with this configuration",
        doctor: expect.arrayContaining([
          expect.objectContaining({ check: "token", status: "ok" }),
        ]) as unknown,
      });
      expect(plain).toContain(port);
      expect(plain).toContain("canary/base");
      const hosts = [...out.matchAll(/^ok +business\.\w+ +(<host-\d+>)/gm)].map(([, host]) => host);
      expect(hosts).toHaveLength(2);
      expect(out).toMatch(/<platform-text-1>/);
    },
  );

  it("leaves everything else as it is", { timeout: 60_000 }, async () => {
    const simulator = await platform();
    const home = await folder();
    await mkdir(join(home, "data"));
    const file = await configured(plainConfiguration(simulator, { url: "mqtt://127.0.0.1:1" }));
    const statuses = (text: string) => text.split("\n").map((line) => line.slice(0, 34));
    const [redacted, plain] = [
      (await doctor(["-c", file, "--redact"])).out,
      (await doctor(["-c", file])).out,
    ];
    expect(statuses(redacted).slice(1)).toEqual(statuses(plain).slice(1));
  });
});
