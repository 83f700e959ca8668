import type { PlatformHost } from "../greenhouse/platform-error.js";
import { jobHost, jobName, jobRank, type PollJob } from "./poll-jobs.js";
import { Schedule } from "./schedule.js";

/** A host that is away is tried this often; the circuit decides which tries become requests. */
const probeMs = 5_000;

export interface DueJob {
  readonly name: string;
  readonly job: PollJob;
}

/**
 * All jobs and when each runs next. While a host is away its jobs are parked, and one of them is tried now and then;
 * when it comes back all of them are due at once.
 */
export class PollBook {
  readonly #jobs = new Map<string, PollJob>();
  readonly #schedule = new Schedule<string>();
  readonly #parked = new Map<PlatformHost, Set<string>>();

  jobs(): Iterable<PollJob> {
    return this.#jobs.values();
  }

  has(name: string): boolean {
    return this.#jobs.has(name);
  }

  add(job: PollJob): boolean {
    const name = jobName(job);
    if (this.#jobs.has(name)) return false;
    this.#jobs.set(name, job);
    this.#schedule.set(name, jobRank(job));
    return true;
  }

  /** Drops the chosen jobs; returns their names. */
  remove(chosen: (job: PollJob) => boolean): readonly string[] {
    const removed: string[] = [];
    for (const [name, job] of this.#jobs) {
      if (!chosen(job)) continue;
      removed.push(name);
      this.#jobs.delete(name);
      this.#schedule.delete(name);
      this.#parked.get(jobHost(job))?.delete(name);
    }
    return removed;
  }

  namesOf(host: PlatformHost): readonly string[] {
    return [...this.#jobs].filter(([, job]) => jobHost(job) === host).map(([name]) => name);
  }

  /**
   * Makes the chosen jobs due now, first things first; returns their names. Those of a host that is away stay parked, and what is
   * due already keeps its place: asked for again and again, it would never have its turn.
   */
  makeDue(now: number, chosen: (job: PollJob) => boolean): readonly string[] {
    const due: string[] = [];
    for (const [name, job] of this.#jobs) {
      if (!chosen(job) || this.#parked.has(jobHost(job))) continue;
      due.push(name);
      const at = now - 10 + jobRank(job);
      if ((this.#schedule.dueAt(name) ?? Infinity) > at) this.#schedule.set(name, at);
    }
    return due;
  }

  runAgainAt(name: string, at: number): void {
    const job = this.#jobs.get(name);
    if (!job) return;
    const parked = this.#parked.get(jobHost(job));
    if (parked) parked.add(name);
    else this.#schedule.set(name, at);
  }

  hostAway(host: PlatformHost, now: number): void {
    if (this.#parked.has(host)) return;
    this.#parked.set(host, new Set());
    this.#schedule.set(probeName(host), now + probeMs);
  }

  hostBack(host: PlatformHost, now: number): void {
    const parked = this.#parked.get(host);
    if (!parked) return;
    this.#parked.delete(host);
    this.#schedule.delete(probeName(host));
    for (const name of parked) {
      const job = this.#jobs.get(name);
      if (job) this.#schedule.set(name, now - 10 + jobRank(job));
    }
  }

  /** Ms until something is due, 0 when something is, null when nothing is planned. */
  waitMs(now: number): number | null {
    const first = this.#schedule.first();
    return first === null ? null : Math.max(0, first.at - now);
  }

  /** Takes the next due job; null when the due entry was parked or had nothing to try. */
  take(now: number): DueJob | null {
    const key = this.#schedule.take();
    if (key === null) return null;
    const host = probeHost(key);
    if (host !== null) return this.#probe(host, now);
    const job = this.#jobs.get(key);
    if (!job) return null;
    const parked = this.#parked.get(jobHost(job));
    if (!parked) return { name: key, job };
    parked.add(key);
    return null;
  }

  #probe(host: PlatformHost, now: number): DueJob | null {
    this.#schedule.set(probeName(host), now + probeMs);
    const parked = this.#parked.get(host);
    for (const name of parked ?? []) {
      parked?.delete(name);
      const job = this.#jobs.get(name);
      if (job) return { name, job };
    }
    return null;
  }
}

const probeName = (host: PlatformHost) => `probe ${host}`;
const probeHost = (key: string): PlatformHost | null =>
  key === "probe business" ? "business" : key === "probe realtime" ? "realtime" : null;
