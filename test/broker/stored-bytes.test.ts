import { type MqttClient } from "mqtt";
import { describe, expect, it } from "vitest";
import type { BrokerLimits } from "../../src/broker/settings.js";
import { bytesOf, emptyPacketBytes, ownBytes } from "../../src/broker/store.js";
import {
  capturedLog,
  otherClient,
  received,
  retainedValue,
  returning,
  testBroker,
  until,
} from "../mqtt-connection/support.js";

const set = (name: string) => `greenhouse/${name}/actuator/roof/set`;
const kib = (count: number) => Buffer.alloc(count * 1024, 97);

/** A broker, a client that publishes, and sessions that are away. */
async function storing(limits: Partial<BrokerLimits> = {}) {
  const broker = await testBroker({ limits });
  const sender = await otherClient(broker.url, { protocolVersion: 5 });
  const leave = async (clientId: string, filters: readonly string[], qos: 1 | 2 = 1) => {
    const client = await otherClient(broker.url, { clientId, clean: false });
    await client.subscribeAsync([...filters], { qos });
    await client.endAsync();
  };
  const send = async (topic: string, payload: Buffer, times: number, qos: 1 | 2 = 1) => {
    for (let n = 0; n < times; n += 1) await sender.publishAsync(topic, payload, { qos });
    // A publish is acknowledged before it is stored; the next packet of its sender is taken up afterwards.
    await sender.publishAsync(set("nobody"), "", { qos: 1 });
  };
  return { broker, sender, leave, send, dropped: () => broker.counters().droppedForSessions };
}

describe("what is kept for persistent sessions, in bytes", () => {
  it("is bounded by default: a thousand of the largest messages do not fill the memory", async () => {
    const { leave, send, dropped } = await storing();
    await leave("hoarder", ["greenhouse/+/actuator/+/set"]);
    await send(set("east"), kib(256), 150);
    const kept = 150 - dropped();
    expect(kept).toBeGreaterThan(50);
    expect(kept * 256 * 1024).toBeLessThan(32 * 1024 * 1024);
  });

  it("leaves room to others, whatever one session does not take", async () => {
    const { broker, leave, send, dropped } = await storing({ sessionBytes: 128 * 1024 });
    await leave("hoarder", [set("east")]);
    await leave("other", [set("west")]);
    await send(set("east"), kib(10), 20);
    const refused = dropped();
    expect(refused).toBe(14);
    await send(set("west"), kib(10), 3);
    expect(dropped()).toBe(refused);
    await send(set("west"), kib(10), 100);
    expect(dropped()).toBe(refused + 100);
    const { seen } = returning(broker.url, { clientId: "other" });
    await until(() => seen.length === 3, "what was kept came");
  });

  it.each([1, 2] as const)("is free again once it was acknowledged, QoS %i", async (qos) => {
    const { broker, leave, send, dropped } = await storing({ sessionBytes: 64 * 1024 });
    await leave("away", ["greenhouse/#", set("east"), "greenhouse/+/actuator/#"], qos);
    for (let round = 0; round < 4; round += 1) {
      await send(set("east"), kib(5), 4, qos);
      const { client, seen } = returning(broker.url, { clientId: "away" });
      await until(() => seen.length >= 5, "all came");
      // Answered behind the acknowledgements.
      await client.publishAsync(set("nobody"), "", { qos: 1 });
      await client.endAsync();
      expect(seen.filter((line) => line.startsWith(set("east")))).toHaveLength(4);
    }
    expect(dropped()).toBe(0);
  });

  it.each([4, 5] as const)(
    "MQTT %i: a session whose filters overlap gets each message once, and stays",
    async (version) => {
      const { broker, sender } = await storing();
      const client = await otherClient(broker.url, {
        ...{ clientId: "overlapping", clean: false, protocolVersion: version, reconnectPeriod: 0 },
        ...(version === 5 && { properties: { sessionExpiryInterval: 3_600 } }),
      });
      const seen = received(client);
      await client.subscribeAsync(["greenhouse/#", "greenhouse/+/actuator/roof/set"], { qos: 1 });
      for (let n = 0; n < 5; n += 1) await sender.publishAsync(set("east"), String(n), { qos: 1 });
      await client.publishAsync(set("nobody"), "", { qos: 1 });
      await until(() => seen.length >= 6, "all came");
      expect(seen.filter((line) => line.startsWith(set("east")))).toHaveLength(5);
      expect(client.connected).toBe(true);
    },
  );

  it("is free again when its session is forgotten, sent or not", async () => {
    const { broker, leave, send, dropped } = await storing({ sessionBytes: 64 * 1024, clients: 2 });
    await leave("first", [set("east")]);
    await send(set("east"), kib(10), 3);
    expect(dropped()).toBe(0);
    // It is sent everything, and acknowledges nothing.
    const { client: silent } = returning(broker.url, { clientId: "first" });
    let arrived = 0;
    silent.handleMessage = () => {
      arrived += 1;
    };
    await until(() => arrived > 0, "sent");
    silent.stream.destroy();
    await until(() => broker.counters().clients === 1, "gone");
    await leave("second", [set("west")]);
    await leave("third", [set("west")]);
    await send(set("west"), kib(10), 2);
    expect(dropped()).toBe(0);
  });

  it("counts properties: a packet may consist of nothing else", async () => {
    const { sender, leave, send, dropped } = await storing({ sessionBytes: 64 * 1024 });
    await leave("away", [set("east")]);
    const correlationData = kib(20);
    for (let n = 0; n < 5; n += 1)
      await sender.publishAsync(set("east"), "", { qos: 1, properties: { correlationData } });
    await send(set("nobody"), kib(0), 1);
    expect(dropped()).toBeGreaterThan(0);
  });
});

describe("what clients retain, in bytes", () => {
  const retain = (client: MqttClient, topic: string, payload: Buffer | string) =>
    client.publishAsync(topic, payload, { qos: 1, retain: true });

  it("is bounded by default, and the bridge is never refused", async () => {
    const broker = await testBroker();
    const client = await otherClient(broker.url);
    for (let n = 0; n < 150; n += 1) await retain(client, set(`c${n}`), kib(256));
    await client.publishAsync(set("nobody"), "", { qos: 1 });
    const { discardedPublishes } = broker.counters();
    expect((150 - discardedPublishes) * 256 * 1024).toBeLessThanOrEqual(32 * 1024 * 1024);
    const bridge = await otherClient(broker.url, { ...broker.credential, clientId: "bridge" });
    for (let n = 0; n < 150; n += 1) await retain(bridge, `greenhouse/s${n}`, kib(256));
    await retain(bridge, set("c149"), "x");
    expect(await retainedValue(broker.url, set("c149"))).toBe("x");
    expect(broker.counters()).toMatchObject({ discardedPublishes });
  });

  it("has room again for what was cleared, made smaller, or written over by the bridge", async () => {
    const { log, lines } = capturedLog();
    const broker = await testBroker({ limits: { retainedBytes: 35 * 1024 } }, { log });
    const client = await otherClient(broker.url);
    const bridge = await otherClient(broker.url, { ...broker.credential, clientId: "bridge" });
    const refusedAfter = async (topic: string, payload: Buffer | string) => {
      await retain(client, topic, payload);
      await client.publishAsync(set("nobody"), "", { qos: 1 });
      return broker.counters().discardedPublishes;
    };
    for (const name of ["a", "b", "c"]) expect(await refusedAfter(set(name), kib(10))).toBe(0);
    expect(await refusedAfter(set("d"), kib(10))).toBe(1);
    expect(lines.join("\n")).toMatch(/too much retained.*broker\.limits\.retained_topics/);
    expect(await refusedAfter(set("a"), kib(20))).toBe(2);
    expect(await retainedValue(broker.url, set("a"))).toHaveLength(10 * 1024);
    expect(await refusedAfter(set("a"), "")).toBe(2);
    expect(await refusedAfter(set("d"), kib(10))).toBe(2);
    expect(await refusedAfter(set("b"), "small")).toBe(2);
    expect(await refusedAfter(set("e"), kib(9))).toBe(2);
    expect(await refusedAfter(set("f"), kib(9))).toBe(3);
    await retain(bridge, set("c"), kib(10));
    expect(await refusedAfter(set("f"), kib(9))).toBe(3);
  });
});

describe("the size of a message that is kept", () => {
  const topic = "a";
  it.each([
    ["an empty one is not free", { topic, payload: Buffer.alloc(0) }, 0],
    ["its payload", { topic, payload: kib(4) }, 4096],
    ["its topic", { topic: "t".repeat(2000), payload: "" }, 2000],
    ["correlation data", { topic, payload: "", properties: { correlationData: kib(3) } }, 3072],
    ["response topic", { topic, payload: "", properties: { responseTopic: "r".repeat(500) } }, 500],
    ["content type", { topic, payload: "", properties: { contentType: "c".repeat(500) } }, 500],
    [
      "names and values of user properties",
      { topic, payload: "", properties: { userProperties: { n: ["v".repeat(300), "w".repeat(200)] } } },
      500,
    ],
  ])("counts %s", (_, packet, least) =>
    expect(bytesOf(packet)).toBeGreaterThanOrEqual(emptyPacketBytes + least),
  );

  it("is all that is held: bytes cut out of a larger piece are copied, others are not", () => {
    const read = kib(64);
    const cut = ownBytes(read.subarray(10, 13));
    expect(cut.toString()).toBe("aaa");
    expect(cut).toHaveProperty("buffer.byteLength", 3);
    expect(ownBytes(read)).toBe(read);
  });
});
