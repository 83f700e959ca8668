import { expect } from "vitest";
import { packet } from "../fuzz/packets.js";
import { type Bench, type Check, expectMalformed, expectThrownOut, login } from "./bench.js";
import {
  type Connect,
  connectPacket,
  publishPacket,
  short,
  subscribePacket,
  text,
  unsubscribePacket,
} from "./packets.js";

/* Statements of which bytes are the whole test: each is sent by a client of its own. */

type Bytes = readonly number[];
const illFormed = [0x66, 0xff, 0xfe];

const subscribing = (
  { version }: Bench,
  ...asked: readonly (readonly [filter: string | Bytes, options: number])[]
) => subscribePacket(version, 1, asked);
const unsubscribing = ({ version }: Bench, ...filters: readonly (string | Bytes)[]) =>
  unsubscribePacket(version, 1, filters);
/** The same packet with another first byte. */
const beginning = (packets: Bytes, ...firsts: readonly number[]) =>
  firsts.map((first) => [first, ...packets.slice(1)]);
const textProperty = (id: number) => packet(0x30, [0, 1, 0x74, 6, id, 0, 3, 0x74, 0xff, 0xfe]);
const wildcards = (bench: Bench, ...ends: readonly string[]) => ends.map((end) => bench.name(end));

/** A client that was let in is thrown out for them. */
const malformed: Readonly<Record<string, (bench: Bench) => readonly Bytes[]>> = {
  disconnectFlags: () => [packet(0xe2, [])],
  reservedFlagsOfTheirs: () => [
    ...[packet(0xc1, []), packet(0x60, short(1)), packet(0x6a, short(1)), packet(0xe1, [])],
  ],
  releaseFlags: () => [packet(0x60, short(1))],
  noWildcardInTopic: (bench) =>
    wildcards(bench, "+", "#", "/+/x", "/#").map((topic) => publishPacket(bench.version, { topic })),
  noEmptyTopic: ({ version }) => [publishPacket(version, { topic: "" })],
  qosOf3: ({ name }) => [packet(0x36, [...text(name()), ...short(1), 0])],
  subscribeFlags: (bench) => beginning(subscribing(bench, [bench.name(), 0]), 0x80, 0x83, 0x8a),
  filterIsThere: (bench) => [subscribing(bench)],
  subscribeOptions: (bench) =>
    (bench.version === 5 ? [3, 0x30, 0x40, 0x80] : [3, 4, 0x40, 0x80]).map((options) =>
      subscribing(bench, [bench.name(), options]),
    ),
  unsubscribeFlags: (bench) => beginning(unsubscribing(bench, bench.name()), 0xa0, 0xa3),
  unsubscribeIsOfSomething: (bench) => [unsubscribing(bench)],
  noEmptyFilter: (bench) => [subscribing(bench, ["", 0]), unsubscribing(bench, "")],
  responseTopicWithoutWildcard: ({ name }) =>
    ["a/+", "a/#"].map((wildcard) =>
      publishPacket(5, { topic: name(), properties: [["response topic", wildcard]] }),
    ),
};

/** It is served as before. */
const tolerated: Readonly<Record<string, (bench: Bench) => readonly Bytes[]>> = {
  longerLengthIsTaken: () => [[0xc0, 0x80, 0x00]],
  illFormedPairIsTaken: ({ name }) => {
    const pair = [0x26, ...text("by"), ...text([0xff, 0xfe])];
    return [packet(0x30, [...text(name()), pair.length, ...pair])];
  },
  illFormedFilterIsTaken: (bench) => [subscribing(bench, [illFormed, 0])],
  illFormedUnsubscribeIsTaken: (bench) => [unsubscribing(bench, illFormed)],
  hashAsSecondLetterIsTaken: (bench) => [subscribing(bench, ["a#", 0])],
  plusBesideALetterIsTaken: (bench) =>
    ["a+", "+a", bench.name("/+a")].map((filter) => subscribing(bench, [filter, 0])),
  nullInFilterIsTaken: (bench) => [subscribing(bench, ["a\0b", 0])],
  illFormedResponseTopicIsTaken: () => [textProperty(0x08)],
  illFormedContentTypeIsTaken: () => [textProperty(0x03)],
};

/** CONNECTs for which nobody is let in. */
const malformedConnects: Readonly<Record<string, (bench: Bench) => readonly Connect[]>> = {
  protocolName: () => [{ ...login, protocol: "MQTX" }],
  unknownLevelEnds: () => [{ ...login, level: 6 }],
  reservedConnectFlag: () => [{ ...login, flip: 1 }],
  // The flag of a will, and the login's fields taken for topic and message.
  willFieldsMissing: () => [{ username: "u", flip: 0x80 | 4 }],
  willBitsWithoutWill: () => [8, 16, 32].map((flip) => ({ ...login, flip })),
  willQosOf3: ({ name }) => [{ ...login, will: { topic: name(), qos: 3 } }],
  userNameMissing: () => [{ flip: 0x80 }],
  passwordMissing: () => [{ username: login.username, flip: 0x40 }],
};

/** CONNECTs that are answered with a code: of 3.1.1, and of 5 where that is another. */
const answeredConnects: Readonly<
  Record<string, readonly [code311: number, code5: number, connect: Connect]>
> = {
  userNameWithoutFlagIsPassedOver: [4, 4, { username: login.username, flip: 0x80 }],
  passwordWithoutFlagIsPassedOver: [4, 4, { ...login, flip: 0x40 }],
  passwordAloneIsAWrongLogin: [4, 4, { password: login.password }],
  illFormedIdIsTaken: [0, 0, { ...login, id: [0x69, 0xff, 0xfe] }],
  illFormedWillTopicIsTaken: [0, 0, { ...login, will: { topic: [0x77, 0xff, 0xfe] } }],
  illFormedUserNameIsAWrongLogin: [4, 0x86, { username: [0x75, 0xff, 0xfe], password: "conformance-nobody" }],
};

const each = <Row>(rows: Readonly<Record<string, Row>>, check: (bench: Bench, row: Row) => Promise<void>) =>
  Object.entries(rows).map(([name, row]): [string, Check] => [name, (bench) => check(bench, row)]);

export const bytes: Readonly<Record<string, Check>> = Object.fromEntries([
  ...each(malformed, async (bench, packets) => {
    for (const sent of packets(bench)) await expectMalformed(bench, ...sent);
  }),
  ...each(tolerated, async (bench, packets) => {
    for (const sent of packets(bench)) {
      const peer = await bench.client();
      peer.send(sent);
      await peer.untilPong();
    }
  }),
  ...each(malformedConnects, async (bench, connects) => {
    for (const connect of connects(bench)) {
      const peer = await bench.raw();
      peer.send(connectPacket(bench.version, { id: bench.name("malformed"), ...connect }));
      await expectThrownOut(peer);
    }
  }),
  ...each(answeredConnects, async ({ raw, name, version }, [code311, code5, connect]) => {
    const { code } = await (await raw()).connect({ id: name("connack"), ...connect });
    expect(code).toBe(version === 5 ? code5 : code311);
  }),
]);
