import { expect } from "vitest";
import { type Check, expectMalformed, limited, subscriber } from "./bench.js";
import { acknowledgePacket, subscribePacket, unsubscribePacket } from "./packets.js";

/* SUBSCRIBE and UNSUBSCRIBE with their answers, and what filters match. */

export const subscriptionIsReplaced: Check = async (bench) => {
  const sender = await bench.client();
  await sender.publish({ topic: bench.name(), payload: "kept", qos: 1, retain: true });
  const peer = await subscriber(bench, [bench.name(), 0]);
  expect(await peer.message()).toMatchObject({ payload: "kept", qos: 0 });
  await peer.subscribe([[bench.name(), 1]]);
  expect(await peer.message()).toMatchObject({ payload: "kept", qos: 1, retain: true });
  await sender.publish({ topic: bench.name(), payload: "live", qos: 1 });
  expect(await peer.message()).toMatchObject({ payload: "live", qos: 1 });
  await peer.getsNothingFrom(sender);
};

export const severalFilters: Check = async (bench) => {
  const peer = await bench.client();
  const asked = ["/a", "/b", "/c"].map((topic, qos) => [bench.name(topic), qos] as const);
  expect(await peer.subscribe(asked)).toEqual([0, 1, 2]);
  const sender = await bench.client();
  for (const [topic, qos] of asked) {
    await sender.publish({ topic, qos: 2 });
    expect(await peer.message()).toMatchObject({ topic, qos });
  }
};

export const oneCodeForTheSameFilterTwice: Check = async ({ client, name }) => {
  const asked = [
    [name("/a"), 0],
    [name("/b"), 1],
    [name("/a"), 2],
  ] as const;
  expect(await (await client()).subscribe(asked)).toEqual([2, 1]);
};

export const lowerOfBothQos: Check = async (bench) => {
  for (const granted of [0, 1, 2]) {
    const topic = bench.name(`/${granted}`);
    const peer = await subscriber(bench, [topic, granted]);
    const sender = await bench.client();
    for (const qos of [0, 1, 2]) {
      await sender.publish({ topic, qos });
      expect((await peer.message()).qos).toBe(Math.min(granted, qos));
    }
  }
};

export const codesInOrder: Check = async (bench) => {
  const peer = await bench.client(limited);
  const asked = [
    ["allowed/x", 1],
    [bench.name(), 1],
    ["allowed/y", 2],
    ["#", 0],
  ] as const;
  const failed = bench.version === 5 ? 0x87 : 0x80;
  expect(await peer.subscribe(asked)).toEqual([1, failed, 2, failed]);
};

export const overlappingAtEitherQos: Check = async (bench) => {
  const sender = await bench.client();
  const delivered: number[] = [];
  for (const [wide, narrow] of [
    [0, 2],
    [2, 0],
    [1, 2],
    [2, 1],
  ] as const) {
    const topic = bench.name(`/${wide}${narrow}/x`);
    const peer = await subscriber(bench, [bench.name(`/${wide}${narrow}/+`), wide], [topic, narrow]);
    await sender.publish({ topic, qos: 2 });
    delivered.push((await peer.message()).qos);
    await peer.getsNothingFrom(sender);
  }
  expect(delivered).toEqual([2, 0, 2, 1]);
};

export const unsubscribeOfNothingIsAnswered: Check = async ({ client, version }) => {
  const peer = await client();
  peer.send(unsubscribePacket(version, 5, []));
  expect((await peer.next("unsuback")).id).toBe(5);
};

export const unsubscribedByTheLetter: Check = async (bench) => {
  const peer = await subscriber(bench, [bench.name("/+"), 0]);
  const sender = await bench.client();
  for (const filter of ["/a", "/#", "/+/"]) {
    peer.send(unsubscribePacket(bench.version, 40, [bench.name(filter)]));
    await peer.next("unsuback");
    await sender.publish({ topic: bench.name("/a"), payload: filter });
    expect((await peer.next("publish")).payload).toBe(filter);
  }
  peer.send(unsubscribePacket(bench.version, 41, [bench.name("/+")]));
  await peer.next("unsuback");
  await sender.publish({ topic: bench.name("/a") });
  await peer.getsNothingFrom(sender);
};

export const nothingNewAfterwards: Check = async (bench) => {
  const peer = await subscriber(bench, [bench.name(), 1]);
  const sender = await bench.client();
  peer.send(unsubscribePacket(bench.version, 40, [bench.name()]));
  await peer.next("unsuback");
  for (const qos of [0, 1, 2]) await sender.publish({ topic: bench.name(), qos });
  await peer.getsNothingFrom(sender);
};

export const begunIsFinished: Check = async (bench) => {
  const peer = await subscriber(bench, [bench.name(), 2]);
  await (await bench.client()).publish({ topic: bench.name(), qos: 2 });
  const { id } = await peer.next("publish");
  peer.send(unsubscribePacket(bench.version, 40, [bench.name()]));
  await peer.next("unsuback");
  peer.send(acknowledgePacket("pubrec", id));
  expect((await peer.next("pubrel")).id).toBe(id);
};

export const severalUnsubscribed: Check = async (bench) => {
  const peer = await subscriber(bench, [bench.name("/a"), 0], [bench.name("/b"), 0], [bench.name("/c"), 0]);
  peer.send(unsubscribePacket(bench.version, 79, [bench.name("/a"), bench.name("/x"), bench.name("/c")]));
  const { codes } = await peer.next("unsuback");
  expect(codes).toEqual(bench.version === 5 ? [0, 0x11, 0] : []);
  const sender = await bench.client();
  for (const topic of ["/a", "/b", "/c"]) await sender.publish({ topic: bench.name(topic) });
  expect((await peer.next("publish")).topic).toBe(bench.name("/b"));
  await peer.getsNothingFrom(sender);
};

export const hashStandsLast: Check = async (bench) => {
  for (const filter of ["/#/x", "/a#", "/#a"])
    await expectMalformed(bench, ...subscribePacket(bench.version, 1, [[bench.name(filter), 0]]));
  const peer = await subscriber(bench, [bench.name("/#"), 0]);
  const sender = await bench.client();
  for (const topic of ["", "/", "/a", "/a/b/c"]) {
    await sender.publish({ topic: bench.name(topic) });
    expect((await peer.next("publish")).topic).toBe(bench.name(topic));
  }
  await sender.publish({ topic: bench.name("x/a") });
  await peer.getsNothingFrom(sender);
};

export const plusFillsALevel: Check = async (bench) => {
  for (const filter of ["/a+", "/+ab", "/a+/b"])
    await expectMalformed(bench, ...subscribePacket(bench.version, 1, [[bench.name(filter), 0]]));
  const peer = await subscriber(bench, [bench.name("/+/x/+"), 0]);
  const sender = await bench.client();
  for (const topic of ["/a/x/b", "//x/"]) {
    await sender.publish({ topic: bench.name(topic) });
    expect((await peer.next("publish")).topic).toBe(bench.name(topic));
  }
  for (const topic of ["/a/x", "/a/b/x/c", "/a/x/b/c"]) await sender.publish({ topic: bench.name(topic) });
  await peer.getsNothingFrom(sender);
};

export const wildcardsAndTheServersTopics: Check = async (bench) => {
  // The broker tells there of everybody who comes.
  const peer = await subscriber(bench, ["+/+/new/clients", 0], ["+/+/disconnect/clients", 0]);
  const sender = await bench.client();
  (await bench.client()).drop();
  await peer.getsNothingFrom(sender);
};

export const nothingIsNormalized: Check = async (bench) => {
  const peer = await subscriber(bench, [bench.name("/a/b"), 0]);
  const sender = await bench.client();
  for (const topic of ["/A/b", "/a/b/", "//a/b", "/a//b", "/a/b ", "/a/./b", "/a/%62"])
    await sender.publish({ topic: bench.name(topic) });
  await peer.getsNothingFrom(sender);
  await sender.publish({ topic: bench.name("/a/b") });
  expect((await peer.next("publish")).topic).toBe(bench.name("/a/b"));
};
