import { describe, expect, it } from "vitest";
import { connect, otherClient, testMosquitto, until } from "./support.js";

/** Around the borders of the one, two and three bytes that a length may take. */
const sizes = [0, 1, 90, 100, 126, 128, 16_340, 16_383, 16_390, 200_000];

describe.each([4, 5] as const)("a packet of QoS 0 with MQTT %i", (protocolVersion) =>
  it("arrives byte for byte at any length, as text or bytes, with its retain flag", async () => {
    const mosquitto = await testMosquitto();
    const { connection, online } = connect({ url: mosquitto.url, protocolVersion });
    await online();
    const wanted = sizes.flatMap((size) => [
      { topic: `greenhouse/温室/${size}`, payload: "ö".repeat(size / 2) },
      { topic: `greenhouse/bytes/${size}`, payload: Buffer.alloc(size, 200) },
    ]);
    const publishes = wanted.map(({ topic, payload }) =>
      connection.publish(topic, payload, { qos: 0, retain: true }),
    );
    await Promise.all([...publishes, connection.publish("greenhouse/live", "x", { qos: 0 })]);
    expect(connection.counters()).toMatchObject({ connects: 1, disconnects: 0, published: 21 });
    const reader = await otherClient(mosquitto.url, { protocolVersion: 5 });
    const kept = new Map<string, Buffer>();
    reader.on("message", (topic, payload) => kept.set(topic, payload));
    await reader.subscribeAsync("greenhouse/#", { qos: 0 });
    const stored = wanted.filter(({ payload }) => payload.length > 0);
    await until(() => kept.size === stored.length, "all kept");
    for (const { topic, payload } of stored)
      expect(kept.get(topic)?.equals(Buffer.from(payload)), topic).toBe(true);
  }),
);
