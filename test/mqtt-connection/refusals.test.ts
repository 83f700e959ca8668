import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/runtime/clock.js";
import { startTcpProxy } from "../support/tcp-proxy.js";
import { capturedLog, connect, markTopic, otherClient, testBroker, testMosquitto, until } from "./support.js";
import { connack, obliging, scriptedBroker, suback, versionOf } from "./wire.js";
import { BrokerConnection } from "../../src/mqtt/connection.js";

describe("a refused CONNACK", () => {
  it.each([
    [4, 3],
    [4, 5],
    [5, 0x88],
    [5, 0x97],
  ] as const)(
    "of MQTT %i with code %i is not the end: tried again until accepted (33; trap 3)",
    async (version, code) => {
      const broker = await scriptedBroker((packet, peer) => {
        if (packet.type === 1 && peer.connection <= 5) {
          peer.send(...connack(version, code));
          peer.close();
        } else obliging(packet, peer, version);
      });
      const { connection, online, lines } = connect({
        url: broker.url,
        protocolVersion: version,
        subscriptions: ["a"],
      });
      await online();
      expect(connection.counters()).toMatchObject({ refused: 5, connects: 1 });
      expect(lines.filter((line) => line.startsWith("warn"))).toHaveLength(1);
    },
  );
});

describe("waiting between attempts", () => {
  it("is full jitter between 0 and 1, 2, 4, 8, 16, 30, 30 s; the first attempt is at once (33)", async () => {
    const waits: number[] = [];
    const life = new AbortController();
    const clock = {
      ...systemClock,
      wait: (ms: number) => {
        waits.push(ms);
        if (waits.length === 7) life.abort();
        return Promise.resolve();
      },
    };
    const { log, lines } = capturedLog();
    const settings = {
      url: "mqtt://127.0.0.1:1",
      clientId: "x",
      protocolVersion: 5,
      subscriptions: [],
      markTopic,
    } as const;
    await new BrokerConnection(settings, { clock, random: () => 0.5, log }).run(life.signal);
    expect(waits).toEqual([500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000]);
    expect(lines.filter((line) => line.startsWith("warn"))).toEqual([
      expect.stringContaining("is the broker running"),
    ]);
  });

  it("does not start over for a link that falls at once", async () => {
    const waits: number[] = [];
    const life = new AbortController();
    const broker = await scriptedBroker((packet, peer) => {
      obliging(packet, peer, 5);
      if (packet.type === 1) peer.close();
    });
    const clock = {
      ...systemClock,
      wait: (ms: number, signal?: AbortSignal) => {
        if (![500, 1_000, 2_000].includes(ms)) return systemClock.wait(ms, signal);
        waits.push(ms);
        if (waits.length === 3) life.abort();
        return Promise.resolve();
      },
    };
    const limits = { ackTimeoutMs: 77_770 };
    const settings = {
      url: broker.url,
      clientId: "x",
      protocolVersion: 5,
      subscriptions: [],
      markTopic,
      limits,
    } as const;
    await new BrokerConnection(settings, { clock, random: () => 0.5, log: capturedLog().log }).run(
      life.signal,
    );
    expect(waits).toEqual([500, 1_000, 2_000]);
  });
});

describe("the fall back to MQTT 3.1.1", () => {
  it.each([
    [
      "CONNACK 0x84",
      (send: (...bytes: number[]) => void) => {
        send(...connack(5, 0x84));
      },
    ],
    [
      "a CONNACK of 3.1.1 with code 1",
      (send: (...bytes: number[]) => void) => {
        send(...connack(4, 1));
      },
    ],
  ])("happens on %s, and 5 is tried again at the next connect", async (_, refuse) => {
    const broker = await scriptedBroker((packet, peer) => {
      if (packet.type === 1 && versionOf(packet) === 5) {
        refuse((...bytes) => {
          peer.send(...bytes);
        });
        peer.close();
      } else obliging(packet, peer, 4);
    });
    const { connection, online, lines } = connect({
      url: broker.url,
      protocolVersion: 5,
      subscriptions: ["a"],
    });
    await online();
    expect(connection.counters().protocolVersion).toBe(4);
    expect(connection.versionReason).toBe("the broker refuses MQTT 5");
    expect(lines.join("\n")).toContain("trying MQTT 3.1.1");
    connection.reconnect("once more");
    await online(2);
    const versions = broker.packets.filter((packet) => packet.type === 1).map(versionOf);
    expect(versions).toEqual([5, 4, 5, 4]);
    expect(lines.filter((line) => line.includes("trying MQTT 3.1.1"))).toHaveLength(1);
  });

  it("does not happen at a broker that takes connections and closes them for a while", async () => {
    const broker = await scriptedBroker((packet, peer) => {
      if (packet.type === 1 && peer.connection <= 6) peer.close();
      else obliging(packet, peer, 5);
    });
    const { connection, online, lines } = connect({ url: broker.url, subscriptions: ["a"] });
    await online();
    expect(connection.counters().protocolVersion).toBe(5);
    expect(connection.versionReason).toBe("mqtt.protocol_version is 5");
    expect(broker.packets.filter((packet) => packet.type === 1).map(versionOf)).toEqual(Array(7).fill(5));
    expect(lines.join("\n")).toContain("set mqtt.protocol_version to 4");
  });
});

describe("a subscription that is not granted", () => {
  it.each([
    ["refused", true],
    ["not answered", false],
  ])(
    "and is %s makes the state degraded, is asked for again, and no birth comes before (36)",
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
      const degraded: (readonly string[])[] = [];
      const { connection, births, online, lines } = connect({
        url: broker.url,
        subscriptions: answered ? ["good", "bad"] : ["bad"],
        limits: { subackTimeoutMs: 100, subscribeRetryMs: 300 },
        on: { degraded: (filters) => degraded.push(filters) },
      });
      await until(() => connection.state === "degraded", "degraded");
      expect(births()).toBe(0);
      expect(degraded).toEqual([["bad"]]);
      expect(lines.join("\n")).toContain("access list");
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

describe("a link that goes", () => {
  it("tells in its one line how many publishes went with it", async () => {
    const broker = await scriptedBroker((packet, peer) => {
      if (packet.type !== 3) obliging(packet, peer, 5);
    });
    const { connection, online, lines } = connect({ url: broker.url });
    await online();
    const lost = Array.from({ length: 1_650 }, (_, n) =>
      connection.publish(`a/${n}`, "x", { qos: n % 2 === 0 ? 0 : 1 }).catch(() => "lost"),
    );
    connection.reconnect("the test has cut it");
    expect(new Set(await Promise.all(lost))).toEqual(new Set(["lost"]));
    await online(2);
    const warnings = lines.filter((line) => line.startsWith("warn"));
    expect(warnings).toEqual([expect.stringMatching(/lost the link to the broker.*"lostPublishes":1650/)]);
  });
});

describe("a publish", () => {
  it("that the broker never acknowledges is given up after the time, and the link lives on (36)", async () => {
    const broker = await scriptedBroker((packet, peer) => {
      if (packet.type !== 3) obliging(packet, peer, 5);
    });
    const { connection, online } = connect({ url: broker.url, limits: { ackTimeoutMs: 300 } });
    await online();
    await expect(connection.publish("a/b", "x")).rejects.toMatchObject({
      kind: "unacknowledged",
      message: "the broker did not acknowledge a/b within 0.3 s",
    });
    expect(connection.state).toBe("online");
    expect(connection.counters()).toMatchObject({ unacknowledged: 1, inFlight: 0, connects: 1 });
  });

  it("that makes the broker cut the link is not sent again on the next one (trap 2)", async () => {
    const broker = await scriptedBroker((packet, peer) => {
      if (packet.type === 3) peer.close();
      else obliging(packet, peer, 5);
    });
    const { connection, online } = connect({ url: broker.url });
    await online();
    await expect(connection.publish("poison", "x")).rejects.toMatchObject({ kind: "offline" });
    await online(2);
    // The second cuts it too, so nothing tells whether it arrived.
    await expect(connection.publish("more", "x", { qos: 0 })).rejects.toMatchObject({ kind: "offline" });
    await until(
      () => broker.packets.filter((packet) => packet.type === 3).length === 2,
      "the second publish",
    );
    const publishes = broker.packets.filter((packet) => packet.type === 3);
    expect(publishes.map((packet) => packet.connection)).toEqual([1, 2]);
  });

  it("without a link is rejected at once and nothing is kept: 86,400 of them (34)", async () => {
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

  it("larger than the broker takes is not sent, so the link lives (37)", async () => {
    const mosquitto = await testMosquitto({ maxPacketSize: 2_000 });
    const { connection, online } = connect({ url: mosquitto.url });
    await online();
    await expect(connection.publish("a", "x".repeat(2_000))).rejects.toMatchObject({ kind: "invalid" });
    await connection.publish("a", "x".repeat(1_900));
    expect(connection.counters().connects).toBe(1);
  });
});

describe("a message larger than 256 KiB", () => {
  it.each([5, 4] as const)(
    "is dropped with MQTT %i; the next one arrives, the link lives (37)",
    async (version) => {
      const mosquitto = await testMosquitto();
      const { connection, messages, online } = connect({
        url: mosquitto.url,
        protocolVersion: version,
        subscriptions: ["greenhouse/+/actuator/+/set"],
      });
      await online();
      const other = await otherClient(mosquitto.url, { protocolVersion: version });
      const before = process.memoryUsage().rss;
      const size = 20 * 1024 * 1024;
      await other.publishAsync("greenhouse/a/actuator/b/set", Buffer.alloc(size), { qos: 1 });
      await other.publishAsync("greenhouse/a/actuator/b/set", "open", { qos: 1 });
      await until(() => messages.length === 1, "the small message received");
      expect(messages[0]?.payload.toString()).toBe("open");
      expect(connection.counters()).toMatchObject({
        connects: 1,
        disconnects: 0,
        // A broker of MQTT 5 keeps to the largest packet we announce.
        oversized: version === 4 ? 1 : 0,
      });
      // Three clients of this process hold copies: the sender's own is among them.
      expect(process.memoryUsage().rss - before).toBeLessThan(5 * size);
    },
  );
});

describe("a message larger than 256 KiB whose sender is owed an answer", () => {
  it.each([
    [5, 256 * 1024 + 1],
    [4, 256 * 1024 + 1],
    [5, 15 * 1024 * 1024],
    [4, 20 * 1024 * 1024],
  ] as const)(
    "is handed on whole with MQTT %i at %i bytes; others are dropped still; the link lives (37)",
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
  );
});

describe("a broker that comes back", () => {
  it.each([5, 4] as const)(
    "gets one birth, and commands work at once with MQTT %i (33, 34)",
    async (version) => {
      const mosquitto = await testMosquitto();
      const { connection, messages, ends, online } = connect({
        url: mosquitto.url,
        protocolVersion: version,
        subscriptions: ["greenhouse/+/actuator/+/set"],
      });
      await online();
      await mosquitto.kill();
      await until(() => ends.length === 1, "the loss noticed");
      await expect(connection.publish("a", "x")).rejects.toMatchObject({ kind: "offline" });
      await mosquitto.restart();
      await online(2);
      const other = await otherClient(mosquitto.url, { protocolVersion: version });
      await other.publishAsync("greenhouse/a/actuator/b/set", "open", { qos: 1 });
      await until(() => messages.length === 1, "the command received");
      expect(connection.counters()).toMatchObject({ connects: 2, disconnects: 1 });
    },
  );

  it("is found again after a black hole that swallowed the CONNECT", async () => {
    const mosquitto = await testMosquitto();
    const proxy = await startTcpProxy(mosquitto.port);
    proxy.blackHole();
    const { connection, online, lines } = connect({
      url: `mqtt://127.0.0.1:${proxy.port}`,
      limits: { connectTimeoutMs: 200 },
    });
    await until(() => lines.some((line) => line.includes("no answer to our CONNECT")), "the time-out", lines);
    proxy.pass();
    await online();
    expect(connection.counters().protocolVersion).toBe(5);
    await proxy.close();
  });
});
