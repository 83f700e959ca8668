import { ignored, nullIfFailed } from "../runtime/failures.js";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { text } from "node:stream/consumers";
import type { PlatformHost } from "../greenhouse/ports.js";
import type { Clock } from "../runtime/clock.js";
import { parseJson } from "./call.js";
import { type ControlReply, controlView, performControl, type SimulatorControl } from "./control.js";
import { advance } from "./events.js";
import { hostOf } from "./operations.js";
import type { Platform } from "./platform.js";
import type { PushServer } from "./push.js";
import { type Decision, respond } from "./respond.js";

const loopback = "127.0.0.1";
const controlPrefix = "/_simulator/";

/** Carries out a decision: an answer, a late one, a broken one or none. */
async function perform(decision: Decision, response: ServerResponse, clock: Clock): Promise<void> {
  const { delayMs, cut, status, headers } = decision;
  if (delayMs === Infinity) return;
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  if (delayMs > 0) await clock.wait(delayMs, gone.signal).catch(ignored);
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

export interface PortParts {
  /** The hosts of this port; with both, the operation decides. */
  readonly hosts: readonly PlatformHost[];
  /** Whether it serves the controls too. */
  readonly controls: boolean;
  readonly platform: Platform;
  readonly clock: Clock;
  readonly push: PushServer;
  readonly control: SimulatorControl;
  /** Called with failures of the simulator itself. */
  readonly onFailure: (error: unknown) => void;
}

/** An HTTP port that can go away and come back, as a host does. */
export class Port {
  readonly parts: PortParts;
  readonly #sockets = new Set<Duplex>();
  #port: number;
  #server: Server | null = null;

  constructor(port: number, parts: PortParts) {
    this.#port = port;
    this.parts = parts;
  }

  /** The port in use; before the first `open`, the one asked for. */
  get port(): number {
    return this.#port;
  }

  get url(): string {
    return `http://${loopback}:${this.#port}`;
  }

  /** Rejects if the port is taken. */
  async open(): Promise<void> {
    if (this.#server) return;
    const server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => {
        this.parts.onFailure(error);
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
      await once(server.listen(this.#port, loopback), "listening");
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
    const { clock, controls, hosts, platform } = this.parts;
    const { method = "GET", url = "/", headers } = request;
    const [path = "", ...search] = url.split("?");
    // Of several parameters with one name, the last counts.
    const query = Object.fromEntries(new URLSearchParams(search.join("?")));
    const body = method === "GET" ? null : await text(request).catch(nullIfFailed);
    // The client broke the request off.
    if (request.destroyed && !request.complete) return;
    const host = hosts.length > 1 ? hostOf(path) : hosts[0];
    const decision =
      host === undefined || (controls && path.startsWith(controlPrefix))
        ? answerOf(await this.#control(method, path, query, body))
        : respond(platform, { host, method, path, query, headers: plain(headers), body }, clock.now());
    await perform(decision, response, clock);
  }

  async #control(
    method: string,
    path: string,
    query: Readonly<Record<string, string>>,
    body: string | null,
  ): Promise<ControlReply> {
    const { control, controls } = this.parts;
    const view = controls && path.startsWith(controlPrefix) ? path.slice(controlPrefix.length) : "";
    if (method === "POST" && view === "control") return performControl(control, parseJson(body ?? ""));
    const found = method === "GET" ? controlView(control, view, query) : null;
    return found ?? { status: 404, body: { ok: false, message: `no such control: ${method} ${path}` } };
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const { clock, hosts, platform, push } = this.parts;
    // No other listener is left, and a refused client may reset the connection.
    socket.on("error", () => socket.destroy());
    advance(platform, clock.now());
    if (hosts.includes("realtime")) push.upgrade(request, socket, head);
    else socket.destroy();
  }
}

/** The headers that the platform looks at. */
const plain = ({ authorization, "content-type": type }: IncomingMessage["headers"]) => ({
  authorization,
  "content-type": type,
});

const answerOf = ({ status, body }: ControlReply): Decision => ({
  status,
  body: JSON.stringify(body),
  delayMs: 0,
  cut: null,
  headers: { "content-type": "application/json;charset=UTF-8" },
});
