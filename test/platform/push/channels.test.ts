import https from "node:https";
import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { WebSocket } from "ws";
import { PlatformError } from "../../../src/greenhouse/ports.js";
import { type End, handshakeOf, pauseMs, triesAfter } from "../../../src/platform/push/connection.js";
import { channelOperation } from "../../../src/platform/push/platform-push.js";
import { credential } from "../../../src/platform/session/credential.js";
import { running } from "../../simulator/running.js";
import { settled, VirtualClock } from "../../support/virtual-clock.js";
import { portFor } from "../../support/free-port.js";
import { never } from "../support/client-under-test.js";
import { startRawHost } from "../support/hosts.js";
import { testCertificate } from "../../broker/certificate.js";
import { type Listening, listening, type ListenOptions, memory, startPeer } from "./listening.js";

const patience = { timeout: 50_000, interval: 5 };

/** Listening on a channel that is open. */
async function opened(url: string, options?: ListenOptions): Promise<Listening> {
  const made = listening(url, options);
  await expect.poll(() => made.client.pushCounters().open, patience).toBe(1);
  return made;
}
const code = "GH-0001";

describe("the credential of a channel", () => {
  const auth = { tokens: "known", accepted: ["good-token"], checkRealtime: true } as const;

  it("is not sent with none, and a refusal names the settings to look at, once", async () => {
    const simulator = await running({ auth, pushIntervalMs: 5 });
    const push = { enabled: true, credential: "none", query_name: "token", subscribe: {} } as const;
    const { client, lines } = listening(simulator.realtimeUrl, { settings: { token: "good-token", push } });
    await expect.poll(() => client.pushCounters().failures, patience).toBe(1);
    await expect.poll(() => lines.length, patience).toBeGreaterThan(0);
    expect(lines.filter((line) => line.includes("platform.push.credential"))).toHaveLength(1);
    expect(lines.join()).not.toContain("good-token");
  });

  it("goes in the first message where that says so, and nowhere else", async () => {
    const said: string[] = [];
    const peer = await startPeer({
      opened: (socket) => socket.on("message", (data: Buffer) => said.push(data.toString("utf8"))),
    });
    const subscribe = { "/ws/set-value": '{"op":"auth","token":"{token}"}' };
    const push = { enabled: true, credential: "none", query_name: "token", subscribe } as const;
    const { lines } = await opened(peer.url, { settings: { push } });
    await expect.poll(() => said, patience).toEqual(['{"op":"auth","token":"test-token"}']);
    expect(peer.asked).toEqual(["/ws/set-value -"]);
    expect(lines.join()).not.toContain("test-token");
  });

  it("goes to the configured origin alone: a redirect is not followed", async () => {
    const other = await startPeer();
    const peer = await startPeer({ status: () => 302, headers: `Location: ${other.url}/ws/set-value\r\n` });
    const { client } = listening(peer.url);
    await expect.poll(() => client.pushCounters().failures, patience).toBe(1);
    expect(peer.asked).toEqual(["/ws/set-value Bearer test-token"]);
    expect(other.asked.length + other.requests.length).toBe(0);
  });

  it("never shows in a log or a report, also where it is part of the address", async () => {
    const peer = await startPeer({
      status: (() => {
        const statuses = [503, 404, null];
        return () => statuses.shift() ?? null;
      })(),
      opened: (socket) => {
        socket.send("broken test-token broken");
        socket.send(JSON.stringify({ "test-token": 1, token: "test-token" }));
        socket.close(1008, "test-token");
      },
    });
    const clock = new VirtualClock();
    const settings = {
      push: { enabled: true, credential: "query", query_name: "token", subscribe: {} },
    } as const;
    const { client, lines, lost } = listening(peer.url, { settings, clock });
    await expect
      .poll(async () => {
        await clock.advance(1_000_000);
        return lost();
      }, patience)
      .toBeGreaterThan(0);
    expect(client.pushCounters().unreadable).toBeGreaterThan(1);
    expect(peer.asked[0]).toBe("/ws/set-value?token=test-token -");
    expect(lines.join() + JSON.stringify(client.shapeReports())).not.toContain("test-token");
  });
});

describe("a refused handshake", () => {
  const body = { account: "me", password: "pw" };

  it("leads to one sign-in for all channels that wait, and to open channels", async () => {
    const auth = { tokens: "known", checkRealtime: true } as const;
    const simulator = await running({ auth, pushIntervalMs: 5 });
    const settings = { sign_in: { body } } as const;
    const first = await opened(simulator.realtimeUrl, { settings });
    const { client } = first;
    listening(simulator.realtimeUrl, { client, channel: { type: "device-status" } });
    listening(simulator.realtimeUrl, { client, channel: { type: "weather-station", code: "WS-0001" } });
    await expect.poll(() => client.pushCounters().open, patience).toBe(3);
    expect(client.counters().signins).toBe(1);
    simulator.control.expireTokens();
    simulator.control.push("drop");
    await expect.poll(() => client.pushCounters().connects, patience).toBe(6);
    await expect.poll(() => client.pushCounters().open, patience).toBe(3);
    expect(client.counters().signins).toBe(2);
  });

  it("that no credential helps against costs two sign-ins in a day, the first one counted", async () => {
    const answer = { code: 200, data: { token: "some-long-token" } };
    const peer = await startPeer({ status: () => 401, answer });
    const clock = new VirtualClock();
    const settings = { sign_in: { body } } as const;
    const { client, lines } = listening(peer.url, { settings, clock, random: () => 0.5 });
    let tries = 0;
    while (clock.monotonic() < 24 * 3_600_000) {
      await expect.poll(() => client.pushCounters().failures, patience).toBeGreaterThan(tries);
      tries = client.pushCounters().failures;
      await clock.advance(450_000);
    }
    expect(tries).toBeGreaterThan(100);
    expect(client.counters().signins).toBe(2);
    expect(lines.filter((line) => line.includes("the push channel is not open"))).not.toHaveLength(0);
    expect(lines.filter((line) => line.includes('"level":40') && line.includes("push channel"))).toHaveLength(
      1,
    );
  });

  it.each([401, 403])("with %i is no reason to wait once another credential is there", async (status) => {
    const good = "Bearer the-newer-token";
    const peer = await startPeer({
      status: () => (peer.asked.at(-1)?.includes(good) === true ? null : status),
    });
    const clock = new VirtualClock();
    const files = memory();
    await files.writePrivate("token", "the-older-token");
    const settings = { token_file: "token" };
    const { client } = listening(peer.url, { settings, clock, files, random: () => 0.5 });
    await expect.poll(() => client.pushCounters().failures, patience).toBe(1);
    await clock.advance(10_000);
    const asked = peer.asked.length;
    await client.sensors(code, never);
    await clock.advance(10_000);
    expect(peer.asked).toHaveLength(asked);
    await files.writePrivate("token", "the-newer-token");
    await client.sensors(code, never);
    await expect.poll(() => client.pushCounters().open, patience).toBe(1);
    expect(clock.monotonic()).toBe(20_000);
  });

  it("that lasts has each new credential tried once, and costs no sign-in of its own", async () => {
    const peer = await startPeer({ status: () => 403 });
    const clock = new VirtualClock();
    const files = memory();
    await files.writePrivate("token", "token-number-0");
    const { client } = listening(peer.url, { settings: { token_file: "token" }, clock, files });
    await expect.poll(() => client.pushCounters().failures, patience).toBe(1);
    for (let n = 1; n <= 10; n += 1) {
      await clock.advance(10_000);
      await files.writePrivate("token", `token-number-${n}`);
      await client.sensors(code, never);
      await expect.poll(() => client.pushCounters().failures, patience).toBe(n + 1);
    }
    expect(new Set(peer.asked).size).toBe(11);
    expect(peer.asked.length).toBeLessThanOrEqual(12);
  });

  it("of a channel the platform does not have is tried again after five minutes at the earliest", async () => {
    const peer = await startPeer({ status: () => 404 });
    const clock = new VirtualClock();
    const { client, lines } = listening(peer.url, { clock });
    await expect.poll(() => client.pushCounters().failures, patience).toBe(1);
    await clock.advance(299_000);
    expect(peer.asked).toHaveLength(1);
    await clock.advance(1_000);
    await expect.poll(() => peer.asked.length, patience).toBe(2);
    expect(lines.join()).toContain("platform.push.enabled");
  });
});

describe("an open channel", () => {
  it("stays as long as the other side gives a sign of life every 20 s when asked", async () => {
    const peer = await startPeer({
      opened: (socket) => socket.on("ping", () => socket.send("{}")),
    });
    const clock = new VirtualClock();
    const { client } = await opened(peer.url, { clock });
    for (let n = 1; n <= 20; n++) {
      await clock.advance(20_000);
      await expect.poll(() => client.pushCounters().frames, patience).toBe(n);
    }
    expect(client.pushCounters()).toMatchObject({ open: 1, connects: 1, lost: 0 });
  });

  it("that became a black hole is given up within 45 s and opened anew", async () => {
    const simulator = await running({ pushIntervalMs: 5 });
    const clock = new VirtualClock();
    const { client, lost } = await opened(simulator.realtimeUrl, { clock });
    simulator.control.push("black_hole");
    await clock.advance(43_000);
    expect(lost()).toBe(0);
    await clock.advance(2_000);
    await expect.poll(() => lost(), patience).toBe(1);
    simulator.control.push("normal");
    await expect
      .poll(async () => {
        await clock.advance(1_000);
        return client.pushCounters().connects;
      }, patience)
      .toBeGreaterThan(1);
  });

  it("counts garbled frames, reports them without their values, logs them once, and goes on", async () => {
    const simulator = await running({ pushIntervalMs: 5 });
    simulator.control.push("garbled");
    const { client, news, lines } = await opened(simulator.realtimeUrl);
    for (const value of ["10010", "10001", "10010", "10001"]) {
      const { frames } = client.pushCounters();
      simulator.control.moveByHand(code, "101", value);
      await expect.poll(() => client.pushCounters().frames, patience).toBeGreaterThan(frames);
    }
    const { frames, unreadable, connects } = client.pushCounters();
    expect([unreadable, connects, news.length]).toEqual([frames, 1, 0]);
    const [report, ...others] = client.shapeReports();
    expect(others).toEqual([]);
    expect(report).toMatchObject({ operation: "ws/set-value", count: frames });
    expect(report?.sample.join()).toMatch(/^\{"x+":"xx-0000"/);
    expect(lines.filter((line) => line.includes("no JSON"))).toHaveLength(1);
  });

  it("reads JSON in a binary frame like that in a text frame", async () => {
    const peer = await startPeer({
      opened: (socket) =>
        socket.send(Buffer.from('{"deviceCode":"GH-1","address":"1","value":1}'), { binary: true }),
    });
    const { client, news } = listening(peer.url);
    await expect.poll(() => news.length, patience).toBe(1);
    expect(news).toMatchObject([{ type: "registers", code: "GH-1", values: new Map([["1", 1]]) }]);
    expect(client.shapeReports()).toEqual([]);
  });

  it("does not take binary frames of anything else, nor frames larger than 1 MiB", async () => {
    const frames = [Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x7d]), `[${" ".repeat(1_048_576)}]`];
    const peer = await startPeer({
      opened: (socket) => {
        const next = frames.shift();
        if (next !== undefined) socket.send(next, { binary: typeof next !== "string" });
        if (frames.length === 1) socket.close();
      },
    });
    const { client, news } = listening(peer.url);
    await expect.poll(() => client.pushCounters().connects, patience).toBe(3);
    expect(news).toEqual([]);
    expect(client.shapeReports().map(({ problem }) => problem)).toEqual([
      "a binary frame",
      "a frame larger than 1 MiB",
    ]);
  });

  it("that floods gets 256 KiB a second; the rest waits on its side", async () => {
    const text = JSON.stringify({ deviceCode: "GH-1", address: "1", value: 1, filler: "x".repeat(20_000) });
    const all = 400;
    const peer = await startPeer({
      opened: (socket) => {
        for (let n = 0; n < all; n++) socket.send(text);
      },
    });
    const clock = new VirtualClock();
    const { client } = listening(peer.url, { clock });
    const taken = () => client.pushCounters().frames;
    await expect.poll(taken, patience).toBeGreaterThan(100);
    for (let n = 0; n < 20; n++) await fetch(peer.url).then((reply) => reply.text());
    expect(taken()).toBeLessThan(200);
    await expect
      .poll(async () => {
        await clock.advance(1_000);
        return taken();
      }, patience)
      .toBe(all);
    expect(client.pushCounters()).toMatchObject({ connects: 1, lost: 0 });
  });

  it("that pushes more than is read brings readings that are as old as they came", async () => {
    const peer = await startPeer({
      opened: (socket) => {
        for (let n = 0; n < 600; n++) socket.send(JSON.stringify({ name: "wind", value: n }));
      },
    });
    const clock = new VirtualClock();
    const { news } = listening(peer.url, { clock, channel: { type: "weather-station", code: "WS-1" } });
    await expect.poll(() => news.length, patience).toBeGreaterThanOrEqual(200);
    const came = clock.now();
    await expect
      .poll(async () => {
        await clock.advance(500);
        return news.length;
      }, patience)
      .toBe(600);
    expect(clock.now()).toBeGreaterThanOrEqual(came + 2_000);
    expect(news.at(-1)).toMatchObject({ type: "sensors", receivedAt: came });
  });

  it("that pushes more than is read for long brings nothing that is older than half a minute, and is heard again after that", async () => {
    const frameAt = (n: number) => JSON.stringify({ deviceCode: "GH-1", address: "1", value: n });
    const all = 10_000;
    const open: WebSocket[] = [];
    const peer = await startPeer({
      opened: (socket) => {
        open.push(socket);
        for (let n = 0; n < all; n++) socket.send(frameAt(n));
      },
    });
    const clock = new VirtualClock();
    const { client, news } = listening(peer.url, { clock });
    await expect.poll(() => news.length, patience).toBeGreaterThan(0);
    const passed = async (seconds: number) => {
      for (let n = 0; n < seconds; n++) {
        await clock.advance(1_000);
        await fetch(peer.url).then((reply) => reply.text());
      }
    };
    await passed(60);
    // 200 at once, and 200 a second.
    expect(news.length).toBeLessThanOrEqual(200 + 31 * 200);
    const before = news.length;
    await expect
      .poll(async () => {
        open[0]?.send(frameAt(all));
        await passed(1);
        return news.length;
      }, patience)
      .toBeGreaterThan(before);
    expect(client.pushCounters()).toMatchObject({ connects: 1, lost: 0 });
    expect(client.shapeReports().map(({ problem }) => String(problem))).toEqual([
      "a frame that had waited for more than 30 s, as more is pushed than is read",
    ]);
  });

  it("that pushes a little more than is read is heard for as long as nothing of it waits for half a minute", async () => {
    const open: WebSocket[] = [];
    const peer = await startPeer({ opened: (socket) => open.push(socket) });
    const clock = new VirtualClock();
    const { client, news } = listening(peer.url, { clock });
    await expect.poll(() => open.length, patience).toBe(1);
    let sent = 0;
    const text = JSON.stringify({ deviceCode: "GH-1", address: "1", value: 1, filler: "x".repeat(500) });
    for (let second = 0; second < 90; second++) {
      for (let n = 0; n < (second === 0 ? 600 : 205); n++, sent++) open[0]?.send(text);
      await fetch(peer.url).then((reply) => reply.text());
      await clock.advance(1_000);
      await fetch(peer.url).then((reply) => reply.text());
    }
    // 200 at once, and 200 a second.
    expect(news.length).toBeGreaterThan(80 * 200);
    expect(client.shapeReports()).toEqual([]);
    expect(client.pushCounters()).toMatchObject({ connects: 1, lost: 0 });
  });
});

describe("a handshake that nobody answers", () =>
  it("is given up after 10 s, and its socket with it", async () => {
    const host = await startRawHost(() => undefined);
    const clock = new VirtualClock();
    const { client } = listening(host.url, { clock, random: () => 0.9 });
    await expect.poll(() => host.open, patience).toBe(1);
    await clock.advance(9_900);
    expect(client.pushCounters().failures).toBe(0);
    await clock.advance(100);
    await expect.poll(() => client.pushCounters().failures, patience).toBe(1);
    await expect.poll(() => host.open, patience).toBe(0);
  }));

describe("stopping", () => {
  it("releases an open connection and its timers", async () => {
    const simulator = await running({ pushIntervalMs: 5 });
    const clock = new VirtualClock();
    const { stop } = await opened(simulator.realtimeUrl, { clock });
    await stop();
    await settled();
    expect(clock.pendingTimers).toBe(0);
    await expect.poll(() => simulator.pushConnections(), patience).toBe(0);
  });

  it("ends a handshake, and a pause between two tries", async () => {
    const peer = await startPeer({ status: () => 503 });
    const clock = new VirtualClock();
    const pausing = listening(peer.url, { clock, random: () => 0.9 });
    await expect.poll(() => pausing.client.pushCounters().failures, patience).toBe(1);
    await pausing.stop();
    const connecting = listening(peer.url, { clock });
    await connecting.stop();
    await settled();
    expect(clock.pendingTimers).toBe(0);
  });
});

it("no channel is opened to a host whose certificate nobody trusts, whatever NODE_TLS_REJECT_UNAUTHORIZED says", async () => {
  vi.stubEnv("NODE_TLS_REJECT_UNAUTHORIZED", "0");
  onTestFinished(() => void vi.unstubAllEnvs());
  const server = https.createServer(testCertificate);
  const seen: unknown[] = [];
  server.on("upgrade", (request, socket) => {
    seen.push(request.headers.authorization);
    socket.destroy();
  });
  const { client } = listening(`https://127.0.0.1:${await portFor(server)}`, { random: () => 0.9 });
  onTestFinished(() => void server.close());
  await expect.poll(() => client.pushCounters().failures, patience).toBeGreaterThan(0);
  expect(seen).toEqual([]);
});

const token = credential("s3cr3t/+&", 1);

describe("where a channel is opened", () => {
  it.each([
    ["WS 0001", "WS%200001"],
    ["气象站 1", "%E6%B0%94%E8%B1%A1%E7%AB%99%201"],
    ["ws_1.a-b", "ws_1.a-b"],
  ])("a device code with blanks or of another script is one part of the path: %s", (code, part) =>
    expect(channelOperation({ type: "weather-station", code }).path).toBe(
      `/ws/sensor-data/weather-station-data/${part}`,
    ),
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
        expect(new URL(url).pathname.split("/").map(decodeURIComponent)).toEqual([
          ...["", "ws", "sensor-data", "weather-station-data"],
          code,
        ]);
        expect(new URL(url).search + new URL(url).hash).toBe("");
      }),
      { numRuns: 2_000 },
    );
  });
});

const plain = { credential: "header", query_name: "token", subscribe: {} } as const;

describe("how the credential is carried", () => {
  it("in the query, encoded, and then in no header", () => {
    const { url, headers } = handshakeOf("http://127.0.0.1:8080/", "/ws/set-value", token, {
      credential: "query",
      query_name: "access_token",
    });
    expect(url).toBe("ws://127.0.0.1:8080/ws/set-value?access_token=s3cr3t%2F%2B%26");
    expect(headers).not.toHaveProperty("authorization");
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
