import type { Pool as UndiciPool } from "undici";
import { abortReason, type Clock } from "../../runtime/clock.js";
import { verifiedTls } from "../../runtime/tls.js";
import type { PlatformTimeouts } from "../settings.js";
import { DeadlineQueue, Exchange, type HttpAnswer, TransportFailure } from "./exchange.js";

/**
 * Undici's connection pool. The package's front door also loads fetch, caches, cookies and WebSockets, which take longer than
 * the whole platform client; it is used where a release keeps the pool elsewhere.
 */
export const Pool = await import("undici/lib/dispatcher/pool.js").then(
  (pool) => pool.default,
  async () => (await import("undici")).Pool,
);

export interface ConnectionSettings {
  /** Base address; a path prefix is kept. Its user name, password, query and fragment are not used. */
  readonly url: string;
  readonly connections: number;
  readonly connectMs: number;
  /** How long an idle connection is kept; the server's `Keep-Alive` hint shortens it. */
  readonly idleMs: number;
}

export interface HttpRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: string[];
  readonly body?: string;
  /** Of the answer, on the wire. */
  readonly maxBytes: number;
  readonly deadlines: DeadlineQueue;
  readonly signal: AbortSignal;
}

/** The connections to one host for one purpose. Follows no redirect and repeats nothing by itself. */
export class Connections {
  readonly #settings: ConnectionSettings;
  #pool: UndiciPool | null = null;
  #prefix = "";
  #isClosed = false;

  constructor(settings: ConnectionSettings) {
    this.#settings = settings;
  }

  /** Rejects with a TransportFailure. The deadline runs from here to the last byte of the answer. */
  exchange(request: HttpRequest): Promise<HttpAnswer> {
    const { method, headers, body, maxBytes, deadlines, signal } = request;
    return new Promise((resolve, reject) => {
      if (this.#isClosed || signal.aborted) {
        reject(new TransportFailure("aborted", false, 0));
        return;
      }
      const repeatable = method === "GET";
      const limits = { deadlines, signal, repeatable, maxBytes };
      const exchange = new Exchange(limits, resolve, reject);
      exchange.begin();
      try {
        const pool = this.#open();
        const path = this.#prefix + request.path;
        pool.dispatch({ method, path, headers, ...(body === undefined ? {} : { body }) }, exchange);
      } catch (error) {
        exchange.refuse(error);
      }
    });
  }

  /** Ends every open exchange. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const pool = this.#pool;
    this.#pool = null;
    await pool?.destroy();
  }

  #open(): UndiciPool {
    if (this.#pool) return this.#pool;
    const { url, connections, connectMs, idleMs } = this.#settings;
    const { origin, pathname } = new URL(url);
    this.#prefix = pathname.replace(/\/+$/, "");
    this.#pool = new Pool(origin, {
      connections,
      pipelining: 1,
      connect: { timeout: connectMs, ...verifiedTls },
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: idleMs,
      keepAliveMaxTimeout: 60_000,
      maxHeaderSize: 32 * 1024,
    });
    return this.#pool;
  }
}

/** Bounds how many calls run at once; the others wait in order and can give up. */
export class Lane {
  #free: number;
  readonly #waiting = new Set<() => void>();

  constructor(size: number) {
    this.#free = size;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /** Null when a place was free; else a promise of one, rejected with the signal's reason. Give it back with `leave`. */
  enter(signal: AbortSignal): Promise<void> | null {
    if (this.#free > 0) {
      this.#free -= 1;
      return null;
    }
    return new Promise((resolve, reject) => {
      const take = () => {
        signal.removeEventListener("abort", giveUp);
        resolve();
      };
      const giveUp = () => {
        this.#waiting.delete(take);
        reject(abortReason(signal));
      };
      if (signal.aborted) {
        reject(abortReason(signal));
        return;
      }
      signal.addEventListener("abort", giveUp, { once: true });
      this.#waiting.add(take);
    });
  }

  leave(): void {
    for (const take of this.#waiting) {
      this.#waiting.delete(take);
      take();
      return;
    }
    this.#free += 1;
  }
}

export interface HostSettings {
  readonly url: string;
  readonly timeouts: PlatformTimeouts;
  /** Of polling. */
  readonly concurrency: number;
}

export interface Outgoing {
  readonly operation: { readonly method: "GET" | "POST"; readonly maxAnswerMiB: number };
  readonly path: string;
  readonly body?: string;
  readonly urgent: boolean;
  /** Stops what moves: does not wait for a free connection behind other commands. */
  readonly stops?: boolean;
  readonly patient: boolean;
  readonly signal: AbortSignal;
}

const bytesPerMiB = 1024 * 1024;
const commandConnections = 8;
const stopConnections = 4;
const pollingIdleMs = 15_000;
/** A warm connection is only worth something within one command; an old one may be dead and make a POST ambiguous. */
const commandIdleMs = 4_000;

/** Everything that leads to one host: polls, commands and stops on connections of their own, so that none waits for the others. */
export class HostConnections {
  readonly url: URL;
  readonly lane: Lane;
  readonly #timeouts: PlatformTimeouts;
  readonly #polling: Connections;
  readonly #commands: Connections;
  readonly #stops: Connections;
  readonly #reads: DeadlineQueue;
  readonly #controls: DeadlineQueue;

  constructor({ url, timeouts, concurrency }: HostSettings, clock: Clock) {
    const { connectMs } = timeouts;
    this.url = new URL(url);
    this.lane = new Lane(concurrency);
    this.#timeouts = timeouts;
    this.#polling = new Connections({ url, connections: concurrency, connectMs, idleMs: pollingIdleMs });
    const command = { url, connectMs, idleMs: commandIdleMs };
    this.#commands = new Connections({ ...command, connections: commandConnections });
    this.#stops = new Connections({ ...command, connections: stopConnections });
    this.#reads = new DeadlineQueue(clock, timeouts.readMs);
    this.#controls = new DeadlineQueue(clock, timeouts.controlMs);
  }

  /** Rejects with a TransportFailure. */
  exchange(
    { operation, path, body, urgent, stops = false, patient, signal }: Outgoing,
    headers: string[],
  ): Promise<HttpAnswer> {
    const deadlines = patient ? this.#controls : this.#reads;
    const others = urgent ? this.#commands : this.#polling;
    const connections = stops ? this.#stops : others;
    const { method, maxAnswerMiB } = operation;
    const maxBytes = maxAnswerMiB * bytesPerMiB;
    return connections.exchange({ method, path, headers, body, maxBytes, deadlines, signal });
  }

  deadlineMs = (patient: boolean): number => (patient ? this.#timeouts.controlMs : this.#timeouts.readMs);

  async close(): Promise<void> {
    await Promise.all([this.#polling.close(), this.#commands.close(), this.#stops.close()]);
    await Promise.all([this.#reads.close(), this.#controls.close()]);
  }
}
