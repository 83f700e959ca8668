import { packet, variableLength } from "../fuzz/packets.js";

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
}

export function connectPacket(version: Version, connect: Connect): number[] {
  const { will, username = null, password = null, clean = true } = connect;
  const flags =
    (clean ? 2 : 0) +
    (will ? 4 + 8 * (will.qos ?? 0) + (will.retain ? 32 : 0) : 0) +
    (password === null ? 0 : 64) +
    (username === null ? 0 : 128);
  return packet(0x10, [
    ...text("MQTT"),
    version,
    flags,
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

/* The properties of MQTT 5 as a list, so that their order and what comes twice can be seen and sent. */

export type Version = 4 | 5;
export type Property = readonly [name: string, value: number | string | Buffer | readonly [string, string]];

type Kind = "byte" | "short" | "long" | "variable" | "text" | "binary" | "pair";

const table: readonly (readonly [number, string, Kind])[] = [
  [0x01, "payload format", "byte"],
  [0x02, "message expiry", "long"],
  [0x03, "content type", "text"],
  [0x08, "response topic", "text"],
  [0x09, "correlation data", "binary"],
  [0x0b, "subscription identifier", "variable"],
  [0x11, "session expiry", "long"],
  [0x12, "assigned client id", "text"],
  [0x13, "server keep alive", "short"],
  [0x15, "authentication method", "text"],
  [0x16, "authentication data", "binary"],
  [0x17, "request problem information", "byte"],
  [0x18, "will delay", "long"],
  [0x19, "request response information", "byte"],
  [0x1a, "response information", "text"],
  [0x1c, "server reference", "text"],
  [0x1f, "reason", "text"],
  [0x21, "receive maximum", "short"],
  [0x22, "topic alias maximum", "short"],
  [0x23, "topic alias", "short"],
  [0x24, "maximum qos", "byte"],
  [0x25, "retain available", "byte"],
  [0x26, "user property", "pair"],
  [0x27, "maximum packet size", "long"],
  [0x28, "wildcards available", "byte"],
  [0x29, "subscription identifiers available", "byte"],
  [0x2a, "shared subscriptions available", "byte"],
];

export const short = (value: number): number[] => [(value >> 8) & 255, value & 255];
const long = (value: number) => [...short(value >>> 16), ...short(value)];

/** A string or binary field: its length and its bytes. */
export const text = (value: string | readonly number[] | Buffer): number[] => {
  const bytes = typeof value === "string" ? Buffer.from(value) : value;
  return [...short(bytes.length), ...bytes];
};

function encoded([name, value]: Property): number[] {
  const [id, , kind] = table.find(([, known]) => known === name) ?? [0, "", "byte"];
  if (id === 0) throw new Error(`no property is called ${name}`);
  if (typeof value === "number") return [id, ...encodedNumber(kind, value)];
  const fields = typeof value === "string" || Buffer.isBuffer(value) ? [value] : value;
  return [id, ...fields.flatMap((field) => text(field))];
}

function encodedNumber(kind: Kind, value: number): number[] {
  if (kind === "variable") return variableLength(value);
  if (kind === "long") return long(value);
  return kind === "short" ? short(value) : [value];
}

/** With their length before them; nothing at all in 3.1.1. */
export function encodeProperties(version: Version, properties: readonly Property[] = []): number[] {
  if (version === 4) return [];
  const bytes = properties.flatMap(encoded);
  return [...variableLength(bytes.length), ...bytes];
}

/** Takes fields from the front of a packet's body, and fails where a field is not whole. */
export class Fields {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  take(count: number): Buffer {
    if (count > this.left) throw new Error("the packet ends within a field");
    this.#at += count;
    return this.#bytes.subarray(this.#at - count, this.#at);
  }

  number(bytes: 1 | 2 | 4): number {
    return this.take(bytes).readUIntBE(0, bytes);
  }

  variable(): number {
    for (let [value, factor] = [0, 1]; ; factor *= 128) {
      const byte = this.number(1);
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  }

  binary(): Buffer {
    return Buffer.from(this.take(this.number(2)));
  }

  text(): string {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(this.binary());
  }

  /** None in 3.1.1, nor at the end of those packets that may leave them out. */
  properties(version: Version): Property[] {
    if (version === 4 || this.left === 0) return [];
    const fields = new Fields(this.take(this.variable()));
    const found: Property[] = [];
    while (fields.left > 0) {
      const id = fields.number(1);
      const row = table.find(([known]) => known === id);
      if (row === undefined) throw new Error(`no property has the number ${id}`);
      found.push([row[1], fields.#value(row[2])]);
    }
    return found;
  }

  #value(kind: Kind): Property[1] {
    switch (kind) {
      case "byte":
        return this.number(1);
      case "short":
        return this.number(2);
      case "long":
        return this.number(4);
      case "variable":
        return this.variable();
      case "text":
        return this.text();
      case "binary":
        return this.binary();
      case "pair":
        return [this.text(), this.text()];
    }
  }
}

/** How long head and body of the first packet are; null while it is not whole. */
export function frameOf(bytes: Buffer): { readonly head: number; readonly length: number } | null {
  let [length, factor] = [0, 1];
  for (let at = 1; at < bytes.length; at += 1, factor *= 128) {
    const byte = bytes[at] ?? 0;
    length += (byte & 127) * factor;
    if (byte < 128) return bytes.length < at + 1 + length ? null : { head: at + 1, length };
  }
  return null;
}
