import { describe, expect, it } from "vitest";
import { itFinds, platform, problemLines, rowsOf } from "./loading.js";

/* `platform` fills lines 1 to 4, so the texts of the table start in line 5. */

const kinds =
  "skylight, shade_curtain, thermal_curtain, side_vent, positioner, circulation_fan, uv_disinfection, mist_humidifier, co2_supply, humidity_control, hot_air_blower, heating_blower, mist_cooling, machine, fan_wet_curtain, irrigation, light, motor, custom";

describe("every problem names file:line:column, the path and what was expected", () => {
  itFinds(rowsOf`
    # an unknown key, with the nearest valid one
    controllers:⏎  GH-0001:⏎    actuators:⏎      roof:⏎        kind: machine⏎        adress: 101
      :10:9 controllers.GH-0001.actuators.roof.adress: unknown key, did you mean "address"?
    # an unknown key near no other
    colour: red
      :5:1 colour: unknown key
    # an unknown key in another spelling
    mqtt: { baseTopic: x }
      :5:9 mqtt.baseTopic: unknown key, did you mean "base_topic"?
    # a mistyped section
    polling_: { sensors: 1m }
      :5:1 polling_: unknown key, did you mean "polling"?
    # a wrong word, with the nearest right one
    controllers: { G: { actuators: { a: { kind: skylite, address: 1 } } } }
      :5:45 controllers.G.actuators.a.kind: expected one of ${kinds}, did you mean "skylight"?
    # a wrong word near none
    mirror: nothing
      :5:9 mirror: expected one of all, listed
    # a missing key, at its section
    controllers:⏎  G:⏎    actuators:⏎      a: { kind: machine }
      :8:7 controllers.G.actuators.a.address: missing, expected an address of letters, digits, ".", "_" and "-"
    # an entry without any key
    controllers:⏎  G:⏎    parameters:⏎      p:
      :8:7 controllers.G.parameters.p.address: missing, expected an address of letters, digits, ".", "_" and "-"
    # a text for a section
    mqtt: localhost
      :5:7 mqtt: expected a section of keys with values
    # a list for a section
    polling: [1m]
      :5:10 polling: expected a section of keys with values
    # true for http
    http: true
      :5:7 http: expected false or a section of keys with values
    # a wrong key of http
    http: { hots: x, port: 8o }
      :5:9 http.hots: unknown key, did you mean "host"?
      :5:24 http.port: expected a whole number from 0 to 65535
    # a section for a list
    broker: { users: { a: b } }
      :5:18 broker.users: expected a list
    # an item of a list
    broker:⏎  users:⏎    - username: a⏎      pasword: x⏎    - b
      :8:7 broker.users[0].pasword: unknown key, did you mean "password"?
      :9:7 broker.users[1]: expected a section of keys with values
    # durations
    polling: { controllers: 5, sensors: 1 x, actuators: 2y, running_status: [1m], stale_after: 999ms }
      :5:25 polling.controllers: expected a duration such as 500ms, 30s, 5m or 1h, at least 1s
      :5:37 polling.sensors: expected a duration such as 500ms, 30s, 5m or 1h, at least 1s
      :5:53 polling.actuators: expected a duration such as 500ms, 30s, 5m or 1h, at least 1s
      :5:73 polling.running_status: expected a duration such as 500ms, 30s, 5m or 1h, at least 1s
      :5:92 polling.stale_after: expected at least 1s
    # durations beyond any sense
    commands: { max_age: 1h, min_interval: 999999999h }
      :5:40 commands.min_interval: expected at most 168h
    # numbers
    broker: { port: 65536, limits: { clients: 1.5, packet_size: big, login_attempts: 0 } }
      :5:17 broker.port: expected a whole number from 0 to 65535
      :5:43 broker.limits.clients: expected a whole number from 1 to 10000
      :5:61 broker.limits.packet_size: expected a whole number from 1024 to 268435455
      :5:82 broker.limits.login_attempts: expected a whole number from 1 to 1000
    # numbers that are none
    controllers: { G: { sensors: { s: { from: t1, offset: .nan, min: .inf, scale: 0 } } } }
      :5:55 controllers.G.sensors.s.offset: expected a number
      :5:66 controllers.G.sensors.s.min: expected a number
      :5:79 controllers.G.sensors.s.scale: expected a number other than 0
    # true and false
    commands: { read_only: yes, dry_run: 1 }
      :5:24 commands.read_only: expected true or false
      :5:38 commands.dry_run: expected true or false
    # ids of entries, with a proposal
    controllers: { G: { actuators: { Left Roof: { kind: machine, address: 1 } } } }
      :5:34 controllers.G.actuators."Left…": expected an id of a-z, 0-9, "_" and "-" (at most 64), such as "left_roof"
    # device codes
    controllers:⏎  ' GH': {}⏎  ..: {}
      :6:3 controllers."…": expected a device code as the platform writes it (at most 64 characters, no blanks around it)
      :7:3 controllers...: expected a device code as the platform writes it (at most 64 characters, no blanks around it)
    # a name that would change the object
    controllers: { __proto__: { name: x } }
      :5:16 controllers: this name cannot be used as a key
    # addresses
    controllers: { G: { parameters: { p: { address: 1/2 } } } }
      :5:49 controllers.G.parameters.p.address: expected an address of letters, digits, ".", "_" and "-"
    # command words
    controllers: { G: { actuators: { a: { kind: custom, address: 1, values: { 1: a, unknown: b, c: } } } } }
      :5:75 controllers.G.actuators.a.values.1: expected a command word of a-z, 0-9 and "_" that starts with a letter and is not "unknown"
      :5:81 controllers.G.actuators.a.values.unknown: expected a command word of a-z, 0-9 and "_" that starts with a letter and is not "unknown"
      :5:93 controllers.G.actuators.a.values.c: missing, expected a control value without blanks, such as 00000100
    # topics and filters
    mqtt: { base_topic: /a }⏎homeassistant: { discovery_prefix: a//b, status_topic: $a/b }⏎broker: { users: [{ username: a, password: b, subscribe: [a#] }] }
      :5:21 mqtt.base_topic: expected a topic without "+" and "#", and no "/" or "$" at its start
      :6:36 homeassistant.discovery_prefix: expected a topic without "+" and "#", and no "/" or "$" at its start
      :6:56 homeassistant.status_topic: expected a topic without "+" and "#", and no "/" or "$" at its start
      :7:59 broker.users[0].subscribe[0]: expected a topic filter such as greenhouse/+/sensor/# or "#"
    # broker addresses
    mqtt: { url: localhost }
      :5:14 mqtt.url: expected an address that starts with mqtt:// or mqtts:// or ws:// or wss://, such as mqtt://localhost:1883
    # credentials inside an address
    mqtt: { url: mqtt://user:canary@localhost }
      :5:14 mqtt.url: expected an address without user and password; give them under keys of their own
    # a version that is none
    mqtt: { protocol_version: 3 }
      :5:27 mqtt.protocol_version: expected one of 4, 5
  `);

  it("a missing platform section stands at the start of the file", async () => {
    expect(await problemLines("mqtt: {}\n")).toEqual([
      "config.yaml:1:1 platform: missing, expected a section of keys with values",
    ]);
  });

  it("the platform's own values are checked", async () => {
    const text = `platform:
  business_url: ftp://a
  token: Bearer abc
  time_zone: Mars/Base
  push: { credential: heder }
  shapes: { sensordata: { items: a }, device: { itms: a } }
`;
    expect(await problemLines(text)).toEqual([
      "config.yaml:1:1 platform.realtime_url: missing, expected an address that starts with http:// or https://, such as https://realtime.example.com",
      "config.yaml:2:17 platform.business_url: expected an address that starts with http:// or https://, such as https://business.example.com",
      'config.yaml:3:10 platform.token: expected the token alone, without "Bearer " and without blanks',
      "config.yaml:4:14 platform.time_zone: expected a time zone such as Asia/Shanghai or UTC",
      'config.yaml:5:23 platform.push.credential: expected one of header, query, none, did you mean "header"?',
      'config.yaml:6:13 platform.shapes.sensordata: unknown key, did you mean "sensor-data"?',
      'config.yaml:6:49 platform.shapes.device.itms: unknown key, did you mean "items"?',
    ]);
  });

  it("all problems come at once, sorted by place, with the file's name as it was given", async () => {
    const text = `${platform}zzz: 1\ncontrollers: { a: { id: bridge }, b: { ide: 1 } }\nmirror: al\n`;
    expect(await problemLines(text, { file: "../etc/east.yaml" })).toEqual([
      "../etc/east.yaml:5:1 zzz: unknown key",
      '../etc/east.yaml:6:25 controllers.a.id: the topic id "bridge" is reserved; choose another',
      '../etc/east.yaml:6:40 controllers.b.ide: unknown key, did you mean "id"?',
      '../etc/east.yaml:7:9 mirror: expected one of all, listed, did you mean "all"?',
    ]);
  });

  it("a file that is something else entirely gives the first hundred problems and the number of the others", async () => {
    const rows = Array.from({ length: 150 }, (_, n) => `row_${n}_of_a_table: x\n`).join("");
    const lines = await problemLines(platform + rows);
    expect(lines).toHaveLength(101);
    expect(lines[99]).toBe("config.yaml:104:1 row_99_of_a_table: unknown key");
    expect(lines[100]).toBe("config.yaml:104:1: and 50 more problems after this");
  });
});
