import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Logger } from "../runtime/logger.js";
import { SilentSockets } from "../runtime/silent-sockets.js";
import { refusalOf, type HttpAccess } from "./access.js";
import { metricsContentType } from "./metrics-text.js";

export interface HttpSettings {
  readonly host: string;
  readonly port: number;
  /** Asked for every request, so that a new token or name counts at once. */
  readonly access: () => Pick<HttpAccess, "allowedHosts" | "token" | "isExposed">;
}

export interface HttpView {
  /** The process works and its link to the broker stands. */
  isHealthy(): boolean;
  /** The platform answers too. */
  isReady(): boolean;
  /** The page of `/metrics`. */
  metrics(): string;
  /** Somebody showed a wrong token; from which address. */
  wrongToken?(address: string | null): void;
}

// A limit of Node's own would turn away newcomers instead, for as long as somebody holds sockets open.
const maxSockets = 50;

/** Serves `/healthz`, `/readyz` and `/metrics` until the signal aborts. A busy port is a warning, not a reason to stop. */
export async function serveHttp(
  settings: HttpSettings,
  view: HttpView,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  const sockets = new SilentSockets(maxSockets, () => undefined);
  const timeouts = { headersTimeout: 5_000, requestTimeout: 5_000, connectionsCheckingInterval: 1_000 };
  const server = createServer(timeouts, (request, response) => {
    sockets.add(request.socket);
    answer(request, response, settings, view);
  });
  server.on("connection", (socket) => {
    sockets.add(socket);
  });
  if (!(await isListening(server, settings, log))) return;
  await new Promise<void>((resolve) => {
    const close = () => {
      server.closeAllConnections();
      server.close(() => {
        resolve();
      });
    };
    if (signal.aborted) close();
    else signal.addEventListener("abort", close, { once: true });
  });
}

function isListening(server: Server, { host, port }: HttpSettings, log: Logger): Promise<boolean> {
  return new Promise((resolve) => {
    server.once("error", (error) => {
      log.warn(
        { host, port, reason: error.message },
        "no health checks and no metrics: set http.port to a free port, or http: false",
      );
      resolve(false);
    });
    server.listen(port, host, () => {
      resolve(true);
    });
  });
}

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly type?: string;
}

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  settings: HttpSettings,
  view: HttpView,
): void {
  const { status, text, type = "text/plain; charset=utf-8" } = verdict(request, settings, view);
  response.writeHead(status, {
    "content-type": type,
    "content-security-policy": "default-src 'none'",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    ...(status === 401 && { "www-authenticate": 'Bearer realm="greenhouse2mqtt"' }),
  });
  response.end(request.method === "HEAD" ? undefined : `${text}\n`);
}

function verdict(request: IncomingMessage, settings: HttpSettings, view: HttpView): Answer {
  const { headers, method = "", url = "/" } = request;
  const path = url.split("?")[0] ?? "/";
  const { host, origin, authorization } = headers;
  const refused = refusalOf(
    { method, path, host, origin, authorization },
    { host: settings.host, ...settings.access() },
  );
  if (refused === null) return page(path, view);
  if (refused.wrongToken) view.wrongToken?.(request.socket.remoteAddress ?? null);
  return refused;
}

function page(path: string, view: HttpView): Answer {
  switch (path) {
    case "/healthz":
      return view.isHealthy() ? ok : { status: 503, text: "no link to the broker" };
    case "/readyz":
      return view.isHealthy() && view.isReady() ? ok : { status: 503, text: "broker or platform is away" };
    case "/metrics":
      return { status: 200, text: view.metrics().trimEnd(), type: metricsContentType };
    default:
      return { status: 404, text: "there are /healthz, /readyz and /metrics" };
  }
}

const ok = { status: 200, text: "ok" };
