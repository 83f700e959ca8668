import type { IncomingHttpHeaders } from "node:http";
import type { Dispatcher } from "undici";
import { abortReason } from "../../runtime/clock.js";
import type { DeadlineQueue, Expirable } from "./deadline-queue.js";
import { TransportFailure } from "./transport-failure.js";

export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface ExchangeLimits {
  readonly deadlines: DeadlineQueue;
  readonly maxBytes: number;
  readonly signal: AbortSignal;
  /** Whether undici may begin it again on another connection. */
  readonly repeatable: boolean;
}

type Controller = Dispatcher.DispatchController;

/**
 * One request and its answer, below undici's `request` because only a dispatch handler learns the moment the request
 * goes onto the wire, and because its promise must not wait for a connection that stalls.
 */
export class Exchange implements Dispatcher.DispatchHandler, Expirable {
  readonly #limits: ExchangeLimits;
  readonly #resolve: (answer: HttpAnswer) => void;
  readonly #reject: (failure: TransportFailure) => void;
  #controller: Controller | null = null;
  #started = false;
  #ended = false;
  #status = 0;
  #headers: IncomingHttpHeaders = {};
  #chunks: Buffer[] = [];
  #size = 0;

  constructor(
    limits: ExchangeLimits,
    resolve: (answer: HttpAnswer) => void,
    reject: (failure: TransportFailure) => void,
  ) {
    this.#limits = limits;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  begin(): void {
    this.#limits.deadlines.add(this);
    this.#limits.signal.addEventListener("abort", this);
  }

  /** The caller's signal. */
  handleEvent(): void {
    this.#fail("aborted", abortReason(this.#limits.signal));
  }

  expire(): void {
    this.#fail("timeout");
  }

  /** Undici refused to take the request at all. */
  refuse(cause: unknown): void {
    this.#fail("connection", cause);
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
  }

  onResponseError(_controller: Controller, error: Error): void {
    this.#fail("connection", error);
  }

  #fail(reason: TransportFailure["reason"], cause?: unknown): void {
    if (!this.#end()) return;
    this.#chunks = [];
    const failure = new TransportFailure(reason, this.#started, this.#status, cause);
    this.#controller?.abort(failure);
    this.#reject(failure);
  }

  #end(): boolean {
    if (this.#ended) return false;
    this.#ended = true;
    this.#limits.deadlines.delete(this);
    this.#limits.signal.removeEventListener("abort", this);
    return true;
  }
}
