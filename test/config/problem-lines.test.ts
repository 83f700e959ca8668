import { describe, expect, it } from "vitest";
import { actuatorKinds } from "../../src/greenhouse/actuator-kinds.js";
import { inShort } from "../../src/config/load.js";
import { itFinds, platform, problemLines } from "./loading.js";

const kinds = actuatorKinds.join(", ");

describe("every problem names file:line:column, the path and what was expected", () => {
  itFinds(String.raw`
    controllers:⏎  GH-0001:⏎    actuators:⏎      roof:⏎        kind: machine⏎        ‸adress: 101 → unknown key, did you mean "address"?
    mqtt: { ‸baseTopic: x } → unknown key, did you mean "base_topic"?
    controllers: { G: { actuators: { a: { kind: ‸skylite, address: 1 } } } } → not one of the ${actuatorKinds.length} words, did you mean "skylight"?
    controllers: { G: { actuators: { a: { kind: ‸window, address: 1 } } } } → expected one of ${kinds}
    ‸read_only: false → unknown key, did you mean commands.read_only?
    controllers: { G: { ‸travel_time: 90s } } → unknown key, did you mean controllers.<code>.actuators.<id>.travel_time?
    mqtt: { ‸port: 1883 } → unknown key
    controllers:⏎  G:⏎    actuators:⏎      ‸a: { kind: machine } → missing, expected an address
    controllers:⏎  G:⏎    parameters:⏎      ‸p: → missing, expected an address
    mqtt: ‸localhost → expected a section of keys with values
    http: ‸true → expected false or a section of keys with values
    http: { ‸hots: x, port: ‸8o } → unknown key, did you mean "host"? · expected a whole number from 0 to 65535
    broker: { users: ‸{ a: b } } → expected a list
    broker:⏎  users:⏎    - username: a⏎      ‸pasword: x⏎    - ‸b → unknown key, did you mean "password"? · expected a section of keys with values
    sparkplug: { group: ‸a/b, node: ‸"", primary_host: ‸STATE, enabled: ‸yes } → expected a name without "/", "+" and "#", and not STATE · expected a name without · expected a name without · expected true or false
    sparkplug: { ‸primery_host: scada1 } → unknown key, did you mean "primary_host"?
    polling: { controllers: ‸5, sensors: ‸1 x, actuators: ‸2y, running_status: ‸[1m] } → expected a duration such as 500ms, 30s, 5m or 1h, at least 1s
    polling: { stale_after: ‸999ms } → expected at least 1s
    commands: { max_age: 1h, min_interval: ‸999999999h } → expected at most 168h
    broker: { port: ‸65536, limits: { clients: ‸1.5, packet_size: ‸big, login_attempts: ‸0 } } → expected a whole number from 0 to 65535 · expected a whole number from 1 to 10000 · expected a whole number from 1024 to 268435455 · expected a whole number from 1 to 1000
    controllers: { G: { sensors: { s: { from: t1, offset: ‸.nan, min: ‸.inf, scale: ‸0 } } } } → expected a number · expected a number · expected a number other than 0
    commands: { read_only: ‸yes, dry_run: ‸1 } → expected true or false
    controllers: { G: { actuators: { ‸Left Roof: { kind: machine, address: 1 } } } } → such as "left_roof"
    controllers: { ‸__proto__: { name: x } } → this name cannot be used as a key
    controllers: { G: { parameters: { p: { address: ‸1/2 } } } } → expected an address of letters
    controllers: { G: { actuators: { a: { kind: custom, address: 1, values: { ‸1: a, ‸unknown: b, ‸c: } } } } } → expected a command word · expected a command word · missing, expected a control value
    mqtt: { base_topic: ‸/a }⏎homeassistant: { discovery_prefix: ‸a//b, status_topic: ‸$a/b }⏎broker: { users: [{ username: a, password: b, subscribe: [‸a#] }] } → expected a topic without "+" and "#" · expected a topic without "+" and "#" · expected a topic without "+" and "#" · expected a topic filter
    mqtt: { url: ‸localhost } → expected an address that starts with mqtt://
    mqtt: { url: ‸mqtt://user:canary@localhost } → expected an address without user and password
    notify: { ‸way: {} } → unknown key, did you mean "ways"?
    notify: { language: ‸de, time_zone: ‸Mars/Base, proxy: { url: ‸socks5://a } } → expected one of en, zh · expected a time zone · expected an address that starts with http:// or https://
    notify: { ways: { ‸My Phone: { ntfy: { topic: a } } } } → such as "my_phone"
    notify: { ways: { a: { severity: ‸fatal, cleared: ‸1, quiet_hours: { from: ‸"24:00", to: ‸6h }, ntfy: { topic: ‸a b } } } } → expected one of info, warning, error · expected true or false · expected a time of day such as 22:00 · expected a time of day · expected a topic of letters
    notify: { ways: { a: { ntfy: { url: ‸ntfy.sh, topic: a, token: ‸a b } } } } → expected an address that starts with http:// · expected an access token without blanks
    notify: { ways: { a: { telegram: { token: ‸abc, chat_id: ‸my chat } } } } → expected a bot's token · expected a chat id
    notify: { ways: { a: { wecom: { key: ‸a b } }, b: { dingtalk: { access_token: ‸a/b, secret: ‸a b } } } } → expected the key of a group robot · expected the access token · expected the robot's secret
    notify: { ways: { a: { webhook: { url: ‸"https://", headers: { ‸a b: c, X: ‸"" } } } } } → expected an address that starts with http:// · expected the name of a header · expected the text of a header
    notify: { ways: { a: { smtp: { host: ‸a b, port: ‸0, encryption: ‸ssl, from: ‸anna, to: ‸[] } } } } → expected a host name · expected a whole number from 1 to 65535 · expected one of starttls, tls, none · expected a mail address · expected at least one mail address
    notify: { ways: { ‸a: { smtp: } } } → expected one of ntfy
    mqtt: { protocol_version: ‸3 } → expected one of 4, 5
  `);

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

it("mistakes in short are the first ones without the folders of their files, and how many more there are", () => {
  const problem = (line: number) => ({
    ...{ file: "/home/anna/house/config.yaml", line, column: 1, path: `key_${line}`, message: "wrong" },
  });
  const all = [1, 2, 3].map(problem);
  expect([inShort([]), ...[1, 2, 3].map((most) => String(inShort(all, most)))]).toEqual([
    null,
    "config.yaml:1:1 key_1: wrong; and 2 more",
    "config.yaml:1:1 key_1: wrong; config.yaml:2:1 key_2: wrong; and 1 more",
    "config.yaml:1:1 key_1: wrong; config.yaml:2:1 key_2: wrong; config.yaml:3:1 key_3: wrong",
  ]);
});
