import { createServer } from "node:net";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { parameterGroup } from "../../src/greenhouse/device-types.js";
import { PlatformError } from "../../src/greenhouse/ports.js";
import type { PlatformClient } from "../../src/platform/client.js";
import { parseJson } from "../../src/platform/decode/decoding.js";
import {
  deviceCode,
  isDeviceCode,
  operations,
  readOnlyOperations,
  requestPath,
} from "../../src/platform/operations.js";
import { inChinese } from "../support/chinese.js";
import { portFor } from "../support/free-port.js";
import { factsOf, failureOf, hosted, makeClient, never, settingsFor } from "./support/client-under-test.js";
import { ok, startFakeHost } from "./support/hosts.js";

async function twoHosts() {
  const business = await startFakeHost();
  const realtime = await startFakeHost();
  const settings = { ...settingsFor(business.url), realtime_url: realtime.url };
  return { business, realtime, ...makeClient(settings) };
}

describe("requests of the interface document", () => {
  it("every read goes to its host, path and query, with the bearer header", async () => {
    const { business, realtime, client } = await twoHosts();
    realtime.answer(({ path }) => ok(path.endsWith("mqtt-client-status") ? { status: 1, type: 1 } : {}));
    await client.controllers(never);
    await client.devices("TEXT", never);
    await client.devices("STREAM", never);
    await client.stations(never);
    await client.get("weather-data/list", { deviceCode: "GH-1", start: "2026-01-01 00:00" }, never);
    await client.connection("GH-1", never);
    await client.sensors("GH-1", never);
    await client.runningStatuses("GH-1", never);
    await client.value("GH-1", "101", false, never);
    await client.value("GH-1", "101", true, never);
    await client.values("GH-1", parameterGroup(2), never);
    expect(business.requests.map((request) => request.target)).toEqual([
      "/api/control/mqtt",
      "/api/device?dataType=TEXT",
      "/api/device?dataType=STREAM",
      "/api/station",
      "/api/weather-data/list?deviceCode=GH-1&start=2026-01-01%2000%3A00",
    ]);
    expect(realtime.requests.map((request) => request.target)).toEqual([
      "/api/mqtt-client-status?deviceCode=GH-1",
      "/api/sensor-data?deviceCode=GH-1",
      "/api/device_status?deviceCode=GH-1",
      "/api/get-value?deviceCode=GH-1&address=101",
      "/api/get-value?deviceCode=GH-1&address=101&flush=1",
      "/api/set-value/flush?deviceTypeId=2&deviceCode=GH-1",
    ]);
    for (const { method, headers } of [...business.requests, ...realtime.requests])
      expect([method, headers.authorization]).toEqual(["GET", "Bearer test-token"]);
  });

  it("a control value is one POST of JSON with address, value and deviceCode as Strings", async () => {
    const { realtime, client } = await twoHosts();
    realtime.answer(() => ({ body: { code: 200, requestId: "r-1", data: { address: "0012" } } }));
    expect(await client.write("GH-1", "0012", "00000100", never)).toEqual({ requestId: "r-1", code: "200" });
    const headers = { "content-type": "application/json", authorization: "Bearer test-token" };
    expect(realtime.requests).toMatchObject([{ method: "POST", target: "/api/set-value", headers }]);
    const sent: unknown = JSON.parse(realtime.requests[0]?.body ?? "");
    expect(sent).toEqual({ address: "0012", value: "00000100", deviceCode: "GH-1" });
  });

  it("a base address keeps its path prefix and loses user name, query and fragment", async () => {
    const host = await startFakeHost();
    const url = `${host.url.replace("http://", "http://user:secret@")}/gateway/v1/?a=b#c`;
    await makeClient(settingsFor(url)).client.controllers(never);
    const headers = { authorization: "Bearer test-token" };
    expect(host.requests).toMatchObject([{ target: "/gateway/v1/api/control/mqtt", headers }]);
  });

  it.each(["set-value", "account/sign-in", "", "weather-data/../set-value", "/api/set-value", "device/"])(
    "get never asks %j: only read-only operations of the document",
    async (name) => {
      const { business, realtime, client } = await twoHosts();
      const facts = await factsOf(client.get(name, {}, never));
      expect(facts).toMatchObject({ kind: "invalid_request", sent: false });
      expect([...business.requests, ...realtime.requests]).toEqual([]);
    },
  );
});

describe("answers", () => {
  it.each([200, "200"])("body code %j is a success whatever the HTTP status", async (code) => {
    const { business, client } = await twoHosts();
    business.answer(() => ({ status: 500, body: { code, data: [{ code: "GH-1", online: true }] } }));
    expect(await client.controllers(never)).toHaveLength(1);
  });

  const reads: Readonly<Record<string, (client: PlatformClient) => Promise<unknown>>> = {
    sensors: (client) => client.sensors("GH-1", never),
    averages: (client) => client.averages("GH-1", never),
    "running statuses": (client) => client.runningStatuses("GH-1", never),
    "one value": (client) => client.value("GH-1", "101", false, never),
    "a group of values": (client) => client.values("GH-1", parameterGroup(2), never),
    stations: (client) => client.stations(never),
    history: (client) => client.history("GH-1", never),
  };

  it.each(Object.keys(reads))("words in the place of code and data are no empty answer: %s", async (name) => {
    const { business, realtime } = await twoHosts();
    const fresh = () => makeClient({ ...settingsFor(business.url), realtime_url: realtime.url }).client;
    for (const body of [
      ...[
        { error: "Forbidden" },
        { msg: "系统繁忙" },
        { error: { code: 403 } },
        { message: { code: "BUSY" } },
      ],
      { timestamp: 1, status: 500, error: "Internal Server Error", path: "/api/sensor-data" },
      { status: "error", message: "busy", requestId: "8f-1" },
    ]) {
      for (const host of [business, realtime]) host.answer(() => ({ body }));
      const error = await failureOf(reads[name]?.(fresh()) ?? Promise.resolve());
      expect(error.facts).toMatchObject({ kind: "protocol", status: 200, sent: true });
    }
    for (const body of [
      ...[[], {}, { data: null }, { code: 200 }, { code: 200, msg: "系统繁忙" }, { data: [] }, { list: [] }],
      ...[
        { success: true, msg: "ok" },
        { message: "success" },
        { msg: "查询成功" },
        { message: "no data", data: null },
      ],
    ]) {
      for (const host of [business, realtime]) host.answer(() => ({ body }));
      await reads[name]?.(fresh());
    }
  });

  it("words in the place of code and data tell no connection, but a status beside them does", async () => {
    const { realtime, client } = await twoHosts();
    for (const body of [{ error: "Forbidden" }, { msg: "系统繁忙" }, { status: 404, error: "Not Found" }]) {
      realtime.answer(() => ({ body }));
      expect(await failureOf(client.connection("GH-1", never))).toMatchObject({
        facts: { kind: "protocol" },
      });
    }
    const found = { code: "CLIENTID_NOT_FOUND", message: "客户端不在线" };
    for (const body of [{ status: 0, message: "offline" }, { message: found }]) {
      realtime.answer(() => ({ body }));
      expect(await client.connection("GH-1", never)).toMatchObject({ state: "offline" });
    }
  });

  it("any other body code is a failure with code, message and requestId, although HTTP says 200", async () => {
    const { realtime, client } = await twoHosts();
    realtime.answer(() => ({
      body: { code: 5003, message: { code: "E1", message: "设备忙" }, requestId: "8f-1" },
    }));
    const error = await failureOf(client.write("GH-1", "101", "1010", never));
    expect(error.facts).toEqual({
      ...{ kind: "rejected", host: "realtime", operation: "POST /api/set-value", status: 200, sent: true },
      ...{ code: "5003", platformMessage: "E1: 设备忙", requestId: "8f-1" },
    });
    expect(error.message).toContain("设备忙");
  });

  it.each([
    [{ address: "101", value: "1010", deviceCode: "GH-1" }],
    [{ data: { address: 101, value: "01010", deviceCode: "GH-1" }, requestId: "8f-1" }],
  ])(
    "an echo of all three fields without a code is an acceptance, whose code is not known: %j",
    async (body) => {
      const { realtime, client } = await twoHosts();
      realtime.answer(() => ({ body }));
      const { requestId = null } = body as { requestId?: string };
      expect(await client.write("GH-1", "101", "1010", never)).toEqual({ code: null, requestId });
      expect(realtime.requests).toHaveLength(1);
    },
  );

  it("`success: false` without data is a failure with message and requestId, although the code says 200", async () => {
    const { business, realtime, client } = await twoHosts();
    const refused = { code: 200, success: false, message: "账号已停用", requestId: "8f-2" };
    for (const data of [null, undefined, [], {}, ""]) {
      for (const host of [business, realtime]) host.answer(() => ({ body: { ...refused, data } }));
      for (const ask of [
        () => client.controllers(never),
        () => client.devices("TEXT", never),
        () => client.sensors("GH-1", never),
        () => client.value("GH-1", "101", true, never),
      ])
        expect((await failureOf(ask())).facts).toMatchObject({
          ...{ kind: "rejected", code: "200", platformMessage: "账号已停用", requestId: "8f-2" },
        });
    }
    const error = await failureOf(client.controllers(never));
    expect(error.message).toContain("success: false");
  });

  it("data beside `success: false` are read: what else the flag may mean is not known", async () => {
    const { business, client } = await twoHosts();
    business.answer(() => ({ body: { code: 200, success: false, data: [{ code: "GH-1", online: true }] } }));
    expect(await client.controllers(never)).toHaveLength(1);
  });

  it("what an account has no right to, where other requests are accepted, is no refused credential, and signs nobody in", async () => {
    const { business, client, links } = await twoHosts();
    business.answer(({ target }) =>
      target.includes("weather-data") || target.includes("video-data")
        ? { status: 403, body: { error: "Forbidden", message: "Access Denied" } }
        : ok([]),
    );
    await client.controllers(never);
    for (const read of [
      () => client.averages("GH-1", never),
      () => client.history("GH-1", never),
      () => client.videos(never),
    ]) {
      const error = await failureOf(read());
      expect(error.facts).toMatchObject({ kind: "rejected", status: 403 });
      expect(error.message).toContain("the account may have no right to this one");
      expect(inChinese(error.text)).not.toMatch(/ at the |other requests/);
    }
    expect(links.some((link) => link.unauthorized)).toBe(false);
  });

  it("a missing credential on the business host: 403 with error and message becomes unauthorized and says what to check", async () => {
    const { business, client } = await twoHosts();
    business.answer(() => ({ status: 403, body: { error: "Forbidden", message: "Access Denied" } }));
    const error = await failureOf(client.controllers(never));
    const platformMessage = "Forbidden: Access Denied";
    expect(error.facts).toMatchObject({ kind: "unauthorized", status: 403, platformMessage });
    expect(error.message).toMatch(/platform\.token.*register this machine's address/);
  });

  it.each([
    [{ status: 401, body: "" }, "unauthorized"],
    [{ status: 200, body: { code: 401, message: "token无效" } }, "unauthorized"],
    [{ status: 200, body: { code: "403" } }, "unauthorized"],
    [{ status: 401, body: { code: 10001, message: "expired" } }, "unauthorized"],
    [{ status: 429, body: "" }, "throttled"],
    [{ status: 200, body: { code: 429 } }, "throttled"],
    [{ status: 503, headers: { "retry-after": "1200" }, body: "" }, "throttled"],
    [{ status: 404, body: "<html>nginx</html>" }, "server"],
    [{ status: 400, body: { error: "bad" } }, "server"],
    [{ status: 200, body: "<!doctype html><p>maintenance" }, "protocol"],
    [{ status: 200, body: "" }, "protocol"],
    [{ status: 200, body: '{"code":200,"data":[' }, "protocol"],
    [{ status: 500, body: { code: "E7" } }, "rejected"],
    [{ status: 200, body: { code: 200, success: false, message: "设备忙" } }, "rejected"],
    // Without a code nothing but all three fields says that it was accepted.
    [{ body: { address: "101", value: "1010" } }, "protocol"],
    [{ body: { address: "101", value: "1010", deviceCode: "GH-2" } }, "protocol"],
    [{ body: { address: "101", value: "1010", deviceCode: "GH-1", success: false } }, "rejected"],
    [{ status: 500, body: { address: "101", value: "1010", deviceCode: "GH-1" } }, "server"],
  ])("%j ends as %s", async (reply, kind) => {
    const { realtime, client } = await twoHosts();
    realtime.answer(() => reply);
    expect(await factsOf(client.write("GH-1", "101", "1010", never))).toMatchObject({ kind, sent: true });
    expect(realtime.requests).toHaveLength(1);
  });

  it("a byte order mark and integers beyond 2^53 are read without loss", async () => {
    const { business, client } = await twoHosts();
    const body =
      '\uFEFF{"code":200,"data":[{"code":"GH-1","customerId":1680236549218304003,"id":7,"name":"a 12345678901234567890 b"}]}';
    business.answer(() => ({ body }));
    const [device] = await client.controllers(never);
    expect(device?.extra).toEqual({ id: "7", customerId: "1680236549218304003" });
    expect(device?.name).toBe("a 12345678901234567890 b");
  });
});

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
    [true, ["GH-0001", "a.b_c-9", "x".repeat(64), "温".repeat(64), "温室/1#+", "a b", "a..b"]],
    [
      false,
      [
        "",
        ".",
        "..",
        "a/../b",
        "../b",
        "a\\..",
        "a\n",
        "a\u2028",
        "\ud800",
        " a",
        "a ",
        "x".repeat(65),
        "温".repeat(65),
      ],
    ],
  ])("allowed (%j) are %j", (allowed, codes) =>
    expect(codes.filter((code) => isDeviceCode(code) !== allowed)).toEqual([]),
  );

  it("no operation sends a code that is not allowed", async () => {
    const { host, client } = await hosted();
    for (const call of [
      client.connection("../admin", never),
      client.value("../admin", "101", true, never),
      client.write("../admin", "101", "1010", never),
      client.write("GH-1", "1 01", "1010", never),
      client.write("GH-1", "101", "10\n10", never),
      client.get("get-value", { deviceCode: "../admin" }, never),
    ])
      expect(await factsOf(call)).toMatchObject({ kind: "invalid_request", sent: false });
    expect(host.accepted).toBe(0);
  });
});

it("GET /api/set-value is no operation, and nothing that moves anything is read-only", () => {
  expect(Object.values(operations).map(({ label }) => label)).not.toContain("GET /api/set-value");
  expect(readOnlyOperations.map(({ name }) => name)).not.toContain("set-value");
  expect(new Set(readOnlyOperations.map(({ method }) => method))).toEqual(new Set(["GET"]));
});

const read = (text: string) => parseJson(Buffer.from(text));

describe("JSON of the platform", () => {
  it.each<[string, unknown]>([
    ["1680236549218304003", "1680236549218304003"],
    ["-1680236549218304003", "-1680236549218304003"],
    ["9007199254740991", 9_007_199_254_740_991],
    ["9007199254740993", "9007199254740993"],
    ["0.12345678901234567890", 0.12345678901234568],
    ["12345678901234567890.5", 12345678901234567000],
    ['{"12345678901234567890":1}', { "12345678901234567890": 1 }],
    [
      '["a\\"12345678901234567890,\\\\",12345678901234567890]',
      ['a"12345678901234567890,\\', "12345678901234567890"],
    ],
  ])("integers beyond 2^53 come as text, everything else as it is: %s", (text, value) =>
    expect(read(text)).toEqual(value),
  );

  it("any JSON value survives, beside long integers too", () =>
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        const text = JSON.stringify(value);
        fc.pre(!/\d{16}/.test(text));
        expect(read(text)).toEqual(JSON.parse(text));
        expect(read(`[12345678901234567890,${text}]`)).toEqual(["12345678901234567890", JSON.parse(text)]);
      }),
      { numRuns: 500 },
    ));

  it("any text is a value or an error of ours, never a crash", () => {
    const unit = fc.constantFrom(...Array.from('{}[]":,\\0123456789-.eEtruefalsn u'));
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 60 }), (text) => {
        try {
          read(text);
        } catch (error) {
          expect(error).toHaveProperty("name", "UnreadableJson");
        }
      }),
      { numRuns: 5_000 },
    );
  });

  // Minutes, were each of them looked at with all that stand before it.
  it("2 MiB of backslashes or quotes are read in one go", () => {
    for (const piece of ["\\\\", '\\"']) read(`"${piece.repeat(1_000_000)}"`);
  });
});

describe("a POST is judged when its connection stands, before its first byte", () => {
  /** Every byte that a host gets, which answers nothing but a whole POST of the value `warm`. */
  async function counted() {
    const bytes: string[] = [];
    const server = createServer((socket) =>
      socket
        .on("error", () => undefined)
        .on("data", (chunk) => {
          bytes.push(chunk.toString("latin1"));
          if (!chunk.includes('"warm"')) return;
          const body = '{"code":200,"data":null}';
          socket.write(
            `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
          );
        }),
    );
    let closed = 0;
    server.on("connection", (socket) => socket.on("close", () => (closed += 1)));
    const { client } = makeClient(settingsFor(`http://127.0.0.1:${await portFor(server)}`));
    onTestFinished(() => void server.close());
    return { client, text: () => bytes.join(""), closed: () => closed };
  }

  it.each(["a new connection", "one that was used before"])("on %s not one byte leaves", async (which) => {
    const { client, text, closed } = await counted();
    if (which !== "a new connection") await client.write("GH-1", "101", "warm", never);
    const before = text();
    let asked = 0;
    const manner = { mayPost: () => (asked += 1) === 0 };
    const call = factsOf(client.write("GH-1", "101", "1010", never, manner));
    expect(await call).toMatchObject({ kind: "withheld", sent: false });
    // The host has seen the end of the connection, and with it whatever was sent before.
    await expect.poll(closed).toBe(1);
    expect([text(), asked]).toEqual([before, 1]);
  });

  it("where it may, it is asked once and then sent; giving up no longer breaks it off", async () => {
    const { client, text } = await counted();
    const leaving = new AbortController();
    let asked = 0;
    const manner = { mayPost: () => (asked += 1) === 1 };
    const call = client.write("GH-1", "101", "1010", leaving.signal, manner);
    const ended = factsOf(call);
    await expect.poll(text).toContain('"1010"');
    leaving.abort();
    await client.close();
    expect(await ended).toMatchObject({ kind: "interrupted", sent: true });
    expect(asked).toBe(1);
  });

  it("given up before its connection stands it is never sent", async () => {
    const { client, text } = await counted();
    const leaving = new AbortController();
    const manner = { mayPost: () => true };
    const ended = factsOf(client.write("GH-1", "101", "1010", leaving.signal, manner));
    leaving.abort();
    expect(await ended).toMatchObject({ kind: "interrupted", sent: false });
    await client.write("GH-1", "101", "warm", never);
    expect(text()).not.toContain("1010");
  });

  it("counts as sent only what left", async () => {
    const { client } = await counted();
    await factsOf(client.write("GH-1", "101", "1010", never, { mayPost: () => false }));
    expect(client.counters()).toMatchObject({ requests: 0, writes: 0, failures: 0 });
  });
});
