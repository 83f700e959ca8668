import { describe, expect, it } from "vitest";
import { startTcpProxy } from "../support/tcp-proxy.js";
import { connect, otherClient, testBroker, testMosquitto, until } from "./support.js";
import { obliging, scriptedBroker, suback } from "./wire.js";

describe("a subscription that is not granted", () => {
  it.each([
    ["refused", true],
    ["not answered", false],
  ])(
    "and is %s makes the state degraded, is asked for again, and no birth comes before",
    async (_, answered) => {
      let asked = 0;
      const broker = await scriptedBroker((packet, peer) => {
        if (packet.type !== 8) {
          obliging(packet, peer, 5);
          return;
        }
        asked += 1;
        if (asked > 1) peer.send(...suback(5, packet, [1]));
        else if (answered) peer.send(...suback(5, packet, [0, 0x87]));
      });
      const { connection, births, online, lines } = connect({
        url: broker.url,
        subscriptions: answered ? ["good", "bad"] : ["bad"],
        limits: { subackTimeoutMs: 100, subscribeRetryMs: 300 },
      });
      await until(() => connection.state === "degraded", "degraded");
      expect(births()).toBe(0);
      expect(lines.join("\n")).toMatch(/access list; asking again \{"filters":\["bad"\]\}/);
      await connection.publish("greenhouse/a", "publishing works meanwhile");
      await online();
      expect(births()).toBe(1);
      expect(connection.counters().connects).toBe(1);
    },
  );

  it("by the embedded broker's rights is noticed with both versions", async () => {
    const broker = await testBroker({
      users: [{ username: "me", password: "secret", subscribe: ["allowed/#"] }],
    });
    for (const protocolVersion of [5, 4] as const) {
      const login = { username: "me", password: "secret", clientId: `c${protocolVersion}` };
      const { connection, lines } = connect({
        ...broker,
        ...login,
        protocolVersion,
        subscriptions: ["allowed/a", "b"],
      });
      await until(() => connection.state === "degraded", "degraded", lines);
    }
  });
});

describe("a publish", () => {
  it("without a link is rejected at once and nothing is kept: 86,400 of them", async () => {
    const { connection } = connect({ url: "mqtt://127.0.0.1:1" });
    const before = process.memoryUsage().heapUsed;
    let rejected = 0;
    for (let n = 0; n < 86_400; n += 1) {
      await connection.publish(`greenhouse/sensor/${n % 500}`, `${n}`).catch(() => {
        rejected += 1;
      });
    }
    expect(rejected).toBe(86_400);
    expect(connection.counters()).toMatchObject({ waiting: 0, inFlight: 0, dropped: 86_400 });
    globalThis.gc?.();
    expect(process.memoryUsage().heapUsed - before).toBeLessThan(60 * 1024 * 1024);
  });

  it("refused by an access list says so (MQTT 5)", async () => {
    const mosquitto = await testMosquitto({ acl: ["topic readwrite allowed/#"] });
    const { connection, online } = connect({ url: mosquitto.url });
    await online();
    await expect(connection.publish("forbidden/a", "x")).rejects.toMatchObject({
      kind: "refused",
      message: expect.stringContaining("access list") as string,
    });
    await connection.publish("allowed/a", "x");
    expect(connection.counters()).toMatchObject({ publishRefused: 1, published: 1 });
  });

  it("larger than the broker takes is not sent, so the link lives", async () => {
    const mosquitto = await testMosquitto({ maxPacketSize: 2_000 });
    const { connection, online } = connect({ url: mosquitto.url });
    await online();
    await expect(connection.publish("a", "x".repeat(2_000))).rejects.toMatchObject({ kind: "invalid" });
    await connection.publish("a", "x".repeat(1_900));
    expect(connection.counters().connects).toBe(1);
  });
});

describe("a message larger than 256 KiB", () =>
  it.each([
    [5, 256 * 1024 + 1],
    [4, 256 * 1024 + 1],
    [5, 15 * 1024 * 1024],
    [4, 20 * 1024 * 1024],
  ] as const)(
    "is handed on whole where its sender is owed an answer, else dropped, with MQTT %i at %i bytes; the link lives",
    async (version, size) => {
      const mosquitto = await testMosquitto();
      const { connection, messages, online } = connect({
        url: mosquitto.url,
        protocolVersion: version,
        subscriptions: ["greenhouse/+/actuator/+/set", "greenhouse/bridge/request/+"],
        anySize: (topic) => topic.endsWith("/set"),
      });
      await online();
      const other = await otherClient(mosquitto.url, { protocolVersion: version });
      await other.publishAsync("greenhouse/bridge/request/read", Buffer.alloc(size), { qos: 1 });
      await other.publishAsync("greenhouse/a/actuator/b/set", Buffer.alloc(size), { qos: 1 });
      await other.publishAsync("greenhouse/a/actuator/b/set", "open", { qos: 1 });
      await until(() => messages.length === 2, "both commands received");
      expect(messages.map(({ payload }) => payload.length)).toEqual([size, 4]);
      expect(connection.counters()).toMatchObject({ connects: 1, disconnects: 0, oversized: 2 });
    },
  ));

describe("a broker that comes back", () => {
  it("is found again after a black hole that swallowed the CONNECT", async () => {
    const mosquitto = await testMosquitto();
    const proxy = await startTcpProxy(mosquitto.port);
    await proxy.manner("black_hole");
    const { connection, online, lines } = connect({
      url: `mqtt://127.0.0.1:${proxy.port}`,
      limits: { connectTimeoutMs: 200 },
    });
    await until(() => lines.some((line) => line.includes("no answer to our CONNECT")), "the time-out", lines);
    await proxy.manner("pass");
    await online();
    expect(connection.counters().protocolVersion).toBe(5);
    await proxy.close();
  });
});
