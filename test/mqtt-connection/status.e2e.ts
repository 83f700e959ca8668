import { describe, expect, it, onTestFinished } from "vitest";
import type { BrokerConnection } from "../../src/mqtt/connection.js";
import type { ConnectionSettings } from "../../src/mqtt/connection/settings.js";
import { startTcpProxy } from "../support/tcp-proxy.js";
import {
  anyBroker,
  brokerTable,
  connect,
  otherClient,
  received,
  retainedValue,
  stateTopic,
  testBroker,
  testMosquitto,
  until,
} from "./support.js";
import { obliging, publishOf, scriptedBroker, splitPackets } from "./wire.js";

const will = { topic: stateTopic, payload: "offline" };
const guard = { topic: stateTopic, expected: "online" };

/** A connection that behaves like the bridge: birth, guard, farewell. */
function bridge(settings: Partial<ConnectionSettings> & { readonly url: string }) {
  const born: { connection?: BrokerConnection } = {};
  const say = (state: string) =>
    born.connection?.publish(stateTopic, state, { retain: true }) ?? Promise.resolve();
  let births = 0;
  const started = connect({
    will,
    guard,
    ...settings,
    on: {
      onConnected: async () => {
        await say("online");
        births += 1;
      },
      beforeEnd: () => say("offline"),
      ...settings.on,
    },
  });
  born.connection = started.connection;
  return {
    ...started,
    born: (count: number) => until(() => births >= count, `born ${count} times`, started.lines),
  };
}

/** The way to a broker of any make through a proxy, by which the link can be harmed; told what is sent. */
async function proxied({ make, version }: (typeof brokerTable)[number], sent: Buffer[] = []) {
  const broker = await anyBroker(make);
  const proxy = await startTcpProxy(broker.port, (bytes) => sent.push(bytes));
  onTestFinished(() => proxy.close());
  const url = `mqtt://127.0.0.1:${proxy.port}`;
  return { broker, proxy, way: { ...broker.credential, url, protocolVersion: version } };
}

/** What another client sees, as `topic payload`. */
async function watched({ url }: { readonly url: string }, filter = stateTopic): Promise<string[]> {
  const watcher = await otherClient(url, { protocolVersion: 4 });
  const seen = received(watcher);
  await watcher.subscribeAsync(filter, { qos: 1 });
  return seen;
}

describe.each(brokerTable)("on $make with MQTT $version", (at) => {
  it("the old link's will never wins over the new link's birth: 20 of 20 (32; trap 6)", async () => {
    const { broker, proxy, way } = await proxied(at);
    const { connection, born } = bridge({ ...way, limits: { backoff: { firstMs: 1, maxMs: 5 } } });
    const seen = await watched(broker);
    for (let round = 1; round <= 20; round += 1) {
      await born(round);
      expect(await retainedValue(broker.url, stateTopic)).toBe("online");
      proxy.deafen("both");
      connection.reconnect("the test has cut it");
    }
    await born(21);
    await until(() => seen.at(-1) === `${stateTopic} online`, "online last");
    expect(await retainedValue(broker.url, stateTopic)).toBe("online");
  });

  it("the old link's will does not come later either, when the broker would have missed it (32; trap 6)", async () => {
    const { broker, proxy, way } = await proxied(at);
    // Without the guard, which would repair it.
    const { connection, born } = bridge({ ...way, guard: undefined, limits: { keepaliveS: 2 } });
    await born(1);
    // Another client whose link goes dead at the same moment shows when the broker notices.
    const control = connect({
      ...way,
      clientId: "control",
      will: { topic: "greenhouse/control", payload: "died" },
      limits: { keepaliveS: 2, backoff: { firstMs: 60_000, maxMs: 60_000 } },
    });
    await control.online();
    const seen = await watched(broker, "greenhouse/#");
    proxy.deafen("both");
    connection.reconnect("the test has cut it");
    await born(2);
    await until(() => seen.includes("greenhouse/control died"), "the other client missed");
    expect(seen.filter((line) => line.startsWith(stateTopic)).at(-1)).toBe(`${stateTopic} online`);
    expect(await retainedValue(broker.url, stateTopic)).toBe("online");
  });

  it("a foreign offline is repaired, an emptied topic too", async () => {
    const broker = await anyBroker(at.make);
    const login = { ...broker.credential, protocolVersion: at.version };
    const { connection, born } = bridge({ ...broker, ...login });
    await born(1);
    // The embedded broker lets nobody else write there, so the stranger has the bridge's rights.
    const stranger = await otherClient(broker.url, login);
    const seen = received(stranger);
    await stranger.subscribeAsync(stateTopic, { qos: 1 });
    await until(() => seen.length === 1, "the birth message seen");
    for (const payload of ["offline", ""]) {
      const mark = seen.length;
      await stranger.publishAsync(stateTopic, payload, { qos: 1, retain: true });
      const repaired = `${stateTopic} ${payload},${stateTopic} online`;
      await until(() => seen.slice(mark).join() === repaired, "repaired");
      expect(await retainedValue(broker.url, stateTopic)).toBe("online");
    }
    expect(connection.counters().repairs).toBeGreaterThanOrEqual(2);
  });

  it("a clean end publishes offline before DISCONNECT, and no will follows; its own messages are no contradiction", async () => {
    const sent: Buffer[] = [];
    const { broker, way } = await proxied(at, sent);
    const { born, stop, connection, messages } = bridge({ ...way, will: { ...will, payload: "died" } });
    await born(1);
    const seen = await watched(broker);
    // Acknowledged behind the birth, which has come back by then.
    await connection.publish("greenhouse/self", "x");
    await stop();
    expect(connection.state).toBe("ended");
    expect(connection.counters().repairs).toBe(0);
    expect(messages).toEqual([]);
    const { packets } = splitPackets(Buffer.concat(sent));
    expect(packets.at(-1)?.type).toBe(14);
    const publishes = packets.filter(({ type }) => type === 3).map((packet) => publishOf(packet, at.version));
    const states = publishes.filter(({ topic }) => topic === stateTopic).map(({ payload }) => payload);
    expect(states).toEqual(["online", "offline"]);
    await until(() => seen.at(-1) === `${stateTopic} offline`, "offline seen");
    expect(await retainedValue(broker.url, stateTopic)).toBe("offline");
  });

  it("a half-open link is found by its keepalive and replaced", async () => {
    const { broker, proxy, way } = await proxied(at);
    const { born, ends, messages } = bridge({
      ...way,
      subscriptions: ["greenhouse/+/actuator/+/set"],
      limits: { keepaliveS: 1, backoff: { firstMs: 20, maxMs: 100 } },
    });
    await born(1);
    proxy.deafen("both");
    await until(() => ends.length === 1, "noticed");
    const reason = expect.stringContaining("no longer answers pings") as string;
    expect(ends[0]).toMatchObject({ kind: "lost", reason });
    await born(2);
    const other = await otherClient(broker.url, { protocolVersion: at.version });
    await other.publishAsync("greenhouse/east/actuator/roof/set", "open", { qos: 1 });
    await until(() => messages.length === 1, "the command received over the new link");
    expect(await retainedValue(broker.url, stateTopic)).toBe("online");
  });
});

describe("a half-open link", () =>
  it("is found while publishing all the time, and the publishes are rejected", async () => {
    const { proxy, way } = await proxied({ make: "aedes", version: 5 });
    const { connection, ends, online } = connect({ ...way, limits: { keepaliveS: 1 } });
    await online();
    proxy.deafen("both");
    const kinds = new Set<string>();
    while (ends.length === 0) {
      void connection
        .publish("greenhouse/a", "x")
        .catch((error: unknown) => kinds.add((error as { kind: string }).kind));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await online(2);
    expect([...kinds].filter((kind) => kind !== "busy")).toEqual(["offline"]);
  }));

describe("shutting down", () => {
  it("is not held up by a frozen broker, which is no fault of the program", async () => {
    const mosquitto = await testMosquitto();
    const { born, stop, lines } = bridge({ url: mosquitto.url, limits: { endTimeoutMs: 200 } });
    await born(1);
    mosquitto.freeze();
    await stop();
    expect(lines.filter((line) => line.includes("please report"))).toEqual([]);
  });

  it.each([
    ["acknowledged, the link ends with a DISCONNECT", true],
    ["not acknowledged, it is cut without one, so that the will speaks", false],
  ])("when the last words are %s", async (_, isAcknowledged) => {
    const types: number[] = [];
    const broker = await scriptedBroker((packet, peer) => {
      types.push(packet.type);
      if (isAcknowledged || packet.type !== 3 || !packet.body.includes("offline")) obliging(packet, peer, 5);
    });
    const { born, stop } = bridge({ url: broker.url, protocolVersion: 5, limits: { endTimeoutMs: 200 } });
    await born(1);
    await stop();
    await until(() => types.includes(14) || !isAcknowledged, "DISCONNECT");
    expect(types.includes(14)).toBe(isAcknowledged);
  });

  it("while connecting ends at once", async () => {
    const mosquitto = await testMosquitto();
    mosquitto.freeze();
    const { connection, stop } = connect({ url: mosquitto.url, limits: { connectTimeoutMs: 600_000 } });
    await until(() => connection.state === "connecting", "connecting");
    await stop();
  });
});

describe("two bridges with one client id", () => {
  it("notice that they throw each other out", async () => {
    const broker = await testBroker();
    const slow = { backoff: { firstMs: 1_000, maxMs: 30_000 } };
    const first = connect({ ...broker, ...broker.credential, limits: slow }, { random: () => 0.9 });
    await first.online();
    const second = connect({ ...broker, ...broker.credential, limits: slow }, { random: () => 0.9 });
    await second.online();
    await until(() => first.ends.length === 1, "the first thrown out");
    expect(first.ends[0]).toMatchObject({ kind: "taken_over" });
    expect(first.connection.counters().takenOver).toBe(1);
    expect(first.lines.join("\n")).toContain("mqtt.client_id");
  });

  it("are told of it at a Mosquitto 2.0, which closes without a word, once", async () => {
    const mosquitto = await testMosquitto();
    const quick = { backoff: { firstMs: 50, maxMs: 100 } };
    const two = [1, 2].map(() => connect({ url: mosquitto.url, limits: quick }));
    const lines = () => two.flatMap((one) => one.lines);
    const told = () =>
      lines().filter((line) => line.includes("another client connected with the same client id"));
    await until(() => told().length > 0, "told", lines());
    expect(told()[0]).toMatch(/^warn .*give each bridge its own mqtt\.client_id/);
    expect(two[0]?.ends[0]).toMatchObject({ kind: "lost", wordless: true });
    await until(() => two.every(({ ends }) => ends.length > 8), "many more", lines());
    expect(told().length).toBeLessThanOrEqual(2);
  });

  it("are not suspected where a broker is restarted", async () => {
    const mosquitto = await testMosquitto();
    const { lines, online, ends } = connect({ url: mosquitto.url });
    for (let round = 1; round <= 4; round += 1) {
      await online(round);
      const before = lines.length;
      await mosquitto.kill();
      await until(() => ends.length === round, "gone");
      const isTried = () => lines.slice(before).some((line) => line.includes("is the broker running"));
      await until(isTried, "tried in vain");
      await mosquitto.restart();
    }
    expect(lines.filter((line) => line.includes("same client id"))).toEqual([]);
  });
});
