import { createHash, timingSafeEqual } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { isIPv6 } from "node:net";
import type { Configuration } from "../config/schema.js";
import type { Logger } from "../runtime/log.js";
import { isLoopback, SilentSockets } from "../runtime/sockets.js";

export interface RequestFacts {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly host: string | undefined;
  readonly origin: string | undefined;
  readonly authorization: string | undefined;
}

export interface Refused {
  readonly status: 401 | 403 | 405 | 421;
  readonly text: string;
  /** A token was shown and it was the wrong one. */
  readonly wrongToken?: true;
}

const metricsContentType = "text/plain; version=0.0.4; charset=utf-8";

/** What anybody who reaches the server may see. */
const open: ReadonlySet<string> = new Set(["/healthz", "/readyz"]);

/** Why a request is not served; null where it is. */
export function refusalOf(request: RequestFacts, access: Listener): Refused | null {
  const host = request.host ?? "";
  if (!isOwnHost(host, access))
    return { status: 421, text: "this address is not served here; see http.allowed_hosts" };
  const { origin, method } = request;
  if (origin !== undefined && origin !== `http://${host}`) return { status: 403, text: "foreign origin" };
  if (method !== "GET" && method !== "HEAD") return { status: 405, text: "only GET" };
  return open.has(request.path) ? null : tokenRefusal(request.authorization, access);
}

function tokenRefusal(authorization: string | undefined, { host, token }: Listener): Refused | null {
  // Where other machines reach the server nothing but health is served without a token.
  if (token === undefined)
    return !isLoopback(host)
      ? { status: 401, text: "set http.token to see more than the health checks" }
      : null;
  const shown = /^Bearer +(\S+) *$/i.exec(authorization ?? "")?.[1];
  if (shown === undefined)
    return { status: 401, text: 'a token is needed: send "Authorization: Bearer <http.token>"' };
  return isSame(shown, token) ? null : { status: 401, text: "wrong token", wrongToken: true };
}

/** Compares digests, so that the time taken tells neither the length nor how much of the token was right. */
function isSame(shown: string, token: string): boolean {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  return timingSafeEqual(digest(shown), digest(token));
}

/** A page on the internet that resolves to this address must not get answers, so only known names count. */
function isOwnHost(host: string, { host: own, allowed_hosts: allowedHosts }: Listener): boolean {
  const name = host.replace(/:\d+$/, "").toLowerCase();
  return [own, "localhost", "127.0.0.1", "[::1]", ...allowedHosts].some((known) => hostName(known) === name);
}

/** As it stands in a Host header: an IPv6 address is in brackets there, in its short form and without a zone. */
function hostName(known: string): string {
  const bare = known.replace(/^\[(.*)\]$/, "$1").replace(/%.*$/, "");
  return isIPv6(bare) ? new URL(`http://[${bare}]`).hostname : known.toLowerCase();
}

export type Listener = Exclude<Configuration["http"], false>;

/** How the bridge is. */
interface Checked {
  isHealthy(): boolean;
  isReady(): boolean;
  /** Somebody showed a wrong token; from which address. */
  wrongToken(address: string | null): void;
}

/** The page of `/metrics`. */
interface Page {
  page(): Promise<string>;
}

// A limit of Node's own would turn away newcomers instead, for as long as somebody holds sockets open.
const maxSockets = 50;

/** Serves `/healthz`, `/readyz` and `/metrics` until the signal aborts. A busy port is a warning, not a reason to stop. */
export async function serveHttp(
  http: Listener,
  /** Asked for every request, so that a new token or name counts at once. */
  inForce: () => Configuration["http"],
  checked: Checked,
  metrics: Page,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  const sockets = new SilentSockets(maxSockets, () => undefined);
  const timeouts = { headersTimeout: 5_000, requestTimeout: 5_000, connectionsCheckingInterval: 1_000 };
  const server = createServer(timeouts, (request, response) => {
    sockets.add(request.socket);
    void verdict(request, { ...(inForce() || http), host: http.host }, checked, metrics).then((answer) =>
      send(request, response, answer),
    );
  });
  server.on("connection", (socket) => sockets.add(socket));
  if (!(await isListening(server, http, log))) return;
  await new Promise<void>((resolve) => {
    const close = () => {
      server.closeAllConnections();
      server.close(() => resolve());
    };
    if (signal.aborted) close();
    else signal.addEventListener("abort", close, { once: true });
  });
}

function isListening(server: Server, { host, port }: Listener, log: Logger): Promise<boolean> {
  return new Promise((resolve) => {
    server.once("error", (error) => {
      log.warn(
        { host, port, reason: error.message },
        "no health checks and no metrics: set http.port to a free port, or http: false",
      );
      resolve(false);
    });
    server.listen(port, host, () => resolve(true));
  });
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly type?: string;
}

function send(request: IncomingMessage, response: ServerResponse, { status, text, type }: Answer): void {
  response.writeHead(status, {
    "content-type": type ?? "text/plain; charset=utf-8",
    "content-security-policy": "default-src 'none'",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    ...(status === 401 && { "www-authenticate": 'Bearer realm="greenhouse2mqtt"' }),
  });
  response.end(request.method === "HEAD" ? undefined : `${text}\n`);
}

async function verdict(
  request: IncomingMessage,
  access: Listener,
  checked: Checked,
  metrics: Page,
): Promise<Answer> {
  const { headers, method = "", url = "/" } = request;
  const path = url.split("?")[0] ?? "/";
  const { host, origin, authorization } = headers;
  const refused = refusalOf({ method, path, host, origin, authorization }, access);
  if (refused?.wrongToken) checked.wrongToken(request.socket.remoteAddress ?? null);
  if (refused !== null) return refused;
  switch (path) {
    case "/healthz":
      return checked.isHealthy() ? ok : { status: 503, text: "no link to the broker" };
    case "/readyz":
      return checked.isHealthy() && checked.isReady()
        ? ok
        : { status: 503, text: "broker or platform is away" };
    case "/metrics":
      return { status: 200, text: (await metrics.page()).trimEnd(), type: metricsContentType };
    default:
      return { status: 404, text: "there are /healthz, /readyz and /metrics" };
  }
}

const ok = { status: 200, text: "ok" };
