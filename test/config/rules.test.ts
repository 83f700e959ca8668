import { describe, expect, it } from "vitest";
import { load, platform, problemLines } from "./loading.js";

/* `platform` fills lines 1 to 4, so the texts below start in line 5. */
const below = (text: string) => problemLines(platform + text);

const hosts = `platform:
  business_url: https://b.example.com
  realtime_url: https://r.example.com
`;

describe("exactly one of token, token_file and sign_in", () => {
  const only = (first: string) =>
    `only one of token, token_file and sign_in may be given, and "${first}" is there already`;

  it.each([
    ["", ["config.yaml:1:1 platform: expected one of token, token_file and sign_in"]],
    ["  token:\n", ["config.yaml:1:1 platform: expected one of token, token_file and sign_in"]],
    ["  token_file: a\n  token: b\n", [`config.yaml:4:3 platform.token_file: ${only("token")}`]],
    [
      "  sign_in: { body: {} }\n  token: b\n  token_file: a\n",
      [
        `config.yaml:4:3 platform.sign_in: ${only("token")}`,
        `config.yaml:6:3 platform.token_file: ${only("token")}`,
      ],
    ],
    ["  sign_in: { body: {} }\n", []],
    ["  token_file: a\n", []],
    ["  tokn: a\n", ['config.yaml:4:3 platform.tokn: unknown key, did you mean "token"?']],
    ["  token: !env NONE\n", ["config.yaml:4:10 platform.token: the environment variable NONE is not set"]],
  ])("%j", async (text, lines) => {
    expect(await problemLines(hosts + text)).toEqual(lines);
  });
});

describe("commands.response_topics", () => {
  const why = (key: string, topic: string) =>
    `answers below it could be taken for messages of ${key}; expected one outside "${topic}"`;

  it.each([
    ["clients/anna", []],
    ["homeassistant2", []],
    ["greenhouse", [`config.yaml:5:31 commands.response_topics[0]: ${why("mqtt.base_topic", "greenhouse")}`]],
    [
      "greenhouse/response",
      [`config.yaml:5:31 commands.response_topics[0]: ${why("mqtt.base_topic", "greenhouse")}`],
    ],
    [
      "homeassistant",
      [
        `config.yaml:5:31 commands.response_topics[0]: ${why("homeassistant.discovery_prefix", "homeassistant")}`,
      ],
    ],
    [
      "homeassistant/status",
      [
        `config.yaml:5:31 commands.response_topics[0]: ${why("homeassistant.discovery_prefix", "homeassistant")}`,
      ],
    ],
  ])("%s", async (topic, lines) => {
    expect(await below(`commands: { response_topics: [${topic}] }\n`)).toEqual(lines);
  });
});

describe("http:// only to this computer, unless allowed", () => {
  const message =
    "http:// is only allowed to this computer, because the token could be read on the way: use https://, or set platform.allow_insecure to true";
  const urls = (business: string, realtime: string, more = "") =>
    `platform:\n  business_url: ${business}\n  realtime_url: ${realtime}\n  token: !env TOKEN\n${more}`;

  it("each address is judged", async () => {
    expect(await problemLines(urls("http://192.168.1.5:8080", "http://localhost.example.com"))).toEqual([
      `config.yaml:2:17 platform.business_url: ${message}`,
      `config.yaml:3:17 platform.realtime_url: ${message}`,
    ]);
  });

  it.each([
    "http://localhost:8080",
    "http://127.0.0.1",
    "http://127.1.2.3:1/x",
    "http://[::1]:80",
    "http://a.localhost",
  ])("%s is this computer", async (url) => {
    expect(await problemLines(urls(url, url))).toEqual([]);
  });

  it("allow_insecure allows it", async () => {
    const text = urls("http://a.lan", "http://b.lan", "  allow_insecure: true\n");
    expect(await problemLines(text)).toEqual([]);
  });
});

describe("MQTT", () => {
  const tls = "tls is only for an mqtt.url that starts with mqtts:// or wss://";
  it.each([
    ["mqtt: { url: mqtt://a, tls: { ca: x } }", [`config.yaml:5:24 mqtt.tls: ${tls}`]],
    ["mqtt: { url: ws://a, tls: { reject_unauthorized: false } }", [`config.yaml:5:22 mqtt.tls: ${tls}`]],
    ["mqtt: { tls: { ca: x } }", [`config.yaml:5:9 mqtt.tls: ${tls}`]],
    ["mqtt: { url: mqtt://a, tls: { ca: , reject_unauthorized: true } }", []],
    ["mqtt: { url: mqtts://a, tls: { ca: x, cert: y, key: z } }", []],
    ["mqtt: { url: wss://a/mqtt, tls: { ca: x } }", []],
    [
      "mqtt: { url: mqtts://a, tls: { cert: x } }",
      ['config.yaml:5:32 mqtt.tls.cert: "cert" needs "key" beside it'],
    ],
    ["broker: { tls: { key: x } }", ['config.yaml:5:18 broker.tls.key: "key" needs "cert" beside it']],
    ["mqtt: { password: x }", ['config.yaml:5:9 mqtt.password: "password" needs "username" beside it']],
    [
      "mqtt: { base_topic: homeassistant }",
      [
        "config.yaml:5:21 mqtt.base_topic: base_topic and homeassistant.discovery_prefix must not lie within each other",
      ],
    ],
    [
      "mqtt: { base_topic: a/b }\nhomeassistant: { discovery_prefix: a }",
      [
        "config.yaml:5:21 mqtt.base_topic: base_topic and homeassistant.discovery_prefix must not lie within each other",
      ],
    ],
    ["mqtt: { base_topic: homeassistant2 }", []],
  ])("%s", async (text, lines) => {
    expect(await below(`${text}\n`)).toEqual(lines);
  });
});

describe("the embedded broker", () => {
  const users =
    "other machines can reach this address, so broker.users must name who may connect; or listen at 127.0.0.1";
  const weak = (why: string) =>
    `expected at least 12 characters, 5 of them different, and no common password, because other machines can reach the broker; ${why}`;
  it.each([
    ["broker: { host: 0.0.0.0 }", [`config.yaml:5:17 broker.host: ${users}`]],
    ['broker: { host: "::", users: [] }', [`config.yaml:5:17 broker.host: ${users}`]],
    ["broker: { host: pi.lan }", [`config.yaml:5:17 broker.host: ${users}`]],
    ["broker: { host: localhost }", []],
    ['broker: { host: "::1" }', []],
    [
      "broker: { host: 0.0.0.0, users: [{ username: a, password: elevenchars }] }",
      [`config.yaml:5:59 broker.users[0].password: ${weak("it is shorter than 12 characters")}`],
    ],
    [
      "broker: { host: 0.0.0.0, users: [{ username: a, password: aaaaaaaaaaaaaaaa }] }",
      [`config.yaml:5:59 broker.users[0].password: ${weak("it has fewer than 5 different characters")}`],
    ],
    [
      "broker: { host: 0.0.0.0, users: [{ username: ha, password: greenhouse123 }] }",
      [`config.yaml:5:60 broker.users[0].password: ${weak("it is one of the commonest passwords")}`],
    ],
    ["broker: { host: 0.0.0.0, users: [{ username: a, password: twelve-chars }] }", []],
    [
      'broker: { host: 0.0.0.0, users: [{ username: a, password: "scrypt:15:8:1:AAAAAAAAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAA" }] }',
      [],
    ],
    ["broker: { users: [{ username: a, password: short }] }", []],
    [
      "broker: { users: [{ username: a, password: b }, { username: a, password: c }] }",
      ["config.yaml:5:61 broker.users[1].username: another user above has this name"],
    ],
    ["broker: { port: 8099 }", ["config.yaml:5:17 broker.port: http.port listens at this port already"]],
    [
      "broker: { websocket_port: 1883 }",
      ["config.yaml:5:27 broker.websocket_port: broker.port listens at this port already"],
    ],
    [
      "broker: { tls: { cert: a, key: b, port: 1883 } }",
      ["config.yaml:5:41 broker.tls.port: broker.port listens at this port already"],
    ],
    ["broker: { tls: { port: 1883 } }", []],
    ["broker: { port: 0, websocket_port: 0 }\nhttp: { port: 0 }", []],
    ["broker: { port: 8099 }\nhttp: false", []],
    ["mqtt: { url: mqtt://a }\nhttp: { port: 1883 }", []],
  ])("%s", async (text, lines) => {
    expect(await below(`${text}\n`)).toEqual(lines);
  });
});

describe("controllers", () =>
  it.each([
    [
      "controllers:\n  A: { id: east }\n  B: { id: east }",
      ["config.yaml:7:12 controllers.B.id: controller A has the same topic id; choose another"],
    ],
    ["controllers:\n  GH-1:\n  gh-1:\n  Bridge:", []],
    ["controllers:\n  GH.1:\n  gh_1:", []],
    [
      "controllers:\n  A: { id: wen_shi1_fmxa87c0 }\n  温室1:",
      ["config.yaml:7:3 controllers.温室1: controller A has the same topic id; give it an id of its own"],
    ],
    [
      "controllers:\n  A: { id: b }\n  B:",
      ["config.yaml:7:3 controllers.B: controller A has the same topic id; give it an id of its own"],
    ],
    ["controllers:\n  A: { id: east, ignore: true }\n  B: { id: east }", []],
    [
      "controllers:\n  A: { id: bridge }",
      ['config.yaml:6:12 controllers.A.id: the topic id "bridge" is reserved; choose another'],
    ],
    [
      "controllers:\n  A: { id: response }",
      ['config.yaml:6:12 controllers.A.id: the topic id "response" is reserved; choose another'],
    ],
    [
      "controllers: { A: { sensors: { a: { from: t }, b: { from: t } } } }",
      [
        "config.yaml:5:59 controllers.A.sensors.b.from: sensor a of this controller is made from the same; use name@channel to tell them apart",
      ],
    ],
    [
      "controllers: { A: { sensors: { a: { from: t@1 }, b: { from: t@2 } } }, B: { sensors: { a: { from: t@1 } } } }",
      [],
    ],
    [
      "controllers: { A: { sensors: { a: { from: t, min: 5, max: 5 } } } }",
      ["config.yaml:5:59 controllers.A.sensors.a.max: expected a number above min"],
    ],
    [
      "controllers: { A: { parameters: { p: { address: 1, writable: { min: 0, max: 1, step: 2 } } } } }",
      [
        "config.yaml:5:86 controllers.A.parameters.p.writable.step: expected a step that fits between min and max",
      ],
    ],
    [
      "controllers: { A: { parameters: { p: { address: 1, writable: { min: 0, max: 1, step: 0 } } } } }",
      ["config.yaml:5:86 controllers.A.parameters.p.writable.step: expected a number above 0"],
    ],
    [
      "controllers: { A: { parameters: { p: { address: 1, writable: { min: -10, max: 5, step: 1 } } } } }",
      [
        "config.yaml:5:69 controllers.A.parameters.p.writable.min: would be sent as -10, and the platform takes digits without a sign; expected 0 or more",
      ],
    ],
    [
      "controllers: { A: { parameters: { p: { address: 1, scale: 0.01, writable: { min: -1, max: -0.5, step: 0.1 } } } } }",
      [
        "config.yaml:5:82 controllers.A.parameters.p.writable.min: would be sent as -100, and the platform takes digits without a sign; expected 0 or more",
        "config.yaml:5:91 controllers.A.parameters.p.writable.max: would be sent as -50, and the platform takes digits without a sign; expected 0 or more",
      ],
    ],
    [
      "controllers: { A: { parameters: { p: { address: 1, scale: -1, writable: { min: -10, max: 5, step: 1 } } } } }",
      [
        "config.yaml:5:90 controllers.A.parameters.p.writable.max: would be sent as -5, and the platform takes digits without a sign; expected 0 or less",
      ],
    ],
    [
      "controllers: { A: { parameters: { p: { address: 1, scale: -1, writable: { min: -10, max: 0, step: 1 } } } } }",
      [],
    ],
    [
      "controllers: { A: { parameters: { p: { address: 1, scale: 0, writable: { min: -1, max: 0, step: 1 } } } } }",
      ["config.yaml:5:59 controllers.A.parameters.p.scale: expected a number other than 0"],
    ],
  ])("%s", async (text, lines) => {
    expect(await below(`${text}\n`)).toEqual(lines);
  }));

describe("an address belongs to one actuator or parameter of a controller", () => {
  const actuators = (a: string, b: string) =>
    `controllers:\n  G:\n    actuators:\n      a: { kind: skylight, ${a} }\n      b: { kind: skylight, ${b} }\n`;
  const taken = "this address belongs to actuator a of the same controller already";
  it.each([
    ["address: 1", "address: 1", [`config.yaml:9:37 controllers.G.actuators.b.address: ${taken}`]],
    [
      "address: 1",
      "address: 2, mode_address: 1",
      [`config.yaml:9:54 controllers.G.actuators.b.mode_address: ${taken}`],
    ],
    [
      "address: 1, position_address: 3",
      "address: 2, position_address: 3",
      [`config.yaml:9:58 controllers.G.actuators.b.position_address: ${taken}`],
    ],
    [
      "address: 1, stop: { address: 9, value: 0 }",
      "address: 2, stop: { address: 9, value: 0 }",
      [`config.yaml:9:57 controllers.G.actuators.b.stop.address: ${taken}`],
    ],
    ["address: 1, mode_address: 1, position_address: 1, stop: { address: 1, value: 0 }", "address: 2", []],
    ["address: 0012", "address: 12", []],
  ])("%s and %s", async (a, b, lines) => {
    expect(await below(actuators(a, b))).toEqual(lines);
  });

  it("parameters own theirs too; another controller's do not matter", async () => {
    const text = `controllers:
  G:
    actuators: { a: { kind: machine, address: 1 } }
    parameters: { p: { address: 1 }, q: { address: 2 }, r: { address: 2 } }
  H:
    parameters: { p: { address: 1 } }
`;
    expect(await below(text)).toEqual([
      `config.yaml:8:33 controllers.G.parameters.p.address: ${taken}`,
      "config.yaml:8:71 controllers.G.parameters.r.address: this address belongs to parameter q of the same controller already",
    ]);
  });
});

describe("options that a kind does not have", () => {
  const positioners = "only for skylights, curtains, side vents and positioners";
  const at = (column: number, key: string) => `config.yaml:5:${column} controllers.G.actuators.a.${key}:`;
  it.each([
    ["machine", "mode_address: 2", [`${at(66, "mode_address")} ${positioners}, not for machine`]],
    ["light", "position_address: 2", [`${at(64, "position_address")} ${positioners}, not for light`]],
    ["motor", "tolerance: 2", [`${at(64, "tolerance")} ${positioners}, not for motor`]],
    [
      "custom",
      "travel_time: 2s, values: { a: 1 }",
      [`${at(65, "travel_time")} ${positioners}, and motors, not for custom`],
    ],
    ["motor", "travel_time: 2s", []],
    ["shade_curtain", "mode_address: 2, position_address: 3, tolerance: 2, travel_time: 2s", []],
    ["skylight", "lead_in: always", [`${at(67, "lead_in")} only for the kind light, not for skylight`]],
    [
      "irrigation",
      "values: { a: 1 }",
      [
        `${at(69, "values")} only for the kinds motor and custom; the other kinds have fixed values, not for irrigation`,
      ],
    ],
    [
      "custom",
      "name: x",
      [
        "config.yaml:5:34 controllers.G.actuators.a: the kind custom needs values: at least one command word and its value",
      ],
    ],
    [
      "custom",
      "values: {}",
      [`${at(65, "values")} the kind custom needs values: at least one command word and its value`],
    ],
    [
      "machine",
      "homeassistant: { as: cover }",
      [`${at(87, "homeassistant.as")} machine cannot be shown as a cover`],
    ],
    [
      "side_vent",
      "homeassistant: { as: switch }",
      [`${at(89, "homeassistant.as")} side_vent cannot be shown as a switch`],
    ],
    [
      "fan_wet_curtain",
      "homeassistant: { as: light }",
      [`${at(95, "homeassistant.as")} fan_wet_curtain cannot be shown as a light`],
    ],
    ["light", "homeassistant: { as: switch }", []],
    ["skylight", "homeassistant: { as: none }", []],
    ["motor", "homeassistant: { as: cover }", []],
  ])("%s with %s", async (kind, more, lines) => {
    expect(
      await below(`controllers: { G: { actuators: { a: { kind: ${kind}, address: 1, ${more} } } } }\n`),
    ).toEqual(lines);
  });
});

describe("two words with one value in values", () => {
  const same = (word: string) =>
    `"${word}" has the same value; the words could not be told apart when read back`;
  const at = (column: number, word: string) =>
    `config.yaml:5:${column} controllers.G.actuators.a.values.${word}:`;
  it.each([
    ["custom", "low: 5, high: 5", [`${at(89, "high")} ${same("low")}`]],
    ["custom", 'low: "0110", high: 110', [`${at(94, "high")} ${same("low")}`]],
    ["custom", "low: 0, high: 00000", [`${at(89, "high")} ${same("low")}`]],
    ["custom", "low: 1.50, high: 1.5", [`${at(92, "high")} ${same("low")}`]],
    ["custom", "low: a0, high: a00", []],
    ["custom", "a: 1, b: 2, c: 01, d: 002", [`${at(90, "c")} ${same("a")}`, `${at(97, "d")} ${same("b")}`]],
    ["motor", "halt: 100", [`${at(80, "halt")} ${same("stop")}`]],
    ["motor", "halt: 100, stop: 101", []],
  ])("%s { %s }", async (kind, values, lines) => {
    expect(
      await below(
        `controllers: { G: { actuators: { a: { kind: ${kind}, address: 1, values: { ${values} } } } } }\n`,
      ),
    ).toEqual(lines);
  });
});

describe("rules and schema together", () => {
  it("a rule finds its error while something else in the same section is wrong", async () => {
    const text = `controllers:
  G:
    actuators:
      a: { kind: skylight, address: 1, settle: soon }
      b: { kind: skilight, address: 1, tolerance: 200 }
    sensors: 5
`;
    const lines = await below(text);
    expect(lines.map((line) => line.split(": ")[0])).toEqual([
      "config.yaml:8:48 controllers.G.actuators.a.settle",
      "config.yaml:9:18 controllers.G.actuators.b.kind",
      "config.yaml:9:37 controllers.G.actuators.b.address",
      "config.yaml:9:51 controllers.G.actuators.b.tolerance",
      "config.yaml:10:14 controllers.G.sensors",
    ]);
  });

  it("a value that could not be read raises no second problem", async () => {
    const text = `broker: { host: 0.0.0.0, users: !env USERS }\ncontrollers: { G: { id: !env ID, actuators: { a: { kind: custom, address: 1, values: !env V } } } }\n`;
    expect(await below(text)).toHaveLength(3);
  });

  it("no problem comes with warnings of a file that is refused anyway", async () => {
    const result = await load(`${platform}polling: { controllers: 1m }\nmirror: x\n`);
    expect(result).toMatchObject({ ok: false, warnings: [] });
  });
});
