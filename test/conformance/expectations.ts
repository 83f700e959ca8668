import { expect } from "vitest";
import type { Bench } from "./bench.js";
import type { Asked, Connect, Received } from "./packets.js";
import type { Peer } from "./peer.js";
import type { Property } from "./properties.js";

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
