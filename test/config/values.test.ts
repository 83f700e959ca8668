import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatPath, formatProblem, nearest } from "../../src/config/problem.js";
import { formatDuration, parseDuration } from "../../src/config/values.js";
import { isPasswordHash } from "../../src/runtime/passwords.js";
import { isLoopback } from "../../src/runtime/sockets.js";

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
  ])("%j is %d ms", (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each(["", "5", "5 s", "-1s", "1d", "1S", "s", "1e3s", ".5s", "1.s", "1s1s", "∞s", "１s", "0x1s"])(
    "%j is none",
    (text) => {
      expect(parseDuration(text)).toBeNull();
    },
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

describe("loopback", () => {
  it.each([
    "localhost",
    "LOCALHOST",
    "127.0.0.1",
    "127.255.0.3",
    "::1",
    "[::1]",
    "0:0:0:0:0:0:0:1",
    "::ffff:127.0.0.1",
    "x.localhost",
  ])("%s is this computer", (host) => {
    expect(isLoopback(host)).toBe(true);
  });
  it.each([
    "",
    "0.0.0.0",
    "::",
    "128.0.0.1",
    "127.0.0.1.example.com",
    "localhost.example.com",
    "1127.0.0.1",
    "127.0.0",
    "pi",
  ])("%j may be another", (host) => {
    expect(isLoopback(host)).toBe(false);
  });
});

describe("the nearest word", () => {
  const words = ["address", "name", "mode_address", "travel_time", "id", "kind"];
  it.each([
    ["adress", "address"],
    ["addres", "address"],
    ["ADDRESS", "address"],
    ["travelTime", "travel_time"],
    ["travel-time", "travel_time"],
    ["mode address", "mode_address"],
    ["nmae", "name"],
    ["knid", "kind"],
    ["di", null],
    ["nam", "name"],
    ["ID", "id"],
    ["colour", null],
    ["", null],
    ["x".repeat(100_000), null],
  ])("of %j is %j", (word, expected) => {
    expect(nearest(word.slice(0, 200_000), words)).toBe(expected);
  });

  it("is meant by one with two neighbours exchanged, however short", () => {
    expect(nearest("ulr", ["username", "tls", "url"])).toBe("url");
    expect(nearest("lru", ["url"])).toBeNull();
    expect(nearest("no", ["on", "off"])).toBeNull();
  });
});

describe("password hashes", () => {
  it.each([
    ["scrypt:x", true],
    ["$scrypt$x", true],
    ["scrypt", false],
    ["my scrypt:x", false],
  ])("%s: %j", (text, expected) => {
    expect(isPasswordHash(text)).toBe(expected);
  });
});

describe("a problem is one line", () => {
  it.each([
    [["a", "b", 0, "c"], "a.b[0].c"],
    [["GH.1", "空气温度", "set-value/flush"], "GH.1.空气温度.set-value/flush"],
    [["password secret"], '"password…"'],
    [["a\nb"], '"a…"'],
    [["x".repeat(65)], `"${"x".repeat(64)}…"`],
    [[], ""],
  ])("%j → %s", (path, shown) => {
    expect(formatPath(path)).toBe(shown);
  });

  it("with any path", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string({ unit: "binary" }), fc.nat())), (path) => {
        const problem = { file: "f", line: 1, column: 1, path: formatPath(path), message: "m" };
        expect(formatProblem(problem)).not.toMatch(/[\r\n\u2028\u2029]/);
      }),
    );
  });
});
