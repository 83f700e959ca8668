import { createSocket, type Socket } from "node:dgram";
import { isIPv4 } from "node:net";
import { networkInterfaces } from "node:os";
import type { Clock } from "../runtime/clock.js";
import { receiving } from "../runtime/socket-limits.js";

/*
 * As much of multicast DNS (RFC 6762) as an announcement needs: reading questions, and writing four kinds of records.
 * Anybody in the network can send packets, so their size, depth and number are limited.
 */

const group = "224.0.0.251";
const port = 5353;
const headBytes = 12;
const response = 0x8400;
const isResponse = 0x8000;
const codes = { A: 1, PTR: 12, TXT: 16, SRV: 33 } as const;
const anyType = 255;
const internet = 1;

type RecordType = keyof typeof codes;

export interface MdnsRecord {
  readonly name: string;
  readonly type: RecordType;
  readonly ttl: number;
  /** By type: an address, a name, a text, or the port and the name of a host. */
  readonly data: string | { readonly target: string; readonly port: number };
}

export interface Question {
  readonly name: string;
  readonly type: RecordType | "ANY";
}

/** Most questions read from one packet; a client that asks for more asks again. */
const mostQuestions = 16;
/** A name has at most 127 labels. Pointers count too, so that no chain of them is followed for long. */
const mostSteps = 128;

/** The name at a position, and where the next field begins; null where there is no valid name. */
function nameAt(packet: Buffer, start: number): { readonly name: string; readonly end: number } | null {
  const parts: string[] = [];
  let at = start;
  let end: number | null = null;
  for (let steps = 0; steps < mostSteps; steps += 1) {
    const length = packet[at];
    if (length === undefined) return null;
    if (length === 0) return { name: parts.join("."), end: end ?? at + 1 };
    if (length < 0x40) {
      if (at + 1 + length > packet.length) return null;
      parts.push(packet.toString("utf8", at + 1, at + 1 + length));
      at += 1 + length;
      continue;
    }
    const low = packet[at + 1];
    if (length < 0xc0 || low === undefined) return null;
    end ??= at + 2;
    at = (length & 0x3f) * 256 + low;
  }
  return null;
}

const typeOf = (code: number): Question["type"] | null => {
  if (code === anyType) return "ANY";
  const [known] = Object.entries(codes).find(([, one]) => one === code) ?? [];
  return (known as RecordType | undefined) ?? null;
};

/** The questions of a packet that could be answered here; none where it is no query. */
function questionsIn(packet: Buffer): readonly Question[] {
  if (packet.length < headBytes || (packet.readUInt16BE(2) & isResponse) !== 0) return [];
  const found: Question[] = [];
  let at = headBytes;
  for (let left = Math.min(mostQuestions, packet.readUInt16BE(4)); left > 0; left -= 1) {
    const named = nameAt(packet, at);
    if (named === null || named.end + 4 > packet.length) break;
    const type = typeOf(packet.readUInt16BE(named.end));
    if (type !== null) found.push({ name: named.name, type });
    at = named.end + 4;
  }
  return found;
}

const part = (text: string): Buffer => {
  const bytes = Buffer.from(text).subarray(0, 63);
  return Buffer.concat([Buffer.from([bytes.length]), bytes]);
};
const nameBytes = (name: string): Buffer => Buffer.concat([...name.split(".").map(part), Buffer.from([0])]);

const numbers = (...values: readonly number[]): Buffer => {
  const bytes = Buffer.alloc(values.length * 2);
  for (const [at, value] of values.entries()) bytes.writeUInt16BE(value, at * 2);
  return bytes;
};

function dataOf({ type, data }: MdnsRecord): Buffer {
  if (typeof data !== "string") return Buffer.concat([numbers(0, 0, data.port), nameBytes(data.target)]);
  if (type === "A") return Buffer.from(data.split(".").map(Number));
  return type === "TXT" ? part(data) : nameBytes(data);
}

/** A response with these records. */
function answerWith(records: readonly MdnsRecord[]): Buffer {
  const each = records.map((record) => {
    const data = dataOf(record);
    const lasts = numbers(record.ttl >>> 16, record.ttl & 0xffff);
    return Buffer.concat([
      nameBytes(record.name),
      numbers(codes[record.type], internet),
      lasts,
      numbers(data.length),
      data,
    ]);
  });
  return Buffer.concat([numbers(0, response, 0, records.length, 0, 0), ...each]);
}

/** Judges packets: `drop` for one that is too large; `rest`, a pause of reading, for one too many in its second. */
class PacketPace {
  #second = -Infinity;
  #count = 0;

  isFine(bytes: number, now: number): "read" | "drop" | "rest" {
    const { mostBytes, perSecond } = receiving.mdns;
    if (now - this.#second >= 1_000) {
      this.#second = now;
      this.#count = 0;
    }
    this.#count += 1;
    if (this.#count > perSecond) return "rest";
    return bytes > mostBytes ? "drop" : "read";
  }
}

const joinEveryMs = 5_000;
const answerEveryMs = 1_000;

/**
 * A socket bound to the multicast group, so it hears nothing sent to this computer's own addresses. In a flood it is
 * closed for some seconds, and the kernel drops what comes.
 */
export class MdnsSocket {
  readonly #clock: Clock;
  readonly #onQuestions: (questions: readonly Question[]) => void;
  readonly #onFailure: (error: unknown) => void;
  readonly #pace = new PacketPace();
  readonly #joined = new Set<string>();
  #socket: Socket | null = null;
  #isClosed = false;
  #takeBack: () => void = () => undefined;
  #answeredAt = -Infinity;

  /** `onFailure` gets the network's errors; whatever still works goes on. */
  constructor(
    clock: Clock,
    onQuestions: (questions: readonly Question[]) => void,
    onFailure: (error: unknown) => void,
  ) {
    this.#clock = clock;
    this.#onQuestions = onQuestions;
    this.#onFailure = onFailure;
  }

  /** Resolves once the socket listens; rejects where the port cannot be had. */
  open(): Promise<void> {
    const socket = createSocket({ type: "udp4", reuseAddr: true });
    this.#socket = socket;
    this.#joined.clear();
    return new Promise((resolve, reject) => {
      socket.once("error", reject);
      socket.bind({ port, address: group }, () => {
        socket.off("error", reject).on("error", this.#onFailure);
        socket.setMulticastTTL(255);
        this.#join(socket);
        resolve();
      });
      socket.on("message", (packet) => {
        const verdict = this.#pace.isFine(packet.length, this.#clock.monotonic());
        if (verdict === "rest") this.#restFrom(socket);
        if (verdict === "read") this.#onQuestions(questionsIn(packet));
      });
    });
  }

  /**
   * Sends records, at most once a second, since everybody in the network has heard the last ones. `isLast` sends in any
   * case.
   */
  say(records: readonly MdnsRecord[], isLast = false): void {
    const now = this.#clock.monotonic();
    if (records.length === 0 || this.#socket === null) return;
    if (!isLast && now - this.#answeredAt < answerEveryMs) return;
    this.#answeredAt = now;
    this.#socket.send(answerWith(records), port, group, () => undefined);
  }

  /** Closes the socket; resolves once the last records are on their way. */
  close(): Promise<void> {
    this.#isClosed = true;
    this.#takeBack();
    const socket = this.#socket;
    this.#socket = null;
    return new Promise((resolve) => {
      if (socket === null) resolve();
      else socket.close(() => resolve());
    });
  }

  #restFrom(socket: Socket): void {
    if (this.#socket !== socket) return;
    this.#socket = null;
    this.#takeBack();
    socket.removeAllListeners("message").close();
    this.#takeBack = this.#clock.after(receiving.mdns.restMs, () => {
      if (!this.#isClosed) this.open().catch(this.#onFailure);
    });
  }

  /** Joins again from time to time, since networks come and go. */
  #join(socket: Socket): void {
    if (this.#socket !== socket) return;
    for (const address of this.#interfaces())
      if (!this.#joined.has(address))
        try {
          socket.addMembership(group, address);
          this.#joined.add(address);
        } catch (error) {
          this.#onFailure(error);
        }
    this.#takeBack = this.#clock.after(joinEveryMs, () => this.#join(socket));
  }

  /** The first IPv4 address of each interface; none where a sandbox forbids the question. */
  #interfaces(): readonly string[] {
    try {
      return Object.values(networkInterfaces()).flatMap(
        (all = []) => all.find(({ address }) => isIPv4(address))?.address ?? [],
      );
    } catch (error) {
      this.#onFailure(error);
      return [];
    }
  }
}
