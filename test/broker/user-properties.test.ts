import { describe, expect, it } from "vitest";
import { claimed, understood } from "../../src/runtime/mqtt.js";
import { otherClient, testBroker, until } from "../mqtt-connection/support.js";

describe("of user properties", () => {
  const via = "greenhouse2mqtt-via";

  it.each([
    [undefined, undefined],
    [{}, undefined],
    [{ a: "b", [via]: "me" }, undefined],
    [{ by: ["Li", "Wang"] }, undefined],
    [{ by: "Li", a: "b" }, { by: "Li" }],
    [{ by: "x".repeat(201) }, { by: "x".repeat(200) }],
  ])("a sender keeps the one that says who asks: %j", (given, kept) => expect(claimed(given)).toEqual(kept));

  it.each([
    [undefined, undefined],
    [{ a: "b" }, undefined],
    [
      { by: "Li", [via]: "{}", a: "b" },
      { by: "Li", [via]: "{}" },
    ],
    [{ [via]: "x".repeat(1_025) }, undefined],
    [{ [via]: ["a", "b"] }, undefined],
  ])("the bridge reads that one and the embedded broker's stamp: %j", (given, kept) =>
    expect(understood(given)).toEqual(kept),
  );
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
