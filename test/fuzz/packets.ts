import type { Chance } from "./chance.js";

/* Packets as clients send them, each field drawn from what is usual, at a border, or forbidden. */

export type Version = 3 | 4 | 5;
export const versions: readonly Version[] = [3, 4, 5];

const short = (value: number) => [(value >> 8) & 255, value & 255];
const long = (value: number) => [...short(value >>> 16), ...short(value)];
const text = (value: string | readonly number[]) => {
  const bytes = typeof value === "string" ? [...Buffer.from(value)] : value;
  return [...short(bytes.length), ...bytes];
};

export function variableLength(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  do {
    const more = rest >= 128;
    bytes.push((rest % 128) + (more ? 128 : 0));
    rest = Math.floor(rest / 128);
  } while (rest > 0);
  return bytes;
}

export const packet = (first: number, body: readonly number[]): number[] => [
  first,
  ...variableLength(body.length),
  ...body,
];

const oddTexts: readonly (string | readonly number[])[] = [
  "",
  "a\0b",
  [0xff, 0xfe],
  [0xc3, 0x28],
  [0xed, 0xa0, 0x80],
  [0xf4, 0x90, 0x80, 0x80],
  "x".repeat(70),
  "y".repeat(5_000),
  "\ufeffbom",
  "__proto__",
  "constructor",
  "room/💧",
];

const topics = [
  ...["greenhouse/gh-0001/actuator/left_skylight/set", "greenhouse/gh-0001/parameter/p_501/set"],
  ...["greenhouse/gh-0001/actuator/none/set", "greenhouse/__proto__/actuator/constructor/set"],
  ...["greenhouse/bridge/request/health", "greenhouse/bridge/request/refresh", "greenhouse/bridge/request/x"],
  ...["greenhouse/bridge/state", "greenhouse/gh-0001/sensor/airtemp", "homeassistant/status"],
  ...["homeassistant/device/x/config", "$SYS/broker/uptime", "$SYS/fuzz/new/clients", "$share/a/b", "$"],
  ...["greenhouse/#", "greenhouse/+/actuator/+/set", "#", "+", "/", "//", "a/#/b", "a+b", "a#"],
  ...["a/".repeat(101), "a/".repeat(30_000), "t".repeat(65_535)],
];
const filters = [
  ...topics,
  ...[
    "$share/group/greenhouse/#",
    "$share//a",
    "$share/a",
    "$SYS/#",
    "+/+/#",
    "##",
    "",
    "greenhouse/bridge/#",
  ],
];

const payloads = [
  ...["open", "close", "45", "stop", "ON", "", " 50 ", "1e309", "NaN", "-0", "0x32", "[]", "{}", "null"],
  ...['{"command":"open"}', '{"command":45,"id":"1","dry_run":true}', '{"command":"open","max_age":"1s"}'],
  ...['{"__proto__":{"polluted":1},"command":"open"}', '{"command":{"a":1}}', '{"transaction":"t"}', '{"'],
  ...["[".repeat(5_000), '{"a":'.repeat(2_000), "x".repeat(3_000), '{"id":"' + "i".repeat(3_000) + '"}'],
];

const topicOf = (chance: Chance) => (chance.oneIn(8) ? chance.from(oddTexts) : chance.from(topics));
const payloadOf = (chance: Chance): number[] =>
  chance.oneIn(5) ? chance.bytes(chance.upTo(400)) : [...Buffer.from(chance.from(payloads))];

/** Properties by number: how a value of each is drawn. Numbers that MQTT 5 does not know are drawn too. */
const properties: readonly (readonly [number, (chance: Chance) => readonly number[]])[] = [
  [0x01, (chance) => [chance.upTo(3)]],
  [0x02, (chance) => long(chance.from([0, 1, 60, 0xffffffff]))],
  [0x03, (chance) => text(chance.from(["text/plain", ...oddTexts]))],
  [0x08, (chance) => text(topicOf(chance))],
  [0x09, (chance) => text(chance.bytes(chance.upTo(40)))],
  [0x0b, (chance) => chance.from([[0], [1], [0xff, 0xff, 0xff, 0x7f], [0xff, 0xff, 0xff, 0xff, 0xff]])],
  [0x11, (chance) => long(chance.from([0, 1, 5, 0xffffffff]))],
  [0x15, (chance) => text(chance.from(["SCRAM-SHA-1", ...oddTexts]))],
  [0x16, (chance) => text(chance.bytes(chance.upTo(20)))],
  [0x17, (chance) => [chance.upTo(3)]],
  [0x18, (chance) => long(chance.from([0, 1, 0xffffffff]))],
  [0x19, (chance) => [chance.upTo(3)]],
  [0x1f, (chance) => text(chance.from(oddTexts))],
  [0x21, (chance) => short(chance.from([0, 1, 20, 0xffff]))],
  [0x22, (chance) => short(chance.from([0, 1, 10, 0xffff]))],
  [0x23, (chance) => short(chance.from([0, 1, 9, 0xffff]))],
  [0x26, (chance) => [...text(chance.from(oddTexts)), ...text(chance.from(oddTexts))]],
  [0x26, () => [...text("greenhouse2mqtt-via"), ...text('{"client":"x","user":"admin"}')]],
  [0x27, (chance) => long(chance.from([0, 1, 16, 0xffffffff]))],
  [0x7e, (chance) => chance.bytes(2)],
];

function propertiesOf(version: Version, chance: Chance): number[] {
  if (version !== 5) return [];
  const count = chance.oneIn(2) ? 0 : chance.upTo(4);
  const body = Array.from({ length: count }, () => {
    const [id, value] = chance.from(properties);
    return [id, ...value(chance)];
  }).flat();
  return [...variableLength(body.length), ...body];
}

const clientIds = ["", "greenhouse2mqtt", "a b", "z".repeat(65), "z".repeat(64)];

/** A CONNECT the broker accepts: `id` with a clean session. */
function plainConnect(version: Version, id: string): number[] {
  const name = text(version === 3 ? "MQIsdp" : "MQTT");
  return packet(0x10, [...name, version, 2, 0, 60, ...(version === 5 ? [0] : []), ...text(id)]);
}

function connect(version: Version, chance: Chance, id: string): number[] {
  const [will, user, password] = [chance.oneIn(3), chance.oneIn(3), chance.oneIn(3)];
  const clean = chance.oneIn(4) ? 0 : 2;
  const flags =
    clean +
    (will ? 4 + 8 * chance.upTo(4) + 32 * chance.upTo(2) : 0) +
    (password ? 64 : 0) +
    (user ? 128 : 0);
  const name = chance.oneIn(12)
    ? chance.from(["MQTT", "MQIsdp", "mqtt", ""])
    : version === 3
      ? "MQIsdp"
      : "MQTT";
  return packet(0x10, [
    ...text(name),
    chance.oneIn(12) ? chance.upTo(256) : version + (chance.oneIn(20) ? 128 : 0),
    chance.oneIn(12) ? chance.upTo(256) : flags,
    ...short(chance.from([0, 1, 60, 0xffff])),
    ...propertiesOf(version, chance),
    ...text(chance.oneIn(5) ? chance.from([...clientIds, ...oddTexts]) : id),
    ...(will ? [...propertiesOf(version, chance), ...text(topicOf(chance)), ...text(payloadOf(chance))] : []),
    ...(user ? text(chance.from(["ha", ...oddTexts])) : []),
    ...(password ? text(chance.from(["secret", ...oddTexts])) : []),
  ]);
}

function publish(version: Version, chance: Chance): number[] {
  const qos = chance.upTo(4);
  const first = 0x30 + 8 * chance.upTo(2) + 2 * qos + chance.upTo(2);
  const id = qos > 0 ? short(chance.from([0, 1, 2, 3, 0xffff])) : [];
  return packet(first, [
    ...text(topicOf(chance)),
    ...id,
    ...propertiesOf(version, chance),
    ...payloadOf(chance),
  ]);
}

const acknowledge =
  (first: number) =>
  (version: Version, chance: Chance): number[] =>
    packet(first, [
      ...short(chance.upTo(5)),
      ...(version === 5 && chance.oneIn(2) ? [chance.upTo(256), ...propertiesOf(version, chance)] : []),
    ]);

function subscribe(version: Version, chance: Chance): number[] {
  const count = chance.oneIn(30) ? 300 : chance.upTo(4);
  const filter = () =>
    text(chance.oneIn(8) ? chance.from(oddTexts) : chance.from(filters.slice(0, -1)).slice(0, 300));
  const entries = Array.from({ length: count }, () => [
    ...filter(),
    chance.oneIn(4) ? chance.upTo(256) : chance.upTo(3),
  ]);
  return packet(chance.oneIn(10) ? 0x80 : 0x82, [
    ...short(chance.upTo(5)),
    ...propertiesOf(version, chance),
    ...entries.flat(),
  ]);
}

function unsubscribe(version: Version, chance: Chance): number[] {
  const entries = Array.from({ length: chance.upTo(4) }, () => text(chance.from(filters)));
  return packet(0xa2, [...short(chance.upTo(5)), ...propertiesOf(version, chance), ...entries.flat()]);
}

const withReason =
  (first: number) =>
  (version: Version, chance: Chance): number[] =>
    packet(
      first,
      version === 5 && chance.oneIn(2) ? [chance.upTo(256), ...propertiesOf(version, chance)] : [],
    );

const rest: readonly ((version: Version, chance: Chance) => number[])[] = [
  ...[publish, publish, publish, publish, subscribe, subscribe, unsubscribe],
  ...[acknowledge(0x40), acknowledge(0x50), acknowledge(0x62), acknowledge(0x70)],
  ...[withReason(0xe0), withReason(0xf0)],
  () => packet(0xc0, []),
  // What only a broker sends, and the type that does not exist.
  ...[acknowledge(0x20), acknowledge(0x90), acknowledge(0xb0), withReason(0xd0), withReason(0x00)],
];

/** The packets of one connection, before anything is done to them. */
export function conversation(version: Version, chance: Chance, id: string): number[][] {
  const opening = chance.oneIn(3) ? connect(version, chance, id) : plainConnect(version, id);
  const more = Array.from({ length: chance.upTo(8) }, () => chance.from(rest)(version, chance));
  // A second CONNECT is an error that must close only this one.
  if (chance.oneIn(25)) more.push(plainConnect(version, id));
  return chance.oneIn(40) ? more : [opening, ...more];
}

/** Inputs that crashed brokers once: aedes #612 and its like for Mosquitto (#2163). */
export const knownCrashers: readonly string[] = [
  "101000044d5154540502003c0321001400006202d301e0020020",
  "101000044d5154540502003c03210014000029020001e000",
];
