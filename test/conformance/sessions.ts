import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import { type Bench, type Checks, lasting, leftSession, login, retainedOn, subscriber } from "./bench.js";
import {
  acknowledgePacket,
  type Connect,
  disconnectPacket,
  type Property,
  unsubscribePacket,
  type Will,
} from "./packets.js";
import type { Peer } from "./peer.js";

/* What outlives a connection: sessions, what they missed and what they did not acknowledge, and wills. */

/** A client of the lasting session comes; the broker says whether it knows it. */
async function comes(bench: Bench, isKnown: boolean, connect: Connect = {}): Promise<Peer> {
  const peer = await bench.raw();
  const { code, sessionPresent } = await peer.connect({ ...login, ...lasting(bench), ...connect });
  expect([code, sessionPresent]).toEqual([0, isKnown]);
  return peer;
}
const comesBack = (bench: Bench, connect: Connect = {}) => comes(bench, true, connect);

/** Somebody who watches the will's topic, and the client whose will it is. */
async function withWill(
  bench: Bench,
  will: Partial<Will> = {},
  connect: Connect = {},
): Promise<{ readonly watcher: Peer; readonly peer: Peer }> {
  const topic = bench.name("/will");
  const watcher = await subscriber(bench, [topic, 2]);
  const peer = await bench.client({ id: bench.name("willing"), ...connect, will: { topic, ...will } });
  return { watcher, peer };
}

const delayed: Partial<Will> = { properties: [["will delay", 1]] };

const both: Checks = {
  "a session that is kept goes on where it was left, and the CONNACK says so": async (bench) => {
    const first = await comes(bench, false);
    await first.subscribe([[bench.name(), 1]]);
    first.drop();
    const peer = await comesBack(bench);
    const sender = await bench.client();
    await sender.publish({ topic: bench.name(), payload: "live" });
    expect((await peer.message()).payload).toBe("live");
  },

  "a session outlives its connection, and what it misses of QoS 1 and 2 is kept for it": async (bench) => {
    await leftSession(bench, [bench.name(), 2]);
    const sender = await bench.client();
    for (const qos of [1, 2]) await sender.publish({ topic: bench.name(), payload: `of ${qos}`, qos });
    const peer = await comesBack(bench);
    expect([(await peer.message()).payload, (await peer.message()).payload]).toEqual(["of 1", "of 2"]);
  },

  "what a session has unsubscribed it does not get when it comes back": async (bench) => {
    const first = await bench.client(lasting(bench));
    await first.subscribe([[bench.name(), 1]]);
    await first.subscribe([[bench.name("/kept"), 1]]);
    first.send(unsubscribePacket(bench.version, 40, [bench.name()]));
    await first.next("unsuback");
    first.drop();
    const sender = await bench.client();
    await sender.publish({ topic: bench.name(), payload: "unsubscribed", qos: 1 });
    await sender.publish({ topic: bench.name("/kept"), payload: "kept", qos: 1 });
    expect((await (await comesBack(bench)).message()).payload).toBe("kept");
  },

  "coming clean throws an earlier session away": async (bench) => {
    await leftSession(bench, [bench.name(), 1]);
    const sender = await bench.client();
    await sender.publish({ topic: bench.name(), qos: 1 });
    const peer = await comes(bench, false, { clean: true });
    await sender.publish({ topic: bench.name(), qos: 1 });
    await peer.getsNothingFrom(sender);
  },

  "a clean session leaves nothing": async (bench) => {
    const first = await bench.client({ ...lasting(bench), clean: true, properties: [] });
    await first.subscribe([[bench.name(), 1]]);
    first.drop();
    await comes(bench, false);
  },

  "a session that returns is sent what it did not acknowledge, of QoS 2 what is left to do": async (
    bench,
  ) => {
    const first = await bench.client(lasting(bench));
    await first.subscribe([[bench.name(), 2]]);
    const sender = await bench.client();
    for (const qos of [1, 2, 2]) await sender.publish({ topic: bench.name(), qos });
    const ids: number[] = [];
    while (ids.length < 3) ids.push((await first.next("publish")).id);
    first.send(acknowledgePacket("pubrec", ids[2] ?? 0));
    expect((await first.next("pubrel")).id).toBe(ids[2]);
    first.drop();
    const again = await comesBack(bench);
    expect([(await again.next("publish")).id, (await again.next("publish")).id]).toEqual(ids.slice(0, 2));
    expect((await again.next("pubrel")).id).toBe(ids[2]);
  },

  "what is sent again comes in its order": async (bench) => {
    const payloads = ["1", "2", "3", "4"];
    const first = await bench.client(lasting(bench));
    await first.subscribe([[bench.name(), 1]]);
    const sender = await bench.client();
    for (const payload of payloads) await sender.publish({ topic: bench.name(), payload, qos: 1 });
    for (const payload of payloads) expect((await first.next("publish")).payload).toBe(payload);
    first.drop();
    const again = await comesBack(bench);
    for (const payload of payloads) expect((await again.next("publish")).payload).toBe(payload);
  },

  "a will is published when its connection is lost": async (bench) => {
    for (const qos of [0, 1, 2]) {
      const { watcher, peer } = await withWill(bench, { payload: `lost ${qos}`, qos });
      peer.drop();
      expect(await watcher.message()).toMatchObject({ payload: `lost ${qos}`, qos });
    }
  },

  "a will that is to be retained is": async (bench) => {
    const { watcher, peer } = await withWill(bench, { payload: "lost", qos: 1, retain: true });
    peer.drop();
    await watcher.message();
    expect(await retainedOn(bench, bench.name("/will"))).toMatchObject({ payload: "lost", qos: 1 });
  },

  "a DISCONNECT takes the will away": async (bench) => {
    const { watcher, peer } = await withWill(bench);
    peer.send(disconnectPacket());
    expect(await peer.untilEnd()).toEqual([]);
    await watcher.getsNothingFrom(await bench.client());
  },
};

const only5: Checks = {
  "what a session refused is not sent again": async (bench) => {
    const first = await bench.client(lasting(bench));
    await first.subscribe([[bench.name(), 2]]);
    const sender = await bench.client();
    await sender.publish({ topic: bench.name(), qos: 2 });
    first.send(acknowledgePacket("pubrec", (await first.next("publish")).id, 0x80));
    await first.ping();
    first.drop();
    await (await comesBack(bench)).getsNothingFrom(sender);
  },

  "a session ends when its expiry has passed": async (bench) => {
    const properties = [["session expiry", 3]] as const;
    const first = await bench.client({ ...lasting(bench), properties });
    await first.subscribe([[bench.name(), 1]]);
    first.drop();
    (await comesBack(bench, { properties })).drop();
    await delay(5_000);
    await comes(bench, false);
  },

  "a will that waits is published after its delay": async (bench) => {
    const { watcher, peer } = await withWill(bench, delayed, { properties: [["session expiry", 60]] });
    const droppedAt = performance.now();
    peer.drop();
    await watcher.message();
    expect(performance.now() - droppedAt).toBeGreaterThan(900);
  },

  "of the user properties of a will the one that says who asks is kept, because thousands fit into a packet":
    async (bench) => {
      const by: Property = ["user property", ["by", "Li"]];
      const properties = [["user property", ["a", "1"]], by, ["user property", ["b", "2"]]] as const;
      const { watcher, peer } = await withWill(bench, { properties });
      peer.drop();
      expect((await watcher.message()).properties).toEqual([by]);
    },
};

export const sessions = { both, only5 };
