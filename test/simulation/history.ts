import { createHash } from "node:crypto";
import type { CommandResult } from "../../src/greenhouse/command/outcomes.js";
import type { RawValue } from "../../src/greenhouse/ports.js";
import type { Readings } from "../../src/simulator/readings.js";
import type { ActuatorSettings } from "../../src/greenhouse/settings.js";
import type { PlatformRequest } from "../../src/simulator/call.js";
import type { PostRecord } from "../../src/simulator/platform.js";
import type { Said } from "./messages.js";
import type { VirtualTime } from "../support/virtual-clock.js";

/** One delivery of one message to the bridge. All instants of the history are the world's ms. */
export interface Ask extends Said {
  readonly by: string;
  readonly at: number;
  readonly boot: number;
  readonly code: string;
  readonly actuator: string;
  readonly settings: ActuatorSettings | null;
  /** What its platform takes otherwise. */
  readonly readings: Readings;
  /** A rule of the limits sends it, and not somebody. */
  readonly rule: "guard" | "lease" | null;
  /** World time after which nothing of it may be POSTed. */
  readonly latestPostAt: number;
  readonly repeatOf: Ask | null;
  phases: { readonly phase: string; readonly at: number; readonly boot: number }[];
  writes: Write[];
  results: { readonly result: CommandResult; readonly at: number; readonly boot: number }[];
  /** Whose POST it waits for, when it took over the read-backs of an equal command. */
  donor: Ask | null;
  /** It took over the read-backs of a command that an earlier run of the program left open. */
  inherits: boolean;
  delivered: boolean;
}

/** One call of `platform.write`. */
export interface Write {
  readonly ask: Ask | null;
  readonly boot: number;
  readonly code: string;
  readonly address: string;
  readonly value: string;
  readonly begunAt: number;
  endedAt: number | null;
  /** `accepted`, or the error's kind. */
  outcome: string | null;
  sent: boolean;
  bodyCode: string | null;
  /** Requests that left for it. */
  wires: number;
  arrived: PostRecord | null;
}

/** One read of one address by a command, or of the connection (address ""). */
export interface Read {
  readonly boot: number;
  readonly code: string;
  readonly address: string;
  readonly fresh: boolean;
  readonly begunAt: number;
  readonly begunMono: number;
  endedAt: number | null;
  raw: RawValue | null;
  answered: boolean;
  isLie: boolean;
}

/** One that showed a value. */
export type ValidRead = Read & { readonly raw: RawValue };

/** When the bridge said that it is done with it. */
export const doneAt = ({ phases }: Ask): number | undefined =>
  phases.findLast(({ phase }) => phase === "done")?.at;

export class Violation extends Error {
  readonly invariant: string;

  constructor(invariant: string, message: string) {
    super(`${invariant}: ${message}`);
    this.invariant = invariant;
  }
}

const mostLines = 60;

/** Everything that happened, for the checks, for the hash and for a person who has to understand a failure. */
export class Journalist {
  readonly asks = new Map<string, Ask>();
  readonly lanes = new Map<string, Ask[]>();
  readonly writes: Write[] = [];
  readonly reads = new Map<string, Read[]>();
  readonly #polls = new Map<string, { readonly begunAt: number; readonly raw: RawValue }>();
  /** Answers with code 200 that held no value. */
  readonly valueless: { readonly at: number; readonly code: string }[] = [];
  readonly sometimes = new Map<string, number>();
  readonly #time: VirtualTime;
  readonly #hash = createHash("sha256");
  readonly #names = new Map<string, string>();
  #tail: string[] = [];
  lines = 0;
  onLine: (line: string) => void = () => undefined;
  onWire: (write: Write) => void = () => undefined;

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  /** A line of the history. Random ids are replaced by the order in which they came. */
  note(kind: string, facts: object): void {
    const text = JSON.stringify(facts).replace(
      /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g,
      (id) => {
        const known = this.#names.get(id) ?? `id${this.#names.size + 1}`;
        this.#names.set(id, known);
        return known;
      },
    );
    const line = `${(this.#time.now / 1000).toFixed(3)} ${kind} ${text}`;
    this.#hash.update(line);
    this.onLine(line);
    this.lines += 1;
    this.#tail.push(line);
    if (this.#tail.length > 4 * mostLines) this.#tail = this.#tail.slice(-mostLines);
  }

  /** A rare path was taken. */
  saw(name: string): void {
    this.sometimes.set(name, (this.sometimes.get(name) ?? 0) + 1);
  }

  get digest(): string {
    return this.#hash.copy().digest("hex");
  }

  lastLines(count: number): readonly string[] {
    return this.#tail.slice(-count);
  }

  asked(ask: Ask): void {
    this.asks.set(ask.by, ask);
    const lane = this.lane(ask.code, ask.actuator);
    lane.push(ask);
    const { by, code, actuator, payload, retained } = ask;
    this.note("ask", { by, to: `${code}/${actuator}`, payload, ...(retained ? { retained } : {}) });
  }

  lane(code: string, actuator: string): Ask[] {
    const key = `${code}/${actuator}`;
    const known = this.lanes.get(key);
    if (known) return known;
    const lane: Ask[] = [];
    this.lanes.set(key, lane);
    return lane;
  }

  write(write: Write): void {
    this.writes.push(write);
    write.ask?.writes.push(write);
    this.note("post", {
      by: write.ask?.by ?? null,
      to: `${write.code}/${write.address}`,
      value: write.value,
    });
  }

  wrote(write: Write): void {
    const { outcome, sent, bodyCode, ask } = write;
    this.note("posted", {
      by: ask?.by ?? null,
      outcome,
      sent,
      code: bodyCode,
      effect: write.arrived?.effect ?? null,
    });
  }

  /** A POST's bytes leave for the platform. */
  wire(body: string): Write | null {
    const { address, value, deviceCode } = JSON.parse(body) as {
      address: string;
      value: string;
      deviceCode: string;
    };
    const write = this.writes.findLast(
      (one) => one.address === address && one.value === value && one.code === deviceCode,
    );
    if (write === undefined || write.endedAt !== null)
      throw new Violation("S4", `a POST that nobody asked for leaves: ${body}`);
    write.wires += 1;
    if (write.wires > 1) throw new Violation("S1", `one write became ${write.wires} POSTs: ${body}`);
    this.onWire(write);
    return write;
  }

  arrived(write: Write | null, record: PostRecord | null): void {
    if (write === null) return;
    write.arrived = record;
    this.note("arrived", { by: write.ask?.by ?? null, value: write.value, late: write.endedAt !== null });
    if (write.endedAt !== null) this.saw("a POST arrives after its command gave up on it");
  }

  /** As the wire carried it, whatever the product makes of it. */
  answered({ path, query }: Pick<PlatformRequest, "path" | "query">, body: string): void {
    const { address, deviceCode } = query;
    if (path !== "/api/get-value" || address === undefined || deviceCode === undefined) return;
    const holdsOne = new RegExp(`"${address}":(?!null)`);
    if (!/^\{[^{]*"code":"?200\b/.test(body) || holdsOne.test(body)) return;
    this.valueless.push({ at: this.#time.now, code: deviceCode });
    if (this.valueless.length > 400) this.valueless.splice(0, 200);
  }

  read(read: Read): void {
    const key = `${read.code}/${read.address}`;
    const list = this.reads.get(key) ?? [];
    this.reads.set(key, list);
    list.push(read);
    if (list.length > 400) list.splice(0, 200);
  }

  /** Polling goes past the reads that are noted; of it the newest value is kept, as the mirror took it. */
  polled(code: string, address: string, begunAt: number, raw: RawValue): void {
    this.#polls.set(`${code}/${address}`, { begunAt, raw });
  }

  /** What the newest poll has shown, where it began after an instant. */
  polledSince(code: string, address: string, since: number): RawValue | null {
    const poll = this.#polls.get(`${code}/${address}`);
    return poll !== undefined && poll.begunAt > since ? poll.raw : null;
  }

  /** The newest reads of an address; of the connection with address "". */
  readsOf(code: string, address: string): readonly Read[] {
    return this.reads.get(`${code}/${address}`) ?? [];
  }

  /** Valid fresh reads, begun at or after an instant. */
  readsSince(code: string, address: string, since: number): readonly ValidRead[] {
    const list = this.readsOf(code, address);
    const from = list.findLastIndex(({ begunAt }) => begunAt < since) + 1;
    return list
      .slice(from)
      .filter((read): read is ValidRead => read.fresh && read.answered && read.raw !== null);
  }
}
