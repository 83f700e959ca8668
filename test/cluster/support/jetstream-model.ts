import { JetStreamApiError } from "@nats-io/jetstream";
import type { AccountStream, Bucket, BucketEntry, StreamEntry } from "../../../src/cluster/ports.js";
import type { Chance } from "../../simulation/scenario.js";
import type { VirtualTime } from "../../support/virtual-clock.js";
import type { Process } from "./process.js";

/*
 * A model of JetStream's promises: acknowledged entries are kept, in one order; compare-and-set is decided on arrival;
 * keys vanish when they are not written for their lifetime, by a clock of its own that may be wrong. A request or its
 * answer may be late or lost, so that the client does not know its fate. Three servers hold it together. One that lost
 * its peers leaves the links of its clients open, stores nothing more, and if it led may still answer with its old
 * state for a while.
 */

interface Kept {
  readonly revision: number;
  readonly value: string | null;
  readonly at: number;
}

interface Watcher {
  readonly process: Process;
  readonly tell: (key: string, entry: BucketEntry) => void;
  isBehind: boolean;
}

type Far = "bucket" | "stream" | "watch";

/** The content of the servers. */
interface Content {
  readonly keys: ReadonlyMap<string, Kept>;
  readonly entries: readonly (StreamEntry | null)[];
}

interface Isolation {
  readonly server: number;
  /** What it still answers with if it led, and until when. */
  readonly told: Content | null;
  readonly toldUntil: number;
}

const servers = 3;
/** How long an isolated former leader still answers. */
const tellsOnMs = 10_000;
/** JetStream's error without a leader. */
const unavailable = () => new JetStreamApiError({ code: 503, err_code: 10_008, description: "unavailable" });

const timeoutMs = 3_000;

export class JetStreamModel {
  readonly #time: VirtualTime;
  readonly #chance: Chance;
  readonly #ttlMs: number;
  #keys = new Map<string, Kept>();
  readonly #watchers: Watcher[] = [];
  /** In the order of their numbers, which are their positions plus one. */
  #entries: (StreamEntry | null)[] = [];
  /**
   * By process: when its latest request arrives. A connection keeps its order to one server only: bucket and stream are
   * led by two servers, and a third one delivers what is watched.
   */
  readonly #arrivals = {
    bucket: new Map<Process, number>(),
    stream: new Map<Process, number>(),
    watch: new Map<Process, number>(),
  };
  /** The server that the link of a process leads to, and how often it has changed. */
  readonly #links = new Map<Process, { readonly server: number; readonly made: number }>();
  #isolation: Isolation | null = null;
  /** The number of requests to the servers. */
  asked = 0;
  #revision = 0;
  /** When the stream was created. */
  #created = "once";
  /** How much longer keys live by the servers' clock. */
  #keptLongerMs = 0;
  /** Without a majority of the servers. */
  isDown = false;
  /** No delays and no losses. */
  isCalm = false;
  readonly isCut: (process: Process) => boolean;
  /** Called when a process is about to fence: the worst moment for others to wake up. */
  onState: (process: Process) => void = () => undefined;
  /** Called when an entry of a process is on its way to the stream: the worst moment to stop it. */
  onAppend: (process: Process) => void = () => undefined;
  /** Called when the stream has accepted an entry of a process. */
  onKept: (process: Process, data: Uint8Array) => void = () => undefined;
  /** Called when a process has marked a key as released. */
  onMark: (process: Process, key: string) => void = () => undefined;

  constructor(
    time: VirtualTime,
    chance: Chance,
    { ttlMs, isCut }: { readonly ttlMs: number; readonly isCut: (process: Process) => boolean },
  ) {
    this.#time = time;
    this.#chance = chance;
    this.#ttlMs = ttlMs;
    this.isCut = isCut;
  }

  get entries(): readonly (StreamEntry & { readonly number: number })[] {
    return this.#entries.flatMap((entry, at) => (entry === null ? [] : { ...entry, number: at + 1 }));
  }

  /** Sets the servers' clock forward, so that every lease ends too early. */
  forgetKeys(): void {
    this.#keys.clear();
  }

  has(key: string): boolean {
    return this.#key(key) !== null;
  }

  /** Sets the servers' clock back, so that no lease ends for that time. */
  keepKeys(ms: number): void {
    this.#keptLongerMs = ms;
    this.#time.in(ms + this.#ttlMs, () => {
      this.#keptLongerMs = 0;
    });
  }

  /** Loses the newest entries although they were acknowledged. */
  lose(count: number): void {
    this.#entries.splice(-count);
  }

  /** Replaces the stream by a new one after a loss. */
  makeAnew(): void {
    this.#entries.splice(0);
    this.#created = `${this.#created} more`;
  }

  /** A server loses its peers. If it led, the others need some seconds to find another leader. */
  isolate(server: number): void {
    const isLeader = this.#chance.hits(1 / servers);
    const told = isLeader ? { keys: new Map(this.#keys), entries: [...this.#entries] } : null;
    this.#isolation = { server, told, toldUntil: this.#time.now + tellsOnMs };
    if (!isLeader || this.isDown) return;
    this.isDown = true;
    this.#time.in(this.#chance.between(2_000, 9_000), () => {
      this.isDown = false;
      for (const process of this.#links.keys()) this.healed(process);
    });
  }

  /** Joins the servers to one cluster again. */
  join(): void {
    this.#isolation = null;
    for (const process of this.#links.keys()) this.healed(process);
  }

  /** Connects these processes to one server, which then loses its peers. */
  isolateWith(processes: readonly Process[]): void {
    for (const process of processes) this.#links.set(process, { ...this.#linkOf(process), server: 0 });
    this.isolate(0);
  }

  #linkOf(process: Process) {
    const link = this.#links.get(process) ?? { server: this.#chance.whole(0, servers - 1), made: 0 };
    this.#links.set(process, link);
    return link;
  }

  /** Connects a process to another server; what was in progress on its link is lost. */
  reconnect(process: Process): void {
    const { server, made } = this.#linkOf(process);
    this.#links.set(process, {
      server: (server + this.#chance.whole(1, servers - 1)) % servers,
      made: made + 1,
    });
    this.#time.in(this.#chance.between(5, 500), () => this.healed(process));
  }

  #isApart(process: Process): boolean {
    return this.#linkOf(process).server === this.#isolation?.server;
  }

  /** Delays what the stream's leader receives next from a process. */
  holdUp(process: Process, ms: number): void {
    this.#arrivals.stream.set(process, this.#time.now + ms);
  }

  /** Ends the watches of a process without telling it, as when their server is gone. */
  deafen(process: Process): void {
    const left = this.#watchers.filter((one) => one.process !== process);
    this.#watchers.splice(0, Infinity, ...left);
  }

  bucketOf(process: Process): Bucket {
    const ask = <T>(answer: () => T, isRead = false) => this.#ask(process, "bucket", { answer, isRead });
    return {
      claim: (key, value, over) =>
        ask(() => {
          const kept = this.#key(key);
          const isFree = over === 0 ? kept === null : kept?.revision === over;
          return isFree ? this.#put(key, value) : null;
        }),
      renew: (key, value, revision) =>
        ask(() => (this.#key(key)?.revision === revision ? this.#put(key, value) : null)),
      release: (key, revision) =>
        ask(() => {
          if (this.#key(key)?.revision !== revision) return;
          this.#put(key, null);
          this.onMark(process, key);
        }),
      get: (key) => ask(() => this.#key(key), true),
      put: (key, value) => ask(() => this.#put(key, value)),
      watch: async (listener) => {
        const watcher: Watcher = { process, tell: listener, isBehind: false };
        const found = await ask(() => {
          this.#watchers.push(watcher);
          return [...this.#keys.keys()].map((key) => [key, this.#key(key)] as const);
        });
        for (const [key, kept] of found) if (kept !== null) listener(key, kept);
      },
    };
  }

  streamOf(process: Process): AccountStream {
    const ask = <T>(answer: () => T, isRead = false) => this.#ask(process, "stream", { answer, isRead });
    return {
      append: (entry, after) => {
        const asked = ask(() => {
          if (this.#entries.length !== after) return null;
          this.onKept(process, entry.data);
          return this.#entries.push({ ...entry, data: Uint8Array.from(entry.data) });
        });
        this.onAppend(process);
        return asked;
      },
      state: () =>
        ask(() => {
          this.onState(process);
          return { created: this.#created, last: this.#entries.length, count: this.entries.length };
        }, true),
      newest: (subject) =>
        ask(() => this.entries.findLast((entry) => entry.subject === subject) ?? null, true),
      read: (from, through) => this.#read(process, from, through),
      purge: (subject, before) =>
        ask(() => {
          for (const [at, entry] of this.#entries.entries())
            if (entry?.subject === subject && at + 1 < before) this.#entries[at] = null;
        }),
    };
  }

  async *#read(process: Process, from: number, through: number) {
    const found = await this.#ask(process, "stream", {
      answer: () => this.entries.filter(({ number }) => number >= from && number <= through),
      isRead: true,
    });
    yield* found;
  }

  /** The link works again: missed changes are delivered. */
  healed(process: Process): void {
    if (this.isCut(process) || this.isDown || this.#isApart(process)) return;
    for (const watcher of this.#watchers)
      if (watcher.process === process && watcher.isBehind) {
        watcher.isBehind = false;
        for (const key of this.#keys.keys()) this.#tell(watcher, key);
      }
  }

  #key(key: string): Kept | null {
    const kept = this.#keys.get(key);
    if (kept === undefined) return null;
    if (this.#time.now - kept.at <= this.#ttlMs + this.#keptLongerMs) return kept;
    this.#keys.delete(key);
    return null;
  }

  #put(key: string, value: string | null): number {
    this.#revision += 1;
    this.#keys.set(key, { revision: this.#revision, value, at: this.#time.now });
    for (const watcher of this.#watchers) this.#tell(watcher, key);
    return this.#revision;
  }

  #tell(watcher: Watcher, key: string): void {
    const { process } = watcher;
    const kept = this.#keys.get(key);
    if (kept === undefined) return;
    this.#in(process, "watch", () => {
      if (this.isCut(process) || this.isDown || this.#isApart(process)) watcher.isBehind = true;
      else process.goOn(() => watcher.tell(key, { revision: kept.revision, value: kept.value }));
    });
  }

  /** Mostly some ms, and occasionally longer than anybody waits for an answer. */
  #in(process: Process, far: Far, call: () => void): void {
    const delay =
      !this.isCalm && this.#chance.hits(0.01)
        ? this.#chance.between(500, 8_000)
        : this.#chance.logUniform(0.5, 60);
    const arrivals = this.#arrivals[far];
    const at = Math.max(arrivals.get(process) ?? 0, this.#time.now + delay);
    arrivals.set(process, at);
    this.#time.in(at - this.#time.now, call);
  }

  #ask<T>(process: Process, far: Far, { answer, isRead }: Question<T>): Promise<T> {
    this.asked += 1;
    return new Promise((resolve, reject) => {
      process.clock.after(timeoutMs, () => reject(new Error("timeout")));
      if (!process.isAlive || this.isCut(process)) return;
      const { made } = this.#linkOf(process);
      const isLost = () => this.isCut(process) || this.#linkOf(process).made !== made;
      this.#in(process, far, () => {
        if (isLost()) return;
        const isApart = this.#isApart(process);
        if (this.isDown && !isApart) return;
        const told = isApart ? this.#toldApart(answer, isRead) : { value: answer() };
        if (told === null) return;
        const delay = this.#chance.logUniform(0.5, 60);
        this.#time.in(delay, () => {
          if (isLost() || (this.isDown && !isApart) || (!this.isCalm && this.#chance.hits(0.002))) return;
          process.goOn(() => ("value" in told ? resolve(told.value) : reject(told.error)));
        });
      });
    });
  }

  /** The answer of a server that lost its peers: its old state, an error, or none. */
  #toldApart<T>(answer: () => T, isRead: boolean): { value: T } | { error: Error } | null {
    const { told, toldUntil } = this.#isolation ?? { told: null, toldUntil: 0 };
    if (!isRead || told === null || this.#time.now > toldUntil)
      return this.#chance.hits(0.3) ? { error: unavailable() } : null;
    const now = { keys: this.#keys, entries: this.#entries };
    this.#keys = new Map(told.keys);
    this.#entries = [...told.entries];
    try {
      return { value: answer() };
    } finally {
      this.#keys = now.keys;
      this.#entries = now.entries;
    }
  }
}

interface Question<T> {
  readonly answer: () => T;
  /** Whether it changes nothing. */
  readonly isRead: boolean;
}
