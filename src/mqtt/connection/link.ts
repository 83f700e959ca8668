import type { Duplex } from "node:stream";
import type { IClientOptions, IConnackPacket, IPublishPacket, ISubscriptionMap, MqttClient } from "mqtt";
import library from "mqtt/lib/client";
import { nextTurn } from "../../runtime/clock.js";
import { understood } from "../../runtime/mqtt.js";
import type { Publish } from "./publish.js";
import { describeEnd, type LinkFacts } from "./reasons.js";
import type {
  BrokerFacts,
  ConnectionLimits,
  ConnectionSettings,
  IncomingMessage,
  LinkEnd,
  OpenStream,
  ProtocolVersion,
} from "./settings.js";
import { brokerName } from "./stream.js";

function clientOptions({ settings, limits, version }: LinkOptions): IClientOptions {
  const { username, password, will } = settings;
  const url = credentialsOf(settings.url);
  return {
    protocolId: "MQTT",
    protocolVersion: version,
    clientId: settings.clientId,
    username: username ?? url.username,
    password: password ?? url.password,
    clean: true,
    keepalive: limits.keepaliveS,
    connectTimeout: limits.connectTimeoutMs,
    // The reconnect loop is ours: the library's gives up after a refusal and replays what cut the link.
    reconnectPeriod: 0,
    resubscribe: false,
    queueQoSZero: false,
    // Its cache of number buffers takes 10 MB and saves next to nothing.
    writeCache: false,
    ...(will && { will: { topic: will.topic, payload: Buffer.from(will.payload), qos: 1, retain: true } }),
    ...(version === 5 && {
      properties: { sessionExpiryInterval: 0, maximumPacketSize: limits.maxPacketBytes },
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
 * Copies what the bridge needs out of a packet of the MQTT library, for a part of a packet keeps all of it in memory. A
 * sender can repeat a property, which the library then hands over as an array; such a one counts as absent.
 */
function incomingMessage(topic: string, payload: Buffer, packet: IPublishPacket): IncomingMessage {
  const { messageExpiryInterval, ...given } = packet.properties ?? {};
  const userProperties = understood(given.userProperties);
  return {
    topic,
    payload: Buffer.from(payload),
    retain: packet.retain,
    properties: {
      ...answerTo(given.responseTopic, given.correlationData),
      ...(typeof messageExpiryInterval === "number" && { messageExpiryIntervalS: messageExpiryInterval }),
      ...(userProperties !== undefined && { userProperties }),
    },
  };
}

/** Whoever cannot be told which question an answer belongs to gets none. */
function answerTo(responseTopic: unknown, correlationData: unknown): Partial<IncomingMessage["properties"]> {
  const data = Buffer.isBuffer(correlationData) ? correlationData : null;
  if (typeof responseTopic !== "string" || (data?.length ?? 0) > maxCorrelationBytes) return {};
  return { responseTopic, ...(data && { correlationData: Buffer.from(data) }) };
}

/** The limits of a CONNACK; 3.1.1 announces none. */
function brokerFacts(version: ProtocolVersion, properties: IConnackPacket["properties"]): BrokerFacts {
  const maximumQos = properties?.maximumQoS;
  return {
    protocolVersion: version,
    maximumPacketSize: properties?.maximumPacketSize ?? null,
    receiveMaximum: properties?.receiveMaximum ?? null,
    maximumQos: maximumQos === 0 || maximumQos === 1 ? maximumQos : 2,
    retainAvailable: properties?.retainAvailable ?? true,
  };
}

const publishType = 0x30;
const retainFlag = 0x01;

/**
 * A PUBLISH of QoS 0 without properties, as it stands on the wire. It needs no packet id and no answer, so nothing of it has to
 * pass through the MQTT library, which writes each packet in six pieces.
 */
function publishPacket(
  { topic, payload, retain }: { topic: string; payload: string | Buffer; retain: boolean },
  version: ProtocolVersion,
): Buffer {
  const topicBytes = Buffer.byteLength(topic);
  const payloadBytes = Buffer.byteLength(payload);
  // MQTT 5 has one byte more: no properties.
  const properties = version === 5 ? 1 : 0;
  const length = 2 + topicBytes + properties + payloadBytes;
  const packet = Buffer.allocUnsafe(1 + lengthBytes(length) + length);
  packet[0] = publishType | (retain ? retainFlag : 0);
  let at = writeLength(packet, length);
  at = packet.writeUInt16BE(topicBytes, at);
  at += packet.write(topic, at);
  if (properties > 0) packet[at++] = 0;
  if (typeof payload === "string") packet.write(payload, at);
  else payload.copy(packet, at);
  return packet;
}

const lengthBytes = (length: number): number =>
  length < 0x80 ? 1 : length < 0x4000 ? 2 : length < 0x200000 ? 3 : 4;

/** Seven bits a byte, the lowest first. Returns where it ended. */
function writeLength(packet: Buffer, length: number): number {
  let at = 1;
  let rest = length;
  while (rest >= 0x80) {
    packet[at++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  packet[at++] = rest;
  return at;
}

const noRetained = 2;

// A CommonJS module with a default of its own: some loaders unwrap it, Node does not.
const Client = "default" in library ? library.default : library;

interface LinkOptions {
  readonly settings: Pick<ConnectionSettings, "url" | "username" | "password" | "clientId" | "will">;
  readonly limits: ConnectionLimits;
  readonly version: ProtocolVersion;
  /** Called for every message; must not throw, or the MQTT library goes deaf. */
  readonly message: (message: IncomingMessage) => void;
  readonly openStream: OpenStream;
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
  /** Packets of QoS 0 that leave together: one write for all that a poll brings. */
  #unwritten: Buffer[] = [];

  constructor(
    client: MqttClient,
    stream: Duplex,
    facts: Facts,
    life: Pick<BrokerLink, "accepted" | "closed">,
  ) {
    this.#client = client;
    this.#stream = stream;
    this.#facts = facts;
    this.accepted = life.accepted;
    this.closed = life.closed;
  }

  /** QoS 1: calls back once the broker acknowledged or refused it. Returns the packet id. */
  send({ topic, payload, options }: Omit<Publish, "bytes">, done: (error: Error | null) => void): number {
    const { retain = false, responseProperties: properties } = options;
    this.#flush();
    try {
      this.#client.publish(topic, payload, { qos: 1, retain, ...(properties && { properties }) }, (error) => {
        if (!error) done(null);
        // Any other error means that the link is going down, which rejects everything at once.
        else if ("code" in error) done(error);
      });
      return this.#client.getLastMessageId();
    } catch (error) {
      // Half a packet may be on the wire, so this link cannot be used any more.
      this.destroy(`a publish could not be written: ${String(error)}`);
      return 0;
    }
  }

  /** QoS 0: nothing ever answers it. */
  write({ topic, payload, options }: Publish): void {
    const { retain = false, responseProperties: properties } = options;
    if (properties !== undefined) {
      this.#flush();
      this.#client.publish(topic, payload, { qos: 0, retain, properties });
      return;
    }
    if (this.#unwritten.length === 0) void nextTurn().then(() => this.#flush());
    this.#unwritten.push(publishPacket({ topic, payload, retain }, this.#facts.version));
  }

  /** Frees what the MQTT library keeps for a publish that is given up. */
  forget(id: number): void {
    this.#client.removeOutgoingMessage(id);
  }

  /** Resolves with the filters that were not granted; rejects when the link closes first. */
  subscribe(filters: readonly string[], own: string | undefined): Promise<readonly string[]> {
    const wanted: ISubscriptionMap = {};
    // On 3.1.1 these options do not exist; retained messages then come and are told by their flag.
    for (const filter of filters) wanted[filter] = { qos: 1, rap: true, rh: noRetained, nl: filter === own };
    return this.#subscribe(wanted);
  }

  #subscribe(wanted: ISubscriptionMap): Promise<readonly string[]> {
    return new Promise((resolve, reject) => {
      this.#client.subscribe(wanted, (error, grants = [], packet) => {
        if (error && !packet) {
          reject(error);
          return;
        }
        const codes = packet?.granted ?? [];
        const refused = grants.filter((_, n) => Number(codes[n] ?? 0x80) >= 0x80);
        resolve(refused.map((grant) => grant.topic));
      });
    });
  }

  /**
   * Subscribes in the way that brings the retained messages too; live ones then come without the retain flag. QoS 0: of QoS 1
   * some brokers keep only so many back for a client (Mosquitto 1,000) and drop the rest. Resolves with what was not granted.
   */
  subscribeWithRetained(filters: readonly string[]): Promise<readonly string[]> {
    const wanted: ISubscriptionMap = {};
    for (const filter of filters) wanted[filter] = { qos: 0, rap: false, rh: 0 };
    return this.#subscribe(wanted);
  }

  unsubscribe(filters: readonly string[]): Promise<void> {
    return new Promise((resolve) => {
      this.#client.unsubscribe([...filters], () => resolve());
    });
  }

  /** Sends DISCONNECT, so that no will is published, and closes. */
  end(): void {
    this.#facts.ended = true;
    this.#flush();
    // The library would wait for every answer that is still due, also from a broker that never gives it.
    for (const id of Object.keys(this.#client.outgoing)) this.#client.removeOutgoingMessage(Number(id));
    this.#client.end(false);
  }

  destroy(because: string | null): void {
    this.#facts.closedBecause ??= because;
    this.#stream.destroy();
  }

  #flush(): void {
    if (this.#unwritten.length === 0) return;
    const packets = this.#unwritten;
    this.#unwritten = [];
    if (!this.#stream.destroyed) this.#stream.write(Buffer.concat(packets));
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
    return connect(options, stream, facts);
  } catch (error) {
    facts.error = error instanceof Error ? error : new Error(String(error));
    return describeEnd(facts);
  }
}

function connect(options: LinkOptions, stream: Duplex, facts: Facts): BrokerLink {
  const client = new Client(() => stream, clientOptions(options));
  client.on("error", (error) => {
    // A refused CONNACK is the only error with a number before the link is up.
    if (!facts.connected && "code" in error && typeof error.code === "number") facts.refusal ??= error.code;
    else facts.error ??= error;
  });
  client.on("disconnect", (packet) => {
    facts.serverDisconnect = packet.reasonCode ?? 0;
  });
  client.on("message", (topic, payload, packet) => options.message(incomingMessage(topic, payload, packet)));
  const closed = new Promise<LinkEnd>((resolve) => {
    client.once("close", () => resolve(describeEnd(facts)));
  });
  const up = new Promise<BrokerFacts>((resolve) => {
    client.once("connect", (packet) => {
      facts.connected = true;
      resolve(brokerFacts(options.version, packet.properties));
    });
  });
  return new BrokerLink(client, stream, facts, {
    closed,
    accepted: Promise.race([up, closed.then(() => null)]),
  });
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
export const versionReason = (preferred: ProtocolVersion, used: ProtocolVersion): string =>
  used === preferred ? `mqtt.protocol_version is ${used}` : `the broker refuses ${versionName(preferred)}`;
