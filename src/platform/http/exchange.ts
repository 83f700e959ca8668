import type { IncomingHttpHeaders } from "node:http";
import type { Dispatcher } from "undici";
import { abortReason, type Clock } from "../../runtime/clock.js";

/**
 * Why no whole answer came. `sent`: the connection stood and the request was being written, so the platform may
 * have seen it. `status` is 0 when no answer had begun.
 */
export class TransportFailure extends Error {
  override name = "TransportFailure" as const;
  readonly reason: "connection" | "timeout" | "aborted" | "too_large";
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
  readonly deadlines: DeadlineQueue;
  /** Of the answer, on the wire. */
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  /** Whether undici may begin it again on another connection. */
  readonly repeatable: boolean;
  /** Called once it is over; `expired` when its deadline has passed. */
  readonly onEnd?: (expired: boolean) => void;
}

type Controller = Dispatcher.DispatchController;

/**
 * One request and its answer, below undici's `request` because only a dispatch handler learns the moment the request
 * goes onto the wire, and because its promise must not wait for a connection that stalls.
 */
export class Exchange implements Dispatcher.DispatchHandler {
  /** Rejects with a TransportFailure. */
  readonly answer: Promise<HttpAnswer>;
  readonly #limits: ExchangeLimits;
  #resolve: (answer: HttpAnswer) => void = () => undefined;
  #reject: (failure: TransportFailure) => void = () => undefined;
  #controller: Controller | null = null;
  #started = false;
  #ended = false;
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
    limits.deadlines.add(this);
    limits.signal.addEventListener("abort", this);
  }

  /** The caller's signal. */
  handleEvent(): void {
    this.#fail("aborted", abortReason(this.#limits.signal));
  }

  expire(): void {
    this.#fail("timeout");
  }

  onRequestStart(controller: Controller): void {
    if (this.#ended || (this.#started && !this.#limits.repeatable)) {
      controller.abort(new Error("no longer wanted"));
      return;
    }
    this.#controller = controller;
    this.#started = true;
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
    this.#limits.onEnd?.(false);
  }

  /** Also told when undici refuses to take the request at all, with no controller. */
  onResponseError(_controller: Controller | null, error: unknown): void {
    this.#fail("connection", error);
  }

  #fail(reason: TransportFailure["reason"], cause?: unknown): void {
    if (!this.#end()) return;
    this.#chunks = [];
    const failure = new TransportFailure(reason, this.#started, this.#status, cause);
    this.#controller?.abort(failure);
    this.#reject(failure);
    this.#limits.onEnd?.(reason === "timeout");
  }

  #end(): boolean {
    if (this.#ended) return false;
    this.#ended = true;
    this.#limits.deadlines.delete(this);
    this.#limits.signal.removeEventListener("abort", this);
    return true;
  }
}

/**
 * Total deadlines of one length. As all are equally long they end in the order they began, so one timer serves
 * any number of requests.
 */
export class DeadlineQueue {
  readonly #clock: Clock;
  readonly #lengthMs: number;
  readonly #dueAt = new Map<{ expire(): void }, number>();
  readonly #closing = new AbortController();
  #watching: Promise<void> | null = null;

  constructor(clock: Clock, lengthMs: number) {
    this.#clock = clock;
    this.#lengthMs = lengthMs;
  }

  add(entry: { expire(): void }): void {
    this.#dueAt.set(entry, this.#clock.monotonic() + this.#lengthMs);
    if (this.#watching === null && !this.#closing.signal.aborted) this.#watching = this.#watch();
  }

  delete(entry: { expire(): void }): void {
    this.#dueAt.delete(entry);
  }

  /** Stops the timer; what is still open is expired. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#watching;
    for (const entry of this.#dueAt.keys()) entry.expire();
    this.#dueAt.clear();
  }

  async #watch(): Promise<void> {
    const { signal } = this.#closing;
    while (this.#dueAt.size > 0 && !signal.aborted) {
      const waitMs = this.#expireDue();
      if (waitMs > 0) await this.#clock.wait(waitMs, signal).catch(() => undefined);
    }
    this.#watching = null;
  }

  /** Ms until the next deadline; 0 when none is left. */
  #expireDue(): number {
    const now = this.#clock.monotonic();
    for (const [entry, dueAt] of this.#dueAt) {
      if (dueAt > now) return dueAt - now;
      this.#dueAt.delete(entry);
      entry.expire();
    }
    return 0;
  }
}

const capMs = 24 * 3_600_000;

/**
 * How long a `Retry-After` header asks to wait, in ms and at most a day; null without a readable one. A date is
 * counted from the answer's own `Date` where it has one, so that a wrong clock here does no harm.
 */
export function retryAfterMs(
  header: string | undefined,
  dateHeader: string | undefined,
  nowAt: number,
): number | null {
  const text = header?.trim() ?? "";
  if (/^\d{1,9}(?:\.\d+)?$/.test(text)) return Math.min(capMs, Math.ceil(Number(text) * 1000));
  if (!/^[A-Za-z]{3,9},? /.test(text)) return null;
  const until = Date.parse(text);
  if (!Number.isFinite(until)) return null;
  const from = Date.parse(dateHeader ?? "");
  return Math.min(capMs, Math.max(0, until - (Number.isFinite(from) ? from : nowAt)));
}
