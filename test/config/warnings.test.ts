import { describe, expect, it } from "vitest";
import { accountCost, configuredLoad, costSentence } from "../../src/config/warnings.js";
import { curtainSentences } from "../../src/homeassistant/section.js";
import { itFinds, loaded, platform, warningLines } from "./loading.js";

const plain = "plain password; `greenhouse2mqtt passwd` makes a hash that can stand here instead";

describe("what works but is probably not wanted", () => {
  itFinds(
    String.raw`
    mirror: ‸listed⏎http: { host: ‸0.0.0.0 }⏎polling: { controllers: ‸1s } → nothing is mirrored · neither · 5m or more
    polling: { controllers: ‸299s } → 5m or more
    polling: { controllers: 5m }
    ⏎  timeouts: { control: ‸20s } → at least 30s
    ⏎  timeouts: { control: 30s }
    controllers: { A: { actuators: { a: { kind: light, address: 1, type_id: ‸2 } } } } → type_id says type 2 (left skylight), which is the kind skylight, not light
    controllers: { A: { actuators: { a: { kind: light, address: 1, type_id: 2, accept_type: true } } } }
    ‸polling: { sensors: 20m } → stale before the next poll
    mqtt: { url: mqtt://a }⏎‸broker: { port: 1884 } → without effect
    mqtt: { url: mqtt://a }⏎‸broker: → without effect
    broker: { users: [{ username: a, password: ‸b }] } → ${plain}
    broker: { users: [{ username: a, password: "scrypt:15:8:1:AAAAAAAAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAA" }] }
    mqtt: { url: mqtts://a, tls: { reject_unauthorized: ‸false } } → not verified
    notify: { ways: { a: { ntfy: { url: ‸http://ntfy.lan, topic: a } }, b: { webhook: { url: ‸http://a.lan/b } } } } → travel unencrypted · travel unencrypted
    notify: { ways: { a: { ntfy: { url: http://127.0.0.1:8080, topic: a } }, b: { webhook: { url: http://localhost/b } } } }
    notify: { ways: { a: { smtp: { host: a, encryption: ‸none, reject_unauthorized: ‸false, from: a@b, to: [a@b] } } } } → unencrypted · not verified
    http: { host: ‸0.0.0.0 } → neither http.token nor http.users is set
    http: { host: 0.0.0.0, token: abcdefgh }
    mirror: ‸listed → nothing is mirrored
    mirror: ‸listed⏎controllers: { A: { ignore: true } } → nothing is mirrored
    mirror: listed⏎controllers: { A: }
    controllers: { G: { actuators: { a: { kind: machine, address: 1, ‸mode_address: 2 } } } } → has no effect on the kind machine: it is only for skylights, curtains, side vents and positioners
    controllers: { G: { actuators: { a: { kind: light, address: 1, ‸position_address: 2 } } } } → has no effect on the kind light: it is only for skylights, curtains, side vents and positioners
    controllers: { G: { actuators: { a: { kind: motor, address: 1, ‸tolerance: 2 } } } } → has no effect on the kind motor: it is only for skylights, curtains, side vents and positioners
    controllers: { G: { actuators: { a: { kind: custom, address: 1, ‸travel_time: 2s, values: { a: 1 } } } } } → has no effect on the kind custom: it is only for skylights, curtains, side vents and positioners, and motors
    controllers: { G: { actuators: { a: { kind: skylight, address: 1, ‸lead_in: always } } } } → has no effect on the kind skylight: it is only for the kind light
    controllers: { G: { actuators: { a: { kind: light, address: 1, ‸position_reads: mode } } } } → has no effect on the kind light: it is only for skylights, curtains, side vents and positioners
    controllers: { G: { actuators: { a: { kind: light, address: 1, homeassistant: { ‸inverted: true } } } } } → has no effect on the kind light: it is only for what opens and closes
    kinds: { light: { ‸position_reads: mode } } → has no effect on the kind light: it is only for skylights, curtains, side vents and positioners
    controllers:⏎  G:⏎    parameters:⏎      p: { address: 1, scale: 100, writable: { min: 0, max: 1000, step: ‸50 } } → 50 would be sent as 1 and read back as 100
    controllers:⏎  G:⏎    parameters:⏎      p: { address: 1, scale: 100, writable: { min: 0, max: 1000, step: ‸10 } } → 10 would be sent as 0 and read back as 0
    controllers:⏎  G:⏎    parameters:⏎      p: { address: 1, writable: { min: ‸0.5, max: 9.5, step: 1 } } → 0.5 would be sent as 1 and read back as 1
    controllers:⏎  G:⏎    parameters:⏎      p: { address: 1, scale: -0.5, writable: { min: -9, max: 0, step: ‸0.75 } } → -8.25 would be sent as 17 and read back as -8.5
    controllers:⏎  G:⏎    parameters:⏎      p: { address: 1, scale: 100, writable: { min: 100, max: 1000, step: 200 } }
    controllers:⏎  G:⏎    parameters:⏎      p: { address: 1, scale: 0.1, writable: { min: 0.3, max: 5.7, step: 0.3 } }
    controllers:⏎  G:⏎    parameters:⏎      p: { address: 1, scale: 0.01, writable: { min: 0, max: 5, step: 0.1 } }
    controllers:⏎  G:⏎    parameters:⏎      p: { address: 1, writable: { min: 0, max: 5, step: 1 } }
    controllers: { G: { sensors: { a: { from: b, kind: temperature, unit: ‸C }, c: { from: d, kind: humidity, unit: ‸"%rh" } } } } → understood as °C; write that · understood as %; write that
    controllers: { G: { sensors: { a: { from: b, kind: wind_speed, unit: ‸knts } } } } → no unit of wind_speed; expected one of m/s, km/h, mph, kn, ft/s
    controllers: { G: { sensors: { a: { from: b, kind: other, unit: apples } } } }
    controllers: { G: { sensors: { a: { from: b, unit: ‸apples } } } } → unknown unit
    controllers: { G: { sensors: { a: { from: ‸b }, c: { from: b@1 }, d: { from: e@1 }, f: { from: g@1 }, h: { from: g@2 } } } } → sensor c names one of several of this name; use name@channel here too
    weather: { wind: { topic: w, unit: ‸kmh } } → understood as km/h; write that
    weather: { wind: { topic: w, unit: km/h } }⏎controllers: { G: { actuators: { a: { kind: light, address: 1, limits: { guards: { g: { sensor: weather/wind, above: ‸12, allow: [on, off] } } } } } } } → 12 km/h is 3.3 m/s, which is hardly any wind; where m/s is meant, write 43
    weather: { wind: { topic: w, unit: km/h } }⏎controllers: { G: { actuators: { a: { kind: light, address: 1, limits: { guards: { g: { sensor: weather/wind, above: 43, allow: [on, off] } } } } } } }
  `,
    { find: async (text) => (await loaded(text)).warnings },
  );

  it("an unencrypted platform, also where it is allowed", async () => {
    const text = platform.replace("https://business", "http://business");
    expect(await warningLines(`${text}  allow_insecure: true\n`)).toEqual([
      "config.yaml:5:19 platform.allow_insecure: the token travels unencrypted and can be read on the way",
    ]);
  });

  it("a budget below what the configured controllers need", async () => {
    const controllers = Array.from({ length: 100 }, (_, n) => `  GH-${n}:\n`).join("");
    const text = `${platform}  requests_per_minute: 120\ncontrollers:\n${controllers}`;
    expect(await warningLines(text)).toEqual([
      "config.yaml:5:24 platform.requests_per_minute: polling the controllers below takes about 121 requests a minute; all intervals will be stretched",
    ]);
    expect(await warningLines(text.replace("120", "121"))).toEqual([]);
    expect(await warningLines(text.replace("120", "0"))).toEqual([]);
  });
});

describe("a curtain of which nobody has said which way round it is", () => {
  const curtains = (keys: string, rest = "") =>
    `${platform}${rest}controllers: { G: { actuators: { a: { kind: shade_curtain, address: 1${keys} }, b: { kind: skylight, address: 2 } } } }\n`;

  it.each([
    ["is told, once", curtains(""), 1],
    ["is no more, once that is said", curtains(", homeassistant: { inverted: false }"), 0],
    ["is not where Home Assistant does not show it", curtains(", homeassistant: { as: none }"), 0],
    ["is not without Home Assistant", curtains("", "homeassistant: { enabled: false }\n"), 0],
  ])("%s", async (_, text, told) => {
    const { configuration } = await loaded(text);
    const sentences = curtainSentences(configuration);
    expect(sentences).toHaveLength(told);
    for (const one of sentences)
      expect(String(one)).toMatch(/^controllers\.G\.actuators\.a: .*watch one movement/);
  });
});

describe("what polling costs", () => {
  it.each([
    [
      "",
      "14 calls an hour of the budget of 18000; each controller that is not named here costs 72 more, and one at each start (`greenhouse2mqtt doctor` says the sum)",
    ],
    [
      "mirror: listed\npolling: { controllers: 10m }\ncontrollers: { G: }\n",
      "79 calls an hour of the budget of 18000, and each start 1 single-device status, spread over 10m",
    ],
    [
      "mirror: listed\npolling: { actuators: 1m }\ncontrollers: { G: { actuators: { a: { kind: light, address: 1 } } }, H: }\n",
      "218 calls an hour of the budget of 18000, and each start 2 single-device statuses, spread over 5m",
    ],
    ["  requests_per_minute: 0\nmirror: listed\ncontrollers: { G: { ignore: true } }\n", "14 calls an hour"],
  ])("%j is told as a sentence", async (text, sentence) => {
    const { configuration } = await loaded(`${platform}${text}`);
    expect(String(costSentence(configuration))).toBe(`polling costs ${sentence}`);
  });

  it.each([
    ["", 14 + 3 * 72],
    ["controllers: { G: { ignore: true }, H: { } }\n", 14 + 2 * 72],
    ["mirror: listed\ncontrollers: { G: }\n", 14 + 72],
  ])("of an account that lists G, H and I is with %j summed up", async (text, calls) => {
    const { configuration } = await loaded(`${platform}${text}`);
    expect(accountCost(configuration, ["G", "H", "I"])).toBe(calls);
  });

  it("addresses with a type are read together, each other one alone and once", async () => {
    const { configuration } = await loaded(`${platform}controllers:
  G:
    actuators:
      a: { kind: skylight, address: 1, mode_address: 2, position_address: 1, type_id: 2 }
      b: { kind: skylight, address: 3, type_id: 2 }
      c: { kind: shade_curtain, address: 4, mode_address: 8, position_address: 5 }
    parameters:
      p: { address: 6, type_id: 203 }
      q: { address: 7 }
  H: { ignore: true, parameters: { p: { address: 1 } } }
  I:
`);
    expect(configuredLoad(configuration)).toEqual({
      ...{ controllers: 2, addressReads: 5 },
      ...{ hasVideos: false, averages: 0 },
    });
  });
});
