import anyAscii from "any-ascii";
import { describe, expect, it, onTestFinished } from "vitest";
import { RetainedTopics } from "../../src/mqtt/retained-topics.js";
import { topicsUnder } from "../../src/mqtt/topics.js";
import { systemClock } from "../../src/runtime/clock.js";
import { Semaphore } from "../../src/runtime/schedule.js";
import { GreenhouseStore } from "../../src/sync/store.js";
import { item, silentLog } from "../support/builders.js";
import { sensorsRead } from "../support/folding.js";
import { mirrorSettings } from "../support/polled-mirror.js";
import { brokerTable, connect, otherClient, standing, testBroker, testMosquitto, until } from "./support.js";
import { muteBroker } from "./wire.js";

describe.each(brokerTable)("on $make with MQTT $version", (at) => {
  it("a scan shows every retained message once and no live ones, and commands go on arriving", async () => {
    const { connection, messages, other } = await standing(at, {
      subscriptions: ["greenhouse/+/actuator/+/set"],
    });
    for (let n = 0; n < 300; n += 1)
      await connection.publish(`greenhouse/east/sensor/${n}`, `${n}`, { retain: true });
    const found = new Map<string, string>();
    let times = 0;
    const scan = connection.scan(["greenhouse/+/sensor/+"], (topic, payload) => {
      times += 1;
      found.set(topic, payload.toString());
    });
    await until(() => found.size > 0, "the first found");
    await connection.publish("greenhouse/east/sensor/live", "x");
    await other.publishAsync("greenhouse/east/actuator/roof/set", "open", { qos: 1 });
    expect(await scan).toBe(true);
    expect(found.size).toBe(300);
    expect(times).toBe(300);
    expect(found.get("greenhouse/east/sensor/299")).toBe("299");
    await until(() => messages.length > 0, "the command");
    expect(messages.map((message) => message.topic)).toEqual(["greenhouse/east/actuator/roof/set"]);
    await connection.publish("greenhouse/east/sensor/1", "after", { retain: true });
    expect(found.get("greenhouse/east/sensor/1")).toBe("1");
  });

  it("listening brings what the broker holds on just these topics, then what follows there, until the link ends", async () => {
    const { connection, messages, online, other } = await standing(at);
    const topics = Array.from({ length: 120 }, (_, n) => `homeassistant/device/own-${n}/config`);
    for (const topic of [...topics, "homeassistant/device/other/config"])
      await connection.publish(topic, "held", { retain: true });
    await connection.listen(topics);
    expect(messages.map(({ topic }) => topic).sort()).toEqual([...topics].sort());
    await other.publishAsync("homeassistant/device/other/config", "", { qos: 1 });
    await other.publishAsync("homeassistant/device/own-7/config", "", { qos: 1 });
    await until(() => messages.length > 120, "what is emptied");
    expect(messages.at(-1)).toMatchObject({ topic: "homeassistant/device/own-7/config", retain: false });
    const cut = connection.listen(topics);
    connection.reconnect("in the middle");
    await cut;
    await online(2);
    const before = messages.length;
    await other.publishAsync("homeassistant/device/own-7/config", "", { qos: 1 });
    await connection.publish("greenhouse/b", "y");
    expect(messages.length).toBe(before);
  });

  it("a scan ends when the link does, and a listener that throws does no harm", async () => {
    const { connection, online } = await standing(at);
    await connection.publish("greenhouse/a", "x", { retain: true });
    const scan = connection.scan(["greenhouse/#"], () => {
      connection.reconnect("in the middle");
      throw new Error("a bug");
    });
    await until(() => connection.counters().listenerErrors === 1, "the listener called");
    await online(2);
    expect(await scan).toBe(false);
    await connection.publish("greenhouse/b", "y");
  });
});

describe("a scan of more than a default Mosquitto keeps back for a subscriber", () =>
  it.each([5, 4] as const)("shows all of 5,000 topics with MQTT %i", async (protocolVersion) => {
    const mosquitto = await testMosquitto();
    const { connection, online } = connect({ url: mosquitto.url, protocolVersion });
    await online();
    for (let n = 0; n < 5_000; n += 1) {
      await connection.ready();
      void connection.publish(`greenhouse/${n}/availability`, "online", {
        retain: true,
        qos: n % 2 === 0 ? 0 : 1,
      });
    }
    const found = new Set<string>();
    expect(await connection.scan(["greenhouse/+/availability"], (topic) => found.add(topic))).toBe(true);
    expect(found.size).toBe(5_000);
  }));

describe("a scan that cannot be known to be complete says so", () => {
  it("where a filter is refused, showing what the others bring", async () => {
    const broker = await testBroker({
      users: [{ username: "me", password: "secret", publish: ["#"], subscribe: ["allowed/#"] }],
    });
    const { connection, online } = connect({ ...broker, username: "me", password: "secret" });
    await online();
    await connection.publish("allowed/a", "x", { retain: true });
    const found: string[] = [];
    expect(await connection.scan(["allowed/#", "b/#"], (topic) => found.push(topic))).toBe(false);
    expect(found).toEqual(["allowed/a"]);
  });

  it("where the broker acknowledges nothing", async () => {
    const { url } = await muteBroker();
    const { connection, online } = connect({ url, limits: { ackTimeoutMs: 200 } });
    await online();
    expect(await connection.scan(["greenhouse/#"], () => undefined)).toBe(false);
  });
});

const controllers = 42;
const sensors = 40;
/** Of a controller: four topics a sensor, and its availability, info, tags, problem and what that is about. */
const topicsInAll = controllers * (sensors * 4 + 5);

/** The states of an account on a real Mosquitto with its default limits. */
async function publishedStates(url: string) {
  const store = new GreenhouseStore(mirrorSettings(), systemClock, anyAscii);
  store.setReachable(true);
  const { connection, online } = connect({ url });
  const topics = topicsUnder("greenhouse", { plain_times: true });
  const context = { topics, isLeftOut: () => false, view: store, gate: null, qos: 0 } as const;
  const output = new RetainedTopics(context, connection, systemClock, silentLog);
  store.onChange((before, after) => output.onChange(before, after));
  const now = Date.now();
  for (let n = 0; n < controllers; n += 1) {
    store.admit(`GH-${n}`);
    const read = Array.from({ length: sensors }, (_, index) =>
      item({ name: `s${index}`, factor: `s${index}`, value: 20, raw: 20, measuredAt: now }),
    );
    store.dispatch(`GH-${n}`, sensorsRead(read, now));
  }
  const life = new AbortController();
  const running = output.run(life.signal);
  onTestFinished(async () => {
    life.abort();
    await running;
  });
  await online();
  return { connection, output };
}

/** Node-RED's way: everything, with QoS 1 or 2. */
async function wildcardSubscriber(url: string, qos: 0 | 1 | 2) {
  const client = await otherClient(url, { protocolVersion: 5 });
  const seen = new Set<string>();
  client.on("message", (topic) => {
    if (!topic.includes("/bridge/")) seen.add(topic);
  });
  await client.subscribeAsync("greenhouse/#", { qos });
  return seen;
}

describe("at a Mosquitto with its default limits", () => {
  it("more than 5,000 retained states reach every wildcard subscriber, at QoS 0, 1 and 2, live and afterwards", async () => {
    const { url } = await testMosquitto();
    const live = await wildcardSubscriber(url, 1);
    const { connection, output } = await publishedStates(url);
    await output.onLinked();
    output.online();
    await until(() => connection.counters().published === topicsInAll, "all published and proven");
    expect(topicsInAll).toBeGreaterThan(5_000);
    await until(() => live.size === topicsInAll, `${live.size} of ${topicsInAll} live`);
    for (const qos of [0, 1, 2] as const) {
      const later = await wildcardSubscriber(url, qos);
      await until(() => later.size === topicsInAll, `${later.size} of ${topicsInAll} at QoS ${qos}`);
    }
  });
});

describe("links of one process that come up together", () => {
  it("take their turns: the next one begins when one before has taken in what the broker holds, is gone, or takes long", async () => {
    const { url } = await testMosquitto();
    const greetings = new Semaphore(1);
    const link = (clientId: string) => connect({ url, clientId }, { greetings });
    const first = link("first");
    await first.online();
    const second = link("second");
    await until(() => greetings.waiting === 1, "the second waits");
    expect(second.connection.state).toBe("subscribing");
    await first.connection.scan(["greenhouse/#"], () => undefined);
    await second.online();
    const third = link("third");
    await until(() => greetings.waiting === 1, "the third waits");
    second.connection.reconnect("in the middle");
    await third.online();
    // Behind the third, which looks at nothing and gives its place up after some seconds.
    await second.online(2);
  });
});
