import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { loadConfiguration, withTexts } from "../../../src/config/load.js";
import { type Answers, type Credential, firstFiles, secretLines } from "../../../src/setup/init/answers.js";
import {
  addLines,
  FileExists,
  mustTakeFiles,
  secretNames,
  writeNew,
} from "../../../src/setup/init/new-file.js";
import { fileWith, folder } from "../../cli/in-process.js";

/** Reads the two files as the program would. */
async function read(answers: Answers, env: Record<string, string> = {}) {
  const { configuration, secrets } = firstFiles(answers, new Set());
  const texts = { "config.yaml": configuration, "secrets.yaml": secretLines(secrets) };
  return loadConfiguration("config.yaml", { readFile: withTexts(texts), env });
}

const platform = (credential: Credential) => ({
  business_url: "https://business.example.com",
  realtime_url: "https://realtime.example.com",
  ...credential,
});
const line = fc.stringMatching(/^[!-~\u4e00-\u4eff]([ -~\u4e00-\u4eff]{0,30}[!-~\u4e00-\u4eff])?$/);

describe("the written configuration", () => {
  it("passes check and means exactly what was answered, whatever the secrets and names are", async () => {
    const anyToken = fc.stringMatching(/^[!-~]{1,60}$/);
    await fc.assert(
      fc.asyncProperty(line, line, line, anyToken, async (account, user, text, token) => {
        const password = { from: "secrets", text } as const;
        const mqtt = { url: "mqtt://broker.example:1883", username: user, password };
        const signIn = await read({ platform: platform({ sign_in: { body: { account, password } } }), mqtt });
        const plain = await read({
          platform: platform({ token: { from: "secrets", text: token } }),
          mqtt: {},
        });
        if (!signIn.ok || !plain.ok) throw new Error(JSON.stringify([signIn, plain]));
        expect(signIn.configuration.platform.sign_in?.body).toEqual({ account, password: text });
        expect(signIn.configuration.mqtt).toMatchObject({ username: user, password: text });
        expect(signIn.warnings).toEqual([]);
        expect(plain.configuration.platform.token).toBe(token);
        expect(plain.configuration.commands.read_only).toBe(true);
      }),
    );
  });

  it("holds no secret itself", () => {
    const token = { from: "secrets", text: "canary-1" } as const;
    const mqtt = {
      url: "mqtt://a:1",
      username: "u",
      password: { from: "secrets", text: "canary-2" },
    } as const;
    const files = firstFiles({ platform: platform({ token }), mqtt }, new Set(["mqtt_password"]));
    expect(files.configuration).not.toMatch(/canary/);
    expect([...files.secrets]).toEqual([
      ["platform_token", "canary-1"],
      ["mqtt_password_2", "canary-2"],
    ]);
  });

  it("refers to variables and files where they were named", async () => {
    const answers = (credential: Credential) => ({ platform: platform(credential), mqtt: {} });
    const named = await read(answers({ token: { from: "env", text: "A_TOKEN" } }), { A_TOKEN: "from-env" });
    const filed = await read(answers({ token_file: "/run/secrets/a b" }));
    expect(named.ok && named.configuration.platform.token).toBe("from-env");
    expect(filed.ok && filed.configuration.platform.token_file).toBe("/run/secrets/a b");
  });
});

describe("files", () => {
  it("a new one is whole, of mode 600, and leaves nothing beside it", async () => {
    const home = await folder();
    await writeNew(join(home, "config.yaml"), "a: 1\n");
    expect(await readFile(join(home, "config.yaml"), "utf8")).toBe("a: 1\n");
    expect((await stat(join(home, "config.yaml"))).mode & 0o777).toBe(0o600);
    expect(await readdir(home)).toEqual(["config.yaml"]);
  });

  it("one that is there is never overwritten, also when ten write at once", async () => {
    const home = await folder();
    const path = join(home, "config.yaml");
    const written = await Promise.allSettled(
      Array.from({ length: 10 }, (_, index) => writeNew(path, `${index}\n`)),
    );
    const won = written.findIndex(({ status }) => status === "fulfilled");
    const lost = written.flatMap((one) => (one.status === "rejected" ? [one.reason as unknown] : []));
    expect(lost).toHaveLength(9);
    for (const reason of lost) expect(reason).toBeInstanceOf(FileExists);
    expect(await readFile(path, "utf8")).toBe(`${won}\n`);
    expect(await readdir(home)).toEqual(["config.yaml"]);
  });

  it("secrets are added behind what is there, which stays byte by byte, and nobody else may read them", async () => {
    const home = await folder();
    const path = join(home, "secrets.yaml");
    await writeFile(path, "# mine\nother:   'x'", { mode: 0o644 });
    await addLines(path, secretLines(new Map([["platform_token", 'a"b']])));
    expect(await readFile(path, "utf8")).toBe('# mine\nother:   \'x\'\nplatform_token: "a\\"b"\n');
    expect((await stat(path)).mode & 0o777).toBe(0o600);
    expect(await secretNames(path)).toEqual(new Set(["other", "platform_token"]));
  });

  it.each([
    ["", new Set()],
    ["# only a comment\n", new Set()],
    ["a: 1\nb: 2\n", new Set(["a", "b"])],
    ["- a\n", null],
    ["{a: 1}\n", null],
    ["a: [\n", null],
  ])("names of a secrets file %j", async (text, names) => {
    expect(await secretNames(await fileWith(text, "secrets.yaml"))).toEqual(names);
  });
});

describe("a place that takes no files", () => {
  it.each([
    ["a folder that is not there", "nodir", "does not exist; make it first"],
    ["a file in place of a folder", "afile", "is a file, not a folder"],
  ])("%s is named with the remedy", async (_, name, remedy) => {
    const place = await folder();
    await writeFile(join(place, "afile"), "");
    await expect(mustTakeFiles(join(place, name))).rejects.toThrow(remedy);
    await expect(mustTakeFiles(join(place, name))).rejects.toThrow(join(place, name));
    await expect(writeNew(join(place, name, "f.yaml"), "a: 1\n")).rejects.toThrow(remedy);
    expect(await readdir(place)).toEqual(["afile"]);
  });

  it("a folder where the secrets should be is named", async () => {
    const place = await folder();
    await mkdir(join(place, "secrets.yaml"));
    await expect(secretNames(join(place, "secrets.yaml"))).rejects.toThrow(/secrets\.yaml: a folder is/);
  });
});
