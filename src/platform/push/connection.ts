import { msg, type Text, row } from "../../language/text.js";
import { ignored } from "../../runtime/failures.js";
import { isUtf8 } from "node:buffer";
import type { Socket } from "node:net";
import { type RawData, WebSocket } from "ws";
import { Arrivals } from "../../runtime/arrivals.js";
import { type Clock, fullJitter } from "../../runtime/clock.js";
import { endpointOf, startTls } from "../../runtime/connecting.js";
import { lines, PacedReading, type ReadingTurns, webSocketFrames } from "../../runtime/paced-reading.js";
import { verifiedTls } from "../../runtime/sockets.js";
import { troubleCode, troubleOf } from "../answer.js";
import type { Credential } from "../session/credential.js";
import type { PlatformSettings } from "../settings.js";

/*
 * Whether an open channel is still alive. A lost network is silent, so the bridge pings; any sign of the other side
 * counts as an answer. Pure; instants are monotonic ms.
 */

const pingEveryMs = 20_000;
/** Long enough for two unanswered pings; a dead connection ends within 45 s. */
const deadAfterMs = 44_000;

interface Heard {
  /** The last frame, ping or pong. */
  readonly heardAt: number;
  readonly pingedAt: number | null;
}

type Liveness =
  | { readonly type: "dead" }
  | { readonly type: "ping" }
  /** Look again after `ms`. */
  | { readonly type: "wait"; readonly ms: number };

function liveness({ heardAt, pingedAt }: Heard, now: number): Liveness {
  const deadAt = heardAt + deadAfterMs;
  if (now >= deadAt) return { type: "dead" };
  const pingAt = Math.max(heardAt, pingedAt ?? heardAt) + pingEveryMs;
  if (now >= pingAt) return { type: "ping" };
  return { type: "wait", ms: Math.min(pingAt, deadAt) - now };
}

/* The pause after a channel ended. Pure; `chance` is in [0, 1). */

/** How one attempt at a channel ended. */
export type End =
  /** It was open for `livedMs`. */
  | { readonly type: "lost"; readonly livedMs: number; readonly why: Text }
  | { readonly type: "failed"; readonly why: Text }
  /** The HTTP status that came instead of the upgrade. */
  | { readonly type: "refused"; readonly status: number };

const range = { firstMs: 1_000, maxMs: 120_000 };
/** A channel open for less than this does not count as good. */
export const goodLifeMs = 60_000;
const refusedMs = 300_000;

/** The number of attempts since the last good channel, including this one. */
export const triesAfter = (tries: number, end: End): number =>
  end.type === "lost" && end.livedMs >= goodLifeMs ? 1 : tries + 1;

/**
 * The pause before the next attempt. A channel that the platform lacks, or denies, is tried only every five to ten
 * minutes.
 */
export function pauseMs(end: End, tries: number, chance: number): number {
  if (end.type === "refused" && isFinal(end.status)) return Math.round(refusedMs * (1 + chance));
  return fullJitter(Math.max(0, tries - 1), range, chance);
}

export const isUnauthorized = (status: number): boolean => status === 401 || status === 403;

/** Whether a quick repetition is useless. */
const isFinal = (status: number): boolean =>
  status < 500 && status !== 408 && status !== 425 && status !== 429;

const brokenFrames: ReadonlyMap<string, Text> = new Map([
  ["WS_ERR_UNSUPPORTED_MESSAGE_LENGTH", msg`a frame larger than 1 MiB`],
  ["WS_ERR_INVALID_UTF8", msg`a text frame that is not UTF-8`],
  ["WS_ERR_TOO_MANY_BUFFERED_PARTS", msg`a frame in too many pieces`],
]);

/** The fault of a frame that ended the connection; null for another reason. */
function brokenFrame(error: Error): Text | null {
  const code = troubleCode(error);
  const known = brokenFrames.get(code);
  if (known !== undefined) return known;
  return code.startsWith("WS_ERR_") ? msg`a frame that breaks the WebSocket protocol` : null;
}

export function whyFailed(error: unknown): Text {
  const code = troubleCode(error);
  if (code === "") return msg`what answers there does not speak WebSocket`;
  const { what, remedy } = troubleOf(code, false);
  return row`${what}; ${remedy("platform.realtime_url")}`;
}

/** Why a channel is not open, with a remedy. It contains no part of the answer. */
export function whyNotOpen(end: End, credentialKey: string): Text {
  if (end.type !== "refused") return end.why;
  const { status } = end;
  if (isUnauthorized(status))
    return msg`HTTP ${status}: the credential is refused; check ${credentialKey}, and platform.push.credential for how it is carried`;
  if (status >= 300 && status < 400)
    return msg`HTTP ${status}: a redirect, which is not followed; check platform.realtime_url`;
  if (status === 404)
    return msg`HTTP 404: the platform has no such channel; platform.push.enabled: false stops asking for it`;
  return msg`HTTP ${status} instead of a WebSocket`;
}

export interface ConnectionEvents {
  readonly onOpen: () => void;
  /** `waitedMs`: the longest time that it may have waited to be read. */
  readonly frame: (data: Buffer, waitedMs: number) => void;
  /**
   * Called for a frame that is not passed on: binary without text, above 1 MiB, not UTF-8, or too old. The connection
   * may end with it.
   */
  readonly unusable: (problem: Text) => void;
}

/** Whether a binary frame is JSON text; the interface leaves open how frames send their text. */
const isJsonText = (frame: Buffer): boolean =>
  /^\uFEFF?\s*[[{]/.test(frame.toString("utf8", 0, 64)) && isUtf8(frame);

const maxFrameBytes = 1024 * 1024;
/** Frames that waited longer, as more is pushed than read, are dropped: polls bring the same. */
const longestWaitMs = 30_000;
/** The pause between pings while more is pushed than read. An answer comes after all that was pushed before it. */
const markEveryMs = 1_000;
const handshakeMs = 10_000;

/** Options of every socket to the platform. */
const socketOptions = {
  perMessageDeflate: false,
  followRedirects: false,
  maxPayload: maxFrameBytes,
  // A side that says goodbye but stays would keep the socket.
  closeTimeout: 2_000,
};

/** One connection of a channel, from the handshake to its end. */
export class PushConnection {
  readonly #clock: Clock;
  readonly #events: ConnectionEvents;
  readonly #over = new AbortController();
  readonly #socket: WebSocket;
  readonly #arrivedAt: () => number;
  readonly #advance: (to: number) => void;
  /** The message that the channel expects before it sends anything. */
  readonly #first: string | null;
  #openedAt: number | null = null;
  #heardAt = 0;
  #pingedAt: number | null = null;
  #markedAt = -Infinity;
  #why: Text | null = null;
  #status: number | null = null;

  /** Begins the handshake over a connection to the host. Throws only for an invalid URL. */
  constructor(
    connection: Socket,
    { url, headers }: Handshake,
    events: ConnectionEvents,
    {
      clock,
      turns,
      first,
    }: { readonly clock: Clock; readonly turns: ReadingTurns; readonly first: string | null },
  ) {
    this.#clock = clock;
    this.#first = first;
    this.#events = events;
    const { host, secure } = endpointOf(url);
    const stream = secure ? startTls(connection, host, verifiedTls) : connection;
    // During a flood data waits at the sender, so that the rest of the bridge gets its turn.
    const reading = new PacedReading(stream, turns, lines());
    const arrivals = new Arrivals(clock);
    arrivals.follow(stream, [reading]);
    this.#arrivedAt = () => arrivals.since(stream);
    this.#advance = (to) => arrivals.advance(stream, to);
    this.#socket = new WebSocket(url, { ...socketOptions, headers, createConnection: () => stream });
    this.#socket.once("upgrade", () => reading.become(turns, webSocketFrames()));
  }

  /** Resolves once socket and timers are released, at once after an abort. */
  run(signal: AbortSignal): Promise<End> {
    const socket = this.#socket;
    const stop = () => socket.terminate();
    return new Promise((resolve) => {
      socket.on("error", (error) => this.#onFailure(error));
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
      void this.#endIn(handshakeMs, msg`the handshake was not answered within 10 s`);
      signal.addEventListener("abort", stop, { once: true });
      if (signal.aborted) stop();
    });
  }

  #listen(): void {
    const socket = this.#socket;
    const onHeard = () => {
      this.#heardAt = this.#clock.monotonic();
    };
    socket.once("open", () => {
      onHeard();
      this.#openedAt = this.#heardAt;
      void this.#stayAlive();
      if (this.#first !== null) socket.send(this.#first);
      this.#events.onOpen();
    });
    socket.on("ping", onHeard);
    socket.on("pong", (data) => {
      onHeard();
      this.#onMark(Number(data.toString("latin1") || NaN));
    });
    socket.on("message", (data, isBinary) => {
      onHeard();
      this.#onMessage(data, isBinary);
    });
  }

  #onMessage(data: RawData, isBinary: boolean): void {
    // Frames that arrive after the end are ignored.
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    const now = this.#clock.monotonic();
    const waitedMs = now - this.#arrivedAt();
    if (waitedMs > 0) this.#mark(now);
    if (waitedMs > longestWaitMs) {
      this.#events.unusable(msg`a frame that had waited for more than 30 s, as more is pushed than is read`);
      return;
    }
    const frame = Buffer.isBuffer(data) ? data : Buffer.alloc(0);
    if (isBinary && !isJsonText(frame)) this.#events.unusable(msg`a binary frame`);
    else this.#events.frame(frame, waitedMs);
  }

  /** Sends a ping as a mark: what comes after its answer was sent after it. */
  #mark(now: number): void {
    if (now - this.#markedAt < markEveryMs) return;
    this.#markedAt = now;
    this.#socket.ping(String(now));
  }

  #onMark(markedAt: number): void {
    if (markedAt <= this.#markedAt) this.#advance(markedAt);
  }

  async #stayAlive(): Promise<void> {
    const { signal } = this.#over;
    while (!signal.aborted) {
      const now = this.#clock.monotonic();
      const step = liveness({ heardAt: this.#heardAt, pingedAt: this.#pingedAt }, now);
      if (step.type === "dead") {
        this.#giveUp(msg`no sign of life for 44 s, although it was asked twice`);
        return;
      }
      if (step.type === "ping") {
        this.#pingedAt = now;
        this.#socket.ping();
      } else await this.#clock.wait(step.ms, signal).catch(ignored);
    }
  }

  /** Ends a handshake that takes too long. */
  async #endIn(ms: number, why: Text): Promise<void> {
    await this.#clock.wait(ms, this.#over.signal).catch(ignored);
    if (this.#openedAt === null && !this.#over.signal.aborted) this.#giveUp(why);
  }

  #giveUp(why: Text): void {
    this.#why ??= why;
    this.#socket.terminate();
  }

  #onFailure(error: Error): void {
    const broken = brokenFrame(error);
    if (broken !== null) this.#events.unusable(broken);
    this.#why ??= broken ?? whyFailed(error);
  }

  #end(closeCode: number): End {
    if (this.#openedAt !== null) {
      const livedMs = this.#clock.monotonic() - this.#openedAt;
      return { type: "lost", livedMs, why: this.#why ?? msg`the platform closed it (code ${closeCode})` };
    }
    if (this.#status !== null) return { type: "refused", status: this.#status };
    return { type: "failed", why: this.#why ?? msg`the connection failed` };
  }
}

interface Handshake {
  /** May hold the token; never log it. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * URL and headers of a channel: the origin and path prefix of the real-time host with ws or wss. User name, password,
 * query and fragment of the configured address are not used.
 */
export function handshakeOf(
  realtimeUrl: string,
  path: string,
  credential: Pick<Credential, "token"> | null,
  settings: Pick<PlatformSettings["push"], "credential" | "query_name">,
): Handshake {
  const base = new URL(realtimeUrl);
  const scheme = base.protocol === "https:" || base.protocol === "wss:" ? "wss:" : "ws:";
  const plain = `${scheme}//${base.host}${base.pathname.replace(/\/+$/, "")}${path}`;
  const headers = { "user-agent": "greenhouse2mqtt" };
  if (credential === null || settings.credential === "none") return { url: plain, headers };
  if (settings.credential === "header")
    return { url: plain, headers: { ...headers, authorization: `Bearer ${credential.token}` } };
  const query = `${encodeURIComponent(settings.query_name)}=${encodeURIComponent(credential.token)}`;
  return { url: `${plain}?${query}`, headers };
}
