import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  bridgeIdentifier,
  codePart,
  componentKey,
  controllerOwner,
  deviceIdentifier,
  displayName,
  uniqueId,
} from "../../src/homeassistant/identity.js";

const text = fc.oneof(
  fc.string({ unit: "binary", maxLength: 80 }),
  fc.string({ unit: fc.constantFrom("_", "-", "a", "A", "1", "/", ":", "\ud800", "\udc00"), maxLength: 6 }),
);

describe("device codes", () => {
  test.each([
    ["GH-0001", "GH-0001"],
    ["0012", "0012"],
    ["a_b", "a_b"],
    ["34020000001320000001", "34020000001320000001"],
  ])("a plain code %s is used as it is", (code, part) => expect(codePart(code)).toBe(part));

  test.each(["", "GH/1", "温室", "a__b", "bridge", "bridge_greenhouse2mqtt", "x".repeat(65), "#"])(
    "%j cannot stand for itself and gets a hash",
    (code) => expect(codePart(code)).toMatch(/^[A-Za-z0-9_-]*__[0-9a-f]{16}$/),
  );

  test("two codes never share a topic or identifier, nor take the bridge's", () =>
    fc.assert(
      fc.property(text, text, text, (one, other, clientId) => {
        fc.pre(one !== other);
        expect(deviceIdentifier(one)).not.toBe(deviceIdentifier(other));
        expect(deviceIdentifier(one)).not.toBe(bridgeIdentifier(clientId));
        expect(deviceIdentifier(one)).toMatch(/^[A-Za-z0-9_-]{1,80}$/);
        expect(bridgeIdentifier(clientId)).toMatch(/^[A-Za-z0-9_-]{1,100}$/);
      }),
      { numRuns: 2_000 },
    ));
});

describe("raw keys", () => {
  const key = fc
    .tuple(fc.constantFrom("factor", "channel", "name", "cover", "status", "parameter"), text)
    .map(([word, rest]) => `${word}:${rest}`);

  test("two keys of a platform never share a component key or unique id", () =>
    fc.assert(
      fc.property(key, key, (one, other) => {
        fc.pre(one !== other);
        const owner = controllerOwner("GH-1");
        expect(componentKey("sensor", one)).not.toBe(componentKey("sensor", other));
        expect(uniqueId(owner, one)).not.toBe(uniqueId(owner, other));
        expect(componentKey("sensor", one)).toMatch(/^[A-Za-z0-9_-]{1,100}$/);
      }),
      { numRuns: 2_000 },
    ));

  test("entities of two controllers never share a unique id", () =>
    fc.assert(
      fc.property(text, text, key, key, (one, other, first, second) => {
        fc.pre(one !== other);
        expect(uniqueId(controllerOwner(one), first)).not.toBe(uniqueId(controllerOwner(other), second));
      }),
      { numRuns: 2_000 },
    ));

  test("a key carries its platform, so that changing the platform makes a new key", () => {
    expect(componentKey("sensor", "parameter:501")).toBe("sensor_parameter_501");
    expect(componentKey("number", "parameter:501")).toBe("number_parameter_501");
  });
});

test.each([
  ["on one line", "  East \n house ", "East house"],
  ["by its stand-in when empty", "", "fallback"],
  ["without control characters", "\u0000", "fallback"],
  ["without lone surrogates", "a\ud800b", "a\ufffdb"],
  ["up to a length, whole characters only", "🌱".repeat(200), "🌱".repeat(120)],
])("a name is shown %s", (_, name, shown) => expect(displayName(name, "fallback")).toBe(shown));
