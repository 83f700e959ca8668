import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import {
  type Bench,
  type Checks,
  lasting,
  leftSession,
  limited,
  login,
  retainedOn,
  subscriber,
  valueOf,
} from "./bench.js";
import { acknowledgePacket, type Property, publishPacket } from "./packets.js";

/* PUBLISH in both directions, what is retained, and which properties of a message are handed on. */

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
const by: Property = ["user property", ["by", "Li"]];
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

const both: Checks = {
  "QoS 2 is sent, released with its id, and not sent again": async (bench) => {
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
  },

  "QoS 2 is taken once, however often it comes before its release": async (bench) => {
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
  },

  "DUP is 0 with QoS 0": async (bench) => {
    const peer = await subscriber(bench, [bench.name(), 0]);
    await (await bench.client()).publish({ topic: bench.name(), qos: 1, dup: true });
    expect(await peer.next("publish")).toMatchObject({ qos: 0, dup: false });
  },

  "the sender's DUP is not handed on": async (bench) => {
    const peer = await subscriber(bench, [bench.name(), 2]);
    const sender = await bench.client();
    for (const qos of [1, 2]) {
      await sender.publish({ topic: bench.name(), qos, dup: true });
      expect(await peer.message()).toMatchObject({ qos, dup: false });
    }
  },

  "messages of a sender come in their order": async (bench) => {
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
  },

  "a retained message replaces the one before, of any QoS, and is kept with its own": async (bench) => {
    const sender = await bench.client();
    for (const qos of [1, 0, 2]) {
      const payload = `of ${qos}`;
      await sender.publish({ topic: bench.name(), payload, qos, retain: true });
      await sender.ping();
      expect(await retainedOn(bench, bench.name())).toMatchObject({ payload, qos });
    }
  },

  "a new subscription gets the last retained message of each topic": async (bench) => {
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
  },

  "an empty retained message is delivered, and clears": async (bench) => {
    const sender = await bench.client();
    await sender.publish({ topic: bench.name(), payload: "old", qos: 1, retain: true });
    const live = await subscriber(bench, [bench.name(), 0]);
    expect((await live.next("publish")).payload).toBe("old");
    await sender.publish({ topic: bench.name(), payload: "", qos: 1, retain: true });
    expect(await live.next("publish")).toMatchObject({ payload: "", retain: false });
    expect(await retainedOn(bench, bench.name())).toBe(null);
  },

  "without the flag nothing retained changes": async (bench) => {
    const sender = await bench.client();
    await sender.publish({ topic: bench.name(), payload: "kept", qos: 1, retain: true });
    for (const payload of ["passing", ""]) await sender.publish({ topic: bench.name(), payload, qos: 1 });
    expect(await retainedOn(bench, bench.name())).toMatchObject({ payload: "kept" });
    await sender.publish({ topic: bench.name("/other"), payload: "passing", qos: 1 });
    expect(await retainedOn(bench, bench.name("/other"))).toBe(null);
  },

  "a message that is not allowed is acknowledged and goes nowhere": async (bench) => {
    const watcher = await subscriber(bench, [bench.name(), 0]);
    const peer = await bench.client(limited);
    for (const qos of [1, 2]) await peer.publish({ topic: bench.name(), qos });
    await watcher.getsNothingFrom(await bench.client());
  },
};

const only5: Checks = {
  "payload format, response topic, correlation data and content type are handed on": async (bench) => {
    expect(await passedOn(bench, ...plain)).toEqual(plain);
  },

  "of user properties the one that says who asks is handed on, because thousands fit into a packet": async (
    bench,
  ) => {
    const passed = await passedOn(bench, ["user property", ["a", "1"]], by, ["user property", ["b", "2"]]);
    expect(passed).toEqual([by]);
  },

  "a message whose time is over is dropped": async (bench) => {
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
  },

  "its time counts down while it waits": async (bench) => {
    const { queued, retained } = await secondsLeft(bench);
    expect(queued).toBeLessThan(60);
    expect(retained).toBeLessThan(60);
  },

  "a subscription identifier that a client sends is taken out, and the message goes on": async (bench) => {
    expect(await passedOn(bench, ["subscription identifier", 1])).toEqual([]);
  },

  "a packet above the size that the CONNACK names ends with 0x95": async ({ raw, name }) => {
    const peer = await raw();
    const size = valueOf(await peer.connect({ id: name("big"), ...login }), "maximum packet size");
    if (typeof size !== "number") throw new Error("the CONNACK names no maximum packet size");
    peer.send(publishPacket(5, { topic: name(), payload: "x".repeat(size) }));
    expect(await peer.untilEnd()).toMatchObject([{ type: "disconnect", code: 0x95 }]);
  },
};

export const messages = { both, only5 };
