import { once } from "node:events";
import http from "node:http";
import net, { type Socket } from "node:net";
import { onTestFinished } from "vitest";
import { portFor } from "../../support/free-port.js";

/** One HTTP host of a platform, in the test's hands: records every request and answers what the test says. */
export interface SeenRequest {
  readonly method: string;
  /** Path and query as they came. */
  readonly target: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: string;
}

export interface Reply {
  readonly status?: number;
  readonly headers?: http.OutgoingHttpHeaders;
  /** An object is sent as JSON. */
  readonly body?: unknown;
}

/** Answers a request: with a Reply, or by itself on the response (then it returns null). */
export type Answerer = (
  request: SeenRequest,
  response: http.ServerResponse,
) => Reply | null | Promise<Reply | null>;

/** TCP connections of a host: accepted and closed so far, and standing now. */
export interface RawHost {
  readonly url: string;
  readonly accepted: number;
  readonly open: number;
  readonly closed: number;
}

export interface FakeHost extends RawHost {
  readonly requests: readonly SeenRequest[];
  readonly server: http.Server;
  answer(answerer: Answerer): void;
  close(): Promise<void>;
}

export const ok = (data: unknown): Reply => ({ body: { code: 200, message: "success", data } });

/** Connections of a server on a port of its own, which is closed when the test ends. */
async function opened(server: net.Server) {
  const sockets = new Set<Socket>();
  const host = { url: "", accepted: 0, open: 0, closed: 0 };
  server.on("connection", (socket: Socket) => {
    host.accepted += 1;
    host.open += 1;
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => {
      host.open -= 1;
      host.closed += 1;
      sockets.delete(socket);
    });
  });
  host.url = `http://127.0.0.1:${await portFor(server)}`;
  const close = async () => {
    if (!server.listening) return;
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, "close");
  };
  onTestFinished(close);
  return { host, close };
}

export async function startFakeHost(first: Answerer = () => ok(null)): Promise<FakeHost> {
  let answerer = first;
  const requests: SeenRequest[] = [];
  const server = http.createServer((request, response) => {
    void respond(request, response);
  });
  const respond = async (request: http.IncomingMessage, response: http.ServerResponse) => {
    const seen = await read(request).catch(() => null);
    if (seen === null) return;
    requests.push(seen);
    const reply = await answerer(seen, response);
    if (reply === null) return;
    const { status = 200, headers = {}, body = "" } = reply;
    const isRaw = typeof body === "string" || Buffer.isBuffer(body);
    response.writeHead(status, { "content-type": "application/json", ...headers });
    response.end(isRaw ? body : JSON.stringify(body));
  };
  const { host, close } = await opened(server);
  const answer = (next: Answerer) => {
    answerer = next;
  };
  return Object.assign(host, { requests, server, answer, close });
}

async function read(request: http.IncomingMessage): Promise<SeenRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const target = request.url ?? "";
  const { pathname, searchParams } = new URL(target, "http://host");
  return {
    method: request.method ?? "",
    target,
    path: pathname,
    query: searchParams,
    headers: request.headers,
    body: Buffer.concat(chunks).toString("utf8"),
  };
}

/**
 * A host below HTTP: gets each connection and the bytes that come, for answers no HTTP server would give. `converse` is called once per
 * request head that has come in whole.
 */
export async function startRawHost(converse: (socket: net.Socket, text: string) => void): Promise<RawHost> {
  const server = net.createServer((socket) => {
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      if (!text.includes("\r\n\r\n")) return;
      const request = text;
      text = "";
      converse(socket, request);
    });
  });
  return (await opened(server)).host;
}
