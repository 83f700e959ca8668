import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { loadConfiguration, withTexts } from "../../../src/config/load.js";
import { type Answers, type Credential, firstFiles, secretLines } from "../../../src/setup/init/answers.js";
import {
  addLines,
  FileExists,
  mustTakeFiles,
  secretNames,
  writeNew,
} from "../../../src/setup/init/new-file.js";

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "init-test-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

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
    await fc.assert(
      fc.asyncProperty(
        line,
        line,
        line,
        fc.stringMatching(/^[!-~]{1,60}$/),
        async (account, user, password, token) => {
          const secret = { from: "secrets", text: password } as const;
          const mqtt = { url: "mqtt://broker.example:1883", username: user, password: secret };
          const signIn = { sign_in: { body: { account, password: secret } } };
          const first = await read({ platform: platform(signIn), mqtt });
          const second = await read({
            platform: platform({ token: { from: "secrets", text: token } }),
            mqtt: {},
          });
          if (!first.ok || !second.ok) throw new Error(JSON.stringify([first, second]));
          expect(first.configuration.platform.sign_in?.body).toEqual({ account, password });
          expect(first.configuration.mqtt).toMatchObject({ username: user, password });
          expect(second.configuration.platform.token).toBe(token);
          expect(second.configuration.commands.read_only).toBe(true);
          expect(first.warnings).toEqual([]);
        },
      ),
    );
  });

  it("holds no secret itself", () => {
    const { configuration, secrets } = firstFiles(
      {
        platform: platform({ token: { from: "secrets", text: "canary-1" } }),
        mqtt: { url: "mqtt://a:1", username: "u", password: { from: "secrets", text: "canary-2" } },
      },
      new Set(["mqtt_password"]),
    );
    expect(configuration).not.toMatch(/canary/);
    expect([...secrets]).toEqual([
      ["platform_token", "canary-1"],
      ["mqtt_password_2", "canary-2"],
    ]);
  });

  it("refers to variables and files where they were named", async () => {
    const fromEnv = await read(
      { platform: platform({ token: { from: "env", text: "A_TOKEN" } }), mqtt: {} },
      { A_TOKEN: "from-env" },
    );
    const fromFile = await read({
      platform: platform({ token_file: "/run/secrets/a b" }),
      mqtt: {},
    });
    expect(fromEnv.ok && fromEnv.configuration.platform.token).toBe("from-env");
    expect(fromFile.ok && fromFile.configuration.platform.token_file).toBe("/run/secrets/a b");
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
    const path = join(await folder(), "secrets.yaml");
    await writeFile(path, text);
    expect(await secretNames(path)).toEqual(names);
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
