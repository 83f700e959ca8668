import { describe, expect, it } from "vitest";
import { limitSentences } from "../../src/config/rules/limits.js";
import { hashPassword } from "../../src/runtime/passwords.js";
import { below, itFinds, load, loaded, platform, problemLines, rowsOf, warningLines } from "./loading.js";

/* `platform` fills lines 1 to 4, so the texts of the tables start in line 5. */

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
      [4, 6].map(
        (line) => `config.yaml:${line}:3 platform.${line === 4 ? "sign_in" : "token_file"}: ${only("token")}`,
      ),
    ],
    ["  sign_in: { body: {} }\n", []],
    ["  token_file: a\n", []],
    ["  tokn: a\n", ['config.yaml:4:3 platform.tokn: unknown key, did you mean "token"?']],
    ["  token: !env NONE\n", ["config.yaml:4:10 platform.token: the environment variable NONE is not set"]],
  ])("%j", async (text, lines) => {
    expect(await problemLines(hosts + text)).toEqual(lines);
  });
});

describe("answers go nowhere where they could be taken for something else", () =>
  itFinds(rowsOf`
    commands: { response_topics: [clients/anna] }
    commands: { response_topics: [homeassistant2] }
    commands: { response_topics: [greenhouse] }
      :5:31 commands.response_topics[0]: answers below it could be taken for messages of mqtt.base_topic; expected one outside "greenhouse"
    commands: { response_topics: [greenhouse/response] }
      :5:31 commands.response_topics[0]: answers below it could be taken for messages of mqtt.base_topic; expected one outside "greenhouse"
    commands: { response_topics: [homeassistant] }
      :5:31 commands.response_topics[0]: answers below it could be taken for messages of homeassistant.discovery_prefix; expected one outside "homeassistant"
  `));

describe("http:// only to this computer, unless allowed", () => {
  const message =
    "http:// is only allowed to this computer, because the token could be read on the way: use https://, or set platform.allow_insecure to true";

  it.each([
    [
      "http://192.168.1.5:8080",
      "http://localhost.example.com",
      "",
      [`2:17 platform.business_url: ${message}`, `3:17 platform.realtime_url: ${message}`],
    ],
    ["http://localhost:8080", "http://127.0.0.1", "", []],
    ["http://127.1.2.3:1/x", "http://[::1]:80", "", []],
    ["http://a.localhost", "https://b", "", []],
    ["http://a.lan", "http://b.lan", "  allow_insecure: true\n", []],
  ])("%s and %s%s", async (business, realtime, more, lines) => {
    const text = `platform:\n  business_url: ${business}\n  realtime_url: ${realtime}\n  token: !env TOKEN\n${more}`;
    expect(await problemLines(text)).toEqual(lines.map((line) => `config.yaml:${line}`));
  });
});

describe("MQTT", () =>
  itFinds(rowsOf`
    mqtt: { url: mqtt://a, tls: { ca: x } }
      :5:24 mqtt.tls: tls is only for an mqtt.url that starts with mqtts:// or wss://
    mqtt: { url: ws://a, tls: { reject_unauthorized: false } }
      :5:22 mqtt.tls: tls is only for an mqtt.url that starts with mqtts:// or wss://
    mqtt: { tls: { ca: x } }
      :5:9 mqtt.tls: tls is only for an mqtt.url that starts with mqtts:// or wss://
    mqtt: { url: mqtt://a, tls: { ca: , reject_unauthorized: true } }
    mqtt: { url: mqtts://a, tls: { ca: x, cert: y, key: z } }
    mqtt: { url: wss://a/mqtt, tls: { ca: x } }
    mqtt: { url: mqtts://a, tls: { cert: x } }
      :5:32 mqtt.tls.cert: "cert" needs "key" beside it
    broker: { tls: { key: x } }
      :5:18 broker.tls.key: "key" needs "cert" beside it
    mqtt: { password: x }
      :5:9 mqtt.password: "password" needs "username" beside it
    mqtt: { base_topic: homeassistant }
      :5:21 mqtt.base_topic: base_topic and homeassistant.discovery_prefix must not lie within each other
    mqtt: { base_topic: a/b }⏎homeassistant: { discovery_prefix: a }
      :5:21 mqtt.base_topic: base_topic and homeassistant.discovery_prefix must not lie within each other
    homeassistant: { discovery_prefix: greenhouse }
      :5:36 homeassistant.discovery_prefix: base_topic and homeassistant.discovery_prefix must not lie within each other
    mqtt: { base_topic: homeassistant2 }
  `));

describe("the embedded broker", () =>
  itFinds(rowsOf`
    broker: { host: 0.0.0.0 }
      :5:17 broker.host: other machines can reach this address, so broker.users must name who may connect; or listen at 127.0.0.1
    broker: { host: pi.lan }
      :5:17 broker.host: other machines can reach this address, so broker.users must name who may connect; or listen at 127.0.0.1
    broker: { host: localhost }
    broker: { host: "::1" }
    broker: { host: 0.0.0.0, users: [{ username: a, password: elevenchars }] }
      :5:59 broker.users[0].password: expected at least 12 characters, 5 of them different, and no common password, because other machines can reach the broker; it is shorter than 12 characters
    broker: { host: 0.0.0.0, users: [{ username: a, password: aaaaaaaaaaaaaaaa }] }
      :5:59 broker.users[0].password: expected at least 12 characters, 5 of them different, and no common password, because other machines can reach the broker; it has fewer than 5 different characters
    broker: { host: 0.0.0.0, users: [{ username: ha, password: greenhouse123 }] }
      :5:60 broker.users[0].password: expected at least 12 characters, 5 of them different, and no common password, because other machines can reach the broker; it is one of the commonest passwords
    broker: { host: 0.0.0.0, users: [{ username: a, password: twelve-chars }] }
    broker: { host: 0.0.0.0, users: [{ username: a, password: "scrypt:15:8:1:AAAAAAAAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAA" }] }
    broker: { users: [{ username: a, password: short }] }
    broker: { users: [{ username: a, password: b }, { username: a, password: c }] }
      :5:61 broker.users[1].username: another user above has this name
    # a hash whose salt and key are too short
    broker: { users: [{ username: ha, password: "scrypt:15:8:1:xx:yy" }] }
      :5:45 broker.users[0].password: looks like a hash but cannot be read: make a new one with greenhouse2mqtt passwd
    # a hash that lacks a part
    broker: { users: [{ username: ha, password: "scrypt:15:8:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" }] }
      :5:45 broker.users[0].password: looks like a hash but cannot be read: make a new one with greenhouse2mqtt passwd
    # a hash that would take all memory
    broker: { users: [{ username: ha, password: "scrypt:30:32:1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" }] }
      :5:45 broker.users[0].password: looks like a hash but cannot be read: make a new one with greenhouse2mqtt passwd
    # a hash that another program made
    broker: { users: [{ username: ha, password: "$scrypt$ln=15,r=8,p=1$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA$$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" }] }
      :5:45 broker.users[0].password: looks like a hash but cannot be read: make a new one with greenhouse2mqtt passwd
    broker: { port: 8099 }
      :5:17 broker.port: http.port listens at this port already
    broker: { websocket_port: 1883 }
      :5:27 broker.websocket_port: broker.port listens at this port already
    broker: { tls: { cert: a, key: b, port: 1883 } }
      :5:41 broker.tls.port: broker.port listens at this port already
    broker: { tls: { port: 1883 } }
    broker: { port: 0, websocket_port: 0 }⏎http: { port: 0 }
    broker: { port: 8099 }⏎http: false
    mqtt: { url: mqtt://a }⏎http: { port: 1883 }
  `));

it("a hash made by passwd is right", async () => {
  const password = await hashPassword("a good password");
  expect(await below(`broker: { users: [{ username: ha, password: "${password}" }] }\n`)).toEqual([]);
});

describe("controllers", () =>
  itFinds(rowsOf`
    controllers:⏎  A: { id: east }⏎  B: { id: east }
      :7:12 controllers.B.id: controller A has the same topic id; choose another
    controllers:⏎  GH-1:⏎  gh-1:⏎  Bridge:
    controllers:⏎  GH.1:⏎  gh_1:
    controllers:⏎  A: { id: wen_shi1_fmxa87c0 }⏎  温室1:
      :7:3 controllers.温室1: controller A has the same topic id; give it an id of its own
    controllers:⏎  A: { id: b }⏎  B:
      :7:3 controllers.B: controller A has the same topic id; give it an id of its own
    controllers:⏎  A: { id: east, ignore: true }⏎  B: { id: east }
    controllers:⏎  A: { id: bridge }
      :6:12 controllers.A.id: the topic id "bridge" is reserved; choose another
    controllers:⏎  A: { id: response }
      :6:12 controllers.A.id: the topic id "response" is reserved; choose another
    controllers: { A: { sensors: { a: { from: t }, b: { from: t } } } }
      :5:59 controllers.A.sensors.b.from: sensor a of this controller is made from the same; use name@channel to tell them apart
    controllers: { A: { sensors: { a: { from: t@1 }, b: { from: t@2 } } }, B: { sensors: { a: { from: t@1 } } } }
    controllers: { A: { sensors: { a: { from: t, min: 5, max: 5 } } } }
      :5:59 controllers.A.sensors.a.max: expected a number above min
    controllers: { A: { parameters: { p: { address: 1, writable: { min: 0, max: 1, step: 2 } } } } }
      :5:86 controllers.A.parameters.p.writable.step: expected a step that fits between min and max
    controllers: { A: { parameters: { p: { address: 1, writable: { min: 0, max: 1, step: 0 } } } } }
      :5:86 controllers.A.parameters.p.writable.step: expected a number above 0
    controllers: { A: { parameters: { p: { address: 1, writable: { min: -10, max: 5, step: 1 } } } } }
      :5:69 controllers.A.parameters.p.writable.min: would be sent as -10, and the platform takes digits without a sign; expected 0 or more
    controllers: { A: { parameters: { p: { address: 1, scale: 0.01, writable: { min: -1, max: -0.5, step: 0.1 } } } } }
      :5:82 controllers.A.parameters.p.writable.min: would be sent as -100, and the platform takes digits without a sign; expected 0 or more
      :5:91 controllers.A.parameters.p.writable.max: would be sent as -50, and the platform takes digits without a sign; expected 0 or more
    controllers: { A: { parameters: { p: { address: 1, scale: -1, writable: { min: -10, max: 5, step: 1 } } } } }
      :5:90 controllers.A.parameters.p.writable.max: would be sent as -5, and the platform takes digits without a sign; expected 0 or less
    controllers: { A: { parameters: { p: { address: 1, scale: -1, writable: { min: -10, max: 0, step: 1 } } } } }
  `));

describe("an address belongs to one actuator or parameter of a controller", () =>
  itFinds(rowsOf`
    controllers:⏎  G:⏎    actuators:⏎      a: { kind: skylight, address: 1 }⏎      b: { kind: skylight, address: 1 }
      :9:37 controllers.G.actuators.b.address: this address belongs to actuator a of the same controller already
    controllers:⏎  G:⏎    actuators:⏎      a: { kind: skylight, address: 1 }⏎      b: { kind: skylight, address: 2, mode_address: 1 }
      :9:54 controllers.G.actuators.b.mode_address: this address belongs to actuator a of the same controller already
    controllers:⏎  G:⏎    actuators:⏎      a: { kind: skylight, address: 1, position_address: 3 }⏎      b: { kind: skylight, address: 2, position_address: 3 }
      :9:58 controllers.G.actuators.b.position_address: this address belongs to actuator a of the same controller already
    controllers:⏎  G:⏎    actuators:⏎      a: { kind: skylight, address: 1, stop: { address: 9, value: 0 } }⏎      b: { kind: skylight, address: 2, stop: { address: 9, value: 0 } }
      :9:57 controllers.G.actuators.b.stop.address: this address belongs to actuator a of the same controller already
    controllers:⏎  G:⏎    actuators:⏎      a: { kind: skylight, address: 1, mode_address: 1, position_address: 1, stop: { address: 1, value: 0 } }⏎      b: { kind: skylight, address: 2 }
    controllers:⏎  G:⏎    actuators:⏎      a: { kind: skylight, address: 0012 }⏎      b: { kind: skylight, address: 12 }
    controllers:⏎  G:⏎    actuators: { a: { kind: machine, address: 1 } }⏎    parameters: { p: { address: 1 }, q: { address: 2 }, r: { address: 2 } }⏎  H:⏎    parameters: { p: { address: 1 } }
      :8:33 controllers.G.parameters.p.address: this address belongs to actuator a of the same controller already
      :8:71 controllers.G.parameters.r.address: this address belongs to parameter q of the same controller already
  `));

describe("options that a kind does not have", () =>
  itFinds(rowsOf`
    controllers: { G: { actuators: { a: { kind: machine, address: 1, mode_address: 2 } } } }
      :5:66 controllers.G.actuators.a.mode_address: only for skylights, curtains, side vents and positioners, not for machine
    controllers: { G: { actuators: { a: { kind: light, address: 1, position_address: 2 } } } }
      :5:64 controllers.G.actuators.a.position_address: only for skylights, curtains, side vents and positioners, not for light
    controllers: { G: { actuators: { a: { kind: motor, address: 1, tolerance: 2 } } } }
      :5:64 controllers.G.actuators.a.tolerance: only for skylights, curtains, side vents and positioners, not for motor
    controllers: { G: { actuators: { a: { kind: custom, address: 1, travel_time: 2s, values: { a: 1 } } } } }
      :5:65 controllers.G.actuators.a.travel_time: only for skylights, curtains, side vents and positioners, and motors, not for custom
    controllers: { G: { actuators: { a: { kind: motor, address: 1, travel_time: 2s } } } }
    controllers: { G: { actuators: { a: { kind: shade_curtain, address: 1, mode_address: 2, position_address: 3, tolerance: 2, travel_time: 2s } } } }
    controllers: { G: { actuators: { a: { kind: skylight, address: 1, lead_in: always } } } }
      :5:67 controllers.G.actuators.a.lead_in: only for the kind light, not for skylight
    controllers: { G: { actuators: { a: { kind: irrigation, address: 1, values: { a: 1 } } } } }
      :5:69 controllers.G.actuators.a.values: only for the kinds motor and custom; the other kinds have fixed values, not for irrigation
    controllers: { G: { actuators: { a: { kind: custom, address: 1, name: x } } } }
      :5:34 controllers.G.actuators.a: the kind custom needs values: at least one command word and its value
    controllers: { G: { actuators: { a: { kind: custom, address: 1, values: {} } } } }
      :5:65 controllers.G.actuators.a.values: the kind custom needs values: at least one command word and its value
    controllers: { G: { actuators: { a: { kind: machine, address: 1, homeassistant: { as: cover } } } } }
      :5:87 controllers.G.actuators.a.homeassistant.as: machine cannot be shown as a cover
    controllers: { G: { actuators: { a: { kind: fan_wet_curtain, address: 1, homeassistant: { as: light } } } } }
      :5:95 controllers.G.actuators.a.homeassistant.as: fan_wet_curtain cannot be shown as a light
    controllers: { G: { actuators: { a: { kind: light, address: 1, homeassistant: { as: switch } } } } }
    controllers: { G: { actuators: { a: { kind: skylight, address: 1, homeassistant: { as: none } } } } }
    controllers: { G: { actuators: { a: { kind: motor, address: 1, homeassistant: { as: cover } } } } }
  `));

describe("two words with one value in values", () =>
  itFinds(rowsOf`
    controllers: { G: { actuators: { a: { kind: custom, address: 1, values: { low: "0110", high: 110 } } } } }
      :5:94 controllers.G.actuators.a.values.high: "low" has the same value; the words could not be told apart when read back
    controllers: { G: { actuators: { a: { kind: custom, address: 1, values: { low: 0, high: 00000 } } } } }
      :5:89 controllers.G.actuators.a.values.high: "low" has the same value; the words could not be told apart when read back
    controllers: { G: { actuators: { a: { kind: custom, address: 1, values: { low: 1.50, high: 1.5 } } } } }
      :5:92 controllers.G.actuators.a.values.high: "low" has the same value; the words could not be told apart when read back
    controllers: { G: { actuators: { a: { kind: custom, address: 1, values: { low: a0, high: a00 } } } } }
    controllers: { G: { actuators: { a: { kind: custom, address: 1, values: { a: 1, b: 2, c: 01, d: 002 } } } } }
      :5:90 controllers.G.actuators.a.values.c: "a" has the same value; the words could not be told apart when read back
      :5:97 controllers.G.actuators.a.values.d: "b" has the same value; the words could not be told apart when read back
    controllers: { G: { actuators: { a: { kind: motor, address: 1, values: { halt: 100 } } } } }
      :5:80 controllers.G.actuators.a.values.halt: "stop" has the same value; the words could not be told apart when read back
    controllers: { G: { actuators: { a: { kind: motor, address: 1, values: { halt: 100, stop: 101 } } } } }
  `));

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

/** A configuration with an actuator `one` of these keys. */
const withOne = (keys: string) => `${platform}weather:
  wind: { topic: weather/wind }
mirror: listed
controllers:
  GH-0001:
    sensors: { probe: { from: t7, ignore: true } }
    actuators:
      one: { address: 101, ${keys.trim()} }
      two: { kind: skylight, address: 102 }
  GH-0002: { id: west, ignore: true }
`;
const at = "controllers.GH-0001.actuators.one.limits";
/** Lines without their place and all of the path that they have in common. */
const limitLines = async (keys: string) =>
  (await problemLines(withOne(keys))).map((line) => line.replace(/:\d+:\d+ .*?\.limits\.?/, ": "));

describe("limits that could not do what they say are errors", () =>
  itFinds(
    rowsOf`
    # a whole guard is none
    kind: skylight, limits: { guards: { g: { sensor: weather/wind, above: 12, clear_at: 9, allow: [close, 0..10], then: close } } }
    # no condition
    kind: skylight, limits: { guards: { g: { sensor: weather/wind } } }
      : guards.g: expected one of above, below, is, is_not, moving
    # clear_at on the wrong side
    kind: skylight, limits: { guards: { g: { sensor: weather/wind, above: 9, clear_at: 12 } } }
      : guards.g.clear_at: expected at most the value of above, or the guard would never clear
    # then outside allow
    kind: skylight, limits: { guards: { g: { sensor: weather/wind, above: 9, allow: [0..10], then: close } } }
      : guards.g.then: it is not in allow, so the guard itself would forbid it; add it there
    # then stop, where nothing says how the actuator is stopped
    kind: skylight, limits: { guards: { g: { sensor: weather/wind, above: 9, allow: [stop], then: stop } } }
      : guards.g.then: skylight has no such command; expected one of open, close, auto, a degree or range such as 0..10
    # a lease that ends with stop, where nothing says how the actuator is stopped
    kind: irrigation, limits: { for: 5m, ends_with: stop }
      : ends_with: irrigation has no such command that ends something; expected one of off, auto
    # a lease that ends with a start
    kind: irrigation, limits: { for: 5m, ends_with: on }
      : ends_with: irrigation has no such command that ends something; expected one of off, auto
    # a lease that ends with a word of the configuration's own
    kind: custom, values: { slow: 1, fast: 2 }, limits: { for: 5m, ends_with: slow }
    # stop, where it is configured
    kind: skylight, stop: { address: 7, value: 1 }, limits: { for: 5m, ends_with: stop, guards: { g: { sensor: weather/wind, above: 9, allow: [], then: stop } } }
    # an unknown weather value
    kind: skylight, limits: { guards: { g: { sensor: weather/rain, above: 9 } } }
      : guards.g.sensor: there is no "rain" under weather
    # an unknown actuator
    kind: skylight, limits: { guards: { g: { actuator: three, moving: true } } }
      : guards.g.actuator: there is no such actuator in this configuration
    # a sensor that is ignored
    kind: skylight, limits: { guards: { g: { sensor: GH-0001/probe, above: 9 } } }
      : guards.g.sensor: this sensor is ignored, so its value never comes
    # a controller that is ignored
    kind: skylight, limits: { guards: { g: { status: west/pump, is: "on" } } }
      : guards.g.status: the controller west is ignored, so its values never come
    # a controller that is not mirrored
    kind: skylight, limits: { guards: { g: { sensor: GH-0003/wind, above: 9 } } }
      : guards.g.sensor: mirror: listed leaves out the controller GH-0003, which is not listed
    # itself
    kind: skylight, limits: { guards: { g: { actuator: one, moving: true } } }
      : guards.g.actuator: expected another actuator; this one would forbid itself
    # a word that the actuator never shows
    kind: skylight, limits: { guards: { g: { actuator: two, is: close, allow: [stop] } } }
      : guards.g.is: skylight never shows that; expected one of open, closed, auto, position, unknown
    # one of several that the actuator never shows
    kind: skylight, limits: { guards: { g: { actuator: two, is_not: [CLOSED, shut] } } }
      : guards.g.is_not[1]: skylight never shows that; expected one of open, closed, auto, position, unknown
    # a degree of what has none
    kind: irrigation, limits: { guards: { g: { actuator: one, above: 5 } } }
      : guards.g.above: irrigation has no degree; use is or is_not
    # a light that always gets on first, which the guard that sends off forbids
    kind: light, lead_in: always, limits: { guards: { g: { sensor: t, above: 5, allow: [off], then: off } } }
      : guards.g.allow: lead_in: always sends "on" before anything else, so it has to be in allow too
    # the same light with a lease
    kind: light, lead_in: always, limits: { for: 1h, guards: { g: { sensor: t, above: 5, allow: [off] } } }
      : guards.g.allow: lead_in: always sends "on" before anything else, so it has to be in allow too
    # reversal of a valve
    kind: irrigation, limits: { reversal: 60s }
      : reversal: irrigation only goes on and off, so there is no other way
    # for longer than at_most
    kind: irrigation, limits: { for: 2h, at_most: 1h }
      : for: longer than at_most
  `,
    limitLines,
  ));

it("check says in a sentence what they mean", async () => {
  const { configuration } = await loaded(
    withOne("kind: irrigation, limits: { for: 15m, at_most: 45m, starts_per_hour: 6 }"),
  );
  expect(limitSentences(configuration)).toEqual([
    'controllers.GH-0001.actuators.one: it starts at most 6 times an hour; each command ends with "off" after 15m unless it names a time, at most 45m. stop always passes.',
  ]);
});

it("check says that nothing of it happens while the actuator is read-only", async () => {
  const { configuration } = await loaded(withOne("kind: irrigation, read_only: true, limits: { for: 15m }"));
  expect(limitSentences(configuration)).toEqual([
    expect.stringContaining("while it is read-only, nothing is taken or sent, not even that; else each"),
  ]);
});

it("check warns of a light that gets on first only now and then, where the guard that sends off forbids it", async () => {
  const light = "limits: { guards: { g: { sensor: weather/wind, above: 5, allow: [off], then: off } } }";
  expect(await warningLines(withOne(`kind: light, ${light}`))).toEqual([
    expect.stringContaining(`${at}.guards.g.then: a light that does not show on gets "on" first`),
  ]);
  expect(await warningLines(withOne(`kind: light, lead_in: never, ${light}`))).toEqual([]);
  const silent = light.replace(", then: off", "");
  expect(await warningLines(withOne(`kind: light, ${silent}`))).toEqual([
    expect.stringContaining(`${at}.guards.g.allow: a light that does not show on gets "on" first`),
  ]);
});
