// The package's main entry also loads fetch, caches, cookies and WebSockets, which takes longer than the whole platform
// client.
import buildConnector from "undici/lib/core/connect.js";
import Client from "undici/lib/dispatcher/client.js";
import Pool from "undici/lib/dispatcher/pool.js";
import type { IncomingHttpHeaders } from "node:http";
import type { Dispatcher } from "undici";
import type { Pace } from "../greenhouse/ports.js";
import { abortReason, cameWithin, type Clock } from "../runtime/clock.js";
import { ConnectorAhead, connectorOver } from "../runtime/connecting.js";
import type { Names } from "../runtime/host-names.js";
import { receiving } from "../runtime/socket-limits.js";
import { Semaphore } from "../runtime/schedule.js";
import { verifiedTls } from "../runtime/sockets.js";
import type { Operation } from "./operations.js";
import type { PlatformSettings } from "./settings.js";

/** A request to the platform, without its credential. */
export interface Call {
  readonly operation: Operation;
  readonly path: string;
  readonly body?: string;
  /**
   * `polled`, or for commands: with connections of their own, the longer deadline, and a passage through open circuits.
   * A stop or a rule's command never waits for other requests to the controller.
   */
  readonly pace: Pace;
  /** The controller that it concerns. */
  readonly device?: string | undefined;
  /** Asked just before the first byte: whether it may still be sent. */
  readonly mayBegin?: () => boolean;
  readonly signal: AbortSignal;
}

/**
 * How long an unused connection is kept, ms. For commands an older one may be dead, which makes a POST ambiguous. A
 * small account is polled about every ten seconds.
 */
const keptFor = { polling: 30_000, reads: 4_000, posts: 4_000 } as const;

/** After this, connections that are still open are abandoned. */
const longestCloseMs = 1_000;

type Purpose = keyof typeof keptFor;

interface HeldPool {
  readonly pool: Pool;
  readonly connector: ConnectorAhead<buildConnector.Options>;
  /** Exchanges under way. */
  readonly open: Set<Exchange>;
  /** When the last exchange ended, monotonic ms. */
  idleSince: number;
}

const always = () => true;

/** How long each request has a connection of its own, after a host sent an unrequested answer. */
const aloneForMs = 3_600_000;

/**
 * The requests over one connection. If a server answers twice, each surplus answer is taken for that to the next
 * request, until the connection is idle and one is left over. So only the first answer is certain; later ones are, as
 * long as none was left over.
 */
export class Line {
  /** Number of requests so far. */
  asked = 0;
  /** Number of requests without an answer. */
  open = 0;
  readonly #doubters = new Map<string, () => void>();
  readonly #onLeftOver: () => void;

  constructor(onLeftOver: () => void) {
    this.#onLeftOver = onLeftOver;
  }

  /** Calls back, once for each name of a read, when an answer was left over. */
  onLeftOver(name: string, doubt: () => void): void {
    this.#doubters.set(name, doubt);
  }

  /** Notes the end of the connection. */
  ended(error: { readonly code?: unknown; readonly message: string; readonly name: string }): void {
    const wasUnasked = error.message === "bad response" || error.name === "HTTPParserError";
    if (wasUnasked && this.open === 0) {
      this.#onLeftOver();
      for (const doubt of this.#doubters.values()) doubt();
    }
    this.#doubters.clear();
  }
}

/** The one connection that a client has at a time. */
interface ClientWay {
  line: Line;
}

/** The interface of a host's connections. */
export type HostWay = Pick<HostConnections, keyof HostConnections>;

/**
 * All connections to one host. Polls, reads of commands and POSTs have connections of their own; a command never waits
 * for a free one, as further ones are opened. No redirects, no repetition. Of the URL only origin and path prefix are
 * used, not user name, password, query and fragment.
 */
export class HostConnections {
  readonly url: URL;
  readonly semaphore: Semaphore;
  readonly #timeouts: PlatformSettings["timeouts"];
  readonly #concurrency: number;
  readonly #prefix: string;
  readonly #clock: Clock;
  /** By the options passed to undici, which has its own handler for each exchange. */
  readonly #exchanges = new WeakMap<object, Exchange>();
  #aloneUntil = -Infinity;
  /** Pools for new requests, and all pools including those that only finish their exchanges. */
  readonly #pools = new Map<Purpose, HeldPool>();
  readonly #held = new Set<HeldPool>();
  readonly #names: Names;
  readonly #closing = new AbortController();

  constructor(
    url: string,
    { timeouts, concurrency }: Pick<PlatformSettings, "timeouts" | "concurrency">,
    { clock, names }: { readonly clock: Clock; readonly names: Names },
    semaphore = new Semaphore(concurrency),
  ) {
    this.url = new URL(url);
    this.semaphore = semaphore;
    this.#timeouts = timeouts;
    this.#concurrency = concurrency;
    this.#prefix = this.url.pathname.replace(/\/+$/, "");
    this.#clock = clock;
    this.#names = names;
  }

  /** Sends a call. Rejects with a TransportFailure. */
  async exchange(call: Call, headers: string[]): Promise<HttpAnswer> {
    const { operation, body, pace, signal, mayBegin = always } = call;
    const { method } = operation;
    if (this.#closing.signal.aborted || signal.aborted) throw new TransportFailure("aborted", false, 0);
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
      // The answer that decides about a command must not be another request's.
      const reset = purpose === "reads" || this.#clock.monotonic() < this.#aloneUntil;
      const asked = {
        ...{ method, path, headers },
        ...(body === undefined ? {} : { body }),
        ...(reset ? { reset } : {}),
      };
      this.#exchanges.set(asked, exchange);
      held.pool.dispatch(asked, exchange);
    } catch (error) {
      exchange.onResponseError(null, error);
    }
    try {
      return await exchange.answer;
    } finally {
      held.open.delete(exchange);
      held.idleSince = this.#clock.monotonic();
      if (exchange.hasExpired || this.#pools.get(purpose) !== held) this.#leave(purpose, held);
    }
  }

  /** Opens a connection for a POST that will probably follow, unless one stands. */
  preparePost(): void {
    if (this.#closing.signal.aborted) return;
    const { pool, connector, open } = this.#pool("posts");
    if (pool.stats.connected > open.size) return;
    const { protocol, hostname, host, port } = this.url;
    connector.prepare({ protocol, hostname, host, port });
  }

  /** The total deadline: the longer one for control values, the sign-in and reads of commands. */
  deadlineMs({ pace, operation }: Call): number {
    return pace !== "polled" || operation.method === "POST" ? this.#timeouts.control : this.#timeouts.read;
  }

  /** Ends every open exchange. */
  async close(): Promise<void> {
    this.#closing.abort();
    for (const { connector } of this.#held) connector.drop();
    const destroyed = Promise.all([...this.#held].map(({ pool }) => pool.destroy()));
    await cameWithin(this.#clock, longestCloseMs, destroyed);
    for (const { open } of this.#held) for (const exchange of open) exchange.giveUp();
  }

  /**
   * Abandons a pool after an expired request: other connections, even those that undici reopened, may be as dead, and
   * each would cost another deadline once the host is back.
   */
  #leave(purpose: Purpose, held: HeldPool): void {
    if (this.#pools.get(purpose) === held) this.#pools.delete(purpose);
    held.connector.drop();
    if (held.open.size > 0 || this.#closing.signal.aborted) return;
    const forget = () => this.#held.delete(held);
    held.pool.destroy().then(forget, forget);
  }

  /** A client that gives each exchange the connection it uses. */
  #clientOf(origin: URL, options: object): Client {
    const client = new Client(origin, options);
    const dispatch = client.dispatch.bind(client);
    const onLeftOver = () => {
      this.#aloneUntil = this.#clock.monotonic() + aloneForMs;
    };
    const way: ClientWay = { line: new Line(onLeftOver) };
    client.on("disconnect", (_origin, _targets, error) => {
      way.line.ended(error);
      way.line = new Line(onLeftOver);
    });
    client.dispatch = (asked, handler) => {
      const exchange = this.#exchanges.get(asked);
      if (exchange !== undefined) exchange.way = way;
      return dispatch(asked, handler);
    };
    return client;
  }

  #pool(purpose: Purpose): HeldPool {
    const current = this.#pools.get(purpose);
    // Undici's own timer is late when the process was busy or frozen.
    const idleMs = current === undefined ? 0 : this.#clock.monotonic() - current.idleSince;
    if (current !== undefined && (current.open.size > 0 || idleMs < keptFor[purpose])) return current;
    if (current !== undefined) this.#leave(purpose, current);
    const connectMs = this.#timeouts.connect;
    const secure = buildConnector({ timeout: connectMs, allowH2: false, ...verifiedTls });
    const connect = connectorOver<buildConnector.Options>(secure, {
      names: this.#names,
      connectMs,
      signal: this.#closing.signal,
      resets: purpose === "posts",
    });
    const connector = new ConnectorAhead(connect, keptFor[purpose], this.#clock);
    const pool = new Pool(this.url.origin, {
      ...(purpose === "polling" ? { connections: this.#concurrency } : {}),
      pipelining: 1,
      allowH2: false,
      connect: connector.connect,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: keptFor[purpose],
      // The server can shorten this, never lengthen it.
      keepAliveMaxTimeout: keptFor[purpose],
      maxHeaderSize: 32 * 1024,
      factory: (origin, options) => this.#clientOf(origin, options),
    });
    const held = { pool, connector, open: new Set<Exchange>(), idleSince: this.#clock.monotonic() };
    this.#pools.set(purpose, held);
    this.#held.add(held);
    return held;
  }
}

/**
 * Why there is no whole answer. `sent`: the connection was up and the request was being written, so the platform may
 * have seen it. `status` is 0 where no answer had begun.
 */
export class TransportFailure extends Error {
  override name = "TransportFailure" as const;
  readonly reason: "connection" | "timeout" | "late" | "aborted" | "withheld" | "too_large";
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
  /** The connection of an answer that was not its first; absent for the first. */
  readonly line?: Pick<Line, "onLeftOver"> | undefined;
}

interface ExchangeLimits {
  readonly clock: Clock;
  /** From the first byte of the request to the last of the answer. */
  readonly deadlineMs: number;
  /** Size of the answer on the wire. */
  readonly maxBytes: number;
  /** For a POST it ends only the wait for a connection. */
  readonly signal: AbortSignal;
  /** Asked before the first byte. */
  readonly mayBegin: () => boolean;
  /** Undici may repeat a read on another connection. */
  readonly isRead: boolean;
}

type Controller = Dispatcher.DispatchController;

/** As undici reports it. */
const noConnection = () => Object.assign(new Error("no connection"), { code: "UND_ERR_CONNECT_TIMEOUT" });

/**
 * One request with its answer. It is a dispatch handler, as only that learns when the request is written, and as
 * undici's `request` would wait for a stalled connection.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  /** Rejects with a TransportFailure. */
  readonly answer: Promise<HttpAnswer>;
  /** Whether its deadline has passed. */
  hasExpired = false;
  /** The client that carries it; its connection is known once writing begins. */
  way: ClientWay | null = null;
  readonly #limits: ExchangeLimits;
  /** Cancels the timer, first for the connection, then for the deadline. */
  #takeBackTimer: () => void;
  #resolve: (answer: HttpAnswer) => void = () => undefined;
  #reject: (failure: TransportFailure) => void = () => undefined;
  #controller: Controller | null = null;
  #line: Line | null = null;
  #nth = 0;
  #isOver = false;
  #started = false;
  #startedAt = 0;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #chunks: Buffer[] = [];
  /** The newest pieces, not joined yet. */
  #pieces: Buffer[] = [];
  #size = 0;

  constructor(limits: ExchangeLimits) {
    this.#limits = limits;
    this.answer = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // A connection attempt has its own time-out, and is followed by another one where an idle connection was dead.
    this.#takeBackTimer = limits.clock.after(limits.deadlineMs, () =>
      this.#fail("connection", noConnection()),
    );
    limits.signal.addEventListener("abort", this);
  }

  /** The caller's signal aborted. */
  handleEvent(): void {
    const { isRead, signal } = this.#limits;
    if (isRead || !this.#started) this.#fail("aborted", abortReason(signal));
  }

  /** Called when the program ends. */
  giveUp(): void {
    this.#fail("aborted");
  }

  /** The connection is up, and undici writes the request after this call; after an abort here it writes nothing. */
  onRequestStart(controller: Controller): void {
    const { clock, deadlineMs, mayBegin, isRead } = this.#limits;
    if (!this.#isOver && !this.#started && !mayBegin()) this.#fail("withheld");
    if (this.#isOver || (this.#started && !isRead)) {
      controller.abort(new Error("no longer wanted"));
      return;
    }
    this.#controller = controller;
    // Undici may begin a read again on another connection.
    this.#leaveLine();
    this.#line = this.way?.line ?? null;
    if (this.#line !== null) {
      this.#nth = this.#line.asked;
      this.#line.asked += 1;
      this.#line.open += 1;
    }
    if (this.#started) return;
    this.#started = true;
    this.#startedAt = clock.monotonic();
    this.#takeBackTimer();
    this.#takeBackTimer = clock.after(deadlineMs, () => this.#fail("timeout"));
  }

  #leaveLine(): void {
    if (this.#line !== null) this.#line.open -= 1;
    this.#line = null;
  }

  onResponseStart(_controller: Controller, status: number, headers: IncomingHttpHeaders): void {
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
  }

  onResponseData(_controller: Controller, chunk: Buffer): void {
    this.#size += chunk.length;
    if (this.#size > this.#limits.maxBytes) this.#fail("too_large");
    else if (this.#pieces.push(chunk) >= receiving.answers.mostPieces) this.#join();
  }

  onResponseEnd(): void {
    const line = this.#nth > 0 ? (this.#line ?? undefined) : undefined;
    this.#leaveLine();
    const { clock, deadlineMs, isRead } = this.#limits;
    // After a freeze, answers are read before timers run, so a late one counts as old.
    if (isRead && clock.monotonic() - this.#startedAt > deadlineMs) this.#fail("late");
    if (!this.#end()) return;
    this.#join();
    const [first] = this.#chunks;
    const body = this.#chunks.length === 1 && first ? first : Buffer.concat(this.#chunks);
    this.#resolve({ status: this.#status, headers: this.#headers, body, line });
  }

  /** Joins pieces: a body in pieces of one byte would take a hundred times its size. */
  #join(): void {
    const [first] = this.#pieces;
    if (first !== undefined)
      this.#chunks.push(this.#pieces.length === 1 ? first : Buffer.concat(this.#pieces));
    this.#pieces = [];
  }

  /** Also called without a controller, where undici refuses the request. */
  onResponseError(_controller: Controller | null, error: unknown): void {
    this.#leaveLine();
    this.#fail("connection", error);
  }

  #fail(reason: TransportFailure["reason"], cause?: unknown): void {
    if (!this.#end()) return;
    this.hasExpired = reason === "timeout";
    this.#chunks = [];
    this.#pieces = [];
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
