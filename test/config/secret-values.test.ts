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
    expect(secretValues(configuration)).toEqual([
      "me@example.com",
      "123456",
      'quo"te',
      "a b/c",
      "literal-password",
      "http-token",
    ]);
  }));

describe("no problem or warning repeats a secret", () => {
  const canary = "CANARY";
  const places: readonly (readonly [string, string])[] = [
    ["platform.token", platform.replace("!env TOKEN", "VALUE")],
    ["a token file", platform.replace("token: !env TOKEN", "token_file: [VALUE]")],
    ["a sign-in body", platform.replace("token: !env TOKEN", "sign_in: { body: VALUE }")],
    ["mqtt.password", `${platform}mqtt: { username: a, password: VALUE }\n`],
    ["mqtt.password without user", `${platform}mqtt: { password: VALUE }\n`],
    ["mqtt.url", `${platform}mqtt: { url: "mqtt://a:VALUE@b" }\n`],
    [
      "a broker password",
      `${platform}broker: { host: 0.0.0.0, users: [{ username: a, password: VALUE }] }\n`,
    ],
    ["http.token", `${platform}http: { token: VALUE, port: x }\n`],
    ["a word", `${platform}mirror: VALUE\n`],
    ["a number", `${platform}broker: { port: VALUE }\n`],
    ["a duration", `${platform}polling: { sensors: VALUE }\n`],
    ["an id", `${platform}controllers: { A: { id: VALUE }, B: { id: VALUE } }\n`],
    [
      "an address",
      `${platform}controllers: { A: { parameters: { p: { address: VALUE }, q: { address: VALUE } } } }\n`,
    ],
    [
      "values",
      `${platform}controllers: { A: { actuators: { a: { kind: custom, address: 1, values: { a: VALUE, b: VALUE } } } } }\n`,
    ],
    ["a whole section", `${platform}mqtt: VALUE\n`],
    ["a broken file", `${platform}mqtt: { password: "VALUE\n`],
    ["a forgotten colon", `${platform}mqtt: { password VALUE }\n`],
    ["a forgotten colon in a block", `${platform}mqtt:\n  password VALUE\n  username: a\n`],
    ["a bad escape", `${platform}mqtt: { password: "VALUE\\q" }\n`],
    ["a tag", `${platform}mqtt: { password: !VALUE }\n`],
    ["an alias", `${platform}mqtt: { password: *VALUE }\n`],
    ["an anchor", `${platform}mqtt: { password: &VALUE x }\n`],
  ];
  const writings = [
    canary,
    `"${canary} x"`,
    "!env CANARY_ENV",
    "!secret canary",
    `x ${canary}`,
    `{ a: ${canary} }`,
    `[${canary}]`,
  ];
  const cases = places.flatMap(([place, text]) => writings.map((value) => [place, value, text] as const));

  it.each(cases)("%s given as %s", async (_, value, text) => {
    const env = { TOKEN: "ordinary-token", CANARY_ENV: canary };
    const around = { env, secrets: `canary: ${canary}\n`, mode: 0o644 };
    const result = await load(text.replaceAll("VALUE", value), around);
    const lines = [...(result.ok ? [] : result.problems), ...result.warnings].map(formatProblem);
    expect(lines.filter((line) => line.includes(canary))).toEqual([]);
  });
});
