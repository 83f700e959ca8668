import { gunzipSync } from "node:zlib";
import type { IncomingHttpHeaders } from "node:http";
import type { Dispatcher } from "undici";
import { abortReason, type Clock } from "../../runtime/clock.js";

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

export class UndecodableBody extends Error {
  override name = "UndecodableBody" as const;
}

/**
 * The body without its content encoding, which is gzip as every request asks for it. Throws UndecodableBody for another
 * encoding, for broken data and for more than `maxMiB`. Synchronous, which is harmless as the output is bounded.
 */
export function inflated(body: Buffer, encoding: string | undefined, maxMiB: number): Buffer {
  const name = (encoding ?? "").trim().toLowerCase();
  if (name === "" || name === "identity" || body.length === 0) return body;
  if (name !== "gzip")
    throw new UndecodableBody(`content encoding ${JSON.stringify(name.slice(0, 40))} is not supported`);
  try {
    return gunzipSync(body, { maxOutputLength: maxMiB * 1024 * 1024 });
  } catch (error) {
    const isTooLarge = error instanceof RangeError;
    throw new UndecodableBody(isTooLarge ? `more than ${maxMiB} MiB when unpacked` : "broken gzip data");
  }
}
