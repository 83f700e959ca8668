// The package's front door also has fetch, caches, cookies and WebSockets, which take longer than the whole platform client.
import buildConnector from "undici/lib/core/connect.js";
import Client from "undici/lib/dispatcher/client.js";
import Pool from "undici/lib/dispatcher/pool.js";
import type { IncomingHttpHeaders } from "node:http";
import type { Dispatcher } from "undici";
import type { Pace } from "../greenhouse/ports.js";
import { abortReason, cameWithin, type Clock } from "../runtime/clock.js";
import { connectorOver } from "../runtime/connecting.js";
import type { Names } from "../runtime/names.js";
import { receiving } from "../runtime/receiving.js";
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
 * dead and make a POST ambiguous. An account of a few controllers is polled every ten seconds or so.
 */
const keptFor = { polling: 30_000, reads: 4_000, posts: 4_000 } as const;

/** Connections that are still open after this are left behind. */
const longestCloseMs = 1_000;

type Purpose = keyof typeof keptFor;

interface HeldPool {
  readonly pool: Pool;
  /** What is under way in it. */
  readonly open: Set<Exchange>;
  /** When the last of them ended, monotonic ms. */
  idleSince: number;
}

const always = () => true;

/** For so long after a host answered what nobody had asked for each request has a connection of its own. */
const aloneForMs = 3_600_000;

/**
 * What was asked over one connection. Where a server answers twice, the answer that nobody asked for is taken for the one to the next
 * request, and so on until the connection is idle and one is left over. So only the first answer over a connection is sure to be
 * its request's; the others are as long as nothing was left over.
 */
export class Line {
  /** Requests so far. */
  asked = 0;
  /** Requests without an answer. */
  open = 0;
  readonly #doubters = new Map<string, () => void>();
  readonly #onLeftOver: () => void;

  constructor(onLeftOver: () => void) {
    this.#onLeftOver = onLeftOver;
  }

  /** Calls back, once for all reads of this name, when an answer was left over. */
  onLeftOver(name: string, doubt: () => void): void {
    this.#doubters.set(name, doubt);
  }

  /** The connection has ended for this reason. */
  ended(error: { readonly code?: unknown; readonly message: string; readonly name: string }): void {
    const wasUnasked = error.message === "bad response" || error.name === "HTTPParserError";
    if (wasUnasked && this.open === 0) {
      this.#onLeftOver();
      for (const doubt of this.#doubters.values()) doubt();
    }
    this.#doubters.clear();
  }
}

/** A client has one connection at a time, and this is what was asked over it. */
interface ClientWay {
  line: Line;
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
  /** By what undici is given for each, as it knows them by a handler of its own. */
  readonly #exchanges = new WeakMap<object, Exchange>();
  #aloneUntil = -Infinity;
  /** Those that take new requests, and those that only end what is under way in them. */
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

  /** Rejects with a TransportFailure. */
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
      // What a command is judged by may be nobody else's answer.
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

  /** The longer of the two total deadlines is for control values, the sign-in and what a command reads. */
  deadlineMs({ pace, operation }: Call): number {
    return pace !== "polled" || operation.method === "POST" ? this.#timeouts.control : this.#timeouts.read;
  }

  /** Ends every open exchange. */
  async close(): Promise<void> {
    this.#closing.abort();
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
    if (held.open.size > 0 || this.#closing.signal.aborted) return;
    const forget = () => this.#held.delete(held);
    held.pool.destroy().then(forget, forget);
  }

  /** A client has one connection at a time; what is asked over it is told which. */
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
    // Undici's own timer comes late where the process was busy or stood still.
    const idleMs = current === undefined ? 0 : this.#clock.monotonic() - current.idleSince;
    if (current !== undefined && (current.open.size > 0 || idleMs < keptFor[purpose])) return current;
    if (current !== undefined) this.#leave(purpose, current);
    const connectMs = this.#timeouts.connect;
    const secure = buildConnector({ timeout: connectMs, allowH2: false, ...verifiedTls });
    const pool = new Pool(this.url.origin, {
      ...(purpose === "polling" ? { connections: this.#concurrency } : {}),
      pipelining: 1,
      allowH2: false,
      connect: connectorOver(secure, {
        names: this.#names,
        connectMs,
        signal: this.#closing.signal,
        resets: purpose === "posts",
      }),
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: keptFor[purpose],
      // What a server offers makes it shorter, and never longer.
      keepAliveMaxTimeout: keptFor[purpose],
      maxHeaderSize: 32 * 1024,
      factory: (origin, options) => this.#clientOf(origin, options),
    });
    const held = { pool, open: new Set<Exchange>(), idleSince: this.#clock.monotonic() };
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
  /** Over which it came, where another answer came before it; absent for the first. */
  readonly line?: Pick<Line, "onLeftOver"> | undefined;
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
  /** The client that it goes by, whose connection it has once it is about to be written. */
  way: ClientWay | null = null;
  readonly #limits: ExchangeLimits;
  /** Of the time for a connection, then of the deadline. */
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
  /** The newest, which are not put together yet. */
  #pieces: Buffer[] = [];
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
    // A read may be begun again on another connection.
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
    // Where the process stood still its answers are read before its timers: what they say was so when nobody looked.
    if (isRead && clock.monotonic() - this.#startedAt > deadlineMs) this.#fail("late");
    if (!this.#end()) return;
    this.#join();
    const [first] = this.#chunks;
    const body = this.#chunks.length === 1 && first ? first : Buffer.concat(this.#chunks);
    this.#resolve({ status: this.#status, headers: this.#headers, body, line });
  }

  /** A body in pieces of one byte would take a hundred times its size. */
  #join(): void {
    const [first] = this.#pieces;
    if (first !== undefined)
      this.#chunks.push(this.#pieces.length === 1 ? first : Buffer.concat(this.#pieces));
    this.#pieces = [];
  }

  /** Also told when undici refuses to take the request at all, with no controller. */
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
