import { msg, type Text, TextError } from "../../language/text.js";
import type { Duplex } from "node:stream";
import type {
  IClientOptions,
  IConnackPacket,
  IPublishPacket,
  ISubscriptionMap,
  MqttClient,
  PacketCallback,
} from "mqtt";
import library from "mqtt/lib/client";
import { type Clock, systemClock, within } from "../../runtime/clock.js";
import { filterCovers, senderIn, stateMessage } from "../../runtime/mqtt.js";
import { describeEnd, type LinkFacts } from "./reasons.js";
import type {
  BrokerFacts,
  ConnectionLimits,
  ConnectionSettings,
  IncomingMessage,
  LinkEnd,
  OpenStream,
  ProtocolVersion,
  Publish,
  TlsSettings,
  Will,
} from "./settings.js";
import type { Socket } from "node:net";
import { leaveOutSurplus, type TooLarge } from "./surplus.js";
import { ignored } from "../../runtime/failures.js";
import { endpointOf, openSocket, startTls } from "../../runtime/connecting.js";
import { Names } from "../../runtime/host-names.js";
import { pem } from "../../runtime/sockets.js";

const protocols: ReadonlySet<string> = new Set(["mqtt:", "mqtts:", "ws:", "wss:"]);
// Mosquitto and others put several packets into one frame, so this is well above our packet limit.
const maxFrameBytes = 16 * 1024 * 1024;
/**
 * Bytes read at once. With less, each turn of the event loop reads one piece, and messages behind it wait for many
 * turns.
 */
const readableHighWaterMark = 1024 * 1024;

/** `mqtt://host:port` of a URL, fit for logs: no credentials, path or query. */
export function brokerName(url: string): Text {
  try {
    const { protocol, host, port } = placeOf(url);
    return `${protocol}//${host.includes(":") ? `[${host}]` : host}:${port}`;
  } catch {
    return msg`the broker`;
  }
}

interface Outside {
  /** Resolves the broker's host name. */
  readonly names?: Names;
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
}

/** Opens a socket to `url`. Rejects if there is no connection, or the URL, a certificate or a key cannot be used. */
export function streamFrom(
  settings: Pick<ConnectionSettings, "url" | "tls">,
  timeoutMs: number,
  { names = new Names(), signal, clock = systemClock }: Outside = {},
): OpenStream {
  return async (opened) => {
    const { protocol, secure, ...place } = placeOf(settings.url);
    // Reading files has a time limit too, as a disk may hang.
    const read = () => material(settings.tls);
    const files = protocol === "mqtt:" ? {} : await within(clock, timeoutMs, read, signal);
    const connection = await openSocket({
      ...place,
      names,
      connectMs: timeoutMs,
      signal,
      readableHighWaterMark,
    });
    const open = () => (secure ? startTls(connection, place.host, files) : connection);
    if (protocol.startsWith("ws")) return webSocket(settings.url, open, timeoutMs, opened);
    const socket = open();
    joinPieces(socket);
    if (secure) socket.once("secureConnect", opened);
    else opened();
    return socket;
  };
}

function placeOf(url: string) {
  const { protocol } = new URL(url);
  if (!protocols.has(protocol))
    throw new TextError(msg`mqtt.url must begin with mqtt:, mqtts:, ws: or wss:, not ${protocol}`);
  return { protocol, ...endpointOf(url) };
}

async function material(settings: TlsSettings = {}) {
  const read = async (name: "ca" | "cert" | "key") => {
    const value = settings[name];
    return value ? await pem(value, `mqtt.tls.${name}`) : undefined;
  };
  const [ca, cert, key] = await Promise.all([read("ca"), read("cert"), read("key")]);
  return { ca, cert, key, rejectUnauthorized: settings.rejectUnauthorized ?? true };
}

interface Piece {
  readonly chunk: string | Buffer;
  readonly encoding: BufferEncoding;
}

/**
 * Joins the pieces of packets into one write. The MQTT library writes a packet in about eight pieces; two hundred
 * pieces cost the kernel far more than the same bytes in one.
 */
function joinPieces(socket: Socket): void {
  socket._writev = (pieces: readonly Piece[], done) => {
    const parts: Buffer[] = [];
    for (const { chunk, encoding } of pieces)
      parts.push(typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk);
    // A latin1 string keeps each byte as one character.
    socket._write(Buffer.concat(parts).toString("latin1"), "latin1", done);
  };
  // The library uncorks after each turn of microtasks; waiting for `setImmediate` joins what several answers of the
  // platform brought.
  const uncork = socket.uncork.bind(socket);
  let held = 0;
  socket.uncork = () => {
    held += 1;
    if (held === 1) setImmediate(release);
  };
  const release = () => {
    for (; held > 0; held -= 1) uncork();
  };
}

async function webSocket(
  url: string,
  createConnection: () => Socket,
  timeoutMs: number,
  opened: () => void,
): Promise<Duplex> {
  // Loaded only when used: start-up time is a feature on a small computer.
  const { createWebSocketStream, WebSocket } = await import("ws");
  const target = new URL(url);
  // `ws` would send these in an Authorization header to the web server; MQTT carries its own.
  target.username = "";
  target.password = "";
  const socket = new WebSocket(target, ["mqtt"], {
    createConnection,
    handshakeTimeout: timeoutMs,
    perMessageDeflate: false,
    maxPayload: maxFrameBytes,
    followRedirects: false,
  });
  const stream = createWebSocketStream(socket);
  socket.once("open", opened);
  socket.once("close", () => stream.destroy());
  return stream;
}

function clientOptions({ settings, will, limits, version }: LinkOptions): IClientOptions {
  const { username, password } = settings;
  const url = credentialsOf(settings.url);
  return {
    protocolId: "MQTT",
    protocolVersion: version,
    clientId: settings.clientId,
    username: username ?? url.username,
    password: password ?? url.password,
    clean: settings.session === undefined,
    keepalive: limits.keepaliveS,
    connectTimeout: limits.connectTimeoutMs,
    // The reconnect loop is our own: the library's gives up after a refusal and replays what cut the link.
    reconnectPeriod: 0,
    resubscribe: false,
    queueQoSZero: false,
    // The library's cache of number buffers takes 10 MB and saves next to nothing.
    writeCache: false,
    ...(will && {
      will: { topic: will.topic, payload: Buffer.from(will.payload), qos: 1, retain: will.retain ?? true },
    }),
    ...(version === 5 && {
      properties: {
        sessionExpiryInterval: settings.session?.forS ?? 0,
        maximumPacketSize: limits.maxPacketBytes,
      },
    }),
    log: () => undefined,
  };
}

function credentialsOf(url: string): { username?: string; password?: string } {
  const { username, password } = new URL(url);
  return {
    ...(username !== "" && { username: decodeURIComponent(username) }),
    ...(password !== "" && { password: decodeURIComponent(password) }),
  };
}

// The most bytes of correlation data kept. A waiting command holds it for its answer, and a packet may carry 64 KiB.
const maxCorrelationBytes = 1_024;

/**
 * Copies what the bridge needs out of a packet, since a slice would keep the whole packet in memory. If a sender
 * repeats a property, the library gives an array, and the property counts as absent.
 */
function incomingMessage(
  { topic, payload, retain, properties = {} }: IPublishPacket,
  stampsSenders: boolean,
): IncomingMessage {
  const { messageExpiryInterval, responseTopic, correlationData } = properties;
  const data = Buffer.isBuffer(correlationData) ? correlationData : null;
  // Without its correlation data the sender could not match the answer to its question, so it gets none.
  const isAnswered = typeof responseTopic === "string" && (data?.length ?? 0) <= maxCorrelationBytes;
  return {
    topic,
    payload: Buffer.from(payload),
    retain,
    properties: {
      ...senderIn(properties.userProperties, stampsSenders),
      ...(isAnswered && { responseTopic }),
      ...(isAnswered && data && { correlationData: Buffer.from(data) }),
      ...(typeof messageExpiryInterval === "number" && { messageExpiryIntervalS: messageExpiryInterval }),
    },
  };
}

/** The broker's limits in its CONNACK; MQTT 3.1.1 announces none. */
function brokerFacts(
  version: ProtocolVersion,
  { properties, sessionPresent }: Pick<IConnackPacket, "properties" | "sessionPresent">,
): BrokerFacts {
  const maximumQos = properties?.maximumQoS;
  return {
    protocolVersion: version,
    maximumPacketSize: properties?.maximumPacketSize ?? null,
    receiveMaximum: properties?.receiveMaximum ?? null,
    maximumQos: maximumQos === 0 || maximumQos === 1 ? maximumQos : 2,
    retainAvailable: properties?.retainAvailable ?? true,
    isResumed: sessionPresent,
  };
}

const noRetained = 2;
const disconnectWithWill = 4;

// mqtt is a CommonJS module with a `default` of its own: some loaders unwrap it, Node.js does not.
const isWrapped = (module: object): module is { readonly default: typeof MqttClient } => "default" in module;
const Client: typeof MqttClient = isWrapped(library) ? library.default : library;

export interface LinkOptions {
  readonly settings: Pick<
    ConnectionSettings,
    "url" | "username" | "password" | "clientId" | "stampsSenders" | "flood" | "session"
  >;
  readonly will?: Will | undefined;
  readonly limits: ConnectionLimits;
  readonly version: ProtocolVersion;
  /** Called for every message; must not throw, or the MQTT library goes deaf. */
  readonly message: (message: IncomingMessage) => void;
  readonly openStream: OpenStream;
  readonly clock?: Clock;
  /** A message was left out because it is larger than any broker should accept. */
  readonly onTooLarge?: (message: TooLarge) => void;
  /** Whether messages on this link may wait for all other work. */
  readonly isPatient?: boolean;
}

/** The longest time for taking in messages without a break, where other work needs little time. */
const shortTurnMs = 5;
const longTurnMs = 200;

/**
 * Shares the event loop in a flood of messages: the library handles all that arrived, perhaps a thousand, without a
 * break. A turn lasts as long as the other work took since the turn before. At a start that is about 100 ms at a time,
 * so short turns would delay a stop command behind a thousand retained messages two hundred times.
 */
export class Turns {
  readonly #clock: Pick<Clock, "monotonic" | "soon">;
  /** When the current turn began; null before its first message. */
  #began: number | null = null;
  readonly #longestMs: number;
  #lengthMs = shortTurnMs;
  /** When the previous turn ended with messages left. */
  #brokeOff: number | null = null;

  constructor(clock: Pick<Clock, "monotonic" | "soon"> = systemClock, longestMs = longTurnMs) {
    this.#clock = clock;
    this.#longestMs = longestMs;
  }

  /** Handles the next message now or after a break. */
  next(goOn: () => void): void {
    const now = this.#clock.monotonic();
    if (this.#began === null) {
      this.#began = now;
      const othersMs = this.#brokeOff === null ? 0 : now - this.#brokeOff;
      this.#lengthMs = Math.min(Math.max(othersMs, shortTurnMs), this.#longestMs);
      this.#brokeOff = null;
      this.#clock.soon(() => (this.#began = null));
    }
    if (now - this.#began < this.#lengthMs) goOn();
    else {
      this.#brokeOff = now;
      this.#clock.soon(goOn);
    }
  }
}

/**
 * One network connection to the broker, from CONNECT to the closed socket. Each has an MQTT client of its own, so that
 * nothing of an old link is ever sent again on the next, least of all a publish that cut it.
 */
export class BrokerLink {
  /** The broker's facts once it has accepted us; null when the link closed before that. */
  readonly accepted: Promise<BrokerFacts | null>;
  readonly closed: Promise<LinkEnd>;
  readonly #client: MqttClient;
  readonly #stream: Duplex;
  readonly #facts: Facts;
  readonly #version: ProtocolVersion;
  #isCorked = false;

  constructor(options: LinkOptions, stream: Duplex, facts: Facts) {
    const client = new Client(() => stream, clientOptions(options));
    this.#client = client;
    this.#stream = stream;
    this.#facts = facts;
    this.#version = options.version;
    client.on("error", (error) => {
      // A refused CONNACK is the only error with a number before the link is up.
      if (!facts.connected && "code" in error && typeof error.code === "number") facts.refusal ??= error.code;
      else facts.error ??= error;
    });
    client.on("disconnect", (packet) => {
      facts.serverDisconnect = packet.reasonCode ?? 0;
    });
    const { session, stampsSenders = false } = options.settings;
    // The library acknowledges QoS 1 at once; as QoS 0, the listener acknowledges the message later.
    client.on("packetreceive", (packet) => {
      if (packet.cmd === "publish" && packet.qos === 1 && session?.isOwed(packet.topic) === true)
        packet.qos = 0;
    });
    const turns = new Turns(systemClock, options.isPatient === true ? shortTurnMs : longTurnMs);
    // Called once for each message; the library acknowledges it when `done` is called.
    client.handleMessage = (packet, done) => {
      const message = incomingMessage(packet, stampsSenders);
      const { messageId: id } = packet;
      const isOwed = packet.qos === 0 && id !== undefined;
      options.message(isOwed ? { ...message, acknowledge: () => this.#acknowledge(id) } : message);
      turns.next(done);
    };
    this.closed = new Promise((resolve) => {
      client.once("close", () => resolve(describeEnd(facts)));
    });
    const up = new Promise<BrokerFacts>((resolve) => {
      client.once("connect", (packet) => {
        facts.connected = true;
        resolve(brokerFacts(options.version, packet));
      });
    });
    this.accepted = Promise.race([up, this.closed.then(() => null)]);
  }

  /**
   * Sends with QoS 1 if `done` is given, which is called when the broker has acknowledged or refused it; otherwise with
   * QoS 0, which is never answered. Returns the packet id, or 0 for none.
   */
  publish(publish: Omit<Publish, "bytes">, done?: (error: Error | null) => void): number {
    const { topic, payload, options } = publish;
    const { retain = false, responseProperties: properties } = options;
    if (done === undefined && properties === undefined) {
      this.#write(stateMessage({ topic, payload, retain }, this.#version));
      return 0;
    }
    const qos = done === undefined ? 0 : 1;
    const answered: PacketCallback | undefined =
      done &&
      ((error) => {
        if (!error) done(null);
        // Any other error means that the link is going down, which rejects all publishes at once.
        else if ("code" in error) done(error);
      });
    try {
      this.#client.publish(topic, payload, { qos, retain, ...(properties && { properties }) }, answered);
    } catch (error) {
      // Part of a packet may be on the wire, so this link is unusable.
      this.destroy(`a publish could not be written: ${String(error)}`);
    }
    return this.#client.getLastMessageId();
  }

  /** Sends a PUBACK. */
  #acknowledge(id: number): void {
    this.#write(Buffer.from([0x40, 2, id >> 8, id & 0xff]));
  }

  /**
   * Writes past the library, which holds back nothing that it writes, so the order is kept. Writes nothing on an ended
   * link.
   */
  #write(packet: Buffer): void {
    const stream = this.#stream;
    if (stream.destroyed || stream.writableEnded) return;
    if (!this.#isCorked) {
      this.#isCorked = true;
      stream.cork();
      queueMicrotask(() => {
        this.#isCorked = false;
        stream.uncork();
      });
    }
    stream.write(packet);
  }

  /** Frees what the MQTT library keeps for an abandoned publish. */
  forget(id: number): void {
    this.#client.removeOutgoingMessage(id);
  }

  /** Resolves to the filters that were not granted; rejects if the link closes first. */
  subscribe(filters: readonly string[], own: string | undefined): Promise<readonly string[]> {
    // MQTT 3.1.1 ignores these options; retained messages then come too, marked by their retain flag.
    return this.#subscribe(filters, (filter) => ({ qos: 1, rap: true, rh: noRetained, nl: filter === own }));
  }

  /**
   * Subscribes so that retained messages come too; live ones then come without the retain flag. It uses QoS 0, as some
   * brokers queue only so many of QoS 1 for a client (Mosquitto 1,000) and drop the rest. Resolves to the filters not
   * granted. `echoTopic` keeps QoS 1: a broker may send a message once, with the QoS of any filter that matches, and with
   * QoS 0 an echo would overtake the commands that wait for acknowledgements.
   */
  subscribeWithRetained(
    filters: readonly string[],
    echoTopic: string | undefined,
  ): Promise<readonly string[]> {
    const matchesEcho = (filter: string) => echoTopic !== undefined && filterCovers(filter, echoTopic);
    return this.#subscribe(filters, (filter) => ({ qos: matchesEcho(filter) ? 1 : 0, rap: false, rh: 0 }));
  }

  #subscribe(filters: readonly string[], how: (filter: string) => ISubscriptionMap[string]) {
    const wanted = Object.fromEntries(filters.map((filter) => [filter, how(filter)]));
    return new Promise<readonly string[]>((resolve, reject) => {
      this.#client.subscribe(wanted, (error, grants = [], packet) => {
        if (error && !packet) {
          reject(error);
          return;
        }
        const codes = packet?.granted ?? [];
        resolve(grants.flatMap(({ topic }, n) => (Number(codes[n] ?? 0x80) >= 0x80 ? [topic] : [])));
      });
    });
  }

  /** The same with QoS 1, for a few topics of others over a long time. */
  subscribeToKept(filters: readonly string[]): Promise<readonly string[]> {
    return this.#subscribe(filters, () => ({ qos: 1, rap: false, rh: 0 }));
  }

  unsubscribe(filters: readonly string[]): Promise<void> {
    return new Promise((resolve) => {
      this.#client.unsubscribe([...filters], () => resolve());
    });
  }

  /** Resolves when the socket accepts more; immediately when it is closed. */
  drain(): Promise<void> {
    if (!this.#stream.writableNeedDrain) return Promise.resolve();
    return new Promise((resolve) => {
      this.#stream.once("drain", resolve);
      void this.closed.then(() => resolve());
    });
  }

  /** Sends DISCONNECT and closes. The broker publishes the will only if `withWill` is set (MQTT 5). */
  end(withWill = false): void {
    this.#facts.ended = true;
    // The library would wait for every outstanding answer, even from a broker that never gives it.
    for (const id of Object.keys(this.#client.outgoing)) this.#client.removeOutgoingMessage(Number(id));
    // The broker closes after reading it; the library would wait for a socket that it does not close itself.
    this.#stream.once("end", () => this.#stream.destroy());
    this.#client.end(false, withWill ? { reasonCode: disconnectWithWill } : {});
  }

  destroy(because: string | null): void {
    this.#facts.closedBecause ??= because;
    this.#stream.destroy();
  }
}

type Facts = { -readonly [Key in keyof LinkFacts]: LinkFacts[Key] };

/** Connects over `openStream`. Never rejects: a failed attempt resolves to a link's end. */
export async function openLink(options: LinkOptions) {
  const facts: Facts = {
    broker: brokerName(options.settings.url),
    version: options.version,
    opened: false,
    connected: false,
    ended: false,
    closedBecause: null,
    refusal: null,
    serverDisconnect: null,
    error: null,
  };
  try {
    const stream = await options.openStream(() => {
      facts.opened = true;
    });
    stream.on("error", (error) => {
      facts.error ??= error;
    });
    const { settings, version, clock = systemClock, onTooLarge = ignored } = options;
    const bounds = { isVersion5: version === 5, mostPacketBytes: options.limits.maxPacketBytes };
    if (settings.flood) leaveOutSurplus(stream, settings.flood, { ...bounds, clock, onTooLarge });
    return new BrokerLink(options, stream, facts);
  } catch (error) {
    facts.error = error instanceof Error ? error : new Error(String(error));
    return describeEnd(facts);
  }
}

/** CONNACK codes for an unsupported version: 1 in MQTT 3.1.1, 0x84 in MQTT 5. */
const unsupportedVersion = new Set([1, 0x84]);

/**
 * The version for the next attempt. 5 gives way to 4 only if the broker says that it does not speak 5, and for one
 * attempt only. A socket closed without a reason says nothing about versions, and with 4 a live command with the retain
 * flag counts as ordinary.
 */
export function versionAfter(used: ProtocolVersion, { kind, code }: LinkEnd, preferred: ProtocolVersion) {
  const isRefused = kind === "refused" && code !== null && unsupportedVersion.has(code);
  return isRefused && used === 5 ? 4 : preferred;
}

export const versionName = (version: ProtocolVersion): string => (version === 5 ? "MQTT 5" : "MQTT 3.1.1");

/** Why a link speaks its version. */
export const versionReason = (preferred: ProtocolVersion, used: ProtocolVersion): Text =>
  used === preferred
    ? msg`mqtt.protocol_version is ${used}`
    : msg`the broker refuses ${versionName(preferred)}`;
