import { describe, expect, it } from "vitest";
import { alarmSentences } from "../../src/config/rules/alarms.js";
import { limitSentences } from "../../src/config/rules/limit-rules.js";
import { sparkplugSentences } from "../../src/sparkplug/section.js";
import { serviceNames } from "../../src/notify/services.js";
import { hashPassword } from "../../src/runtime/passwords.js";
import { itFinds, load, loaded, platform, problemLines } from "./loading.js";

describe("exactly one of token, token_file and sign_in", () =>
  itFinds(
    String.raw`
    ‸platform: {} → expected one of token, token_file and sign_in
    ‸platform: { token: } → expected one of token, token_file and sign_in
    platform: { ‸token_file: a, token: b } → platform.token_file: only one of token, token_file and sign_in may be given, and "token"
    platform: { ‸sign_in: { body: {} }, token: b, ‸token_file: a } → "token" is there already
    platform: { sign_in: { body: {} } }
    platform: { token_file: a }
    platform: { ‸tokn: a } → unknown key, did you mean "token"?
    platform: { token: ‸!env NONE } → the environment variable NONE is not set
  `,
    {
      around: (row) =>
        row.replace("{", "{ business_url: https://b.example.com, realtime_url: https://r.example.com, "),
    },
  ));

describe("answers go nowhere where they could be taken for something else", () =>
  itFinds(String.raw`
    commands: { response_topics: [clients/anna] }
    commands: { response_topics: [homeassistant2] }
    commands: { response_topics: [‸greenhouse] } → mqtt.base_topic
    commands: { response_topics: [‸greenhouse/response] } → mqtt.base_topic
    commands: { response_topics: [‸homeassistant] } → homeassistant.discovery_prefix
  `));

describe("http:// only to this computer, unless allowed", () =>
  itFinds(
    String.raw`
    ‸http://192.168.1.5:8080 ‸http://localhost.example.com → http:// is only allowed to this computer
    http://localhost:8080 http://127.0.0.1
    http://a.localhost https://b
    http://a.lan http://b.lan true
  `,
    {
      around: (row) => {
        const [business, realtime, allowed = "false"] = row.trim().split(" ");
        return `platform:\n  business_url: ${business}\n  realtime_url: ${realtime}\n  token: a\n  allow_insecure: ${allowed}`;
      },
    },
  ));

describe("a way of notify leads to one service, with a whole login", () =>
  itFinds(String.raw`
    notify: { ways: { a: { ntfy: { topic: a } }, b: { wecom: { key: a } } } }
    notify: { ways: { ‸a: { severity: error } } } → expected one of ${serviceNames.join(", ")}
    notify: { ways: { a: { ntfy: { topic: a }, ‸wecom: { key: a } } } } → only one service a way, and "ntfy" is there already
    notify: { ways: { a: { quiet_hours: { from: "22:00", to: ‸"22:00" }, wecom: { key: a } } } } → never quiet
    notify: { proxy: { url: http://a, ‸username: b } } → "username" needs "password" beside it
    notify: { ways: { a: { smtp: { host: a, from: a@b, to: [a@b], ‸password: c } } } } → "password" needs "username" beside it
  `));

describe("MQTT", () =>
  itFinds(String.raw`
    mqtt: { url: mqtt://a, ‸tls: { ca: x } } → tls is only for
    mqtt: { ‸tls: { ca: x } } → tls is only for
    mqtt: { url: mqtt://a, tls: { ca: , reject_unauthorized: true } }
    mqtt: { url: mqtts://a, tls: { ca: x, cert: y, key: z } }
    mqtt: { url: mqtts://a, tls: { ‸cert: x } } → "cert" needs "key" beside it
    broker: { tls: { ‸key: x } } → "key" needs "cert" beside it
    mqtt: { ‸password: x } → "password" needs "username" beside it
    mqtt: { base_topic: ‸homeassistant } → must not lie within each other
    mqtt: { base_topic: ‸a/b }⏎homeassistant: { discovery_prefix: a } → must not lie within each other
    homeassistant: { discovery_prefix: ‸greenhouse } → must not lie within each other
    mqtt: { base_topic: homeassistant2 }
  `));

describe("the embedded broker", () =>
  itFinds(String.raw`
    broker: { host: ‸0.0.0.0 } → broker.users must name who may connect
    broker: { host: localhost }
    broker: { host: 0.0.0.0, users: [{ username: a, password: ‸elevenchars }] } → it is shorter than 12 characters
    broker: { host: 0.0.0.0, users: [{ username: a, password: ‸aaaaaaaaaaaaaaaa }] } → it has fewer than 5 different characters
    broker: { host: 0.0.0.0, users: [{ username: ha, password: ‸greenhouse123 }] } → it is one of the commonest passwords
    broker: { host: 0.0.0.0, users: [{ username: a, password: twelve-chars }] }
    broker: { host: 0.0.0.0, users: [{ username: a, password: "scrypt:15:8:1:AAAAAAAAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAA" }] }
    broker: { users: [{ username: a, password: short }] }
    broker: { users: [{ username: a, password: b }, { username: ‸a, password: c }] } → another user above has this name
    broker: { users: [{ username: ha, password: ‸"scrypt:15:8:1:xx:yy" }] } → cannot be read
    broker: { users: [{ username: ha, password: ‸"scrypt:15:8:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" }] } → cannot be read
    broker: { users: [{ username: ha, password: ‸"scrypt:30:32:1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" }] } → cannot be read
    broker: { users: [{ username: ha, password: ‸"$scrypt$ln=15,r=8,p=1$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA$$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA" }] } → cannot be read
    broker: { port: ‸8099 } → http.port listens at this port already
    broker: { websocket_port: ‸1883 } → broker.port listens at this port already
    broker: { tls: { cert: a, key: b, port: ‸1883 } } → broker.port listens at this port already
    broker: { tls: { port: 1883 } }
    broker: { port: 0, websocket_port: 0 }⏎http: { port: 0 }
    broker: { port: 8099 }⏎http: false
    mqtt: { url: mqtt://a }⏎http: { port: 1883 }
  `));

it("a hash made by passwd is right", async () => {
  const password = await hashPassword("a good password");
  const text = `${platform}broker: { users: [{ username: ha, password: "${password}" }] }\n`;
  expect(await problemLines(text)).toEqual([]);
});

describe("controllers", () =>
  itFinds(String.raw`
    controllers:⏎  A: { id: east }⏎  B: { id: ‸east } → controller A has the same topic id
    controllers:⏎  GH-1:⏎  gh-1:⏎  Bridge:
    controllers:⏎  A: { id: wen_shi1_fmxa87c0 }⏎  ‸温室1: → controller A has the same topic id
    controllers:⏎  A: { id: b }⏎  ‸B: → controller A has the same topic id
    controllers:⏎  A: { id: east, ignore: true }⏎  B: { id: east }
    controllers:⏎  A: { id: ‸bridge } → reserved
    controllers:⏎  A: { id: ‸response } → reserved
    controllers: { A: { sensors: { a: { from: t }, b: { from: ‸t } } } } → sensor a of this controller is made from the same
    controllers: { A: { sensors: { a: { from: t@1 }, b: { from: t@2 } } }, B: { sensors: { a: { from: t@1 } } } }
    controllers: { A: { sensors: { a: { from: t, min: 5, max: ‸5 } } } } → expected a number above min
    controllers: { A: { parameters: { p: { address: 1, writable: { min: 0, max: 1, step: ‸2 } } } } } → fits between min and max
    controllers: { A: { parameters: { p: { address: 1, writable: { min: 0, max: 1, step: ‸0 } } } } } → expected a number above 0
    controllers: { A: { parameters: { p: { address: 1, writable: { min: ‸-10, max: 5, step: 1 } } } } } → would be sent as -10
    controllers: { A: { parameters: { p: { address: 1, scale: 0.01, writable: { min: ‸-1, max: ‸-0.5, step: 0.1 } } } } } → would be sent as -100 · would be sent as -50
    controllers: { A: { parameters: { p: { address: 1, scale: -1, writable: { min: -10, max: ‸5, step: 1 } } } } } → would be sent as -5
    controllers: { A: { parameters: { p: { address: 1, scale: -1, writable: { min: -10, max: 0, step: 1 } } } } }
  `));

describe("an address belongs to one actuator or parameter of a controller", () =>
  itFinds(String.raw`
    controllers:⏎  G:⏎    actuators:⏎      a: { kind: skylight, address: 1 }⏎      b: { kind: skylight, address: ‸1 } → belongs to actuator a
    controllers:⏎  G:⏎    actuators:⏎      a: { kind: skylight, address: 1 }⏎      b: { kind: skylight, address: 2, mode_address: ‸1 } → belongs to actuator a
    controllers:⏎  G:⏎    actuators:⏎      a: { kind: skylight, address: 1, position_address: 3 }⏎      b: { kind: skylight, address: 2, position_address: ‸3 } → belongs to actuator a
    controllers:⏎  G:⏎    actuators:⏎      a: { kind: skylight, address: 1, stop: { address: 9, value: 0 } }⏎      b: { kind: skylight, address: 2, stop: { address: ‸9, value: 0 } } → belongs to actuator a
    controllers:⏎  G:⏎    actuators:⏎      a: { kind: skylight, address: 1, mode_address: 1, position_address: 1, stop: { address: 1, value: 0 } }⏎      b: { kind: skylight, address: 2 }
    controllers:⏎  G:⏎    actuators:⏎      a: { kind: skylight, address: 0012 }⏎      b: { kind: skylight, address: 12 }
    controllers:⏎  G:⏎    actuators: { a: { kind: machine, address: 1 } }⏎    parameters: { p: { address: ‸1 }, q: { address: 2 }, r: { address: ‸2 } }⏎  H:⏎    parameters: { p: { address: 1 } } → belongs to actuator a · belongs to parameter q
  `));

describe("options that a kind does not have", () =>
  itFinds(String.raw`
    controllers: { G: { actuators: { a: { kind: motor, address: 1, travel_time: 2s } } } }
    controllers: { G: { actuators: { a: { kind: motor, address: 1, travel_time: ‸0s } } } } → expected at least 1ms
    controllers: { G: { actuators: { a: { kind: shade_curtain, address: 1, mode_address: 2, position_address: 3, tolerance: 2, travel_time: 2s } } } }
    controllers: { G: { actuators: { a: { kind: irrigation, address: 1, values: { drain: 1 } } } } }
    controllers: { G: { actuators: { a: { kind: motor, address: 1, homeassistant: { inverted: true } } } } }
    controllers: { G: { actuators: { a: { kind: side_vent, address: 1, position_reads: mode, homeassistant: { inverted: false } } } } }
    controllers: { G: { actuators: { a: { kind: side_vent, address: 1, position_reads: ‸never } } } } → expected one of degree, mode
    kinds: { ‸lamp: {} } → expected one of skylight, shade_curtain
    kinds: { custom: { values: { low: "0110" } } }⏎controllers: { G: { actuators: { a: { kind: custom, address: 1 } } } }
    controllers: { G: { actuators: { ‸a: { kind: custom, address: 1, name: x } } } } → needs values
    controllers: { G: { actuators: { a: { kind: custom, address: 1, ‸values: {} } } } } → needs values
    controllers: { G: { actuators: { a: { kind: machine, address: 1, homeassistant: { as: ‸cover } } } } } → machine cannot be shown as a cover
    controllers: { G: { actuators: { a: { kind: fan_wet_curtain, address: 1, homeassistant: { as: ‸light } } } } } → fan_wet_curtain cannot be shown as a light
    controllers: { G: { actuators: { a: { kind: light, address: 1, homeassistant: { as: switch } } } } }
    controllers: { G: { actuators: { a: { kind: skylight, address: 1, homeassistant: { as: none } } } } }
    controllers: { G: { actuators: { a: { kind: motor, address: 1, homeassistant: { as: cover } } } } }
  `));

describe("two words with one value in values", () =>
  itFinds(String.raw`
    controllers: { G: { actuators: { a: { kind: custom, address: 1, values: { low: "0110", high: ‸110 } } } } } → "low" has the same value
    controllers: { G: { actuators: { a: { kind: custom, address: 1, values: { low: 0, high: ‸00000 } } } } } → "low" has the same value
    controllers: { G: { actuators: { a: { kind: custom, address: 1, values: { low: 1.50, high: ‸1.5 } } } } } → "low" has the same value
    controllers: { G: { actuators: { a: { kind: custom, address: 1, values: { low: a0, high: a00 } } } } }
    controllers: { G: { actuators: { a: { kind: custom, address: 1, values: { a: 1, b: 2, c: ‸01, d: ‸002 } } } } } → "a" has the same value · "b" has the same value
    controllers: { G: { actuators: { a: { kind: motor, address: 1, values: { halt: ‸100 } } } } } → "stop" has the same value
    controllers: { G: { actuators: { a: { kind: motor, address: 1, values: { halt: 100, stop: 101 } } } } }
  `));

describe("what a value means, and what further ones mean when they are read", () =>
  itFinds(
    String.raw`
    skylight, reads: { open: ["10010", "100"], auto: ["11000", "11010", "11001"], closed: [0] }
    fan_wet_curtain, values: { auto: "11111" }, reads: { auto: ["11110000"] }
    fan_wet_curtain, reads: { auto: ["10101"] }
    circulation_fan, values: { on: 1010, boost: "1111" }
    circulation_fan, values: { on: ‸1011 } → "on" of a circulation_fan is sent as 1010, as the interface says
    circulation_fan, values: { boost: ‸1100 } → "auto" has the same value
    circulation_fan, reads: { on: [‸1001] } → "off" has the same value
    circulation_fan, reads: { on: ["1011"], off: ["1000", ‸"01011"] } → "on" has the same value
    circulation_fan, values: { boost: "1111" }, reads: { on: [‸1111] } → "boost" has the same value
    skylight, reads: { open: [‸10100] } → "position" has the same value
    skylight, reads: { open: ["100"], auto: [‸100] } → "open" has the same value
    skylight, reads: { close: ["0"], closed: ["0"] }
    skylight, reads: { ‸unknown: ["5"] } → expected a command word of a-z
    skylight, reads: { open: ‸"100" } → expected a list
    skylight, values: { ajar: ‸30 } → 30 is a degree of a skylight; expected a value above 100
    skylight, values: { ‸closed: "10011" } → "closed" already means "close"
    skylight, values: { ‸position: "10111" } → "position" is what a degree shows
    motor, values: { stop: 101 }, reads: { stop: ["0"] }
  `,
    {
      around: (row) => {
        const [kind = "", ...keys] = row.split(", ");
        const actuator = `{ kind: ${kind}, address: 1, ${keys.join(", ")} }`;
        return `${platform}controllers: { G: { actuators: { a: ${actuator} } } }`;
      },
    },
  ));

describe("what a kind says for all of its actuators", () =>
  itFinds(String.raw`
    kinds: { skylight: { reads: { open: ["100"] }, position_reads: mode } }⏎controllers: { G: { actuators: { a: { kind: skylight, address: 1, reads: { auto: ["11010"] } } } } }
    kinds: { skylight: { reads: { open: ["100"] } } }⏎controllers: { G: { actuators: { a: { kind: skylight, address: 1, reads: { auto: [‸100] } } } } } → "open" has the same value
    kinds: { skylight: { reads: { open: ["100"] } } }⏎controllers: { G: { actuators: { a: { kind: skylight, address: 1, reads: { open: ["99"], auto: ["100"] } } } } }
    kinds: { skylight: { reads: { open: [‸10001] } } }⏎controllers: { G: { actuators: { a: { kind: skylight, address: 1 } } } } → "close" has the same value
    kinds: { irrigation: { values: { drain: ‸1010 } } } → "on" has the same value
    running_status: { reads: { on: ["1010", "2"], off: ["1001"], waiting: ["3"] } }
    running_status: { reads: { off: [‸1] } } → "on" has the same value
    running_status: { reads: { on: ["2"], waiting: [‸2] } } → "on" has the same value
  `));

describe("a word that only the configuration knows may be limited, and judged by a guard", () =>
  itFinds(String.raw`
    controllers:⏎  G:⏎    actuators:⏎      a: { kind: fan_wet_curtain, address: 1, values: { auto: "11111" }, limits: { guards: { w: { actuator: b, is: auto, allow: [auto, off] } } } }⏎      b: { kind: fan_wet_curtain, address: 2, reads: { auto: ["11111"] } }
    controllers:⏎  G:⏎    actuators:⏎      a: { kind: fan_wet_curtain, address: 1, limits: { guards: { w: { sensor: x, above: 1, allow: [‸auto] } } } } → fan_wet_curtain has no such command
  `));

describe("a rule finds its error while something else is wrong, and none in what could not be read", () => {
  itFinds(String.raw`
    controllers:⏎  G:⏎    actuators:⏎      a: { kind: skylight, address: 1, settle: ‸soon }⏎      b: { kind: ‸skilight, address: ‸1, tolerance: ‸200 }⏎    sensors: ‸5
    broker: { host: 0.0.0.0, users: ‸!env USERS }⏎controllers: { G: { id: ‸!env ID, actuators: { a: { kind: custom, address: 1, values: ‸!env V } } } }
  `);

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
      hidden: { kind: skylight, address: 103, ignore: true, limits: { rest: 10s } }
  GH-0002: { id: west, ignore: true }
`;
describe("limits that could not do what they say are errors", () =>
  itFinds(
    String.raw`
    kind: skylight, limits: { guards: { g: { sensor: weather/wind, above: 12, clear_at: 9, allow: [close, 0..10], then: close } } }
    kind: machine, running: [16, 17], limits: { not_running_after: 2m }
    kind: machine, limits: { ‸not_running_after: 2m } → only together with running
    kind: skylight, running: 16, limits: { ‸not_running_after: 2m } → skylight runs only until it has arrived
    kind: skylight, limits: { guards: { ‸g: { sensor: weather/wind } } } → guards.g: expected one of above, below, is, is_not, moving
    kind: skylight, limits: { guards: { g: { sensor: weather/wind, above: 9, clear_at: ‸12 } } } → guards.g.clear_at: expected at most the value of above
    kind: skylight, limits: { guards: { g: { sensor: weather/wind, above: 9, allow: [0..10], then: ‸close } } } → guards.g.then: it is not in allow
    kind: skylight, limits: { guards: { g: { sensor: weather/wind, above: 9, allow: [stop], then: ‸stop } } } → guards.g.then: skylight has no such command
    kind: irrigation, limits: { for: 5m, ends_with: ‸stop } → ends_with: irrigation has no such command that ends something
    kind: irrigation, limits: { for: 5m, ends_with: ‸on } → ends_with: irrigation has no such command that ends something
    kind: custom, values: { slow: 1, fast: 2 }, limits: { for: 5m, ends_with: slow }
    kind: skylight, stop: { address: 7, value: 1 }, limits: { for: 5m, ends_with: stop, guards: { g: { sensor: weather/wind, above: 9, allow: [], then: stop } } }
    kind: skylight, limits: { guards: { g: { sensor: ‸weather/rain, above: 9 } } } → guards.g.sensor: there is no "rain" under weather
    kind: skylight, limits: { guards: { g: { actuator: ‸three, moving: true } } } → guards.g.actuator: there is no such actuator in this configuration
    kind: skylight, limits: { guards: { g: { actuator: ‸hidden, moving: true } } } → guards.g.actuator: this actuator is ignored
    kind: skylight, limits: { guards: { g: { sensor: ‸GH-0001/probe, above: 9 } } } → guards.g.sensor: this sensor is ignored
    kind: skylight, limits: { guards: { g: { status: ‸west/pump, is: "on" } } } → guards.g.status: the controller west is ignored
    kind: skylight, limits: { guards: { g: { sensor: ‸GH-0003/wind, above: 9 } } } → guards.g.sensor: mirror: listed leaves out the controller GH-0003, which is not listed
    kind: skylight, limits: { guards: { g: { actuator: ‸one, moving: true } } } → guards.g.actuator: expected another actuator
    kind: skylight, limits: { guards: { g: { actuator: two, is: ‸close, allow: [stop] } } } → guards.g.is: skylight never shows that
    kind: skylight, limits: { guards: { g: { actuator: two, is_not: [CLOSED, ‸shut] } } } → guards.g.is_not[1]: skylight never shows that
    kind: irrigation, limits: { guards: { g: { actuator: one, ‸above: 5 } } } → guards.g.above: irrigation has no degree
    kind: light, lead_in: always, limits: { guards: { g: { sensor: t, above: 5, ‸allow: [off], then: off } } } → guards.g.allow: lead_in: always sends "on" before anything else
    kind: light, lead_in: always, limits: { for: 1h, guards: { g: { sensor: t, above: 5, ‸allow: [off] } } } → guards.g.allow: lead_in: always sends "on" before anything else
    kind: irrigation, limits: { ‸reversal: 60s } → reversal: irrigation only goes on and off
    kind: irrigation, limits: { for: ‸2h, at_most: 1h } → for: longer than at_most
  `,
    { around: withOne },
  ));

describe("check says in a sentence what they mean, and names stop only where there is one", () =>
  it.each([
    [
      "kind: irrigation, limits: { for: 15m, at_most: 45m, starts_per_hour: 6 }",
      'it starts at most 6 times an hour; each command ends with "off" after 15m unless it names a time, at most 45m.',
    ],
    [
      "kind: skylight, limits: { guards: { g: { sensor: weather/wind, above: 9, allow: [close, stop, 0..10] } } }",
      'when weather/wind is above 9 or has no value ("g"), the bridge accepts only close, 0..10, until that is over.',
    ],
    [
      "kind: skylight, limits: { guards: { g: { sensor: weather/wind, above: 9 } } }",
      'when weather/wind is above 9 or has no value ("g"), the bridge accepts nothing, until that is over.',
    ],
    [
      "kind: skylight, stop: { address: 7, value: 1 }, limits: { guards: { g: { sensor: weather/wind, above: 9 } } }",
      'when weather/wind is above 9 or has no value ("g"), the bridge accepts only stop, until that is over. stop always passes.',
    ],
    [
      "kind: skylight, limits: { guards: { g: { sensor: weather/wind, above: 12, clear_at: 9, clear_after: 10m, allow: [close], then: close } } }",
      'when weather/wind is above 12 or has no value ("g"), the bridge sends "close" once, then accepts only close, until it is 9 or less for 10m.',
    ],
    [
      'kind: skylight, values: { off: "00010101" }, limits: { for: 15m }',
      'each command ends with "off" after 15m unless it names a time.',
    ],
    [
      "kind: irrigation, read_only: true, limits: { for: 15m }",
      'while it is read-only, the bridge takes and sends nothing; otherwise each command ends with "off" after 15m unless it names a time.',
    ],
  ])("%s", async (keys, sentence) => {
    const { configuration } = await loaded(withOne(keys));
    expect(limitSentences(configuration)).toEqual([`controllers.GH-0001.actuators.one: ${sentence}`]);
  }));

describe("check warns of a light that gets on first only now and then, where the guard that sends off forbids it", () =>
  itFinds(
    String.raw`
    kind: light, limits: { guards: { g: { sensor: weather/wind, above: 5, allow: [off], then: ‸off } } } → gets "on" first
    kind: light, limits: { guards: { g: { sensor: weather/wind, above: 5, allow: ‸[off] } } } → gets "on" first
    kind: light, lead_in: never, limits: { guards: { g: { sensor: weather/wind, above: 5, allow: [off], then: off } } }
  `,
    { around: withOne, find: async (text) => (await loaded(text)).warnings },
  ));

describe("check says what the section sparkplug means", () =>
  it.each([
    ["", []],
    ["sparkplug: { node: east }", []],
    [
      "sparkplug: { enabled: true, node: east }",
      [
        expect.stringMatching(
          /^sparkplug: .*greenhouses\/east .*greenhouse2mqtt-sparkplug.*wait for no host/,
        ),
      ],
    ],
    [
      "sparkplug: { enabled: true, primary_host: scada1 }",
      [expect.stringMatching(/births wait until scada1 says/)],
    ],
  ])("%s", async (section, sentences) => {
    const { configuration } = await loaded(`${platform}${section}\n`);
    expect(sparkplugSentences(configuration)).toEqual(sentences);
  }));

describe("limits of readings are in order, those of a sensor with what its kind says", () =>
  itFinds(String.raw`
    alarms: { temperature: { low_low: 2, low: 5, high: 35, high_high: 40, deadband: 1, delay: 10m } }
    alarms: { temperature: { low: ‸5, low_low: 5 } } → alarms.temperature.low: expected a number above low_low (5)
    alarms: { temperature: { high: ‸5, low: 6 } } → expected a number above low (6)
    alarms: { temperature: { low: 5, high: 9, deadband: ‸5 } } → expected at most 4, what lies between low and high
    alarms: { temperature: { low: ‸cold, deadband: ‸-1, delay: ‸5 } } → expected a number, or false for none · expected a number, 0 or more · expected a duration
    alarms: { ‸temprature: { low: 1 } } → did you mean "temperature"?
    alarms: { temperature: { ‸lo: 1 } } → unknown key
    alarms: { temperature: false, humidity: { high: false, low: 20 } }
    alarms: { temperature: { low: 5 } }⏎controllers: { G: { sensors: { a: { from: 空气温度, alarm: { high: ‸4 } } } } } → expected a number above low (5)
    alarms: { temperature: { low: 5 } }⏎controllers: { G: { sensors: { a: { from: b, kind: humidity, alarm: { high: 4 } } } } }
    alarms: { temperature: { low: 5 } }⏎controllers: { G: { sensors: { a: { from: 空气温度, alarm: { low: false, high: 4 } } } } }
    alarms: { temperature: { low: 5 } }⏎controllers: { G: { sensors: { a: { from: 空气温度, alarm: false } } } }
  `));

describe("a value that a guard or an alarm judges has a unit of its kind", () =>
  itFinds(String.raw`
    controllers: { G: { sensors: { a: { from: b, kind: temperature, unit: ‸Cel, alarm: { low: 5 } } } } } → no unit of temperature; expected one of °C, °F, K
    alarms: { wind_speed: { high: 12 } }⏎controllers: { G: { sensors: { a: { from: b, kind: wind_speed, unit: ‸k/h } } } } → did you mean "km/h"?
    alarms: { wind_speed: { high: 12 } }⏎controllers: { G: { sensors: { a: { from: b, kind: wind_speed, unit: k/h, alarm: false } } } }
    weather: { wind: { topic: w, unit: ‸°C } }⏎controllers: { G: { actuators: { a: { kind: light, address: 1, limits: { guards: { g: { sensor: weather/wind, above: 12, allow: [off] } } } } } } } → no unit of wind_speed
    weather: { wind: { topic: w, unit: °C } }⏎controllers: { G: { actuators: { a: { kind: light, address: 1, limits: { guards: { g: { sensor: weather/wind, is: storm, allow: [off] } } } } } } }
  `));

it("check says what limits of readings mean", async () => {
  const { configuration } = await loaded(`${platform}alarms:
  temperature: { low_low: 2, low: 5, high: 35, deadband: 1, delay: 10m }
controllers:
  G:
    sensors:
      a: { from: 空气温度, unit: °C, alarm: { low: 8, low_low: false } }
      b: { from: t7, alarm: false }
`);
  expect(alarmSentences(configuration)).toEqual([
    "alarms.temperature: below 5 a warning, below 2 an error, above 35 a warning, after 10m, ends 1 inside the limit.",
    "controllers.G.sensors.a.alarm: below 8 °C a warning, above 35 °C a warning, after 10m, ends 1 °C inside the limit.",
    "controllers.G.sensors.b.alarm: no alarm.",
  ]);
});
