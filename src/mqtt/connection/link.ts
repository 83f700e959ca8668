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
import { senderIn, stateMessage } from "../../runtime/mqtt.js";
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
import { Names } from "../../runtime/names.js";
import { pem } from "../../runtime/sockets.js";

const protocols: ReadonlySet<string> = new Set(["mqtt:", "mqtts:", "ws:", "wss:"]);
// Mosquitto and others put several packets into one frame, so this is well above our packet limit.
const maxFrameBytes = 16 * 1024 * 1024;
/** So much is read at once: of less, each turn of the event loop would read one piece, and what comes behind would wait for as many turns. */
const readableHighWaterMark = 1024 * 1024;

/** `mqtt://host:port`: where a URL leads, fit for logs (no credentials, no path, no query). */
export function brokerName(url: string): Text {
  try {
    const { protocol, host, port } = placeOf(url);
    return `${protocol}//${host.includes(":") ? `[${host}]` : host}:${port}`;
  } catch {
    return msg`the broker`;
  }
}

interface Outside {
  /** Looks the broker up. */
  readonly names?: Names;
  readonly signal?: AbortSignal;
  readonly clock?: Clock;
}

/** Opens a socket as `url` says. Rejects where there is no connection, or the URL, a certificate or a key cannot be used. */
export function streamFrom(
  settings: Pick<ConnectionSettings, "url" | "tls">,
  timeoutMs: number,
  { names = new Names(), signal, clock = systemClock }: Outside = {},
): OpenStream {
  return async (opened) => {
    const { protocol, secure, ...place } = placeOf(settings.url);
    // A disk need not answer.
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
 * The MQTT library hands over a packet in some eight pieces, and a whole greenhouse's packets at once: two hundred pieces cost the
 * kernel a good deal more than the same bytes as one.
 */
function joinPieces(socket: Socket): void {
  socket._writev = (pieces: readonly Piece[], done) => {
    const parts: Buffer[] = [];
    for (const { chunk, encoding } of pieces)
      parts.push(typeof chunk === "string" ? Buffer.from(chunk, encoding) : chunk);
    // As text of which each character is a byte.
    socket._write(Buffer.concat(parts).toString("latin1"), "latin1", done);
  };
  // The library ends a piece with each turn of microtasks; what several answers of the platform brought at once is one more piece.
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
  // `ws` would turn these into an Authorization header for the web server; MQTT carries its own.
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
    // The reconnect loop is ours: the library's gives up after a refusal and replays what cut the link.
    reconnectPeriod: 0,
    resubscribe: false,
    queueQoSZero: false,
    // Its cache of number buffers takes 10 MB and saves next to nothing.
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

// Commands wait with what they are to be answered with, and a packet may hold 64 KiB of it.
const maxCorrelationBytes = 1_024;

/**
 * Copies what the bridge needs out of a packet of the MQTT library, since a part of a packet keeps all of it in memory. A sender can
 * repeat a property, which the library then hands over as an array; such a property counts as absent.
 */
function incomingMessage(
  { topic, payload, retain, properties = {} }: IPublishPacket,
  stampsSenders: boolean,
): IncomingMessage {
  const { messageExpiryInterval, responseTopic, correlationData } = properties;
  const data = Buffer.isBuffer(correlationData) ? correlationData : null;
  // A sender that cannot be told which question an answer belongs to gets none.
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

/** The limits of a CONNACK; 3.1.1 announces none. */
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

// A CommonJS module with a default of its own: some loaders unwrap it, Node does not.
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
  /** A message was left out that no broker should have taken. */
  readonly onTooLarge?: (message: TooLarge) => void;
  /** What comes on it can wait for everything else. */
  readonly isPatient?: boolean;
}

/** How long messages are taken in without a break where nothing else had much to do. */
const shortTurnMs = 5;
const longTurnMs = 200;

/**
 * Lets everything else that is due in the process have its turn in a flood of messages: the library takes all that came at once, a
 * thousand of them, one after the other. A turn is as long as what the others took before it: at a start they take a hundred
 * milliseconds at a time, and a stop that came behind a thousand retained messages would wait for them two hundred times.
 */
export class Turns {
  readonly #clock: Pick<Clock, "monotonic" | "soon">;
  /** Null at the beginning of a turn. */
  #began: number | null = null;
  readonly #longestMs: number;
  #lengthMs = shortTurnMs;
  /** When the turn before ended that had messages left. */
  #brokeOff: number | null = null;

  constructor(clock: Pick<Clock, "monotonic" | "soon"> = systemClock, longestMs = longTurnMs) {
    this.#clock = clock;
    this.#longestMs = longestMs;
  }

  /** Goes on with the next message: at once, or after a break. */
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
 * nothing of an old link, least of all a publish that cut it, is ever sent again on the next.
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
    // The library acknowledges what is of QoS 1 before it hands over the next message.
    client.on("packetreceive", (packet) => {
      if (packet.cmd === "publish" && packet.qos === 1 && session?.isOwed(packet.topic) === true)
        packet.qos = 0;
    });
    const turns = new Turns(systemClock, options.isPatient === true ? shortTurnMs : longTurnMs);
    // Called once for each message, which is acknowledged when it is done.
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
   * QoS 1 where `done` is to be called, once the broker acknowledged or refused it; without it QoS 0, which nothing ever answers.
   * Returns the packet id, 0 where it has none.
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
        // Any other error means that the link is going down, which rejects everything at once.
        else if ("code" in error) done(error);
      });
    try {
      this.#client.publish(topic, payload, { qos, retain, ...(properties && { properties }) }, answered);
    } catch (error) {
      // Half a packet may be on the wire, so this link cannot be used any more.
      this.destroy(`a publish could not be written: ${String(error)}`);
    }
    return this.#client.getLastMessageId();
  }

  /** PUBACK. */
  #acknowledge(id: number): void {
    this.#write(Buffer.from([0x40, 2, id >> 8, id & 0xff]));
  }

  /** Beside the library, which keeps nothing of what it writes in the same order; on a link that has ended it says nothing any more. */
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

  /** Frees what the MQTT library keeps for a publish that is given up. */
  forget(id: number): void {
    this.#client.removeOutgoingMessage(id);
  }

  /** Resolves with the filters that were not granted; rejects when the link closes first. */
  subscribe(filters: readonly string[], own: string | undefined): Promise<readonly string[]> {
    // On 3.1.1 these options do not exist; retained messages then come and are told by their flag.
    return this.#subscribe(filters, (filter) => ({ qos: 1, rap: true, rh: noRetained, nl: filter === own }));
  }

  /**
   * Subscribes in the way that brings the retained messages too; live ones then come without the retain flag. QoS 0: of QoS 1
   * some brokers keep only so many back for a client (Mosquitto 1,000) and drop the rest. Resolves with what was not granted.
   */
  subscribeWithRetained(filters: readonly string[]): Promise<readonly string[]> {
    return this.#subscribe(filters, () => ({ qos: 0, rap: false, rh: 0 }));
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

  /** The same with QoS 1: for few topics of others that stand for long. */
  subscribeToKept(filters: readonly string[]): Promise<readonly string[]> {
    return this.#subscribe(filters, () => ({ qos: 1, rap: false, rh: 0 }));
  }

  unsubscribe(filters: readonly string[]): Promise<void> {
    return new Promise((resolve) => {
      this.#client.unsubscribe([...filters], () => resolve());
    });
  }

  /** Resolves when the socket takes more, and at once when it is closed. */
  drain(): Promise<void> {
    if (!this.#stream.writableNeedDrain) return Promise.resolve();
    return new Promise((resolve) => {
      this.#stream.once("drain", resolve);
      void this.closed.then(() => resolve());
    });
  }

  /** Sends DISCONNECT, so that no will is published unless it is to be (MQTT 5), and closes. */
  end(withWill = false): void {
    this.#facts.ended = true;
    // The library would wait for every answer that is still due, also from a broker that never gives it.
    for (const id of Object.keys(this.#client.outgoing)) this.#client.removeOutgoingMessage(Number(id));
    // The broker has read it and closes; the library would wait for a socket that it does not close itself.
    this.#stream.once("end", () => this.#stream.destroy());
    this.#client.end(false, withWill ? { reasonCode: disconnectWithWill } : {});
  }

  destroy(because: string | null): void {
    this.#facts.closedBecause ??= because;
    this.#stream.destroy();
  }
}

type Facts = { -readonly [Key in keyof LinkFacts]: LinkFacts[Key] };

/** Connects over `openStream`. Never rejects: a link that cannot come about is one that closed at once. */
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

/** The protocol's own refusals: CONNACK of 3.1.1 with code 1, of MQTT 5 with 0x84. */
const unsupportedVersion = new Set([1, 0x84]);

/**
 * The version of the attempt after one that ended so: 5 gives way to 4 only where the broker says that it does not speak 5, and
 * for one attempt only. A socket closed without a word says nothing of versions, and with 4 a live command with the retain flag
 * is taken for an ordinary one.
 */
export function versionAfter(used: ProtocolVersion, { kind, code }: LinkEnd, preferred: ProtocolVersion) {
  const isRefused = kind === "refused" && code !== null && unsupportedVersion.has(code);
  return isRefused && used === 5 ? 4 : preferred;
}

export const versionName = (version: ProtocolVersion): string => (version === 5 ? "MQTT 5" : "MQTT 3.1.1");

/** Why a link speaks the version that it speaks. */
export const versionReason = (preferred: ProtocolVersion, used: ProtocolVersion): Text =>
  used === preferred
    ? msg`mqtt.protocol_version is ${used}`
    : msg`the broker refuses ${versionName(preferred)}`;
