import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { bytesOf, publishProblem } from "../../src/mqtt/connection/publish.js";

const limits = { maxPayloadBytes: 256 * 1024, maximumPacketSize: null };
const problem = (topic: string, payload: string | Buffer = "", maximumPacketSize: number | null = null) =>
  publishProblem({ topic, payload, bytes: bytesOf(topic, payload, {}) }, { ...limits, maximumPacketSize });

describe("the last check before the wire", () => {
  it.each([
    ["the topics of the bridge", "greenhouse/east/actuator/roof/state", null],
    ["other scripts and emoji", "greenhouse/东区/🌱", null],
    ["512 bytes", "é".repeat(256), null],
    ["an empty topic", "", "empty"],
    ["more than 512 bytes", "é".repeat(257), "512 bytes"],
    ["#", "greenhouse/#", "holds #"],
    ["# within a level", "greenhouse/fan #2/state", "holds #"],
    ["+", "greenhouse/+/state", "holds #"],
    ["NUL", "greenhouse/a\0b", "holds #"],
    ["a lone high surrogate", "greenhouse/\ud83c", "half a character"],
    ["a lone low surrogate", "greenhouse/\udf31/x", "half a character"],
    ["101 levels", Array.from({ length: 101 }, () => "a").join("/"), "levels"],
    ["70,000 characters", "a".repeat(70_000), "512 bytes"],
  ])("judges %s", (_, topic, expected) => {
    if (expected === null) expect(problem(topic)).toBeNull();
    else expect(problem(topic)).toContain(expected);
  });

  it("names no more than the beginning of a hostile topic", () =>
    expect(problem(`${"x".repeat(70_000)}#`)?.length).toBeLessThan(200));

  it.each([
    ["256 KiB", Buffer.alloc(256 * 1024), null, null],
    ["one byte more", Buffer.alloc(256 * 1024 + 1), null, "at most 262144"],
    ["characters counted as bytes", "温".repeat(90_000), null, "270000 bytes"],
    ["less than the broker's limit", "x".repeat(900), 1_000, null],
    ["more than the broker's limit", "x".repeat(1_000), 1_000, "max_packet_size"],
  ])("judges a payload of %s", (_, payload, brokerLimit, expected) => {
    if (expected === null) expect(problem("a/b", payload, brokerLimit)).toBeNull();
    else expect(problem("a/b", payload, brokerLimit)).toContain(expected);
  });

  it("counts correlation data against the broker's limit", () => {
    const responseProperties = { correlationData: Buffer.alloc(1_000) };
    expect(bytesOf("a", "b", { responseProperties })).toBeGreaterThan(1_000);
  });

  it("lets no text through that MQTT forbids in a topic", () =>
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 600 }), (topic) => {
        if (problem(topic) !== null) return;
        expect(topic).not.toMatch(/[#+\0]/);
        expect(Buffer.from(topic).toString()).toBe(topic);
        expect(Buffer.byteLength(topic)).toBeGreaterThan(0);
        expect(Buffer.byteLength(topic)).toBeLessThanOrEqual(512);
      }),
      { numRuns: 500 },
    ));
});
