import https from "node:https";
import { createServer, type Socket } from "node:net";
import zlib from "node:zlib";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { PlatformClient } from "../../src/platform/client.js";
import { portFor } from "../support/free-port.js";
import {
  factsOf,
  failureOf,
  hosted,
  makeClient,
  never,
  rawHosted,
  settingsFor,
} from "./support/client-under-test.js";
import { ok, startFakeHost, startRawHost } from "./support/hosts.js";
import { testCertificate } from "../broker/certificate.js";

const shortTimes = { connect: 1_000, read: 300, control: 300 };
const clientFor = (url: string) => makeClient(settingsFor(url, { timeouts: shortTimes })).client;
/** A POST of a control value. */
const write = (client: PlatformClient, signal = never) => client.write("GH-1", "101", "1010", signal);

const isPost = (text: string) => text.startsWith("POST");

/** A POST there ends without having been sent, and says why. */
async function notSent(url: string, why: RegExp): Promise<void> {
  const error = await failureOf(write(clientFor(url)));
  expect(error.facts).toMatchObject({ kind: "unreachable", sent: false });
  expect(error.message).toMatch(why);
}

/** Trickles for as long as the other side listens. */
function drip(socket: Socket, beginning: string, piece: string): void {
  socket.write(beginning);
  const timer = setInterval(() => socket.write(piece), 20);
  socket.on("close", () => clearInterval(timer));
}

const head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";

describe("total deadlines", () => {
  it.each<[string, (socket: Socket) => void]>([
    ["an answer that never begins", () => undefined],
    ["headers that stall half way", (socket) => socket.write(head)],
    ["a body that drips", (socket) => drip(socket, `${head}content-length: 1000\r\n\r\n`, " ")],
    ["headers that drip", (socket) => drip(socket, head, "x-a: b\r\n")],
  ])("%s ends with the deadline, and the connection is closed", async (_name, converse) => {
    const host = await startRawHost(converse);
    const client = clientFor(host.url);
    const facts = await factsOf(write(client));
    expect(facts).toMatchObject({ kind: "timeout", sent: true });
    await expect.poll(() => host.closed).toBe(1);
  });

  it("a TLS handshake that stalls ends with the deadline, nothing was sent", async () => {
    const server = createServer((socket) => socket.on("error", () => undefined));
    await notSent(`https://127.0.0.1:${await portFor(server)}`, /no connection within/);
    server.close();
  });
});

describe("sizes", () => {
  it("a body in pieces of one byte is read whole, and takes no more room than its bytes for long", async () => {
    const text = JSON.stringify({ code: 200, message: "ok", data: "x".repeat(20_000) });
    const { client } = await rawHosted((socket) => {
      const pieces = text
        .split("")
        .map((letter) => `1\r\n${letter}\r\n`)
        .join("");
      socket.write(`${head}transfer-encoding: chunked\r\n\r\n${pieces}0\r\n\r\n`);
    });
    await expect(write(client)).resolves.toBeDefined();
  });

  it("an endless body is cut off at 2 MiB", async () => {
    let written = 0;
    const { client } = await rawHosted((socket) => {
      socket.write(`${head}transfer-encoding: chunked\r\n\r\n`);
      const piece = `10000\r\n${"x".repeat(65_536)}\r\n`;
      const more = () => {
        while (!socket.destroyed && socket.write(piece)) written += piece.length;
      };
      socket.on("drain", more);
      more();
    });
    const error = await failureOf(write(client));
    expect(error.message).toContain("larger than 2 MiB");
    expect(error.facts).toMatchObject({ kind: "protocol", sent: true });
    expect(written).toBeLessThan(16 * 1024 * 1024);
  });

  const account = Array.from({ length: 10_000 }, (_, n) => ({ code: `GH-${n}`, note: "x".repeat(400) }));
  it.each([
    ["control/mqtt", (client: PlatformClient) => client.controllers(never)],
    ["device", (client: PlatformClient) => client.devices("TEXT", never)],
  ])("%s may list 10,000 devices, plain or compressed, and still has an end", async (_name, ask) => {
    const list = ok(account);
    const packed = zlib.gzipSync(Buffer.from(JSON.stringify({ code: 200, data: account })));
    const answers = [
      list,
      { headers: { "content-encoding": "gzip" }, body: packed },
      { body: Buffer.alloc(17 * 1024 * 1024, " ") },
    ];
    const { client } = await hosted(() => answers.shift() ?? list);
    expect(await ask(client)).toHaveLength(10_000);
    expect(await ask(client)).toHaveLength(10_000);
    expect((await failureOf(ask(client))).message).toContain("larger than 16 MiB");
  });

  it("a gzip bomb is refused without being unpacked", async () => {
    const body = zlib.gzipSync(Buffer.alloc(64 * 1024 * 1024, "["));
    const { client } = await hosted(() => ({ headers: { "content-encoding": "gzip" }, body }));
    await client.sensors("GH-1", never).catch(() => undefined);
    global.gc?.();
    const before = process.memoryUsage.rss();
    const error = await failureOf(client.sensors("GH-1", never));
    expect(error.message).toContain("more than 2 MiB when unpacked");
    expect(error.facts.kind).toBe("protocol");
    expect(process.memoryUsage.rss() - before).toBeLessThan(20 * 1024 * 1024);
  });

  it.each(["gzip, gzip", "br", "zstd"])(
    "content encoding %j, which nobody asked for, is refused",
    async (encoding) => {
      const body = zlib.gzipSync(zlib.gzipSync("{}"));
      const { client } = await hosted(() => ({ headers: { "content-encoding": encoding }, body }));
      expect((await failureOf(client.sensors("GH-1", never))).message).toContain("not supported");
    },
  );

  it.each([
    ["lists", "[".repeat(10_000) + "]".repeat(10_000)],
    ["objects", '{"a":'.repeat(10_000) + "1" + "}".repeat(10_000)],
    ["unclosed", "[".repeat(1_000_000)],
  ])("10,000 levels of JSON (%s) are refused", async (_name, body) => {
    const { client } = await hosted(() => ({ body }));
    const error = await failureOf(client.get("weather-data/list", {}, never));
    expect(error.message).toContain("nested deeper");
    expect(error.facts.kind).toBe("protocol");
  });
});

describe("whether the platform may have seen the request", () => {
  const cut = `${head}content-length: 100\r\n\r\n{"code":200,`;
  it.each<[string, (socket: Socket) => void, string]>([
    ["a reset before any answer", (socket) => socket.resetAndDestroy(), "interrupted"],
    ["an end before any answer", (socket) => socket.end(), "interrupted"],
    ["a reset in the headers", (one) => one.write(head, () => one.resetAndDestroy()), "interrupted"],
    ["a truncated body", (socket) => socket.end(cut), "interrupted"],
    [
      "a truncated chunked body",
      (socket) => socket.end(`${head}transfer-encoding: chunked\r\n\r\n5\r\n{"cod`),
      "interrupted",
    ],
    ["an answer that is not HTTP", (socket) => socket.end("SSH-2.0-OpenSSH\r\n"), "protocol"],
    ["an empty answer", (socket) => socket.end(`${head}content-length: 0\r\n\r\n`), "protocol"],
  ])("%s: the POST counts as sent and is made once", async (_name, converse, kind) => {
    let posts = 0;
    const { client } = await rawHosted((socket, text) => {
      if (isPost(text)) posts += 1;
      converse(socket);
    });
    expect(await factsOf(write(client))).toMatchObject({ kind, sent: true });
    expect(posts).toBe(1);
  });

  it("a kept connection that died meanwhile: the POST is not repeated by any layer", async () => {
    let posts = 0;
    const { client } = await rawHosted((socket, text) => {
      if (!isPost(text)) {
        socket.write(`${head}content-length: 35\r\n\r\n{"code":200,"data":{"status":1}}   `);
        return;
      }
      posts += 1;
      socket.resetAndDestroy();
    });
    expect(await client.connection("GH-1", never)).toMatchObject({ state: "online" });
    expect(await factsOf(write(client))).toMatchObject({ sent: true });
    expect(posts).toBe(1);
  });

  it("a refused connection was not sent", async () => {
    const host = await startFakeHost();
    await host.close();
    await notSent(host.url, /refuses connections.*platform\.realtime_url/);
  });

  it.each([undefined, "0"])(
    "a certificate nobody trusts is refused before anything is sent, with NODE_TLS_REJECT_UNAUTHORIZED=%s",
    async (environment) => {
      vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", environment);
      onTestFinished(() => void vi.unstubAllEnvs());
      let requests = 0;
      const server = https.createServer(testCertificate, (_, response) => {
        requests += 1;
        response.end("{}");
      });
      await notSent(`https://127.0.0.1:${await portFor(server)}`, /self-signed/);
      expect(requests).toBe(0);
      server.close();
    },
  );

  it("https to a port that speaks http was not sent and says what to check", async () => {
    const { url } = await startFakeHost();
    await notSent(url.replace("http:", "https:"), /does not speak TLS/);
  });

  it("a call given up before it was sent says so; a POST that was sent goes on to its own deadline", async () => {
    const { host, client } = await rawHosted(() => undefined);
    expect(await factsOf(write(client, AbortSignal.abort()))).toMatchObject({
      kind: "interrupted",
      sent: false,
    });
    const leaving = new AbortController();
    const given = factsOf(write(client, leaving.signal));
    await expect.poll(() => host.accepted).toBe(1);
    await new Promise(setImmediate);
    leaving.abort();
    expect(await given).toMatchObject({ kind: "timeout", sent: true });
  });
});

describe("redirects", () => {
  it.each([301, 302, 307, 308])("HTTP %i is not followed: the other host sees no request", async (status) => {
    const other = await startFakeHost();
    const { client } = await hosted(() => ({
      status,
      headers: { location: `${other.url}/api/set-value?t=secret` },
    }));
    const error = await failureOf(write(client));
    await client.controllers(never).catch(() => undefined);
    expect(error.facts).toMatchObject({ kind: "protocol", sent: true, status });
    expect(error.message).toContain(other.url);
    expect(error.message).not.toContain("secret");
    expect(other.requests).toEqual([]);
    expect(other.accepted).toBe(0);
  });

  it("from http to https says which URL to set", async () => {
    const { client } = await hosted(() => ({
      status: 301,
      headers: { location: "https://rt.example.com/x" },
    }));
    const { message } = await failureOf(client.sensors("GH-1", never));
    expect(message).toContain("set platform.realtime_url to https://rt.example.com");
  });
});

describe("connections", () => {
  it("polling uses as many as configured and no more", async () => {
    const { host, client } = await hosted(() => ok([]), { concurrency: 3 });
    await Promise.all(Array.from({ length: 50 }, () => client.sensors("GH-1", never)));
    expect(host.requests).toHaveLength(50);
    expect(host.accepted).toBe(3);
  });

  it("a command never waits for polls that hang", async () => {
    const { host, client } = await hosted(
      ({ path }) => (path.endsWith("sensor-data") ? new Promise(() => undefined) : ok({ status: 1 })),
      { concurrency: 2 },
    );
    const stuck = Array.from({ length: 10 }, () => client.sensors("GH-1", never).catch(() => undefined));
    await expect.poll(() => host.requests.length).toBe(2);
    expect(await client.connection("GH-1", never)).toMatchObject({ state: "online" });
    expect(await write(client)).toMatchObject({ code: "200" });
    await client.close();
    await Promise.all(stuck);
  });
});
