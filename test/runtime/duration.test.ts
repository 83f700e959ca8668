import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatDuration, parseDuration, parseSince } from "../../src/runtime/duration.js";

describe("durations", () => {
  it.each([
    ["500ms", 500],
    ["30s", 30_000],
    ["5m", 300_000],
    ["1h", 3_600_000],
    ["24h", 86_400_000],
    ["1.5s", 1500],
    ["0s", 0],
    [" 2s ", 2000],
    ["90 s", 90_000],
    ["7d", 7 * 86_400_000],
    ["1.5w", 907_200_000],
  ])("%j is %d ms", (text, ms) => expect(parseDuration(text)).toBe(ms));

  it.each(["", "5", "-1s", "1y", "1S", "s", "1e3s", ".5s", "1.s", "1s1s", "∞s", "１s", "0x1s"])(
    "%j is none",
    (text) => expect(parseDuration(text)).toBeNull(),
  );

  it("are written so that they are read as the same", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10_000_000 }), (ms) => {
        expect(parseDuration(formatDuration(ms))).toBe(ms);
      }),
    );
    expect([0, 1500, 90_000, 300_000, 7_200_000].map(formatDuration)).toEqual([
      "0s",
      "1500ms",
      "90s",
      "5m",
      "2h",
    ]);
  });
});

describe("since", () => {
  const now = Date.UTC(2026, 4, 1, 12);
  it.each([
    ["2h", now - 7_200_000],
    ["30m", now - 1_800_000],
    ["90 s", now - 90_000],
    ["500ms", now - 500],
    ["7d", now - 7 * 86_400_000],
    [" 1w ", now - 7 * 86_400_000],
    ["2026-05-01T06:00:00Z", Date.UTC(2026, 4, 1, 6)],
    ["2026-05-01T06:00:00.250+08:00", Date.UTC(2026, 3, 30, 22, 0, 0, 250)],
    ["2026-05-01", new Date(2026, 4, 1).getTime()],
    ["2026-05-01 06:00", new Date(2026, 4, 1, 6).getTime()],
    ["yesterday", null],
    ["2", null],
    ["-2h", null],
    ["2026-13-45", null],
    ["", null],
  ])("%j is %s", (text, expected) => expect(parseSince(text, now)).toBe(expected));
});
