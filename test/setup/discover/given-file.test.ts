import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { verdictOn } from "../../../src/setup/discover/discover.js";
import { knownFile, movePaths, readGivenFile } from "../../../src/setup/discover/given-file.js";
import { wholeFileText } from "../../../src/setup/discover/whole-file.js";
import { fileWith } from "../../cli/in-process.js";
import { loadedText } from "./support/account.js";
import { file, survey } from "./support/surveys.js";

async function written(text: string, out?: string): Promise<string> {
  const path = await fileWith(text);
  const given = await readGivenFile(path);
  if (out !== undefined) movePaths(given, dirname(path), join(dirname(path), out));
  const known = knownFile((await loadedText(text, env)).controllers);
  const found = { stations: [], devices: [survey()] };
  return wholeFileText({ ...file, given, known, survey: found });
}

const env = { T: "token-from-env" };
const platform = [
  "platform:",
  "  business_url: https://business.example.com",
  "  realtime_url: https://realtime.example.com",
].join("\n");

describe("what the given file says", () => {
  it("is kept key by key, also references, digits as written and flow style; its comments are not", async () => {
    const text = await written(
      [
        platform,
        "  token: !env T # changed by Li",
        "  time_zone: UTC",
        "  shapes: { sensor-data: { items: payload.points } }",
        "mqtt:",
        "  username: 0012",
        "  password: !env T",
        "  url: mqtt://10.0.0.2:1883",
        "polling: { sensors: 2m }",
        "commands: { max_age: 30s, read_only: false }",
        "controllers:",
        "  0012:",
        "    name: 007",
        "    actuators: { vent: { kind: motor, address: 0300, values: { open: 00000001, stop: 00000100 } } }",
        "  GH-0001:",
        "    parameters:",
        "      ec: { address: 501, scale: 0.01 }",
        "",
      ].join("\n"),
    );
    expect(text).not.toContain("changed by Li");
    const found = await loadedText(text, env);
    expect(found.platform).toMatchObject({ token: "token-from-env", time_zone: "UTC" });
    expect(found.platform.shapes).toEqual({ "sensor-data": { items: "payload.points" } });
    expect(found.mqtt).toMatchObject({ username: "0012", url: "mqtt://10.0.0.2:1883" });
    expect(found.polling.sensors).toBe(120_000);
    expect(found.commands).toMatchObject({ max_age: 30_000, read_only: true });
    expect(found.controllers["0012"]).toMatchObject({
      name: "007",
      actuators: { vent: { address: "0300", values: { open: "00000001", stop: "00000100" } } },
    });
    expect(found.controllers["GH-0001"]).toMatchObject({
      actuators: { left_skylight: { address: "101" } },
      parameters: { ec: { address: "501", scale: 0.01 } },
    });
  });

  it.each([
    ["platform", "  token: lit-token-1", ["lit-token-1"], ["GREENHOUSE_TOKEN"]],
    [
      "sign-in body",
      "  sign_in: { body: { user: me, pin: 123456, deep: { key2: lit-key-2 }, list: [lit-item-3] } }",
      ["123456", "lit-key-2", "lit-item-3"],
      ["GREENHOUSE_SIGN_IN_BODY_PIN", "GREENHOUSE_SIGN_IN_BODY_DEEP_KEY2", "GREENHOUSE_SIGN_IN_BODY_LIST_1"],
    ],
    [
      "broker users",
      "  token: !env T\nbroker: { users: [ { username: a, password: lit-pass-4 }, { username: b, password: lit-pass-5 } ] }",
      ["lit-pass-4", "lit-pass-5"],
      ["GREENHOUSE_BROKER_USERS_1_PASSWORD", "GREENHOUSE_BROKER_USERS_2_PASSWORD"],
    ],
  ])(
    "a literal secret becomes a variable of the environment: %s",
    async (_title, lines, secrets, variables) => {
      const text = await written(`${platform}\n${lines}\n`);
      for (const secret of secrets) expect(text).not.toContain(secret);
      for (const variable of variables) expect(text).toContain(`!env ${variable}`);
      const set = Object.fromEntries(variables.map((name) => [name, "value-of-the-variable"]));
      await expect(loadedText(text, { ...env, ...set })).resolves.toBeDefined();
    },
  );

  it("paths of a file that will lie elsewhere still lead to the same files", async () => {
    const text = await written(
      `${platform}\n  token_file: secrets/token\nmqtt: { url: mqtts://h, tls: { ca: /etc/ca.pem, cert: c.pem, key: k.pem } }\n`,
      "deep/er",
    );
    expect(text).toContain("token_file: ../../secrets/token");
    expect(text).toContain("ca: /etc/ca.pem, cert: ../../c.pem, key: ../../k.pem");
  });
});

describe("the verdict on what is written", () => {
  it("is what `check` says, with the secrets that were taken out", async () => {
    const text = `${platform}\n  token: !env GREENHOUSE_TOKEN\n`;
    const replaced = [{ path: ["platform", "token"], variable: "GREENHOUSE_TOKEN", value: '"0012"' }];
    expect(await verdictOn(text, "found.yaml", {}, replaced)).toEqual({ problems: [], warnings: [] });
    const { problems } = await verdictOn(text, "found.yaml", {}, []);
    expect(problems.join()).toContain("GREENHOUSE_TOKEN is not set");
  });
});
