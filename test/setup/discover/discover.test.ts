import { chmod, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { isMap, parseDocument, type YAMLMap } from "yaml";
import { discoverSteps } from "../../../src/setup/discover/command.js";
import { commentText } from "../../../src/saving/yaml-text.js";
import { inEnglish } from "../../../src/language/languages.js";
import { Speech } from "../../../src/terminal/speech.js";
import { loadConfiguration } from "../../../src/config/load.js";
import { controllerTopicId } from "../../../src/settings/controllers.js";
import { plainProfileNames } from "../../../src/simulator/dialects.js";
import { addressTable } from "../../../src/simulator/addresses.js";
import type { Simulator } from "../../../src/simulator/simulator.js";
import { fileWith } from "../../cli/in-process.js";
import { running } from "../../simulator/running.js";
import { configuration, flushes, greenhouse2mqtt, loadedText, token, writes } from "./support/account.js";

const addresses = (some: Readonly<Record<string, { readonly address: string; readonly kind: string }>>) =>
  Object.fromEntries(Object.values(some).map(({ address, kind }) => [address, kind]));

const house = {
  "101": "skylight",
  "102": "shade_curtain",
  "103": "skylight",
  "104": "side_vent",
  "106": "shade_curtain",
  "107": "thermal_curtain",
  "140": "fan_wet_curtain",
  "150": "circulation_fan",
  "210": "irrigation",
  "211": "irrigation",
  "220": "light",
};

/** Codes that some platforms use; each has to be encoded in a request and quoted in YAML or a shell in its own way. */
const oddCodes = ["GH/1", "GH+2", "GH#3", "GH%4", "$GH 5", "温室一", "a: #b", "a/b?c=d"];

/** What `discover` prints about a platform, with a configuration that says nothing else unless told. */
const discovered = async (
  simulator: Simulator,
  more?: Parameters<typeof configuration>[1],
  ...args: readonly string[]
) => greenhouse2mqtt(["discover", "-c", await configuration(simulator, more), ...args]);

describe("of an account of a fleet", () => {
  /** `north` leads to a simulated platform; the fleet says where its broker is. */
  async function fleet() {
    const { businessUrl, realtimeUrl } = await running({ controllers: 1 });
    const own = `platform: { business_url: "${businessUrl}", realtime_url: "${realtimeUrl}", token: plain-token, requests_per_minute: 0 }\n`;
    const file = await fileWith("defaults: { mqtt: { url: mqtt://127.0.0.1:1 } }\n", "fleet.yaml");
    const folder = dirname(file);
    const north = join(folder, "accounts/north.yaml");
    await mkdir(dirname(north));
    await writeFile(north, own, { mode: 0o600 });
    const ended = (...words: readonly string[]) =>
      greenhouse2mqtt(["discover", "--account", "north", "-c", file, ...words], { env: {} });
    return { folder, file, north, own, ended };
  }

  it("the file that is written is the account's own with what was found, for its own place", async () => {
    const { folder, file, north, ended } = await fleet();
    const out = join(folder, "found.yaml");
    const { code, err } = await ended("-o", out);
    expect(err).toContain(
      `${out} written: let it replace ${north}; \`greenhouse2mqtt check ${file}\` checks it\n`,
    );
    expect(code).toBe(0);
    const text = await readFile(out, "utf8");
    expect(text).toContain("GH-0001:");
    expect(text).not.toMatch(/plain-token|defaults/);
    await writeFile(north, text, { mode: 0o600 });
    expect(
      await greenhouse2mqtt(["check", file], { env: { GREENHOUSE_TOKEN: "plain-token" } }),
    ).toMatchObject({ code: 0 });
  });

  it("what is new is told against its own file, which the fleet's file leads to", async () => {
    const { file, north, own, ended } = await fleet();
    const known = `${own}controllers: { GH-0001: { actuators: { roof: { kind: skylight, address: 101 } } } }\n`;
    await writeFile(north, known, { mode: 0o600 });
    for (const merge of [north, file]) {
      const { code, out } = await ended("--merge", merge);
      expect([code, out]).toEqual([0, expect.stringContaining(`New against ${commentText(north, 200)}, by`)]);
      expect(out).not.toContain("address: 101");
    }
  });
});

it("for the page tells how far it is, and then what the configuration does not hold yet; a scan that cannot go on says why", async () => {
  const simulator = await running({ controllers: 1 });
  const config = await configuration(simulator, {
    more: "controllers: { GH-0001: { actuators: { roof: { kind: skylight, address: 101 } } } }",
  });
  const loaded = await loadConfiguration(config, { env: token });
  if (!loaded.ok) throw new Error("the configuration was not taken");
  const around = {
    env: token,
    out: () => undefined,
    err: { write: () => true },
    isTerminal: false,
    speech: new Speech(),
  };
  const end = new AbortController();
  const steps = async () => {
    const all: Readonly<Record<string, unknown>>[] = [];
    const scan = discoverSteps(
      loaded.configuration,
      config,
      { ...around, stop: end.signal },
      { tell: inEnglish, stop: end.signal },
    );
    for await (const step of scan) all.push(step);
    return all;
  };
  const found = await steps();
  const { yaml, notes } = found.at(-1) as { yaml: string; notes: readonly string[] };
  expect(found.filter((step) => "done" in step).length).toBeGreaterThan(3);
  expect(found.find((step) => step["done"] === step["total"])).toBeDefined();
  expect(yaml).toContain("150");
  expect(yaml).not.toContain("address: 101");
  expect(String(notes.at(-1))).toMatch(/^not there yet: .* actuators$/);
  await simulator.close();
  expect((await steps()).at(-1)).toEqual({ problem: expect.stringMatching(/./) as string });
});

const machine = Object.fromEntries(Array.from({ length: 12 }, (_, n) => [String(210 + n), "irrigation"]));

it.each([...plainProfileNames.map((profile) => [3, profile] as const), [50, "default"] as const])(
  "an account of %i controllers in the dialect %s becomes a file that `check` takes, with every actuator, at one flush per type",
  async (controllers, profile) => {
    const simulator = await running({ controllers, profile });
    const config = await configuration(simulator);
    const file = join(dirname(config), "found.yaml");
    const ended = await greenhouse2mqtt(["discover", "-c", config, "-o", file]);
    expect(ended).toMatchObject({ code: 0, out: "" });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await greenhouse2mqtt(["check", file])).toMatchObject({ code: 0 });
    const text = await readFile(file, "utf8");
    const found = await loadedText(text);
    expect(found.commands.read_only).toBe(true);
    const asked = Object.entries(found.controllers).filter(
      // What has readings has an entry, and only controllers have actuators.
      ([code]) => /^(?:GH|FM)-/.test(code),
    );
    expect(asked).toHaveLength(controllers);
    for (const [code, { actuators }] of asked)
      expect(addresses(actuators)).toEqual(code.startsWith("FM-") ? machine : house);
    expect(flushes(simulator)).toBe(controllers * 31);
    expect(writes(simulator)).toEqual([]);
    // Dialects differ in how many parameters of other addresses there are.
    const parameters = text.match(/^ {4}# {3}\w+: \{ .*address: \d{3},/gm) ?? [];
    const machines = asked.filter(([code]) => code.startsWith("FM-")).length;
    expect(parameters).toHaveLength(17 * machines + 6 * (controllers - machines));
  },
);

describe("the file", () => {
  it("names stations, readings with their kinds, running statuses, cameras and current values in comments", async () => {
    const simulator = await running({ controllers: 1 });
    const { out } = await discovered(simulator);
    expect(out).toMatch(/^# Stations: 寿光示范园$/m);
    expect(out).toMatch(
      /^ {2}# 1号日光温室, sunlight greenhouse controller \(C001\), station 寿光示范园, online\n {2}GH-0001:$/m,
    );
    expect(out).toMatch(/# readings: 空气温度 @1 temperature -?[\d.]+ °C, 空气湿度/);
    expect(out).toMatch(/# running statuses: 16 一级风机 off, 17 二级风机 off/);
    expect(out).toMatch(
      /left_skylight: \{ kind: skylight, name: Left skylight, address: 101, type_id: 2 \} # now 10001 \(closed\)/,
    );
    expect(out).toMatch(/^# Cameras, .*CAM-0001 1号球机/m);
    expect(out).toMatch(
      /# Every command is refused while this is true\..*set it to false\.\n {2}read_only: true$/m,
    );
  });

  it("names actuators in the language of the configuration", async () => {
    const simulator = await running({ controllers: 1 });
    const { out } = await discovered(simulator, { more: "homeassistant: { language: zh }" });
    const found = await loadedText(out);
    expect(found.controllers["GH-0001"]?.actuators.left_skylight?.name).toBe("左天窗");
    expect(found.homeassistant.language).toBe("zh");
  });

  it("still passes `check` once its parameters are switched on, and they are read only", async () => {
    const simulator = await running({ controllers: 2 });
    const { out } = await discovered(simulator);
    const switchedOn = out.replace(/^( {4})# (parameters:| {2}\w+: \{)/gm, "$1$2");
    const { controllers } = await loadedText(switchedOn);
    expect(Object.keys(controllers["GH-0001"]?.parameters ?? {})).toHaveLength(6);
    expect(Object.keys(controllers["FM-0002"]?.parameters ?? {})).toHaveLength(17);
    for (const { parameters } of Object.values(controllers))
      for (const { writable } of Object.values(parameters)) expect(writable).toBeUndefined();
  });

  it("has each address that a type lists, as an entry, beside one or behind a #; none is left out", async () => {
    const readings = ["set_points_in_groups", "degrees_apart", "combined_bits"] as const;
    const { out } = await discovered(await running({ controllers: 1, readings }));
    const listed = [...addressTable("C001", { inType: "many", readings: new Set(readings) }).values()].filter(
      ({ group }) => group !== null,
    );
    const named = new Set([...out.matchAll(/address: "?([\w.]+)/g)].map(([, address]) => address));
    expect(listed.length).toBeGreaterThan(100);
    expect(listed.filter(({ address }) => !named.has(address))).toEqual([]);
  });

  it("has a mode that can only be written, behind a #, with its degree beside it", async () => {
    const readings = ["degrees_apart", "mode_write_only"] as const;
    const { out } = await discovered(await running({ controllers: 1, profile: "list", readings }));
    expect(Object.values((await loadedText(out)).controllers["GH-0001"]?.actuators ?? {})).not.toContainEqual(
      expect.objectContaining({ address: "1101" }),
    );
    const uncommented = out.replace(/^( +)# (left_skylight: \{.*mode_reads.*)$/m, "$1$2");
    expect((await loadedText(uncommented)).controllers["GH-0001"]?.actuators).toMatchObject({
      left_skylight: { address: "101", position_address: "1101", mode_reads: "never" },
    });
  });

  it("has the platform's own names of what it offers as parameters", async () => {
    const simulator = await running({
      controllers: 1,
      profile: "records",
      readings: ["set_points_in_groups"],
    });
    const { out } = await discovered(simulator);
    expect(out).toMatch(/# {3}p_\d+: \{ name: \S+, address: /);
  });

  it("has a weather station that stands in the list of stations alone, if it has readings", async () => {
    const simulator = await running({ controllers: 1, readings: ["stations_apart"] });
    const { out } = await discovered(simulator);
    expect(out).toMatch(
      /^ {2}WS-0001:\n {4}# only the list of stations names it: .*\n {4}# readings: 空气温度 /m,
    );
    const found = await loadedText(out);
    expect(Object.keys(found.controllers)).toEqual(["GH-0001", "WS-0001"]);
    const named = await discovered(simulator, {}, "--controller", "WS-0001");
    expect(named.code).toBe(0);
  });

  it("has the same ids in every run, and those of the given file where it has some", async () => {
    const simulator = await running({ controllers: 2 });
    const first = await discovered(simulator);
    const again = await discovered(simulator);
    const ids = async (text: string) =>
      Object.entries((await loadedText(text)).controllers).map(([code, { actuators }]) => [
        code,
        Object.keys(actuators),
      ]);
    expect(await ids(again.out)).toEqual(await ids(first.out));
    const roof = 'roof: { kind: skylight, address: "101", travel_time: 90s }';
    const more = `controllers: { GH-0001: { id: east, actuators: { ${roof} } } }`;
    const kept = (await loadedText((await discovered(simulator, { more })).out)).controllers["GH-0001"];
    expect(kept).toMatchObject({ id: "east", actuators: { roof: { address: "101", travel_time: 90_000 } } });
    expect(Object.values(kept?.actuators ?? {}).filter(({ address }) => address === "101")).toHaveLength(1);
    expect(Object.keys(kept?.actuators ?? {})).toHaveLength(Object.keys(house).length);
  });

  it("is never written over an existing one, which costs no request to find out", async () => {
    const simulator = await running({ controllers: 1 });
    const config = await configuration(simulator);
    const before = await readFile(config, "utf8");
    const ended = await greenhouse2mqtt(["discover", "-c", config, "--out", config]);
    expect(ended).toMatchObject({ code: 2, out: "" });
    expect(ended.err).toContain("never overwritten");
    expect(await readFile(config, "utf8")).toBe(before);
    expect(simulator.control.requests()).toEqual({});
  });
});

describe("secrets", () => {
  it("a literal token and every other literal secret become references, and stand nowhere in the output", async () => {
    const simulator = await running({ controllers: 1 });
    const secrets = ["s3cret-token", "hunter-2-mqtt", "http-t0ken", "0ld-t0ken"];
    const config = await fileWith(`platform:
  business_url: ${simulator.businessUrl} # old token: 0ld-t0ken
  realtime_url: ${simulator.realtimeUrl}
  token: s3cret-token
  requests_per_minute: 0
mqtt: { url: "mqtt://127.0.0.1:1883", username: me, password: hunter-2-mqtt }
http: { port: 8099, token: http-t0ken }
`);
    const { code, out, err } = await greenhouse2mqtt(["discover", "-c", config]);
    expect(code).toBe(0);
    for (const secret of secrets) expect(out + err).not.toContain(secret);
    expect(out).toContain("token: !env GREENHOUSE_TOKEN");
    expect(err).toContain("set GREENHOUSE_MQTT_PASSWORD in the environment");
    const env = { ...token, GREENHOUSE_MQTT_PASSWORD: "other", GREENHOUSE_HTTP_TOKEN: "another" };
    const found = await loadedText(out, env);
    expect(found.mqtt).toMatchObject({ url: "mqtt://127.0.0.1:1883", username: "me", password: "other" });
  });

  it("a new file in another folder has its secrets and its data directory there", async () => {
    const simulator = await running({ controllers: 1 });
    const config = await fileWith(`platform:
  business_url: ${simulator.businessUrl}
  realtime_url: ${simulator.realtimeUrl}
  token: !secret token
  requests_per_minute: 0
data_dir: kept
mqtt: { url: "mqtt://127.0.0.1:1883", username: !secret name, password: !secret name }
`);
    const folder = dirname(config);
    await writeFile(join(folder, "secrets.yaml"), "token: abc-token\nname: 0012\nunused: x\n", {
      mode: 0o600,
    });
    await mkdir(join(folder, "other"));
    await writeFile(join(folder, "other/secrets.yaml"), "name: another\n", { mode: 0o600 });
    const file = join(folder, "other/found.yaml");
    const { code, err } = await greenhouse2mqtt(["discover", "-c", config, "-o", file], { env: {} });
    expect({ code, err }).toMatchObject({
      code: 0,
      err: expect.stringContaining(
        `mqtt.password is kept in ${folder}/other/secrets.yaml as name_2`,
      ) as string,
    });
    expect(await readFile(join(folder, "other/secrets.yaml"), "utf8")).toBe(
      'name: another\ntoken: "abc-token"\nname_2: 0012\n',
    );
    const text = await readFile(file, "utf8");
    expect(text).toContain("data_dir: ../kept\n");
    expect(text).not.toMatch(/stood in the file/);
    expect(await greenhouse2mqtt(["check", file], { env: {} })).toMatchObject({ code: 0, err: "" });
  });

  it("a new file has them in the secrets.yaml beside it, mode 600, beside what stands there already", async () => {
    const simulator = await running({ controllers: 1 });
    const config = await fileWith(`platform:
  business_url: ${simulator.businessUrl}
  realtime_url: ${simulator.realtimeUrl}
  token: s3cret-token
  requests_per_minute: 0
mqtt: { url: "mqtt://127.0.0.1:1883", username: me, password: 0012 }
`);
    const beside = join(dirname(config), "secrets.yaml");
    await writeFile(beside, "mqtt_password: of another # kept", { mode: 0o644 });
    const file = join(dirname(config), "found.yaml");
    const { code, err } = await greenhouse2mqtt(["discover", "-c", config, "-o", file]);
    expect({ code, err }).toMatchObject({
      code: 0,
      err: expect.stringMatching(/set GREENHOUSE_TOKEN in the environment[^]*mqtt_password_2/) as string,
    });
    expect(await readFile(beside, "utf8")).toBe("mqtt_password: of another # kept\nmqtt_password_2: 0012\n");
    expect((await stat(beside)).mode & 0o777).toBe(0o600);
    expect(await readFile(file, "utf8")).toContain("token: !env GREENHOUSE_TOKEN");
    const checked = await greenhouse2mqtt(["check", file], { env: token });
    expect(checked).toMatchObject({ code: 0, err: "" });
  });
});

describe("what the platform writes", () => {
  it("codes that clash as topic ids, or are reserved, get ids of their own", async () => {
    const simulator = await running({ controllers: 1 });
    for (const code of ["gh-0001", "Bridge", "0012", "__proto__"]) simulator.control.addController(code);
    const { code, out } = await discovered(simulator);
    expect(code).toBe(0);
    const { controllers } = await loadedText(out);
    expect(Object.keys(controllers).sort()).toEqual(["0012", "Bridge", "GH-0001", "WS-0001", "gh-0001"]);
    expect(out).toMatch(/^# Devices whose code no configuration can hold, which are not asked: .*__proto__/m);
  });

  it("a controller is asked and written whatever its code is made of, with the topic id that the bridge gives it", async () => {
    const simulator = await running({ controllers: 1, mix: "C001" });
    for (const code of oddCodes) simulator.control.addController(code);
    const { code, out, err } = await discovered(simulator);
    expect(code).toBe(0);
    expect(err).toContain("found 9 devices");
    const { controllers } = await loadedText(out);
    expect(Object.keys(controllers).sort()).toEqual(["GH-0001", ...oddCodes].sort());
    for (const odd of oddCodes) {
      expect(addresses(controllers[odd]?.actuators ?? {})).toEqual(house);
      expect(controllers[odd]?.id).toBe(controllerTopicId(odd));
    }
    expect(flushes(simulator)).toBe(9 * 31);
  });

  it("--controller takes the topic id that the configuration gives", async () => {
    const simulator = await running({ controllers: 2, mix: "C001" });
    const more = "controllers: { GH-0002: { id: east } }";
    const found = await discovered(simulator, { more }, "--controller", "east", "--types", "2");
    expect(found).toMatchObject({ code: 0 });
    expect(Object.keys((await loadedText(found.out)).controllers)).toEqual(["GH-0002"]);
  });

  it("an empty account makes a file without controllers", async () => {
    const simulator = await running({ controllers: 1, mix: "C001" });
    simulator.control.emptyList("null");
    const { code, out } = await discovered(simulator);
    expect(code).toBe(0);
    expect((await loadedText(out)).controllers).toEqual({});
  });
});

/** The file of a first scan, and the way to scan again. */
async function scanned(controllers: number, ...more: readonly string[]) {
  const simulator = await running({ controllers, mix: "C001" });
  for (const code of more) simulator.control.addController(code);
  const config = await configuration(simulator);
  const file = join(dirname(config), "greenhouse.yaml");
  expect(await greenhouse2mqtt(["discover", "-c", config, "--out", file])).toMatchObject({ code: 0 });
  return { simulator, config, file, merge: () => greenhouse2mqtt(["discover", "--merge", file]) };
}

/** Puts a fragment under the same keys of a file, as a person would. */
function pasted(file: string, fragment: string): string {
  const whole = parseDocument(file);
  const add = (into: YAMLMap, from: YAMLMap) => {
    for (const pair of from.items) {
      const held: unknown = into.get(pair.key, true);
      if (isMap(held) && isMap(pair.value)) add(held, pair.value);
      else into.add(pair);
    }
  };
  const root = parseDocument(fragment).contents;
  if (isMap(root)) add(whole.contents as YAMLMap, root);
  return whole.toString({ lineWidth: 0 });
}

describe("discover --merge", () => {
  it("finds nothing new in the file it has just written, whatever codes are made of, also among comments", async () => {
    const { merge, file } = await scanned(1, "GH/1", "温室 #2", "a: b", "'q'");
    const { code, out } = await merge();
    expect(code).toBe(0);
    expect(out).toBe(
      `# Nothing new against ${file}: 5 devices compared by \`discover\` of greenhouse2mqtt ${(await greenhouse2mqtt(["--version"])).out.trim()}.\n`,
    );
  });

  it("prints new controllers and new addresses only; pasted, the file is whole and holds all it held", async () => {
    const { simulator, file, merge } = await scanned(2);
    const text = await readFile(file, "utf8");
    const without = text
      .replace(/^ {6}left_skylight: .*address: 101.*\n/m, "")
      .replace(/^.*address: 501,.*\n/m, "");
    await writeFile(file, without);
    simulator.control.addController("GH-0100", "New house");
    const { code, out, err } = await merge();
    expect(code).toBe(0);
    expect(err).toContain("not there yet: 1 device, 12 actuators");
    expect(out.match(/address: 101,/g)).toHaveLength(2);
    expect(out.match(/GH-0002/g)).toBeNull();
    expect(out).toMatch(/# +machine_parameter_501: \{/);
    const merged = await loadedText(pasted(without, out));
    const before = await loadedText(without);
    expect(Object.keys(merged.controllers)).toEqual([...Object.keys(before.controllers), "GH-0100"]);
    for (const [name, { actuators }] of Object.entries(before.controllers))
      expect(merged.controllers[name]?.actuators).toMatchObject(actuators);
    expect(Object.keys(merged.controllers["GH-0100"]?.actuators ?? {})).toHaveLength(11);
    expect(merged).toMatchObject({ platform: before.platform, mqtt: before.mqtt, commands: before.commands });
  });

  it("leaves alone what a person has renamed, moved or joined", async () => {
    const { file, merge } = await scanned(1);
    const text = await readFile(file, "utf8");
    const own = text
      .replace("left_skylight: { kind: skylight", "roof: { kind: positioner, position_address: 103")
      .replace(/^ {6}right_skylight: .*\n/m, "")
      .replace("side_vent: {", "side_vent: { stop: { address: 150, value: 1 },")
      .replace(/^ {6}circulation_fan: .*\n/m, "");
    await writeFile(file, own);
    await loadedText(own);
    expect((await merge()).out).toContain("# Nothing new against");
  });

  it("gives a new address an id that the file does not use", async () => {
    const { file, merge } = await scanned(1);
    const text = await readFile(file, "utf8");
    await writeFile(file, text.replace(/^( {6}left_skylight: .*)address: 101/m, "$1address: 199"));
    const { out } = await merge();
    expect(out).toContain(
      "left_skylight_101: { kind: skylight, name: Left skylight (101), address: 101, type_id: 2 }",
    );
    await loadedText(pasted(await readFile(file, "utf8"), out));
  });

  it("never writes the file, whatever was found", async () => {
    const { simulator, file, merge } = await scanned(1);
    simulator.control.addController("GH-0100");
    await chmod(file, 0o400);
    const [text, facts] = [await readFile(file, "utf8"), await stat(file)];
    expect(await merge()).toMatchObject({ code: 0 });
    expect(await readFile(file, "utf8")).toBe(text);
    expect((await stat(file)).mtimeMs).toBe(facts.mtimeMs);
    const over = await greenhouse2mqtt(["discover", "--merge", file, "--out", file]);
    expect(over).toMatchObject({ code: 2 });
    expect(await readFile(file, "utf8")).toBe(text);
  });

  it("compares with one file while another leads to the platform", async () => {
    const { config, file } = await scanned(1);
    const elsewhere = (await readFile(file, "utf8")).replaceAll(/_url: .*/g, "_url: http://127.0.0.1:9");
    await writeFile(file, elsewhere);
    const { code, out } = await greenhouse2mqtt(["discover", "-c", config, "--merge", file]);
    expect({ code, nothing: out.startsWith("# Nothing new") }).toEqual({ code: 0, nothing: true });
  });

  it("says which known controllers it could not look into", async () => {
    const { simulator, merge } = await scanned(2);
    simulator.control.setOnline("GH-0002", false);
    const { out, err } = await merge();
    expect(out).toContain("# GH-0002 may have more: not connected; run discover again.");
    expect(err).toContain("not connected: GH-0002");
  });

  it("a file that is no configuration is a usage error, before any request", async () => {
    const { simulator, file, merge } = await scanned(1);
    const before = flushes(simulator);
    await writeFile(file, "controlers: {}\n");
    expect(await merge()).toMatchObject({ code: 2, out: "" });
    expect(flushes(simulator)).toBe(before);
  });
});
