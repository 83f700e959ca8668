import { packet } from "../fuzz/packets.js";
import { encodeProperties, Fields, type Property, short, text, type Version } from "./properties.js";

/* Packets as bytes, written here a second time: a codec shared with the broker would share its mistakes. */

export type Text = string | readonly number[];

export interface Will {
  readonly topic: Text;
  readonly payload?: string;
  readonly qos?: number;
  readonly retain?: boolean;
  readonly properties?: readonly Property[];
}

export interface Connect {
  readonly id?: Text;
  readonly clean?: boolean;
  readonly keepAlive?: number;
  readonly will?: Will;
  readonly username?: Text | null;
  readonly password?: string | null;
  readonly properties?: readonly Property[];
  /** What is to be wrong with it. */
  readonly protocol?: string;
  readonly level?: number;
  /** Bits turned over in the flags. */
  readonly flip?: number;
}

export function connectPacket(version: Version, connect: Connect): number[] {
  const { will, username = null, password = null, clean = true, flip = 0 } = connect;
  const flags =
    (clean ? 2 : 0) +
    (will ? 4 + 8 * (will.qos ?? 0) + (will.retain ? 32 : 0) : 0) +
    (password === null ? 0 : 64) +
    (username === null ? 0 : 128);
  return packet(0x10, [
    ...text(connect.protocol ?? "MQTT"),
    connect.level ?? version,
    flags ^ flip,
    ...short(connect.keepAlive ?? 0),
    ...encodeProperties(version, connect.properties),
    ...text(connect.id ?? ""),
    ...(will
      ? [...encodeProperties(version, will.properties), ...text(will.topic), ...text(will.payload ?? "will")]
      : []),
    ...(username === null ? [] : text(username)),
    ...(password === null ? [] : text(password)),
  ]);
}

export interface Publish {
  readonly topic: Text;
  readonly payload?: string;
  readonly qos?: number;
  readonly id?: number;
  readonly retain?: boolean;
  readonly dup?: boolean;
  readonly properties?: readonly Property[];
}

export function publishPacket(version: Version, publish: Publish): number[] {
  const { topic, payload = "message", qos = 0, id = 1, retain = false, dup = false, properties } = publish;
  return packet(0x30 + (dup ? 8 : 0) + 2 * qos + (retain ? 1 : 0), [
    ...text(topic),
    ...(qos > 0 ? short(id) : []),
    ...encodeProperties(version, properties),
    ...Buffer.from(payload),
  ]);
}

/** A filter and its options; in 3.1.1 the QoS alone. */
export type Asked = readonly [filter: Text, options: number];
export const noLocal = 4;
export const retainAsPublished = 8;
export const retainHandling = (handling: number) => handling * 16;

export const subscribePacket = (
  version: Version,
  id: number,
  asked: readonly Asked[],
  properties?: readonly Property[],
): number[] =>
  packet(0x82, [
    ...short(id),
    ...encodeProperties(version, properties),
    ...asked.flatMap(([filter, options]) => [...text(filter), options]),
  ]);

export const unsubscribePacket = (version: Version, id: number, filters: readonly Text[]): number[] =>
  packet(0xa2, [...short(id), ...encodeProperties(version), ...filters.flatMap(text)]);

const acknowledgements = { puback: 0x40, pubrec: 0x50, pubrel: 0x62, pubcomp: 0x70 } as const;
type Acknowledgement = keyof typeof acknowledgements;

export const acknowledgePacket = (kind: Acknowledgement, id: number, code?: number): number[] =>
  packet(acknowledgements[kind], [...short(id), ...(code === undefined ? [] : [code])]);

export const disconnectPacket = (code?: number, properties?: readonly Property[]): number[] =>
  packet(
    0xe0,
    code === undefined ? [] : [code, ...(properties === undefined ? [] : encodeProperties(5, properties))],
  );

export const pingPacket: readonly number[] = packet(0xc0, []);

interface Numbered {
  readonly id: number;
  readonly properties: readonly Property[];
}

/** What a broker sends. `code` and `codes` are return codes in 3.1.1, reason codes in 5. */
export type Received =
  | {
      readonly type: "connack";
      readonly sessionPresent: boolean;
      readonly code: number;
      readonly properties: readonly Property[];
    }
  | {
      readonly type: "publish";
      readonly topic: string;
      readonly payload: string;
      readonly qos: number;
      readonly retain: boolean;
      readonly dup: boolean;
      /** 0 for QoS 0. */
      readonly id: number;
      readonly properties: readonly Property[];
    }
  | (Numbered & { readonly type: Acknowledgement; readonly code: number })
  | (Numbered & { readonly type: "suback" | "unsuback"; readonly codes: readonly number[] })
  | { readonly type: "pingresp" }
  | { readonly type: "disconnect"; readonly code: number; readonly properties: readonly Property[] };

/** A packet of a broker; fails where its bits are not what the protocol says. */
export function decode(version: Version, first: number, body: Buffer): Received {
  const fields = new Fields(body);
  const received =
    first >> 4 === 3 ? decodePublish(version, first, fields) : decodeOther(version, first, fields);
  if (fields.left > 0) throw new Error(`${fields.left} bytes too many in a ${received.type}`);
  return received;
}

function decodePublish(version: Version, first: number, fields: Fields): Received {
  const qos = (first >> 1) & 3;
  const topic = fields.text();
  const id = qos > 0 ? fields.number(2) : 0;
  const properties = fields.properties(version);
  const payload = fields.take(fields.left).toString();
  const flags = { qos, retain: (first & 1) !== 0, dup: (first & 8) !== 0 };
  return { type: "publish", topic, payload, id, ...flags, properties };
}

function decodeOther(version: Version, first: number, fields: Fields): Received {
  const properties = () => fields.properties(version);
  const code = () => (fields.left > 0 ? fields.number(1) : 0);
  const acknowledged = (Object.keys(acknowledgements) as Acknowledgement[]).find(
    (type) => acknowledgements[type] === first,
  );
  if (acknowledged !== undefined) {
    const id = fields.number(2);
    return { type: acknowledged, id, code: version === 5 ? code() : 0, properties: properties() };
  }
  switch (first) {
    case 0x20: {
      const flags = fields.number(1);
      if (flags > 1) throw new Error(`reserved flags are set in a CONNACK: ${flags}`);
      return {
        type: "connack",
        sessionPresent: flags === 1,
        code: fields.number(1),
        properties: properties(),
      };
    }
    case 0x90:
    case 0xb0: {
      const type = first === 0x90 ? "suback" : "unsuback";
      const id = fields.number(2);
      return { type, id, properties: properties(), codes: [...fields.take(fields.left)] };
    }
    case 0xd0:
      return { type: "pingresp" };
    case 0xe0:
      return { type: "disconnect", code: code(), properties: properties() };
    default:
      throw new Error(`a broker sends no packet that begins with 0x${first.toString(16)}`);
  }
}
