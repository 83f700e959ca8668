import { once } from "node:events";
import net from "node:net";
import mqtt, { type IConnackPacket } from "mqtt";
import { describe, expect, it, onTestFinished } from "vitest";
import { connectPacket, publishPacket, subscribePacket, text } from "../conformance/packets.js";
import type { BrokerLimits } from "../../src/broker/settings.js";
import { systemClock } from "../../src/runtime/clock.js";
import {
  capturedLog,
  connect,
  otherClient,
  received,
  returning,
  testBroker,
  until,
} from "../mqtt-connection/support.js";

const set = "greenhouse/east/actuator/roof/set";

/** A socket that says nothing, or only what it is told to. */
async function rawSocket(port: number, ...bytes: number[]): Promise<net.Socket> {
  const socket = net.connect(port, "127.0.0.1");
  socket.on("error", () => undefined);
  onTestFinished(() => {
    socket.destroy();
  });
  await once(socket, "connect");
  socket.resume();
  if (bytes.length > 0) socket.write(Buffer.from(bytes));
  return socket;
}

describe("the number of clients", () =>
  it("is limited; the bridge and a client that returns always fit", async () => {
    const broker = await testBroker({ limits: { clients: 3 } });
    const clients = await Promise.all(
      ["a", "b", "c"].map((clientId) => otherClient(broker.url, { clientId, protocolVersion: 5 })),
    );
    await expect(
      mqtt.connectAsync(broker.url, { clientId: "d", protocolVersion: 5, reconnectPeriod: 0 }, false),
    ).rejects.toMatchObject({ code: 0x88 });
    await otherClient(broker.url, { ...broker.credential, clientId: "bridge" });
    await otherClient(broker.url, { clientId: "a", protocolVersion: 5 });
    await clients[1]?.endAsync();
    await until(() => broker.counters().clients === 2, "one gone");
    await otherClient(broker.url, { clientId: "d" });
    expect(broker.counters()).toMatchObject({ clients: 3, refusedClients: 1 });
  }));

describe("a packet that is too large", () => {
  it.each([5, 4] as const)(
    "closes its sender before it is buffered, nobody else, MQTT %i",
    async (version) => {
      const { log, lines } = capturedLog();
      const broker = await testBroker({}, { log });
      const bridge = await otherClient(broker.url, { ...broker.credential, clientId: "bridge" });
      const seen = received(bridge);
      await bridge.subscribeAsync("greenhouse/#", { qos: 1 });
      const other = await otherClient(broker.url, { protocolVersion: version });
      await other.publishAsync(set, Buffer.alloc(256 * 1024, 97), { qos: 1 });
      await until(() => seen.length === 1, "the largest allowed arrived");

      const socket = await rawSocket(broker.port, ...connectPacket(version, { id: "sender" }));
      const answers: Buffer[] = [];
      socket.on("data", (chunk) => answers.push(chunk));
      await until(() => answers.length > 0, "accepted");
      const before = process.memoryUsage().arrayBuffers;
      // PUBLISH with QoS 0 and a remaining length of 40 MiB.
      socket.write(Buffer.from([0x30, 0x80, 0x80, 0x80, 0x14, ...text(set), ...(version === 5 ? [0] : [])]));
      const chunk = Buffer.alloc(64 * 1024);
      const closed = new Promise<void>((resolve) => {
        socket.once("close", () => resolve());
      });
      // From Node 24 on each write to a socket whose other side is gone fails before it is destroyed.
      const pump = (error?: Error | null) => {
        if (!error && !socket.destroyed) socket.write(chunk, pump);
      };
      pump();
      await closed;
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(10 * 1024 * 1024);
      await until(() => broker.counters().oversized === 1, "counted");
      expect(lines.join("\n")).toContain("too large a packet");
      expect(bridge.connected && other.connected).toBe(true);
      expect(seen.map((line) => line.length)).toEqual([set.length + 1 + 256 * 1024]);
    },
  );

  it("closes a socket whose very first packet announces one", async () => {
    const broker = await testBroker();
    const socket = await rawSocket(broker.port, 0x10, 0xff, 0xff, 0xff, 0x7f, 0, 4);
    await once(socket, "close");
    expect(broker.counters().oversized).toBe(1);
  });
});

describe("silent sockets", () => {
  it("are closed when no CONNECT comes in time", async () => {
    const broker = await testBroker({ limits: { connectTimeoutMs: 100 } });
    const socket = await rawSocket(broker.port);
    await once(socket, "close");
    expect(broker.counters().silentClosed).toBe(1);
  });

  it("lose their oldest when there are too many, so 500 of them lock nobody out", async () => {
    const broker = await testBroker({ limits: { silentSockets: 64, connectTimeoutMs: 60_000 } });
    const bridge = connect({ ...broker, ...broker.credential });
    await bridge.online();
    const sockets = await Promise.all(Array.from({ length: 500 }, () => rawSocket(broker.port)));
    await bridge.connection.publish("greenhouse/a", "still here");
    bridge.connection.reconnect("to see whether it gets in");
    await bridge.online(2);
    await otherClient(broker.url);
    await until(() => sockets.filter((socket) => !socket.closed).length <= 64, "all but 64 closed");
    expect(broker.counters().silentClosed).toBeGreaterThanOrEqual(436);
  });
});

describe("a frozen subscriber", () => {
  /** A client that takes nothing, one that takes everything, and the bridge. */
  async function beside(limits: Partial<BrokerLimits>) {
    const broker = await testBroker({ limits: { stallGraceMs: 100, ...limits } });
    const frozen = await rawSocket(broker.port, ...connectPacket(4, { id: "frozen" }));
    frozen.write(Buffer.from(subscribePacket(4, 1, [["#", 0]])));
    await once(frozen, "data");
    frozen.pause();
    const { connection, online } = connect({ ...broker, ...broker.credential });
    await online();
    const other = await otherClient(broker.url);
    const seen = received(other);
    await other.subscribeAsync("greenhouse/#", { qos: 0 });
    const filler = "x".repeat(20_000);
    return { broker, connection, seen, send: () => connection.publish("greenhouse/a", filler) };
  }

  it("holds nobody up while it is waited for", async () => {
    // Far more than a test may take: whoever waited for it would never end.
    const { broker, seen, send } = await beside({ drainTimeoutMs: 600_000, bufferedBytes: 1e9 });
    const enoughToStall = 1_000;
    for (let n = 0; n < enoughToStall; n += 1) await send();
    await until(() => seen.length === enoughToStall, "the other client got everything");
    expect(broker.counters()).toMatchObject({ slowClosed: 0, clients: 2 });
  });

  it("is disconnected after the drain timeout, and nobody else", async () => {
    const { broker, connection, seen, send } = await beside({ drainTimeoutMs: 500 });
    let sent = 0;
    for (; broker.counters().slowClosed === 0; sent += 1) await send();
    await until(() => seen.length === sent, "the other client got everything");
    expect(connection.counters()).toMatchObject({ connects: 1, unacknowledged: 0 });
    expect(broker.counters()).toMatchObject({ slowClosed: 1, clients: 1 });
  });

  it("is disconnected at once when too much waits for it", async () => {
    const { broker, connection, send } = await beside({ bufferedBytes: 200_000, drainTimeoutMs: 600_000 });
    while (broker.counters().slowClosed === 0) await send();
    expect(connection.counters().connects).toBe(1);
  });
});

describe("what clients can make the broker keep", () => {
  it("is a number of messages for a session that is away", async () => {
    const broker = await testBroker({ limits: { sessionMessages: 5 } });
    const session = { clientId: "away", clean: false };
    const first = await otherClient(broker.url, session);
    await first.subscribeAsync("greenhouse/#", { qos: 1 });
    await first.endAsync();
    const bridge = await otherClient(broker.url, { ...broker.credential, clientId: "bridge" });
    for (let n = 0; n < 8; n += 1) await bridge.publishAsync("greenhouse/a", `${n}`, { qos: 1 });
    expect(broker.counters().droppedForSessions).toBe(3);
    const { seen } = returning(broker.url, session);
    await until(() => seen.length === 5, "the kept ones arrived");
    expect(seen).toEqual(["0", "1", "2", "3", "4"].map((payload) => `greenhouse/a ${payload}`));
    await bridge.publishAsync("greenhouse/a", "live", { qos: 1 });
    await until(() => seen.length === 6, "live ones go on");
    expect(broker.counters().droppedForSessions).toBe(3);
  });

  it("is a number of sessions: the one longest away goes", async () => {
    const broker = await testBroker({ limits: { clients: 2 } });
    for (const clientId of ["one", "two", "three"]) {
      const client = await otherClient(broker.url, { clientId, clean: false });
      await client.subscribeAsync("greenhouse/#", { qos: 1 });
      await client.endAsync();
    }
    const present: boolean[] = [];
    for (const clientId of ["one", "two", "three"]) {
      const client = mqtt.connect(broker.url, { clientId, clean: false, reconnectPeriod: 0 });
      const packet = await new Promise<IConnackPacket>((resolve) => {
        client.once("connect", resolve);
      });
      present.push(packet.sessionPresent);
      await client.endAsync();
    }
    expect(present).toEqual([false, true, true]);
  });

  it("is nothing of an unfinished QoS 2 message once its clean session is over", async () => {
    const broker = await testBroker();
    const bridge = await otherClient(broker.url, { ...broker.credential, clientId: "bridge" });
    const seen = received(bridge);
    await bridge.subscribeAsync("greenhouse/#", { qos: 1 });
    const publish = publishPacket(4, { topic: set, qos: 2, id: 7 });
    for (let round = 1; round <= 2; round += 1) {
      const socket = await rawSocket(broker.port, ...connectPacket(4, { id: "sender" }));
      await once(socket, "data");
      socket.write(Buffer.from(publish));
      await until(() => seen.length === round, `message ${round} arrived`);
      socket.destroy();
      await until(() => broker.counters().clients === 0, "gone");
    }
  });
});

describe("who listens to much may still speak", () => {
  // No time goes by, so nobody may send more packets than at once, which is far less than these acknowledgements.
  const clock = { ...systemClock, monotonic: () => 0 };
  const count = 1_000;
  it.each(["tcp", "web socket"])("over %s", async (way) => {
    const broker = await testBroker({ websocketPort: 0 }, { clock });
    const url = way === "tcp" ? broker.url : `ws://127.0.0.1:${broker.webSocketPort ?? 0}`;
    const bridge = await otherClient(broker.url, { ...broker.credential, clientId: "bridge" });
    const commands = received(bridge);
    await bridge.subscribeAsync(set, { qos: 1 });
    const listener = await otherClient(url);
    const heard = received(listener);
    await listener.subscribeAsync("greenhouse/east/result", { qos: 1 });
    for (let n = 0; n < count; n += 1)
      void bridge.publishAsync("greenhouse/east/result", String(n), { qos: 1 });
    await until(() => heard.length >= count, "everything was heard");
    await listener.publishAsync(set, "stop", { qos: 1 });
    await until(() => commands.length === 1, "it was taken");
  });
});
