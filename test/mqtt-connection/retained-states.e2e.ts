import anyAscii from "any-ascii";
import { describe, expect, it, onTestFinished } from "vitest";
import { RetainedStates } from "../../src/mqtt/retained-states.js";
import { topicsUnder } from "../../src/mqtt/topics.js";
import { systemClock } from "../../src/runtime/clock.js";
import { GreenhouseStore } from "../../src/sync/store.js";
import { item, silentLog } from "../support/builders.js";
import { sensorsRead } from "../support/folding.js";
import { mirrorSettings } from "../support/polled-mirror.js";
import { connect, otherClient, testMosquitto, until } from "./support.js";

const controllers = 42;
const sensors = 40;
/** Of a controller: three topics a sensor, and its availability, info, problem and what that is about. */
const topicsInAll = controllers * (sensors * 3 + 4);

/** The states of an account on a real Mosquitto with its default limits. */
async function publishedStates(url: string, qos: 0 | 1) {
  const store = new GreenhouseStore(mirrorSettings(), systemClock, anyAscii);
  store.setReachable(true);
  const { connection, online } = connect({ url });
  const output = new RetainedStates({
    topics: topicsUnder("greenhouse"),
    publish: (topic, payload, options) => connection.publish(topic, payload, options),
    isIgnored: () => false,
    isAccountKnown: () => false,
    platformHadTime: () => false,
    view: store,
    qos,
    log: silentLog,
  });
  store.onChange((before, after) => output.changed(before, after));
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
    const { connection, output } = await publishedStates(url, 0);
    output.connected();
    await until(() => connection.counters().published === topicsInAll, "all published and proven");
    expect(topicsInAll).toBeGreaterThan(5_000);
    await until(() => live.size === topicsInAll, `${live.size} of ${topicsInAll} live`);
    for (const qos of [0, 1, 2] as const) {
      const later = await wildcardSubscriber(url, qos);
      await until(() => later.size === topicsInAll, `${later.size} of ${topicsInAll} at QoS ${qos}`);
    }
  });

  it("with state_qos 1 they do not, which is why it is not the default", async () => {
    const { url } = await testMosquitto();
    const { connection, output } = await publishedStates(url, 1);
    output.connected();
    await until(() => connection.counters().published === topicsInAll, "all published and acknowledged");
    const later = await wildcardSubscriber(url, 1);
    const control = await wildcardSubscriber(url, 0);
    await until(() => control.size === topicsInAll, "all at QoS 0");
    expect(later.size).toBeLessThan(1_200);
  });
});
