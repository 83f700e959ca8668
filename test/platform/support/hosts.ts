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

export interface FakeHost {
  readonly url: string;
  readonly requests: readonly SeenRequest[];
  /** TCP connections accepted so far, and standing now. */
  readonly accepted: number;
  readonly open: number;
  readonly server: http.Server;
  answer(answerer: Answerer): void;
  close(): Promise<void>;
}

export const ok = (data: unknown): Reply => ({ body: { code: 200, message: "success", data } });

export async function startFakeHost(first: Answerer = () => ok(null)): Promise<FakeHost> {
  let answerer = first;
  let accepted = 0;
  const requests: SeenRequest[] = [];
  const sockets = new Set<Socket>();
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
  server.on("connection", (socket) => {
    accepted += 1;
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    socket.on("error", () => undefined);
  });
  const port = await portFor(server);
  const close = async () => {
    if (!server.listening) return;
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, "close");
  };
  onTestFinished(close);
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    server,
    get accepted() {
      return accepted;
    },
    get open() {
      return sockets.size;
    },
    answer: (next) => {
      answerer = next;
    },
    close,
  };
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

/** A host below HTTP: gets each connection and the bytes that come, for answers no HTTP server would give. */
export interface RawHost {
  readonly url: string;
  readonly accepted: number;
  readonly open: number;
  readonly closed: number;
}

/** `converse` is called once per request head that has come in whole. */
export async function startRawHost(converse: (socket: net.Socket, text: string) => void): Promise<RawHost> {
  let accepted = 0;
  let closed = 0;
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    accepted += 1;
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => {
      closed += 1;
      sockets.delete(socket);
    });
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk.toString("latin1");
      if (!text.includes("\r\n\r\n")) return;
      const request = text;
      text = "";
      converse(socket, request);
    });
  });
  const port = await portFor(server);
  onTestFinished(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, "close");
  });
  return {
    url: `http://127.0.0.1:${port}`,
    get accepted() {
      return accepted;
    },
    get open() {
      return sockets.size;
    },
    get closed() {
      return closed;
    },
  };
}
