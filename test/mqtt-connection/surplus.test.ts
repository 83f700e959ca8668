import fc from "fast-check";
import { generate, parser, type IPublishPacket } from "mqtt-packet";
import { describe, expect, it } from "vitest";
import { SurplusFilter } from "../../src/mqtt/connection/surplus.js";
import { receiving } from "../../src/runtime/receiving.js";
import { VirtualClock } from "../support/virtual-clock.js";

const { known, urgent } = receiving.foreign;

function scene(protocolVersion: 4 | 5 = 5) {
  const clock = new VirtualClock();
  const surplus: unknown[] = [];
  const heard: string[] = [];
  const acknowledged: number[] = [];
  const parsing = parser({ protocolVersion });
  parsing.on("packet", (packet) => {
    if (packet.cmd === "publish") heard.push(`${packet.topic} ${packet.payload.toString()}`);
  });
  const filter = new SurplusFilter(
    {
      allowanceOf: (topic) =>
        topic.startsWith("set/")
          ? { key: topic, isUrgent: (payload) => payload.toString() === "stop" }
          : null,
      onSurplus: (...one) => surplus.push(one),
    },
    {
      isVersion5: protocolVersion === 5,
      clock,
      write: (bytes) => {
        for (let at = 0; at < bytes.length; at += 4) acknowledged.push(bytes.readUInt16BE(at + 2));
      },
      push: (bytes) => parsing.parse(bytes),
    },
  );
  const bytesOf = (topic: string, payload: string, qos: 0 | 1 = 0, messageId = 1) => {
    const packet: IPublishPacket = {
      cmd: "publish",
      topic,
      payload,
      qos,
      messageId,
      dup: false,
      retain: false,
    };
    const properties = protocolVersion === 5 && qos === 1 ? { messageExpiryInterval: 30 } : {};
    return generate({ ...packet, properties }, { protocolVersion });
  };
  const bring = (...all: readonly Buffer[]) => void parsing.parse(filter.take(Buffer.concat(all)));
  return { clock, surplus, heard, acknowledged, filter, bytesOf, bring };
}

const many = (count: number, one: Buffer): readonly Buffer[] => Array.from({ length: count }, () => one);

describe.each([4, 5] as const)("of a flood that another broker hands over with MQTT %i", (version) => {
  it("a stop that waits for its turn when the link closes is counted, as it was acknowledged", () => {
    const { bring, bytesOf, surplus, filter } = scene(version);
    bring(
      ...many(known.atOnce, bytesOf("set/a", "on")),
      ...many(urgent.atOnce + 2, bytesOf("set/a", "stop", 1)),
    );
    filter.close();
    expect(surplus).toEqual(expect.arrayContaining([["set/a", 1, false]]));
  });

  it("a topic brings no more than its allowance, is counted for the rest, and keeps nobody else back", async () => {
    const { bring, bytesOf, heard, surplus, clock, acknowledged } = scene(version);
    bring(
      ...many(known.atOnce + 500, bytesOf("set/a", "on")),
      bytesOf("set/b", "off"),
      bytesOf("other", "x"),
    );
    expect(heard.length).toBe(known.atOnce + 2);
    expect(heard.slice(-2)).toEqual(["set/b off", "other x"]);
    await clock.advance(2_000);
    bring(bytesOf("set/a", "on", 1, 7), bytesOf("set/b", "off"));
    expect(surplus).toEqual([["set/a", 500, false]]);
    // The library acknowledges what it hears.
    expect({ heard: heard.slice(-2), acknowledged }).toEqual({
      heard: ["set/a on", "set/b off"],
      acknowledged: [],
    });
  });

  it("what is left out of QoS 1 is acknowledged, or the broker would send nothing more", () => {
    const { bring, bytesOf, acknowledged } = scene(version);
    bring(...many(known.atOnce, bytesOf("set/a", "on")));
    bring(bytesOf("set/a", "on", 1, 300), bytesOf("set/a", "on", 1, 301), bytesOf("set/b", "on", 1, 302));
    expect(acknowledged).toEqual([300, 301]);
  });

  it("a stop goes on at once, and of too many stops the newest as soon as it may", async () => {
    const { bring, bytesOf, heard, surplus, clock, acknowledged } = scene(version);
    bring(...many(known.atOnce, bytesOf("set/a", "on")));
    heard.length = 0;
    bring(bytesOf("set/a", "on"), bytesOf("set/a", "stop", 1, 9));
    expect({ heard, acknowledged }).toEqual({ heard: ["set/a stop"], acknowledged: [] });
    bring(...many(urgent.atOnce + 50, bytesOf("set/a", "stop", 1, 10)));
    expect(heard.length).toBe(urgent.atOnce);
    await clock.advance(2_500);
    expect(heard.length).toBe(urgent.atOnce + 1);
    expect(surplus).toContainEqual(["set/a", 50, true]);
  });

  it("a stop that had to wait comes before what was sent after it", async () => {
    const { bring, bytesOf, heard, clock } = scene(version);
    bring(
      ...many(known.atOnce, bytesOf("set/a", "on")),
      ...many(urgent.atOnce + 1, bytesOf("set/a", "stop")),
    );
    heard.length = 0;
    await clock.advance(40);
    bring(bytesOf("set/a", "open"));
    expect(heard).toEqual(["set/a stop", "set/a open"]);
  });
});

it.each([4, 5] as const)(
  "however the bytes are cut, each packet of MQTT %i comes out whole and in order",
  (version) => {
    const sizes = fc.array(fc.constantFrom(0, 1, 100, 127, 128, 16_000, 30_000), {
      minLength: 1,
      maxLength: 8,
    });
    const rule = fc.property(sizes, fc.array(fc.integer({ min: 1, max: 20_000 })), (each, cuts) => {
      const { bring, bytesOf, heard } = scene(version);
      const topics = ["set/a", "other"];
      const wanted = each.map((size, n) => [topics[n % 2] ?? "", "x".repeat(size)] as const);
      const all = Buffer.concat(
        wanted.map(([topic, payload], n) => bytesOf(topic, payload, n % 3 === 0 ? 1 : 0)),
      );
      for (let at = 0, n = 0; at < all.length; n += 1) {
        const cut = cuts[n] ?? all.length;
        bring(all.subarray(at, at + cut));
        at += cut;
      }
      expect(heard).toEqual(wanted.map(([topic, payload]) => `${topic} ${payload}`));
    });
    fc.assert(rule, { numRuns: 60 });
  },
);
