import { once } from "node:events";
import net from "node:net";
import { expect } from "vitest";
import { type EmbeddedBroker, startBroker } from "../../src/broker/broker.js";
import { systemClock } from "../../src/runtime/clock.js";
import { capturedLog, topics } from "../mqtt-connection/support.js";
import type { Asked, Connect, Property, Received, Version } from "./packets.js";
import { Peer } from "./peer.js";

/** May do everything, and as much of it as the tests together want. */
export const login = { username: "anything", password: "conformance-anything" };
/** May publish and subscribe below `allowed` only. */
export const limited = { username: "limited", password: "conformance-limited" };

const limits = { clients: 2_000, retainedTopics: 10_000, silentSockets: 500 };

export const startConformanceBroker = (): Promise<EmbeddedBroker> =>
  startBroker(
    {
      host: "127.0.0.1",
      port: 0,
      users: [
        { ...login, publish: ["#"], subscribe: ["#"] },
        { ...limited, publish: ["allowed/#"], subscribe: ["allowed/#"] },
      ],
      limits,
      topics,
    },
    { clock: systemClock, log: capturedLog().log },
  );

/** What a test of a statement has: a broker, clients of one version, and names that no other test uses. */
export interface Bench {
  readonly version: Version;
  /** A socket on which nothing was sent yet. */
  readonly raw: () => Promise<Peer>;
  /** A client that was let in; with a clean session unless it is told otherwise. */
  readonly client: (connect?: Connect) => Promise<Peer>;
  /** A topic or client id; the same for the same words. */
  readonly name: (words?: string) => string;
}

/** By the rule that each holds. */
export type Checks = Readonly<Record<string, (bench: Bench) => Promise<void>>>;

let tests = 0;

export function benchFor(
  version: Version,
  broker: EmbeddedBroker,
  atEnd: (action: () => void) => void,
): Bench {
  tests += 1;
  const own = `t${tests}`;
  const { port } = broker;
  let clients = 0;
  const raw = async () => {
    const socket = net.connect({ port, host: "127.0.0.1", noDelay: true });
    const peer = new Peer(socket, version);
    atEnd(() => peer.drop());
    await once(socket, "connect");
    return peer;
  };
  return {
    version,
    raw,
    client: async (connect = {}) => {
      clients += 1;
      const peer = await raw();
      const { code } = await peer.connect({ id: `${own}c${clients}`, ...login, ...connect });
      if (code !== 0) throw new Error(`refused with ${code}`);
      return peer;
    },
    name: (words = "") => `${own}${words}`,
  };
}

/* What the checks of several subjects ask for. */

/** The broker ends the connection; in MQTT 5 it may say why, in 3.1.1 it says nothing. */
export async function expectThrownOut(peer: Peer): Promise<void> {
  const last = await peer.untilEnd();
  const isReason = (packet: Received) =>
    peer.version === 5 && (packet.type === "connack" || packet.type === "disconnect") && packet.code >= 0x80;
  expect(last.filter((packet) => !isReason(packet))).toEqual([]);
}

/** A client that is let in and sends these bytes is thrown out for them. */
export async function expectMalformed({ client }: Bench, ...bytes: readonly number[]): Promise<void> {
  const peer = await client();
  peer.send(bytes);
  await expectThrownOut(peer);
}

/** What makes a session outlive its connection. */
export const lasting = ({ version, name }: Bench): Connect => ({
  id: name("session"),
  clean: false,
  properties: version === 5 ? [["session expiry", 60]] : [],
});

export async function subscriber({ client }: Bench, ...asked: readonly Asked[]): Promise<Peer> {
  const peer = await client();
  await peer.subscribe(asked);
  return peer;
}

/** The session of `lasting`, left with one subscription. */
export async function leftSession(bench: Bench, ...asked: readonly Asked[]): Promise<void> {
  const peer = await bench.client(lasting(bench));
  await peer.subscribe(asked);
  peer.drop();
}

/** What a new subscriber to a topic gets as retained: payload and QoS; null for nothing. */
export async function retainedOn(
  { client, name }: Bench,
  topic: string,
): Promise<{
  readonly payload: string;
  readonly qos: number;
  readonly properties: readonly Property[];
} | null> {
  const peer = await client();
  const last = name("/last-retained");
  await peer.publish({ topic: last, payload: "last", qos: 1, retain: true });
  await peer.subscribe([
    [topic, 2],
    [last, 0],
  ]);
  const { topic: from, retain, payload, qos, properties } = await peer.next("publish");
  expect(retain).toBe(true);
  peer.drop();
  return from === last ? null : { payload, qos, properties };
}

export const valueOf = ({ properties }: { readonly properties: readonly Property[] }, name: string) =>
  properties.find(([known]) => known === name)?.[1];
