import { setMaxListeners } from "node:events";
import { connect as connectTcp, isIP, type Socket, type TcpNetConnectOpts } from "node:net";
import { connect as connectTls, type ConnectionOptions, type TLSSocket } from "node:tls";
import { type Clock, systemClock } from "./clock.js";
import { ignored } from "./failures.js";
import { type Names, patienceMs } from "./host-names.js";

/*
 * Opens connections to hosts; only this file decides how long that may take and which address is used. Node itself
 * gives each address but the last 250 ms, so that a slow network never gets a connection; here the next one is tried
 * beside it (RFC 8305).
 */

/** After this time without an answer the next address is tried too, while the first goes on. */
const nextAddressMs = 250;
/** A peer that vanished is found after a silence as long as this. */
export const tcpKeepAliveMs = 60_000;

export interface Way {
  readonly host: string;
  readonly port: number;
  readonly names: Pick<Names, "find" | "connected">;
  /** Time limit for connecting alone, from the moment that an address is known. */
  readonly connectMs: number;
  readonly signal?: AbortSignal | undefined;
  readonly readableHighWaterMark?: number;
  readonly clock?: Clock;
  /** Begins one connection; by default the system's own. */
  readonly dial?: (to: TcpNetConnectOpts) => Socket;
}

const standardPorts: Readonly<Record<string, number>> = {
  "http:": 80,
  "ws:": 80,
  "https:": 443,
  "wss:": 443,
  "mqtt:": 1883,
  "mqtts:": 8883,
  "nats:": 4222,
};

/** Host, port and use of TLS of a URL. */
export function endpointOf(url: string | URL) {
  const { protocol, hostname, port } = new URL(url);
  return {
    host: hostname.replace(/^\[|\]$/g, ""),
    port: port === "" ? (standardPorts[protocol] ?? 0) : Number(port),
    secure: protocol === "https:" || protocol === "wss:" || protocol === "mqtts:",
  };
}

/** No connection came about in time; `code` is the operating system's. */
class ConnectTimeout extends Error {
  override name = "ConnectTimeout" as const;
  readonly code = "ETIMEDOUT";
}

export type Connection = Socket;

/** Opens a connection. Rejects with the network error of the first address that failed, or with a NameError. */
export const openSocket = (way: Way): Promise<Socket> => new Race(way).run();

/** All tries at one host: the first established connection wins, the others are closed. */
class Race {
  readonly #way: Way;
  readonly #clock: Clock;
  readonly #waiting: string[] = [];
  readonly #tried = new Set<string>();
  readonly #open = new Set<Socket>();
  /** Whether a look-up is still running that may bring more addresses. */
  #isAsking = false;
  #isOver = false;
  #error: unknown = null;
  #takeBackNext: (() => void) | null = null;
  #takeBackEnd: (() => void) | null = null;
  #resolve: (socket: Socket) => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;

  constructor(way: Way) {
    this.#way = way;
    this.#clock = way.clock ?? systemClock;
  }

  run(): Promise<Socket> {
    const won = new Promise<Socket>((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    const { signal } = this.#way;
    // All connections of a pool share one signal, and Node warns of a leak from the eleventh listener on.
    if (signal !== undefined) setMaxListeners(0, signal);
    signal?.addEventListener("abort", this);
    if (signal?.aborted === true) this.handleEvent();
    else this.#begin();
    return won;
  }

  /** Called when the caller's signal aborts. */
  handleEvent(): void {
    this.#lose(new Error("given up"));
  }

  #begin(): void {
    const { kept, newer } = this.#way.names.find(this.#way.host);
    this.#isAsking = newer !== null;
    this.#add(kept);
    if (newer === null) return;
    const answered = (addresses: readonly string[], error: unknown) => {
      this.#isAsking = false;
      this.#add(addresses);
      if (!this.#isOver) this.#goOn(error);
    };
    newer.then(
      (addresses) => answered(addresses, null),
      (error: unknown) => answered([], error),
    );
  }

  /** Adds addresses; each new one gets the whole time for a connection. */
  #add(addresses: readonly string[]): void {
    const waited = this.#waiting.length;
    for (const address of addresses) {
      if (!this.#tried.has(address)) this.#waiting.push(address);
      this.#tried.add(address);
    }
    if (this.#waiting.length === waited || this.#isOver) return;
    const { host, port, connectMs } = this.#way;
    const late = () => new ConnectTimeout(`no connection to ${host}:${port} within ${connectMs / 1000} s`);
    this.#endAfter(connectMs, () => this.#lose(this.#error ?? late()));
    if (this.#open.size === 0) this.#tryNext();
    else this.#tryNextSoon();
  }

  #tryNextSoon(): void {
    this.#takeBackNext?.();
    this.#takeBackNext = this.#clock.after(nextAddressMs, () => this.#tryNext());
  }

  #tryNext(): void {
    this.#takeBackNext?.();
    const address = this.#waiting.shift();
    if (address === undefined) return;
    const { port, readableHighWaterMark, dial = connectTcp } = this.#way;
    const family = isIP(address);
    const socket = dial({
      host: address,
      port,
      family,
      ...(readableHighWaterMark && { readableHighWaterMark }),
    });
    this.#open.add(socket);
    socket.once("connect", () => this.#win(socket, address));
    socket.on("error", (error) => {
      this.#error ??= error;
      if (this.#open.delete(socket) && !this.#isOver) this.#goOn(null);
    });
    if (this.#waiting.length > 0) this.#tryNextSoon();
  }

  /** After a failed address tries the next one, or ends if none is left. */
  #goOn(lookUpError: unknown): void {
    if (this.#waiting.length > 0) this.#tryNext();
    else if (this.#open.size > 0) return;
    else if (!this.#isAsking) this.#lose(this.#error ?? lookUpError);
    else if (this.#tried.size > 0) this.#endAfter(patienceMs, () => this.#lose(this.#error));
  }

  #endAfter(ms: number, end: () => void): void {
    this.#takeBackEnd?.();
    this.#takeBackEnd = this.#clock.after(ms, end);
  }

  #win(socket: Socket, address: string): void {
    this.#open.delete(socket);
    this.#end();
    this.#way.names.connected(this.#way.host, address);
    socket.setNoDelay(true);
    socket.setKeepAlive(true, tcpKeepAliveMs);
    this.#resolve(socket);
  }

  #lose(error: unknown): void {
    if (this.#isOver) return;
    this.#end();
    this.#reject(error);
  }

  #end(): void {
    this.#isOver = true;
    this.#takeBackNext?.();
    this.#takeBackEnd?.();
    this.#way.signal?.removeEventListener("abort", this);
    for (const socket of this.#open) socket.destroy();
    this.#open.clear();
  }
}

/** Starts TLS on a connection to a host. The socket is ready at `secureConnect`; there is no time limit. */
export function startTls(socket: Socket, host: string, options: ConnectionOptions): TLSSocket {
  const servername = isIP(host) === 0 ? { servername: host } : {};
  return connectTls({ socket, ...servername, ...options });
}

/** The target of a connection, in undici's form. */
interface Target {
  readonly hostname: string;
  readonly port: string;
  readonly protocol: string;
}

export type Connected = (...outcome: [error: null, socket: Socket] | [error: Error, socket: null]) => void;

/** The number of bytes that undici reads at once. */
const readableHighWaterMark = 64 * 1024;

/**
 * Undici ends a connection that is no longer wanted with an error. Node reads the stack of each such error, and making
 * the text of one costs a third of a short request.
 */
function endWithoutStack(socket: Socket): void {
  const destroy = socket.destroy.bind(socket);
  socket.destroy = (error) => {
    if (error?.name === "InformationalError") error.stack = error.message;
    return destroy(error);
  };
}

interface Over {
  readonly resets?: boolean;
  /** Called with each established connection, which ends with whatever runs on top of it. */
  readonly onSocket?: (socket: Socket) => void;
}

/**
 * A connector for undici that uses `openSocket`; `secure` is undici's own, for TLS on top. With `resets`, connections
 * are reset when they close. For one that is only closed the operating system goes on sending unacknowledged data for
 * minutes, so an abandoned command would still arrive when the network is back.
 */
export const connectorOver =
  <Options extends Target>(
    secure: (target: Options & { readonly httpSocket: Socket }, done: Connected) => unknown,
    { resets = false, onSocket, ...way }: Omit<Way, "host" | "port" | "readableHighWaterMark"> & Over,
  ) =>
  (target: Options, given: Connected): void => {
    const done: Connected = (...outcome) => {
      // Undici gives an error alone.
      if (outcome[0] === null) endWithoutStack(outcome[1]);
      given(...outcome);
    };
    const isSecure = target.protocol === "https:";
    const port = target.port || (isSecure ? "443" : "80");
    const connected = (socket: Socket) => {
      onSocket?.(socket);
      // The flag that `resetAndDestroy` sets. That function waits for the end of the stream first, and its owner learns
      // of no error.
      if (resets) Object.assign(socket, { resetAndClosing: true });
      if (isSecure) secure({ ...target, port, httpSocket: socket }, done);
      else done(null, socket);
    };
    openSocket({ ...way, host: target.hostname, port: Number(port), readableHighWaterMark }).then(
      connected,
      (error: unknown) => done(error instanceof Error ? error : new Error(String(error)), null),
    );
  };

type Connect<Options> = (target: Options, done: Connected) => void;

interface Ahead {
  socket: Socket | null;
  /** Asks for it while it is still being opened. */
  waiting: Connected | null;
  takeBack: () => void;
}

/**
 * A connector that can open one connection before a request needs it, so that the request does not wait for the
 * handshake. An unused one is closed after `keptMs`, and at once if the server ends it or speaks first.
 */
export class ConnectorAhead<Options extends Target> {
  readonly #connect: Connect<Options>;
  readonly #keptMs: number;
  readonly #clock: Pick<Clock, "after">;
  #ahead: Ahead | null = null;

  constructor(connect: Connect<Options>, keptMs: number, clock: Pick<Clock, "after">) {
    this.#connect = connect;
    this.#keptMs = keptMs;
    this.#clock = clock;
  }

  /** Opens a connection, unless one is ready. If that fails, the request tries again by itself. */
  prepare(target: Options): void {
    if (this.#ahead !== null) return;
    const one: Ahead = { socket: null, waiting: null, takeBack: () => undefined };
    one.takeBack = this.#clock.after(this.#keptMs, () => this.#forget(one));
    this.#ahead = one;
    this.#connect(target, (...outcome) => {
      const [error, socket] = outcome;
      if (one.waiting !== null) one.waiting(...outcome);
      else if (error !== null) this.#forget(one);
      else if (this.#ahead !== one) socket.destroy();
      else this.#keep(one, socket);
    });
  }

  /** Gives the connection that is ready, or opens one. */
  readonly connect: Connect<Options> = (target, done) => {
    const one = this.#ahead;
    if (one === null) {
      this.#connect(target, done);
      return;
    }
    this.#ahead = null;
    one.takeBack();
    const { socket } = one;
    if (socket === null) one.waiting = done;
    else {
      socket.removeAllListeners("readable").removeAllListeners("close");
      // Undici expects the answer after its call.
      queueMicrotask(() => done(null, socket));
    }
  };

  /** Closes the connection that is ready. */
  drop(): void {
    if (this.#ahead !== null) this.#forget(this.#ahead);
  }

  #keep(one: Ahead, socket: Socket): void {
    one.socket = socket;
    const end = () => this.#forget(one);
    socket.on("error", ignored).on("close", end).on("readable", end);
  }

  #forget(one: Ahead): void {
    if (this.#ahead === one) this.#ahead = null;
    one.takeBack();
    one.socket?.destroy();
  }
}
