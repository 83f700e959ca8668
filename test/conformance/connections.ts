import { expect } from "vitest";
import { packet } from "../fuzz/packets.js";
import {
  type Bench,
  type Checks,
  expectMalformed,
  expectThrownOut,
  lasting,
  limited,
  login,
  subscriber,
} from "./bench.js";
import { connectPacket, disconnectPacket, publishPacket, short, unsubscribePacket } from "./packets.js";

/* Logins, client ids and the end of a connection; SUBSCRIBE and UNSUBSCRIBE. */

const refusal = ({ version }: Bench, code311: number, code5: number) => (version === 5 ? code5 : code311);
const wrongLogin = { username: "nobody", password: "conformance-nobody" };

const violationEnds = async (bench: Bench): Promise<void> => {
  const { version } = bench;
  // A packet that only a broker sends, one of an unknown type, and a topic that is longer than its packet.
  await expectMalformed(bench, ...packet(0xd0, []));
  await expectMalformed(bench, ...packet(0x00, []));
  await expectMalformed(bench, ...packet(0x30, [...short(50), 0x74]));
  await expectMalformed(bench, ...publishPacket(version, { topic: "" }));
};

const both: Checks = {
  "silence of one and a half times the keep alive ends the connection": async ({ client }) => {
    // The broker hears CONNECT at some time after this; on a busy machine long before we hear its answer.
    const lastHeard = performance.now();
    const peer = await client({ keepAlive: 1 });
    expect((await peer.untilEnd()).filter(({ type }) => type !== "disconnect")).toEqual([]);
    expect(performance.now() - lastHeard).toBeGreaterThan(1_400);
  },

  "a client whose id is in use by another user is refused and disconnected": async (bench) => {
    const id = bench.name("owned");
    const owner = await bench.client({ id });
    const peer = await bench.raw();
    const { code, sessionPresent } = await peer.connect({ ...limited, id });
    expect([code, sessionPresent]).toEqual([refusal(bench, 2, 0x85), false]);
    expect(await peer.untilEnd()).toEqual([]);
    await owner.ping();
  },

  "who comes with the id of a connected client takes its place; in MQTT 5 that client is told 0x8E": async ({
    client,
    name,
  }) => {
    const id = name("twice");
    const first = await client({ id });
    const second = await client({ id });
    const last = await first.untilEnd();
    expect(last).toMatchObject(first.version === 5 ? [{ type: "disconnect", code: 0x8e }] : []);
    await second.ping();
  },

  "a wrong login is refused and ends the connection": async (bench) => {
    const peer = await bench.raw();
    const { code, sessionPresent } = await peer.connect({ id: bench.name("x"), ...wrongLogin });
    expect([code, sessionPresent]).toEqual([refusal(bench, 4, 0x86), false]);
    expect(await peer.untilEnd()).toEqual([]);
  },

  "a refusal says nothing of a session": async (bench) => {
    const { client, raw, name } = bench;
    await (await client(lasting(bench))).subscribe([[name(), 1]]);
    const { code, sessionPresent } = await (await raw()).connect({ ...lasting(bench), ...wrongLogin });
    expect(code).not.toBe(0);
    expect(sessionPresent).toBe(false);
  },

  "what comes behind a refused CONNECT is not dealt with": async (bench) => {
    const { raw, version, name } = bench;
    const watcher = await bench.client();
    await watcher.subscribe([[name(), 0]]);
    const peer = await raw();
    peer.send(
      connectPacket(version, { id: name("x"), ...wrongLogin }),
      publishPacket(version, { topic: name() }),
    );
    expect((await peer.next("connack")).code).not.toBe(0);
    expect(await peer.untilEnd()).toEqual([]);
    await watcher.getsNothingFrom(await bench.client());
  },

  "a SUBACK has a code for each filter, in their order": async (bench) => {
    const peer = await bench.client(limited);
    const asked = [
      ["allowed/x", 1],
      [bench.name(), 1],
      ["allowed/y", 2],
      ["#", 0],
    ] as const;
    const failed = bench.version === 5 ? 0x87 : 0x80;
    expect(await peer.subscribe(asked)).toEqual([1, failed, 2, failed]);
  },

  "the same filter again replaces the subscription": async (bench) => {
    const sender = await bench.client();
    await sender.publish({ topic: bench.name(), payload: "kept", qos: 1, retain: true });
    const peer = await subscriber(bench, [bench.name(), 0]);
    expect(await peer.message()).toMatchObject({ payload: "kept", qos: 0 });
    await peer.subscribe([[bench.name(), 1]]);
    expect(await peer.message()).toMatchObject({ payload: "kept", qos: 1, retain: true });
    await sender.publish({ topic: bench.name(), payload: "live", qos: 1 });
    expect(await peer.message()).toMatchObject({ payload: "live", qos: 1 });
    await peer.getsNothingFrom(sender);
  },

  "a delivery has the lower of both QoS": async (bench) => {
    for (const granted of [0, 1, 2]) {
      const topic = bench.name(`/${granted}`);
      const peer = await subscriber(bench, [topic, granted]);
      const sender = await bench.client();
      for (const qos of [0, 1, 2]) {
        await sender.publish({ topic, qos });
        expect((await peer.message()).qos).toBe(Math.min(granted, qos));
      }
    }
  },

  "where filters overlap a message comes once, at the QoS of the filter that stands for itself": async (
    bench,
  ) => {
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
  },

  "after an UNSUBSCRIBE nothing new comes": async (bench) => {
    const peer = await subscriber(bench, [bench.name(), 1]);
    const sender = await bench.client();
    peer.send(unsubscribePacket(bench.version, 40, [bench.name()]));
    await peer.next("unsuback");
    for (const qos of [0, 1, 2]) await sender.publish({ topic: bench.name(), qos });
    await peer.getsNothingFrom(sender);
  },

  "several filters are unsubscribed in one packet, those that were not subscribed to too": async (bench) => {
    const peer = await subscriber(bench, [bench.name("/a"), 0], [bench.name("/b"), 0], [bench.name("/c"), 0]);
    peer.send(unsubscribePacket(bench.version, 79, [bench.name("/a"), bench.name("/x"), bench.name("/c")]));
    const { codes } = await peer.next("unsuback");
    expect(codes).toEqual(bench.version === 5 ? [0, 0x11, 0] : []);
    const sender = await bench.client();
    for (const topic of ["/a", "/b", "/c"]) await sender.publish({ topic: bench.name(topic) });
    expect((await peer.next("publish")).topic).toBe(bench.name("/b"));
    await peer.getsNothingFrom(sender);
  },

  "nobody is let in with a will of QoS 3": async ({ raw, name, version }) => {
    const peer = await raw();
    const will = { topic: name("/will"), qos: 3 };
    peer.send(connectPacket(version, { id: name("malformed"), ...login, will }));
    await expectThrownOut(peer);
  },

  "a violation ends the connection it came on, and no other": async (bench) => {
    const bystander = await bench.client();
    await violationEnds(bench);
    await bystander.ping();
  },
};

const only5: Checks = {
  "nobody is let in with a property given twice": async ({ raw, name }) => {
    const will = {
      topic: name("/will"),
      properties: [
        ["will delay", 1],
        ["will delay", 2],
      ],
    } as const;
    const properties = [
      ["receive maximum", 5],
      ["receive maximum", 6],
    ] as const;
    for (const connect of [{ properties }, { will }]) {
      const peer = await raw();
      peer.send(connectPacket(5, { id: name("malformed"), ...login, ...connect }));
      await expectThrownOut(peer);
    }
  },

  "a session expiry given twice in a DISCONNECT ends nobody else": async (bench) => {
    const bystander = await bench.client();
    const peer = await bench.client(lasting(bench));
    await peer.subscribe([[bench.name(), 1]]);
    const twice = [
      ["session expiry", 30],
      ["session expiry", 60],
    ] as const;
    peer.send(disconnectPacket(0, twice));
    await peer.untilEnd();
    await bystander.ping();
    await (await bench.client()).ping();
  },
};

export const connections = { both, only5 };
