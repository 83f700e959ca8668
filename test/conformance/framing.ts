import { expect } from "vitest";
import { createWebSocketStream } from "ws";
import { packet } from "../fuzz/packets.js";
import { type Check, expectMalformed, login, subscriber } from "./bench.js";
import {
  acknowledgePacket,
  connectPacket,
  pingPacket,
  publishPacket,
  short,
  subscribePacket,
  unsubscribePacket,
} from "./packets.js";

/* How packets are made up: text, flags, ids; and the frames of WebSocket. */

export const illFormedTextIsTaken: Check = async (bench) => {
  const peer = await subscriber(bench, [bench.name("/#"), 0]);
  const topic = [...Buffer.from(bench.name("/")), 0xff, 0xed, 0xa0, 0x80];
  await (await bench.client()).publish({ topic });
  expect((await peer.next("publish")).topic).toBe(bench.name("/\ufffd\ufffd\ufffd\ufffd"));
};

export const nullCharacterGoesNowhere: Check = async (bench) => {
  const peer = await subscriber(bench, [bench.name("/#"), 0]);
  const sender = await bench.client();
  await sender.publish({ topic: bench.name("/a\0b"), qos: 1 });
  await peer.getsNothingFrom(sender);
};

export const byteOrderMarkStays: Check = async (bench) => {
  const topic = bench.name("/mark");
  const marked = await subscriber(bench, [`\ufeff${topic}`, 0]);
  const plain = await subscriber(bench, [topic, 0]);
  const sender = await bench.client();
  await sender.publish({ topic: `\ufeff${topic}` });
  expect((await marked.next("publish")).topic).toBe(`\ufeff${topic}`);
  await plain.getsNothingFrom(sender);
};

export const reservedFlagsOfOurs: Check = async (bench) => {
  // The decoder takes no packet with other flags.
  const peer = await subscriber(bench, [bench.name(), 2]);
  const sender = await bench.client();
  await sender.publish({ topic: bench.name(), qos: 2 });
  await peer.message();
  await peer.ping();
  peer.send(unsubscribePacket(bench.version, 9, [bench.name()]));
  expect((await peer.next("unsuback")).id).toBe(9);
};

export const idOfZeroIsTaken: Check = async ({ client, version, name }) => {
  const peer = await client();
  peer.send(publishPacket(version, { topic: name(), qos: 1, id: 0 }));
  expect((await peer.next("puback")).id).toBe(0);
  peer.send(subscribePacket(version, 0, [[name(), 0]]));
  expect((await peer.next("suback")).id).toBe(0);
  peer.send(unsubscribePacket(version, 0, [name()]));
  expect((await peer.next("unsuback")).id).toBe(0);
};

export const ownIdsDiffer: Check = async (bench) => {
  const peer = await subscriber(bench, [bench.name(), 2]);
  const sender = await bench.client();
  for (const qos of [1, 2, 1, 2]) await sender.publish({ topic: bench.name(), qos });
  const ids = new Set<number>();
  for (let n = 0; n < 4; n += 1) ids.add((await peer.next("publish")).id);
  expect(ids.size).toBe(4);
  expect(ids).not.toContain(0);
};

export const messageIdsReturn: Check = async ({ client, name, version }) => {
  const peer = await client();
  peer.send(publishPacket(version, { topic: name(), qos: 1, id: 0xfffe }));
  expect((await peer.next("puback")).id).toBe(0xfffe);
  peer.send(publishPacket(version, { topic: name(), qos: 2, id: 0xffff }));
  expect((await peer.next("pubrec")).id).toBe(0xffff);
  peer.send(acknowledgePacket("pubrel", 0xffff));
  expect((await peer.next("pubcomp")).id).toBe(0xffff);
};

export const requestIdsReturn: Check = async ({ client, name, version }) => {
  const peer = await client();
  peer.send(subscribePacket(version, 0x1234, [[name(), 0]]));
  expect((await peer.next("suback")).id).toBe(0x1234);
  peer.send(unsubscribePacket(version, 0xabcd, [name()]));
  expect((await peer.next("unsuback")).id).toBe(0xabcd);
};

const violationEnds: Check = async (bench) => {
  const { version } = bench;
  // A packet that only a broker sends, one of an unknown type, and a topic that is longer than its packet.
  await expectMalformed(bench, ...packet(0xd0, []));
  await expectMalformed(bench, ...packet(0x00, []));
  await expectMalformed(bench, ...packet(0x30, [...short(50), 0x74]));
  await expectMalformed(bench, ...publishPacket(version, { topic: "" }));
};

export const othersStay: Check = async (bench) => {
  const bystander = await bench.client();
  await violationEnds(bench);
  await bystander.ping();
};

export const propertyLengthThere: Check = async ({ client, name }) => {
  const peer = await client();
  await peer.subscribe([[name(), 0]]);
  await peer.publish({ topic: name(), payload: "\x05five" });
  // Were there no length, it would be taken from the payload.
  expect(await peer.next("publish")).toMatchObject({ payload: "\x05five", properties: [] });
};

export const textFrameIsTaken: Check = async (bench) => {
  const peer = await subscriber(bench, [bench.name(), 0]);
  const socket = await bench.webSocket();
  socket.send(Buffer.from(connectPacket(bench.version, { id: bench.name("w"), ...login })));
  const publish = publishPacket(bench.version, { topic: bench.name(), payload: "as text" });
  socket.send(Buffer.from(publish).toString(), { binary: false });
  expect((await peer.next("publish")).payload).toBe("as text");
};

export const framesAreNoPackets: Check = async (bench) => {
  const socket = await bench.webSocket();
  const peer = bench.on(createWebSocketStream(socket));
  const connect = connectPacket(bench.version, { id: bench.name("w"), ...login });
  for (const byte of connect) socket.send(Buffer.from([byte]));
  expect((await peer.next("connack")).code).toBe(0);
  socket.send(Buffer.from([...pingPacket, ...pingPacket, ...pingPacket.slice(0, 1)]));
  socket.send(Buffer.from(pingPacket.slice(1)));
  for (let pings = 0; pings < 3; pings += 1) await peer.next("pingresp");
};

export const subprotocol: Check = async ({ webSocket }) => {
  expect((await webSocket(["other", "mqtt"])).protocol).toBe("mqtt");
};
