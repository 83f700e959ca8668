import { describe, expect, it } from "vitest";
import { afterAttempt, beforeAttempt, startWith } from "../../src/mqtt/connection/protocol-version.js";
import type { LinkEnd } from "../../src/mqtt/connection.js";

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
    ["falls back when the socket is closed twice before a CONNACK", 5, [early, early], 4],
    ["stays after one early close, which may be a restart", 5, [early], 5],
    ["stays when another failure comes between two early closes", 5, [early, end("unreachable"), early], 5],
    ["stays when a link stood between two early closes", 5, [early, end("lost", null, true), early], 5],
    ["stays on wrong credentials", 5, [end("refused", 0x86), end("refused", 0x86)], 5],
    ["stays when the broker does not answer at all", 5, [end("silent"), end("silent")], 5],
    ["goes back to 5 when 4 is closed early as well", 5, [early, early, early, early], 5],
    ["is never raised to 5 where 4 is configured", 4, [end("refused", 1), early, early], 4],
  ] as const)("%s", (_, preferred, ends, expected) => {
    let memory = startWith(preferred);
    for (const ended of ends) memory = afterAttempt(memory, ended, 0);
    expect(memory.current).toBe(expected);
  });

  it("is tried anew once the fall back is old, not before", () => {
    const fallen = afterAttempt(startWith(5), refusal5, 1_000);
    expect(beforeAttempt(fallen, 1_000 + 3_599_999, 3_600_000).current).toBe(4);
    expect(beforeAttempt(fallen, 1_000 + 3_600_000, 3_600_000).current).toBe(5);
  });
});
