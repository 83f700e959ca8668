import type { Pool as UndiciPool } from "undici";
import { verifiedTls } from "../../runtime/tls-environment.js";
import type { DeadlineQueue } from "./deadline-queue.js";
import { Exchange, type HttpAnswer } from "./exchange.js";
import { Pool } from "./pool.js";
import { TransportFailure } from "./transport-failure.js";

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
