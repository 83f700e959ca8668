import { describe, expect, it } from "vitest";
import type { PlatformErrorFacts } from "../../src/greenhouse/ports.js";
import { commandRetries, pollingRetries, retryDelayMs } from "../../src/platform/requests.js";
import { retryAfterMs } from "../../src/platform/answer.js";

const facts = (over: Partial<PlatformErrorFacts>): PlatformErrorFacts => ({
  kind: "unreachable",
  host: "realtime",
  operation: "GET /api/sensor-data",
  sent: false,
  ...over,
});

describe("retries of reads", () => {
  it.each<[string, Partial<PlatformErrorFacts>, number, number, number | null]>([
    ["no connection: full jitter up to 1 s", { kind: "unreachable" }, 0, 0.5, 500],
    ["the second time up to 2 s", { kind: "unreachable" }, 1, 0.5, 1_000],
    ["never a third time", { kind: "unreachable" }, 2, 0.5, null],
    ["a cut answer", { kind: "interrupted" }, 0, 0.999, 999],
    ["a fault of the server", { kind: "server", status: 502 }, 0, 0.1, 100],
    ["not a path it does not know", { kind: "server", status: 404 }, 0, 0.1, null],
    [
      "too many requests: what it asks, and jitter",
      { kind: "throttled", sent: true, retryAfterMs: 7_000 },
      0,
      0.25,
      7_250,
    ],
    ["not when it asks for long", { kind: "throttled", sent: true, retryAfterMs: 31_000 }, 0, 0.25, null],
    ["not while we hold it back ourselves", { kind: "throttled", retryAfterMs: 7_000 }, 0, 0.25, null],
    ["not a time-out", { kind: "timeout" }, 0, 0, null],
    ["not a refusal", { kind: "unauthorized" }, 0, 0, null],
    ["not a body code", { kind: "rejected" }, 0, 0, null],
    ["not a web page", { kind: "protocol" }, 0, 0, null],
    ["not what the circuit held back", { kind: "paused" }, 0, 0, null],
    ["not what cannot be asked", { kind: "invalid_request" }, 0, 0, null],
  ])("%s", (_name, over, attempt, chance, delay) =>
    expect(retryDelayMs(pollingRetries, attempt, facts(over), chance)).toBe(delay),
  );

  it("a command's read is repeated once, within a second", () => {
    expect(retryDelayMs(commandRetries, 0, facts({}), 0.999)).toBe(999);
    expect(retryDelayMs(commandRetries, 1, facts({}), 0)).toBeNull();
    expect(
      retryDelayMs(commandRetries, 0, facts({ kind: "throttled", sent: true, retryAfterMs: 5_000 }), 0),
    ).toBeNull();
  });
});

describe("Retry-After", () => {
  const now = Date.parse("2026-03-01T08:00:00Z");
  it.each<[string | undefined, string | undefined, number | null]>([
    ["120", undefined, 120_000],
    ["0", undefined, 0],
    ["1.5", undefined, 1_500],
    ["100000", undefined, 86_400_000],
    ["86400", undefined, 86_400_000],
    ["20000", undefined, 20_000_000],
    ["Sun, 01 Mar 2026 08:01:00 GMT", undefined, 60_000],
    ["Sun, 01 Mar 2026 07:00:00 GMT", undefined, 0],
    ["Sun, 01 Mar 2026 12:00:00 GMT", undefined, 14_400_000],
    ["Thu, 01 Jan 1970 00:01:00 GMT", "Thu, 01 Jan 1970 00:00:30 GMT", 30_000],
    ["soon", undefined, null],
    ["-5", undefined, null],
    ["", undefined, null],
    [undefined, undefined, null],
  ])("%j with Date %j is %j ms", (header, date, expected) =>
    expect(retryAfterMs(header, date, now)).toBe(expected),
  );
});
