import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { PlatformError } from "../../src/greenhouse/ports.js";
import {
  deviceCode,
  isDeviceCode,
  operations,
  pathCode,
  readOnlyOperations,
  requestPath,
} from "../../src/platform/operations.js";
import { factsOf, hosted, never } from "./support/client-under-test.js";

const hostilePieces = [
  ...".. . / \\ %2e%2e %2f ? # & = @ : // http://evil.example/ \0 \r\n".split(" "),
  ...`GH-0001 a _ - 温室 😀 \ud800 \t ; ' " < __proto__ ${"x".repeat(65)}`.split(" "),
  " ",
];
const hostileCode = fc.oneof(
  fc.array(fc.constantFrom(...hostilePieces), { maxLength: 5 }).map((pieces) => pieces.join("")),
  fc.string({ maxLength: 80 }),
  fc.string({ unit: "binary", maxLength: 20 }),
);

describe("fixed parameters of a shape", () =>
  it("are added to what is asked, encoded, and overrule nothing of it", () => {
    const params = { pageSize: "500", "customer id": "a&b", dataType: "STREAM" };
    expect(requestPath(operations.devices, { dataType: "TEXT" }, { params })).toBe(
      "/api/device?dataType=TEXT&pageSize=500&customer%20id=a%26b",
    );
    expect(requestPath(operations.controllers, {}, { params: { pageSize: "500" } })).toBe(
      "/api/control/mqtt?pageSize=500",
    );
  }));

describe("device codes", () => {
  it("20,000 hostile codes never change origin or path: the expected request or none", () => {
    let made = 0;
    fc.assert(
      fc.property(hostileCode, (code) => {
        let path: string;
        try {
          path = requestPath(operations.sensors, { deviceCode: deviceCode(code, operations.sensors) });
        } catch (error) {
          if (!(error instanceof PlatformError)) throw error;
          expect(error.facts).toMatchObject({ kind: "invalid_request", sent: false });
          return;
        }
        made += 1;
        const url = new URL(path, "https://realtime.example.com");
        expect(url.origin).toBe("https://realtime.example.com");
        expect(url.pathname).toBe("/api/sensor-data");
        expect([...url.searchParams]).toEqual([["deviceCode", code]]);
        expect(url.hash).toBe("");
      }),
      { numRuns: 20_000 },
    );
    expect(made).toBeGreaterThan(1_000);
  });

  it.each([
    ["GH-0001", true],
    ["a.b_c-9", true],
    ["x".repeat(64), true],
    ["x".repeat(65), false],
    ["", false],
    [".", false],
    ["..", false],
    ["a/../b", false],
    ["../b", false],
    ["a\\..", false],
    ["a\n", false],
    ["a\u2028", false],
    ["\ud800", false],
    [" a", false],
    ["a ", false],
    ["温室/1#+", true],
    ["a b", true],
    ["a..b", true],
    ["温".repeat(64), true],
    ["温".repeat(65), false],
  ])("%j is allowed: %j", (code, allowed) => expect(isDeviceCode(code)).toBe(allowed));

  it("as the platform lists it reaches the platform as it is", async () => {
    const { host, client } = await hosted();
    await client.sensors("温室/1#+", never).catch(() => undefined);
    const target = host.requests.at(-1)?.target ?? "";
    expect(new URL(target, host.url).pathname).toBe("/api/sensor-data");
    expect(new URL(target, host.url).searchParams.get("deviceCode")).toBe("温室/1#+");
  });

  it.each(["温室", "a/b", "a b", "..", "%2e"])("%j is never a part of a path", (code) =>
    expect(() => pathCode(code, operations.sensors)).toThrow("cannot be used in a path"),
  );

  it("values and parameters of a user change neither origin nor path", () =>
    fc.assert(
      fc.property(fc.dictionary(hostileCode, hostileCode, { maxKeys: 4 }), (query) => {
        let path: string;
        try {
          path = requestPath(operations.weatherList, query);
        } catch (error) {
          expect(error).toBeInstanceOf(PlatformError);
          return;
        }
        const url = new URL(path, "https://business.example.com");
        expect(url.origin + url.pathname).toBe("https://business.example.com/api/weather-data/list");
        expect([...url.searchParams]).toEqual(Object.entries(query));
      }),
      { numRuns: 5_000 },
    ));

  it("no operation sends a code that is not allowed", async () => {
    const { host, client } = await hosted();
    const code = "../../admin";
    const calls = [
      client.connection(code, never),
      client.sensors(code, never),
      client.runningStatuses(code, never),
      client.value(code, "101", true, never),
      client.write(code, "101", "1010", never),
      client.write("GH-1", "1 01", "1010", never),
      client.write("GH-1", "101", "10\n10", never),
      client.get("get-value", { deviceCode: code }, never),
    ];
    for (const call of calls)
      expect(await factsOf(call)).toMatchObject({ kind: "invalid_request", sent: false });
    expect(host.accepted).toBe(0);
  });
});

/** The HTTP operations of the interface document, by host. */
const documented = {
  business: [
    "POST /api/account/sign-in",
    "GET /api/station",
    "GET /api/device",
    "GET /api/weather-data/avg",
    "GET /api/weather-data/list",
    "GET /api/video-data/list",
    "GET /api/control/mqtt",
  ],
  realtime: [
    "GET /api/sensor-data",
    "GET /api/mqtt-client-status",
    "GET /api/device_status",
    "GET /api/get-value",
    "GET /api/set-value/flush",
    "POST /api/set-value",
  ],
};

describe("operations", () => {
  it.each(["business", "realtime"] as const)("of the %s host are those of the document", (host) => {
    const ours = Object.values(operations).filter((one) => one.host === host);
    expect(ours.map(({ label }) => label).sort()).toEqual([...documented[host]].sort());
  });

  it("GET /api/set-value is nowhere among them, and nothing that moves anything is read-only", () => {
    expect(Object.values(operations).map(({ label }) => label)).not.toContain("GET /api/set-value");
    expect(readOnlyOperations.map(({ name }) => name)).not.toContain("set-value");
    expect(new Set(readOnlyOperations.map(({ method }) => method))).toEqual(new Set(["GET"]));
  });
});
