import { describe, expect, it } from "vitest";
import { anyBroker, brokerTable, standing, connect, otherClient, until } from "./support.js";
import { startTcpProxy } from "../support/tcp-proxy.js";
import { connectFields, splitPackets } from "./wire.js";

const set = "greenhouse/east/actuator/roof/set";
const subscriptions = ["greenhouse/+/actuator/+/set"];

describe.each(brokerTable)("on $make with MQTT $version", (at) => {
  const { make, version } = at;
  it("a topic with a wildcard is refused and the link lives on (35; trap 2)", async () => {
    const { connection, messages, other } = await standing(at, { subscriptions });
    for (const topic of ["greenhouse/fan #2/state", "greenhouse/+/state", "greenhouse/\0"])
      await expect(connection.publish(topic, "x")).rejects.toMatchObject({ kind: "invalid" });
    await connection.publish("greenhouse/east/info", "still here");
    await other.publishAsync(set, "open", { qos: 1 });
    await until(() => messages.length === 1, "the command received");
    expect(connection.counters()).toMatchObject({ connects: 1, disconnects: 0, dropped: 3 });
  });

  it("a throwing listener loses no message: 20 of 20 (36; trap 4)", async () => {
    const { connection, messages, other } = await standing(at, {
      subscriptions,
      on: {
        message: () => {
          throw new Error("a bug");
        },
      },
    });
    for (let n = 0; n < 20; n += 1) await other.publishAsync(set, `${n}`, { qos: 1 });
    await until(() => messages.length === 20, "20 messages received");
    const payloads = messages.map((message) => Number(message.payload.toString()));
    expect(payloads).toEqual(Array.from({ length: 20 }, (_, n) => n));
    expect(connection.counters()).toMatchObject({ listenerErrors: 20, connects: 1 });
  });

  it("an old session of the same client id delivers nothing: clean start on the wire (2; trap 5)", async () => {
    const broker = await anyBroker(make);
    const session = {
      ...broker.credential,
      protocolVersion: version,
      clientId: "greenhouse2mqtt",
      clean: false,
      properties: version === 5 ? { sessionExpiryInterval: 3_600 } : undefined,
    };
    const old = await otherClient(broker.url, session);
    await old.subscribeAsync("greenhouse/+/actuator/+/set", { qos: 1 });
    await old.endAsync();
    const other = await otherClient(broker.url, { protocolVersion: version });
    for (let n = 0; n < 20; n += 1) await other.publishAsync(set, `old ${n}`, { qos: 1 });

    const sent: Buffer[] = [];
    const proxy = await startTcpProxy(broker.port, (bytes) => sent.push(bytes));
    const { messages, online, stop } = connect({
      ...broker.credential,
      url: `mqtt://127.0.0.1:${proxy.port}`,
      protocolVersion: version,
      subscriptions,
      will: { topic: "greenhouse/bridge/state", payload: "offline" },
    });
    await online();
    await other.publishAsync(set, "new", { qos: 1 });
    await until(() => messages.length > 0, "the new command received");
    await stop();
    expect(messages.map((message) => message.payload.toString())).toEqual(["new"]);
    const [first] = splitPackets(Buffer.concat(sent)).packets;
    expect(first && connectFields(first)).toEqual({
      version,
      cleanStart: true,
      keepaliveS: 15,
      hasWill: true,
      willQos: 1,
      willRetain: true,
      sessionExpiryS: version === 5 ? 0 : null,
    });
    await proxy.close();
  });

  it("a retained command is told from a live one (1; trap 5)", async () => {
    const broker = await anyBroker(make);
    const other = await otherClient(broker.url, { protocolVersion: version });
    await other.publishAsync(set, "left over", { qos: 1, retain: true });
    const { messages, online } = connect({
      ...broker,
      ...broker.credential,
      protocolVersion: version,
      subscriptions,
    });
    await online();
    await other.publishAsync(set, "live", { qos: 1 });
    await other.publishAsync(set, "live with the flag", { qos: 1, retain: true });
    const seen = () => messages.map((message) => `${message.payload.toString()}: ${message.retain}`);
    await until(() => seen().some((line) => line.startsWith("live with the flag")), "the last one");
    // MQTT 5: no retained ones at all on subscribing, and the flag as published; 3.1.1 knows neither.
    const expected =
      version === 5
        ? ["live: false", "live with the flag: true"]
        : ["left over: true", "live: false", "live with the flag: false"];
    expect(seen()).toEqual(expected);
  });

  it("a response topic and correlation data arrive as plain data", async () => {
    const { messages, other } = await standing(at, { subscriptions }, 5);
    const properties = {
      responseTopic: "answers/1",
      correlationData: Buffer.from([1, 2]),
      messageExpiryInterval: 30,
      userProperties: { by: "night shift" },
    };
    await other.publishAsync(set, "open", { qos: 1, properties });
    await until(() => messages.length === 1, "the command received");
    const got = messages[0]?.properties;
    const { messageExpiryInterval: messageExpiryIntervalS, userProperties, ...same } = properties;
    if (version === 4) expect(got).toEqual({});
    else expect(got).toEqual({ ...same, ...userProperties, messageExpiryIntervalS });
  });

  it("of thousands of user properties only the used one arrives, cut to a length", async () => {
    const { messages, other } = await standing(at, { subscriptions }, 5);
    const others = Array.from({ length: 5_000 }, (_, n) => [`p${n}`, "v".repeat(30)] as const);
    const userProperties = { ...Object.fromEntries(others), by: `Anna ${"木".repeat(5_000)}` };
    await other.publishAsync(set, "open", { qos: 1, properties: { userProperties } });
    const tooLong = { responseTopic: "answers/1", correlationData: Buffer.alloc(1_025) };
    await other.publishAsync(set, "close", {
      qos: 1,
      properties: { ...tooLong, userProperties: { p: "v" } },
    });
    await until(() => messages.length === 2, "both received");
    const kept = version === 5 ? { by: `Anna ${"木".repeat(195)}` } : {};
    expect(messages.map(({ properties }) => properties)).toEqual([kept, {}]);
  });

  it("an answer carries its properties, and empty ones do not swallow it", async () => {
    const { connection, other } = await standing(at, {}, 5);
    const got: unknown[] = [];
    other.on("message", (_topic, _payload, packet) =>
      got.push(packet.properties?.correlationData?.toString()),
    );
    await other.subscribeAsync("answers/#", { qos: 1 });
    const correlationData = Buffer.from("c1");
    await connection.publish("answers/1", "a", { responseProperties: { correlationData } });
    await connection.publish("answers/2", "b", { responseProperties: {} });
    await until(() => got.length === 2, "both arrived");
    expect(got).toEqual([version === 5 ? "c1" : undefined, undefined]);
  });
});
