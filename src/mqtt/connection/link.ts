import type { Duplex } from "node:stream";
import type { ISubscriptionMap, MqttClient } from "mqtt";
// The package's front door also loads its command line, WebSockets and proxies.
import library from "mqtt/lib/client";
import { nextTurn } from "../../runtime/clock.js";
import { clientOptions } from "./client-options.js";
import { brokerFacts, incomingMessage } from "./message.js";
import type { Exit, Parcel } from "./outbox.js";
import { publishPacket } from "./publish-packet.js";
import { describeEnd, type LinkFacts } from "./reasons.js";
import { brokerName } from "./stream.js";
import type {
  BrokerFacts,
  ConnectionLimits,
  ConnectionSettings,
  IncomingMessage,
  LinkEnd,
  ProtocolVersion,
  PublishOptions,
} from "./settings.js";

const noRetained = 2;

// A CommonJS module with a default of its own: some loaders unwrap it, Node does not.
const Client = "default" in library ? library.default : library;

export type LinkSettings = Pick<ConnectionSettings, "url" | "username" | "password" | "clientId" | "will">;

export interface LinkOptions {
  readonly settings: LinkSettings;
  readonly limits: ConnectionLimits;
  readonly version: ProtocolVersion;
  /** Called for every message; must not throw, or the MQTT library goes deaf. */
  readonly message: (message: IncomingMessage) => void;
}

/**
 * One network connection to the broker, from CONNECT to the closed socket. Each has an MQTT client of its own, so that
 * nothing of an old link, least of all a publish that cut it, is ever sent again on the next.
 */
export class BrokerLink implements Exit {
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

  send({ topic, payload, options }: Parcel, done: (error: Error | null) => void): number {
    const { retain = false, qos = 1, responseProperties } = options;
    const properties = responseProperties && { properties: sendable(responseProperties) };
    this.#flush();
    try {
      this.#client.publish(topic, payload, { qos, retain, ...properties } as object, (error) => {
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

  write({ topic, payload, options }: Parcel): void {
    const { retain = false, responseProperties } = options;
    if (responseProperties !== undefined) {
      this.#flush();
      const properties = sendable(responseProperties);
      this.#client.publish(topic, payload, { qos: 0, retain, properties } as object);
      return;
    }
    if (this.#unwritten.length === 0)
      void nextTurn().then(() => {
        this.#flush();
      });
    this.#unwritten.push(publishPacket({ topic, payload, retain }, this.#facts.version));
  }

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
      this.#client.unsubscribe([...filters], () => {
        resolve();
      });
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

/** Connects over `settings.openStream`. Never rejects: a link that cannot come about is one that closed at once. */
export async function openLink(
  options: LinkOptions & { openStream: ConnectionSettings["openStream"] & object },
) {
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
  client.on("message", (topic, payload, packet) => {
    options.message(incomingMessage(topic, payload, packet));
  });
  const closed = new Promise<LinkEnd>((resolve) => {
    client.once("close", () => {
      resolve(describeEnd(facts));
    });
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

/** The packet library silently sends nothing at all when it is given user properties without a single one. */
function sendable(properties: NonNullable<PublishOptions["responseProperties"]>): object {
  const { userProperties, ...others } = properties;
  const some = userProperties && Object.keys(userProperties).length > 0;
  return some ? { ...others, userProperties } : others;
}
