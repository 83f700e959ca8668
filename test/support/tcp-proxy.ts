import { once } from "node:events";
import net from "node:net";

/*
 * A TCP proxy on a loopback port that can fail while connections stand: the faults of networks, brokers and hosts,
 * without root.
 */

/**
 * The fate of new connections. `closed`: the port is closed; `reset`: reset at once; `reset_on_request`: reset when
 * something is sent; `black_hole`: accepted and never answered.
 */
export type Manner = "pass" | "closed" | "reset" | "reset_on_request" | "black_hole";

export interface TcpProxy {
  readonly port: number;
  /** Connections accepted so far, including broken ones. */
  readonly accepted: number;
  manner(manner: Manner): Promise<void>;
  /** Resets all standing connections. */
  cut(): void;
  /**
   * Standing connections become deaf for ever, and half-closes are not passed on; `to_client` drops only what the far
   * side sends. New connections pass.
   */
  deafen(direction: "both" | "to_client"): void;
  /**
   * Standing connections whose client began like this never let go: they deliver `afterBytes` more bytes and then
   * nothing, accept what is sent, and are never closed from there.
   */
  cling(begunLike: RegExp, afterBytes: number): void;
  /** The number of standing connections whose client began like this. */
  standing(begunLike: RegExp): number;
  /** Writes bytes into every standing connection, as if the far side had sent them. */
  inject(bytes: Buffer): void;
  /** Delays every byte both ways, also of standing connections. */
  latency(ms: number): void;
  /** Sets where new connections lead. */
  target(port: number): void;
  close(): Promise<void>;
}

interface Pair {
  readonly client: net.Socket;
  readonly far: net.Socket | null;
  deaf: "both" | "to_client" | null;
  /** The first bytes that the client sent. */
  begun: string | null;
  /** Bytes of the far side that still pass before it is deaf to the client. */
  leftBytes: number;
}

/** `heard` gets everything that clients send, even if nobody answers. */
export async function startTcpProxy(
  targetPort: number,
  heard: (bytes: Buffer) => void = () => undefined,
): Promise<TcpProxy> {
  const pairs = new Set<Pair>();
  const state = { port: 0, accepted: 0, manner: "pass" as Manner, delayMs: 0, target: targetPort };
  let server: net.Server | null = null;

  const accept = (client: net.Socket) => {
    state.accepted += 1;
    client.on("error", () => undefined);
    if (state.manner === "reset") {
      client.resetAndDestroy();
      return;
    }
    const to = { port: state.target, host: "127.0.0.1", allowHalfOpen: true, noDelay: true };
    const far = state.manner === "pass" ? net.connect(to) : null;
    const pair: Pair = { client, far, deaf: null, begun: null, leftBytes: Infinity };
    pairs.add(pair);
    client.on("data", (bytes) => {
      pair.begun ??= bytes.toString("latin1", 0, 2_000);
      heard(bytes);
      if (state.manner === "reset_on_request") client.resetAndDestroy();
    });
    if (far !== null) join(pair, far, () => state.delayMs);
    const ended = () => {
      if (client.destroyed && (far === null || far.destroyed)) pairs.delete(pair);
    };
    client.on("close", ended);
    far?.on("close", ended);
  };
  const open = async () => {
    if (server !== null) return;
    server = net.createServer({ allowHalfOpen: true, noDelay: true }, accept);
    server.listen(state.port, "127.0.0.1");
    await once(server, "listening");
    state.port = (server.address() as net.AddressInfo).port;
  };
  /** Closes only the listener; standing connections have faults of their own. */
  const shut = () => {
    const closed = server && once(server.close(), "close");
    server = null;
    return closed;
  };
  const cut = () => {
    for (const { client, far } of pairs) {
      client.resetAndDestroy();
      far?.resetAndDestroy();
    }
  };
  const begunLike = (pattern: RegExp) =>
    [...pairs].filter(({ begun }) => begun !== null && pattern.test(begun));
  await open();
  return {
    get port() {
      return state.port;
    },
    get accepted() {
      return state.accepted;
    },
    manner: async (manner) => {
      state.manner = manner;
      if (manner === "closed") void shut();
      else await open();
    },
    cut,
    deafen: (direction) => {
      for (const pair of pairs) pair.deaf = direction;
    },
    cling: (pattern, afterBytes) => {
      for (const pair of begunLike(pattern)) {
        pair.leftBytes = Math.min(pair.leftBytes, afterBytes);
        if (pair.leftBytes === 0) pair.deaf ??= "to_client";
      }
    },
    standing: (pattern) => begunLike(pattern).filter(({ leftBytes }) => leftBytes === Infinity).length,
    inject: (bytes) => {
      for (const { client } of pairs) client.write(bytes);
    },
    latency: (ms) => {
      state.delayMs = ms;
    },
    target: (port) => {
      state.target = port;
    },
    close: async () => {
      const closed = shut();
      cut();
      await closed;
    },
  };
}

function join(pair: Pair, far: net.Socket, delayMs: () => number): void {
  far.on("error", () => {
    if (pair.deaf === null) pair.client.resetAndDestroy();
  });
  forward(pair.client, far, () => pair.deaf === "both", delayMs);
  forward(
    far,
    pair.client,
    () => pair.deaf !== null,
    delayMs,
    (bytes) => untilDeaf(pair, bytes),
  );
}

function untilDeaf(pair: Pair, bytes: Buffer): Buffer {
  const passed = bytes.subarray(0, pair.leftBytes);
  pair.leftBytes -= passed.length;
  if (pair.leftBytes === 0) pair.deaf ??= "to_client";
  return passed;
}

function forward(
  from: net.Socket,
  to: net.Socket,
  isDeaf: () => boolean,
  delayMs: () => number,
  passing: (bytes: Buffer) => Buffer = (bytes) => bytes,
): void {
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
  // In order, also if the delay becomes shorter: a slow link never changes the order.
  const later = (action: () => void) => {
    queue.push({ at: performance.now() + delayMs(), action });
    if (queue.length === 1) pump();
  };
  from.on("data", (bytes) => later(() => to.write(passing(bytes))));
  from.on("end", () => later(() => to.end()));
  from.on("close", () => later(() => to.destroy()));
}
