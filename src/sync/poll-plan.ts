import { stateAddresses } from "../greenhouse/actuator-kinds.js";
import type { CoreConfiguration } from "../settings/sections/core.js";
import type { ParameterGroup } from "../greenhouse/device-types.js";
import type { Controller } from "../greenhouse/model.js";
import type { PlatformHost } from "../greenhouse/ports.js";
import { hasNoFlag, hasOwnClient, isDisputed } from "../greenhouse/reduce.js";
import type { ControllerSettings } from "../greenhouse/settings.js";
import { type RequestBudget, Schedule } from "../runtime/schedule.js";

/** Something to ask the platform repeatedly. */
export type PollJob =
  | { readonly kind: "controllers" }
  | { readonly kind: "videos" }
  | { readonly kind: "devices"; readonly dataType: "TEXT" | "STREAM" }
  | {
      readonly kind: "sensors" | "running_status" | "connection" | "averages";
      readonly code: string;
    }
  | { readonly kind: "registers"; readonly code: string; readonly read: RegisterRead };

/** One request for registers: a single address, a whole parameter group, or an address from the device itself. */
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

/** The request of each kind of read, as errors name it. */
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

/** What becomes doubtful about a controller when a read may have received another one's answer. */
export const shownBy: ReadonlyMap<string, "sensors" | "statuses" | "registers"> = new Map([
  [requestOf.sensors, "sensors"],
  [requestOf.averages, "sensors"],
  [requestOf.running_status, "statuses"],
  [requestOf.register, "registers"],
  [requestOf.registers, "registers"],
]);

export const jobRequest = (job: PollJob): string =>
  requestOf[job.kind === "registers" && job.read.type !== "group" ? "register" : job.kind];

/**
 * Up to this many controllers are asked for their own status as often as the list; with more, each is asked more
 * rarely.
 */
const withEveryList = 50;

/** What had nothing to say may have something later. */
export const rareMs = 3_600_000;

/** Device lists hardly ever change, as online flags come with the controllers' list. Averages change slowly. */
const devicesPerControllers = 12;
/** An offline controller has no news. */
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
      // The device itself is asked only when something contradicts the shown value.
      return job.read.type === "fresh" ? Infinity : intervals.actuators * slower;
    // Lists cover all other controllers; their status is asked once, and whenever a list is doubted.
    case "connection":
      if (controller === undefined) return Infinity;
      if (hasOwnClient(controller)) return intervals.controllers;
      // It may be the time when the controller was last seen, which advances.
      if (controller.availability === "online" && (controller.info.client?.lastOnlineAt ?? null) !== null)
        return intervals.controllers * Math.max(1, accountSize / withEveryList);
      return hasNoFlag(controller) || isDisputed(controller) ? rareMs : Infinity;
  }
}

/** Inputs of guards: `sensor GH-1`, `status GH-1` or `actuator GH-1 roof`, with the controller's id or code. */
export type GuardInputs = ReadonlySet<string>;

export function guardInputs(controllers: Iterable<ControllerSettings>): GuardInputs {
  const inputs = new Set<string>();
  for (const { code, actuators } of controllers)
    for (const { limits } of actuators)
      for (const { input } of limits?.guards ?? []) {
        if (input.type === "weather") continue;
        const source = `${input.type} ${input.controller ?? code}`;
        // All readings or running statuses come in one answer.
        inputs.add(input.type === "actuator" ? `${source} ${input.id}` : source);
      }
  return inputs;
}

/** Whether a guard uses something that the job reads. */
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

/**
 * The fewest requests that read every register of the controller: one for each group, and one for each address without
 * a group.
 */
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
 * The longest distance between common moments at which jobs leave. Waking up costs as much processor time as a request,
 * so jobs share moments; compared with an interval the shift disappears in the random 5 %.
 */
const longestSlotMs = 1_000;
const slotsOfInterval = 50;

function nextSlot(at: number, intervalMs: number, share: number): number {
  const slotMs = Math.min(longestSlotMs, intervalMs / slotsOfInterval);
  return (Math.round(at / slotMs - share) + share) * slotMs;
}

/**
 * When a job runs next: at its own phase of the interval, at least half an interval away, plus or minus 5 %. The phase
 * is a hash of the job's name, which spreads jobs evenly. `share` (0 to 1) places this account's moments between two
 * whole seconds, so that accounts of one process do not leave together.
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

/** When something runs once: within an interval from now, at its own phase. */
export const withinInterval = (job: string, now: number, intervalMs: number): number =>
  now + fraction(job) * intervalMs;

function fraction(text: string): number {
  let hash = 0x811c9dc5;
  for (let place = 0; place < text.length; place++)
    hash = Math.imul(hash ^ text.charCodeAt(place), 0x01000193);
  return (Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d) >>> 0) / 4_294_967_296;
}

/** When something runs that must not be asked more often than its interval: a whole interval away, plus up to 5 %. */
export const notBefore = (now: number, intervalMs: number, chance: number): number =>
  now + intervalMs * (1 + 0.05 * chance);

/** How much every interval has to stretch for the demand to fit the budget; 1 if it fits. */
export function stretchFactor(requestsPerMinute: number, budgetPerMinute: number): number {
  return budgetPerMinute === 0 ? 1 : Math.max(1, requestsPerMinute / budgetPerMinute);
}

/** How often a lost host is tried; the circuit decides which attempts become requests. */
const probeMs = 5_000;

/** The first pause after a read that was never answered; the pauses double. */
export const firstRepeatMs = 5_000;

/** Pauses before an urgent read is repeated after a failure; then its interval applies. */
const repeatAfterMs = [firstRepeatMs, 10_000, 20_000, 40_000, 80_000];

export interface DueJob {
  readonly name: string;
  readonly job: PollJob;
}

/** An urgent read: something says that what is shown is no longer true. */
interface Wanted {
  /** The newest value that was announced, which a read may confirm or not; null for none. */
  readonly said: string | null;
  /** The shortest time since the previous read. */
  readonly gapMs: number;
  /** Whether a read is under way that began after the announcement. */
  readonly isBegun: boolean;
  /** Failed reads in a row. */
  readonly failures: number;
}

interface PlannedJob {
  readonly job: PollJob;
  /** Whether a guard uses what it reads. */
  readonly isInput: boolean;
  readonly begunAt: number;
  /** When it was made due because its host returned. */
  readonly returnedAt: number;
  readonly wanted: Wanted | null;
}

const untouched = { isInput: false, begunAt: -Infinity, returnedAt: -Infinity, wanted: null } as const;

/**
 * Urgent reads go before those due by their interval. The status of single devices keeps its own distance. Inputs of
 * guards go before reads that became due a little earlier. Controllers that did not answer have places of their own.
 */
const lanes = ["soon", "connection", "inputs", "silent", "business", "realtime"] as const;
type Lane = (typeof lanes)[number];

/** How much later inputs of guards may be due and still go first. */
const inputsAheadMs = 300_000;
/** Among controllers that did not answer: how much a read that did not fail itself goes before one that did. */
const hopefulAheadMs = 300_000;

/**
 * For so many devices the status is asked at the pace of other reads, as all of a small account have to be shown again
 * at once.
 */
const connectionsAtOnce = 10;

interface PollPace {
  /** The part of the budget for urgent reads, so that polling keeps the rest. */
  readonly soon: RequestBudget;
  /** Ms between two status requests for single devices, after the first `connectionsAtOnce`. */
  readonly connectionGapMs: () => number;
  /**
   * What did not answer last time, so that it may block a place for long: the read itself, or others of its controller;
   * null for neither.
   */
  readonly silentPart: (job: PollJob) => "itself" | "controller" | null;
  /** Whether there is a free place for such a read. */
  readonly hasSilentPlace: () => boolean;
}

/**
 * All jobs with their next times. A lost host is tried with one job now and then; when it returns, everything missed is
 * due at once.
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
  /** For a lost host: when the next of its jobs is tried. */
  readonly #probeAt = new Map<PlatformHost, number>();
  /** Until when the status requests that have begun use up their distances. */
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

  /**
   * Adds a job; false where it exists. A status of a single device is not due before it is asked for. `isAhead`: its
   * turn comes with the sensors.
   */
  add(job: PollJob, { isInput = false, isAhead = false } = {}): boolean {
    const name = jobName(job);
    if (this.#jobs.has(name)) return false;
    this.#jobs.set(name, { ...untouched, job, isInput });
    const rank = jobRank(job);
    if (job.kind !== "connection") this.#plan(name, isAhead ? Math.min(rank, sensorsRank) : rank);
    return true;
  }

  /** Removes the chosen jobs; returns their names. */
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

  /** Removes a job that was needed once, unless it has become urgent. */
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
   * Makes the chosen jobs due now, in the order of a first round. Jobs of a lost host are left out, and due ones keep
   * their place, as repeated requests would otherwise delay them for ever.
   */
  makeDue(now: number, chosen: (job: PollJob) => boolean): void {
    const due = [...this.#jobs].filter(([, { job }]) => chosen(job) && !this.isAway(jobHost(job)));
    for (const [name, { job }] of due) {
      const at = now - 10 + jobRank(job);
      if ((this.#dueAt(name) ?? Infinity) > at) this.#plan(name, at);
    }
  }

  /** Makes the chosen jobs, which were asked more rarely, due within `intervalMs` of their last read. */
  bringForward(now: number, chosen: (job: PollJob) => boolean, intervalMs: (job: PollJob) => number): void {
    for (const [name, { job }] of this.#jobs)
      if (chosen(job) && !this.isAway(jobHost(job))) this.#bringForward(name, now, intervalMs);
  }

  #bringForward(name: string, now: number, intervalMs: (job: PollJob) => number): void {
    const planned = this.#jobs.get(name);
    const dueAt = this.#dueAt(name);
    // A job that never ran keeps its turn in the first round.
    if (planned === undefined || dueAt === undefined || planned.begunAt === -Infinity) return;
    const at = Math.max(now - 10 + jobRank(planned.job), planned.begunAt + intervalMs(planned.job));
    if (at < dueAt) this.#plan(name, at);
  }

  /** Schedules a job for `at`. A job tried on a lost host waits behind the host's other jobs, and for its return. */
  runAgainAt(name: string, at: number): void {
    const planned = this.#jobs.get(name);
    if (planned) this.#plan(name, Math.min(at, this.#probeAt.get(jobHost(planned.job)) ?? at));
  }

  /**
   * Makes a read urgent, however often that is asked, but not within `gapMs` of the beginning of the last one. A
   * waiting read may move forward.
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

  /** Whether an urgent read is still outstanding. */
  isWanted(name: string): boolean {
    return (this.#jobs.get(name)?.wanted ?? null) !== null;
  }

  /** The newest announced value of an urgent read; undefined for none. */
  saidOf(name: string): string | undefined {
    return this.#jobs.get(name)?.wanted?.said ?? undefined;
  }

  /** The value announced since the read under way began; undefined for none. */
  saidSince(name: string): string | undefined {
    const wanted = this.#jobs.get(name)?.wanted ?? null;
    return wanted?.isBegun === false ? (wanted.said ?? undefined) : undefined;
  }

  /** Cancels an urgent read without an announced value; returns whether one was waiting. */
  takeBack(name: string): boolean {
    const planned = this.#jobs.get(name);
    const wanted = planned?.wanted ?? null;
    if (planned === undefined || wanted === null || wanted.isBegun || wanted.said !== null) return false;
    this.#jobs.set(name, { ...planned, wanted: null });
    for (const lane of lanes) this.#schedules[lane].delete(name);
    return true;
  }

  onBegun(name: string, now: number): void {
    const planned = this.#jobs.get(name);
    if (planned === undefined) return;
    const { job, wanted } = planned;
    this.#jobs.set(name, { ...planned, begunAt: now, wanted: wanted && { ...wanted, isBegun: true } });
    if (job.kind === "connection")
      this.#connectionsUntil = Math.max(this.#connectionsUntil, now) + this.#pace.connectionGapMs();
  }

  /**
   * Notes that a read ended. It runs again at `nextAt`, Infinity for never; sooner where it became urgent meanwhile, or
   * was urgent and failed. Returns whether it runs again.
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
   * Notes that a host returned. Jobs missed, or last failed by their request, are due at once, but only once in their
   * interval if the host comes and goes. Others are due within their interval, which may have changed.
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
      // A job that is asked until its first answer has no interval.
      const earliest = everyMs === Infinity ? now : returnedAt + everyMs;
      const at = Math.max(now - 10 + jobRank(job), earliest);
      this.#jobs.set(name, { ...planned, returnedAt: at <= now ? now : returnedAt });
      this.#plan(name, at);
    }
  }

  /** Makes the earliest read of a host due now whose request is not among `failing`. */
  askAnother(host: PlatformHost, failing: ReadonlySet<string>, now: number): void {
    let first: { readonly name: string; readonly at: number } | null = null;
    for (const [name, { job }] of this.#jobs) {
      const at = this.#dueAt(name) ?? Infinity;
      if (jobHost(job) !== host || failing.has(jobRequest(job)) || at >= (first?.at ?? Infinity)) continue;
      first = { name, at };
    }
    if (first !== null && first.at > now) this.#plan(first.name, now);
  }

  /** Ms until something is due; 0 where something is, null where nothing is planned. */
  waitMs(now: number): number | null {
    const { at } = this.#next(now);
    return at === Infinity ? null : Math.max(0, at - now);
  }

  /** Takes the next due job; null where it has to wait for another kind of place. */
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

  /** When the first job of a lane may go. Urgent reads and status requests go before all other due jobs. */
  #laneAt(lane: Lane, now: number): number {
    const first = this.#schedules[lane].first();
    if (first === null) return Infinity;
    const host = lane === "business" ? lane : "realtime";
    let at = Math.max(first.at, this.#probeAt.get(host) ?? 0);
    if (lane === host) return at;
    // A lost host is first tried with jobs that may be answered, and with these only if there are no others.
    if (lane === "silent" && this.isAway(host)) at += probeMs;
    if (lane === "silent") return this.#pace.hasSilentPlace() ? at : Infinity;
    if (lane === "inputs") return at > now ? at : at - inputsAheadMs;
    if (lane === "soon") at = Math.max(at, now + this.#pace.soon.waitMs(now));
    else at = Math.max(at, this.#connectionsUntil - (connectionsAtOnce - 1) * this.#pace.connectionGapMs());
    return at > now ? at : -Infinity;
  }
}
