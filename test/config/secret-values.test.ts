import { describe, expect, it } from "vitest";
import { secretValues } from "../../src/config/load.js";
import { formatProblem } from "../../src/config/problem.js";
import { load, loaded, platform } from "./loading.js";

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
