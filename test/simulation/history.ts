import { createHash } from "node:crypto";
import type { RawValue } from "../../src/greenhouse/ports.js";
import type { PlatformRequest } from "../../src/simulator/call.js";
import type { PostRecord } from "../../src/simulator/platform.js";
import {
  type Ask,
  type Boot,
  laneOf,
  type Post,
  type Raw,
  type Read as JudgedRead,
} from "../judge/history.js";
import type { VirtualTime } from "../support/virtual-clock.js";

/** A read with the instant of its run's own clock, by which the mirror distinguishes reads. */
export interface Read extends JudgedRead {
  readonly begunMono: number;
}

/** A read that showed a value. */
export type ValidRead = Read & { readonly raw: Raw };

export class Violation extends Error {
  readonly invariant: string;

  constructor(invariant: string, message: string) {
    super(`${invariant}: ${message}`);
    this.invariant = invariant;
  }
}

const mostLines = 60;

/** Everything that happened, for the checks, for the hash, and for a person who examines a failure. */
export class Journalist {
  readonly asks = new Map<string, Ask>();
  readonly lanes = new Map<string, Ask[]>();
  readonly posts: Post[] = [];
  readonly #lanePosts = new Map<string, Post[]>();
  /** When each run of the program began, and was told to stop. */
  readonly startedAt = new Map<Boot, number>();
  readonly stoppedAt = new Map<Boot, number>();
  /** Runs that a power cut ended. */
  readonly endedWithMachine = new Set<Boot>();
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
  onWire: (post: Post) => void = () => undefined;

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  /** Adds a line to the history. Random ids are replaced by the order of their appearance. */
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

  /** Counts a rare path that was taken. */
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

  /** POSTs to one actuator, oldest first. */
  postsTo(code: string, actuator: string): readonly Post[] {
    return this.#lanePosts.get(`${code}/${actuator}`) ?? [];
  }

  posting(post: Post): void {
    const { ask, code, address, value } = post;
    this.posts.push(post);
    if (ask !== null) {
      ask.posts.push(post);
      const list = this.#lanePosts.get(laneOf(ask)) ?? [];
      this.#lanePosts.set(laneOf(ask), list);
      list.push(post);
    }
    this.note("post", { by: ask?.by ?? null, to: `${code}/${address}`, value });
  }

  posted(post: Post): void {
    const { outcome, sent, bodyCode, ask } = post;
    this.note("posted", {
      by: ask?.by ?? null,
      outcome,
      sent,
      code: bodyCode,
      effect: post.arrived?.effect ?? null,
    });
  }

  /** A POST's bytes leave for the platform. */
  wire(body: string): Post | null {
    const { address, value, deviceCode } = JSON.parse(body) as {
      address: string;
      value: string;
      deviceCode: string;
    };
    const post = this.posts.findLast(
      (one) => one.address === address && one.value === value && one.code === deviceCode,
    );
    if (post === undefined || post.endedAt !== null)
      throw new Violation("S4", `a POST that nobody asked for leaves: ${body}`);
    post.wires += 1;
    if (post.wires > 1) throw new Violation("S1", `one write became ${post.wires} POSTs: ${body}`);
    this.onWire(post);
    return post;
  }

  arrived(post: Post | null, record: PostRecord | null): void {
    if (post === null) return;
    post.arrived = record;
    this.note("arrived", { by: post.ask?.by ?? null, value: post.value, late: post.endedAt !== null });
    if (post.endedAt !== null) this.saw("a POST arrives after its command gave up on it");
  }

  /** Notes an answer as the wire carried it, whatever the product makes of it. */
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

  /** Notes the newest value of polling, which bypasses the noted reads, as the mirror took it. */
  polled(code: string, address: string, begunAt: number, raw: RawValue): void {
    this.#polls.set(`${code}/${address}`, { begunAt, raw });
  }

  /** The value of the newest poll, if it began after this instant. */
  polledSince(code: string, address: string, since: number): RawValue | null {
    const poll = this.#polls.get(`${code}/${address}`);
    return poll !== undefined && poll.begunAt > since ? poll.raw : null;
  }

  /** The newest reads of an address, or of the connection with address "". */
  readsOf(code: string, address: string): readonly Read[] {
    return this.reads.get(`${code}/${address}`) ?? [];
  }

  /** Valid fresh reads, begun at or after an instant. */
  readsSince(code: string, address: string, since: number): readonly ValidRead[] {
    const list = this.readsOf(code, address);
    const from = list.findLastIndex(({ begunAt }) => begunAt < since) + 1;
    return list
      .slice(from)
      .filter(
        (read): read is ValidRead =>
          read.fresh && read.answered && read.raw !== null && read.raw !== undefined,
      );
  }
}
