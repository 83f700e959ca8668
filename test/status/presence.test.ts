import { describe, expect, it } from "vitest";
import {
  atTime,
  clientOf,
  isAlone,
  isRival,
  isShared,
  isSuspected,
  nobody,
  type Presence,
  readSelfTest,
  selfTestPayload,
  withExchange,
  withHeard,
  withLeft,
  withLink,
} from "../../src/status/other-bridge.js";

/** A bridge that was heard for the second time at `at`. */
const there = (instance: string, client: string, at: number, before: Presence = nobody): Presence =>
  withHeard(withHeard(before, instance, client, at - 5_000), instance, client, at);

const exchangedAt = (...times: readonly number[]): Presence =>
  times.reduce((presence, at) => withExchange(atTime(presence, at), at), nobody);

describe("another bridge that is heard", () => {
  it("is there from its second message, seconds after the first, until it is silent for 70 s", () => {
    const once = withHeard(nobody, "b", "client-b", 1_000);
    expect([isShared(once), isSuspected(once), clientOf(once)]).toEqual([false, true, null]);
    const soon = withHeard(once, "b", "client-b", 5_999);
    expect([isShared(soon), isSuspected(soon)]).toEqual([false, true]);
    const heard = withHeard(soon, "b", "client-b", 6_000);
    expect([isShared(heard), isSuspected(heard), clientOf(heard)]).toEqual([true, false, "client-b"]);
    expect(isShared(atTime(heard, 76_000))).toBe(true);
    expect(isShared(atTime(heard, 76_001))).toBe(false);
    // Nobody listened meanwhile.
    expect(isShared(atTime(heard, 200_000, 199_000))).toBe(true);
    expect(isShared(atTime(heard, 269_001, 199_000))).toBe(false);
  });

  it("once is forgotten after 70 s: a message now and then, by whoever may write there, is no bridge", () => {
    let presence = nobody;
    for (let at = 0; at < 1_000_000; at += 71_000) {
      presence = withHeard(atTime(presence, at), "forged", "b", at);
      expect(isShared(presence)).toBe(false);
    }
  });

  it("stays as long as it speaks, and is gone the moment it says so", () => {
    const again = there("b", "b", 60_000);
    expect(isShared(atTime(again, 120_000))).toBe(true);
    expect(isShared(withLeft(again, "b"))).toBe(false);
  });

  it("does not take another one away when it leaves", () => {
    const two = there("c", "client-c", 5_000, there("b", "b", 5_000));
    expect(isShared(withLeft(two, "b"))).toBe(true);
    expect(clientOf(withLeft(two, "b"))).toBe("client-c");
  });

  it("is certain not to be there once nobody was heard for 90 s, which no start can know before", () => {
    const listening = withLink(nobody, 1_000);
    expect([isAlone(nobody, 1_000_000), isAlone(listening, 91_000)]).toEqual([false, false]);
    expect(isAlone(listening, 91_001)).toBe(true);
    expect(isAlone(withLink(listening, 91_001), 91_001)).toBe(true);
    expect(isAlone(withHeard(listening, "b", "client-b", 91_001), 91_001)).toBe(false);
  });

  it("however many there are, memory stays bounded", () => {
    let presence = nobody;
    for (let n = 0; n < 1_000; n += 1) presence = withHeard(presence, `b${n}`, "b", 0);
    expect(presence.heard.size).toBe(100);
  });
});

describe("links that change hands", () => {
  it.each([
    ["one is a tool with the same client id", [0], false],
    ["two are not sure either", [0, 1_000], false],
    ["three within a minute are two bridges", [0, 30_000, 60_000], true],
    ["three in more than a minute are not", [0, 30_000, 60_001], false],
    ["the newest three count", [0, 100_000, 120_000, 140_000], true],
  ])("%s: %j → %s", (_, times, shared) => expect(isShared(exchangedAt(...times))).toBe(shared));

  it("once found, the other is gone after 90 s without an exchange", () => {
    const presence = exchangedAt(0, 1_000, 2_000);
    expect(isShared(atTime(presence, 92_000))).toBe(true);
    expect(isShared(atTime(presence, 92_001))).toBe(false);
    expect(isShared(atTime(withExchange(presence, 80_000), 170_000))).toBe(true);
  });

  it("after that it takes three again", () => {
    const over = atTime(exchangedAt(0, 1_000, 2_000), 100_000);
    expect(isShared(withExchange(over, 100_000))).toBe(false);
  });
});

describe("whether a message means a rival", () => {
  const knows = (code: string) => code === "GH-0001";
  it.each([
    ["under our base topic, whatever it does", true, { commands: false, controllers: [] }, true],
    ["under another, with a controller of ours", false, { commands: true, controllers: ["GH-0001"] }, true],
    ["under another, reading only", false, { commands: false, controllers: ["GH-0001"] }, false],
    ["under another, of another account", false, { commands: true, controllers: ["GH-0002"] }, false],
    ["under another, still empty", false, { commands: true, controllers: [] }, false],
  ])("%s: %s %j → %s", (_, isOurBase, message, rival) =>
    expect(isRival(message, isOurBase, knows)).toBe(rival),
  );
});

describe("a self-test message", () => {
  const message = {
    instance: "a1",
    nonce: "n",
    client: "greenhouse2mqtt",
    commands: true,
    controllers: ["GH-0002", "GH-0001"],
    leaving: false,
  };

  it("is read as it was written", () =>
    expect(readSelfTest(Buffer.from(selfTestPayload(message)))).toEqual({
      ...message,
      controllers: ["GH-0001", "GH-0002"],
    }));

  it("names no more than fifty controllers, the same ones in every bridge", () => {
    const many = Array.from({ length: 80 }, (_, n) => `GH-${String(n).padStart(4, "0")}`);
    const one = readSelfTest(Buffer.from(selfTestPayload({ ...message, controllers: many })));
    const other = readSelfTest(Buffer.from(selfTestPayload({ ...message, controllers: many.toReversed() })));
    expect(one?.controllers).toHaveLength(50);
    expect(other?.controllers).toEqual(one?.controllers);
  });

  it.each([
    ["empty", ""],
    ["no JSON", "hello"],
    ["a number", "1"],
    ["null", "null"],
    ["no instance", '{"nonce":"n"}'],
    ["no nonce", '{"instance":"a"}'],
    ["an instance that is none", '{"instance":7,"nonce":"n"}'],
    ["an endless instance", JSON.stringify({ instance: "x".repeat(10_000), nonce: "n" })],
    ["far too long", JSON.stringify({ instance: "a", nonce: "n", x: "x".repeat(20_000) })],
  ])("that is %s is none", (_, payload) => expect(readSelfTest(Buffer.from(payload))).toBeNull());

  it("with odd parts is read as far as it makes sense", () => {
    const odd = '{"instance":"a","nonce":"n","controllers":[1,"GH-0001",null],"client":{},"commands":"no"}';
    expect(readSelfTest(Buffer.from(odd))).toEqual({
      instance: "a",
      nonce: "n",
      client: "unknown",
      commands: true,
      controllers: ["GH-0001"],
      leaving: false,
    });
  });
});
