import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { running } from "../simulator/running.js";
import { folder, greenhouse2mqtt } from "./in-process.js";

const hosts = [
  "--business-url",
  "https://business.example.com",
  "--realtime-url",
  "https://realtime.example.com",
];

async function init(words: readonly string[], answers?: string) {
  const home = await folder({});
  const config = join(home, "config.yaml");
  if (answers !== undefined) await writeFile(join(home, "answers.yaml"), answers);
  const file = answers === undefined ? [] : ["--answers", join(home, "answers.yaml")];
  const ended = await greenhouse2mqtt(["init", "-c", config, ...file, ...words]);
  const text = (name: string) => readFile(join(home, name), "utf8").catch(() => null);
  return { ...ended, home, config: await text("config.yaml"), secrets: await text("secrets.yaml") };
}

describe("init without a terminal", () => {
  it("writes what the options say, without trying it where that is not wanted", async () => {
    const { code, config, secrets } = await init([...hosts, "--token-env", "SITE_TOKEN", "--no-try"]);
    expect({ code, secrets }).toEqual({ code: 0, secrets: null });
    expect(config).toContain("business_url: https://business.example.com");
    expect(config).toContain("token: !env SITE_TOKEN");
  });

  it("takes answers from a file, keeps their secrets in secrets.yaml, and an option goes before the file", async () => {
    const answers = `platform:
  business_url: https://other.example.com
  realtime_url: https://realtime.example.com
  sign_in: { body: { account: me, password: hunter2 } }
mqtt: { url: "mqtt://10.0.0.2:1883", username: bridge, password: hunter3 }
`;
    const { code, home, config, secrets } = await init([...hosts.slice(0, 2), "--no-try"], answers);
    expect(code).toBe(0);
    expect(config).toContain("business_url: https://business.example.com");
    expect(config).toContain("account: me");
    expect(config).not.toContain("hunter");
    expect(secrets).toMatch(/"hunter2"\n.*"hunter3"\n/);
    expect((await stat(join(home, "secrets.yaml"))).mode & 0o777).toBe(0o600);
    expect((await greenhouse2mqtt(["check", join(home, "config.yaml")])).code).toBe(0);
  });

  it.each([
    [[], undefined, ["platform.business_url is missing (--business-url)", "--realtime-url", "--token-env"]],
    [hosts, undefined, ["a credential is missing: platform.token_env (--token-env)"]],
    [
      [],
      "platform: { busines_url: x, allow_insecure: 7 }",
      [
        'platform.busines_url: unknown key, did you mean "business_url"?',
        "platform.allow_insecure: expected true",
      ],
    ],
    [[], "site: 7", ["\n  site: unknown key\n"]],
    [
      [],
      "business_url: https://b.example.com\ntoken: t\nusername: u\nrealtime_ur: x\nmqtt: { language: en, token: t }",
      [
        '  business_url: unknown key; it belongs to platform.business_url: write "platform: { business_url: … }"\n',
        '  token: unknown key; it belongs to platform.token: write "platform: { token: … }"\n',
        '  username: unknown key; it belongs to mqtt.username: write "mqtt: { username: … }"\n',
        '  realtime_ur: unknown key, did you mean "platform.realtime_url"?\n',
        '  mqtt.language: unknown key; it belongs to no section: write "language: …" without blanks before it\n',
        '  mqtt.token: unknown key; it belongs to platform.token: write "platform: { token: … }"\n',
      ],
    ],
    [[], "mqtt: []", ["mqtt: expected a section of keys with values"]],
    [[], "- 1", ["expected a section of keys with values"]],
    [
      [...hosts, "--token-env", "T"],
      "platform: { token: t }",
      ["one credential is expected, and there are token and"],
    ],
  ])("%j with %j says which answer is missing or wrong, and writes nothing", async (words, answers, says) => {
    const { code, err, config } = await init(words, answers);
    expect({ code, config }).toEqual({ code: 2, config: null });
    for (const one of says) expect(err).toContain(one);
  });

  it("writes where the data go when that is said, wherever it is called from later", async () => {
    const { config } = await init([...hosts, "--token-env", "T", "--no-try", "--data-dir", "elsewhere"]);
    expect(config).toContain(`\ndata_dir: ${join(process.cwd(), "elsewhere")}\n`);
  });

  it("tries what it is given as a person's answers are tried, and writes nothing that does not work", async () => {
    const simulator = await running({ controllers: 1 });
    const own = ["--business-url", simulator.businessUrl, "--realtime-url", simulator.realtimeUrl];
    const wrong = await init(
      ["--business-url", "http://127.0.0.1:9", ...own.slice(2)],
      "platform: { token: t }",
    );
    expect(wrong).toMatchObject({ code: 1, config: null });
    expect(wrong.err).toContain("--no-try writes it anyway");
    const right = await init(own, "platform: { token: simulator }");
    expect(right.code).toBe(0);
    expect(right.config).toContain(simulator.businessUrl);
  });
});
