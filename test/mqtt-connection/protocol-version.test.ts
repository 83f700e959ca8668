import { describe, expect, it } from "vitest";
import { versionAfter, versionReason } from "../../src/mqtt/connection/link.js";
import type { LinkEnd } from "../../src/mqtt/connection/settings.js";

const end = (kind: LinkEnd["kind"], code: number | null = null, connected = false): LinkEnd => ({
  kind,
  code,
  connected,
  reason: "",
});
const refusal5 = end("refused", 0x84);
const early = end("closed_early");

describe("the MQTT version", () => {
  it.each([
    ["falls back on CONNACK 0x84", 5, [refusal5], 4],
    ["falls back on a CONNACK of 3.1.1 with code 1", 5, [end("refused", 1)], 4],
    ["stays when the socket is closed before a CONNACK, however often", 5, [early, early, early, early], 5],
    ["stays on wrong credentials", 5, [end("refused", 0x86), end("refused", 0x86)], 5],
    ["stays when the broker does not answer at all", 5, [end("silent"), end("silent")], 5],
    ["is 5 again at the connect after a link with 4", 5, [refusal5, end("lost", null, true)], 5],
    ["is 5 again after an attempt with 4 that did not come about", 5, [refusal5, end("unreachable")], 5],
    ["is 5 again where 4 is refused as well", 5, [refusal5, end("refused", 1)], 5],
    ["is never raised to 5 where 4 is configured", 4, [end("refused", 1), early, early], 4],
  ] as const)("%s", (_, preferred, ends, expected) => {
    let version: 4 | 5 = preferred;
    for (const ended of ends) version = versionAfter(version, ended, preferred);
    expect(version).toBe(expected);
  });

  it.each([
    [5, 5, "mqtt.protocol_version is 5"],
    [4, 4, "mqtt.protocol_version is 4"],
    [5, 4, "the broker refuses MQTT 5"],
  ] as const)("configured as %i and spoken as %i has the reason: %s", (preferred, used, reason) =>
    expect(versionReason(preferred, used)).toBe(reason),
  );
});
