import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PlatformError } from "../../../src/greenhouse/ports.js";
import {
  type End,
  FrameRate,
  handshakeOf,
  liveness,
  pauseMs,
  triesAfter,
} from "../../../src/platform/push/connection.js";
import { channelOperation } from "../../../src/platform/push/platform-push.js";
import { credential } from "../../../src/platform/session/credential.js";

const token = credential("s3cr3t/+&", 1);

describe("where a channel is opened", () => {
  it.each([
    [{ type: "device-status" }, "/ws/device-status", "ws/device-status"],
    [{ type: "set-value" }, "/ws/set-value", "ws/set-value"],
    [
      { type: "weather-station", code: "WS-0001" },
      "/ws/sensor-data/weather-station-data/WS-0001",
      "ws/sensor-data",
    ],
  ] as const)("%o", (channel, path, name) =>
    expect(channelOperation(channel)).toMatchObject({ path, name, host: "realtime" }),
  );

  it("a hostile device code never leads elsewhere", () => {
    const codes = fc.oneof(
      fc.string({ unit: "binary", maxLength: 80 }),
      fc.constantFrom("..", ".", "%2e%2e", "a/b", "a\\b", "?x", "#x", "", "a b", "é", "x".repeat(65)),
      fc.stringMatching(/^[abZ09._\-/\\%?#@:]{0,70}$/),
    );
    fc.assert(
      fc.property(codes, (code) => {
        let path: string;
        try {
          path = channelOperation({ type: "weather-station", code }).path;
        } catch (error) {
          expect(error).toBeInstanceOf(PlatformError);
          return;
        }
        const { url } = handshakeOf("https://realtime.example.com", path, null, plain);
        expect(new URL(url).host).toBe("realtime.example.com");
        expect(new URL(url).pathname.split("/")).toEqual([
          ...["", "ws", "sensor-data", "weather-station-data"],
          code,
        ]);
        expect(new URL(url).search + new URL(url).hash).toBe("");
      }),
      { numRuns: 2_000 },
    );
  });
});

const plain = { credential: "header", query_name: "token" } as const;

describe("how the credential is carried", () => {
  it("in a header", () =>
    expect(handshakeOf("https://r.example.com", "/ws/set-value", token, plain)).toEqual({
      url: "wss://r.example.com/ws/set-value",
      headers: { "user-agent": "greenhouse2mqtt", authorization: "Bearer s3cr3t/+&" },
    }));

  it("in the query, encoded, and then in no header", () => {
    const { url, headers } = handshakeOf("http://127.0.0.1:8080/", "/ws/set-value", token, {
      credential: "query",
      query_name: "access_token",
    });
    expect(url).toBe("ws://127.0.0.1:8080/ws/set-value?access_token=s3cr3t%2F%2B%26");
    expect(headers).not.toHaveProperty("authorization");
  });

  it("not at all", () => {
    const handshake = handshakeOf("https://r.example.com", "/ws/set-value", token, {
      credential: "none",
      query_name: "token",
    });
    expect(JSON.stringify(handshake)).not.toContain("s3cr3t");
  });

  it("to the configured origin alone: path prefix kept, user name, query and fragment dropped", () => {
    const { url } = handshakeOf(
      "https://user:pw@r.example.com:8443/east/?a=b#c",
      "/ws/set-value",
      null,
      plain,
    );
    expect(url).toBe("wss://r.example.com:8443/east/ws/set-value");
  });
});

describe("liveness of an open channel", () => {
  it.each([
    ["just heard: ask in 20 s", { heardAt: 0, pingedAt: null }, 0, { type: "wait", ms: 20_000 }],
    ["20 s of silence: ask", { heardAt: 0, pingedAt: null }, 20_000, { type: "ping" }],
    ["asked: wait for 20 s", { heardAt: 0, pingedAt: 20_000 }, 20_000, { type: "wait", ms: 20_000 }],
    ["no answer to the first: ask again", { heardAt: 0, pingedAt: 20_000 }, 40_000, { type: "ping" }],
    ["asked twice: a last chance", { heardAt: 0, pingedAt: 40_000 }, 40_000, { type: "wait", ms: 4_000 }],
    ["44 s of silence: dead", { heardAt: 0, pingedAt: 40_000 }, 44_000, { type: "dead" }],
    ["an answer starts it over", { heardAt: 20_100, pingedAt: 20_000 }, 20_100, { type: "wait", ms: 20_000 }],
    ["a machine that slept through it", { heardAt: 0, pingedAt: null }, 600_000, { type: "dead" }],
  ] as const)("%s", (_name, heard, now, step) => expect(liveness(heard, now)).toEqual(step));

  it("a hole is found within 45 s of its beginning, whenever that is", () => {
    for (let holeAt = 0; holeAt <= 60_000; holeAt += 500) {
      let now = 0;
      let heardAt = 0;
      let pingedAt: number | null = null;
      for (;;) {
        const step = liveness({ heardAt, pingedAt }, now);
        if (step.type === "dead") break;
        if (step.type === "wait") now += step.ms;
        else {
          pingedAt = now;
          if (now < holeAt) heardAt = now;
        }
      }
      expect(now - holeAt).toBeLessThanOrEqual(45_000);
      expect(now).toBeGreaterThanOrEqual(holeAt);
    }
  });
});

const lost = (livedMs: number): End => ({ type: "lost", livedMs, why: "closed" });
const failed: End = { type: "failed", why: "refused" };
const status = (code: number): End => ({ type: "refused", status: code });

describe("the pause before the next try", () => {
  it.each([
    ["a good life starts the count over", 9, lost(60_000), 1],
    ["a short life does not", 9, lost(59_999), 10],
    ["a failed try counts", 0, failed, 1],
    ["a refusal counts", 3, status(503), 4],
  ] as const)("%s", (_name, tries, end, after) => expect(triesAfter(tries, end)).toBe(after));

  it.each([
    ["first try: up to 1 s", failed, 1, 1_000],
    ["then doubling", failed, 4, 8_000],
    ["up to 120 s", failed, 30, 120_000],
    ["the same for a busy platform", status(503), 1, 1_000],
    ["and one that says too many", status(429), 1, 1_000],
    ["ten minutes for a channel that does not exist", status(404), 1, 600_000],
    ["and for a refused credential", status(401), 1, 600_000],
  ] as const)("%s", (_name, end, tries, most) => {
    expect(pauseMs(end, tries, 1)).toBe(most);
    expect(pauseMs(end, tries, 0)).toBe(most === 600_000 ? 300_000 : 0);
  });
});

describe("the share of the bridge's time one channel may take", () => {
  it("is 200 frames a second, then it rests for the rest of that second", () => {
    const rate = new FrameRate();
    for (let n = 1; n < 200; n += 1) expect(rate.restMs(100, n)).toBe(0);
    expect(rate.restMs(100, 300)).toBe(701);
    expect(rate.restMs(100, 1_001)).toBe(0);
  });

  it("is 2 MiB a second", () => {
    const rate = new FrameRate();
    expect(rate.restMs(1_048_576, 0)).toBe(0);
    expect(rate.restMs(1_048_576, 10)).toBe(990);
  });
});
