import { expect, it } from "vitest";
import { systemClock } from "../../src/runtime/clock.js";
import { connect, otherClient, received, testBroker, until } from "../mqtt-connection/support.js";
import { gapsByHand } from "../support/stood-still.js";

const set = "greenhouse/east/actuator/roof/set";
const status = "homeassistant/status";
const stoodMs = 20_000;

/** An embedded broker with the bridge's link, and a client. */
async function scene(qos: 0 | 1 | 2, over: "TCP" | "WebSocket" = "TCP") {
  const gaps = gapsByHand();
  const broker = await testBroker({ websocketPort: 0 }, { gaps });
  const { messages, online } = connect({
    ...broker.credential,
    url: broker.url,
    stampsSenders: true,
    subscriptions: ["#"],
  });
  await online();
  const url = over === "TCP" ? broker.url : `ws://127.0.0.1:${broker.webSocketPort}`;
  const client = await otherClient(url, { protocolVersion: 5 });
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

it.each([
  ["TCP", 750, 1],
  // More than is read of a socket at once.
  ["TCP", 1_000, 200],
  // Of a packet each piece is a frame.
  ["WebSocket", 150, 1],
] as const)(
  "what waits as its client sends faster than it is read is as old as that, over %s, and what comes later is not",
  async (over, count, bytes) => {
    const { client, ages } = await scene(0, over);
    expect(await ages(set)).toBeLessThan(500);
    const from = systemClock.monotonic();
    for (let n = 0; n < count; n++) client.publish("elsewhere", "x".repeat(bytes));
    const age = await ages(set);
    const waited = systemClock.monotonic() - from;
    expect(waited).toBeGreaterThan(1_000);
    expect(age).toBeGreaterThan(waited - 500);
    await expect.poll(() => ages(set)).toBeLessThan(500);
  },
);

it("of one that is never read empty each thing is as old as it waited, not as the first that had to wait", async () => {
  const { client, ages } = await scene(0);
  const from = systemClock.monotonic();
  const passedMs = () => systemClock.monotonic() - from;
  let sent = 0;
  // 250 at once, and 250 a second.
  const flood = setInterval(() => {
    for (; sent < 290 + passedMs() / 4; sent++) client.publish("elsewhere", "x");
  }, 10);
  try {
    const seen: number[] = [];
    while (passedMs() < 6_000) seen.push(await ages(set));
    expect(Math.min(...seen.slice(-10))).toBeGreaterThan(0);
    expect(Math.max(...seen)).toBeLessThan(passedMs() / 2);
  } finally {
    clearInterval(flood);
  }
});
