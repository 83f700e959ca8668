import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { extname, join, sep } from "node:path";
import { unescape } from "node:querystring";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { WebSocketServer } from "ws";
import { SilentSockets } from "../runtime/sockets.js";
import { judge, placeOf, servesPage, type Visitor } from "./access.js";
import { type Answer, busy, failure, loginRequired, send, tooManyRequests } from "./answer.js";
import { announce } from "./nearby.js";
import { Pace, payersOf } from "./pace.js";
import { Pipelines } from "./pipelines.js";
import { apiRoutes, plainRoutes, type Route, type Routes } from "./routes.js";
import type { Faults } from "./faults.js";
import type { PageService } from "./service.js";
import { Sessions } from "./sessions.js";

// A limit of Node's own would turn away newcomers instead, for as long as one client holds sockets open.
const maxSockets = 50;

/** Serves health, metrics, and the page with its API until the signal aborts. A busy port is a warning, not a reason to stop. */
export async function serveHttp(service: PageService, signal: AbortSignal): Promise<void> {
  const { firstOperator } = service.sources;
  await firstOperator.load(service.sources.listener());
  const http = service.sources.listener();
  const sockets = new SilentSockets(maxSockets, () => undefined);
  const timeouts = { headersTimeout: 5_000, requestTimeout: 5_000, connectionsCheckingInterval: 1_000 };
  const server = createServer(timeouts);
  const { faults } = service;
  const pipelines = new Pipelines(service.sources.clock);
  server.on("connection", (socket) => {
    // Also while no request owns it; one that is read again comes here again.
    socket.off("error", close).on("error", close);
    faults.attempt(() => {
      sockets.add(socket);
      pipelines.opened(socket);
    });
  });
  // Before anybody is let in: who comes first may have logged in before the restart.
  const read = service.sources.sessions.read();
  read.catch(() => undefined);
  await read.catch(() => undefined);
  try {
    await once(server.listen(http.port, http.host), "listening");
  } catch (error) {
    const said = "no page, no health checks and no metrics: set http.port to a free port, or http: false";
    service.sources.log.warn({ host: http.host, port: http.port, reason: String(error) }, said);
    return;
  }
  const { port } = server.address() as AddressInfo;
  const sessions = await earlierSessions(service, port, read);
  listen(server, new Site(service, sessions, pipelines), { sockets, pipelines, faults });
  service.sources.onListening?.(port, http, firstOperator.code);
  const page = servesPage(http) ? service.run(signal).catch((error: unknown) => faults.note(error)) : null;
  const named = announce({ listener: http, port, log: service.sources.log }, signal);
  if (!signal.aborted) await once(signal, "abort");
  await sessions.close();
  server.closeAllConnections();
  await once(server.close(), "close");
  await Promise.all([page, named]);
}

async function earlierSessions({ sources }: PageService, port: number, read: Promise<string | null>) {
  const { clock, log, sessions: kept } = sources;
  const users = () => sources.listener().users;
  const sessions = new Sessions({ users, port }, { clock, log, kept: { ...kept, read: () => read } });
  await sessions.restore();
  return sessions;
}

function close(this: Socket): void {
  this.destroy();
}

interface Listening {
  readonly sockets: SilentSockets;
  readonly pipelines: Pipelines;
  readonly faults: Faults;
}

/** Nothing that is thrown in a listener of a socket would be caught by anybody, so nothing is. */
function listen(server: Server, site: Site, { sockets, pipelines, faults }: Listening): void {
  // A system without file descriptors to accept with says so here.
  server.on("error", (error) => faults.note(error));
  server.on("request", (request, response) => {
    const { socket } = request;
    const next = pipelines.next(socket);
    if (next === "ignore") return;
    // A client that waits for an answer is not silent.
    sockets.spoke(socket);
    response.once("close", () => {
      pipelines.answered(socket);
      if (!socket.destroyed) sockets.add(socket);
    });
    if (next === "serve") void site.serve(request, response);
    else send(response, tooManyRequests(0)).catch(() => socket.destroy());
  });
  server.on("upgrade", (request, _, head) => {
    const { socket } = request;
    try {
      if (pipelines.isEnded(socket)) socket.destroySoon();
      else if (site.isLive(request)) site.upgrade(request, head, () => sockets.spoke(socket));
      else readAgain(server, request, head);
    } catch (error) {
      faults.note(error);
      socket.destroy();
    }
  });
}

/**
 * Some clients offer HTTP/2 with an ordinary request; it is read once more, without the offer. One that would speak WebSocket
 * where nobody does has nothing to ask after the answer.
 */
function readAgain(server: Server, request: IncomingMessage, head: Buffer): void {
  const { method = "", url = "", httpVersion, rawHeaders, socket } = request;
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const [name = "", value = ""] = rawHeaders.slice(at, at + 2);
    if (!/^(?:upgrade|connection|http2-settings)$/i.test(name)) lines.push(`${name}: ${value}`);
  }
  if (isWebSocket(request)) lines.push("connection: close");
  socket.unshift(Buffer.concat([Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1"), head]));
  server.emit("connection", socket);
}

const isWebSocket = ({ headers }: IncomingMessage) => /\bwebsocket\b/i.test(headers.upgrade ?? "");

/** Everything behind one port. */
class Site {
  readonly #service: PageService;
  readonly #sessions: Sessions;
  readonly #pipelines: Pipelines;
  readonly #pace: Pace;
  /** By path; an id behind it is not part of it. */
  readonly #routes: ReadonlyMap<string, Route>;
  readonly #upgrades = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    perMessageDeflate: false,
    maxPayload: 4096,
  });

  constructor(service: PageService, sessions: Sessions, pipelines: Pipelines) {
    this.#service = service;
    this.#sessions = sessions;
    this.#pipelines = pipelines;
    this.#pace = new Pace(service.sources.clock);
    const page = servesPage(service.sources.listener()) ? { ...apiRoutes, ...pageRoutes() } : {};
    this.#routes = new Map(Object.entries({ ...plainRoutes, ...page }));
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    response.on("error", () => response.destroy());
    try {
      const visitor = this.#judged(request);
      const admitted = this.#tooFast(request, visitor) ?? visitor;
      const isRefused = "status" in admitted;
      await send(response, isRefused ? admitted : await this.#answer(request, admitted, gone.signal));
    } catch (error) {
      // A client that hangs up in the middle of a request has not found a defect.
      if (!request.destroyed || request.complete) this.#service.faults.note(error);
      if (response.headersSent) response.destroy();
      else await send(response, fault).catch(() => response.destroy());
    }
  }

  isLive(request: IncomingMessage): boolean {
    const isPage = this.#routes.has("/api/session");
    return isPage && request.url?.split("?")[0] === "/api/live" && isWebSocket(request);
  }

  /** `taken` is called for a socket that is let in. */
  upgrade(request: IncomingMessage, head: Buffer, taken: () => void): void {
    const { socket } = request;
    const { live } = this.#service;
    const asking = this.#viewer(request);
    const viewer = this.#tooFast(request, asking) ?? asking;
    if ("status" in viewer || live.isFullFor(placeOf(viewer), viewer.role)) {
      const response = new ServerResponse(request);
      response.assignSocket(socket);
      // The other side may never close its half.
      response.once("finish", () => socket.destroySoon());
      const answer = "status" in viewer ? viewer : busy("Too many look at once; try again later.");
      const refusal = { ...answer, headers: { ...answer.headers, connection: "close" } };
      send(response, refusal).catch(() => socket.destroy());
      return;
    }
    this.#upgrades.handleUpgrade(request, socket, head, (opened) => {
      taken();
      live.add(opened, { place: placeOf(viewer), role: viewer.role }, () => "who" in this.#viewer(request));
    });
  }

  /** The visitor that looks, or why it may not. */
  #viewer(request: IncomingMessage): Visitor | Answer {
    const visitor = this.#judged(request);
    return "status" in visitor ? visitor : (roleRefusal(visitor, "viewer") ?? visitor);
  }

  #judged(request: IncomingMessage): Visitor | Answer {
    const { listener, status } = this.#service.sources;
    const judged = judge(request, listener(), this.#sessions);
    if ("isWrongToken" in judged) status.refusedLogin("http.token", request.socket.remoteAddress ?? null);
    return judged;
  }

  /** Why somebody who asks faster than any page is not answered now; the socket ends with that. */
  #tooFast(request: IncomingMessage, asking: Visitor | Answer): Answer | null {
    const { url = "", socket } = request;
    // Where these fail, whoever watches the bridge starts it anew.
    if (this.#routes.get(url.split("?", 1)[0] ?? "")?.isProbe) return null;
    const wait = this.#pace.take(payersOf(asking, socket));
    if (wait === 0) return null;
    this.#pipelines.end(socket);
    return tooManyRequests(wait);
  }

  async #answer(request: IncomingMessage, visitor: Visitor, gone: AbortSignal): Promise<Answer> {
    const { url = "/", method = "" } = request;
    const [path = "/"] = url.split("?", 1);
    const [, place = path, name = ""] = /^(\/api\/\w+\/)(.+)$/.exec(path) ?? [];
    const route = this.#routes.get(place);
    if (route === undefined) return failure(404, "not_found", served);
    if (route.method !== (method === "HEAD" ? "GET" : method)) {
      const allow = route.method === "GET" ? "GET, HEAD" : "POST";
      return failure(405, "method", `This takes ${allow} alone.`, { allow });
    }
    const refusal = roleRefusal(visitor, route.role);
    if (refusal !== null) return refusal;
    const service = this.#service;
    const sessions = this.#sessions;
    return route.answer({ service, sessions, request, visitor, id: unescape(name), gone });
  }
}

const fault = failure(
  500,
  "fault",
  "This could not be answered, which is a defect; the log of the bridge says more.",
);
const served =
  "There are /healthz, /readyz and /metrics, and where the page is served what docs/page.md lists.";

function roleRefusal({ role }: Visitor, needed: Route["role"]): Answer | null {
  if (needed === null || role === needed || role === "operator") return null;
  if (role === null) return loginRequired;
  return failure(403, "role", "A viewer may look; log in as an operator to act.");
}

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** The built page, which lies beside this folder; none where it was not built. */
type FileAnswer = (asked: { readonly request: IncomingMessage; readonly visitor: Visitor }) => Answer;

export function pageFiles(): Readonly<Record<string, FileAnswer>> {
  const root = fileURLToPath(new URL("../page/", import.meta.url));
  const names = existsSync(join(root, "index.html")) ? readdirSync(root, { recursive: true }) : [];
  const files = names.map(String).flatMap((name) => {
    const type = types[extname(name)];
    const path = name === "index.html" ? "/" : `/${name.split(sep).join("/")}`;
    return type === undefined
      ? []
      : [[path, fileAnswer(readFileSync(join(root, name)), path, type)] as const];
  });
  return Object.fromEntries(files);
}

const pageRoutes = (): Routes =>
  Object.fromEntries(
    Object.entries(pageFiles()).map(([path, answer]) => [path, { method: "GET", role: null, answer }]),
  );

function fileAnswer(plain: Buffer, path: string, type: string): FileAnswer {
  const gzipped = gzipSync(plain);
  // A name there has a hash of what is in it.
  const kept = path.startsWith("/assets/") ? "public, max-age=31536000, immutable" : "no-store";
  const headers = { "content-type": type, "cache-control": kept, vary: "accept-encoding" };
  return ({ request, visitor }) => {
    // Home Assistant's ingress has lost encoded answers, so there it goes plain.
    const isGzipped = !visitor.isIngress && /\bgzip\b/.test(String(request.headers["accept-encoding"]));
    if (!isGzipped) return { status: 200, body: plain, headers };
    return { status: 200, body: gzipped, headers: { ...headers, "content-encoding": "gzip" } };
  };
}
