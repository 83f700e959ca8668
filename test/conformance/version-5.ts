import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import {
  type Bench,
  type Check,
  lasting,
  leftSession,
  limited,
  login,
  retainedOn,
  subscriber,
  valueOf,
} from "./bench.js";
import {
  noLocal,
  type Property,
  publishPacket,
  retainAsPublished,
  retainHandling,
  subscribePacket,
} from "./packets.js";
import type { Peer } from "./peer.js";

/* What only MQTT 5 has: properties of messages, options of subscriptions, limits that both sides name. */

/** The properties with which a subscriber gets a message that was sent with these. */
async function passedOn(bench: Bench, ...properties: readonly Property[]): Promise<readonly Property[]> {
  const peer = await subscriber(bench, [bench.name("/passed"), 1]);
  await (await bench.client()).publish({ topic: bench.name("/passed"), qos: 1, properties });
  return (await peer.message()).properties;
}

const plain: readonly Property[] = [
  ["payload format", 1],
  ["response topic", "answers/here"],
  ["correlation data", Buffer.from([0, 255, 1])],
  ["content type", "application/json"],
];
export const handedOn: Check = async (bench) => {
  expect(await passedOn(bench, ...plain)).toEqual(plain);
};

const by: Property = ["user property", ["by", "Li"]];
export const otherUserPropertiesAreDropped: Check = async (bench) => {
  const passed = await passedOn(bench, ["user property", ["a", "1"]], by, ["user property", ["b", "2"]]);
  expect(passed).toEqual([by]);
};

export const expiredIsDropped: Check = async (bench) => {
  await leftSession(bench, [bench.name(), 1]);
  const sender = await bench.client();
  const expiring = { topic: bench.name(), qos: 1, properties: [["message expiry", 1]] } as const;
  await sender.publish(expiring);
  await sender.publish({ ...expiring, topic: bench.name("/retained"), retain: true });
  await delay(2_000);
  const peer = await bench.raw();
  expect((await peer.connect({ ...login, ...lasting(bench) })).sessionPresent).toBe(true);
  await peer.getsNothingFrom(sender);
  expect(await retainedOn(bench, bench.name("/retained"))).toBe(null);
};

/** The seconds that a message of 60 has left when it comes to a session, or to a subscriber, after some. */
async function secondsLeft(bench: Bench): Promise<{ readonly queued: unknown; readonly retained: unknown }> {
  await leftSession(bench, [bench.name(), 1]);
  const sender = await bench.client();
  await sender.publish({
    ...{ topic: bench.name(), qos: 1, retain: true },
    properties: [["message expiry", 60]],
  });
  await delay(2_000);
  const peer = await bench.raw();
  await peer.connect({ ...login, ...lasting(bench) });
  const retained = await retainedOn(bench, bench.name());
  return {
    queued: valueOf(await peer.message(), "message expiry"),
    retained: retained && valueOf(retained, "message expiry"),
  };
}

export const expiryCountsDown: Check = async (bench) => {
  const { queued, retained } = await secondsLeft(bench);
  expect(queued).toBeLessThan(60);
  expect(retained).toBeLessThan(60);
};

/** Whether what is retained comes at each of several subscriptions to one topic. */
const keptComes =
  (handling: number, ...comes: readonly boolean[]): Check =>
  async (bench) => {
    const peer = await bench.client();
    await peer.publish({ topic: bench.name(), payload: "kept", qos: 1, retain: true });
    for (const isSent of comes) {
      await peer.subscribe([[bench.name(), retainHandling(handling)]]);
      if (isSent) expect((await peer.next("publish")).payload).toBe("kept");
      else await peer.getsNothingFrom(await bench.client());
    }
  };
export const retainHandling0 = keptComes(0, true, true);
export const retainHandling1 = keptComes(1, true, false);
export const retainHandling2 = keptComes(2, false);

export const retainedAsPublished: Check = async (bench) => {
  const peer = await subscriber(bench, [bench.name(), 1 + retainAsPublished]);
  const sender = await bench.client();
  for (const retain of [true, false]) {
    await sender.publish({ topic: bench.name(), qos: 1, retain });
    expect((await peer.message()).retain).toBe(retain);
  }
};

export const notItsOwn: Check = async (bench) => {
  const peer = await subscriber(bench, [bench.name(), 1 + noLocal]);
  await peer.publish({ topic: bench.name(), payload: "own", qos: 1 });
  await (await bench.client()).publish({ topic: bench.name(), payload: "another's", qos: 1 });
  expect((await peer.message()).payload).toBe("another's");
};

export const noLocalSharedIsRefused: Check = async ({ client, name }) => {
  expect(await (await client()).subscribe([[`$share/group/${name()}`, noLocal]])).toEqual([0x9e]);
};

export const identifierReturns: Check = async (bench) => {
  const peer = await bench.client();
  await peer.subscribe([[bench.name("/live"), 1]], [["subscription identifier", 200]]);
  const sender = await bench.client();
  await sender.publish({ topic: bench.name("/live"), qos: 1 });
  expect((await peer.message()).properties).toEqual([["subscription identifier", 200]]);
};

export const identifierOfOneOnly: Check = async (bench) => {
  const peer = await bench.client();
  await peer.subscribe([[bench.name("/+"), 1]], [["subscription identifier", 1]]);
  await peer.subscribe([[bench.name("/a"), 1]], [["subscription identifier", 2]]);
  const sender = await bench.client();
  await sender.publish({ topic: bench.name("/a"), qos: 1 });
  expect((await peer.message()).properties).toEqual([["subscription identifier", 2]]);
};

export const identifierInPublishIsDropped: Check = async (bench) => {
  expect(await passedOn(bench, ["subscription identifier", 1])).toEqual([]);
};

const aliasRefused =
  (alias: number): Check =>
  async ({ client, name }) => {
    const peer = await client();
    peer.send(publishPacket(5, { topic: name(), properties: [["topic alias", alias]] }));
    expect(await peer.untilEnd()).toMatchObject([{ type: "disconnect", code: 0x94 }]);
  };
export const aliasOfZero = aliasRefused(0);
export const noAliasTaken: Check = async (bench) => {
  const connack = await (await bench.raw()).connect({ id: bench.name("alias"), ...login });
  expect(valueOf(connack, "topic alias maximum")).toBe(undefined);
  await aliasRefused(1)(bench);
};

const aliasesWith =
  (properties: readonly Property[]): Check =>
  async ({ client, name }) => {
    const peer = await client({ properties });
    await peer.subscribe([[name("/#"), 0]]);
    for (const topic of ["/a", "/a", "/b"]) {
      await peer.publish({ topic: name(topic) });
      expect(await peer.next("publish")).toMatchObject({ topic: name(topic), properties: [] });
    }
  };
export const noAliasUnasked = aliasesWith([]);
export const noAliasBeyondMaximum = aliasesWith([["topic alias maximum", 1]]);

/** A client that acknowledges nothing, and may be sent two messages. */
async function receivesTwo({ client, name }: Bench): Promise<Peer> {
  const peer = await client({ properties: [["receive maximum", 2]] });
  await peer.subscribe([[name(), 1]]);
  const sender = await client();
  for (let n = 0; n < 4; n += 1) await sender.publish({ topic: name(), qos: 1 });
  return peer;
}

export const moreThanReceiveMaximum: Check = async (bench) => {
  const peer = await receivesTwo(bench);
  for (let n = 0; n < 4; n += 1) expect((await peer.next("publish")).qos).toBe(1);
};

export const othersAreNotDelayed: Check = async (bench) => {
  const peer = await receivesTwo(bench);
  await peer.untilPong();
};

export const receiveMaximumOf0: Check = async ({ raw, name }) => {
  const peer = await raw();
  expect((await peer.connect({ id: name("r"), ...login, properties: [["receive maximum", 0]] })).code).toBe(
    0x82,
  );
  expect(await peer.untilEnd()).toEqual([]);
};

export const largerThanTheClientTakes: Check = async ({ client, name }) => {
  const payload = "x".repeat(200);
  const peer = await client({ properties: [["maximum packet size", 100]] });
  await peer.subscribe([[name(), 0]]);
  await (await client()).publish({ topic: name(), payload });
  expect((await peer.next("publish")).payload).toBe(payload);
};

export const packetSizeOfBroker: Check = async ({ raw, name }) => {
  const peer = await raw();
  const size = valueOf(await peer.connect({ id: name("big"), ...login }), "maximum packet size");
  if (typeof size !== "number") throw new Error("the CONNACK names no maximum packet size");
  peer.send(publishPacket(5, { topic: name(), payload: "x".repeat(size) }));
  expect(await peer.untilEnd()).toMatchObject([{ type: "disconnect", code: 0x95 }]);
};

export const noReasonsUnasked: Check = async ({ client }) => {
  const peer = await client({ ...limited, properties: [["request problem information", 0]] });
  peer.send(subscribePacket(5, 1, [["elsewhere", 1]]));
  expect(await peer.next("suback")).toMatchObject({ codes: [0x87], properties: [] });
  peer.send(publishPacket(5, { topic: "elsewhere", qos: 1, id: 2 }));
  expect(await peer.next("puback")).toMatchObject({ properties: [] });
};

export const noExpiryInDisconnect: Check = async ({ client, name }) => {
  const id = name("over");
  const first = await client({ id, properties: [["session expiry", 60]] });
  await client({ id });
  expect(await first.untilEnd()).toMatchObject([{ type: "disconnect", properties: [] }]);
};

export const sharedUnavailable: Check = async ({ raw, name }) => {
  const peer = await raw();
  const connack = await peer.connect({ id: name("s"), ...login });
  expect(valueOf(connack, "shared subscriptions available")).toBe(0);
  expect(await peer.subscribe([[`$share/group/${name()}`, 1]])).toEqual([0x9e]);
};
