import { createSocket, type Socket } from "node:dgram";
import { isIPv4 } from "node:net";
import { networkInterfaces } from "node:os";
import type { Clock } from "../runtime/clock.js";
import { receiving } from "../runtime/receiving.js";

/*
 * Multicast DNS (RFC 6762), as much as saying where the page is takes: questions are read, and records of four kinds written. Whoever is
 * in the network may send what he likes, so a packet costs next to nothing: of each only so much is looked at, and only so many.
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
  /** An address, a name, a text, or the port and the name of a host. */
  readonly data: string | { readonly target: string; readonly port: number };
}

export interface Question {
  readonly name: string;
  readonly type: RecordType | "ANY";
}

/** Those who ask for more ask twice. */
const mostQuestions = 16;
/** A name has at most 127 parts; pointers count as well, so that no chain of them is followed for long. */
const mostSteps = 128;

/** A name at this place, and where what follows it begins; null where it is none. */
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

/** What a packet asks that could be answered here; nothing where it is no query. */
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

/** An answer that says these records. */
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

/** Counts packets: false for one that is too large, or one too many of its second, with which nothing is read for a while. */
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
 * A socket for the group of multicast DNS alone: it hears nothing that is sent to an address of this computer. In a flood it is closed
 * for some seconds, so that the kernel throws away what comes.
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

  /** `onFailure`: something is amiss with the network; what works goes on. */
  constructor(
    clock: Clock,
    onQuestions: (questions: readonly Question[]) => void,
    onFailure: (error: unknown) => void,
  ) {
    this.#clock = clock;
    this.#onQuestions = onQuestions;
    this.#onFailure = onFailure;
  }

  /** Resolves once it hears; rejects where the port cannot be had. */
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

  /** At most once a second: everybody in the network has heard the one before. `isLast`: whatever was said. */
  say(records: readonly MdnsRecord[], isLast = false): void {
    const now = this.#clock.monotonic();
    if (records.length === 0 || this.#socket === null) return;
    if (!isLast && now - this.#answeredAt < answerEveryMs) return;
    this.#answeredAt = now;
    this.#socket.send(answerWith(records), port, group, () => undefined);
  }

  /** What was said is on its way once it resolves. */
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

  /** Networks come and go. */
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

  /** The first address of each; none where the question is forbidden, as a sandbox may do. */
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
