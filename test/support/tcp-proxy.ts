import { once } from "node:events";
import net from "node:net";
import { portFor } from "./free-port.js";

/*
 * A TCP proxy on a free loopback port that can be made to misbehave while connections stand: the faults that networks
 * and brokers show, without needing root.
 */

export interface TcpProxy {
  readonly port: number;
  /** Connections accepted so far, refused ones included. */
  readonly accepted: number;
  /** Connections standing now. */
  readonly open: number;
  /** Everything clients have sent through, in order of arrival; for assertions on the wire. */
  readonly fromClients: Buffer;
  /**
   * Standing connections go deaf for ever: nothing passes any more, closes of one side are not told to the other. New
   * connections pass.
   */
  halfOpen(): void;
  /** New connections are accepted and then get no answer, until `pass`. */
  blackHole(): void;
  /** New connections are reset at once, until `pass`. */
  refuse(): void;
  /** Resets all standing connections. */
  cut(): void;
  /** Delays every byte both ways, also of standing connections. */
  latency(ms: number): void;
  /** Where new connections lead from now on. */
  target(port: number): void;
  pass(): void;
  close(): Promise<void>;
}

interface Pair {
  readonly client: net.Socket;
  readonly server: net.Socket | null;
  deaf: boolean;
}

export async function startTcpProxy(targetPort: number): Promise<TcpProxy> {
  const pairs = new Set<Pair>();
  const sent: Buffer[] = [];
  let mode: "pass" | "black_hole" | "refuse" = "pass";
  let delayMs = 0;
  let toPort = targetPort;
  let accepted = 0;

  const forward = (pair: Pair, from: net.Socket, to: net.Socket) => {
    const later = (action: () => void) => {
      const act = () => {
        if (!pair.deaf) action();
      };
      if (delayMs > 0) setTimeout(act, delayMs);
      else act();
    };
    from.on("data", (chunk) => {
      if (from === pair.client) sent.push(chunk);
      later(() => to.write(chunk));
    });
    from.on("end", () => later(() => to.end()));
    from.on("close", () => later(() => to.destroy()));
  };

  const server = net.createServer({ allowHalfOpen: true }, (client) => {
    accepted += 1;
    client.on("error", () => undefined);
    if (mode === "refuse") {
      client.resetAndDestroy();
      return;
    }
    const upstream =
      mode === "black_hole" ? null : net.connect({ port: toPort, host: "127.0.0.1", allowHalfOpen: true });
    const pair: Pair = { client, server: upstream, deaf: upstream === null };
    pairs.add(pair);
    if (upstream === null) {
      client.resume();
      client.on("close", () => pairs.delete(pair));
      return;
    }
    upstream.on("error", () => {
      if (!pair.deaf) client.resetAndDestroy();
    });
    forward(pair, client, upstream);
    forward(pair, upstream, client);
    const ended = () => {
      if (client.destroyed && upstream.destroyed) pairs.delete(pair);
    };
    client.on("close", ended);
    upstream.on("close", ended);
  });
  const port = await portFor(server);

  return {
    port,
    get accepted() {
      return accepted;
    },
    get open() {
      return [...pairs].filter((pair) => !pair.client.destroyed).length;
    },
    get fromClients() {
      return Buffer.concat(sent);
    },
    halfOpen: () => {
      for (const pair of pairs) pair.deaf = true;
    },
    blackHole: () => {
      mode = "black_hole";
    },
    refuse: () => {
      mode = "refuse";
    },
    cut: () => {
      for (const { client, server: upstream } of pairs) {
        client.resetAndDestroy();
        upstream?.resetAndDestroy();
      }
    },
    latency: (ms) => {
      delayMs = ms;
    },
    target: (port) => {
      toPort = port;
    },
    pass: () => {
      mode = "pass";
    },
    close: async () => {
      for (const { client, server: upstream } of pairs) {
        client.destroy();
        upstream?.destroy();
      }
      server.close();
      await once(server, "close");
    },
  };
}
