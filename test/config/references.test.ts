import { describe, expect, it } from "vitest";
import { secretValues } from "../../src/config/load.js";
import { formatProblem } from "../../src/settings/problem.js";
import { itFinds, load, loaded, platform, problemLines, problemsIn, tokenEnv } from "./loading.js";

describe("!env and !secret", () => {
  it.each([
    ["concurrency: !env X", "5", 5],
    ["concurrency: !env X", " 5 ", 5],
    ["concurrency: !env X", "0x10", 16],
    ["allow_insecure: !env X", "true", true],
    ["allow_insecure: !env X", "False", false],
  ])("%s: the text %j of a variable is parsed as a YAML scalar", async (line, text, expected) => {
    const { configuration } = await loaded(`${platform}  ${line}\n`, { env: { ...tokenEnv, X: text } });
    const { concurrency, allow_insecure } = configuration.platform;
    expect(typeof expected === "number" ? concurrency : allow_insecure).toBe(expected);
  });

  it.each([
    ['"quoted"', "quoted"],
    ["'it''s'", "it's"],
    ...['"half', "a: b", "[x", "#secret", "*alias", "!tag x", "@at", "- x", "1.2.3.4", "{a: 1}"].map(
      (text) => [text, text],
    ),
  ])("the text %j of a variable stays one text", async (text, expected) => {
    const env = { ...tokenEnv, PASSWORD: text };
    const { configuration } = await loaded(`${platform}mqtt: { username: a, password: !env PASSWORD }\n`, {
      env,
    });
    expect(configuration.mqtt.password).toBe(expected);
  });

  it("may stand for any value, also a whole section from secrets.yaml", async () => {
    const text = `${platform}mqtt: !secret broker\npolling: { sensors: !env EVERY }\nhttp: !env HTTP\n`;
    const { configuration } = await loaded(text, {
      env: { ...tokenEnv, EVERY: "30s", HTTP: "false" },
      secrets: "broker:\n  url: mqtts://broker.lan\n  username: 007\n",
    });
    expect(configuration.mqtt).toMatchObject({ url: "mqtts://broker.lan", username: "007" });
    expect(configuration.polling.sensors).toBe(30_000);
    expect(configuration.http).toBe(false);
  });

  itFinds(
    String.raw`
    !env NO_SUCH → the environment variable NO_SUCH is not set
    !env toString → the environment variable toString is not set
    !env EMPTY → the environment variable EMPTY is empty
    !env → expected a name after !env
    !env a b → expected a name after !env
    !env [A] → expected a name after !env
    !secret x → secrets.yaml is missing; it holds the secrets, one "name: value" a line
    !secret brocker | broker: x → there is no secret "brocker" in secrets.yaml, did you mean "broker"?
    !secret x | x: → the secret "x" in secrets.yaml is empty
    !secret x | y: → there is no secret "x" in secrets.yaml, did you mean "y"?
    !secret x | x: 1⏎x: 2 → secrets.yaml has "x" twice; keep one of them
    !secret x | - x → secrets.yaml is not a list of "name: value" lines
    !secret x | x: !secret x → !env and !secret are not allowed here (in the file of secrets)
    !secret x | x: &a 1⏎y: *a → anchors (&name) are not allowed
    !secret y | x: 1⏎y: *x → aliases (*name) are not allowed
    "pass\ud83dword" → holds half a character (a \u escape without its other half), which nothing can send; write the whole character
    !secret x | x: "pass\ud83dword" → holds half a character (a \u escape without its other half), which nothing can send; write the whole character (in the file of secrets)
    !secert x | x: 1 → unknown tag; !env NAME and !secret name are known
  `,
    {
      around: (row) => `${platform}mqtt: { username: a, password: ‸${row.split(" | ")[0] ?? ""} }\n`,
      find: async (text, row) => {
        const secrets = row.split(" | ")[1]?.replaceAll("⏎", "\n");
        return problemsIn(text, { env: { ...tokenEnv, EMPTY: " " }, ...(secrets && { secrets }) });
      },
    },
  );

  it("a file of secrets that is no YAML, or holds nothing, is one clear error", async () => {
    const use = `${platform}mqtt: { username: a, password: !secret x }\n`;
    expect(await problemLines(use, { secrets: 'x: "open' })).toEqual([
      "secrets.yaml:1:9: something is missing here: a closing quote, bracket or comma, or the blank after a colon",
    ]);
    expect(await problemLines(use, { secrets: "" })).toEqual([
      'config.yaml:5:32 mqtt.password: there is no secret "x" in secrets.yaml',
    ]);
  });

  it("half a character in a key is an error, and a whole one written as two halves is none", async () => {
    const body = (key: string) =>
      platform.replace("token: !env TOKEN", `sign_in: { body: { account: "\\ud83d\\udd11", ${key}: 1 } }`);
    expect(await problemLines(body('"\\ud83d"'))).toEqual([
      expect.stringContaining("holds half a character"),
    ]);
    expect((await loaded(body("pin"))).configuration.platform.sign_in?.body).toMatchObject({ account: "🔑" });
  });

  it("reads secrets.yaml only where a secret is used", async () => {
    expect((await loaded(platform, { secrets: "{{{{" })).ok).toBe(true);
  });

  it("reports a wrong value from a reference where the reference stands, without the value", async () => {
    const text = `${platform}polling: !secret polling\nmirror: !env MIRROR\n`;
    const around = { env: { ...tokenEnv, MIRROR: "canary-1" }, secrets: "polling:\n  sensors: canary-2\n" };
    expect(await problemLines(text, around)).toEqual([
      "config.yaml:5:10 polling.sensors: expected a duration such as 500ms, 30s, 5m or 1h, at least 1s",
      "config.yaml:6:9 mirror: expected one of all, listed",
    ]);
  });
});

describe("secretValues", () =>
  it("holds every token, password and sign-in value, however it was given", async () => {
    const text = `platform:
  business_url: https://b.example.com
  realtime_url: https://r.example.com
  sign_in: { body: { account: me@example.com, nested: { pin: 123456 }, password: !secret pw, remember: true } }
mqtt: { username: bridge, password: !env MQTT }
broker: { users: [{ username: ha, password: literal-password }] }
http: { token: http-token }
`;
    const { configuration } = await loaded(text, { env: { MQTT: "a b/c" }, secrets: 'pw: "quo\\"te"\n' });
    const body = ["me@example.com", "123456", 'quo"te'];
    expect(secretValues(configuration)).toEqual([...body, "a b/c", "literal-password", "http-token"]);
  }));

describe("no problem or warning repeats a secret", () => {
  const canary = "CANARY";
  const below = (text: string) => platform + text.replaceAll("⏎", "\n");
  const texts: readonly string[] = [
    ...["VALUE", "[VALUE]"].map((token) => platform.replace("!env TOKEN", token)),
    ...["token_file: [VALUE]", "sign_in: { body: VALUE }"].map((key) =>
      platform.replace("token: !env TOKEN", key),
    ),
    ...`mqtt: { username: a, password: VALUE }
      mqtt: { password: VALUE }
      mqtt: { url: "mqtt://a:VALUE@b" }
      broker: { host: 0.0.0.0, users: [{ username: a, password: VALUE }] }
      http: { token: VALUE, port: x }
      mirror: VALUE
      broker: { port: VALUE }
      polling: { sensors: VALUE }
      controllers: { A: { id: VALUE }, B: { id: VALUE } }
      controllers: { A: { parameters: { p: { address: VALUE }, q: { address: VALUE } } } }
      controllers: { A: { actuators: { a: { kind: custom, address: 1, values: { a: VALUE, b: VALUE } } } } }
      mqtt: VALUE
      mqtt: { password: "VALUE
      mqtt: { password VALUE }
      mqtt:⏎  password VALUE⏎  username: a
      mqtt: { password: "VALUE\\q" }
      mqtt: { password: !VALUE }
      mqtt: { password: *VALUE }
      mqtt: { password: &VALUE x }`
      .split("\n")
      .map((line) => below(`${line.trim()}\n`)),
  ];
  const writings = [`"${canary} x"`, "!env CANARY_ENV", "!secret canary", `x ${canary}`, `{ a: ${canary} }`];

  it.each(texts)("%s", async (text) => {
    const env = { TOKEN: "ordinary-token", CANARY_ENV: canary };
    const around = { env, secrets: `canary: ${canary}\n`, mode: 0o644 };
    for (const value of [canary, ...writings, `[${canary}]`]) {
      const result = await load(text.replaceAll("VALUE", value), around);
      const lines = [...(result.ok ? [] : result.problems), ...result.warnings].map(formatProblem);
      expect(lines.filter((line) => line.includes(canary))).toEqual([]);
    }
  });
});
