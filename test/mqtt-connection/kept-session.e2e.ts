import { expect, it, onTestFinished } from "vitest";
import { startTcpProxy } from "../support/tcp-proxy.js";
import { connect, otherClient, testMosquitto } from "./support.js";

const topic = "greenhouse/c/actuator/a/set";
const selfTest = "greenhouse/bridge/self_test";

it.each([5, 4] as const)(
  "what is not acknowledged on a link is given to the next one, as old as nobody knows (MQTT %i)",
  async (protocolVersion) => {
    const { url, port } = await testMosquitto();
    const proxy = await startTcpProxy(port);
    onTestFinished(() => proxy.close());
    const settings = {
      url: `mqtt://127.0.0.1:${proxy.port}`,
      protocolVersion,
      subscriptions: [topic, selfTest],
      echoTopic: selfTest,
      session: { forS: 60, isOwed: (one: string) => one === topic },
    };
    const sender = await otherClient(url);
    const say = (text: string) => sender.publishAsync(topic, text, { qos: 1 });
    const texts = (messages: readonly { readonly payload: Buffer }[]) =>
      messages.map(({ payload }) => payload.toString());

    const first = connect(settings);
    await first.online();
    await say("left");
    await say("dealt with");
    await expect.poll(() => texts(first.messages)).toEqual(["left", "dealt with"]);
    first.messages[1]?.acknowledge?.();
    expect(first.messages[0]?.isKept).toBeUndefined();
    const from = performance.now();
    await first.stop();
    expect(performance.now() - from, "the end of a link in order").toBeLessThan(2_000);
    await say("meanwhile");

    const next = connect(settings);
    await next.online();
    await expect.poll(() => texts(next.messages)).toEqual(["left", "meanwhile"]);
    expect(next.messages.map(({ isKept }) => isKept)).toEqual([true, true]);
    expect(next.messages[0]?.ageMs).toBeGreaterThan(50_000);
    for (const { acknowledge } of next.messages) acknowledge?.();
    await expect
      .poll(async () => {
        await say("live");
        await expect.poll(() => texts(next.messages).at(-1)).toBe("live");
        next.messages.at(-1)?.acknowledge?.();
        return next.messages.splice(2).at(-1)?.isKept;
      })
      .toBeUndefined();
    await next.stop();
    const last = connect(settings);
    await last.online();
    await say("new");
    await expect.poll(() => texts(last.messages)).toEqual(["new"]);
  },
);
