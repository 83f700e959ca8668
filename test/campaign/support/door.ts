import { once } from "node:events";
import net from "node:net";

/*
 * The chaos proxy: a TCP door on a fixed loopback port between the bridge and what it talks to. What is new here beside
 * `test/support/tcp-proxy.ts`: the port can really be closed (ECONNREFUSED), deafness of one direction, bytes nobody
 * sent, and counting of HTTP requests also where nobody answers them.
 */

/**
 * What becomes of new connections: `closed` the port is not there; `reset` broken at once; `reset_on_request` broken as
 * soon as something was sent; `black_hole` accepted and never answered.
 */
export type Manner = "pass" | "closed" | "reset" | "reset_on_request" | "black_hole";

/** The first line of an HTTP request, without its version. */
interface Request {
  readonly at: number;
  readonly line: string;
}

export interface Door {
  readonly port: number;
  /** Connections accepted so far. */
  readonly accepted: number;
  /** HTTP requests that came as far as here, upgrades to WebSocket apart. */
  readonly requests: readonly Request[];
  manner(manner: Manner): Promise<void>;
  /** Resets all standing connections. */
  cut(): void;
  /** Standing connections go deaf for ever; `to_client` swallows only what the far side sends. */
  deafen(direction: "both" | "to_client"): void;
  /** Far sides of deaf connections find out that their peer is gone, as after a router's time-out. */
  bury(): void;
  /** Writes bytes into every standing connection, as if the far side had sent them. */
  inject(bytes: Buffer): void;
  latency(ms: number): void;
  /** Where new connections lead from now on. */
  target(port: number): void;
  close(): Promise<void>;
}

interface Pair {
  readonly client: net.Socket;
  readonly far: net.Socket | null;
  deaf: "both" | "to_client" | null;
}

export async function openDoor(targetPort: number): Promise<Door> {
  const door = new ChaosDoor(targetPort);
  await door.open();
  return door;
}

class ChaosDoor implements Door {
  accepted = 0;
  readonly requests: Request[] = [];
  port = 0;
  readonly #pairs = new Set<Pair>();
  #targetPort: number;
  #manner: Manner = "pass";
  #delayMs = 0;
  #server: net.Server | null = null;

  constructor(targetPort: number) {
    this.#targetPort = targetPort;
  }

  async open(): Promise<void> {
    if (this.#server !== null) return;
    const server = net.createServer({ allowHalfOpen: true }, (client) => this.#accept(client));
    this.#server = server;
    server.listen(this.port, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("no port given");
    this.port = address.port;
  }

  async manner(manner: Manner): Promise<void> {
    this.#manner = manner;
    if (manner !== "closed") {
      await this.open();
      return;
    }
    // Only the listener goes; standing connections are another fault's business.
    this.#server?.close();
    this.#server = null;
  }

  cut(): void {
    for (const { client, far } of this.#pairs) {
      client.resetAndDestroy();
      far?.resetAndDestroy();
    }
  }

  deafen(direction: "both" | "to_client"): void {
    for (const pair of this.#pairs) pair.deaf = direction;
  }

  bury(): void {
    for (const { deaf, far } of this.#pairs) if (deaf !== null) far?.resetAndDestroy();
  }

  inject(bytes: Buffer): void {
    for (const { client } of this.#pairs) client.write(bytes);
  }

  latency(ms: number): void {
    this.#delayMs = ms;
  }

  target(port: number): void {
    this.#targetPort = port;
  }

  async close(): Promise<void> {
    this.cut();
    const server = this.#server;
    this.#server = null;
    if (server === null) return;
    server.close();
    await once(server, "close");
  }

  #accept(client: net.Socket): void {
    this.accepted += 1;
    client.on("error", () => undefined);
    if (this.#manner === "reset") {
      client.resetAndDestroy();
      return;
    }
    const isPassing = this.#manner === "pass";
    const far = isPassing
      ? net.connect({ port: this.#targetPort, host: "127.0.0.1", allowHalfOpen: true })
      : null;
    const pair: Pair = { client, far, deaf: null };
    this.#pairs.add(pair);
    client.on("data", (bytes) => {
      this.#note(bytes);
      if (this.#manner === "reset_on_request") client.resetAndDestroy();
    });
    if (far !== null) this.#join(pair, far);
    const ended = () => {
      if (client.destroyed && (far === null || far.destroyed)) this.#pairs.delete(pair);
    };
    client.on("close", ended);
    far?.on("close", ended);
  }

  #join(pair: Pair, far: net.Socket): void {
    far.on("error", () => {
      if (pair.deaf === null) pair.client.resetAndDestroy();
    });
    this.#forward(pair.client, far, () => pair.deaf === "both");
    this.#forward(far, pair.client, () => pair.deaf !== null);
  }

  #forward(from: net.Socket, to: net.Socket, isDeaf: () => boolean): void {
    const queue: { readonly at: number; readonly action: () => void }[] = [];
    const pump = () => {
      for (let first = queue[0]; first !== undefined; first = queue[0]) {
        const leftMs = first.at - performance.now();
        if (leftMs > 0) {
          setTimeout(pump, Math.ceil(leftMs));
          return;
        }
        if (!isDeaf()) first.action();
        queue.shift();
      }
    };
    // One behind the other, also when the delay became shorter meanwhile: a link may be slow, but never changes the order.
    const later = (action: () => void) => {
      queue.push({ at: performance.now() + this.#delayMs, action });
      if (queue.length === 1) pump();
    };
    from.on("data", (bytes) => later(() => to.write(bytes)));
    from.on("end", () => later(() => to.end()));
    from.on("close", () => later(() => to.destroy()));
  }

  #note(bytes: Buffer): void {
    const head = bytes.toString("latin1", 0, 2_000);
    const line = /^(?:GET|POST) (?:\S+)/.exec(head)?.[0];
    if (line !== undefined && !/upgrade: websocket/i.test(head)) this.requests.push({ at: Date.now(), line });
  }
}
