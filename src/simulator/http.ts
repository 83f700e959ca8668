import { once } from "node:events";
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
  const { delayMs, cut, status, headers } = decision;
  if (delayMs === Infinity) return;
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  if (delayMs > 0) await clock.wait(delayMs, gone.signal).catch(() => undefined);
  if (gone.signal.aborted) return;
  if (cut !== null && cut !== "during") {
    response.socket?.resetAndDestroy();
    return;
  }
  const body = Buffer.from(decision.body, "utf8");
  response.writeHead(status, { ...headers, "content-length": body.length });
  if (cut === null) response.end(body);
  else response.write(body.subarray(0, Math.floor(body.length / 2)), () => response.socket?.destroy());
}

interface Target {
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
}

/** Path as it was sent and query parameters, the last of equal names winning. */
function targetOf(url: string): Target {
  const [path = "", ...search] = url.split("?");
  return { path, query: Object.fromEntries(new URLSearchParams(search.join("?"))) };
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

/** What one port serves; where it carries both hosts the operation decides. */
export interface PortRole {
  readonly hosts: readonly PlatformHost[];
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

/** Null for a request that broke off or is larger than any of the interface. */
async function platformDecision(
  request: IncomingMessage,
  { path, query }: Target,
  hosts: readonly PlatformHost[],
  { state, clock }: RouterParts,
): Promise<Decision | null> {
  const host = hosts.length > 1 ? hostOf(path) : hosts[0];
  if (host === undefined)
    return decisionOf({ status: 404, body: { message: `only ${controlPrefix} is served here` } });
  const { method = "GET" } = request;
  const body = method === "GET" ? null : await bodyOf(request);
  if (method !== "GET" && body === null) return null;
  const { authorization } = request.headers;
  const headers = { authorization, "content-type": request.headers["content-type"] };
  return respond(state, { host, method, path, query, headers, body }, clock.now());
}

async function controlDecision(
  request: IncomingMessage,
  { path, query }: Target,
  { control }: RouterParts,
): Promise<Decision> {
  const view = path.slice(controlPrefix.length);
  if (request.method === "POST" && view === "control")
    return decisionOf(await performControl(control, parseJson((await bodyOf(request)) ?? "")));
  const found = request.method === "GET" ? controlView(control, view, query) : null;
  const message = `no such control: ${request.method ?? ""} ${path}`;
  return decisionOf(found ?? { status: 404, body: { ok: false, message } });
}

const decisionOf = ({ status, body }: ControlReply): Decision => ({
  status,
  headers: { "content-type": "application/json;charset=UTF-8" },
  body: JSON.stringify(body),
  delayMs: 0,
  cut: null,
});

/** One HTTP port that can go away and come back, as a host that is down does. */
export class Listener {
  readonly role: PortRole;
  readonly #address: string;
  readonly #parts: RouterParts;
  readonly #sockets = new Set<Duplex>();
  #port: number;
  #server: Server | null = null;

  constructor(address: string, port: number, role: PortRole, parts: RouterParts) {
    this.#address = address;
    this.#port = port;
    this.role = role;
    this.#parts = parts;
  }

  /** The port in use; the one asked for until the first `open`. */
  get port(): number {
    return this.#port;
  }

  /** Rejects when the port is taken. */
  async open(): Promise<void> {
    if (this.#server) return;
    const server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => {
        this.#parts.failed(error);
        response.destroy();
      });
    });
    server.keepAliveTimeout = 65_000;
    server.on("upgrade", (request, socket, head) => this.#upgrade(request, socket, head));
    server.on("connection", (socket) => {
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
    });
    this.#server = server;
    try {
      server.listen(this.#port, this.#address);
      await once(server, "listening");
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

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { hosts, controls } = this.role;
    const target = targetOf(request.url ?? "/");
    const decision =
      controls && target.path.startsWith(controlPrefix)
        ? await controlDecision(request, target, this.#parts)
        : await platformDecision(request, target, hosts, this.#parts);
    if (decision === null) response.destroy();
    else await perform(decision, response, this.#parts.clock);
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { state, clock, push } = this.#parts;
    // No other listener is left, and a client that is refused may reset the connection.
    socket.on("error", () => socket.destroy());
    state.advance(clock.now());
    if (this.role.hosts.includes("realtime")) push.upgrade(request, socket, head);
    else socket.destroy();
  }
}
