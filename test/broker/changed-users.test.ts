import mqtt from "mqtt";
import { describe, expect, it } from "vitest";
import { Authenticator, bridgeCredential } from "../../src/broker/authenticator.js";
import { defaultBrokerLimits } from "../../src/broker/settings.js";
import { VirtualClock } from "../support/virtual-clock.js";
import { otherClient, received, returning, testBroker, until } from "../mqtt-connection/support.js";

const ann = { username: "ann", password: "first" };
const ben = { username: "ben", password: "second" };
const command = "greenhouse/east/actuator/roof/set";

const attempt = (url: string, login: object) =>
  mqtt.connectAsync(url, { reconnectPeriod: 0, ...login }, false);

describe("other users of the embedded broker", () => {
  it("count at once: who came is let in, who went is out, and nobody else notices", async () => {
    const broker = await testBroker({ users: [ann, ben] });
    const bridge = await otherClient(broker.url, broker.credential);
    const stays = await otherClient(broker.url, ann);
    const goes = await otherClient(broker.url, ben);
    const cleo = { username: "cleo", password: "third" };
    await broker.takeUsers([{ ...ann }, cleo]);
    await until(() => !goes.connected, "disconnected");
    await otherClient(broker.url, cleo);
    await expect(attempt(broker.url, ben)).rejects.toThrow();
    expect([bridge.connected, stays.connected]).toEqual([true, true]);
    await stays.publishAsync(command, "open", { qos: 1 });
  });

  it.each([
    ["another password", { ...ben, password: "other" }],
    ["other rights", { ...ben, subscribe: ["greenhouse/#"] }],
  ])("with %s log in anew", async (_, now) => {
    const broker = await testBroker({ users: [ann, ben] });
    const before = await otherClient(broker.url, ben);
    await broker.takeUsers([ann, now]);
    await until(() => !before.connected, "disconnected");
    await otherClient(broker.url, now);
  });

  it("shut out whoever came without a login, and the last one that goes lets everybody in", async () => {
    const broker = await testBroker({ users: [] });
    const nobody = await otherClient(broker.url);
    await broker.takeUsers([ann]);
    await until(() => !nobody.connected, "disconnected");
    await expect(attempt(broker.url, {})).rejects.toThrow();
    await broker.takeUsers([]);
    await otherClient(broker.url);
  });

  it("get nothing of a session, nor say anything by a will, that the former rights allowed", async () => {
    const broker = await testBroker({ users: [ann, ben] });
    const bridge = await otherClient(broker.url, broker.credential);
    await bridge.subscribeAsync("#");
    const heard = received(bridge);
    const will = { topic: command, payload: Buffer.from("open"), qos: 1 as const, retain: false };
    const kept = { ...ben, clientId: "kept", protocolVersion: 4 as const };
    const first = await otherClient(broker.url, { ...kept, clean: false, will });
    await first.subscribeAsync("secret/#", { qos: 1 });
    const away = await otherClient(broker.url, { ...kept, clientId: "away", clean: false });
    await away.subscribeAsync("secret/#", { qos: 1 });
    await away.endAsync();
    const narrower = { ...ben, publish: [], subscribe: ["open/#"] };
    await broker.takeUsers([ann, narrower]);
    await until(() => !first.connected, "disconnected");
    await bridge.publishAsync("secret/a", "1", { qos: 1 });
    const again = [returning(broker.url, kept), returning(broker.url, { ...kept, clientId: "away" })];
    await until(() => again.every(({ client }) => client.connected), "back");
    await bridge.publishAsync("secret/b", "2", { qos: 1 });
    for (const { client } of again) await client.subscribeAsync("open/#", { qos: 1 });
    await bridge.publishAsync("open/c", "3", { qos: 1 });
    await until(() => again.every(({ seen }) => seen.includes("open/c 3")), "told");
    expect(again.map(({ seen }) => seen)).toEqual([["open/c 3"], ["open/c 3"]]);
    expect(heard.filter((one) => one.startsWith(command))).toEqual([]);
  });

  it("that change while a password is checked do not let in by the former one", async () => {
    const of = new Authenticator([ben], bridgeCredential(), defaultBrokerLimits, new VirtualClock());
    const password = Buffer.from(ben.password);
    const coming = of.verdict({ address: "127.0.0.1", client: "c", username: "ben", password });
    expect(of.replace([ann])).toEqual(new Set(["ben"]));
    expect((await coming).kind).toBe("refused");
  });
});
