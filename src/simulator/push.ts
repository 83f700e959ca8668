import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import type { Platform, RegisterChange } from "./platform.js";
import { statusItems } from "./realtime-operations.js";
import { type Fields, registerValue, sensorList, writeBody, writeTime } from "./shapes.js";

export type PushChannel = "device-status" | "set-value" | "weather-station-data";

/** One frame to send; `code`: the device of a weather-station channel. */
export interface PushFrame {
  readonly channel: PushChannel;
  readonly code: string;
  readonly text: string;
}

/** What listeners want: statuses at all, and the data of which weather stations. */
interface Interest {
  readonly statuses: boolean;
  readonly stations: ReadonlySet<string>;
}

/** Channels that take each other's messages. */
const swapped: Partial<Record<PushChannel, PushChannel>> = {
  "device-status": "set-value",
  "set-value": "device-status",
};

/** Makes frames for the push channels from changes of the platform. */
export class PushFeed {
  readonly #platform: Platform;
  readonly #shownStatuses = new Map<string, readonly string[]>();
  readonly #sampledAt = new Map<string, number>();

  constructor(platform: Platform) {
    this.#platform = platform;
  }

  /** Frames for register changes since the last call. */
  registerFrames(): readonly PushFrame[] {
    this.#platform.settle();
    return this.#platform
      .takeChanges()
      .map((change) => this.#frame("set-value", change.device.code, this.#register(change)));
  }

  /**
   * Frames for running statuses, connections and weather readings that changed since the last call; the first call
   * gives none. Nothing is computed without a listener.
   */
  changeFrames({ statuses, stations }: Interest): readonly PushFrame[] {
    const stationFrames = [...stations].flatMap((code) => this.#stationFrames(code));
    return [...(statuses ? this.#statusFrames() : []), ...stationFrames];
  }

  #statusFrames(): readonly PushFrame[] {
    const { dialect, simulatedNow } = this.#platform;
    return this.#platform.touchedControllers().flatMap((controller) => {
      controller.advance(simulatedNow);
      const { code: deviceCode } = controller.device;
      const items = [{ online: controller.isOnline() }, ...statusItems(this.#platform, controller)];
      const texts = items.map((item) => JSON.stringify(item));
      const before = this.#shownStatuses.get(deviceCode);
      this.#shownStatuses.set(deviceCode, texts);
      const changed = before ? items.filter((_, index) => texts[index] !== before[index]) : [];
      if (changed.length === 0) return [];
      const news =
        dialect.push === "batch"
          ? [{ deviceCode, data: changed }]
          : changed.map((item) => this.#news("DEVICE_STATUS", { deviceCode, ...item }));
      return news.map((fields) => this.#frame("device-status", deviceCode, fields));
    });
  }

  #stationFrames(code: string): readonly PushFrame[] {
    const { dialect, timeline } = this.#platform;
    const sample = this.#platform.controller(code)?.sample();
    if (!sample || sample.items.length === 0 || this.#sampledAt.get(code) === sample.at) return [];
    this.#sampledAt.set(code, sample.at);
    const readings = sensorList(dialect, sample.items, timeline.realAt(sample.at));
    const fields = { ...this.#head("WEATHER_STATION"), deviceCode: code, ...readings };
    return [this.#frame("weather-station-data", code, fields)];
  }

  #register({ device: { code: deviceCode }, address, held }: RegisterChange): Fields {
    const { dialect } = this.#platform;
    const value = registerValue(dialect, held.value);
    if (dialect.push === "batch") return { deviceCode, data: { [address]: value } };
    return this.#news("SET_VALUE", { deviceCode, address, value });
  }

  /** One change, in the form of a bare or event dialect. */
  #news(type: string, fields: Fields): Fields {
    const { dialect, now } = this.#platform;
    if (dialect.push === "event") return { ...this.#head(type), data: fields };
    return { ...fields, dateTime: writeTime(now, dialect.times) };
  }

  /** The fields before the payload in an event dialect. */
  #head(type: string): Fields {
    const { dialect, now } = this.#platform;
    return dialect.push === "event" ? { type, timestamp: Math.floor(now) } : {};
  }

  #frame(meant: PushChannel, code: string, fields: Fields): PushFrame {
    const channel = this.#platform.readings.has("swapped_channels") ? (swapped[meant] ?? meant) : meant;
    return { channel, code, text: writeBody(fields, this.#platform.dialect) };
  }
}

interface Listening {
  readonly socket: WebSocket;
  readonly channel: PushChannel;
  readonly code: string;
  /** Pings that arrived while the channel was a black hole; they are delivered once the network is back. */
  readonly heldPings: Buffer[];
  /** Whether the client has sent a first message. */
  hasAsked: boolean;
}

/** The WebSocket side of the realtime host. */
export class PushServer {
  readonly #platform: Platform;
  readonly #feed: PushFeed;
  /** Pongs are sent by hand, so that a connection can also look dead. */
  readonly #sockets = new WebSocketServer({
    noServer: true,
    autoPong: false,
    perMessageDeflate: false,
    maxPayload: 65_536,
  });
  #listening: readonly Listening[] = [];
  #turn = 0;
  #isPaused = false;

  constructor(platform: Platform) {
    this.#platform = platform;
    this.#feed = new PushFeed(platform);
  }

  /** The number of open connections. */
  get count(): number {
    return this.#listening.length;
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const [path = "", query = ""] = (request.url ?? "").split("?");
    const wanted = channelOf(path);
    const outage = this.#platform.outageOf("realtime");
    if (outage === "refuse") socket.destroy();
    if (outage !== null) return;
    if (this.#platform.pushMode === "refuse") refuse(socket, "503 Service Unavailable");
    else if (!wanted) refuse(socket, "404 Not Found");
    else if (!this.#mayListen(request.headers.authorization, query)) refuse(socket, "401 Unauthorized");
    else
      this.#sockets.handleUpgrade(request, socket, head, (opened) =>
        this.#open({ socket: opened, ...wanted, heldPings: [], hasAsked: false }),
      );
  }

  /** Sends what changed; statuses and readings only in every fourth turn. */
  send(): void {
    this.#obeyMode();
    this.#tell(this.#feed.registerFrames());
    if (this.#turn++ % 4 === 0) this.look();
  }

  /** Sends the statuses and readings that changed since the last look. */
  look(): void {
    if (this.#listening.length === 0) return;
    const stations = this.#listening.filter(({ channel }) => channel === "weather-station-data");
    const interest = {
      statuses: this.#listening.some(({ channel }) => channel !== "weather-station-data"),
      stations: new Set(stations.map(({ code }) => code)),
    };
    this.#tell(this.#feed.changeFrames(interest));
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
    const mode = this.#platform.pushMode;
    if (mode === "drop" || mode === "refuse") this.drop();
    if (mode === "drop") this.#platform.setPush("normal", Infinity);
    if ((mode === "black_hole") === this.#isPaused) return;
    this.#isPaused = mode === "black_hole";
    for (const { socket, heldPings } of this.#listening) {
      if (this.#isPaused) socket.pause();
      else socket.resume();
      for (const data of this.#isPaused ? [] : heldPings.splice(0)) answer(socket, data);
    }
  }

  #open(opened: Listening): void {
    const { socket } = opened;
    this.#listening = [...this.#listening, opened];
    // A new listener gets only changes from now on.
    this.look();
    this.#obeyMode();
    if (this.#isPaused) socket.pause();
    socket.on("ping", (data) => {
      this.#obeyMode();
      if (this.#isPaused) opened.heldPings.push(data);
      else answer(socket, data);
    });
    socket.on("message", () => {
      opened.hasAsked = true;
    });
    socket.on("error", () => socket.terminate());
    socket.on("close", () => {
      this.#listening = this.#listening.filter((other) => other !== opened);
    });
  }

  #tell(frames: readonly PushFrame[]): void {
    const mode = this.#platform.pushMode;
    if (mode !== "normal" && mode !== "garbled") return;
    const mustAsk = this.#platform.readings.has("channels_ask");
    for (const { channel, code, text } of frames) {
      const said = mode === "normal" ? text : text.slice(0, text.length / 2);
      for (const one of this.#listening) {
        if (mustAsk && !one.hasAsked) continue;
        const isMeant = channel === one.channel && (channel !== "weather-station-data" || code === one.code);
        if (isMeant && one.socket.readyState === one.socket.OPEN) one.socket.send(said);
      }
    }
  }

  #mayListen(authorization: string | undefined, query: string): boolean {
    const { now, settings, tokens } = this.#platform;
    if (!settings.auth.checkRealtime) return true;
    const token =
      /^Bearer (\S+)$/.exec(authorization ?? "")?.[1] ?? new URLSearchParams(query).get("token") ?? "";
    return token !== "" && tokens.accepts(token, now);
  }
}

function answer(socket: WebSocket, ping: Buffer): void {
  if (socket.readyState === socket.OPEN) socket.pong(ping);
}

const station = /^\/ws\/sensor-data\/weather-station-data\/([^/]+)$/;

function channelOf(path: string): { channel: PushChannel; code: string } | null {
  if (path === "/ws/device-status") return { channel: "device-status", code: "" };
  if (path === "/ws/set-value") return { channel: "set-value", code: "" };
  const code = station.exec(path)?.[1];
  return code === undefined ? null : { channel: "weather-station-data", code: decode(code) };
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

function refuse(socket: Duplex, status: string): void {
  socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`);
}
