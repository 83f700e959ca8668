import type { AccountStream, Bucket, BucketEntry, StreamEntry } from "../../../src/cluster/ports.js";
import type { Chance } from "../../simulation/scenario.js";
import type { VirtualTime } from "../../support/virtual-clock.js";
import type { Process } from "./process.js";

/*
 * JetStream by its promises: what it acknowledges is kept, in one order; what is compared and set is compared when it arrives; keys
 * vanish when they were not written for their time, by a clock of its own that may be wrong. A request or its answer may be late or
 * lost, so that who asked does not know.
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

const timeoutMs = 3_000;

export class JetStreamModel {
  readonly #time: VirtualTime;
  readonly #chance: Chance;
  readonly #ttlMs: number;
  readonly #keys = new Map<string, Kept>();
  readonly #watchers: Watcher[] = [];
  /** In the order of their numbers, which are one more than their places. */
  readonly #entries: (StreamEntry | null)[] = [];
  /**
   * By process: when what was sent last arrives. A connection keeps its order as far as one server: the bucket and the stream are led
   * by two of them, and what is watched comes from a third.
   */
  readonly #arrivals = {
    bucket: new Map<Process, number>(),
    stream: new Map<Process, number>(),
    watch: new Map<Process, number>(),
  };
  #revision = 0;
  /** Of the stream. */
  #created = "once";
  /** Keys live so much longer by the servers' clock. */
  #keptLongerMs = 0;
  /** No majority of the servers. */
  isDown = false;
  /** Nothing takes long, and nothing is lost. */
  isCalm = false;
  readonly isCut: (process: Process) => boolean;
  /** A process is about to fence: the worst moment for others to wake up. */
  onState: (process: Process) => void = () => undefined;
  /** Something of a process is on its way to the stream: the worst moment to stop it. */
  onAppend: (process: Process) => void = () => undefined;

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

  /** The servers' clock is set forward: every lease ends too early. */
  forgetKeys(): void {
    this.#keys.clear();
  }

  has(key: string): boolean {
    return this.#key(key) !== null;
  }

  /** The servers' clock is set back: for so long no lease ends. */
  keepKeys(ms: number): void {
    this.#keptLongerMs = ms;
    this.#time.in(ms + this.#ttlMs, () => {
      this.#keptLongerMs = 0;
    });
  }

  /** The newest entries are gone, although they had been acknowledged. */
  lose(count: number): void {
    this.#entries.splice(-count);
  }

  /** The stream was lost, and somebody made it anew. */
  makeAnew(): void {
    this.#entries.splice(0);
    this.#created = `${this.#created} more`;
  }

  /** The server that its watch hangs on is gone: nothing is told there any more. */
  deafen(process: Process): void {
    const left = this.#watchers.filter((one) => one.process !== process);
    this.#watchers.splice(0, Infinity, ...left);
  }

  bucketOf(process: Process): Bucket {
    const ask = <T>(answer: () => T) => this.#ask(process, "bucket", answer);
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
          if (this.#key(key)?.revision === revision) this.#put(key, null);
        }),
      get: (key) => ask(() => this.#key(key)),
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
    const ask = <T>(answer: () => T) => this.#ask(process, "stream", answer);
    return {
      append: (entry, after) => {
        const asked = ask(() => {
          if (this.#entries.length !== after) return null;
          return this.#entries.push({ ...entry, data: Uint8Array.from(entry.data) });
        });
        this.onAppend(process);
        return asked;
      },
      state: () =>
        ask(() => {
          this.onState(process);
          return { created: this.#created, last: this.#entries.length, count: this.entries.length };
        }),
      newest: (subject) => ask(() => this.entries.findLast((entry) => entry.subject === subject) ?? null),
      read: (from, through) => this.#read(process, from, through),
      purge: (subject, before) =>
        ask(() => {
          for (const [at, entry] of this.#entries.entries())
            if (entry?.subject === subject && at + 1 < before) this.#entries[at] = null;
        }),
    };
  }

  async *#read(process: Process, from: number, through: number) {
    const found = await this.#ask(process, "stream", () =>
      this.entries.filter(({ number }) => number >= from && number <= through),
    );
    yield* found;
  }

  /** The link stands again: what was missed is told. */
  healed(process: Process): void {
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
      if (this.isCut(process) || this.isDown) watcher.isBehind = true;
      else process.goOn(() => watcher.tell(key, { revision: kept.revision, value: kept.value }));
    });
  }

  /** Mostly some ms, and now and then longer than anybody waits for an answer. */
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

  #ask<T>(process: Process, far: Far, answer: () => T): Promise<T> {
    return new Promise((resolve, reject) => {
      process.clock.after(timeoutMs, () => reject(new Error("timeout")));
      if (!process.isAlive || this.isCut(process)) return;
      this.#in(process, far, () => {
        if (this.isDown || this.isCut(process)) return;
        const value = answer();
        const delay = this.#chance.logUniform(0.5, 60);
        this.#time.in(delay, () => {
          if (!this.isCut(process) && !this.isDown && (this.isCalm || !this.#chance.hits(0.002)))
            process.goOn(() => resolve(value));
        });
      });
    });
  }
}
