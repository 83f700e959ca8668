import { WebSocket, type RawData } from "ws";
import type { Clock } from "../../runtime/clock.js";
import { verifiedTls } from "../../runtime/tls-environment.js";
import type { Handshake } from "./handshake.js";
import { liveness } from "./liveness.js";
import { FrameRate } from "./frame-rate.js";
import type { End } from "./reconnect.js";
import { brokenFrame, whyFailed } from "./trouble.js";

export interface ConnectionEvents {
  readonly opened: () => void;
  readonly frame: (data: Buffer) => void;
  /** A frame that was not even handed over: binary, larger than 1 MiB, not UTF-8. The connection may end with it. */
  readonly unusable: (problem: string) => void;
}

export const maxFrameBytes = 1024 * 1024;
const handshakeMs = 10_000;

/** Of every socket to the platform. */
export const socketOptions = {
  ...verifiedTls,
  perMessageDeflate: false,
  followRedirects: false,
  maxPayload: maxFrameBytes,
  // A side that says goodbye and then does not go would keep the socket.
  closeTimeout: 2_000,
};

/** One connection of a channel, from the handshake to its release. */
export class PushConnection {
  readonly #clock: Clock;
  readonly #events: ConnectionEvents;
  readonly #over = new AbortController();
  readonly #rate = new FrameRate();
  readonly #socket: WebSocket;
  #openedAt: number | null = null;
  #heardAt = 0;
  #pingedAt: number | null = null;
  #why: string | null = null;
  #status: number | null = null;

  /** Begins the handshake. Throws only for a URL that is none. */
  constructor({ url, headers }: Handshake, events: ConnectionEvents, clock: Clock) {
    this.#clock = clock;
    this.#events = events;
    this.#socket = new WebSocket(url, { ...socketOptions, headers });
  }

  /** Resolves once socket and timers are released, which an abort of the signal brings about at once. */
  run(signal: AbortSignal): Promise<End> {
    const socket = this.#socket;
    const stop = () => {
      socket.terminate();
    };
    return new Promise((resolve) => {
      socket.on("error", (error) => {
        this.#failed(error);
      });
      socket.once("close", (code) => {
        signal.removeEventListener("abort", stop);
        this.#over.abort();
        resolve(this.#end(code));
      });
      socket.on("unexpected-response", (_request, response) => {
        this.#status = response.statusCode ?? 0;
        socket.terminate();
      });
      this.#listen();
      void this.#endIn(handshakeMs, "the handshake was not answered within 10 s");
      signal.addEventListener("abort", stop, { once: true });
      if (signal.aborted) stop();
    });
  }

  #listen(): void {
    const socket = this.#socket;
    const heard = () => {
      this.#heardAt = this.#clock.monotonic();
    };
    socket.once("open", () => {
      heard();
      this.#openedAt = this.#heardAt;
      void this.#stayAlive();
      this.#events.opened();
    });
    socket.on("ping", heard);
    socket.on("pong", heard);
    socket.on("message", (data, isBinary) => {
      heard();
      this.#received(data, isBinary);
    });
  }

  #received(data: RawData, isBinary: boolean): void {
    // What was still on its way when the connection was given up is nobody's news any more.
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    const frame = Buffer.isBuffer(data) ? data : Buffer.alloc(0);
    if (isBinary) this.#events.unusable("a binary frame");
    else this.#events.frame(frame);
    const restMs = this.#rate.restMs(frame.length, this.#clock.monotonic());
    if (restMs > 0) void this.#rest(restMs);
  }

  /** A flood waits on the sender's side while everything else of the bridge gets its turn. */
  async #rest(ms: number): Promise<void> {
    if (this.#socket.isPaused) return;
    this.#socket.pause();
    await this.#clock.wait(ms, this.#over.signal).catch(() => undefined);
    this.#heardAt = this.#clock.monotonic();
    this.#socket.resume();
  }

  async #stayAlive(): Promise<void> {
    const { signal } = this.#over;
    while (!signal.aborted) {
      const now = this.#clock.monotonic();
      const step = liveness({ heardAt: this.#heardAt, pingedAt: this.#pingedAt }, now);
      if (step.type === "dead") {
        this.#giveUp("no sign of life for 44 s, although it was asked twice");
        return;
      }
      if (step.type === "ping") {
        this.#pingedAt = now;
        this.#socket.ping();
      } else await this.#clock.wait(step.ms, signal).catch(() => undefined);
    }
  }

  /** Ends a handshake that takes too long. */
  async #endIn(ms: number, why: string): Promise<void> {
    await this.#clock.wait(ms, this.#over.signal).catch(() => undefined);
    if (this.#openedAt === null && !this.#over.signal.aborted) this.#giveUp(why);
  }

  #giveUp(why: string): void {
    this.#why ??= why;
    this.#socket.terminate();
  }

  #failed(error: Error): void {
    const broken = brokenFrame(error);
    if (broken !== null) this.#events.unusable(broken);
    this.#why ??= broken ?? whyFailed(error);
  }

  #end(closeCode: number): End {
    if (this.#openedAt !== null) {
      const livedMs = this.#clock.monotonic() - this.#openedAt;
      return { type: "lost", livedMs, why: this.#why ?? `the platform closed it (code ${closeCode})` };
    }
    if (this.#status !== null) return { type: "refused", status: this.#status };
    return { type: "failed", why: this.#why ?? "the connection failed" };
  }
}
