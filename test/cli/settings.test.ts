import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { fileWith, folder, greenhouse2mqtt } from "./in-process.js";

const text = `platform:
  business_url: http://127.0.0.1:1 # in the cellar
  realtime_url: http://127.0.0.1:2
  token: abc-token-1
controllers:
  GH-0001: { name: East }
`;

const run = (file: string, ...words: readonly string[]) => greenhouse2mqtt(["config", ...words, "-c", file]);

describe("config", () => {
  it("get prints what stands there, the default, or only that a secret is there", async () => {
    const file = await fileWith(text);
    expect(await run(file, "get", "controllers.GH-0001.name")).toMatchObject({ code: 0, out: "East\n" });
    expect(await run(file, "get", "polling.sensors")).toMatchObject({
      code: 0,
      out: "1m\n",
      err: "(the default; the file does not set it)\n",
    });
    expect(await run(file, "get", "platform")).toMatchObject({
      code: 0,
      out: "platform.business_url: http://127.0.0.1:1\nplatform.realtime_url: http://127.0.0.1:2\nplatform.token: [hidden]\n",
    });
    expect(await run(file, "get", "polling.sensor")).toMatchObject({
      code: 2,
      err: 'polling.sensor is no key of the configuration, did you mean "sensors"?\n',
    });
  });

  it("set changes the text at its place and says what changed", async () => {
    const file = await fileWith(text);
    const { code, out } = await run(file, "set", "controllers.GH-0001.name", "West");
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(
        /\n-  GH-0001: \{ name: East \}\n\+  GH-0001: \{ name: West \}\nsaved; no bridge is running\n$/,
      ),
    ]);
    expect(await readFile(file, "utf8")).toBe(text.replace("East", "West"));
  });

  it("--diff shows it and writes nothing", async () => {
    const file = await fileWith(text);
    const { code, out } = await run(file, "set", "commands.read_only", "true", "--diff");
    expect([code, out]).toEqual([0, expect.stringContaining("+commands:\n+  read_only: true\n")]);
    expect(out).not.toContain("abc-token-1");
    expect(await readFile(file, "utf8")).toBe(text);
  });

  it("refuses what check refuses, and writes nothing", async () => {
    const file = await fileWith(text);
    expect(await run(file, "set", "polling.sensors", "soon")).toMatchObject({
      code: 2,
      err: "polling.sensors: expected a duration such as 500ms, 30s, 5m or 1h, at least 1s\n",
    });
    expect(await run(file, "set", "polling.sensor", "5s")).toMatchObject({
      code: 2,
      err: expect.stringContaining('unknown key, did you mean "sensors"?') as string,
    });
    expect(await run(file, "unset", "platform.business_url")).toMatchObject({ code: 2 });
    expect(await readFile(file, "utf8")).toBe(text);
  });

  it("puts a secret into secrets.yaml", async () => {
    const file = await fileWith(text);
    expect(await run(file, "set", "platform.token", "another-token")).toMatchObject({
      code: 0,
      out: expect.stringContaining("in secrets.yaml: platform_token\n") as string,
    });
    expect(await readFile(file, "utf8")).toBe(text.replace("abc-token-1", "!secret platform_token"));
    expect(await readFile(join(dirname(file), "secrets.yaml"), "utf8")).toBe(
      "platform_token: another-token\n",
    );
  });

  it("of a fleet changes the file of the account", async () => {
    const place = await folder();
    await writeFile(
      join(place, "fleet.yaml"),
      "accounts: .\ndefaults:\n  mqtt: { url: mqtt://127.0.0.1:1 }\n",
    );
    await writeFile(join(place, "north.yaml"), text.replace("abc-token-1", "abc-token-2"));
    const ended = await greenhouse2mqtt([
      ..."config set controllers.GH-0001.area North --account north -c".split(" "),
      join(place, "fleet.yaml"),
    ]);
    expect(ended).toMatchObject({ code: expect.any(Number) as number });
    expect(await readFile(join(place, "north.yaml"), "utf8")).toContain("{ name: East, area: North }");
  });

  describe("of an account with mistakes", () => {
    const fleetText =
      "accounts: accounts\nhttp: { port: 8099 }\ndefaults:\n  mqtt: { url: mqtt://127.0.0.1:1 }\n";
    const north = `${text.replace("abc-token-1", "abc-token-2")}http: { port: 8099 }\n`;

    async function fleet(own: string) {
      const place = await folder();
      await mkdir(join(place, "accounts"));
      await writeFile(join(place, "fleet.yaml"), fleetText);
      await writeFile(join(place, "accounts/north.yaml"), own, { mode: 0o600 });
      const ended = (words: string, account = "north") =>
        greenhouse2mqtt([
          "config",
          ...words.split(" "),
          "--account",
          account,
          "-c",
          join(place, "fleet.yaml"),
        ]);
      const read = (name: string) => readFile(join(place, name), "utf8");
      return { place, ended, read };
    }

    it("changes its own file and never that of the fleet", async () => {
      const { place, ended, read } = await fleet(north);
      const { code, err } = await ended("set http.port 8100");
      expect([code, err]).toEqual([0, ""]);
      expect(await read("accounts/north.yaml")).toBe(north.replace("8099", "8100"));
      expect(await read("fleet.yaml")).toBe(fleetText);
      expect(await readdir(join(place, "data/north/backups"))).toHaveLength(1);
      expect(await readdir(join(place, "accounts"))).toEqual(["north.yaml"]);
    });

    it("corrects a mistake that it has itself", async () => {
      const { ended, read } = await fleet(`${text}polling: { sensors: soon }\n`);
      expect(await ended("get polling.sensors")).toMatchObject({ code: 0, out: "soon\n" });
      expect(await ended("set polling.sensors 2m")).toMatchObject({ code: 0 });
      expect(await read("accounts/north.yaml")).toContain("{ sensors: 2m }");
    });

    it("refuses an account that is not there, and shows nothing of the fleet's own file", async () => {
      const { ended, read } = await fleet(text);
      for (const words of ["get http.port", "set http.port 8100"])
        expect(await ended(words, "nroth")).toMatchObject({
          ...{ code: 2, out: "" },
          err: expect.stringContaining('there is no account "nroth", did you mean "north"?') as string,
        });
      expect(await read("fleet.yaml")).toBe(fleetText);
    });
  });

  it("speaks Chinese", async () => {
    const file = await fileWith(`language: zh\n${text}`);
    expect(
      await greenhouse2mqtt(["config", "set", "a..b", "1", "-c", file], { env: { LANG: "zh_CN.UTF-8" } }),
    ).toMatchObject({
      code: 2,
      err: "“a..b”不是键；键的写法如 controllers.GH-0001.name 或 http.users[0].role\n",
    });
  });
});
