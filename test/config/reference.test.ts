import { readFile, writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { jsonSchema } from "../../src/config/schema.js";
import { contractExample, loaded, platform, problemLines } from "./loading.js";
import { exampleText, referenceTable, withReference } from "./support/reference.js";

const inProject = (name: string) => new URL(`../../${name}`, import.meta.url);
const project = (name: string) => readFile(inProject(name), "utf8");

if (process.env["REFERENCE"] === "write") {
  await writeFile(inProject("config.example.yaml"), exampleText());
  await writeFile(inProject("docs/configuration.md"), withReference(await project("docs/configuration.md")));
}

const surroundings = {
  env: { GREENHOUSE_TOKEN: "token-of-the-account" },
  secrets: [
    "platform_password: a\nmqtt_password: b\nhttp_token: c",
    ...["ha", "anna"].map((user) => `${user}: scrypt:15:8:1:AAAAAAAAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAA`),
    "",
  ].join("\n"),
};

/** The example with every commented key switched on. */
const everything = exampleText().replace(/(?<=\n)( {0,16})# ( *(?:- )?[a-z_-]+:)/g, "$1$2");

describe("config.example.yaml", () => {
  it("is what the schema makes (npm run reference writes it anew)", async () => {
    expect(await project("config.example.yaml")).toBe(exampleText());
  });

  it("loads without a problem or warning", async () => {
    expect(await loaded(exampleText(), surroundings)).toMatchObject({ ok: true, warnings: [] });
  });

  it("shows every key of the schema", () => {
    const table = [...referenceTable().matchAll(/^\| `([^`]+)`/gm)].map(([, path]) =>
      path?.split(".").at(-1),
    );
    const shown = new Set([...everything.matchAll(/([\w-]+):/g)].map(([, key]) => key));
    const operations = /^(?:<|\[)/;
    expect(table.filter((key) => key !== undefined && !operations.test(key) && !shown.has(key))).toEqual([]);
  });

  it("shows values that are right also where they are comments", async () => {
    const lines = await problemLines(everything, surroundings);
    expect(lines.map((line) => line.split(" ").slice(1).join(" "))).toEqual([
      'platform.token_file: only one of token, token_file and sign_in may be given, and "token" is there already',
      'platform.sign_in: only one of token, token_file and sign_in may be given, and "token" is there already',
      "mqtt.tls: tls is only for an mqtt.url that starts with mqtts:// or wss://",
      "controllers.GH-0001.actuators.left_skylight.values: only for the kinds motor and custom; the other kinds have fixed values, not for skylight",
      "controllers.GH-0001.actuators.left_skylight.lead_in: only for the kind light, not for skylight",
      ...["actuator", "status"].map(
        (key) =>
          `controllers.GH-0001.actuators.left_skylight.limits.guards.wind.${key}: only one of sensor, actuator, status may be given, and "sensor" is there already`,
      ),
      ...["below", "is", "is_not", "moving"].map(
        (key) =>
          `controllers.GH-0001.actuators.left_skylight.limits.guards.wind.${key}: only one of above, below, is, is_not, moving may be given, and "above" is there already`,
      ),
    ]);
  });

  it("shows the defaults that the loader fills in", async () => {
    const example = await loaded(exampleText(), surroundings);
    const { configuration } = await loaded(platform);
    for (const key of ["homeassistant", "polling", "commands", "http", "log", "mirror", "data_dir"] as const)
      expect(example.configuration[key]).toEqual(configuration[key]);
    expect(example.configuration.platform.timeouts).toEqual(configuration.platform.timeouts);
  });
});

describe("the table of keys", () => {
  it("has a row for each key, with type, default and meaning", () => {
    const rows = referenceTable().split("\n");
    expect(rows).toContain("| `polling.sensors` | duration | `1m` | Readings of one controller. |");
    expect(rows).toContain(
      "| `controllers.<code>.actuators.<id>.address` | address | required | Address on the platform, taken as written. |",
    );
    expect(rows.every((row) => row.split(/(?<!\\)\|/).length === 6)).toBe(true);
  });

  it("in docs/configuration.md is the current one (npm run reference writes it anew)", async () => {
    const page = await project("docs/configuration.md");
    expect(page).toContain("| `platform.business_url` |");
    expect(withReference(page)).toBe(page);
  });
});

describe("the JSON Schema", () => {
  const schema = z.fromJSONSchema(jsonSchema());
  const accepts = (text: string) => {
    const plain = text.replace(/!(?:env|secret) /g, "");
    return schema.safeParse(parse(plain)).success;
  };

  it.each([
    ["the contract's example", contractExample],
    ["config.example.yaml", exampleText()],
    [
      "addresses and values as numbers",
      `${platform}controllers: { G: { actuators: { a: { kind: custom, address: 101, values: { low: 110 } } } } }\n`,
    ],
    ["keys without a value", `${platform}mqtt:\nmirror:\nhttp: { token: }\n`],
    ["a controller of which nothing is said", `${platform}controllers: { WS-0001: }\n`],
    ["http: false", `${platform}http: false\n`],
  ])("accepts %s", (_, text) => expect(accepts(text)).toBe(true));

  it.each([
    ["an unknown key", `${platform}colour: red\n`],
    ["a number as duration", `${platform}polling: { sensors: 60 }\n`],
    ["a wrong word", `${platform}mirror: some\n`],
    ["a missing key", "mqtt: {}\n"],
    ["a wrong id", `${platform}controllers: { G: { id: East } }\n`],
  ])("refuses %s", (_, text) => expect(accepts(text)).toBe(false));

  it("explains each key and is plain JSON", () => {
    const text = JSON.stringify(jsonSchema());
    expect(jsonSchema()).toMatchObject({
      $schema: "http://json-schema.org/draft-07/schema#",
      properties: {
        polling: { properties: { sensors: { default: "1m", description: "Readings of one controller." } } },
      },
    });
    expect(text).not.toContain("undefined");
  });
});
