import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { type IncomingHttpHeaders, request } from "node:http";
import net from "node:net";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { Listener } from "../../src/http/access.js";
import { openPort } from "../../src/http/port.js";
import { serveHttp, servePort } from "../../src/http/server.js";
import type { PageSources } from "../../src/http/service.js";
import { journalReader } from "../../src/journal/reader.js";
import { systemClock } from "../../src/runtime/clock.js";
import { anyRequest } from "../fuzz/requests.js";
import { tempDirectory } from "../journal/support/disk.js";
import { capturedLog } from "../mqtt-connection/support.js";
import { freePort } from "../support/mosquitto.js";
import { VirtualClock } from "../support/virtual-clock.js";
import { emptyPort, emptyService, everythingFine, loopback, upAlone, viewer } from "./support.js";

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
}

function ask(
  port: number,
  path: string,
  headers: Record<string, string> = {},
  method = "GET",
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = request({ port, host: "127.0.0.1", path, method, headers, agent: false }, (response) => {
      let text = "";
      response.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
      response.on("end", () =>
        resolve({ status: response.statusCode ?? 0, text, headers: response.headers }),
      );
    });
    call.on("error", reject);
    call.end();
  });
}

async function listening(port: number): Promise<void> {
  for (;;) {
    const answers = await ask(port, "/healthz").then(
      () => true,
      () => false,
    );
    if (answers) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

/** A running server, ended with the test. */
async function serve(
  view: Partial<typeof everythingFine> = {},
  inForce?: () => Partial<Listener>,
  sources: Partial<PageSources> = {},
) {
  const port = await freePort();
  const stop = new AbortController();
  const { log, lines } = capturedLog();
  const listener = () => ({ ...loopback, port, ...inForce?.() });
  const status = { ...everythingFine, ...view };
  const served = serveHttp(
    emptyService({ log, ...sources }, view),
    emptyPort({ log, listener, status, ...(sources.clock && { clock: sources.clock }) }),
    stop.signal,
  );
  const end = async () => {
    stop.abort();
    await served;
  };
  onTestFinished(end);
  await listening(port);
  return { port, lines, end };
}

describe("the HTTP side", () => {
  it("/healthz and /readyz say what they see", async () => {
    const state = { healthy: true, ready: false };
    const { port, end } = await serve({ isHealthy: () => state.healthy, isReady: () => state.ready });
    expect((await ask(port, "/healthz")).status).toBe(200);
    expect((await ask(port, "/readyz")).status).toBe(503);
    state.ready = true;
    expect((await ask(port, "/readyz")).status).toBe(200);
    state.healthy = false;
    expect((await ask(port, "/healthz")).status).toBe(503);
    expect((await ask(port, "/readyz")).status).toBe(503);
    await end();
    await expect(ask(port, "/healthz")).rejects.toThrow();
  });

  it("refuses foreign names, foreign origins and other methods", async () => {
    const { port } = await serve();
    expect((await ask(port, "/healthz", { host: "evil.example" })).status).toBe(421);
    expect((await ask(port, "/healthz", { host: "greenhouse.local:8099" })).status).toBe(200);
    expect((await ask(port, "/healthz", { origin: "https://evil.example" })).status).toBe(403);
    expect((await ask(port, "/healthz", {}, "POST")).status).toBe(405);
    expect((await ask(port, "/nothing")).status).toBe(404);
  });

  it("says of a journal that cannot be read that it cannot, and not that it is empty", async () => {
    const place = join(await tempDirectory(), "no-folder");
    await writeFile(place, "");
    const { port } = await serve({}, undefined, journalReader(place));
    for (const accept of ["application/json", "text/csv"]) {
      const { status, text } = await ask(port, "/api/journal", { accept });
      expect([status, text]).toEqual([503, expect.stringContaining("journal_unreadable")]);
    }
  });

  it("calls a controller by its id in the journal as a table, as it does elsewhere", async () => {
    const happened = { seq: 1, at: "2026-05-01T06:00:00.000Z", kind: "lock", type: "locked" } as const;
    const nothing = { by: "ben", what: null, alarm: null, severity: null, until: null };
    const entry = { ...happened, ...nothing, controller: "GH-0001", actuator: "fan" };
    const timeline = () => Promise.resolve({ entries: [entry], next: null });
    const { port } = await serve({}, undefined, { timeline });
    const { text } = await ask(port, "/api/journal", { accept: "text/csv" });
    expect(text).toContain("lock,locked,gh-0001,fan,");
  });

  it("serves metrics as Prometheus reads them, and lets no browser run anything", async () => {
    const { port } = await serve();
    const { status, text, headers } = await ask(port, "/metrics?x=1");
    expect({ status, text }).toEqual({
      status: 200,
      text: "# HELP greenhouse2mqtt_up It is up\n# TYPE greenhouse2mqtt_up gauge\ngreenhouse2mqtt_up 1\n",
    });
    expect(headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8");
    expect(headers["content-security-policy"]).toContain("default-src 'none'; script-src 'self';");
    expect(headers["x-content-type-options"]).toBe("nosniff");
    expect((await ask(port, "/metrics", {}, "HEAD")).text).toBe("");
  });

  it("asks for the token as it is at that moment, and tells who showed a wrong one", async () => {
    const wrong: string[] = [];
    let token = "first-token";
    const { port } = await serve(
      {
        refusedLogin: (shown, address) => {
          wrong.push(`${shown} ${address ?? ""}`);
        },
      },
      () => ({ token }),
    );
    const withToken = async (shown: string) =>
      (await ask(port, "/metrics", { authorization: `Bearer ${shown}` })).status;
    const none = await ask(port, "/metrics");
    expect(none.status).toBe(401);
    expect(none.headers["www-authenticate"]).toContain("Bearer");
    expect(none.text).not.toContain("first-token");
    expect(wrong).toEqual([]);
    expect(await withToken("first-token")).toBe(200);
    token = "second-token";
    expect(await withToken("first-token")).toBe(401);
    expect(await withToken("second-token")).toBe(200);
    expect(wrong).toEqual(["http.token 127.0.0.1"]);
    expect((await ask(port, "/healthz")).status).toBe(200);
  });

  it("answers an ordinary request that offers HTTP/2, body included, as if it had not", async () => {
    const { port } = await serve();
    const socket = net.connect(port, "127.0.0.1");
    onTestFinished(() => {
      socket.destroy();
    });
    let heard = "";
    socket.on("data", (data: Buffer) => (heard += data.toString()));
    const offer =
      "Host: localhost\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n";
    socket.write(`GET /healthz HTTP/1.1\r\n${offer}\r\n`);
    await vi.waitUntil(() => heard.includes("200 OK") && heard.includes("ok\n"));
    const body = '{"username": 7}';
    const sent = `Content-Type: application/json\r\nContent-Length: ${body.length}`;
    heard = "";
    socket.write(`POST /api/login HTTP/1.1\r\n${offer}${sent}\r\n\r\n${body}`);
    await vi.waitUntil(() => heard.includes("400 Bad Request") && heard.includes("password"));
  });

  it("a request that comes before what is served is loaded is answered then; of more than 50, the oldest are closed", async () => {
    const port = await freePort();
    const stop = new AbortController();
    const { log } = capturedLog();
    const at = emptyPort({ log, listener: () => ({ ...loopback, port }) });
    const opened = await openPort(at);
    const early = Array.from({ length: 51 }, () => {
      const socket = net.connect(port, "127.0.0.1");
      socket.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
      return { socket, heard: "", isClosed: false };
    });
    for (const one of early) {
      one.socket.on("data", (data: Buffer) => (one.heard += data.toString()));
      one.socket.on("error", () => undefined);
      one.socket.on("close", () => (one.isClosed = true));
    }
    await vi.waitUntil(() => early.some(({ isClosed }) => isClosed));
    const served = serveHttp(emptyService({ log }), at, stop.signal, Promise.resolve(opened));
    const answered = () => early.filter(({ heard }) => heard.includes("200 OK"));
    await vi.waitUntil(() => answered().length === 50);
    expect((await ask(port, "/healthz")).status).toBe(200);
    stop.abort();
    await served;
    await expect(ask(port, "/healthz")).rejects.toThrow();
  });

  it("a port where nothing can be served is closed again, with those that wait there", async () => {
    const port = await freePort();
    const { log } = capturedLog();
    const at = emptyPort({ log, listener: () => ({ ...loopback, port }) });
    const opening = openPort(at);
    await opening;
    const early = ask(port, "/healthz");
    const { signal } = new AbortController();
    const broken = () => {
      throw new Error("no page");
    };
    await expect(servePort(at, broken, signal, opening)).rejects.toThrow("no page");
    await expect(early).rejects.toThrow();
    await expect(ask(port, "/healthz")).rejects.toThrow();
  });

  it("a busy port is a warning, not a failure", async () => {
    const { port } = await serve();
    const { log, lines } = capturedLog();
    const at = emptyPort({ log, listener: () => ({ ...loopback, port }) });
    const { signal } = new AbortController();
    await expect(serveHttp(emptyService({ log }), at, signal)).resolves.toBeUndefined();
    expect(lines.filter((line) => line.startsWith("warn") && line.includes("http.port"))).toHaveLength(1);
  });
});

describe("the API", () => {
  it.each([
    ["journal?limit=0", "limit: expected a whole number from 1 to 1000, such as limit=100."],
    ["journal?limit=many", "limit: expected a whole number from 1 to 1000, such as limit=100."],
    ["journal?before=-1", "before: expected a whole number, the `next` of the page before."],
    [
      "journal?outcome=confirmd",
      'outcome: expected one of confirmed, already, dry_run, refused, superseded, rejected, unconfirmed, failed, unknown, did you mean "confirmed"?',
    ],
    [
      "journal?since=yesterday&limit=1001",
      "since: expected an ISO time or a duration, such as since=2h; limit: expected a whole number from 1 to 1000, such as limit=100.",
    ],
    [
      "journal?from=1h",
      "from: unknown, expected controller, kind, actuator, by, outcome, since, until, limit, before.",
    ],
    ["overview?x=1", "x: unknown, expected nothing."],
    ["journal?limit=2&limit=3", "limit: given twice, and nobody can tell which one counts."],
    ["alarms?__proto__=2", "__proto__: unknown, expected nothing."],
  ])("says in words of its own what is wrong with %s", async (path, message) => {
    const { port } = await serve();
    const { status, text } = await ask(port, `/api/${path}`);
    expect([status, JSON.parse(text)]).toEqual([400, { error: "bad_request", message }]);
  });

  it("says what is wrong with the JSON of a POST", async () => {
    const { port } = await serve();
    const post = async (path: string, body: unknown) => {
      const headers = { "content-type": "application/json" };
      const text = typeof body === "string" ? body : JSON.stringify(body);
      const init = { method: "POST", headers, body: text };
      const answer = await fetch(`http://127.0.0.1:${port}/api/${path}`, init);
      return ((await answer.json()) as { message: string }).message;
    };
    expect(await post("login", { username: 7 })).toBe(
      "username: expected a text; password: missing, expected a text.",
    );
    expect(await post("logout", { now: true })).toBe("now: unknown, expected nothing.");
    expect(await post("login", '{"username": "a", "password": "b", "username": "c"}')).toBe(
      "username: given twice, and nobody can tell which one counts.",
    );
  });

  it("closes the live connections of a session with its logout, and those of nobody else", async () => {
    const users = ["anna", "ben"].map(
      (username) => ({ username, password: `password-of-${username}`, role: "viewer" }) as const,
    );
    // Time stands still, so that nothing is closed because somebody looks from time to time.
    const { port } = await serve({}, () => ({ users }), { clock: new VirtualClock() });
    const url = `http://127.0.0.1:${port}`;
    const post = (path: string, body: unknown, cookie = "") =>
      fetch(`${url}/api/${path}`, {
        method: "POST",
        headers: { "content-type": "application/json", cookie },
        body: JSON.stringify(body),
      });
    const cookies = await Promise.all(
      users.map(async ({ username, password }) => {
        const { headers } = await post("login", { username, password });
        return headers.get("set-cookie")?.split(";")[0] ?? "";
      }),
    );
    const open = async () =>
      Promise.all(cookies.map(async (cookie) => (await viewer(url, { headers: { cookie } })).socket));
    const [[anna, ben], [again]] = [await open(), await open()];
    const closed = [anna, again].flatMap((socket) => (socket ? [once(socket, "close")] : []));
    await post("logout", {}, cookies[0]);
    expect((await Promise.all(closed)).map(([code]) => code as unknown)).toEqual([4401, 4401]);
    expect(ben?.readyState).toBe(ben?.OPEN);
  });
});

/** Sends bytes and reads until the server or the time ends it. */
function spoken(port: number, bytes: Buffer | string): Promise<string> {
  return new Promise((resolve) => {
    const socket = net.connect(port, "127.0.0.1");
    let heard = "";
    socket.on("data", (data: Buffer) => (heard += data.toString("latin1")));
    socket.on("error", () => undefined);
    socket.on("close", () => resolve(heard));
    socket.end(bytes);
  });
}

describe("what anybody may send", () => {
  it("an upgrade with a Host that names none is refused, and others are served on", async () => {
    const { port, lines } = await serve();
    const upgrade =
      "GET /api/live HTTP/1.1\r\nHost: ::1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
    expect(await spoken(port, upgrade)).toContain("400 Bad Request");
    expect(await spoken(port, upgrade.replace("GET /api/live", "GET /healthz"))).toContain("400 Bad Request");
    expect((await ask(port, "/healthz")).status).toBe(200);
    expect(lines.filter((line) => line.startsWith("error"))).toEqual([]);
  });

  it("no bytes on the port end the process or are a defect", async () => {
    // So much time goes by that nobody asks too fast.
    let passed = 0;
    const clock = { ...systemClock, monotonic: () => (passed += 60_000) };
    const { port, lines } = await serve({}, undefined, { clock });
    await fc.assert(
      fc.asyncProperty(anyRequest, async (sent) => {
        await spoken(port, Buffer.from(sent, "latin1"));
      }),
      { numRuns: 1_500 },
    );
    expect((await ask(port, "/healthz")).status).toBe(200);
    expect(lines.filter((line) => line.startsWith("error"))).toEqual([]);
  });

  it("a defect that is met again and again is one line of the log a minute, with their number", async () => {
    const clock = new VirtualClock();
    let isBroken = true;
    const registry = () => {
      if (isBroken) throw new Error("a defect");
      return upAlone();
    };
    const { port, lines } = await serve({}, undefined, {
      ...{ clock, metrics: { registry, note: () => undefined } },
    });
    for (let times = 0; times < 20; times += 1) expect((await ask(port, "/metrics")).status).toBe(500);
    const said = () => lines.filter((line) => line.startsWith("error"));
    expect(said()).toHaveLength(1);
    expect(said()[0]).toContain("a defect");
    await clock.advance(60_000);
    expect((await ask(port, "/metrics")).status).toBe(500);
    expect(said()).toHaveLength(2);
    expect(said()[1]).toContain('"count":20');
    isBroken = false;
    expect((await ask(port, "/metrics")).status).toBe(200);
  });
});

/** A connection that is kept, and what was heard on it so far. */
async function conversation(port: number) {
  const socket = net.connect(port, "127.0.0.1");
  onTestFinished(() => {
    socket.destroy();
  });
  let heard = "";
  socket.on("data", (data: Buffer) => (heard += data.toString("latin1")));
  socket.on("error", () => undefined);
  await once(socket, "connect");
  const statuses = () => [...heard.matchAll(/^HTTP\/1\.1 (\d+) /gm)].map(([, status]) => Number(status));
  return {
    socket,
    statuses,
    heard: () => heard,
    say: (text: string) => socket.write(text),
    /** The status of the next answer. */
    next: async (text: string) => {
      const before = statuses().length;
      socket.write(text);
      await vi.waitUntil(() => statuses().length > before && heard.endsWith("\n"), { interval: 1 });
      return statuses().at(-1);
    },
  };
}

const get = (path: string, more = "") => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`;

describe("who asks too fast", () => {
  const anna = { username: "anna", password: "operator-anna", role: "operator" } as const;
  const withAnna = () => ({ users: [anna] });

  async function login(port: number): Promise<Record<string, string>> {
    const answer = await fetch(`http://127.0.0.1:${port}/api/login`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ username: anna.username, password: anna.password }),
    });
    return { cookie: answer.headers.get("set-cookie")?.split(";")[0] ?? "" };
  }

  it("gets no more than eight answers before the one that ends a socket on which he does not wait for any", async () => {
    const { port } = await serve();
    const { socket, statuses, heard, say } = await conversation(port);
    const closed = once(socket, "close");
    say(get("/api/overview").repeat(1_300));
    await closed;
    expect(statuses()).toEqual([...Array.from({ length: 8 }, () => 200), 429]);
    expect(heard()).toMatch(/^retry-after: 1\r$/m);
    expect(heard()).toMatch(/^connection: close\r$/m);
  });

  it("opens sockets that are read one after the other, once his address did that", async () => {
    const clock = new VirtualClock();
    const { port } = await serve({}, undefined, { clock });
    const old = await conversation(port);
    expect(await old.next(get("/healthz"))).toBe(200);
    const flood = await conversation(port);
    const closed = once(flood.socket, "close");
    flood.say(get("/api/overview").repeat(1_300));
    await closed;
    const [first, second] = [await conversation(port), await conversation(port)];
    expect(await first.next(get("/healthz"))).toBe(200);
    second.say(get("/healthz"));
    for (let times = 0; times < 5; times += 1) expect(await old.next(get("/healthz"))).toBe(200);
    expect(second.statuses()).toEqual([]);
    await clock.advance(100);
    await vi.waitUntil(() => second.statuses().length === 1, { interval: 1 });
    await clock.advance(6_000);
    for (let times = 0; times < 3; times += 1)
      expect(await (await conversation(port)).next(get("/healthz"))).toBe(200);
  });

  it("has an allowance for each socket and one for his address; who is logged in there has his own", async () => {
    const clock = new VirtualClock();
    const { port } = await serve({}, withAnna, { clock });
    const headers = await login(port);
    const kept = async () => {
      const { next, socket, heard } = await conversation(port);
      const closed = once(socket, "close");
      for (let times = 0; ; times += 1) {
        if ((await next(get("/api/overview"))) !== 429) continue;
        await closed;
        return [times, /^retry-after: (\d+)\r$/m.exec(heard())?.[1]];
      }
    };
    expect(await kept()).toEqual([100, "1"]);
    expect(await kept()).toEqual([100, "1"]);
    // The login was one.
    expect(await kept()).toEqual([99, "1"]);
    expect(await kept()).toEqual([0, "1"]);
    expect((await ask(port, "/api/overview")).status).toBe(429);
    expect((await ask(port, "/healthz")).status).toBe(200);
    for (let times = 0; times < 20; times += 1)
      expect((await ask(port, "/api/overview", headers)).status).toBe(200);
    await clock.advance(20);
    expect((await ask(port, "/api/overview")).status).toBe(401);
  });

  it("pays for upgrades that are refused, and each of those ends its socket", async () => {
    const { port } = await serve({}, withAnna, { clock: new VirtualClock() });
    const offer = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n";
    const refused = async (path: string, more = offer) => {
      const { socket, say, statuses, heard } = await conversation(port);
      const closed = once(socket, "close");
      say(get(path, more));
      await closed;
      expect(heard()).toMatch(/^connection: close\r$/im);
      return statuses();
    };
    expect(await refused("/api/other")).toEqual([404]);
    expect(await refused("/healthz")).toEqual([200]);
    const { cookie = "" } = await login(port);
    expect(await refused("/api/live", `${offer}Cookie: ${cookie}\r\nSec-WebSocket-Key: x\r\n`)).toEqual([
      400,
    ]);
    for (let times = 0; times < 298; times += 1) expect(await refused("/api/live")).toEqual([401]);
    expect(await refused("/api/live")).toEqual([429]);
  });

  it.each([["doctor"], ["discover"]])(
    "gets one %s at a time, of all operators, and another one when that has ended or nobody waits for it",
    async (examination) => {
      const started: (() => void)[] = [];
      async function* finds(signal: AbortSignal) {
        yield { check: "first" };
        await new Promise<void>((resolve) => {
          started.push(resolve);
          signal.addEventListener("abort", () => resolve(), { once: true });
        });
      }
      const { port } = await serve({}, withAnna, { [examination]: finds });
      const headers = { ...(await login(port)), "content-type": "application/json" };
      const run = (signal?: AbortSignal) =>
        fetch(`http://127.0.0.1:${port}/api/${examination}`, {
          method: "POST",
          headers,
          body: "{}",
          signal: signal ?? null,
        });
      const first = await run();
      const second = await run();
      expect([second.status, second.headers.get("retry-after")]).toEqual([429, "10"]);
      expect(await second.json()).toEqual({
        error: `${examination}_runs`,
        message: `${examination} runs already, and only one at a time does; try again when it has ended.`,
      });
      await vi.waitUntil(() => started.length === 1);
      started[0]?.();
      expect(await first.text()).toBe('{"check":"first"}\n');
      const gone = new AbortController();
      expect((await run(gone.signal)).status).toBe(200);
      expect((await run()).status).toBe(429);
      gone.abort();
      const last = await vi.waitUntil(async () => {
        const answer = await run();
        return answer.status === 200 && answer;
      });
      await vi.waitUntil(() => started.length === 3);
      started[2]?.();
      expect(await last.text()).toBe('{"check":"first"}\n');
    },
  );
});

describe("sockets that say nothing", () => {
  async function silent(port: number): Promise<net.Socket> {
    const socket = net.connect(port, "127.0.0.1");
    socket.on("error", () => undefined);
    onTestFinished(() => {
      socket.destroy();
    });
    await once(socket, "connect");
    return socket.resume();
  }

  it("are closed once their upgrade was refused, also where the other side never closes", async () => {
    const { port } = await serve();
    const socket = net.connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    onTestFinished(() => {
      socket.destroy();
    });
    socket
      .resume()
      .write("GET /api/live HTTP/1.1\r\nHost: evil\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
    socket.on("error", () => undefined);
    const gone = new Promise((resolve) => socket.once("close", resolve));
    await once(socket, "end");
    // A peer that is gone answers what is written with a reset.
    const knocking = setInterval(() => socket.write("x"), 20);
    await gone;
    clearInterval(knocking);
  });

  it("keep nobody from an answer, however many there are: the longest silent ones are closed", async () => {
    const { port } = await serve();
    const spoken = await silent(port);
    const sockets: net.Socket[] = [];
    for (let n = 0; n < 49; n += 1) sockets.push(await silent(port));
    spoken.write("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
    await once(spoken, "data");
    const closed = sockets.slice(0, 10).map((socket) => once(socket, "close"));
    for (let n = 0; n < 10; n += 1) sockets.push(await silent(port));
    await Promise.all(closed);
    expect((await ask(port, "/healthz")).status).toBe(200);
    expect(spoken.closed).toBe(false);
  });
});
