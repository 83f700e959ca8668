import { stateAddresses } from "../greenhouse/actuator-kinds.js";
import type { CoreConfiguration } from "../settings/sections/core.js";
import type { ParameterGroup } from "../greenhouse/device-types.js";
import type { Controller } from "../greenhouse/model.js";
import type { PlatformHost } from "../greenhouse/ports.js";
import { hasNoFlag, hasOwnClient, isDisputed } from "../greenhouse/reduce.js";
import type { ControllerSettings } from "../greenhouse/settings.js";
import { type RequestBudget, Schedule } from "../runtime/schedule.js";

/** One thing to ask the platform again and again. */
export type PollJob =
  | { readonly kind: "controllers" }
  | { readonly kind: "videos" }
  | { readonly kind: "devices"; readonly dataType: "TEXT" | "STREAM" }
  | {
      readonly kind: "sensors" | "running_status" | "connection" | "averages";
      readonly code: string;
    }
  | { readonly kind: "registers"; readonly code: string; readonly read: RegisterRead };

/** One request for registers: a single address, a whole parameter group at once, or an address as the device itself has it. */
export type RegisterRead =
  | { readonly type: "address" | "fresh"; readonly address: string }
  | { readonly type: "group"; readonly group: ParameterGroup };

export type PollIntervals = Pick<
  CoreConfiguration["polling"],
  "controllers" | "sensors" | "running_status" | "actuators"
>;

export function jobName(job: PollJob): string {
  if (job.kind === "controllers" || job.kind === "videos") return job.kind;
  if (job.kind === "devices") return `devices ${job.dataType}`;
  if (job.kind !== "registers") return `${job.kind} ${job.code}`;
  const { read } = job;
  const what = read.type === "group" ? `group ${read.group}` : read.address;
  return `registers ${job.code} ${what}${read.type === "fresh" ? " fresh" : ""}`;
}

const ofBusiness: ReadonlySet<PollJob["kind"]> = new Set(["controllers", "devices", "videos", "averages"]);

export const jobHost = ({ kind }: PollJob): PlatformHost => (ofBusiness.has(kind) ? "business" : "realtime");

/** What the platform calls each kind of read, as its errors name it. */
const requestOf = {
  controllers: "GET /api/control/mqtt",
  devices: "GET /api/device",
  videos: "GET /api/video-data/list",
  averages: "GET /api/weather-data/avg",
  sensors: "GET /api/sensor-data",
  running_status: "GET /api/device_status",
  connection: "GET /api/mqtt-client-status",
  register: "GET /api/get-value",
  registers: "GET /api/set-value/flush",
} as const;

/** What of a controller is in doubt with a read that may have got the answer to another one. */
export const shownBy: ReadonlyMap<string, "sensors" | "statuses" | "registers"> = new Map([
  [requestOf.sensors, "sensors"],
  [requestOf.averages, "sensors"],
  [requestOf.running_status, "statuses"],
  [requestOf.register, "registers"],
  [requestOf.registers, "registers"],
]);

export const jobRequest = (job: PollJob): string =>
  requestOf[job.kind === "registers" && job.read.type !== "group" ? "register" : job.kind];

/** Up to so many controllers are asked for their own status as often as the list; with more, each is asked more rarely. */
const withEveryList = 50;

/** What had nothing to say may have something later. */
export const rareMs = 3_600_000;

/** Lists of devices hardly ever change; their online flags come with the controllers' list. Averages change slowly. */
const devicesPerControllers = 12;
/** A controller that is offline has nothing new to say. */
const offlineSlowdown = 5;

export function jobIntervalMs(
  job: PollJob,
  intervals: PollIntervals,
  controller: Controller | undefined,
  accountSize = 0,
): number {
  const slower = controller?.availability === "offline" ? offlineSlowdown : 1;
  switch (job.kind) {
    case "controllers":
      return intervals.controllers;
    case "devices":
    case "videos":
    case "averages":
      return intervals.controllers * devicesPerControllers;
    case "sensors":
      return intervals.sensors * slower;
    case "running_status":
      return intervals.running_status * slower;
    case "registers":
      // What the device itself has is asked for when something says that it is another value.
      return job.read.type === "fresh" ? Infinity : intervals.actuators * slower;
    // Lists tell about all others; these are asked once, and whenever a list is doubted.
    case "connection":
      if (controller === undefined) return Infinity;
      if (hasOwnClient(controller)) return intervals.controllers;
      // It may be when it was seen last, which goes on.
      if (controller.availability === "online" && (controller.info.client?.lastOnlineAt ?? null) !== null)
        return intervals.controllers * Math.max(1, accountSize / withEveryList);
      return hasNoFlag(controller) || isDisputed(controller) ? rareMs : Infinity;
  }
}

/** What guards look at on the platform: `sensor GH-1`, `status GH-1` or `actuator GH-1 roof`, the controller by id or by code. */
export type GuardInputs = ReadonlySet<string>;

export function guardInputs(controllers: Iterable<ControllerSettings>): GuardInputs {
  const inputs = new Set<string>();
  for (const { code, actuators } of controllers)
    for (const { limits } of actuators)
      for (const { input } of limits?.guards ?? []) {
        if (input.type === "weather") continue;
        const source = `${input.type} ${input.controller ?? code}`;
        // Readings and running statuses come all at once.
        inputs.add(input.type === "actuator" ? `${source} ${input.id}` : source);
      }
  return inputs;
}

/** Whether a guard looks at something that the job reads. */
export function isGuardInput(job: PollJob, { info, actuators }: Controller, inputs: GuardInputs): boolean {
  const isLookedAt = (type: string, rest = "") =>
    inputs.has(`${type} ${info.code}${rest}`) || inputs.has(`${type} ${info.id}${rest}`);
  if (job.kind === "sensors") return isLookedAt("sensor");
  if (job.kind === "running_status") return isLookedAt("status");
  if (job.kind !== "registers" || inputs.size === 0) return false;
  const { read } = job;
  return [...actuators.values()].some(({ settings }) => {
    const isRead =
      read.type === "group" ? settings.group === read.group : stateAddresses(settings).includes(read.address);
    return isRead && isLookedAt("actuator", ` ${settings.id}`);
  });
}

/** The order of a first round: what others depend on and what people look at comes first. */
const ranks: readonly PollJob["kind"][] = [
  "controllers",
  "devices",
  "sensors",
  "registers",
  "running_status",
  "connection",
  "videos",
  "averages",
];

const jobRank = ({ kind }: Pick<PollJob, "kind">): number => ranks.indexOf(kind);

const sensorsRank = jobRank({ kind: "sensors" });

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
  const averages: readonly PollJob[] =
    controller.settings?.averages === true ? [{ kind: "averages", code }] : [];
  return [...(hasReadings ? readings : []), ...registers, { kind: "connection", code }, ...averages];
}

/**
 * Jobs leave at moments so far apart at most: to wake up costs the processor as much as a request, and what leaves together shares
 * that. Of an interval it is so little that it disappears in what is given or taken anyhow.
 */
const longestSlotMs = 1_000;
const slotsOfInterval = 50;

function nextSlot(at: number, intervalMs: number, share: number): number {
  const slotMs = Math.min(longestSlotMs, intervalMs / slotsOfInterval);
  return (Math.round(at / slotMs - share) + share) * slotMs;
}

/**
 * When a job runs next: at its own phase of the interval, at least half an interval away, give or take 5 %. The phase
 * comes from the job's name, which spreads many jobs evenly. `share`, 0 to 1, is where between two whole seconds the moments of this
 * account lie, so that many accounts in one process do not leave together.
 */
export function nextDueAt(
  job: string,
  now: number,
  intervalMs: number,
  chance: number,
  share: number,
): number {
  const phase = fraction(job) * intervalMs;
  const periods = Math.ceil((now + intervalMs / 2 - phase) / intervalMs);
  return nextSlot(phase + periods * intervalMs + (chance - 0.5) * 0.08 * intervalMs, intervalMs, share);
}

/** For what is asked once: within an interval from now, at its own phase. */
export const withinInterval = (job: string, now: number, intervalMs: number): number =>
  now + fraction(job) * intervalMs;

function fraction(text: string): number {
  let hash = 0x811c9dc5;
  for (let place = 0; place < text.length; place++)
    hash = Math.imul(hash ^ text.charCodeAt(place), 0x01000193);
  return (Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 0) / 4_294_967_296;
}

/** For what must not be asked more often than its interval: a whole interval away, plus up to 5 %. */
export const notBefore = (now: number, intervalMs: number, chance: number): number =>
  now + intervalMs * (1 + 0.05 * chance);

/** By how much every interval has to stretch for the demand to fit the budget; 1 when it fits. */
export function stretchFactor(requestsPerMinute: number, budgetPerMinute: number): number {
  return budgetPerMinute === 0 ? 1 : Math.max(1, requestsPerMinute / budgetPerMinute);
}

/** A host that is away is tried this often; the circuit decides which tries become requests. */
const probeMs = 5_000;

/** Pauses of what was never answered begin so, and double. */
export const firstRepeatMs = 5_000;

/** What was asked for soon and fails is asked for again after such pauses; then it is left to its interval. */
const repeatAfterMs = [firstRepeatMs, 10_000, 20_000, 40_000, 80_000];

export interface DueJob {
  readonly name: string;
  readonly job: PollJob;
}

/** Something says that what is shown is not what is there any more. */
interface Wanted {
  /** What was said of it, the newest; a read may show it or not. */
  readonly said: string | null;
  /** Least time from the read before to this one. */
  readonly gapMs: number;
  /** A read that began later than it was said is under way. */
  readonly isBegun: boolean;
  /** Failed reads in a row. */
  readonly failures: number;
}

interface PlannedJob {
  readonly job: PollJob;
  /** A guard looks at what it reads. */
  readonly isInput: boolean;
  readonly begunAt: number;
  /** When it was made due because its host came back. */
  readonly returnedAt: number;
  readonly wanted: Wanted | null;
}

const untouched = { isInput: false, begunAt: -Infinity, returnedAt: -Infinity, wanted: null } as const;

/**
 * Reads that something asked for soon go before those that are due by their interval. The status of a single device keeps its own
 * distance. Inputs of guards go before reads that became due a little earlier. Controllers that did not answer have places of their own.
 */
const lanes = ["soon", "connection", "inputs", "silent", "business", "realtime"] as const;
type Lane = (typeof lanes)[number];

/** Inputs of guards go first even when due this much later than others; what waits longer than that has its turn. */
const inputsAheadMs = 300_000;
/** Of controllers that did not answer, what did not fail itself may go before what did by so much. */
const hopefulAheadMs = 300_000;

/** The status of so few devices is asked for at the pace of other reads: on a small account all are to be shown again at once. */
const connectionsAtOnce = 10;

interface PollPace {
  /** What is asked for soon may take this much of the budget, so that polling keeps the rest. */
  readonly soon: RequestBudget;
  /** Time between two requests for the status of a single device, ms, once so many went at once as may. */
  readonly connectionGapMs: () => number;
  /** What did not answer last time, so that a place may be kept for long: the read itself, or others of its controller; null for neither. */
  readonly silentPart: (job: PollJob) => "itself" | "controller" | null;
  /** Whether there is a place for one of those. */
  readonly hasSilentPlace: () => boolean;
}

/**
 * All jobs and when each runs next. Of a host that is away one job is tried now and then; when it comes back all that it
 * missed is due at once.
 */
export class PollSchedule {
  readonly #pace: PollPace;
  readonly #jobs = new Map<string, PlannedJob>();
  readonly #schedules: Readonly<Record<Lane, Schedule<string>>> = {
    soon: new Schedule<string>(),
    connection: new Schedule<string>(),
    inputs: new Schedule<string>(),
    silent: new Schedule<string>(),
    business: new Schedule<string>(),
    realtime: new Schedule<string>(),
  };
  /** Of a host that is away: when the next of its jobs is tried. */
  readonly #probeAt = new Map<PlatformHost, number>();
  /** Until when the requests for the status of single devices that began would last, each at its distance. */
  #connectionsUntil = -Infinity;

  constructor(pace: PollPace) {
    this.#pace = pace;
  }

  *jobs(): Iterable<PollJob> {
    for (const { job } of this.#jobs.values()) yield job;
  }

  has(name: string): boolean {
    return this.#jobs.has(name);
  }

  /** The status of a single device is not due before it is asked for. `isAhead`: its turn comes with the sensors'. */
  add(job: PollJob, { isInput = false, isAhead = false } = {}): boolean {
    const name = jobName(job);
    if (this.#jobs.has(name)) return false;
    this.#jobs.set(name, { ...untouched, job, isInput });
    const rank = jobRank(job);
    if (job.kind !== "connection") this.#plan(name, isAhead ? Math.min(rank, sensorsRank) : rank);
    return true;
  }

  /** Drops the chosen jobs; returns their names. */
  remove(chosen: (job: PollJob) => boolean): readonly string[] {
    const removed: string[] = [];
    for (const [name, { job }] of this.#jobs) {
      if (!chosen(job)) continue;
      removed.push(name);
      this.#jobs.delete(name);
      for (const lane of lanes) this.#schedules[lane].delete(name);
    }
    return removed;
  }

  /** What was asked for once is not kept, unless it is asked for again. */
  discard(name: string): void {
    if (this.isWanted(name)) return;
    this.#jobs.delete(name);
    for (const lane of lanes) this.#schedules[lane].delete(name);
  }

  isDue(name: string, now: number): boolean {
    return (this.#dueAt(name) ?? Infinity) <= now;
  }

  namesOf(host: PlatformHost): readonly string[] {
    return [...this.#jobs].filter(([, { job }]) => jobHost(job) === host).map(([name]) => name);
  }

  /**
   * Makes the chosen jobs due now, first things first. Those of a host that is away are left out, and what is due already keeps its
   * place: asked for again and again, it would never have its turn.
   */
  makeDue(now: number, chosen: (job: PollJob) => boolean): void {
    const due = [...this.#jobs].filter(([, { job }]) => chosen(job) && !this.isAway(jobHost(job)));
    for (const [name, { job }] of due) {
      const at = now - 10 + jobRank(job);
      if ((this.#dueAt(name) ?? Infinity) > at) this.#plan(name, at);
    }
  }

  /** The chosen jobs, which were asked for more rarely, are due within `intervalMs` of their last read again. */
  bringForward(now: number, chosen: (job: PollJob) => boolean, intervalMs: (job: PollJob) => number): void {
    for (const [name, { job }] of this.#jobs)
      if (chosen(job) && !this.isAway(jobHost(job))) this.#bringForward(name, now, intervalMs);
  }

  #bringForward(name: string, now: number, intervalMs: (job: PollJob) => number): void {
    const planned = this.#jobs.get(name);
    const dueAt = this.#dueAt(name);
    // What was never asked for has its turn in the order of the first round.
    if (planned === undefined || dueAt === undefined || planned.begunAt === -Infinity) return;
    const at = Math.max(now - 10 + jobRank(planned.job), planned.begunAt + intervalMs(planned.job));
    if (at < dueAt) this.#plan(name, at);
  }

  /** Asks for it at `at`, in its own time. What was tried of a host that is away waits behind its other jobs, and for its return. */
  runAgainAt(name: string, at: number): void {
    const planned = this.#jobs.get(name);
    if (planned) this.#plan(name, Math.min(at, this.#probeAt.get(jobHost(planned.job)) ?? at));
  }

  /**
   * Asks for it soon, once however often that is wanted, but not sooner than `gapMs` after the last read of it began. What waits
   * already may come sooner by it.
   */
  readSoon(job: PollJob, now: number, gapMs: number, said: string | null): void {
    const name = jobName(job);
    const planned = this.#jobs.get(name) ?? { ...untouched, job };
    const { begunAt, wanted } = planned;
    const at = Math.max(now, begunAt + gapMs);
    const isSooner = at < (this.#dueAt(name) ?? Infinity);
    const failures = isSooner || wanted === null ? 0 : wanted.failures;
    this.#jobs.set(name, { ...planned, wanted: { said, gapMs, isBegun: false, failures } });
    if (isSooner) this.#plan(name, at);
  }

  /** Whether what was asked for soon has not been read since. */
  isWanted(name: string): boolean {
    return (this.#jobs.get(name)?.wanted ?? null) !== null;
  }

  /** What was said last of what is asked for soon; undefined where nothing was. */
  saidOf(name: string): string | undefined {
    return this.#jobs.get(name)?.wanted?.said ?? undefined;
  }

  /** The same, of what was said since the read under way began. */
  saidSince(name: string): string | undefined {
    const wanted = this.#jobs.get(name)?.wanted ?? null;
    return wanted?.isBegun === false ? (wanted.said ?? undefined) : undefined;
  }

  /** What was asked for soon, for no value that was said, needs no read any more; returns whether one was waiting. */
  takeBack(name: string): boolean {
    const planned = this.#jobs.get(name);
    const wanted = planned?.wanted ?? null;
    if (planned === undefined || wanted === null || wanted.isBegun || wanted.said !== null) return false;
    this.#jobs.set(name, { ...planned, wanted: null });
    for (const lane of lanes) this.#schedules[lane].delete(name);
    return true;
  }

  /** A read of it begins. */
  onBegun(name: string, now: number): void {
    const planned = this.#jobs.get(name);
    if (planned === undefined) return;
    const { job, wanted } = planned;
    this.#jobs.set(name, { ...planned, begunAt: now, wanted: wanted && { ...wanted, isBegun: true } });
    if (job.kind === "connection")
      this.#connectionsUntil = Math.max(this.#connectionsUntil, now) + this.#pace.connectionGapMs();
  }

  /**
   * The read of it ended. It runs again at `nextAt`, in its own time, Infinity for never; sooner where that was asked for while it was
   * under way, or where it had been and the read failed. Returns whether it runs again.
   */
  onEnded(name: string, worked: boolean, now: number, nextAt: number): boolean {
    const planned = this.#jobs.get(name);
    if (planned === undefined) return false;
    const { begunAt, wanted } = planned;
    if (wanted?.isBegun === false) {
      this.#plan(name, Math.max(now, begunAt + wanted.gapMs));
      return true;
    }
    const pauseMs = wanted === null || worked ? undefined : repeatAfterMs[wanted.failures];
    if (wanted === null || pauseMs === undefined) {
      if (wanted !== null) this.#jobs.set(name, { ...planned, wanted: null });
      if (nextAt < Infinity) this.runAgainAt(name, nextAt);
      return nextAt < Infinity;
    }
    const failures = wanted.failures + 1;
    this.#jobs.set(name, { ...planned, wanted: { ...wanted, isBegun: false, failures } });
    this.#plan(name, Math.min(now + pauseMs, nextAt));
    return true;
  }

  isAway(host: PlatformHost): boolean {
    return this.#probeAt.has(host);
  }

  hostAway(host: PlatformHost, now: number): void {
    if (!this.isAway(host)) this.#probeAt.set(host, now + probeMs);
  }

  /**
   * What it missed, or failed last by its request, is due at once; of a host that comes and goes each once in its interval. What was
   * asked for more rarely when the host went is due within its interval, which may be another by now.
   */
  hostBack(
    host: PlatformHost,
    now: number,
    intervalMs: (job: PollJob) => number,
    failing: ReadonlySet<string> = new Set(),
  ): void {
    if (!this.#probeAt.delete(host)) return;
    for (const [name, planned] of this.#jobs) {
      const { job, returnedAt } = planned;
      if (jobHost(job) !== host) continue;
      const isMissed = (this.#dueAt(name) ?? Infinity) <= now + probeMs || failing.has(jobRequest(job));
      if (!isMissed) {
        this.#bringForward(name, now, intervalMs);
        continue;
      }
      const everyMs = intervalMs(job);
      // What is asked until it was answered once has no interval.
      const earliest = everyMs === Infinity ? now : returnedAt + everyMs;
      const at = Math.max(now - 10 + jobRank(job), earliest);
      this.#jobs.set(name, { ...planned, returnedAt: at <= now ? now : returnedAt });
      this.#plan(name, at);
    }
  }

  /** One read of a host whose request is none of `failing`, the one that is due first, is due at once. */
  askAnother(host: PlatformHost, failing: ReadonlySet<string>, now: number): void {
    let first: { readonly name: string; readonly at: number } | null = null;
    for (const [name, { job }] of this.#jobs) {
      const at = this.#dueAt(name) ?? Infinity;
      if (jobHost(job) !== host || failing.has(jobRequest(job)) || at >= (first?.at ?? Infinity)) continue;
      first = { name, at };
    }
    if (first !== null && first.at > now) this.#plan(first.name, now);
  }

  /** Ms until something is due, 0 when something is, null when nothing is planned. */
  waitMs(now: number): number | null {
    const { at } = this.#next(now);
    return at === Infinity ? null : Math.max(0, at - now);
  }

  /** Takes the next due job; null where it has to wait for another place than is free. */
  take(now: number): DueJob | null {
    const { lane } = this.#next(now);
    const at = this.#schedules[lane].first()?.at ?? now;
    const name = this.#schedules[lane].take();
    const job = name === null ? undefined : this.#jobs.get(name)?.job;
    if (name === null || job === undefined) return null;
    const silent = lane === "silent" ? null : this.#pace.silentPart(job);
    if (silent !== null) {
      this.#schedules.silent.set(name, silent === "itself" ? at : at - hopefulAheadMs);
      return null;
    }
    const host = jobHost(job);
    if (this.isAway(host)) this.#probeAt.set(host, now + probeMs);
    if (lane === "soon") this.#pace.soon.spend(now);
    return { name, job };
  }

  /** Into the lane that it belongs to, and out of any other. */
  #plan(name: string, at: number): void {
    const planned = this.#jobs.get(name);
    if (planned === undefined) return;
    for (const lane of lanes) this.#schedules[lane].delete(name);
    const { job, isInput, wanted } = planned;
    const isSoon = wanted !== null && !wanted.isBegun;
    const ordinary = isInput ? "inputs" : jobHost(job);
    const lane = job.kind === "connection" ? job.kind : isSoon ? "soon" : ordinary;
    this.#schedules[lane].set(name, at);
  }

  #dueAt(name: string): number | undefined {
    for (const lane of lanes) {
      const at = this.#schedules[lane].dueAt(name);
      if (at !== undefined) return at;
    }
    return undefined;
  }

  /** The lane that may go first, and when. */
  #next(now: number): { readonly lane: Lane; readonly at: number } {
    let next: { readonly lane: Lane; readonly at: number } = { lane: "business", at: Infinity };
    for (const lane of lanes) {
      const at = this.#laneAt(lane, now);
      if (at < next.at) next = { lane, at };
    }
    return next;
  }

  /** When the first of a lane may go. Those of the first two lanes go before all others that are due. */
  #laneAt(lane: Lane, now: number): number {
    const first = this.#schedules[lane].first();
    if (first === null) return Infinity;
    const host = lane === "business" ? lane : "realtime";
    let at = Math.max(first.at, this.#probeAt.get(host) ?? 0);
    if (lane === host) return at;
    // A host that is away is tried with what may be answered; where there is nothing else, with these.
    if (lane === "silent" && this.isAway(host)) at += probeMs;
    if (lane === "silent") return this.#pace.hasSilentPlace() ? at : Infinity;
    if (lane === "inputs") return at > now ? at : at - inputsAheadMs;
    if (lane === "soon") at = Math.max(at, now + this.#pace.soon.waitMs(now));
    else at = Math.max(at, this.#connectionsUntil - (connectionsAtOnce - 1) * this.#pace.connectionGapMs());
    return at > now ? at : -Infinity;
  }
}
