import { existsSync, readdirSync, readFileSync } from "node:fs";
import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
  STATUS_CODES,
} from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, sep } from "node:path";
import type { Duplex } from "node:stream";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { WebSocketServer } from "ws";
import type { Configuration } from "../config/schema.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import { sourceOf } from "../runtime/logins.js";
import { SilentSockets } from "../runtime/sockets.js";
import {
  judge,
  type Listener,
  type Refusal,
  type RequestFacts,
  servesPage,
  Sessions,
  type Visitor,
} from "./access.js";
import { type Answer, answer as answerCall, type ApiParts, failure } from "./api.js";
import type { PageService } from "./service.js";

interface ServerParts {
  readonly http: Listener;
  /** Asked for every request, so that a new token or name counts at once. */
  readonly inForce: () => Configuration["http"];
  readonly checked: ApiParts["checked"] & { isHealthy(): boolean; isReady(): boolean };
  readonly metrics: { page(): Promise<string> };
  readonly service: PageService;
  readonly clock: Clock;
  readonly log: Logger;
}

// A limit of Node's own would turn away newcomers instead, for as long as somebody holds sockets open.
const maxSockets = 50;
const mostBodyBytes = 64 * 1024;
const metricsContentType = "text/plain; version=0.0.4; charset=utf-8";
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'self'; frame-ancestors 'self'";

/** Serves health, metrics, and the page with its API until the signal aborts. A busy port is a warning, not a reason to stop. */
export async function serveHttp(parts: ServerParts, signal: AbortSignal): Promise<void> {
  const { http, log } = parts;
  const sockets = new SilentSockets(maxSockets, () => undefined);
  const timeouts = { headersTimeout: 5_000, requestTimeout: 5_000, connectionsCheckingInterval: 1_000 };
  const server = createServer(timeouts);
  server.on("connection", (socket) => sockets.add(socket));
  if (!(await isListening(server, http, log))) return;
  const { port } = server.address() as AddressInfo;
  const site = new Site(parts, port, signal);
  server.on("request", (request, response) => {
    const { socket } = request;
    // Whoever waits for an answer is not silent.
    sockets.spoke(socket);
    response.once("close", () => {
      if (!socket.destroyed) sockets.add(socket);
    });
    void site.serve(request, response);
  });
  server.on("upgrade", (request, socket, head) => {
    if (!/\bwebsocket\b/i.test(request.headers.upgrade ?? "")) readAgain(server, request, socket, head);
    else site.upgrade(request, socket, head, () => sockets.spoke(request.socket));
  });
  const page = servesPage(http) ? parts.service.run(signal) : Promise.resolve();
  await new Promise<void>((resolve) => {
    const close = () => {
      site.close();
      server.closeAllConnections();
      server.close(() => resolve());
    };
    if (signal.aborted) close();
    else signal.addEventListener("abort", close, { once: true });
  });
  await page;
}

/** Some clients offer HTTP/2 with an ordinary request; it is read once more, without the offer. */
function readAgain(server: Server, request: IncomingMessage, socket: Duplex, head: Buffer): void {
  const { method = "", url = "", httpVersion, rawHeaders } = request;
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name = "", value = ""] = rawHeaders.slice(at, at + 2);
    if (!/^(?:upgrade|connection|http2-settings)$/i.test(name)) lines.push(`${name}: ${value}`);
  }
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), head]));
  server.emit("connection", socket);
}

function isListening(server: Server, { host, port }: Listener, log: Logger): Promise<boolean> {
  return new Promise((resolve) => {
    server.once("error", (error) => {
      log.warn(
        { host, port, reason: error.message },
        "no page, no health checks and no metrics: set http.port to a free port, or http: false",
      );
      resolve(false);
    });
    server.listen(port, host, () => resolve(true));
  });
}

const factsOf = ({ headers, socket }: IncomingMessage): RequestFacts => {
  const one = (name: string) => {
    const value = headers[name];
    return typeof value === "string" ? value : undefined;
  };
  return {
    ...{ remote: socket.remoteAddress ?? "", local: socket.localAddress ?? "" },
    ...{ host: headers.host, origin: headers.origin },
    ...{ authorization: headers.authorization, cookie: headers.cookie },
    ...{ ingressPath: one("x-ingress-path"), ingressUser: one("x-remote-user-name") },
  };
};

const pathOf = ({ url = "/" }: IncomingMessage): string => url.split("?")[0] ?? "/";

const served = "There are /healthz, /readyz and /metrics, and the page where it is served.";
const notServed = failure(404, "not_found", served);
const text = (status: number, said: string, type = "text/plain; charset=utf-8"): Answer => ({
  status,
  text: `${said}\n`,
  headers: { "content-type": type },
});
const fine = text(200, "ok");

/** Everything behind one port. */
class Site {
  readonly #parts: ServerParts;
  readonly #sessions: Sessions;
  /** Null where no page is served. */
  readonly #files: ReadonlyMap<string, PageFile> | null;
  readonly #signal: AbortSignal;
  readonly #upgrades = new WebSocketServer({
    ...{ noServer: true, clientTracking: false, perMessageDeflate: false, maxPayload: 4096 },
  });

  constructor(parts: ServerParts, port: number, signal: AbortSignal) {
    this.#parts = parts;
    this.#signal = signal;
    this.#sessions = new Sessions(parts.http, port, parts.clock);
    this.#files = servesPage(parts.http) ? pageFiles() : null;
  }

  close(): void {
    this.#sessions.close();
    this.#parts.service.live.close();
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const visitor = this.#visitorOf(request);
      const isRefused = "status" in visitor;
      const answer = isRefused ? refusal(visitor) : await this.#answer(request, response, visitor);
      await send(request, response, answer);
    } catch (error) {
      // Who hangs up in the middle of a request has not found a defect.
      if (!request.destroyed || request.complete)
        this.#parts.log.error({ err: error }, "a request to the page could not be served");
      response.destroy();
    }
  }

  /** `taken` is called for a socket that is let in. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer, taken: () => void): void {
    socket.on("error", () => socket.destroy());
    const visitor = this.#visitorOf(request);
    const who = "status" in visitor ? "" : viewerKey(visitor, request);
    const refused = "status" in visitor ? refusal(visitor) : this.#upgradeRefusal(request, visitor, who);
    const { service } = this.#parts;
    if (refused !== null || "status" in visitor) {
      endUpgrade(socket, refused ?? notServed);
      return;
    }
    const { session } = visitor;
    const isWelcome = () =>
      session === null ? hasRole(this.#judged(request)) : this.#sessions.isOpen(session);
    this.#upgrades.handleUpgrade(request, socket, head, (live) => {
      taken();
      service.live.add(live, who, isWelcome);
    });
  }

  #upgradeRefusal(request: IncomingMessage, { role }: Visitor, who: string): Answer | null {
    if (this.#files === null || pathOf(request) !== "/api/live") return notServed;
    if (role === null) return failure(401, "login_required", "Log in first.");
    return this.#parts.service.live.isFullFor(who)
      ? failure(503, "busy", "Too many look at once; try again later.")
      : null;
  }

  #judged(request: IncomingMessage): Visitor | Refusal {
    const { http, inForce } = this.#parts;
    return judge(factsOf(request), { ...(inForce() || http), host: http.host }, this.#sessions);
  }

  #visitorOf(request: IncomingMessage): Visitor | Refusal {
    const { checked } = this.#parts;
    const visitor = this.#judged(request);
    if ("isWrongToken" in visitor) checked.refusedLogin("http.token", request.socket.remoteAddress ?? null);
    return visitor;
  }

  #answer(request: IncomingMessage, response: ServerResponse, visitor: Visitor): Promise<Answer> | Answer {
    const path = pathOf(request);
    const { service, checked } = this.#parts;
    if (this.#files !== null && path.startsWith("/api/")) {
      const [, query = ""] = (request.url ?? "").split("?", 2);
      const asked = { method: request.method ?? "", path: path.slice("/api/".length) };
      const call = {
        ...{ ...asked, query: new URLSearchParams(query) },
        ...{ accept: request.headers.accept ?? "", remote: request.socket.remoteAddress ?? "" },
        ...{ visitor, signal: this.#signal, read: () => bodyOf(request) },
        whileWaited: () => AbortSignal.any([this.#signal, endOf(response)]),
      };
      return answerCall(call, { service, sessions: this.#sessions, checked });
    }
    const file = this.#files?.get(path === "/" ? "/index.html" : path);
    const found = file ? fileAnswer(file, request, visitor) : this.#plain(path, visitor);
    const isRead = request.method === "GET" || request.method === "HEAD";
    return isRead || found === notServed
      ? found
      : failure(405, "method", "This takes GET alone.", { allow: "GET, HEAD" });
  }

  #plain(path: string, { role, via }: Visitor): Promise<Answer> | Answer {
    const { checked, metrics, http, inForce } = this.#parts;
    // A token is there for the programs that read these.
    const isClosed = role === null || (via === null && (inForce() || http).token !== undefined);
    switch (path) {
      case "/healthz":
        return checked.isHealthy() ? fine : text(503, "no link to the broker");
      case "/readyz":
        return checked.isHealthy() && checked.isReady() ? fine : text(503, "broker or platform is away");
      case "/metrics":
        return isClosed
          ? failure(401, "login_required", 'Send "Authorization: Bearer <http.token>".')
          : metrics.page().then((page) => text(200, page.trimEnd(), metricsContentType));
      default:
        return notServed;
    }
  }
}

/** Aborts when nobody waits for the answer any more. */
function endOf(response: ServerResponse): AbortSignal {
  const end = new AbortController();
  response.once("close", () => end.abort());
  return end.signal;
}

const viewerKey = ({ session, via, isIngress }: Visitor, { socket }: IncomingMessage): string =>
  session ?? (isIngress ? via : null) ?? sourceOf(socket.remoteAddress ?? "");

const hasRole = (visitor: Visitor | Refusal): boolean => "role" in visitor && visitor.role !== null;
const refusal = ({ status, error, message }: Refusal): Answer => failure(status, error, message);

async function bodyOf(request: IncomingMessage): Promise<{ readonly body: unknown } | Answer> {
  if (!/^application\/json\s*(?:;|$)/i.test(request.headers["content-type"] ?? ""))
    return failure(415, "media_type", "Send JSON, with the content type application/json.");
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > mostBodyBytes)
      return failure(413, "too_large", `At most ${mostBodyBytes} bytes are read.`, { connection: "close" });
    chunks.push(chunk);
  }
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
    const body: unknown = bytes === 0 ? {} : JSON.parse(text);
    // What nests too deeply for that is handed on to nobody.
    JSON.stringify(body);
    if (typeof body === "object" && body !== null && !Array.isArray(body)) return { body };
    return failure(400, "bad_request", "Send a JSON object.");
  } catch {
    return failure(400, "bad_request", "This is no JSON in UTF-8; check quotes, commas and brackets.");
  }
}

async function send(request: IncomingMessage, response: ServerResponse, answer: Answer): Promise<void> {
  const { status, json, lines, headers } = answer;
  response.writeHead(status, {
    "content-type": lines ? "application/x-ndjson" : "application/json; charset=utf-8",
    "content-security-policy": policy,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    ...(status === 401 && { "www-authenticate": 'Bearer realm="greenhouse2mqtt"' }),
    ...headers,
  });
  if (request.method !== "HEAD" && lines)
    for await (const line of lines) {
      if (response.destroyed) break;
      response.write(`${JSON.stringify(line)}\n`);
    }
  const whole = answer.text ?? (json === undefined ? "" : `${JSON.stringify(json)}\n`);
  response.end(request.method === "HEAD" ? undefined : whole);
}

function endUpgrade(socket: Duplex, { status, json }: Answer): void {
  const body = JSON.stringify(json);
  const head = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\nContent-Type: application/json\r\n`;
  const more = `Cache-Control: no-store\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close`;
  // The other side may never close its half.
  socket.once("finish", () => socket.destroy());
  socket.end(`${head}${more}\r\n\r\n${body}`);
}

interface PageFile {
  readonly type: string;
  readonly plain: Buffer;
  readonly gzipped: Buffer;
  /** Its name has a hash of what is in it. */
  readonly isHashed: boolean;
}

const types: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  svg: "image/svg+xml",
};

/** The built page, which lies beside this folder; none where it was not built. */
function pageFiles(): ReadonlyMap<string, PageFile> {
  const root = fileURLToPath(new URL("../page/", import.meta.url));
  const files = new Map<string, PageFile>();
  if (!existsSync(join(root, "index.html"))) return files;
  for (const name of readdirSync(root, { recursive: true, encoding: "utf8" })) {
    const type = types[extname(name).slice(1)];
    if (type === undefined) continue;
    const plain = readFileSync(join(root, name));
    const isHashed = name.startsWith("assets");
    files.set(`/${name.split(sep).join("/")}`, { type, plain, gzipped: gzipSync(plain), isHashed });
  }
  return files;
}

/** Home Assistant's ingress has lost encoded answers, so there they go plain. */
function fileAnswer(
  { type, plain, gzipped, isHashed }: PageFile,
  { headers }: IncomingMessage,
  visitor: Visitor,
): Answer {
  const isGzipped = !visitor.isIngress && /\bgzip\b/.test(headers["accept-encoding"] ?? "");
  return {
    status: 200,
    text: isGzipped ? gzipped : plain,
    headers: {
      "content-type": type,
      "cache-control": isHashed ? "public, max-age=31536000, immutable" : "no-store",
      vary: "accept-encoding",
      ...(isGzipped && { "content-encoding": "gzip" }),
    },
  };
}
