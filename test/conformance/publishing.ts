import { expect } from "vitest";
import { type Check, limited, retainedOn, subscriber } from "./bench.js";
import { acknowledgePacket, publishPacket } from "./packets.js";

/* PUBLISH in both directions with its acknowledgements, and retained messages. */

export const qos0: Check = async (bench) => {
  const peer = await subscriber(bench, [bench.name(), 2]);
  await (await bench.client()).publish({ topic: bench.name(), payload: "once" });
  expect(await peer.next("publish")).toMatchObject({ payload: "once", qos: 0, dup: false, id: 0 });
};

export const qos1Sent: Check = async (bench) => {
  const peer = await subscriber(bench, [bench.name(), 1]);
  const sender = await bench.client();
  await sender.publish({ topic: bench.name(), payload: "at least once", qos: 1 });
  const message = await peer.next("publish");
  expect(message).toMatchObject({ payload: "at least once", qos: 1, dup: false });
  peer.send(acknowledgePacket("puback", message.id));
  await peer.getsNothingFrom(sender);
};

export const qos1IdUsedAgain: Check = async (bench) => {
  const watcher = await subscriber(bench, [bench.name(), 0]);
  const peer = await bench.client();
  for (const [payload, dup] of [
    ["first", false],
    ["second", true],
  ] as const) {
    peer.send(publishPacket(bench.version, { topic: bench.name(), payload, qos: 1, id: 7, dup }));
    await peer.next("puback");
    expect((await watcher.next("publish")).payload).toBe(payload);
  }
};

export const qos2Sent: Check = async (bench) => {
  const peer = await subscriber(bench, [bench.name(), 2]);
  const sender = await bench.client();
  await sender.publish({ topic: bench.name(), payload: "exactly once", qos: 2 });
  const message = await peer.next("publish");
  expect(message).toMatchObject({ payload: "exactly once", qos: 2, dup: false });
  peer.send(acknowledgePacket("pubrec", message.id));
  expect((await peer.next("pubrel")).id).toBe(message.id);
  // Not sent again although the same comes twice; its release is.
  peer.send(acknowledgePacket("pubrec", message.id));
  expect((await peer.next("pubrel")).id).toBe(message.id);
  peer.send(acknowledgePacket("pubcomp", message.id));
  await peer.getsNothingFrom(sender);
};

export const qos2Received: Check = async (bench) => {
  const watcher = await subscriber(bench, [bench.name(), 0]);
  const peer = await bench.client();
  const send = async (payload: string, dup = false) => {
    peer.send(publishPacket(bench.version, { topic: bench.name(), payload, qos: 2, id: 9, dup }));
    expect((await peer.next("pubrec")).id).toBe(9);
  };
  const release = async () => {
    peer.send(acknowledgePacket("pubrel", 9));
    expect((await peer.next("pubcomp")).id).toBe(9);
  };
  await send("first");
  await send("first", true);
  await release();
  await send("second");
  await release();
  expect((await watcher.next("publish")).payload).toBe("first");
  expect((await watcher.next("publish")).payload).toBe("second");
};

export const dupIsClearWithQos0: Check = async (bench) => {
  const peer = await subscriber(bench, [bench.name(), 0]);
  await (await bench.client()).publish({ topic: bench.name(), qos: 1, dup: true });
  expect(await peer.next("publish")).toMatchObject({ qos: 0, dup: false });
};

export const dupIsTheSenders: Check = async (bench) => {
  const peer = await subscriber(bench, [bench.name(), 2]);
  const sender = await bench.client();
  for (const qos of [1, 2]) {
    await sender.publish({ topic: bench.name(), qos, dup: true });
    expect(await peer.message()).toMatchObject({ qos, dup: false });
  }
};

export const retainedIsKept: Check = async (bench) => {
  const sender = await bench.client();
  for (const qos of [1, 0, 2]) {
    const payload = `of ${qos}`;
    await sender.publish({ topic: bench.name(), payload, qos, retain: true });
    await sender.ping();
    expect(await retainedOn(bench, bench.name())).toMatchObject({ payload, qos });
  }
};

export const lastRetainedOfEach: Check = async (bench) => {
  const sender = await bench.client();
  for (const [topic, payload] of [
    ["/a", "old"],
    ["/a", "new"],
    ["/b", "only"],
  ] as const)
    await sender.publish({ topic: bench.name(topic), payload, qos: 1, retain: true });
  const peer = await subscriber(bench, [bench.name("/+"), 1]);
  const got = [await peer.message(), await peer.message()].map(({ payload }) => payload);
  expect(got.sort()).toEqual(["new", "only"]);
  await peer.getsNothingFrom(sender);
};

export const emptyRetainedClears: Check = async (bench) => {
  const sender = await bench.client();
  await sender.publish({ topic: bench.name(), payload: "old", qos: 1, retain: true });
  const live = await subscriber(bench, [bench.name(), 0]);
  expect((await live.next("publish")).payload).toBe("old");
  await sender.publish({ topic: bench.name(), payload: "", qos: 1, retain: true });
  expect(await live.next("publish")).toMatchObject({ payload: "", retain: false });
  expect(await retainedOn(bench, bench.name())).toBe(null);
};

export const withoutRetainNothingChanges: Check = async (bench) => {
  const sender = await bench.client();
  await sender.publish({ topic: bench.name(), payload: "kept", qos: 1, retain: true });
  for (const payload of ["passing", ""]) await sender.publish({ topic: bench.name(), payload, qos: 1 });
  expect(await retainedOn(bench, bench.name())).toMatchObject({ payload: "kept" });
  await sender.publish({ topic: bench.name("/other"), payload: "passing", qos: 1 });
  expect(await retainedOn(bench, bench.name("/other"))).toBe(null);
};

export const forbiddenIsAcknowledged: Check = async (bench) => {
  const watcher = await subscriber(bench, [bench.name(), 0]);
  const peer = await bench.client(limited);
  for (const qos of [1, 2]) await peer.publish({ topic: bench.name(), qos });
  await watcher.getsNothingFrom(await bench.client());
};

export const inOrder: Check = async (bench) => {
  const payloads = Array.from({ length: 30 }, (_, n) => String(n));
  for (const qos of [0, 1, 2]) {
    const topic = bench.name(`/${qos}`);
    const peer = await subscriber(bench, [topic, qos]);
    const sender = await bench.client();
    const send = async () => {
      for (const payload of payloads) await sender.publish({ topic, payload, qos });
    };
    const receive = async () => {
      for (const payload of payloads) expect((await peer.message()).payload).toBe(payload);
    };
    await Promise.all([send(), receive()]);
  }
};

export const reachesEverySubscription: Check = async (bench) => {
  const peers = [];
  for (const filter of ["/a/b", "/+/b", "/a/+", "/a/#", "/#"])
    peers.push(await subscriber(bench, [bench.name(filter), 1]));
  await (await bench.client()).publish({ topic: bench.name("/a/b"), payload: "all", qos: 1 });
  for (const peer of peers) expect((await peer.message()).payload).toBe("all");
};
