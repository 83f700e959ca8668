import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { formatProblem } from "../../src/settings/problem.js";
import { type ActuatorKind, actuatorKinds, kindRows } from "../../src/greenhouse/actuator-kinds.js";
import { load } from "../config/loading.js";
import { addonProblems, optionProblems, type Schema, translationProblems } from "./support/addon-rules.js";
import { inProject, textOf } from "./support/project.js";

const folder = "deploy/home-assistant-addon/greenhouse2mqtt";

interface Addon {
  readonly version: string;
  readonly options: Readonly<Record<string, unknown>>;
  readonly schema: Schema;
}

interface Options {
  readonly configurationOf: (options: object, service: object | null) => Files;
  readonly environmentOf: (options: object, service: object | null) => Readonly<Record<string, string>>;
  readonly needsService: (options: object, file: string | null) => boolean;
}

interface Files {
  readonly configuration: string;
  readonly secrets: string;
}

const addonOf = async (): Promise<Addon> => parse(await textOf(`${folder}/config.yaml`)) as Addon;

describe("the Home Assistant app's config.yaml", () => {
  it("keeps the Supervisor's rules", async () => {
    const addon: unknown = await addonOf();
    expect(addonProblems(addon)).toEqual([]);
  });

  it("lies in a repository as the store reads it, with an icon, documents and the ingress of its own port", async () => {
    const repository = parse(await textOf(`${folder}/../repository.yaml`)) as object;
    expect(Object.keys(repository)).toEqual(["name", "maintainer"]);
    expect(await addonOf()).toMatchObject({ ingress: true, ingress_port: 8099 });
    for (const name of ["icon.png", "DOCS.md", "Dockerfile"])
      expect(existsSync(inProject(`${folder}/${name}`))).toBe(true);
  });

  it("has the version of the program", async () => {
    const program = JSON.parse(await textOf("package.json")) as { readonly version: string };
    expect((await addonOf()).version).toBe(program.version);
  });

  it.each(["en", "zh-Hans"])("has a name for every option in %s, and for no other", async (language) => {
    const { schema } = await addonOf();
    const translation: unknown = parse(await textOf(`${folder}/translations/${language}.yaml`));
    expect(translationProblems(translation, schema)).toEqual([]);
  });

  it("offers every kind but the one whose words are not known either", async () => {
    const { schema } = await addonOf();
    const [actuator] = schema["actuators"] as readonly Readonly<Record<string, string>>[];
    const offered = /^list\((.*)\)$/.exec(actuator?.["kind"] ?? "")?.[1]?.split("|");
    expect(offered).toEqual(actuatorKinds.filter((kind) => kind !== "custom"));
    expect(offered?.filter((kind) => kindRows[kind as ActuatorKind].configured)).toEqual(["motor"]);
  });

  it("is refused by the rules when it breaks them", async () => {
    const addon = await addonOf();
    const broken = (change: object) => addonProblems({ ...addon, ...change }).map((one) => one.split(":")[0]);
    expect(broken({ name: undefined, slug: "a b", arch: ["armv9"] })).toEqual(["name", "slug", "arch.0"]);
    expect(broken({ schema: { ...addon.schema, a: "text" } })).toEqual(["schema.a"]);
    expect(broken({ unknown: 1 })).toEqual([""]);
    expect(broken({ options: { token: "x", language: "en" } })).toEqual(["options.token"]);
    expect(broken({ options: { language: "fr" } })).not.toEqual([]);
  });
});

describe("the repository of apps that `assemble` makes", () => {
  function assembled(env: Readonly<Record<string, string>>) {
    const made = mkdtempSync(join(tmpdir(), "greenhouse2mqtt-apps-"));
    const script = inProject(`${folder}/../assemble`);
    execFileSync("bash", [script, made], { env: { PATH: process.env["PATH"], ...env } });
    const app = join(made, "greenhouse2mqtt");
    const addon = parse(readFileSync(join(app, "config.yaml"), "utf8")) as Addon & {
      readonly image?: string;
    };
    expect(addonProblems(addon)).toEqual([]);
    return { files: readdirSync(app), image: addon.image };
  }

  it("has all that Home Assistant needs to build the image", () => {
    const dist = mkdtempSync(join(tmpdir(), "greenhouse2mqtt-dist-"));
    writeFileSync(join(dist, "main.js"), "");
    const { files, image } = assembled({ DIST: dist });
    const copied = [
      ...readFileSync(inProject(`${folder}/Dockerfile`), "utf8").matchAll(/^COPY (?:--\S+ )*(.+) \S+$/gm),
    ].flatMap(([, names = ""]) => names.split(" "));
    expect(copied).toContain("dist");
    expect(files).toEqual(expect.arrayContaining(["Dockerfile", ...copied]));
    expect(image).toBeUndefined();
  });

  it("has of a published image only its name and what the store shows", () => {
    const { files, image } = assembled({ IMAGE: "ghcr.io/owner/greenhouse2mqtt-app" });
    expect(files).toEqual(["CHANGELOG.md", "DOCS.md", "config.yaml", "icon.png", "translations"]);
    expect(image).toBe("ghcr.io/owner/greenhouse2mqtt-app");
  });
});

describe("the options as a configuration", () => {
  let options: Options;
  beforeAll(async () => {
    options = (await import(pathToFileURL(inProject(`${folder}/options.mjs`)).href)) as Options;
  });

  const roof = { kind: "skylight", address: "0101", name: "天窗: 1", travel_time: "90s" };
  const hosts = {
    business_url: "https://business.example.com",
    realtime_url: "https://realtime.example.com",
  };
  const filled = {
    ...hosts,
    token: 'to"ken:#1',
    language: "zh",
    read_only: false,
    page_role: "operator",
    log_level: "debug",
    sign_in: [],
    actuators: [
      { ...roof, controller: "GH-0001", id: "roof" },
      { controller: "GH-0001", id: "fans", kind: "fan_wet_curtain", address: "140" },
      { controller: "FM-0002", id: "valve", kind: "irrigation", address: "210" },
    ],
    left_out: [],
  };
  const motor = { kind: "motor", address: "300", open_value: "00000001", close_value: "00000010" };
  const everything = {
    ...filled,
    business_url: "http://192.168.1.20:8080",
    allow_insecure: true,
    time_zone: "UTC",
    requests_per_minute: 120,
    sensor_names: "platform",
    actuators: [
      { ...roof, controller: "GH-0001", id: "roof", inverted: true, type_id: 2 },
      { ...motor, controller: "GH-0001", id: "vent", stop_value: "00000111" },
    ],
    left_out: ["GH-0009"],
  };
  const service = { host: "core-mosquitto", port: 1883, ssl: false, username: "addons", password: "p'a: ss" };

  const configured = async (
    given: object,
    mqtt: object | null = service,
    warnings: readonly string[] = [],
  ) => {
    const { configuration, secrets } = options.configurationOf(given, mqtt);
    const result = await load(configuration, { secrets, env: {} });
    if (!result.ok) throw new Error(result.problems.map(formatProblem).join("\n"));
    expect(result.warnings.map(formatProblem)).toEqual(warnings);
    return result.configuration;
  };

  it("keep the rules of their own schema", async () => {
    const { schema } = await addonOf();
    expect(optionProblems(filled, schema)).toEqual([]);
    expect(optionProblems(everything, schema)).toEqual([]);
    expect(optionProblems({ ...filled, requests_per_minute: -1 }, schema)).not.toEqual([]);
  });

  it("are all used: with everything that the page offers, each key reaches the bridge", async () => {
    const { schema } = await addonOf();
    const told = new Set(Object.keys(everything));
    const own = ["mqtt_url", "mqtt_username", "mqtt_password", "configuration_file"];
    expect(Object.keys(schema).filter((option) => !told.has(option) && !own.includes(option))).toEqual([]);
    const { platform, language, homeassistant, controllers } = await configured(everything, service, [
      "config.yaml:7:19 platform.allow_insecure: the token travels unencrypted and can be read on the way",
    ]);
    expect({ platform, language, homeassistant, controllers }).toMatchObject({
      platform: { allow_insecure: true, time_zone: "UTC", requests_per_minute: 120 },
      language: "zh",
      homeassistant: { sensor_names: "platform" },
      controllers: {
        "GH-0001": {
          actuators: {
            roof: { kind: "skylight", type_id: 2, homeassistant: { inverted: true } },
            vent: {
              kind: "motor",
              values: { open: "00000001", close: "00000010", stop: "00000111" },
            },
          },
        },
        "GH-0009": { ignore: true },
      },
    });
  });

  it("reach the bridge as they were given", async () => {
    const { platform, mqtt, language, commands, http, log, controllers } = await configured(filled);
    expect({ platform, mqtt, language, commands, http, log }).toMatchObject({
      platform: { ...hosts, token: 'to"ken:#1' },
      mqtt: { url: "mqtt://core-mosquitto:1883", username: "addons", password: "p'a: ss" },
      language: "zh",
      commands: { read_only: false },
      http: { host: "0.0.0.0", port: 8099, ingress: { enabled: true, role: "operator" } },
      log: { level: "debug" },
    });
    expect(Object.keys(controllers)).toEqual(["GH-0001", "FM-0002"]);
    expect(controllers["GH-0001"]?.actuators).toMatchObject({
      roof: { ...roof, travel_time: 90_000 },
      fans: { kind: "fan_wet_curtain", address: "140" },
    });
  });

  it("sign in with the fields of the platform", async () => {
    const body = { account: "0012", password: "true" };
    const fields = Object.entries(body).map(([name, value]) => ({ name, value }));
    const { platform } = await configured({ ...filled, token: undefined, sign_in: fields });
    expect(platform.sign_in?.body).toEqual(body);
  });

  it("use another broker where one is named, and TLS where Home Assistant's does", async () => {
    const other = { ...filled, mqtt_url: "mqtts://broker.example.com", mqtt_username: "me" };
    const { mqtt } = await configured(other, null);
    expect(mqtt).toMatchObject({ url: "mqtts://broker.example.com", username: "me" });
    expect(mqtt.password).toBeUndefined();
    const secure = await configured(filled, { ...service, ssl: true, port: 8883 });
    expect(secure.mqtt.url).toBe("mqtts://core-mosquitto:8883");
  });

  it("put no secret into config.yaml", () => {
    const { configuration } = options.configurationOf(filled, service);
    expect(configuration).not.toContain(filled.token);
    expect(configuration).not.toContain("p'a: ss");
  });

  describe("with a configuration file of the user's own", () => {
    const { token } = filled;
    const own = { ...filled, configuration_file: "mine.yaml" };

    it("only leave the broker's variables out where there is no service", () =>
      expect(options.environmentOf(own, null)).toEqual({ GREENHOUSE_TOKEN: token }));

    it("pass on the service, or the broker of the options", () => {
      expect(options.environmentOf(own, service)).toEqual({
        MQTT_URL: "mqtt://core-mosquitto:1883",
        MQTT_USERNAME: "addons",
        MQTT_PASSWORD: "p'a: ss",
        GREENHOUSE_TOKEN: token,
      });
      expect(options.environmentOf({ ...own, token: "", mqtt_url: "mqtt://b.example" }, null)).toEqual({
        MQTT_URL: "mqtt://b.example",
      });
    });

    it.each([
      ["the file asks for it", "mqtt: { url: !env MQTT_URL }", true],
      ["the file names its own broker", "mqtt: { url: mqtt://b.example }", false],
      ["the file cannot be read", "", false],
      ["there is no such file, but options", null, true],
    ])("wait for the service as it is needed: %s", (_, file, isNeeded) => {
      expect(options.needsService(own, file)).toBe(isNeeded);
      expect(options.needsService({ ...own, mqtt_url: "mqtt://b.example" }, file)).toBe(false);
    });
  });

  it.each([
    ["no broker", {}, null, /install the app «Mosquitto broker», or set mqtt_url/],
    ["no credential", { token: "" }, service, /set token, or the fields of sign_in/],
    ["two credentials", { sign_in: [{ name: "a", value: "b" }] }, service, /Only one of token and sign_in/],
    [
      "two actuators of one id",
      { actuators: [...filled.actuators, ...filled.actuators] },
      service,
      /GH-0001 has two of the id "roof"/,
    ],
    [
      "an actuator of what is left out",
      { left_out: ["FM-0002"] },
      service,
      /FM-0002 stands in left_out too, so it has no actuators/,
    ],
  ])("say what to do when there is %s", (_, change, mqtt, message) =>
    expect(() => options.configurationOf({ ...filled, ...change }, mqtt)).toThrow(message),
  );
});
