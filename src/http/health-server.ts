import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Logger } from "../runtime/logger.js";

export interface HealthServerSettings {
  readonly host: string;
  readonly port: number;
  /** Further names a browser may use for this address. */
  readonly allowedHosts: readonly string[];
}

export interface HealthView {
  /** The process works and its link to the broker stands. */
  isHealthy(): boolean;
  /** The platform answers too. */
  isReady(): boolean;
}

/** Serves `/healthz` and `/readyz` until the signal aborts. A busy port is a warning, not a reason to stop. */
export async function serveHealth(
  settings: HealthServerSettings,
  view: HealthView,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  const server = createServer((request, response) => {
    answer(request, response, settings, view);
  });
  server.requestTimeout = 5_000;
  server.maxConnections = 50;
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

function isListening(server: Server, { host, port }: HealthServerSettings, log: Logger): Promise<boolean> {
  return new Promise((resolve) => {
    server.once("error", (error) => {
      log.warn(
        { host, port, reason: error.message },
        "no health checks: set http.port to a free port, or http: false",
      );
      resolve(false);
    });
    server.listen(port, host, () => {
      resolve(true);
    });
  });
}

function answer(
  request: IncomingMessage,
  response: ServerResponse,
  settings: HealthServerSettings,
  view: HealthView,
): void {
  const { status, text } = verdict(request, settings, view);
  response.writeHead(status, {
    "content-type": "text/plain; charset=utf-8",
    "content-security-policy": "default-src 'none'",
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
  });
  response.end(request.method === "HEAD" ? undefined : `${text}\n`);
}

function verdict(request: IncomingMessage, settings: HealthServerSettings, view: HealthView) {
  const host = request.headers.host ?? "";
  if (!isOwnHost(host, settings))
    return { status: 421, text: "this address is not served here; see http.allowed_hosts" };
  const { origin } = request.headers;
  if (origin !== undefined && origin !== `http://${host}`) return { status: 403, text: "foreign origin" };
  if (request.method !== "GET" && request.method !== "HEAD") return { status: 405, text: "only GET" };
  const path = (request.url ?? "/").split("?")[0];
  if (path === "/healthz") return view.isHealthy() ? ok : { status: 503, text: "no link to the broker" };
  if (path === "/readyz")
    return view.isHealthy() && view.isReady() ? ok : { status: 503, text: "broker or platform is away" };
  return { status: 404, text: "there are /healthz and /readyz" };
}

const ok = { status: 200, text: "ok" };

/** A page on the internet that resolves to this address must not get answers, so only known names count. */
function isOwnHost(host: string, { host: own, allowedHosts }: HealthServerSettings): boolean {
  const name = host.replace(/:\d+$/, "").toLowerCase();
  return [own, "localhost", "127.0.0.1", "[::1]", ...allowedHosts].some(
    (known) => known.toLowerCase() === name,
  );
}
