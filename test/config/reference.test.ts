import { serviceNames } from "../../src/notify/services.js";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { jsonSchema } from "../../src/config/schema.js";
import { loaded, notifySecrets, platform, problemLines } from "./loading.js";
import { exampleText, referencePages, referenceTable } from "./support/reference.js";
import { chinese, english } from "./support/reference-words.js";

const inProject = (name: string) => new URL(`../../${name}`, import.meta.url);
const project = (name: string) => readFile(inProject(name), "utf8");

const languages = [
  ["docs", english],
  ["docs/zh", chinese],
] as const;

if (process.env["REFERENCE"] === "write") {
  await writeFile(inProject("config.example.yaml"), exampleText());
  for (const [folder, words] of languages)
    for (const [name, text] of referencePages(words))
      await writeFile(inProject(`${folder}/configuration/${name}.md`), text);
}

const surroundings = {
  env: { GREENHOUSE_TOKEN: "token-of-the-account" },
  secrets: [
    "platform_password: a\nmqtt_password: b\nhttp_token: c\nnats: d",
    notifySecrets,
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

  it("shows values that are right also where they are comments", async () => {
    const lines = await problemLines(everything, surroundings);
    const ofGuard = "actuator status below is is_not moving"
      .split(" ")
      .map((key) => `limits.guards.wind.${key}`);
    expect(lines.map((line) => line.split(/:? /)[1])).toEqual([
      ...["platform.token_file", "platform.sign_in", "mqtt.tls"],
      ...serviceNames.slice(1).map((one) => `notify.ways.phone.${one}`),
      ...["limits.not_running_after", ...ofGuard].map(
        (key) => `controllers.GH-0001.actuators.left_skylight.${key}`,
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

describe.each(languages)("%s/configuration", (folder, words) => {
  const pages = referencePages(words);

  it("has a page for each section, and no other (npm run reference writes them anew)", async () => {
    expect((await readdir(inProject(`${folder}/configuration`))).sort()).toEqual(
      [...pages.keys()].map((name) => `${name}.md`).sort(),
    );
    for (const [name, text] of pages) expect(await project(`${folder}/configuration/${name}.md`)).toBe(text);
  });

  it("is listed page by page", async () => {
    const list = await project(`${folder}/configuration.md`);
    expect([...pages.keys()].filter((name) => !list.includes(`(configuration/${name}.md)`))).toEqual([]);
  });
});

it("every key of the reference has its meaning in Chinese", () => {
  const rows = referenceTable(chinese).split("\n").slice(2);
  const meanings = rows.map((row) => row.split(/(?<!\\) \| /)[3] ?? "");
  expect(rows.length).toBeGreaterThan(250);
  expect(rows.filter((_, at) => !/\p{Script=Han}/u.test(meanings[at] ?? ""))).toEqual([]);
});

describe("the JSON Schema", () => {
  const schema = z.fromJSONSchema(jsonSchema());
  const accepts = (text: string) => {
    const plain = text.replace(/!(?:env|secret) /g, "");
    return schema.safeParse(parse(plain)).success;
  };

  it.each([
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

  it("explains each key", () =>
    expect(jsonSchema()).toMatchObject({
      $schema: "http://json-schema.org/draft-07/schema#",
      properties: {
        polling: { properties: { sensors: { default: "1m", description: expect.any(String) as unknown } } },
      },
    }));
});
