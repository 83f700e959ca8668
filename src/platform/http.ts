// The package's front door also has fetch, caches, cookies and WebSockets, which take longer than the whole platform client.
import buildConnector from "undici/lib/core/connect.js";
import Pool from "undici/lib/dispatcher/pool.js";
import type { IncomingHttpHeaders } from "node:http";
import type { Dispatcher } from "undici";
import type { Pace } from "../greenhouse/ports.js";
import { abortReason, cameWithin, type Clock } from "../runtime/clock.js";
import { Semaphore } from "../runtime/schedule.js";
import { verifiedTls } from "../runtime/sockets.js";
import type { Operation } from "./operations.js";
import type { PlatformSettings } from "./settings.js";

/** One request to the platform, without its credential. */
export interface Call {
  readonly operation: Operation;
  readonly path: string;
  readonly body?: string;
  /**
   * What a command waits for has connections of its own, the longer deadline, and goes out even while the circuit is open. Of a stop, and
   * of what a rule sends, no other request to the controller holds it up.
   */
  readonly pace: Pace;
  /** The controller that it is about. */
  readonly device?: string | undefined;
  /** Whether it may leave, asked as its first byte is about to. */
  readonly mayBegin?: () => boolean;
  readonly signal: AbortSignal;
}

/**
 * How long a connection is kept that nothing uses, ms. A warm one is only worth something within one command; an old one may be
 * dead and make a POST ambiguous.
 */
const keptFor = { polling: 15_000, reads: 4_000, posts: 4_000 } as const;

/** What is not let go of by then is left behind. */
const longestCloseMs = 1_000;

type Purpose = keyof typeof keptFor;

interface HeldPool {
  readonly pool: Pool;
  /** What is under way in it. */
  readonly open: Set<Exchange>;
}

const always = () => true;

/**
 * Connections that are reset when they are closed. Of one that is merely closed the operating system goes on sending for minutes
 * what was written and not acknowledged: a value that was given up while the network was away would arrive when it is back.
 */
export function resettingConnector(
  options: Parameters<typeof buildConnector>[0],
): ReturnType<typeof buildConnector> {
  const connect = buildConnector(options);
  return (target, callback) => {
    const isSecure = target.protocol === "https:";
    const port = target.port || (isSecure ? "443" : "80");
    connect({ ...target, protocol: "http:", port }, (error, socket) => {
      if (error !== null) {
        callback(error, null);
        return;
      }
      // What `resetAndDestroy` sets. That itself waits for the end of the stream first, and its owner learns of no error.
      Object.assign(socket, { resetAndClosing: true });
      if (isSecure) connect({ ...target, httpSocket: socket }, callback);
      else callback(null, socket);
    });
  };
}

/** The way to one host as requests go it. */
export type HostWay = Pick<HostConnections, keyof HostConnections>;

/**
 * Everything that leads to one host. Polls, the reads of commands and their POSTs have connections of their own. Of the latter two
 * none waits for another: where no connection is free a new one is opened. Follows no redirect and repeats nothing by itself. Of
 * the URL a path prefix is kept; user name, password, query and fragment are not used.
 */
export class HostConnections {
  readonly url: URL;
  readonly semaphore: Semaphore;
  readonly #timeouts: PlatformSettings["timeouts"];
  readonly #concurrency: number;
  readonly #prefix: string;
  readonly #clock: Clock;
  /** Those that take new requests, and those that only end what is under way in them. */
  readonly #pools = new Map<Purpose, HeldPool>();
  readonly #held = new Set<HeldPool>();
  #isClosed = false;

  constructor(
    url: string,
    { timeouts, concurrency }: Pick<PlatformSettings, "timeouts" | "concurrency">,
    clock: Clock,
    semaphore = new Semaphore(concurrency),
  ) {
    this.url = new URL(url);
    this.semaphore = semaphore;
    this.#timeouts = timeouts;
    this.#concurrency = concurrency;
    this.#prefix = this.url.pathname.replace(/\/+$/, "");
    this.#clock = clock;
  }

  /** Rejects with a TransportFailure. */
  async exchange(call: Call, headers: string[]): Promise<HttpAnswer> {
    const { operation, body, pace, signal, mayBegin = always } = call;
    const { method } = operation;
    if (this.#isClosed || signal.aborted) throw new TransportFailure("aborted", false, 0);
    const purpose = pace === "polled" ? "polling" : method === "GET" ? "reads" : "posts";
    const held = this.#pool(purpose);
    const exchange = new Exchange({
      clock: this.#clock,
      deadlineMs: this.deadlineMs(call),
      maxBytes: operation.maxAnswerMiB * 1024 * 1024,
      signal,
      mayBegin,
      isRead: method === "GET",
    });
    held.open.add(exchange);
    try {
      const path = this.#prefix + call.path;
      held.pool.dispatch({ method, path, headers, ...(body === undefined ? {} : { body }) }, exchange);
    } catch (error) {
      exchange.onResponseError(null, error);
    }
    try {
      return await exchange.answer;
    } finally {
      held.open.delete(exchange);
      if (exchange.hasExpired || this.#pools.get(purpose) !== held) this.#leave(purpose, held);
    }
  }

  /** The longer of the two total deadlines is for control values, the sign-in and what a command reads. */
  deadlineMs({ pace, operation }: Call): number {
    return pace !== "polled" || operation.method === "POST" ? this.#timeouts.control : this.#timeouts.read;
  }

  /** Ends every open exchange. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const destroyed = Promise.all([...this.#held].map(({ pool }) => pool.destroy()));
    await cameWithin(this.#clock, longestCloseMs, destroyed);
    for (const { open } of this.#held) for (const exchange of open) exchange.giveUp();
  }

  /**
   * Where one connection stays silent the others beside it may be as dead, those too that undici opened in its place: each
   * would cost another deadline once the host is back.
   */
  #leave(purpose: Purpose, held: HeldPool): void {
    if (this.#pools.get(purpose) === held) this.#pools.delete(purpose);
    if (held.open.size > 0 || this.#isClosed) return;
    const forget = () => this.#held.delete(held);
    held.pool.destroy().then(forget, forget);
  }

  #pool(purpose: Purpose): HeldPool {
    const current = this.#pools.get(purpose);
    if (current !== undefined) return current;
    const connect = { timeout: this.#timeouts.connect, ...verifiedTls };
    const pool = new Pool(this.url.origin, {
      ...(purpose === "polling" ? { connections: this.#concurrency } : {}),
      pipelining: 1,
      allowH2: false,
      connect: purpose === "posts" ? resettingConnector({ ...connect, allowH2: false }) : connect,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: keptFor[purpose],
      keepAliveMaxTimeout: 60_000,
      maxHeaderSize: 32 * 1024,
    });
    const held = { pool, open: new Set<Exchange>() };
    this.#pools.set(purpose, held);
    this.#held.add(held);
    return held;
  }
}

/**
 * Why no whole answer came. `sent`: the connection stood and the request was being written, so the platform may
 * have seen it. `status` is 0 when no answer had begun.
 */
export class TransportFailure extends Error {
  override name = "TransportFailure" as const;
  readonly reason: "connection" | "timeout" | "aborted" | "withheld" | "too_large";
  readonly sent: boolean;
  readonly status: number;

  constructor(reason: TransportFailure["reason"], sent: boolean, status: number, cause?: unknown) {
    super(reason, { cause });
    this.reason = reason;
    this.sent = sent;
    this.status = status;
  }
}

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

/** What bounds an exchange. */
interface ExchangeLimits {
  readonly clock: Clock;
  /** From the first byte of the request to the last one of the answer. */
  readonly deadlineMs: number;
  /** Of the answer, on the wire. */
  readonly maxBytes: number;
  /** Of a POST it ends only the waiting for a connection. */
  readonly signal: AbortSignal;
  /** Asked before the first byte. */
  readonly mayBegin: () => boolean;
  /** Then undici may begin it again on another connection. */
  readonly isRead: boolean;
}

type Controller = Dispatcher.DispatchController;

/** As undici calls it. */
const noConnection = () => Object.assign(new Error("no connection"), { code: "UND_ERR_CONNECT_TIMEOUT" });

/**
 * One request and its answer, below undici's `request` because only a dispatch handler learns the moment the request
 * goes onto the wire, and because its promise must not wait for a connection that stalls.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  /** Rejects with a TransportFailure. */
  readonly answer: Promise<HttpAnswer>;
  /** Its deadline has passed. */
  hasExpired = false;
  readonly #limits: ExchangeLimits;
  /** Of the time for a connection, then of the deadline. */
  #takeBackTimer: () => void;
  #resolve: (answer: HttpAnswer) => void = () => undefined;
  #reject: (failure: TransportFailure) => void = () => undefined;
  #controller: Controller | null = null;
  #isOver = false;
  #started = false;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #chunks: Buffer[] = [];
  #size = 0;

  constructor(limits: ExchangeLimits) {
    this.#limits = limits;
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // A try to connect has a time-out of its own, and is followed by another where an idle connection had died.
    this.#takeBackTimer = limits.clock.after(limits.deadlineMs, () =>
      this.#fail("connection", noConnection()),
    );
    limits.signal.addEventListener("abort", this);
  }

  /** The caller's signal. */
  handleEvent(): void {
    const { isRead, signal } = this.#limits;
    if (isRead || !this.#started) this.#fail("aborted", abortReason(signal));
  }

  /** The program ends. */
  giveUp(): void {
    this.#fail("aborted");
  }

  /** The connection stands. Undici writes the head of the request behind this call; where it is aborted here it writes nothing. */
  onRequestStart(controller: Controller): void {
    const { clock, deadlineMs, mayBegin, isRead } = this.#limits;
    if (!this.#isOver && !this.#started && !mayBegin()) this.#fail("withheld");
    if (this.#isOver || (this.#started && !isRead)) {
      controller.abort(new Error("no longer wanted"));
      return;
    }
    this.#controller = controller;
    if (this.#started) return;
    this.#started = true;
    this.#takeBackTimer();
    this.#takeBackTimer = clock.after(deadlineMs, () => this.#fail("timeout"));
  }

  onResponseStart(_controller: Controller, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(_controller: Controller, chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#size > this.#limits.maxBytes) this.#fail("too_large");
    else this.#chunks.push(chunk);
  }

  onResponseEnd(): void {
    if (!this.#end()) return;
    const [first] = this.#chunks;
    const body = this.#chunks.length === 1 && first ? first : Buffer.concat(this.#chunks);
    this.#resolve({ status: this.#status, headers: this.#headers, body });
  }

  /** Also told when undici refuses to take the request at all, with no controller. */
  onResponseError(_controller: Controller | null, error: unknown): void {
    this.#fail("connection", error);
  }

  #fail(reason: TransportFailure["reason"], cause?: unknown): void {
    if (!this.#end()) return;
    this.hasExpired = reason === "timeout";
    this.#chunks = [];
    const failure = new TransportFailure(reason, this.#started, this.#status, cause);
    this.#controller?.abort(failure);
    this.#reject(failure);
  }

  #end(): boolean {
    if (this.#isOver) return false;
    this.#isOver = true;
    this.#takeBackTimer();
    this.#limits.signal.removeEventListener("abort", this);
    return true;
  }
}
