import { PlatformError, type PlatformErrorKind, type PlatformHost } from "../greenhouse/ports.js";
import type { Logger } from "../runtime/log.js";
import type { Random } from "../runtime/clock.js";
import { type RequestBudget, Rest } from "../runtime/schedule.js";
import {
  callsPerHour,
  type DueJob,
  jobIntervalMs,
  jobName,
  jobsOf,
  nextDueAt,
  notBefore,
  PollSchedule,
  type PollCost,
  type PollIntervals,
  type PollJob,
  stretchFactor,
} from "./poll-plan.js";
import { perform, type PollPorts, PollTally, wasHeld } from "./poll-reads.js";

/** Told of the host as a whole, by the part that watches it. */
const ofTheHost = new Set<PlatformErrorKind>(["unreachable", "unauthorized"]);
/** Once is bad luck, twice in a row is not. */
const passing = new Set<PlatformErrorKind>(["timeout", "interrupted", "throttled"]);
/** A kind of poll that fails every other time is not worth a line each time. */
const tellAgainMs = 600_000;

interface Trouble {
  /** Failures in a row, by the job's name. */
  readonly failing: Map<string, number>;
  /** Its end is worth a line. */
  isTold: boolean;
  toldAt: number;
}

/**
 * Tells once per kind of poll that it fails and once that it works again, however many controllers it concerns. What is wrong with a
 * whole host is left out.
 */
class PollTroubles {
  readonly #log: Logger;
  readonly #now: () => number;
  readonly #isAway: (host: PlatformHost) => boolean;
  readonly #byKind = new Map<PollJob["kind"], Trouble>();

  /** `now` is monotonic ms. */
  constructor(log: Logger, now: () => number, isAway: (host: PlatformHost) => boolean) {
    this.#log = log;
    this.#now = now;
    this.#isAway = isAway;
  }

  failed(name: string, job: PollJob, error: unknown): void {
    if (!(error instanceof PlatformError)) {
      this.#log.error({ err: error, job: name }, "a poll failed unexpectedly");
      return;
    }
    const { kind, host } = error.facts;
    if (wasHeld(error)) return;
    this.#log.debug({ job: name }, error.message);
    if (ofTheHost.has(kind) || this.#isAway(host)) return;
    const untold: Trouble = { failing: new Map(), isTold: false, toldAt: -Infinity };
    const trouble = this.#byKind.get(job.kind) ?? untold;
    this.#byKind.set(job.kind, trouble);
    const inARow = (trouble.failing.get(name) ?? 0) + 1;
    trouble.failing.set(name, inARow);
    if (inARow > 1 || !passing.has(kind)) this.#tell(job, trouble, error);
  }

  worked(name: string, { kind }: PollJob): void {
    if (this.#isOver(kind, name)) this.#log.info({ poll: kind }, `polling ${subjects[kind]} works again`);
  }

  /** These are not asked for any more. */
  forget(names: Iterable<string>): void {
    for (const name of names) for (const kind of this.#byKind.keys()) this.#isOver(kind, name);
  }

  /** Whether this was the last one to fail of a kind of which that was told. */
  #isOver(kind: PollJob["kind"], name: string): boolean {
    const trouble = this.#byKind.get(kind);
    if (trouble?.failing.delete(name) !== true || trouble.failing.size > 0) return false;
    const { isTold } = trouble;
    trouble.isTold = false;
    return isTold;
  }

  #tell(job: PollJob, trouble: Trouble, { message, facts }: PlatformError): void {
    const now = this.#now();
    if (trouble.isTold || now - trouble.toldAt < tellAgainMs) return;
    trouble.isTold = true;
    trouble.toldAt = now;
    const controller = "code" in job ? job.code : undefined;
    const first = controller === undefined ? "" : ` (${controller} was the first)`;
    const { operation, code, platformMessage, requestId } = facts;
    this.#log.warn(
      {
        ...{ poll: job.kind, controller, operation, code },
        ...{ platform_message: platformMessage, request_id: requestId },
      },
      `polling ${subjects[job.kind]} fails${first}, so what is shown of them grows old: ${message}`,
    );
  }
}

const subjects = {
  controllers: "the list of controllers",
  devices: "the list of other devices",
  connection: "the status of single devices",
  sensors: "sensors",
  running_status: "running statuses",
  registers: "actuators and parameters",
} as const satisfies Record<PollJob["kind"], string>;

interface PollerPorts extends Omit<PollPorts, "tally" | "turn"> {
  readonly budget: RequestBudget;
  readonly random: Random;
  readonly log: Logger;
}

interface PollerSettings {
  readonly intervals: PollIntervals;
  readonly concurrency: number;
  readonly requestsPerMinute: number;
  /** Told when the demand changes: by how much intervals stretch. */
  readonly onStretch: (factor: number) => void;
  /** Everything of a controller that was taken up has been asked for once. */
  readonly onTried: (code: string) => void;
}

const idleMs = 60_000;
/** Smaller changes of the stretch are not worth new intervals. */
const noticeable = 0.1;

/** Asks for everything in turn: one request per job at a time, spread over the interval, within the budget. */
export class Poller {
  readonly tally: PollTally;
  readonly #settings: PollerSettings;
  readonly #ports: PollerPorts & PollPorts;
  readonly #book = new PollSchedule();
  readonly #troubles: PollTroubles;
  readonly #rest: Rest;
  readonly #running = new Map<string, Promise<void>>();
  readonly #awaited = new Map<string, (() => void)[]>();
  /** By code: jobs that have not ended since the controller was taken up. */
  readonly #untried = new Map<string, Set<string>>();
  /** By code, undefined for all: the round under way, and the one after it once somebody asks for that. */
  readonly #rounds = new Map<string | undefined, { under: Promise<void>; next: Promise<void> | null }>();
  #stretch = 1;
  #demandChanged = true;

  constructor(settings: PollerSettings, ports: PollerPorts) {
    this.#settings = settings;
    this.tally = new PollTally(ports.clock);
    this.#ports = { ...ports, tally: this.tally, turn: (signal) => ports.budget.turn(ports.clock, signal) };
    this.#rest = new Rest(ports.clock);
    this.#troubles = new PollTroubles(
      ports.log,
      () => ports.clock.monotonic(),
      (host) => this.#book.isAway(host),
    );
  }

  get stretch(): number {
    return this.#stretch;
  }

  /** In force, of what is asked for again and again: an account without sensors is only asked for its lists. */
  get shortestIntervalMs(): number {
    return Math.min(...Array.from(this.#book.jobs(), (job) => this.#plainIntervalMs(job))) * this.#stretch;
  }

  /** What the jobs cost at the intervals in force. */
  callsPerHour(): PollCost {
    return callsPerHour(this.#book.jobs(), (job) => this.#plainIntervalMs(job) * this.#stretch);
  }

  /** Polls until the signal aborts; running requests are aborted with it. */
  async run(signal: AbortSignal): Promise<void> {
    this.#book.add({ kind: "controllers" });
    this.#book.add({ kind: "devices", dataType: "TEXT" });
    this.#book.add({ kind: "devices", dataType: "STREAM" });
    for (const controller of this.#ports.store.controllers()) this.follow(controller.info.code);
    // What is offline is asked less often, so one that comes or goes is another demand.
    const stopWatching = this.#ports.store.onChange((before, after) => {
      if (before?.availability !== after?.availability) this.#demandChanged = true;
    });
    while (!signal.aborted) {
      const pauseMs = this.#startDue(signal);
      if (pauseMs > 0) await this.#rest.for(pauseMs, signal);
    }
    stopWatching();
    await Promise.allSettled(this.#running.values());
    this.#drop(() => true);
  }

  /** Takes up a controller's jobs. */
  follow(code: string): void {
    const controller = this.#ports.store.get(code);
    if (!controller) return;
    const untried = this.#untried.get(code) ?? new Set();
    for (const job of jobsOf(controller, this.#ports.inventory.hasReadings(code)))
      if (this.#book.add(job) && job.kind !== "connection") untried.add(jobName(job));
    if (untried.size > 0) this.#untried.set(code, untried);
    this.#demandChanged = true;
    this.#rest.wake();
  }

  forget(code: string): void {
    this.#drop((job) => concerns(job, code));
    this.tally.forget(code);
    this.#untried.delete(code);
    this.#rounds.delete(code);
  }

  /** The chosen jobs are not asked for any more. */
  #drop(chosen: (job: PollJob) => boolean): void {
    const names = this.#book.remove(chosen);
    for (const name of names) this.#answerWaiting(name);
    this.#troubles.forget(names);
    this.#demandChanged = true;
  }

  /** Asks a controller's single-device status before everything else that is due. */
  askConnection(code: string): void {
    this.#book.runAgainAt(jobName({ kind: "connection", code }), 0);
    this.#rest.wake();
  }

  hostReachable(host: PlatformHost, reachable: boolean): void {
    const now = this.#ports.clock.monotonic();
    if (reachable) this.#book.hostBack(host, now);
    else {
      this.#book.hostAway(host, now);
      // These are not asked before it is back, and a request for a refresh would wait as long.
      for (const name of this.#book.namesOf(host)) if (!this.#running.has(name)) this.#answerWaiting(name);
    }
    this.#rest.wake();
  }

  /**
   * Asks for everything (of one controller, where given) and resolves when each has been tried. Who asks while a round is under way
   * shares the next one with everybody else who does: this one may have passed over what he wants to see.
   */
  refresh(code?: string): Promise<void> {
    const round = this.#rounds.get(code) ?? { under: Promise.resolve(), next: null };
    this.#rounds.set(code, round);
    round.next ??= round.under.then(() => {
      round.next = null;
      return (round.under = this.#readNow(code));
    });
    return round.next;
  }

  async #readNow(code: string | undefined): Promise<void> {
    const now = this.#ports.clock.monotonic();
    const names = this.#book.makeDue(now, (job) => code === undefined || concerns(job, code));
    this.#rest.wake();
    const nextEnd = (name: string) =>
      new Promise<void>((resolve) => this.#awaited.set(name, [...(this.#awaited.get(name) ?? []), resolve]));
    await Promise.all(names.map(nextEnd));
  }

  /** Starts what is due; returns how long to sleep. */
  #startDue(signal: AbortSignal): number {
    this.#adjustStretch();
    while (this.#running.size < this.#settings.concurrency) {
      const now = this.#ports.clock.monotonic();
      const waitMs = Math.min(idleMs, this.#book.waitMs(now) ?? idleMs);
      if (waitMs > 0) return waitMs;
      const budgetMs = this.#ports.budget.waitMs(now);
      if (budgetMs > 0) return budgetMs;
      const due = this.#book.take(now);
      if (due !== null && !this.#running.has(due.name) && this.#isWanted(due)) this.#start(due, signal);
    }
    // With every place taken only an end matters, and in a sweep that is each request's: no timer is worth making.
    return Infinity;
  }

  /** A device may turn out to be a camera only after its jobs were taken up. */
  #isWanted({ job }: DueJob): boolean {
    if (job.kind !== "sensors" && job.kind !== "running_status") return true;
    if (this.#ports.inventory.hasReadings(job.code)) return true;
    this.#drop((other) => other === job);
    this.#tried(jobName(job), job.code);
    return false;
  }

  #tried(name: string, code: string): void {
    const untried = this.#untried.get(code);
    if (untried?.delete(name) !== true || untried.size > 0) return;
    this.#untried.delete(code);
    this.#settings.onTried(code);
  }

  #start({ name, job }: DueJob, signal: AbortSignal): void {
    this.#ports.budget.spend(this.#ports.clock.monotonic());
    const done = perform(job, this.#ports, signal)
      .then(() => {
        this.#troubles.worked(name, job);
        return true;
      })
      .catch((error: unknown) => {
        if (!signal.aborted && this.#book.has(name)) this.#troubles.failed(name, job, error);
        return false;
      })
      .then((worked) => this.#ended(name, job, worked));
    this.#running.set(name, done);
  }

  #ended(name: string, job: PollJob, worked: boolean): void {
    this.#running.delete(name);
    const plainMs = this.#plainIntervalMs(job);
    // What is asked once is asked again until it was answered.
    const againMs = worked ? plainMs : Math.min(plainMs, this.#settings.intervals.controllers);
    const next = job.kind === "controllers" ? notBefore : nextDueAt;
    if (Number.isFinite(againMs)) {
      const now = this.#ports.clock.monotonic();
      this.#book.runAgainAt(name, next(name, now, againMs * this.#stretch, this.#ports.random()));
    }
    this.#answerWaiting(name);
    if ("code" in job) this.#tried(name, job.code);
    this.#rest.wake();
  }

  #answerWaiting(name: string): void {
    for (const resolve of this.#awaited.get(name) ?? []) resolve();
    this.#awaited.delete(name);
  }

  #adjustStretch(): void {
    if (!this.#demandChanged) return;
    this.#demandChanged = false;
    let perMinute = 0;
    for (const job of this.#book.jobs()) perMinute += 60_000 / this.#plainIntervalMs(job);
    const stretch = stretchFactor(perMinute, this.#settings.requestsPerMinute);
    const change = Math.abs(stretch - this.#stretch) / this.#stretch;
    if (change < noticeable && (stretch === 1) === (this.#stretch === 1)) return;
    this.#stretch = stretch;
    this.#settings.onStretch(stretch);
  }

  #plainIntervalMs(job: PollJob): number {
    const controller = "code" in job ? this.#ports.store.get(job.code) : undefined;
    return jobIntervalMs(job, this.#settings.intervals, controller);
  }
}

const concerns = (job: PollJob, code: string) => "code" in job && job.code === code;
