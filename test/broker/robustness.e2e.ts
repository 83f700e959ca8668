import { once } from "node:events";
import net from "node:net";
import { describe, expect, it } from "vitest";
import { acknowledgePacket, connectPacket, publishPacket, subscribePacket } from "../conformance/packets.js";
import { connect, otherClient, testBroker, until } from "../mqtt-connection/support.js";

/** Sends bytes and a ping; ends with its answer, when the broker closes, or when it keeps waiting for more. */
async function send(port: number, bytes: readonly number[]): Promise<void> {
  const socket = net.connect(port, "127.0.0.1");
  await new Promise<void>((resolve) => {
    const done = () => resolve();
    socket.on("error", done).on("close", done);
    socket.on("data", (chunk) => {
      if (chunk.includes(Buffer.from([0xd0, 0]))) done();
    });
    socket.setTimeout(150, done);
    socket.write(Buffer.from([...bytes, 0xc0, 0]));
  });
  socket.destroy();
}

describe("the embedded broker", () => {
  it("a message of QoS 2 that is released twice in one breath ends nothing", async () => {
    const broker = await testBroker();
    const socket = net.connect(broker.port, "127.0.0.1");
    const answered = async (type: number) => {
      for (;;) {
        const [chunk] = (await once(socket, "data")) as [Buffer];
        if (chunk.includes(type)) return;
      }
    };
    socket.write(
      Buffer.from([
        ...connectPacket(4, { id: "twice" }),
        ...publishPacket(4, { topic: "greenhouse/a", qos: 2, id: 2 }),
      ]),
    );
    await answered(0x50);
    socket.write(Buffer.from([...acknowledgePacket("pubrel", 2), ...acknowledgePacket("pubrel", 2)]));
    await answered(0x70);
    const other = await otherClient(broker.url);
    await other.endAsync();
    socket.destroy();
  });

  it.each(["__proto__", "constructor", "toString", "hasOwnProperty"])(
    "a client or filter called %s is one like any other",
    async (name) => {
      const broker = await testBroker();
      for (const protocolVersion of [4, 5] as const) {
        const client = await otherClient(broker.url, { clientId: name, protocolVersion });
        const granted = await client.subscribeAsync(name, { qos: 1 });
        expect(granted.map(({ qos }) => qos)).toEqual([1]);
        await client.unsubscribeAsync(name);
        // The same id again takes over, as any id does.
        const gone = new Promise((resolve) => client.once("close", () => resolve(true)));
        const second = await otherClient(broker.url, { clientId: name, protocolVersion });
        await gone;
        await second.endAsync();
      }
    },
  );

  it.each([4, 5] as const)(
    "a filter called __proto__ among others ends the connection that asked for it, nothing else (44), MQTT %i",
    async (version) => {
      const broker = await testBroker();
      const { connection, online } = connect({ ...broker, ...broker.credential, subscriptions: ["a/#"] });
      await online();
      const subscribe = subscribePacket(version, 3, [
        ["__proto__", 1],
        ["greenhouse/#", 1],
      ]);
      await send(broker.port, [...connectPacket(version, { id: "at-once" }), ...subscribe]);
      const client = await otherClient(broker.url, { protocolVersion: version, reconnectPeriod: 0 });
      const closed = new Promise<void>((resolve) => client.once("close", () => resolve()));
      client.subscribe(["greenhouse/#", "__proto__"], { qos: 1 }, () => undefined);
      await closed;
      await connection.publish("greenhouse/alive", "yes");
      expect(connection.counters()).toMatchObject({ connects: 1, disconnects: 0 });
      expect(broker.counters().protocolErrors).toBe(2);
    },
  );

  it("a refused WebSocket client that hangs up before its answer ends nothing", async () => {
    const broker = await testBroker({ websocketPort: 0 });
    const upgrade = [
      "GET / HTTP/1.1",
      "Host: evil.example",
      "Connection: Upgrade",
      "Upgrade: websocket",
      "",
      "",
    ];
    const hangUp = () =>
      new Promise<void>((resolve) => {
        const socket = net.connect(broker.webSocketPort ?? 0, "127.0.0.1", () => {
          socket.write(upgrade.join("\r\n"), () => socket.resetAndDestroy());
        });
        socket.on("error", () => undefined).on("close", () => resolve());
      });
    for (let n = 0; n < 20; n += 1) await Promise.all(Array.from({ length: 20 }, hangUp));
    await otherClient(broker.url);
  });

  it("never forwards a property that does not belong into a message", async () => {
    const broker = await testBroker();
    const { connection, messages, online } = connect({
      ...broker,
      ...broker.credential,
      subscriptions: ["greenhouse/+/actuator/+/set"],
    });
    await online();
    const listener = await otherClient(broker.url, { protocolVersion: 5 });
    const forwarded: unknown[] = [];
    listener.on("message", (_topic, _payload, { properties }) => forwarded.push({ ...properties }));
    await listener.subscribeAsync("#", { qos: 1 });
    // A will with a delay of 1 s and a response topic: the delay belongs to the CONNECT alone.
    const will = {
      topic: "greenhouse/a/actuator/b/set",
      payload: Buffer.from("close"),
      qos: 1 as const,
      retain: false,
      properties: { willDelayInterval: 1, responseTopic: "answers/1" },
    };
    const dying = await otherClient(broker.url, {
      protocolVersion: 5,
      will,
      properties: { sessionExpiryInterval: 0 },
    });
    dying.stream.destroy();
    await until(() => messages.length === 1, "the will arrived");
    expect(messages[0]?.properties.responseTopic).toBe("answers/1");
    // The same property twice, as only a hand-made packet has it.
    const topic = "greenhouse/a/actuator/b/set";
    const properties = [
      ["response topic", "a/1"],
      ["response topic", "a/2"],
      ["content type", "text/plain"],
    ] as const;
    const publish = publishPacket(5, { topic, properties });
    await send(broker.port, [...connectPacket(5, { id: "raw" }), ...publish]);
    await until(() => messages.length === 2, "the message arrived");
    expect(messages[1]?.properties.responseTopic).toBeUndefined();
    await until(() => forwarded.length === 2, "both forwarded");
    expect(forwarded).toEqual([{ responseTopic: "answers/1" }, { contentType: "text/plain" }]);
    expect(connection.counters()).toMatchObject({ connects: 1, disconnects: 0 });
  });

  it("refuses topics of 101 levels without harm to others", async () => {
    const broker = await testBroker();
    const deep = Array.from({ length: 101 }, () => "a").join("/");
    await send(broker.port, [...connectPacket(4, { id: "deep" }), ...publishPacket(4, { topic: deep })]);
    await otherClient(broker.url);
  });
});
