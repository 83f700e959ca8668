import { once } from "node:events";
import net from "node:net";
import { type MqttClient } from "mqtt";
import { describe, expect, it } from "vitest";
import { subscribePacket } from "../conformance/packets.js";
import { FilterShare } from "../../src/broker/filters.js";
import { RetainedStore } from "../../src/broker/store.js";
import {
  capturedLog,
  otherClient,
  received,
  returning,
  testBroker,
  until,
} from "../mqtt-connection/support.js";

const several = (count: number, prefix = "greenhouse/c") =>
  Array.from({ length: count }, (_, n) => `${prefix}${n}/sensor/t`);

/** The codes of the SUBACK. */
async function grants(client: MqttClient, filters: readonly string[]): Promise<number[]> {
  const wanted = Object.fromEntries(filters.map((filter) => [filter, { qos: 1 as const }]));
  return new Promise((resolve) => {
    client.subscribe(wanted, (_error, _grants, packet) => resolve((packet?.granted ?? []).map(Number)));
  });
}

const closed = (client: MqttClient) =>
  new Promise<void>((resolve) => {
    client.once("close", () => resolve());
  });

const refusedOf = (codes: readonly number[]) => codes.filter((code) => code >= 0x80).length;

describe.each([5, 4] as const)("the topic filters of a client, MQTT %i", (protocolVersion) => {
  it("are limited; what is beyond the limit is refused, counted and explained, and the rest works", async () => {
    const { log, lines } = capturedLog();
    const broker = await testBroker({ limits: { filters: 5 } }, { log });
    const bridge = await otherClient(broker.url, { ...broker.credential, clientId: "bridge" });
    const client = await otherClient(broker.url, { protocolVersion });
    const seen = received(client);
    expect(refusedOf(await grants(client, several(4)))).toBe(0);
    expect(refusedOf(await grants(client, several(8)))).toBe(3);
    expect(broker.counters().refusedSubscriptions).toBe(3);
    expect(lines.join("\n")).toContain("broker.limits.filters");
    await bridge.publishAsync("greenhouse/c7/sensor/t", "refused", { qos: 1 });
    await bridge.publishAsync("greenhouse/c0/sensor/t", "held", { qos: 1 });
    await until(() => seen.length > 0, "the held one");
    expect(seen).toEqual(["greenhouse/c0/sensor/t held"]);
  });

  it("are given back by unsubscribing and by leaving", async () => {
    const broker = await testBroker({ limits: { filters: 4, filterLevels: 32 } });
    for (let round = 0; round < 5; round += 1) {
      const client = await otherClient(broker.url, { protocolVersion });
      expect(refusedOf(await grants(client, several(4)))).toBe(0);
      await client.unsubscribeAsync(several(2));
      expect(refusedOf(await grants(client, several(3, "greenhouse/d")))).toBe(1);
      await client.endAsync();
      await until(() => broker.counters().clients === 0, "gone");
    }
  });

  it("are limited in length", async () => {
    const broker = await testBroker({ limits: { filterBytes: 40 } });
    const client = await otherClient(broker.url, { protocolVersion });
    expect(refusedOf(await grants(client, ["x".repeat(40), "x".repeat(41), "木".repeat(14)]))).toBe(2);
  });

  it("are limited in one packet: its sender is disconnected, nobody else", async () => {
    const { log, lines } = capturedLog();
    const broker = await testBroker({ limits: { filtersPerPacket: 10 } }, { log });
    const other = await otherClient(broker.url);
    const client = await otherClient(broker.url, { protocolVersion });
    expect(refusedOf(await grants(client, several(10)))).toBe(0);
    const isClosed = closed(client);
    client.subscribe(several(11), () => undefined);
    await isClosed;
    expect(broker.counters().oversized).toBe(1);
    expect(lines.join("\n")).toContain("broker.limits.filters_per_packet");
    const again = await otherClient(broker.url, { protocolVersion });
    await again.subscribeAsync(several(10));
    const isClosedToo = closed(again);
    again.unsubscribe(several(11), () => undefined);
    await isClosedToo;
    expect(other.connected).toBe(true);
  });

  it("are not limited for the bridge", async () => {
    const broker = await testBroker({ limits: { filters: 1, filterBytes: 5, filtersPerPacket: 1 } });
    const bridge = await otherClient(broker.url, { ...broker.credential, protocolVersion });
    expect(await grants(bridge, several(50))).toEqual(Array(50).fill(1));
  });
});

describe("the topic filters of a persistent session", () => {
  const session = { clientId: "away", clean: false };

  it("stay counted while it is away, and are given back when it ends", async () => {
    const broker = await testBroker({ limits: { filters: 4, filterLevels: 32 } });
    for (let round = 0; round < 4; round += 1) {
      const client = await otherClient(broker.url, session);
      expect(refusedOf(await grants(client, several(4)))).toBe(0);
      await client.endAsync();
      const back = await otherClient(broker.url, session);
      expect(refusedOf(await grants(back, several(5)))).toBe(1);
      await back.endAsync();
      const ended = await otherClient(broker.url, { clientId: "away" });
      await ended.endAsync();
    }
  });

  it("brings nothing of a filter that was refused in the same packet as one that was granted", async () => {
    const users = [{ username: "fan", password: "fan", subscribe: ["greenhouse/fan/#"] }];
    const broker = await testBroker({ users });
    const login = { ...session, username: "fan", password: "fan" };
    const first = await otherClient(broker.url, login);
    expect(await grants(first, ["greenhouse/roof/state", "greenhouse/fan/state"])).toEqual([128, 1]);
    await first.endAsync();
    const bridge = await otherClient(broker.url, { ...broker.credential, clientId: "bridge" });
    await bridge.publishAsync("greenhouse/roof/state", "secret", { qos: 1 });
    await bridge.publishAsync("greenhouse/fan/state", "on", { qos: 1 });
    const { seen } = returning(broker.url, login);
    await until(() => seen.length > 0, "what was kept");
    await bridge.publishAsync("greenhouse/fan/state", "off", { qos: 1 });
    await until(() => seen.at(-1) === "greenhouse/fan/state off", "what came live");
    expect(seen).toEqual(["greenhouse/fan/state on", "greenhouse/fan/state off"]);
  });
});

describe("the room for all filters together", () => {
  const limits = { filters: 100, filterBytes: 100, filterLevels: 40 };

  it("is measured in levels, and nobody takes more of it than is left for the others", () => {
    const share = new FilterShare<string>(limits);
    const taken = (owner: string) => several(20).filter((filter) => share.take(owner, filter)).length;
    expect([taken("a"), taken("b"), taken("c")]).toEqual([5, 3, 1]);
    share.forget("a");
    expect(taken("d")).toBe(3);
    share.release("d", several(20));
    expect(taken("d")).toBe(3);
  });

  it("does not count a filter twice, nor give back what was never held", () => {
    const share = new FilterShare<string>({ ...limits, filters: 1 });
    expect([share.take("a", "x"), share.take("a", "x"), share.take("a", "y")]).toEqual([true, true, false]);
    share.release("a", ["y", "x", "x"]);
    expect(share.take("a", "y")).toBe(true);
  });
});

describe("retained messages", () => {
  const payload = Buffer.from("1");

  it("reach a filter with wildcards and one without, and a cleared one reaches nobody", async () => {
    const store = new RetainedStore();
    for (const topic of [...several(3), "other/a", "greenhouse"]) store.store({ topic, payload });
    store.store({ topic: "greenhouse/c1/sensor/t", payload: Buffer.alloc(0) });
    const of = async (...filters: string[]) =>
      (await store.stream(filters).toArray()).map((packet) => (packet as { topic: string }).topic);
    expect(await of("greenhouse/#")).toEqual([
      "greenhouse/c0/sensor/t",
      "greenhouse/c2/sensor/t",
      "greenhouse",
    ]);
    expect(await of("other/a", "greenhouse/c1/sensor/t", "+/a")).toEqual(["other/a", "other/a"]);
  });

  it("are looked for a little at a time, so that everything else runs in between", async () => {
    const store = new RetainedStore();
    for (const topic of several(1_000)) store.store({ topic, payload });
    let turns = 0;
    const turn = () => {
      turns += 1;
      next = setImmediate(turn);
    };
    let next = setImmediate(turn);
    expect(await store.stream(several(50, "+/none")).toArray()).toEqual([]);
    clearImmediate(next);
    expect(turns).toBeGreaterThan(50);
  });
});

describe("a client that was never let in", () =>
  it("may send too large a SUBSCRIBE, and ends nothing but its own connection", async () => {
    const broker = await testBroker({ limits: { filtersPerPacket: 2 } });
    const subscribe = subscribePacket(
      4,
      1,
      several(3).map((filter) => [filter, 0] as const),
    );
    const socket = net.connect(broker.port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.resume();
    await once(socket, "connect");
    socket.write(Buffer.from([...subscribe, ...subscribe]));
    await once(socket, "close");
    await otherClient(broker.url);
  }));
