import { ignored } from "../runtime/failures.js";
import { once } from "node:events";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { extname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { type WebSocket, WebSocketServer } from "ws";
import { Arrivals } from "../runtime/arrivals.js";
import { PacedUpgrades } from "../runtime/paced-reading.js";
import { receiving } from "../runtime/socket-limits.js";
import { SilentSockets } from "../runtime/sockets.js";
import { judge, placeOf, servesPage, type Visitor } from "./access.js";
import { type Answer, busy, failure, send, toldTo, tooManyRequests } from "./answer.js";
import { announce } from "./mdns-announcement.js";
import { Pace, payersOf } from "./pace.js";
import { Pipelines } from "./pipelines.js";
import { loginRoutes } from "./login-routes.js";
import { closePort, maxSockets, openPort, type OpenPort, type Port } from "./port.js";
import {
  aboutBridge,
  type Asked,
  type AskedOfBridge,
  isProbe,
  type Route,
  routeAt,
  type Routes,
  type Served,
} from "./route.js";
import { apiRoutes, plainRoutes } from "./routes.js";
import type { Faults } from "./faults.js";
import type { LiveViews } from "./live.js";
import { roleRefusal } from "./roles.js";
import type { PageService } from "./service.js";
import { Sessions } from "./sessions.js";

const timeouts = { headersTimeout: 5_000, requestTimeout: 5_000, connectionsCheckingInterval: 1_000 };

/** Serves the health and metrics of a bridge, and its page with the API. */
export const serveHttp = (
  service: PageService,
  port: Port,
  signal: AbortSignal,
  opened?: Promise<OpenPort | null>,
): Promise<void> =>
  servePort(port, () => oneBridge(service, servesPage(port.listener()) ? "page" : "nothing"), signal, opened);

/** Serves until the signal aborts; returns at once if the port is busy. `serve` is called once the users are known. */
export async function servePort(
  at: Port,
  serve: () => Served,
  signal: AbortSignal,
  opening = openPort(at),
): Promise<void> {
  const opened = await opening;
  try {
    if (opened !== null) await serveOpen(at, opened, serve, signal);
  } catch (error) {
    // A closed port is better than one that never answers.
    if (opened !== null) closePort(opened);
    throw error;
  }
}

async function serveOpen(
  at: Port,
  opened: OpenPort,
  serve: () => Served,
  signal: AbortSignal,
): Promise<void> {
  const { firstOperator, faults } = at;
  await firstOperator.load(at.listener());
  const http = at.listener();
  const { server, sockets, reading } = pacedServer(at);
  // Logins are read before anybody is let in, as the first visitor may have logged in before the restart.
  const read = at.sessions.read();
  read.catch(ignored);
  await read.catch(ignored);
  const address = opened.handle.address();
  const port = typeof address === "string" ? 0 : (address?.port ?? 0);
  const sessions = await earlierSessions(at, port, read);
  const served = serve();
  listen(server, new Site(at, served, sessions, reading), { ...reading, sockets, faults });
  await takeOver(server, opened);
  at.onListening?.(port, http, firstOperator.code);
  const page = served.run(signal).catch((error: unknown) => faults.note(error));
  const named = announce({ listener: http, port, clock: at.clock, log: at.log }, signal);
  if (!signal.aborted) await once(signal, "abort");
  await sessions.close();
  server.closeAllConnections();
  await once(server.close(), "close");
  opened.handle.close();
  await Promise.all([page, named]);
}

/** A server that reads its sockets at a limited pace. */
function pacedServer({ clock, faults }: Port) {
  const sockets = new SilentSockets(maxSockets, () => undefined);
  const pipelines = new Pipelines(clock);
  const readings = new PacedUpgrades(receiving.pageHttp, receiving.pageLive, clock);
  const arrivals = new Arrivals(clock);
  const server = serverFor((socket) =>
    faults.attempt(() => {
      sockets.add(socket);
      if (!arrivals.isFollowed(socket)) arrivals.follow(socket, [readings.onOpen(socket)]);
      pipelines.onOpen(socket);
    }),
  );
  return { server, sockets, reading: { pipelines, readings, arrivals } };
}

function serverFor(onSocket: (socket: Socket) => void): Server {
  const server = createServer(timeouts);
  return server.on("connection", (socket) => {
    // Handles errors also while no request owns the socket. A socket that is read again comes here again.
    socket.off("error", close).on("error", close);
    onSocket(socket);
  });
}

async function takeOver(server: Server, { handle, waiting }: OpenPort): Promise<void> {
  const onSocket = (socket: Socket) => {
    server.emit("connection", socket);
    socket.resume();
  };
  // Node does not pass on the handle of a socket with a path.
  if (typeof handle.address() === "string")
    handle.removeAllListeners("connection").on("connection", onSocket);
  else await once(server.listen(handle), "listening");
  for (const socket of waiting) onSocket(socket);
}

async function earlierSessions(at: Port, port: number, read: Promise<string | null>) {
  const { clock, log, sessions: kept } = at;
  const users = () => at.listener().users;
  const sessions = new Sessions({ users, port }, { ...kept, read: () => read }, clock, log);
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

/** Listeners of a socket must not throw: nobody would catch it. */
function listen(server: Server, site: Site, { sockets, pipelines, faults }: Listening): void {
  // Node reports here if no file descriptor is left to accept with.
  server.on("error", (error) => faults.note(error));
  server.on("request", (request, response) => {
    const { socket } = request;
    const next = pipelines.next(socket);
    if (next === "ignore") return;
    // A client that waits for an answer is not silent.
    sockets.spoke(socket);
    response.once("close", () => {
      pipelines.onAnswer(socket);
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
 * Some clients offer HTTP/2 with an ordinary request; it is read again without the offer. A client that wants WebSocket
 * where there is none is disconnected after the answer.
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

/** Most live connections of one user or address over all accounts, and of all together. */
const mostLivesOfOne = 40;
const mostLives = 1_000;

/** How long a client has to take the close frame with its reason. */
const goodbyeMs = 2_000;

const upgradeOptions = {
  noServer: true,
  clientTracking: false,
  perMessageDeflate: false,
  maxPayload: 4096,
  // A browser that sleeps never sends its close frame.
  closeTimeout: goodbyeMs,
};

/** How the sockets of a port are read. */
interface Reading {
  readonly pipelines: Pipelines;
  readonly readings: PacedUpgrades;
  readonly arrivals: Arrivals;
}

/** Everything behind one port. */
class Site {
  readonly #port: Port;
  readonly #served: Served;
  readonly #sessions: Sessions;
  readonly #pipelines: Pipelines;
  readonly #readings: PacedUpgrades;
  readonly #arrivals: Arrivals;
  readonly #pace: Pace;
  /** The user or address that each connection counts for. */
  readonly #lives = new Map<WebSocket, string>();
  readonly #upgrades = new WebSocketServer(upgradeOptions);

  constructor(port: Port, served: Served, sessions: Sessions, { pipelines, readings, arrivals }: Reading) {
    this.#port = port;
    this.#served = served;
    this.#sessions = sessions;
    this.#pipelines = pipelines;
    this.#readings = readings;
    this.#arrivals = arrivals;
    this.#pace = new Pace(port.clock);
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    response.on("error", () => response.destroy());
    const readAt = this.#arrivals.since(request.socket);
    try {
      const visitor = this.#judge(request);
      const admitted = this.#tooFast(request, visitor) ?? visitor;
      const isRefused = "status" in admitted;
      const answer = isRefused ? admitted : await this.#answer({ request, readAt }, admitted, gone.signal);
      await send(response, await toldTo(request, answer));
    } catch (error) {
      // A client that hangs up within a request is no defect.
      if (!request.destroyed || request.complete) this.#port.faults.note(error);
      if (response.headersSent) response.destroy();
      else await send(response, fault).catch(() => response.destroy());
    }
  }

  isLive(request: IncomingMessage): boolean {
    return isWebSocket(request) && this.#served.isLive(pathOf(request));
  }

  /** `taken` is called once a socket is let in. */
  upgrade(request: IncomingMessage, head: Buffer, taken: () => void): void {
    const { socket } = request;
    const asking = this.#viewer(request);
    const viewer = this.#tooFast(request, asking) ?? asking;
    const live = "status" in viewer ? viewer : this.#liveFor(request, viewer);
    if ("status" in live) refuse(request, live);
    if ("status" in viewer || "status" in live) return;
    const place = placeOf(viewer);
    const made: { socket: WebSocket | null } = { socket: null };
    this.#readings.onUpgrade(socket, { onFlood: () => this.#tooManyFrames(made.socket) });
    this.#upgrades.handleUpgrade(request, socket, head, (opened) => {
      taken();
      made.socket = opened;
      this.#lives.set(opened, place);
      opened.once("close", () => this.#lives.delete(opened));
      live.add(opened, { place, role: viewer.role }, () => this.#isSameFor(request, viewer, live));
    });
  }

  #tooManyFrames(socket: WebSocket | null): void {
    socket?.close(1008, "too many messages");
    // Nothing more is read from it, not even its close frame.
    this.#port.clock.after(goodbyeMs, () => socket?.terminate());
  }

  /** The live views for a viewer, or why it gets none. */
  #liveFor(request: IncomingMessage, viewer: Visitor): LiveViews | Answer {
    const live = this.#served.live(pathOf(request), viewer);
    if ("status" in live) return live;
    const place = placeOf(viewer);
    const own = [...this.#lives.values()].filter((one) => one === place).length;
    const isFull = own >= mostLivesOfOne || this.#lives.size >= mostLives;
    return isFull || live.isFullFor(place, viewer.role)
      ? busy("Too many look at once; try again later.")
      : live;
  }

  /** Whether the viewer would be let in again, to the same views with the same role. */
  #isSameFor(request: IncomingMessage, { role }: Visitor, live: LiveViews): boolean {
    const viewer = this.#viewer(request);
    return "who" in viewer && viewer.role === role && this.#served.live(pathOf(request), viewer) === live;
  }

  /** The visitor who wants to look, or the answer that refuses him. */
  #viewer(request: IncomingMessage): Visitor | Answer {
    const visitor = this.#judge(request);
    return "status" in visitor ? visitor : (roleRefusal(visitor, "viewer") ?? visitor);
  }

  #judge(request: IncomingMessage): Visitor | Answer {
    const { listener, status, everybody } = this.#port;
    if (everybody !== undefined) return everybody;
    const judged = judge(request, listener(), this.#sessions);
    if ("isWrongToken" in judged) status.refusedLogin("http.token", request.socket.remoteAddress ?? null);
    return judged;
  }

  /** Refuses a visitor who asks faster than any page, and ends the socket after that; null where he may go on. */
  #tooFast(request: IncomingMessage, asking: Visitor | Answer): Answer | null {
    const { socket } = request;
    // Whoever watches the bridge would restart it if these failed.
    if (isProbe(pathOf(request))) return null;
    const known = this.#sessions.knownAs(request.headers.cookie ?? "");
    const wait = this.#pace.take(payersOf(asking, socket, known));
    if (wait === 0) return null;
    this.#pipelines.end(socket);
    return tooManyRequests(wait);
  }

  async #answer(
    read: Pick<Asked, "request" | "readAt">,
    visitor: Visitor,
    gone: AbortSignal,
  ): Promise<Answer> {
    const { request } = read;
    const { method = "" } = request;
    const found = this.#served.route(pathOf(request), visitor);
    if (found === null && this.#served.isLive(pathOf(request))) return notUpgraded;
    if (found === null) return failure(404, "not_found", whatIsServed);
    if ("status" in found) return found;
    const { route: first, id } = found;
    const asked = method === "HEAD" ? "GET" : method;
    const route = first.method === asked ? first : first.other;
    if (route?.method !== asked) {
      const allow = first.other ? "GET, HEAD, POST" : first.method === "GET" ? "GET, HEAD" : "POST";
      return failure(405, "method", `This takes ${allow} alone.`, { allow });
    }
    const refusal = roleRefusal(visitor, route.role);
    if (refusal !== null) return refusal;
    const review = () => this.#served.review();
    return route.answer({ ...read, port: this.#port, sessions: this.#sessions, visitor, id, gone, review });
  }
}

/** Refuses an upgrade with an ordinary answer. */
function refuse(request: IncomingMessage, answer: Answer): void {
  const { socket } = request;
  const response = new ServerResponse(request);
  response.assignSocket(socket);
  // The other side may never close its half.
  response.once("finish", () => socket.destroySoon());
  const refusal = { ...answer, headers: { ...answer.headers, connection: "close" } };
  send(response, refusal).catch(() => socket.destroy());
}

const pathOf = ({ url = "/" }: IncomingMessage): string => url.split("?", 1)[0] ?? "/";

const fault = failure(
  500,
  "fault",
  "This could not be answered, which is a defect; the log of the bridge says more.",
);
const notUpgraded = failure(
  426,
  "upgrade_required",
  "This speaks WebSocket alone. A proxy before the bridge has to pass on the headers Upgrade and Connection, in nginx: proxy_http_version 1.1; proxy_set_header Upgrade $http_upgrade; proxy_set_header Connection $connection_upgrade; docs/page.md has an example.",
  { upgrade: "websocket", connection: "Upgrade" },
);
const whatIsServed =
  "There are /livez, /healthz, /readyz and /metrics, and where the page is served what docs/page.md lists.";

const types: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".webmanifest": "application/manifest+json",
};

type FileAnswer = (asked: { readonly request: IncomingMessage; readonly visitor: Visitor }) => Answer;

/** The files of the built page, by path, from the folder beside this one; empty where it was not built. */
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

export const pageRoutes = (): Routes =>
  Object.fromEntries(
    Object.entries(pageFiles()).map(([path, answer]) => [path, { method: "GET", role: null, answer }]),
  );

const shownRoutes = {
  nothing: () => ({}),
  api: () => apiRoutes,
  page: () => ({ ...loginRoutes, ...apiRoutes, ...pageRoutes() }),
};

/** Serves one bridge behind a port. */
export function oneBridge(
  service: PageService,
  what: keyof typeof shownRoutes,
  more: Routes<AskedOfBridge> = {},
): Served {
  const hasPage = what === "page";
  const all = { ...plainRoutes, ...shownRoutes[what](), ...more };
  const routes = new Map<string, Route<AskedOfBridge>>(Object.entries(all));
  return {
    route: (path) => {
      const found = routeAt(routes, path);
      return found && { route: aboutBridge(found.route, service), id: found.id };
    },
    isLive: (path) => hasPage && path === "/api/live",
    live: () => service.live,
    review: () => service.live.review(),
    run: (signal) => (hasPage ? service.run(signal) : Promise.resolve()),
  };
}

function fileAnswer(plain: Buffer, path: string, type: string): FileAnswer {
  const gzipped = gzipSync(plain);
  // Names there contain a hash of the content.
  const kept = path.startsWith("/assets/") ? "public, max-age=31536000, immutable" : "no-store";
  const headers = { "content-type": type, "cache-control": kept, vary: "accept-encoding" };
  return ({ request, visitor }) => {
    // Home Assistant's ingress has lost encoded answers, so it gets the plain text.
    const isGzipped = !visitor.isIngress && /\bgzip\b/.test(String(request.headers["accept-encoding"]));
    if (!isGzipped) return { status: 200, body: plain, headers };
    return { status: 200, body: gzipped, headers: { ...headers, "content-encoding": "gzip" } };
  };
}
