import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";

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
    const closed = new Promise<void>((resolve) =>
      server.close(() => {
        resolve();
      }),
    );
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
