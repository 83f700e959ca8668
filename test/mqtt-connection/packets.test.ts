import fc from "fast-check";
import { parser as parserOf } from "mqtt-packet";
import { describe, expect, it } from "vitest";
import { stateMessage } from "../../src/runtime/mqtt.js";

const versions = [4, 5] as const;
const topics = fc
  .string({ minLength: 1, maxLength: 80, unit: "grapheme" })
  .filter((text) => !/[#+\0]/.test(text));
const payloads = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
);

/** What the MQTT library reads of it. */
function readBack(topic: string, payload: string | Buffer, retain: boolean, protocolVersion: 4 | 5) {
  const read: unknown[] = [];
  const parser = parserOf({ protocolVersion });
  parser.on("packet", (packet) => {
    const same = packet.cmd === "publish" && Buffer.from(packet.payload).equals(Buffer.from(payload));
    read.push({ ...packet, payload: same });
  });
  const left = parser.parse(stateMessage({ topic, payload, retain }, protocolVersion));
  return { left, read };
}
const wanted = (topic: string, retain: boolean) => ({
  left: 0,
  read: [{ cmd: "publish", topic, qos: 0, retain, dup: false, payload: true }],
});

describe("a state's message is what the MQTT library reads as the same, in each version", () => {
  it("whatever stands in it", () => {
    fc.assert(
      fc.property(
        topics,
        payloads,
        fc.boolean(),
        fc.constantFrom(...versions),
        (topic, payload, retain, version) => {
          expect(readBack(topic, payload, retain, version)).toMatchObject(wanted(topic, retain));
        },
      ),
    );
  });

  it("on both sides of each length that takes a byte more", () => {
    for (const version of versions)
      for (const edge of [127, 16_383, 2_097_151])
        for (let length = edge - 8; length < edge + 3; length += 1)
          expect(readBack("a/b", "x".repeat(length), true, version)).toMatchObject(wanted("a/b", true));
  });
});
