import type { MqttClient } from "mqtt";
import { describe, expect, it } from "vitest";
import { bridgeRights, rightsOf } from "../../src/broker/acl.js";
import type { EmbeddedBroker } from "../../src/broker/broker.js";
import { claimOf, senderIn } from "../../src/runtime/mqtt.js";
import {
  connect,
  otherClient,
  received,
  retainedValue,
  testBroker,
  until,
} from "../mqtt-connection/support.js";

const set = "greenhouse/east/actuator/roof/set";
const forbidden = [
  "greenhouse/east/actuator/roof/state",
  "greenhouse/east/sensor/t",
  "greenhouse/bridge/state",
  "homeassistant/device/x/config",
  "$SYS/anything",
  "elsewhere",
];

async function watching(broker: EmbeddedBroker): Promise<{ bridge: MqttClient; seen: string[] }> {
  const bridge = await otherClient(broker.url, {
    ...broker.credential,
    clientId: "bridge",
    protocolVersion: 5,
  });
  const seen = received(bridge);
  await bridge.subscribeAsync("#", { qos: 1 });
  return { bridge, seen };
}

describe.each([5, 4] as const)("a client without special rights, MQTT %i", (protocolVersion) => {
  it.each([0, 1, 2] as const)(
    "publishes forbidden topics into nothing and stays connected, QoS %i",
    async (qos) => {
      const broker = await testBroker();
      const { seen } = await watching(broker);
      const client = await otherClient(broker.url, { protocolVersion });
      for (const topic of forbidden) await client.publishAsync(topic, "x", { qos, retain: true });
      await client.publishAsync(set, "open", { qos: 1 });
      await until(() => seen.length > 0, "the allowed one arrived");
      expect(seen).toEqual([`${set} open`]);
      expect(client.connected).toBe(true);
      expect(broker.counters().discardedPublishes).toBe(forbidden.length);
      for (const topic of forbidden.filter((name) => !name.startsWith("$")))
        expect(await retainedValue(broker.url, topic)).toBeNull();
    },
  );

  it("reads everything, and gets no subscription to the server's own tree", async () => {
    const broker = await testBroker();
    const { bridge } = await watching(broker);
    const client = await otherClient(broker.url, { protocolVersion });
    const seen = received(client);
    await client.subscribeAsync("#", { qos: 1 });
    await expect(client.subscribeAsync("$SYS/#", { qos: 1 })).rejects.toThrow("Subscribe error");
    await bridge.publishAsync("greenhouse/east/sensor/t", "21", { qos: 1, retain: true });
    await until(() => seen.length > 0, "the value arrived");
    expect(seen).toEqual(["greenhouse/east/sensor/t 21"]);
    expect(broker.counters().refusedSubscriptions).toBe(1);
  });

  it("has its birth and will on Home Assistant's status topic, any other will is discarded", async () => {
    const broker = await testBroker();
    const { seen } = await watching(broker);
    const will = {
      topic: "homeassistant/status",
      payload: Buffer.from("offline"),
      qos: 1 as const,
      retain: true,
    };
    const home = await otherClient(broker.url, { protocolVersion, will });
    await home.publishAsync("homeassistant/status", "online", { qos: 1, retain: true });
    const bad = await otherClient(broker.url, {
      protocolVersion,
      will: { ...will, topic: "greenhouse/bridge/state" },
    });
    const worse = await otherClient(broker.url, {
      protocolVersion,
      will: { ...will, topic: "greenhouse/#" },
    });
    worse.stream.destroy();
    bad.stream.destroy();
    await until(() => broker.counters().discardedPublishes === 2, "both wills discarded");
    home.stream.destroy();
    await until(() => seen.includes("homeassistant/status offline"), "the will arrived");
    expect(seen).toEqual(["homeassistant/status online", "homeassistant/status offline"]);
  });

  it("may clear a discovery document, not write one", async () => {
    const broker = await testBroker();
    const { bridge } = await watching(broker);
    const topic = "homeassistant/device/east/config";
    await bridge.publishAsync(topic, "{}", { qos: 1, retain: true });
    const client = await otherClient(broker.url, { protocolVersion });
    await client.publishAsync(topic, "{evil}", { qos: 1, retain: true });
    expect(await retainedValue(broker.url, topic)).toBe("{}");
    await client.publishAsync(topic, "", { qos: 1, retain: true });
    expect(await retainedValue(broker.url, topic)).toBeNull();
  });

  it("is named to the bridge as the sender of a command, whatever it claims itself", async () => {
    const broker = await testBroker({ users: [{ username: "ha", password: "secret" }] });
    const login = { username: "ha", password: "secret" };
    const { connection, messages, online } = connect({
      ...broker,
      ...broker.credential,
      stampsSenders: true,
      subscriptions: ["greenhouse/+/actuator/+/set", "greenhouse/bridge/request/+"],
    });
    await online();
    const listener = await otherClient(broker.url, { protocolVersion: 5, ...login, clientId: "listener" });
    const shown: unknown[] = [];
    listener.on("message", (_topic, _payload, packet) => shown.push(packet.properties?.userProperties));
    await listener.subscribeAsync("#", { qos: 1 });
    const client = await otherClient(broker.url, { protocolVersion, ...login, clientId: "phone" });
    const claim = { "greenhouse2mqtt-via": '{"client":"boss","user":"boss"}', by: "Li" };
    const properties = protocolVersion === 5 ? { userProperties: claim } : undefined;
    await client.publishAsync(set, "open", { qos: 1, properties });
    await client.publishAsync("greenhouse/bridge/request/read", "{}", { qos: 0, properties });
    await until(() => messages.length === 2 && shown.length === 2, "both arrived");
    for (const { properties: got } of messages) {
      expect(got.via).toEqual({ client: "phone", user: "ha" });
      expect(got.by).toBe(protocolVersion === 5 ? "Li" : undefined);
    }
    expect(JSON.stringify(shown)).not.toMatch(/via/);
    await connection.publish("greenhouse/a", "x");
  });
});

describe("the stamp of the sender", () =>
  it.each([
    [undefined, undefined],
    [{}, undefined],
    [{ "greenhouse2mqtt-via": ["a", "b"] }, undefined],
    [{ "greenhouse2mqtt-via": "x".repeat(1_025) }, undefined],
    [{ "greenhouse2mqtt-via": "no json" }, undefined],
    [{ "greenhouse2mqtt-via": "null" }, undefined],
    [{ "greenhouse2mqtt-via": '{"client":1,"user":null}' }, undefined],
    [{ "greenhouse2mqtt-via": '{"client":"a","user":null}' }, { client: "a", user: null }],
  ])("%j reads as %j", (properties, via) => expect(senderIn(properties, true).via).toEqual(via)));

const topics = { base: "site/greenhouse", status: "homeassistant/status", discoveryPrefix: "homeassistant" };

describe("the default rights", () => {
  const rights = rightsOf(null, topics);
  it.each([
    ["site/greenhouse/east/actuator/roof/set", 4, true],
    ["site/greenhouse/east/parameter/ec/set", 4, true],
    ["site/greenhouse/east/address/101/set", 4, true],
    ["site/greenhouse/bridge/request/refresh", 4, true],
    ["homeassistant/status", 6, true],
    ["homeassistant/device/x/config", 0, true],
    ["homeassistant/device/x/config", 2, false],
    ["homeassistant/sensor/x/config", 0, false],
    ["site/greenhouse/east/actuator/roof/state", 4, false],
    ["site/greenhouse/east/actuator/roof/result", 4, false],
    ["site/greenhouse/east/sensor/t", 4, false],
    ["site/greenhouse/bridge/state", 6, false],
    ["site/greenhouse/bridge/response/read", 6, false],
    ["site/greenhouse/east/actuator/roof/set/more", 4, false],
    ["greenhouse/east/actuator/roof/set", 4, false],
    ["other/topic", 4, false],
    ["$SYS/broker", 4, false],
    ["site/greenhouse/+/actuator/roof/set", 4, false],
    ["site/greenhouse/a\0/actuator/roof/set", 4, false],
    ["", 4, false],
  ])("allow publishing %s with %i bytes: %s", (topic, bytes, allowed) =>
    expect(rights.mayPublish(topic, bytes)).toBe(allowed),
  );

  it.each([
    ["#", true],
    ["site/greenhouse/+/sensor/#", true],
    ["$SYS/#", false],
    ["$discarded", false],
    ["$share/group/site/#", false],
  ])("allow subscribing to %s: %s", (filter, allowed) => expect(rights.maySubscribe(filter)).toBe(allowed));
});

describe("the rights of a user", () => {
  it("are the lists where there are lists, the default of its kind where there is none", () => {
    const reader = rightsOf({ publish: [], subscribe: ["site/greenhouse/+/sensor/#"] }, topics);
    expect(reader.mayPublish("site/greenhouse/east/actuator/roof/set", 4)).toBe(false);
    expect(reader.maySubscribe("site/greenhouse/east/sensor/t")).toBe(true);
    expect(reader.maySubscribe("#")).toBe(false);
    const writer = rightsOf({ publish: ["other/#"] }, topics);
    expect(writer.mayPublish("other/a", 4)).toBe(true);
    expect(writer.mayPublish("site/greenhouse/east/actuator/roof/set", 4)).toBe(false);
    expect(writer.maySubscribe("#")).toBe(true);
  });

  it("never reach the server's own tree, not even the bridge's", () => {
    expect(rightsOf({ publish: ["#"] }, topics).mayPublish("$SYS/a", 4)).toBe(false);
    expect(bridgeRights.mayPublish("$SYS/a", 4)).toBe(false);
    expect(bridgeRights.mayPublish("homeassistant/device/x/config", 4)).toBe(true);
  });
});

describe("of user properties", () => {
  const via = "greenhouse2mqtt-via";

  it.each([
    [undefined, undefined],
    [{}, undefined],
    [{ a: "b", [via]: "me" }, undefined],
    [{ by: ["Li", "Wang"] }, undefined],
    [{ by: "Li", a: "b" }, { by: "Li" }],
    [{ by: "x".repeat(201) }, { by: "x".repeat(200) }],
  ])("a sender keeps the one that says who asks: %j", (given, kept) => expect(claimOf(given)).toEqual(kept));

  it("behind a broker that stamps nobody the stamp is the sender's own word, and is left", () =>
    expect(senderIn({ by: "Li", [via]: '{"client":"a","user":"boss"}', a: "b" }, false)).toEqual({
      by: "Li",
    }));
});

describe("the embedded broker", () =>
  it("hands on no user property but the one that says who asks, however many a message has", async () => {
    const broker = await testBroker();
    const listener = await otherClient(broker.url, { protocolVersion: 5 });
    const shown: unknown[] = [];
    listener.on("message", (_topic, _payload, packet) => {
      shown.push({ ...packet.properties?.userProperties });
    });
    await listener.subscribeAsync("#", { qos: 1 });
    const sender = await otherClient(broker.url, { protocolVersion: 5 });
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, n) => [`p${n}`, "v".repeat(30)]));
    const topic = "greenhouse/east/actuator/roof/set";
    for (const userProperties of [many, { ...many, by: "Li" }])
      await sender.publishAsync(topic, "open", { qos: 1, properties: { userProperties } });
    await until(() => shown.length === 2, "both arrived");
    expect(shown).toEqual([{}, { by: "Li" }]);
  }));
