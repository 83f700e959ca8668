import fc from "fast-check";
import { generate, parser, type IPublishPacket } from "mqtt-packet";
import { describe, expect, it } from "vitest";
import { SurplusFilter } from "../../src/mqtt/connection/surplus.js";
import { receiving } from "../../src/runtime/socket-limits.js";
import { VirtualClock } from "../support/virtual-clock.js";

const { known, urgent } = receiving.foreign;

const mostPacketBytes = 16 * 1024 * 1024;

function scene(protocolVersion: 4 | 5 = 5) {
  const clock = new VirtualClock();
  const surplus: unknown[] = [];
  const tooLarge: unknown[] = [];
  const heard: string[] = [];
  const acknowledged: number[] = [];
  const parsing = parser({ protocolVersion });
  parsing.on("packet", (packet) => {
    if (packet.cmd === "publish") heard.push(`${packet.topic} ${packet.payload.toString()}`);
  });
  const filter = new SurplusFilter(
    {
      allowanceOf: (topic) =>
        topic.startsWith("set/") || topic.startsWith("温室/")
          ? {
              key: topic,
              isUrgent: (payload) => payload.toString().startsWith("stop"),
              targetOf: (payload) => / of (.+)/.exec(payload.toString())?.[1] ?? "",
              idOf: (payload) => /#(.+)/.exec(payload.toString())?.[1] ?? null,
            }
          : null,
      onSurplus: ({ key, count, isUrgent, ids }) => {
        surplus.push([key, count, isUrgent, ...(ids.length > 0 ? [ids] : [])]);
      },
    },
    {
      isVersion5: protocolVersion === 5,
      clock,
      write: (bytes) => {
        for (let at = 0; at < bytes.length; at += 4) acknowledged.push(bytes.readUInt16BE(at + 2));
      },
      push: (bytes) => parsing.parse(bytes),
      mostPacketBytes,
      onTooLarge: ({ topic, bytes }) => tooLarge.push([topic, bytes]),
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
  return { clock, surplus, tooLarge, heard, acknowledged, filter, bytesOf, bring };
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

  it("a stop that has to wait does not wait for the next telling of what was left out", async () => {
    const { bring, bytesOf, heard, surplus, clock } = scene(version);
    bring(...many(known.atOnce + 1, bytesOf("set/a", "on")));
    expect(surplus).toEqual([["set/a", 1, false]]);
    // So the next surplus is told later.
    bring(bytesOf("set/a", "on"));
    bring(...many(urgent.atOnce + 1, bytesOf("set/a", "stop")));
    heard.length = 0;
    await clock.advance(1_000 / urgent.perSecond + 50);
    expect([heard, surplus.length]).toEqual([["set/a stop"], 1]);
    await clock.advance(2_000);
    expect(surplus.slice(1)).toEqual([["set/a", 1, false]]);
  });

  it("the ids of the first are told, and the rest is counted", async () => {
    const { bring, bytesOf, surplus, clock } = scene(version);
    bring(...many(known.atOnce, bytesOf("set/a", "on")));
    bring(...Array.from({ length: 400 }, (_, n) => bytesOf("set/a", `on#${n}`, 1, 9)));
    const stops = Array.from({ length: urgent.atOnce + 3 }, (_, n) => bytesOf("set/a", `stop#${n}`));
    bring(...stops);
    await clock.advance(2_500);
    const first = Array.from({ length: 300 }, (_, n) => String(n));
    expect(surplus).toEqual([
      ["set/a", 400, false, first],
      ["set/a", 2, true, [String(urgent.atOnce), String(urgent.atOnce + 1)]],
    ]);
  });

  it("of very long ids no more are told than a result has room for", async () => {
    const { bring, bytesOf, surplus, clock } = scene(version);
    bring(...many(known.atOnce, bytesOf("set/a", "on")));
    bring(...many(300, bytesOf("set/a", `on#${"x".repeat(1_000)}`)));
    await clock.advance(2_500);
    const [[, count, , ids] = []] = surplus as [string, number, boolean, readonly string[]][];
    expect([count, ids?.length]).toEqual([300, 66]);
  });

  it("a stop that had to wait gives way to one for the same alone, and each goes on", async () => {
    const { bring, bytesOf, heard, surplus, clock } = scene(version);
    bring(
      ...many(known.atOnce, bytesOf("set/a", "on")),
      ...many(urgent.atOnce, bytesOf("set/a", "stop of 1")),
    );
    heard.length = 0;
    bring(bytesOf("set/a", "stop of 1"), ...many(20, bytesOf("set/a", "stop of 2", 1, 9)));
    await clock.advance(2_500);
    expect(heard).toEqual(["set/a stop of 1", "set/a stop of 2"]);
    expect(surplus).toEqual([["set/a", 19, true]]);
  });

  it("of stops that had to wait all come before what was sent after them, and there are no more than a hundred of a topic", async () => {
    const { bring, bytesOf, heard, surplus, clock } = scene(version);
    bring(...many(known.atOnce, bytesOf("set/a", "on")), ...many(urgent.atOnce, bytesOf("set/a", "stop")));
    bring(...Array.from({ length: 103 }, (_, n) => bytesOf("set/a", `stop of ${n}`)));
    heard.length = 0;
    await clock.advance(40);
    bring(bytesOf("set/a", "open"));
    expect(heard).toEqual([...Array.from({ length: 100 }, (_, n) => `set/a stop of ${n}`), "set/a open"]);
    await clock.advance(2_500);
    expect(surplus).toEqual([["set/a", 3, false]]);
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

describe.each([4, 5] as const)("with MQTT version %i", (version) => {
  it("a topic in Chinese is kept back, counted and told by its name as any other", () => {
    const topic = "温室/gh-0001/actuator/roof/set";
    const { bring, bytesOf, heard, surplus, tooLarge, filter } = scene(version);
    bring(...many(known.atOnce + 3, bytesOf(topic, "on")));
    bring(bytesOf(topic, "x".repeat(mostPacketBytes), 1));
    filter.close();
    expect(heard.length).toBe(known.atOnce);
    expect(surplus).toEqual([3, 1].map((count) => [topic, count, false]));
    expect(tooLarge).toMatchObject([[topic, expect.any(Number)]]);
  });

  it("a message that is larger than any is left out however it is cut, acknowledged and told, and what is around it goes on", () => {
    const rule = fc.property(fc.array(fc.integer({ min: 1, max: 400_000 }), { maxLength: 20 }), (cuts) => {
      const { heard, acknowledged, surplus, tooLarge, filter, bytesOf, bring } = scene(version);
      const large = bytesOf("set/a", "x".repeat(mostPacketBytes), 1, 77);
      const all = Buffer.concat([
        bytesOf("weather", "1"),
        large,
        bytesOf("set/a", "open", 1, 78),
        bytesOf("elsewhere", "x".repeat(mostPacketBytes)),
        bytesOf("weather", "2"),
      ]);
      let at = 0;
      for (const cut of [...cuts, all.length]) {
        bring(all.subarray(at, at + cut));
        at += cut;
      }
      filter.close();
      expect(heard).toEqual(["weather 1", "set/a open", "weather 2"]);
      expect(acknowledged).toEqual([77]);
      expect(surplus).toEqual([["set/a", 1, false]]);
      expect(tooLarge).toMatchObject([
        ["set/a", large.length],
        ["elsewhere", expect.any(Number)],
      ]);
    });
    fc.assert(rule, { numRuns: 8, examples: [[[1, 1, 1, 1, 1, 1, 1, 1]]] });
  });
});
