import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { PlatformHost } from "../greenhouse/ports.js";
import type { Clock } from "../runtime/clock.js";
import { type Decision, parseJson } from "./call.js";
import { type ControlReply, controlView, performControl, type SimulatorControl } from "./control.js";
import { hostOf } from "./operations.js";
import { respond } from "./platform-model.js";
import type { PlatformState } from "./platform-state.js";
import type { PushServer } from "./push-server.js";

/** Lets a client feel a decision: an answer, a late one, a broken one or none. */
async function perform(decision: Decision, response: ServerResponse, clock: Clock): Promise<void> {
  if (decision.delayMs === Infinity) return;
  if (decision.delayMs > 0 && !(await waited(decision.delayMs, response, clock))) return;
  if (decision.cut === null) answer(decision, response);
  else if (decision.cut === "during") answerHalf(decision, response);
  else response.socket?.resetAndDestroy();
}

function answer(decision: Decision, response: ServerResponse): void {
  const body = Buffer.from(decision.body, "utf8");
  response.writeHead(decision.status, { ...decision.headers, "content-length": body.length });
  response.end(body);
}

function answerHalf(decision: Decision, response: ServerResponse): void {
  const body = Buffer.from(decision.body, "utf8");
  response.writeHead(decision.status, { ...decision.headers, "content-length": body.length });
  response.write(body.subarray(0, Math.floor(body.length / 2)), () => {
    response.socket?.destroy();
  });
}

async function waited(ms: number, response: ServerResponse, clock: Clock): Promise<boolean> {
  const gone = new AbortController();
  const stop = () => gone.abort();
  response.once("close", stop);
  try {
    await clock.wait(ms, gone.signal);
    return true;
  } catch {
    return false;
  } finally {
    response.off("close", stop);
  }
}

interface Target {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
}

const noQuery: Target["query"] = {};

/** Path as it was sent and query parameters, the last of equal names winning. */
function targetOf(url: string): Target {
  const mark = url.indexOf("?");
  if (mark < 0) return { path: url, query: noQuery };
  return { path: url.slice(0, mark), query: Object.fromEntries(new URLSearchParams(url.slice(mark + 1))) };
}

const largestBody = 65_536;

/** The body as text; null when it is larger than any request of the interface or broke off. */
async function bodyOf(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of request as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > largestBody) return null;
      chunks.push(chunk);
    }
  } catch {
    return null;
  }
  return Buffer.concat(chunks).toString("utf8");
}

/** What one port serves; `both` decides by the operation. */
export interface PortRole {
  readonly platform: PlatformHost | "both" | null;
  readonly controls: boolean;
}

export interface RouterParts {
  readonly state: PlatformState;
  readonly clock: Clock;
  readonly push: PushServer;
  readonly control: SimulatorControl;
  /** Told about anything that went wrong in the simulator itself. */
  readonly failed: (error: unknown) => void;
}

const controlPrefix = "/_simulator/";

/** What a port of this role does with requests and upgrades. */
export function routerFor(role: PortRole, parts: RouterParts): ListenerParts {
  return {
    request: (request, response) => {
      const target = targetOf(request.url ?? "/");
      const served =
        role.controls && target.path.startsWith(controlPrefix)
          ? serveControl(request, response, target, parts)
          : servePlatform(request, response, target, role, parts);
      served.catch((error: unknown) => {
        parts.failed(error);
        response.destroy();
      });
    },
    upgrade: (request, socket, head) => {
      parts.state.advance(parts.clock.now());
      if (role.platform === "both" || role.platform === "realtime") parts.push.upgrade(request, socket, head);
      else socket.destroy();
    },
  };
}

async function servePlatform(
  request: IncomingMessage,
  response: ServerResponse,
  { path, query }: Target,
  role: PortRole,
  { state, clock }: RouterParts,
): Promise<void> {
  const host = role.platform === "both" ? hostOf(path) : role.platform;
  if (host === null) {
    reply(response, { status: 404, body: { message: `only ${controlPrefix} is served here` } });
    return;
  }
  const method = request.method ?? "GET";
  const body = method === "GET" ? null : await bodyOf(request);
  if (method !== "GET" && body === null) {
    response.destroy();
    return;
  }
  const { authorization } = request.headers;
  const headers = { authorization, "content-type": request.headers["content-type"] };
  await perform(respond(state, { host, method, path, query, headers, body }, clock.now()), response, clock);
}

async function serveControl(
  request: IncomingMessage,
  response: ServerResponse,
  { path, query }: Target,
  { control }: RouterParts,
): Promise<void> {
  const view = path.slice(controlPrefix.length);
  if (request.method === "POST" && view === "control") {
    reply(response, await performControl(control, parseJson((await bodyOf(request)) ?? "")));
    return;
  }
  const found = request.method === "GET" ? controlView(control, view, query) : null;
  const message = `no such control: ${request.method ?? ""} ${path}`;
  reply(response, found ?? { status: 404, body: { ok: false, message } });
}

function reply(response: ServerResponse, { status, body }: ControlReply): void {
  const headers = { "content-type": "application/json;charset=UTF-8" };
  answer({ status, headers, body: JSON.stringify(body), delayMs: 0, cut: null }, response);
}

export interface ListenerParts {
  readonly request: (request: IncomingMessage, response: ServerResponse) => void;
  readonly upgrade: (request: IncomingMessage, socket: Duplex, head: Buffer) => void;
}

/** One HTTP port that can go away and come back, as a host that is down does. */
export class Listener {
  readonly #host: string;
  readonly #parts: ListenerParts;
  readonly #sockets = new Set<Duplex>();
  #port: number;
  #server: Server | null = null;

  constructor(host: string, port: number, parts: ListenerParts) {
    this.#host = host;
    this.#port = port;
    this.#parts = parts;
  }

  /** The port in use; the one asked for until the first `open`. */
  get port(): number {
    return this.#port;
  }

  get isOpen(): boolean {
    return this.#server !== null;
  }

  /** Rejects when the port is taken. */
  async open(): Promise<void> {
    if (this.#server) return;
    const server = createServer(this.#parts.request);
    server.keepAliveTimeout = 65_000;
    server.on("upgrade", this.#parts.upgrade);
    server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    this.#server = server;
    try {
      await listening(server, this.#port, this.#host);
    } catch (error) {
      this.#server = null;
      throw error;
    }
    this.#port = (server.address() as AddressInfo).port;
  }

  /** Refuses new connections and breaks the open ones. */
  async close(): Promise<void> {
    const server = this.#server;
    this.#server = null;
    if (!server) return;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}

function listening(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, host, () => {
      server.off("error", reject);
      resolve();
    });
  });
}
