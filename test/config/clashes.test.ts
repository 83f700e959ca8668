import { describe, expect, it } from "vitest";
import { clashes, exclude, sharedAnnouncements, sharedControllers } from "../../src/config/clashes.js";
import { formatProblem } from "../../src/settings/problem.js";
import { loaded, platform } from "./loading.js";

/** Two configurations that differ in everything two bridges must not share. */
const east = `${platform}mqtt: { url: mqtt://broker.lan, client_id: east, base_topic: east }
http: { port: 8101 }
data_dir: /var/lib/east
controllers: { GH-1: }
`;
const west = `${platform}mqtt: { url: mqtt://broker.lan, client_id: west, base_topic: west }
http: { port: 8102 }
data_dir: /var/lib/west
controllers: { GH-2: }
`;

async function clashLines(...texts: readonly string[]): Promise<string[]> {
  const names = ["east.yaml", "west.yaml", "north.yaml"];
  const files = texts.map((text, at) => loaded(text, { file: names[at] ?? "more.yaml" }));
  const all = await Promise.all(files);
  return [...clashes(all), ...sharedControllers(all), ...sharedAnnouncements(all)].map(formatProblem);
}

describe("several files", () => {
  it("that share nothing do not clash, nor does one alone", async () => {
    expect(await clashLines(east, west)).toEqual([]);
    expect(await clashLines(east)).toEqual([]);
  });

  it.each([
    ["client_id: west", "client_id: east", "5:44 mqtt.client_id", "the same client_id at the same broker"],
    [
      "base_topic: west",
      "base_topic: east",
      "5:62 mqtt.base_topic",
      "the same base_topic at the same broker",
    ],
    ["8102", "8101", "6:15 http.port", "the same port"],
    ["/var/lib/west", "/var/lib/x/../east", "7:11 data_dir", "the same data_dir"],
    ["GH-2", "GH-1", "8:16 controllers.GH-1", "the same controller"],
  ])("%s → %s is a clash", async (own, other, place, what) => {
    const lines = await clashLines(east, west.replace(own, other));
    expect(lines).toEqual([`west.yaml:${place}: ${what} as east.yaml:${place}`]);
  });

  it.each([
    ["sparkplug: { enabled: true }", "sparkplug: { enabled: true }", 1],
    ["sparkplug: { enabled: true }", "sparkplug: { enabled: true, node: west }", 0],
    ["sparkplug: { enabled: true }", "sparkplug: { enabled: true, group: west }", 0],
    ["sparkplug: { enabled: true }", "sparkplug: { enabled: false }", 0],
  ])("%s beside %s makes so many clashes: %i", async (one, other, count) => {
    expect(await clashLines(`${east}${one}\n`, `${west}${other}\n`)).toHaveLength(count);
  });

  const same = west.replace("GH-2", "GH-1");
  const elsewhere = same.replace("https://business", "https://other");
  const alone = "homeassistant: { enabled: false }\n";
  const shown =
    "Home Assistant shows only one of two devices of one code, unless discovery_prefix differs: the same";
  it.each([
    ["at one platform is one controller", same, "the same controller"],
    ["is so without Home Assistant too", `${same}${alone}`, "the same controller"],
    ["at two platforms is two, of which one Home Assistant shows one", elsewhere, shown],
    [
      "is no matter to Home Assistants of two prefixes",
      `${elsewhere}homeassistant: { discovery_prefix: ha }\n`,
      null,
    ],
    ["nor to those at two brokers", elsewhere.replace("broker.lan", "other.lan"), null],
    ["nor where it is not announced", `${elsewhere}${alone}`, null],
  ])("one device code %s", async (_, other, what) => {
    const at = "8:16 controllers.GH-1";
    expect(await clashLines(east, other)).toEqual(
      what === null ? [] : [`west.yaml:${at}: ${what} as east.yaml:${at}`],
    );
  });

  const embedded = east.replace("url: mqtt://broker.lan, ", "");
  it.each([
    [east, "mqtt://broker.lan:1883", 1],
    [east, "mqtt://BROKER.lan", 1],
    [east, "mqtt://other.lan", 0],
    [embedded, "mqtt://127.0.0.1", 1],
    [embedded, "mqtt://broker.lan", 0],
  ])("beside %s the same client id at %s makes so many clashes: %i", async (first, url, count) => {
    const other = west.replace("mqtt://broker.lan, client_id: west", `${url}, client_id: east`);
    expect(await clashLines(first, other)).toHaveLength(count);
  });

  it("defaults clash like written values, and an ignored controller is none", async () => {
    const bare = `${platform}controllers: { GH-1: { ignore: true } }\n`;
    const at = (key: string, what: string) =>
      `west.yaml:1:1 ${key}: the same ${what} as east.yaml:1:1 ${key}`;
    expect(await clashLines(bare, bare)).toEqual([
      at("mqtt.client_id", "client_id at the same broker"),
      at("mqtt.base_topic", "base_topic at the same broker"),
      ...[at("data_dir", "data_dir"), at("broker.port", "port"), at("http.port", "port")],
    ]);
  });

  it("each later file is compared with all before it", async () => {
    const north = west.replaceAll("west", "north").replace("8102", "8101").replace("GH-2", "GH-3");
    expect(await clashLines(east, west, north)).toEqual([
      "north.yaml:6:15 http.port: the same port as east.yaml:6:15 http.port",
    ]);
  });
});

describe("two accounts of one process", () => {
  const another = west.replace("token: !env TOKEN", "token: another-token");
  it.each([
    ["of one login exclude each other", west, true],
    ["of one client id do", another.replace("client_id: west", "client_id: east"), true],
    ["that share nothing do not", another, false],
  ])("%s", async (_, other, isSo) => {
    const [one, its] = [await loaded(east), await loaded(other)];
    expect([exclude(one, its), exclude(its, one)]).toEqual([isSo, isSo]);
  });

  it("are looked at once, however many each is compared with", async () => {
    const one = await loaded(east);
    let looks = 0;
    const configuration = new Proxy(one.configuration, {
      get: (target, key, receiver) => {
        looks += 1;
        return Reflect.get(target, key, receiver) as unknown;
      },
    });
    const seen = { ...one, configuration };
    exclude(seen, await loaded(another));
    const once = looks;
    for (let n = 0; n < 10; n += 1) exclude(seen, await loaded(another));
    expect(looks).toBe(once);
  });
});
