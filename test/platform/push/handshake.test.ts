import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PlatformError } from "../../../src/greenhouse/ports.js";
import { handshakeOf } from "../../../src/platform/push/connection.js";
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
