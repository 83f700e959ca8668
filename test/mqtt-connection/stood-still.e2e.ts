import { expect, it, onTestFinished } from "vitest";
import { systemClock } from "../../src/runtime/clock.js";
import { gapsByHand } from "../support/stood-still.js";
import { startTcpProxy } from "../support/tcp-proxy.js";
import { connect, otherClient, testMosquitto, until } from "./support.js";

const topic = "greenhouse/c/actuator/a/set";
const selfTest = "greenhouse/bridge/self_test";

it.each([5, 4] as const)(
  "after the process stood still each command that waits at the broker is as old as that, however many there are (MQTT %i)",
  async (protocolVersion) => {
    const { url, port } = await testMosquitto();
    const proxy = await startTcpProxy(port);
    onTestFinished(() => proxy.close());
    const gaps = gapsByHand();
    const { online, messages } = connect(
      {
        url: `mqtt://127.0.0.1:${proxy.port}`,
        protocolVersion,
        subscriptions: [topic, selfTest],
        echoTopic: selfTest,
        // Other bridges are heard as well.
        withRetained: ["+/bridge/self_test"],
      },
      { gaps },
    );
    await online();
    const sender = await otherClient(url);
    proxy.latency(300);
    const all = Array.from({ length: 60 }, (_, n) => sender.publishAsync(topic, String(n), { qos: 1 }));
    await Promise.all(all);
    // Mosquitto sends 20 messages and waits for their acknowledgements before it sends more.
    const now = systemClock.monotonic();
    gaps.stoodStill(now - 20_000, now);
    const commands = () => messages.filter((message) => message.topic === topic);
    await until(() => commands().length === 60, "all have come");
    expect(commands().filter(({ ageMs }) => ageMs === undefined)).toEqual([]);
  },
);
