import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { PlatformState } from "./platform-state.js";
import { type PushChannel, PushFeed, type PushFrame } from "./push-feed.js";

interface Listening {
  readonly socket: WebSocket;
  readonly channel: PushChannel;
  readonly code: string;
  /** Pings that arrived while the channel was a black hole; a network that comes back delivers them. */
  readonly heldPings: Buffer[];
}

/** The WebSocket side of the realtime host. */
export class PushServer {
  readonly #state: PlatformState;
  readonly #feed: PushFeed;
  /** Pongs are sent by hand, so that a connection can also be made to look dead. */
  readonly #sockets = new WebSocketServer({
    noServer: true,
    autoPong: false,
    perMessageDeflate: false,
    maxPayload: 65_536,
  });
  #listening: readonly Listening[] = [];
  #turn = 0;
  #isPaused = false;

  constructor(state: PlatformState) {
    this.#state = state;
    this.#feed = new PushFeed(state);
  }

  /** Connections that are open now. */
  get count(): number {
    return this.#listening.length;
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const wanted = channelOf(request.url ?? "");
    const outage = this.#state.outages.get("realtime");
    if (outage && this.#state.now < outage.until) {
      if (outage.how === "refuse") socket.destroy();
      return;
    }
    if (this.#state.pushMode === "refuse") refuse(socket, "503 Service Unavailable");
    else if (!wanted) refuse(socket, "404 Not Found");
    else if (!this.#mayListen(request)) refuse(socket, "401 Unauthorized");
    else
      this.#sockets.handleUpgrade(request, socket, head, (opened) =>
        this.#open({ socket: opened, ...wanted, heldPings: [] }),
      );
  }

  /** Sends what changed; statuses and readings are looked at in every fourth turn. */
  send(): void {
    this.#obeyMode();
    this.#tell(this.#feed.registerFrames());
    if (this.#turn++ % 4 === 0) this.look();
  }

  /** Sends the statuses and readings that changed since the last look. */
  look(): void {
    if (this.#listening.length > 0) this.#tell(this.#feed.changeFrames(this.#interest()));
  }

  /** Breaks every connection. */
  drop(): void {
    for (const { socket } of this.#listening) socket.terminate();
  }

  close(): void {
    this.drop();
    this.#sockets.close();
  }

  #obeyMode(): void {
    const mode = this.#state.pushMode;
    if (mode === "drop" || mode === "refuse") this.drop();
    if (mode === "drop") this.#state.setPush("normal", Infinity);
    if ((mode === "black_hole") === this.#isPaused) return;
    this.#isPaused = mode === "black_hole";
    for (const { socket, heldPings } of this.#listening) {
      if (this.#isPaused) socket.pause();
      else {
        socket.resume();
        for (const data of heldPings.splice(0)) answer(socket, data);
      }
    }
  }

  #open(opened: Listening): void {
    const { socket } = opened;
    this.#listening = [...this.#listening, opened];
    // What a new listener is told of is what changes from now on.
    this.look();
    this.#obeyMode();
    if (this.#isPaused) socket.pause();
    socket.on("ping", (data) => {
      this.#obeyMode();
      if (this.#isPaused) opened.heldPings.push(data);
      else answer(socket, data);
    });
    socket.on("error", () => socket.terminate());
    socket.on("close", () => {
      this.#listening = this.#listening.filter((other) => other !== opened);
    });
  }

  #interest() {
    const stations = this.#listening.filter(({ channel }) => channel === "weather-station-data");
    return {
      statuses: this.#listening.some(({ channel }) => channel === "device-status"),
      stations: new Set(stations.map(({ code }) => code)),
    };
  }

  #tell(frames: readonly PushFrame[]): void {
    const mode = this.#state.pushMode;
    if (mode !== "normal" && mode !== "garbled") return;
    for (const frame of frames) {
      const { length } = frame.text;
      this.#deliver({ ...frame, text: frame.text.slice(0, mode === "normal" ? length : length / 2) });
    }
  }

  #deliver(frame: PushFrame): void {
    for (const { socket, channel, code } of this.#listening) {
      const isMeant =
        channel === frame.channel && (channel !== "weather-station-data" || code === frame.code);
      if (isMeant && socket.readyState === socket.OPEN) socket.send(frame.text);
    }
  }

  #mayListen(request: IncomingMessage): boolean {
    if (!this.#state.settings.auth.checkRealtime) return true;
    const query = new URLSearchParams((request.url ?? "").split("?")[1] ?? "");
    const token = /^Bearer (\S+)$/.exec(request.headers.authorization ?? "")?.[1] ?? query.get("token");
    return token !== null && token !== "" && this.#state.tokens.accepts(token, this.#state.now);
  }
}

function answer(socket: WebSocket, ping: Buffer): void {
  if (socket.readyState === socket.OPEN) socket.pong(ping);
}

const station = /^\/ws\/sensor-data\/weather-station-data\/([^/]+)$/;

function channelOf(url: string): { channel: PushChannel; code: string } | null {
  const path = url.split("?")[0] ?? "";
  if (path === "/ws/device-status") return { channel: "device-status", code: "" };
  if (path === "/ws/set-value") return { channel: "set-value", code: "" };
  const code = station.exec(path)?.[1];
  return code === undefined ? null : { channel: "weather-station-data", code: decoded(code) };
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function refuse(socket: Duplex, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}
