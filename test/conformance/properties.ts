import { variableLength } from "../fuzz/packets.js";

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
