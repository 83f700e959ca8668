import { once } from "node:events";
import net from "node:net";
import type { IClientOptions } from "mqtt";
import { expect, it, vi } from "vitest";
import { connectPacket } from "../conformance/packets.js";
import { otherClient, retainedValue, returning, testBroker, until } from "../mqtt-connection/support.js";

const users = ["free", "op"].map((username) => ({ username, password: "secret" }));

/** A client of the session `kept`. */
async function comes(url: string, options: IClientOptions) {
  const { client, seen } = returning(url, { clientId: "kept", ...options });
  const { sessionPresent } = await new Promise<{ sessionPresent: boolean }>((resolve) =>
    client.once("connect", resolve),
  );
  return { client, seen, sessionPresent };
}

it.each([5, 4] as const)(
  "a session belongs to its user: another user's client of that id begins a new one, MQTT %i",
  async (protocolVersion) => {
    const broker = await testBroker({ users });
    const properties = { sessionExpiryInterval: 60 };
    const options = { password: "secret", protocolVersion, properties };
    const first = await comes(broker.url, { ...options, username: "free" });
    await first.client.subscribeAsync("#", { qos: 1 });
    await first.client.endAsync();
    const bridge = await otherClient(broker.url, { ...broker.credential, clientId: "bridge" });
    await bridge.publishAsync("greenhouse/secret", "1", { qos: 1 });
    const other = await comes(broker.url, { ...options, username: "op" });
    await other.client.subscribeAsync("greenhouse/own", { qos: 1 });
    await bridge.publishAsync("greenhouse/own", "2", { qos: 1 });
    await until(() => other.seen.length > 0, "its own arrived");
    expect([other.sessionPresent, other.seen]).toEqual([false, ["greenhouse/own 2"]]);
    await other.client.endAsync();
    await bridge.publishAsync("greenhouse/own", "3", { qos: 1 });
    const again = await comes(broker.url, { ...options, username: "op" });
    await until(() => again.seen.length > 0, "the session goes on for its user");
    expect(again.seen).toEqual(["greenhouse/own 3"]);
    await again.client.endAsync();
  },
);

it.each([0, 1] as const)(
  "nothing is delivered with a higher QoS than was granted, to a filter with wildcards too: %i",
  async (qos) => {
    const broker = await testBroker();
    const bridge = await otherClient(broker.url, { ...broker.credential, clientId: "bridge" });
    await bridge.publishAsync("greenhouse/bridge/state", "online", { qos: 2, retain: true });
    const client = await otherClient(broker.url, { protocolVersion: 5 });
    const seen: unknown[] = [];
    client.on("message", (_, payload, packet) => seen.push([payload.toString(), packet.qos]));
    await client.subscribeAsync("greenhouse/+/state", { qos });
    await until(() => seen.length === 1, "the retained one arrived");
    await bridge.publishAsync("greenhouse/bridge/state", "offline", { qos: 2 });
    await until(() => seen.length === 2, "the live one arrived");
    expect(seen).toEqual([
      ["online", qos],
      ["offline", qos],
    ]);
  },
);

it("clients that come with one id and go at the same moment are not counted when they are gone", async () => {
  const broker = await testBroker();
  const connectAs = Buffer.from(connectPacket(5, { id: "x", keepAlive: 30 }));
  for (let round = 0; round < 40; round += 1) {
    const sockets = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const socket = net.connect(broker.port, "127.0.0.1");
        socket.on("error", () => undefined);
        await once(socket, "connect");
        socket.write(connectAs);
        return socket;
      }),
    );
    await Promise.race(sockets.map((socket) => once(socket, "data")));
    for (const socket of sockets) socket.destroy();
  }
  await until(() => broker.counters().clients === 0, "nobody is counted");
  await otherClient(broker.url, { clientId: "x", protocolVersion: 5 });
  expect(broker.counters().clients).toBe(1);
});

it("retained messages that have expired take no room", async () => {
  const broker = await testBroker({
    anonymous: { publish: ["#"], subscribe: ["#"] },
    limits: { retainedTopics: 3 },
  });
  const client = await otherClient(broker.url, { protocolVersion: 5 });
  const properties = { messageExpiryInterval: 1 };
  for (const topic of ["w/1", "w/2", "w/3"])
    await client.publishAsync(topic, "x", { qos: 1, retain: true, properties });
  await client.publishAsync("w/4", "too many", { qos: 1, retain: true });
  expect(broker.counters().discardedPublishes).toBe(1);
  await vi.waitFor(async () => expect(await retainedValue(broker.url, "w/3")).toBeNull(), 20_000);
  await client.publishAsync("w/4", "fits", { qos: 1, retain: true });
  expect(await retainedValue(broker.url, "w/4")).toBe("fits");
});
