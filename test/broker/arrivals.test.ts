import { expect, it } from "vitest";
import { systemClock } from "../../src/runtime/clock.js";
import { connect, otherClient, received, testBroker, until } from "../mqtt-connection/support.js";
import { gapsByHand } from "../support/stood-still.js";

const set = "greenhouse/east/actuator/roof/set";
const status = "homeassistant/status";
const stoodMs = 20_000;

/** An embedded broker with the bridge's link, and a client. */
async function scene(qos: 0 | 1 | 2) {
  const gaps = gapsByHand();
  const broker = await testBroker({}, { gaps });
  const { messages, online } = connect({
    ...broker.credential,
    url: broker.url,
    stampsSenders: true,
    subscriptions: ["#"],
  });
  await online();
  const client = await otherClient(broker.url, { protocolVersion: 5 });
  const ages = async (topic: string) => {
    const before = messages.length;
    await client.publishAsync(topic, "open", { qos });
    const own = () => messages.slice(before).find((one) => one.topic === topic);
    await until(() => own() !== undefined, "it has come");
    return own()?.ageMs ?? 0;
  };
  const standStill = () => {
    const now = systemClock.monotonic();
    gaps.stoodStill(now - stoodMs, now);
  };
  return { broker, gaps, client, messages, ages, standStill };
}

it.each([0, 1, 2] as const)(
  "what lay in a client's socket while the process stood still is as old as that, QoS %i",
  async (qos) => {
    const { ages, standStill, gaps } = await scene(qos);
    expect(await ages(set)).toBeLessThan(stoodMs);
    standStill();
    expect(await ages(set)).toBeGreaterThanOrEqual(stoodMs);
    expect(await ages(status)).toBeGreaterThanOrEqual(stoodMs);
    gaps.readEmpty(systemClock.monotonic());
    await expect.poll(() => ages(set)).toBeLessThan(1_000);
    expect(await ages(status)).toBe(0);
  },
);

it("how old it is concerns the bridge alone", async () => {
  const { broker, client, standStill } = await scene(1);
  const other = await otherClient(broker.url, { protocolVersion: 5 });
  const properties: unknown[] = [];
  other.on("message", (_topic, _payload, packet) => properties.push(packet.properties?.userProperties));
  const seen = received(other);
  await other.subscribeAsync("#", { qos: 1 });
  standStill();
  await client.publishAsync(set, "open", { qos: 1 });
  await client.publishAsync(status, "online", { qos: 1 });
  await until(() => seen.length === 2, "both have come");
  expect(properties).toEqual([undefined, undefined]);
});
