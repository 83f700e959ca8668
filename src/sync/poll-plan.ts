import type { Configuration } from "../config/schema.js";
import type { ParameterGroup } from "../greenhouse/device-types.js";
import { stateAddresses } from "../greenhouse/fold-registers.js";
import type { Controller } from "../greenhouse/model.js";
import type { PlatformHost } from "../greenhouse/ports.js";
import { hasOwnClient } from "../greenhouse/reduce.js";
import { Schedule } from "../runtime/schedule.js";

/** One thing to ask the platform again and again. */
export type PollJob =
  | { readonly kind: "controllers" }
  | { readonly kind: "devices"; readonly dataType: "TEXT" | "STREAM" }
  | { readonly kind: "sensors" | "running_status" | "connection"; readonly code: string }
  | { readonly kind: "registers"; readonly code: string; readonly read: RegisterRead };

/** One request for registers: a single address, or a whole parameter group at once. */
export type RegisterRead =
  | { readonly type: "address"; readonly address: string }
  | { readonly type: "group"; readonly group: ParameterGroup };

export type PollIntervals = Pick<
  Configuration["polling"],
  "controllers" | "sensors" | "running_status" | "actuators"
>;

export function jobName(job: PollJob): string {
  if (job.kind === "controllers") return job.kind;
  if (job.kind === "devices") return `devices ${job.dataType}`;
  if (job.kind !== "registers") return `${job.kind} ${job.code}`;
  const { read } = job;
  return `registers ${job.code} ${read.type === "group" ? `group ${read.group}` : read.address}`;
}

export const jobHost = (job: PollJob): PlatformHost =>
  job.kind === "controllers" || job.kind === "devices" ? "business" : "realtime";

/** Lists of devices hardly ever change; their online flags come with the controllers' list. */
const devicesPerControllers = 12;
/** A controller that is offline has nothing new to say. */
const offlineSlowdown = 5;

export function jobIntervalMs(
  job: PollJob,
  intervals: PollIntervals,
  controller: Controller | undefined,
): number {
  const slower = controller?.availability === "offline" ? offlineSlowdown : 1;
  switch (job.kind) {
    case "controllers":
      return intervals.controllers;
    case "devices":
      return intervals.controllers * devicesPerControllers;
    case "sensors":
      return intervals.sensors * slower;
    case "running_status":
      return intervals.running_status * slower;
    case "registers":
      return intervals.actuators * slower;
    // Lists tell about all others; these are asked once, and whenever a list is doubted.
    case "connection":
      return controller !== undefined && hasOwnClient(controller) ? intervals.controllers : Infinity;
  }
}

/** The order of a first round: what others depend on and what people look at comes first. */
const jobRank = ({ kind }: PollJob): number =>
  ["controllers", "devices", "sensors", "registers", "running_status", "connection"].indexOf(kind);

/** The fewest requests that read every register of the controller: one per group, one per address without a group. */
export function registerReads(controller: Controller): readonly RegisterRead[] {
  const groups = new Set<ParameterGroup>();
  const addresses = new Set<string>();
  for (const { settings } of controller.actuators.values()) {
    if (settings.group !== undefined) groups.add(settings.group);
    else for (const address of stateAddresses(settings)) addresses.add(address);
  }
  for (const { settings } of controller.parameters.values()) {
    if (settings.group !== undefined) groups.add(settings.group);
    else addresses.add(settings.address);
  }
  for (const address of controller.addresses.keys()) addresses.add(address);
  return [
    ...[...groups].map((group): RegisterRead => ({ type: "group", group })),
    ...[...addresses].map((address): RegisterRead => ({ type: "address", address })),
  ];
}

export function jobsOf(controller: Controller, hasReadings: boolean): readonly PollJob[] {
  const { code } = controller.info;
  const registers = registerReads(controller).map((read): PollJob => ({ kind: "registers", code, read }));
  const readings: readonly PollJob[] = [
    { kind: "sensors", code },
    { kind: "running_status", code },
  ];
  return [...(hasReadings ? readings : []), ...registers, { kind: "connection", code }];
}

/** A host that is away is tried this often; the circuit decides which tries become requests. */
const probeMs = 5_000;

export interface DueJob {
  readonly name: string;
  readonly job: PollJob;
}

/**
 * All jobs and when each runs next. Of a host that is away one job is tried now and then; when it comes back all that it
 * missed is due at once.
 */
export class PollSchedule {
  readonly #jobs = new Map<string, PollJob>();
  readonly #schedules = { business: new Schedule<string>(), realtime: new Schedule<string>() };
  /** Of a host that is away: when the next of its jobs is tried. */
  readonly #probeAt = new Map<PlatformHost, number>();

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
    this.#schedules[jobHost(job)].set(name, jobRank(job));
    return true;
  }

  /** Drops the chosen jobs; returns their names. */
  remove(chosen: (job: PollJob) => boolean): readonly string[] {
    const removed: string[] = [];
    for (const [name, job] of this.#jobs) {
      if (!chosen(job)) continue;
      removed.push(name);
      this.#jobs.delete(name);
      this.#schedules[jobHost(job)].delete(name);
    }
    return removed;
  }

  namesOf(host: PlatformHost): readonly string[] {
    return [...this.#jobs].filter(([, job]) => jobHost(job) === host).map(([name]) => name);
  }

  /**
   * Makes the chosen jobs due now, first things first; returns their names. Those of a host that is away are left out, and what is
   * due already keeps its place: asked for again and again, it would never have its turn.
   */
  makeDue(now: number, chosen: (job: PollJob) => boolean): readonly string[] {
    const due = [...this.#jobs].filter(([, job]) => chosen(job) && !this.isAway(jobHost(job)));
    for (const [name, job] of due) {
      const at = now - 10 + jobRank(job);
      const schedule = this.#schedules[jobHost(job)];
      if ((schedule.dueAt(name) ?? Infinity) > at) schedule.set(name, at);
    }
    return due.map(([name]) => name);
  }

  /** What was tried of a host that is away waits behind its other jobs, and for its return. */
  runAgainAt(name: string, at: number): void {
    const job = this.#jobs.get(name);
    if (!job) return;
    const host = jobHost(job);
    this.#schedules[host].set(name, Math.min(at, this.#probeAt.get(host) ?? at));
  }

  isAway(host: PlatformHost): boolean {
    return this.#probeAt.has(host);
  }

  hostAway(host: PlatformHost, now: number): void {
    if (!this.isAway(host)) this.#probeAt.set(host, now + probeMs);
  }

  hostBack(host: PlatformHost, now: number): void {
    if (!this.#probeAt.delete(host)) return;
    const schedule = this.#schedules[host];
    for (const [name, job] of this.#jobs)
      if ((schedule.dueAt(name) ?? Infinity) <= now + probeMs) schedule.set(name, now - 10 + jobRank(job));
  }

  /** Ms until something is due, 0 when something is, null when nothing is planned. */
  waitMs(now: number): number | null {
    const at = Math.min(this.#dueAt("business"), this.#dueAt("realtime"));
    return at === Infinity ? null : Math.max(0, at - now);
  }

  /** Takes the next due job. */
  take(now: number): DueJob | null {
    const host = this.#dueAt("business") <= this.#dueAt("realtime") ? "business" : "realtime";
    if (this.isAway(host)) this.#probeAt.set(host, now + probeMs);
    const name = this.#schedules[host].take();
    const job = name === null ? undefined : this.#jobs.get(name);
    return name === null || !job ? null : { name, job };
  }

  #dueAt(host: PlatformHost): number {
    const first = this.#schedules[host].first();
    return first === null ? Infinity : Math.max(first.at, this.#probeAt.get(host) ?? 0);
  }
}

/** Reads that polling makes, in the words of health and metrics; `register` is one address, `registers` one parameter group of a controller. */
export const pollOperations = [
  "controllers",
  "devices",
  "connection",
  "sensors",
  "running_status",
  "register",
  "registers",
] as const;

export type PollOperation = (typeof pollOperations)[number];

/** Calls an hour, by operation. */
export type PollCost = Readonly<Record<PollOperation, number>>;

const hourMs = 3_600_000;

export function operationOf(job: PollJob): PollOperation {
  if (job.kind !== "registers") return job.kind;
  return job.read.type === "group" ? "registers" : "register";
}

/** What these jobs cost when each is asked for once in its interval (ms), as whole calls. */
export function callsPerHour(jobs: Iterable<PollJob>, intervalMs: (job: PollJob) => number): PollCost {
  const cost = {
    controllers: 0,
    devices: 0,
    connection: 0,
    sensors: 0,
    running_status: 0,
    register: 0,
    registers: 0,
  };
  for (const job of jobs) cost[operationOf(job)] += hourMs / intervalMs(job);
  const whole = pollOperations.map((operation) => [operation, Math.round(cost[operation])] as const);
  return { ...cost, ...Object.fromEntries(whole) };
}

/**
 * When a job runs next: at its own phase of the interval, at least half an interval away, give or take 5 %. The phase
 * comes from the job's name, which spreads many jobs evenly.
 */
export function nextDueAt(job: string, now: number, intervalMs: number, chance: number): number {
  const phase = fraction(job) * intervalMs;
  const periods = Math.ceil((now + intervalMs / 2 - phase) / intervalMs);
  return phase + periods * intervalMs + (chance - 0.5) * 0.1 * intervalMs;
}

function fraction(text: string): number {
  let hash = 0x811c9dc5;
  for (let place = 0; place < text.length; place++)
    hash = Math.imul(hash ^ text.charCodeAt(place), 0x01000193);
  return (Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 0) / 4_294_967_296;
}

/** For what must not be asked more often than its interval: a whole interval away, plus up to 5 %. */
export const notBefore = (_job: string, now: number, intervalMs: number, chance: number): number =>
  now + intervalMs * (1 + 0.05 * chance);

/** By how much every interval has to stretch for the demand to fit the budget; 1 when it fits. */
export function stretchFactor(requestsPerMinute: number, budgetPerMinute: number): number {
  return budgetPerMinute === 0 ? 1 : Math.max(1, requestsPerMinute / budgetPerMinute);
}
