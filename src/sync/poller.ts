import type { ParameterGroup } from "../greenhouse/device-types.js";
import type { Controller } from "../greenhouse/model.js";
import { PlatformError, type PlatformHost } from "../greenhouse/ports.js";
import { type Random, Rest } from "../runtime/clock.js";
import { hasNoFlag } from "../greenhouse/reduce.js";
import { RequestBudget } from "../runtime/schedule.js";
import {
  type DueJob,
  firstRepeatMs,
  type GuardInputs,
  isGuardInput,
  jobHost,
  jobIntervalMs,
  jobName,
  jobRequest,
  jobsOf,
  nextDueAt,
  notBefore,
  type PollIntervals,
  type PollJob,
  PollSchedule,
  rareMs,
  stretchFactor,
  withinInterval,
} from "./poll-plan.js";
import { callsPerHour, perform, type PollCost, type PollPorts, PollTally } from "./poll-reads.js";
import { type Compared, ReadComparison } from "./read-comparison.js";

/** Is told how jobs end. */
interface PollOutcomes {
  onWorked(name: string, job: PollJob): void;
  /** Whether this is the first failure in a row, and none of the host as a whole. */
  onFailed(name: string, job: PollJob, error: unknown): boolean;
  /** These are not asked for any more. */
  forget(names: Iterable<string>): void;
}

interface PollerSettings {
  readonly intervals: PollIntervals;
  readonly concurrency: number;
  readonly requestsPerMinute: number;
  /** Spreads what would leave together. */
  readonly random: Random;
  /** Told when the demand changes: by how much intervals stretch. */
  readonly onStretch: (factor: number) => void;
  /** Both reads of this address differ for longer than it travels: `get-value` counts from now on. */
  readonly onApart?: (found: Compared) => void;
  /** These addresses are read one by one from now on, for the answer about their group does not hold them. */
  readonly onUnlisted?: (code: string, group: ParameterGroup, addresses: readonly string[]) => void;
  /** A controller is to show the address of its video. */
  readonly showsVideos?: boolean;
  /** What guards look at is read first. */
  readonly guardInputs?: GuardInputs;
}

const idleMs = 60_000;
const askAnotherEveryMs = 5_000;
/** The least time between reads of a device without readings, whatever is pushed about it. */
const signGapMs = 60_000;
/** Addresses are compared once, so there is no hurry: at this distance, and with an eighth of the budget at most. */
const checkGapMs = 1_000;
const checkPart = 1 / 8;
/** Smaller changes of the stretch are not worth new intervals. */
const noticeable = 0.1;
/** What is asked for soon may take a quarter of the budget, and the status of single devices half of it. */
const soonPart = 1 / 4;
const connectionPart = 1 / 2;
/** Of the places, so many may be kept by controllers that did not answer; the others are read through the rest. */
const silentPart = 1 / 2;
/** Of few devices the status is asked for at this distance. */
const longestConnectionGapMs = 1_000;

/** A read that brought nothing. */
export interface FailedRead {
  /** Null for a list of the whole account. */
  readonly code: string | null;
  /** As the platform calls the request. */
  readonly request: string;
  readonly why: string;
}

const awayText = (host: PlatformHost): string => `the ${host} host cannot be reached`;

interface Round {
  under: Promise<readonly FailedRead[]>;
  next: Promise<readonly FailedRead[]> | null;
}

const failedRead = (job: PollJob, why: string): FailedRead => ({
  code: "code" in job ? job.code : null,
  request: jobRequest(job),
  why,
});

/** Asks for everything in turn: one request per job at a time, spread over the interval, within the budget. */
export class Poller {
  readonly tally: PollTally;
  readonly #settings: PollerSettings;
  readonly #ports: PollPorts;
  readonly #budget: RequestBudget;
  readonly #troubles: PollOutcomes;
  readonly #schedule: PollSchedule;
  readonly #rest: Rest;
  /** Codes of controllers that are offline no more, until their jobs are brought forward. */
  readonly #back = new Set<string>();
  readonly #running = new Map<string, Promise<void>>();
  /** What was not answered in time when it was asked last: controllers by code, and each read by its name. */
  readonly #silent = new Set<string>();
  /** Names of reads under way that were so when they began. */
  readonly #silentRunning = new Set<string>();
  /** Names of reads that failed for the credential last. */
  readonly #unauthorized = new Set<string>();
  /** By name, of what is asked for rarely: how often it failed without ever having been answered; Infinity once it was. */
  readonly #unanswered = new Map<string, number>();
  readonly #awaited = new Map<string, ((why: string | null) => void)[]>();
  /** By code: jobs that have not ended since the controller was taken up. */
  readonly #untried = new Map<string, Set<string>>();
  /** Requests that did not work when they were made last. */
  readonly #failing = new Set<string>();
  readonly #askedAnotherAt = new Map<PlatformHost, number>();
  readonly #triedListeners: ((code: string) => void)[] = [];
  /** By code, undefined for all: the round under way, and the one after it once somebody asks for that. */
  readonly #rounds = new Map<string | undefined, Round>();
  /** Told of each read that ends, with why it failed; null where it did not. */
  readonly #endListeners = new Set<(job: PollJob, why: string | null) => void>();
  readonly #comparison = new ReadComparison();
  /** The address that is being read so that it can be compared. */
  #check: ReturnType<ReadComparison["next"]> = null;
  /** By code: addresses that the answer about their group leaves out, with that group. */
  readonly #unlisted = new Map<string, Map<string, ParameterGroup>>();
  /** Where between two whole seconds the polls of this account leave. */
  readonly #slotShare: number;
  #stretch = 1;
  #demandChanged = true;

  constructor(
    settings: PollerSettings,
    reads: Pick<PollPorts, "platform" | "store" | "inventory" | "clock">,
    budget: RequestBudget,
    troubles: PollOutcomes,
  ) {
    this.#settings = settings;
    this.#budget = budget;
    this.#troubles = troubles;
    this.tally = new PollTally(reads.clock);
    this.#ports = {
      ...reads,
      tally: this.tally,
      turn: (signal) => budget.turn(reads.clock, signal),
      onGroup: (code, group, unlisted) => this.#onGroup(code, group, unlisted),
      comparison: this.#comparison,
      onApart: (found) => this.#onApart(found),
    };
    this.#rest = new Rest(reads.clock);
    this.#slotShare = settings.random();
    this.#schedule = new PollSchedule({
      soon: new RequestBudget(Math.ceil(settings.requestsPerMinute * soonPart)),
      connectionGapMs: () => this.#connectionGapMs(),
      silentPart: (job) => this.#silentPart(job),
      hasSilentPlace: () =>
        this.#silentRunning.size < Math.max(1, Math.floor(settings.concurrency * silentPart)),
    });
  }

  /** Calls back when everything of a controller that was taken up has been asked for once. */
  onTried(listener: (code: string) => void): void {
    this.#triedListeners.push(listener);
  }

  get stretch(): number {
    return this.#stretch;
  }

  /** In force, of what is asked for again and again: an account without sensors is only asked for its lists. */
  get shortestIntervalMs(): number {
    return (
      Math.min(...Array.from(this.#schedule.jobs(), (job) => this.#plainIntervalMs(job))) * this.#stretch
    );
  }

  /** Addresses whose group tells another value than they do themselves, by device code. */
  apart(): ReadonlyMap<string, ReadonlySet<string>> {
    return this.#comparison.apart;
  }

  /** Addresses that are read one by one because the answer about their group leaves them out, by device code. */
  unlistedGroups(): ReadonlyMap<string, ReadonlyMap<string, ParameterGroup>> {
    return this.#unlisted;
  }

  /** What the jobs cost at the intervals in force. */
  callsPerHour(): PollCost {
    return callsPerHour(this.#schedule.jobs(), (job) => this.#plainIntervalMs(job) * this.#stretch);
  }

  /** Polls until the signal aborts; running requests are aborted with it. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#ports.inventory.restore();
    this.#schedule.add({ kind: "controllers" });
    this.#schedule.add({ kind: "devices", dataType: "TEXT" });
    this.#schedule.add({ kind: "devices", dataType: "STREAM" });
    if (this.#settings.showsVideos === true) this.#schedule.add({ kind: "videos" });
    for (const controller of this.#ports.store.controllers()) this.follow(controller.info.code);
    // What is offline is asked less often, so one that comes or goes is another demand.
    const stopWatching = this.#ports.store.onChange(
      (before, after) => {
        this.#demandChanged = true;
        if (before?.availability !== "offline" || after === undefined) return;
        this.#back.add(after.info.code);
        this.#rest.wake();
      },
      ["availability"],
    );
    while (!signal.aborted) {
      const pauseMs = this.#startDue(signal);
      if (pauseMs > 0) await this.#rest.for(pauseMs, signal);
    }
    stopWatching();
    await Promise.allSettled(this.#running.values());
    this.#drop(() => true);
  }

  /** What was offline has news, and its next reads may be minutes away. One list may bring back thousands, so all at once. */
  #takeBack(): void {
    if (this.#back.size === 0) return;
    const isBack = (job: PollJob) => "code" in job && this.#back.has(job.code);
    const intervalMs = (job: PollJob) => this.#plainIntervalMs(job) * this.#stretch;
    this.#schedule.bringForward(this.#ports.clock.monotonic(), isBack, intervalMs);
    this.#back.clear();
  }

  /** Takes up a controller's jobs. */
  follow(code: string): void {
    const controller = this.#ports.store.get(code);
    if (!controller) return;
    const untried = this.#untried.get(code) ?? new Set();
    // A controller is shown once all of it was asked for. So many as are asked at once need not wait for the sensors of all others.
    const isAhead = this.#untried.size < this.#settings.concurrency;
    for (const job of jobsOf(controller, this.#ports.inventory.readingsOf(code) !== "none"))
      if (this.#add(job, controller, isAhead) && job.kind !== "connection") untried.add(jobName(job));
    if (untried.size > 0) this.#untried.set(code, untried);
    else this.#planConnection(code);
    this.#demandChanged = true;
    this.#rest.wake();
  }

  forget(code: string): void {
    this.#drop((job) => concerns(job, code));
    this.tally.forget(code);
    this.#untried.delete(code);
    this.#rounds.delete(code);
    this.#unlisted.delete(code);
    this.#comparison.forget(code);
    if (this.#check?.code === code) this.#check = null;
    this.#silent.delete(code);
    this.#planCheck();
  }

  #add(job: PollJob, controller: Controller, isAhead = false): boolean {
    const { guardInputs } = this.#settings;
    const isInput = guardInputs !== undefined && isGuardInput(job, controller, guardInputs);
    return this.#schedule.add(job, { isInput, isAhead });
  }

  #addRead(code: string, address: string): void {
    const controller = this.#ports.store.get(code);
    if (controller !== undefined) this.#add(singleRead(code, address), controller);
  }

  #silentPart(job: PollJob): "itself" | "controller" | null {
    if (!("code" in job)) return null;
    return this.#silent.has(jobName(job)) ? "itself" : this.#silent.has(job.code) ? "controller" : null;
  }

  #noteEnd(name: string, job: PollJob, error: unknown): void {
    const kind = error instanceof PlatformError ? error.facts.kind : null;
    if (kind === "unauthorized") this.#unauthorized.add(name);
    else this.#unauthorized.delete(name);
    // What an account has no right to, it has none to for each of its controllers.
    if (error === null || (job.kind === "averages" && kind === "rejected"))
      this.#unanswered.set(name, Infinity);
    this.#noteSilence(name, job, error);
  }

  /** One that answers something may still leave another read without an answer. */
  #noteSilence(name: string, job: PollJob, error: unknown): void {
    if (!("code" in job)) return;
    const names = [name, job.code];
    // Of the connection the platform itself knows.
    if (error === null && job.kind !== "connection") for (const one of names) this.#silent.delete(one);
    if (error instanceof PlatformError && error.facts.kind === "timeout")
      for (const one of names) this.#silent.add(one);
  }

  /** What a group does not list would never be read; what it lists again needs no request of its own. A controller that is gone may list nothing. */
  #onGroup(code: string, group: ParameterGroup, unlisted: readonly string[]): void {
    if (this.#ports.store.get(code)?.availability === "offline") return;
    const known = this.#unlisted.get(code) ?? new Map<string, ParameterGroup>();
    const found = unlisted.filter((address) => !known.has(address));
    const listed = [...known].filter(
      ([address, of]) =>
        of === group && !unlisted.includes(address) && !this.#comparison.isApart(code, address),
    );
    if (found.length === 0 && listed.length === 0) return;
    for (const address of found) {
      known.set(address, group);
      this.#addRead(code, address);
    }
    const names = new Set(listed.map(([address]) => jobName(singleRead(code, address))));
    for (const [address] of listed) known.delete(address);
    if (names.size > 0) this.#drop((job) => names.has(jobName(job)));
    if (known.size > 0) this.#unlisted.set(code, known);
    else this.#unlisted.delete(code);
    this.#demandChanged = true;
    this.#rest.wake();
    if (found.length > 0) this.#settings.onUnlisted?.(code, group, found);
  }

  /** The chosen jobs are not asked for any more. */
  #drop(chosen: (job: PollJob) => boolean): void {
    const names = this.#schedule.remove(chosen);
    for (const name of names) {
      this.#answerWaiting(name, null);
      this.#forgetEnds(name);
    }
    this.#troubles.forget(names);
    this.#demandChanged = true;
  }

  /** How reads of this name ended. */
  #forgetEnds(name: string): void {
    for (const noted of [this.#silent, this.#unauthorized, this.#unanswered]) noted.delete(name);
  }

  /**
   * Reads before what is due by its interval, for something says that it is not as it is shown: what that `said` of it, null where it
   * told no value. Not sooner than `gapMs` after the last read of it began; a read that fails is made again a few times.
   */
  readSoon(job: PollJob, gapMs: number, said: string | null): void {
    this.#schedule.readSoon(job, this.#ports.clock.monotonic(), gapMs, said);
    this.#rest.wake();
  }

  /** Whether what was asked for soon has not been read since. */
  isWanted(job: PollJob): boolean {
    return this.#schedule.isWanted(jobName(job));
  }

  /** A list has told what the single-device status was to be asked for. */
  spareConnection(code: string): void {
    const name = jobName({ kind: "connection", code });
    if (!this.#schedule.takeBack(name)) return;
    this.#answerWaiting(name, null);
    this.#planConnection(code);
  }

  /**
   * A first time after everything else of the controller was read: at once where no list tells whether it is online, else within
   * an interval, for what it says besides. The platform advises against asking it of many at a time.
   */
  #planConnection(code: string): void {
    const job = { kind: "connection", code } as const;
    const name = jobName(job);
    const controller = this.#ports.store.get(code);
    const isAsked = this.#schedule.isWanted(name) || this.tally.answeredAt("connection", code) !== null;
    if (controller === undefined || isAsked) return;
    const now = this.#ports.clock.monotonic();
    if ((controller.info.record?.online ?? null) === null) this.readSoon(job, 0, null);
    else this.#schedule.runAgainAt(name, withinInterval(name, now, this.#settings.intervals.controllers));
    this.#rest.wake();
  }

  #connectionGapMs(): number {
    const { intervals, requestsPerMinute } = this.#settings;
    const everyMs = intervals.controllers / (this.#ports.store.size + 1);
    const budgetMs = requestsPerMinute === 0 ? 0 : 60_000 / (requestsPerMinute * connectionPart);
    return Math.max(Math.min(longestConnectionGapMs, everyMs), budgetMs);
  }

  hostReachable(host: PlatformHost, reachable: boolean): void {
    const now = this.#ports.clock.monotonic();
    const intervalMs = (job: PollJob) => this.#plainIntervalMs(job) * this.#stretch;
    if (reachable) this.#schedule.hostBack(host, now, intervalMs, this.#failing);
    else {
      this.#schedule.hostAway(host, now);
      // These are not asked before it is back, and a request for a refresh would wait as long.
      for (const name of this.#schedule.namesOf(host))
        if (!this.#running.has(name)) this.#answerWaiting(name, awayText(host));
    }
    this.#rest.wake();
  }

  /** What failed for the credential is asked for again. */
  credentialRenewed(): void {
    const isMeant = (job: PollJob) => this.#unauthorized.has(jobName(job));
    this.#schedule.bringForward(this.#ports.clock.monotonic(), isMeant, () => firstRepeatMs);
    this.#rest.wake();
  }

  /** Asks at once for what this request has shown, of one controller where given. */
  readAnew(request: string, code: string | undefined): void {
    const isMeant = (job: PollJob) =>
      jobRequest(job) === request && (code === undefined || concerns(job, code)) && isPlanned(job);
    this.#schedule.makeDue(this.#ports.clock.monotonic(), isMeant);
    this.#rest.wake();
  }

  /** What this request asks for has no answer: another one shows whether the host is there, asked now and then only. */
  askAnother(host: PlatformHost, request: string): void {
    const now = this.#ports.clock.monotonic();
    if (now - (this.#askedAnotherAt.get(host) ?? -Infinity) < askAnotherEveryMs) return;
    this.#askedAnotherAt.set(host, now);
    this.#failing.add(request);
    this.#schedule.askAnother(host, this.#failing, now);
    this.#rest.wake();
  }

  /**
   * Asks for everything (of one controller, where given) and resolves with what failed when each has been tried. Who asks while a round is under way
   * shares the next one with everybody else who does: this one may have passed over what he wants to see.
   */
  refresh(code?: string): Promise<readonly FailedRead[]> {
    const round: Round = this.#rounds.get(code) ?? { under: Promise.resolve([]), next: null };
    this.#rounds.set(code, round);
    round.next ??= round.under.then(() => {
      round.next = null;
      return (round.under = this.#readNow(code));
    });
    return round.next;
  }

  /** What these reads ask for in turn belongs to the round: the status of what a list doubts, all of what a list has added. */
  async #readNow(code: string | undefined): Promise<readonly FailedRead[]> {
    const failed = new Map<string, FailedRead>();
    const note = (job: PollJob, why: string | null) => {
      if (!isPlanned(job) || !isOf(job, code)) return;
      if (why === null) failed.delete(jobName(job));
      else failed.set(jobName(job), failedRead(job, why));
    };
    this.#endListeners.add(note);
    const read = new Set<string>();
    for (let jobs = this.#makeDue(code); jobs.length > 0; jobs = this.#dueBeside(read, code)) {
      for (const job of jobs) read.add(jobName(job));
      await Promise.all(jobs.map(async (job) => note(job, await this.#nextEnd(job))));
    }
    this.#endListeners.delete(note);
    return [...failed.values()];
  }

  #makeDue(code: string | undefined): readonly PollJob[] {
    const isMeant = (job: PollJob) => (isRepeated(job) || this.#isUntold(job)) && isOf(job, code);
    this.#schedule.makeDue(this.#ports.clock.monotonic(), isMeant);
    this.#rest.wake();
    return [...this.#schedule.jobs()].filter(isMeant);
  }

  /** What is due or under way beside these. */
  #dueBeside(read: ReadonlySet<string>, code: string | undefined): readonly PollJob[] {
    const now = this.#ports.clock.monotonic();
    return [...this.#schedule.jobs()].filter((job) => {
      const name = jobName(job);
      if (read.has(name) || !isPlanned(job) || !isOf(job, code)) return false;
      return this.#running.has(name) || this.#schedule.isDue(name, now);
    });
  }

  /** Why it failed; null where it did not. A host that is away is not asked before it is back. */
  async #nextEnd(job: PollJob): Promise<string | null> {
    const name = jobName(job);
    const host = jobHost(job);
    if (this.#schedule.isAway(host) && !this.#running.has(name)) return awayText(host);
    return new Promise((resolve) => this.#awaited.set(name, [...(this.#awaited.get(name) ?? []), resolve]));
  }

  /** Whether nothing but its own status could tell whether it is online, and that did not. */
  #isUntold(job: PollJob): boolean {
    const controller = job.kind === "connection" ? this.#ports.store.get(job.code) : undefined;
    return controller !== undefined && controller.availability === "unknown" && hasNoFlag(controller);
  }

  /** Starts what is due; returns how long to sleep. */
  #startDue(signal: AbortSignal): number {
    this.#adjustStretch();
    this.#takeBack();
    while (this.#running.size < this.#settings.concurrency) {
      const now = this.#ports.clock.monotonic();
      const waitMs = Math.min(idleMs, this.#schedule.waitMs(now) ?? idleMs);
      if (waitMs > 0) return waitMs;
      const budgetMs = this.#budget.waitMs(now);
      if (budgetMs > 0) return budgetMs;
      const due = this.#schedule.take(now);
      if (due !== null && !this.#running.has(due.name) && this.#isWanted(due)) this.#start(due, signal);
    }
    // With every place taken only an end matters, and in a sweep that is each request's: no timer is worth making.
    return Infinity;
  }

  /** A device may turn out to be a camera only after its jobs were taken up. */
  #isWanted({ job }: DueJob): boolean {
    if (job.kind !== "sensors" && job.kind !== "running_status") return true;
    if (this.#ports.inventory.readingsOf(job.code) !== "none") return true;
    this.#drop((other) => other === job);
    this.#onTried(jobName(job), job.code);
    return false;
  }

  #onTried(name: string, code: string): void {
    const untried = this.#untried.get(code);
    if (untried?.delete(name) !== true || untried.size > 0) return;
    this.#untried.delete(code);
    this.#planConnection(code);
    for (const listener of this.#triedListeners) listener(code);
  }

  #start({ name, job }: DueJob, signal: AbortSignal): void {
    const now = this.#ports.clock.monotonic();
    this.#budget.spend(now);
    this.#schedule.onBegun(name, now);
    if (this.#silentPart(job) !== null) this.#silentRunning.add(name);
    const said = {
      last: () => this.#schedule.saidOf(name),
      meanwhile: () => this.#schedule.saidSince(name),
    };
    const done = perform(job, this.#ports, signal, said)
      .then(() => {
        this.#failing.delete(jobRequest(job));
        this.#troubles.onWorked(name, job);
        if (this.#schedule.has(name)) this.#noteEnd(name, job, null);
        return null;
      })
      .catch((error: unknown) => {
        const why = error instanceof Error ? error.message : String(error);
        if (signal.aborted || !this.#schedule.has(name)) return why;
        this.#failing.add(jobRequest(job));
        this.#noteEnd(name, job, error);
        this.#onFailed(name, job, error);
        return why;
      })
      .then((why) => this.#onEnded(name, job, why));
    this.#running.set(name, done);
  }

  /** A controller whose reads begin to fail may be gone, and the next list is minutes away. */
  #onFailed(name: string, job: PollJob, error: unknown): void {
    const isFirst = this.#troubles.onFailed(name, job, error);
    if (!isFirst || !("code" in job) || job.kind === "connection") return;
    if (this.#ports.store.get(job.code)?.availability !== "online") return;
    this.readSoon({ kind: "connection", code: job.code }, this.#settings.intervals.controllers, null);
  }

  /** `why` it failed; null where it did not. */
  #onEnded(name: string, job: PollJob, why: string | null): void {
    const worked = why === null;
    this.#running.delete(name);
    this.#silentRunning.delete(name);
    const now = this.#ports.clock.monotonic();
    const againMs = worked ? this.#plainIntervalMs(job) : this.#againMs(name, job);
    const at = againMs === Infinity ? againMs : this.#dueAt(name, job, now, againMs * this.#stretch);
    const comesAgain = this.#schedule.onEnded(name, worked, now, at);
    // What is left to others to read is no trouble of its own.
    if (!comesAgain) this.#troubles.forget([name]);
    this.#answerWaiting(name, why);
    for (const listener of this.#endListeners) listener(job, why);
    if ("code" in job) this.#onTried(name, job.code);
    this.#onCheckEnded(name, worked);
    this.#rest.wake();
  }

  /** After how long a read that failed is made again. */
  #againMs(name: string, job: PollJob): number {
    const { controllers } = this.#settings.intervals;
    const plainMs = this.#plainIntervalMs(job);
    // A status is asked once, until it was answered; a fresh read is left to polling.
    if (job.kind === "connection") return Math.min(plainMs, controllers);
    if (jobHost(job) === "realtime" && !this.#isRare(job)) return plainMs;
    // What a start missed would be missing for an hour.
    const failures = this.#unanswered.get(name) ?? 0;
    this.#unanswered.set(name, failures + 1);
    const mostMs = job.kind === "devices" ? Math.min(plainMs, controllers) : plainMs;
    // Lists of the account are few; what fails for each of thousands would take the budget of all others.
    const firstMs = "code" in job ? Math.min(plainMs, controllers) : firstRepeatMs;
    // One that was answered before is said to be unusable until it is again, which its own interval would make an hour.
    const laterMs = "code" in job ? plainMs : Math.min(plainMs, controllers);
    return failures === Infinity ? laterMs : Math.min(mostMs, firstMs * 2 ** failures);
  }

  #dueAt(name: string, job: PollJob, now: number, intervalMs: number): number {
    const chance = this.#settings.random();
    return job.kind === "controllers"
      ? notBefore(now, intervalMs, chance)
      : nextDueAt(name, now, intervalMs, chance, this.#slotShare);
  }

  /** Addresses that a group has shown are read once by themselves, one after the other, at a pace of their own. */
  #planCheck(): void {
    for (;;) {
      if (this.#check !== null) return;
      this.#check = this.#comparison.next();
      if (this.#check === null) return;
      const job = freshRead(this.#check);
      // One that is read anyhow is compared as well.
      if (this.#schedule.has(jobName(job))) this.#check = null;
      else {
        this.#schedule.add(job);
        this.#schedule.runAgainAt(jobName(job), this.#ports.clock.monotonic() + this.#checkGapMs());
      }
    }
  }

  #checkGapMs(): number {
    const { requestsPerMinute } = this.#settings;
    return requestsPerMinute === 0
      ? checkGapMs
      : Math.max(checkGapMs, 60_000 / (requestsPerMinute * checkPart));
  }

  #onCheckEnded(name: string, worked: boolean): void {
    const check = this.#check;
    if (check !== null && jobName(freshRead(check)) === name) {
      this.#check = null;
      if (!worked) this.#comparison.onFailed(check);
      this.#schedule.discard(name);
      if (!this.#schedule.has(name)) this.#forgetEnds(name);
    }
    this.#planCheck();
  }

  /** Both reads go on differing: the address is read by itself, and its group passed over. */
  #onApart(found: Compared): void {
    this.#addRead(found.code, found.address);
    this.#demandChanged = true;
    this.#rest.wake();
    this.#settings.onApart?.(found);
  }

  /** `why` nothing was read; null also where it is not to be read any more. */
  #answerWaiting(name: string, why: string | null): void {
    for (const resolve of this.#awaited.get(name) ?? []) resolve(why);
    this.#awaited.delete(name);
  }

  #adjustStretch(): void {
    if (!this.#demandChanged) return;
    this.#demandChanged = false;
    let perMinute = 0;
    for (const job of this.#schedule.jobs()) perMinute += 60_000 / this.#plainIntervalMs(job);
    const stretch = stretchFactor(perMinute, this.#settings.requestsPerMinute);
    const change = Math.abs(stretch - this.#stretch) / this.#stretch;
    if (change < noticeable && (stretch === 1) === (this.#stretch === 1)) return;
    this.#stretch = stretch;
    this.#settings.onStretch(stretch);
  }

  #plainIntervalMs(job: PollJob): number {
    const controller = "code" in job ? this.#ports.store.get(job.code) : undefined;
    const usualMs = jobIntervalMs(job, this.#settings.intervals, controller, this.#ports.store.size);
    return this.#isRare(job) ? Math.max(rareMs, usualMs) : usualMs;
  }

  #isRare(job: PollJob): boolean {
    const isReading = job.kind === "sensors" || job.kind === "running_status";
    return isReading && this.#ports.inventory.readingsOf(job.code) === "rare";
  }

  /** Something was pushed of a device: one that is asked now and then only is asked at once. */
  onSign(code: string): void {
    if (this.#ports.inventory.readingsOf(code) === "rare")
      this.readSoon({ kind: "sensors", code }, signGapMs, null);
  }
}

const freshRead = ({ code, address }: Pick<Compared, "code" | "address">): PollJob => ({
  kind: "registers",
  code,
  read: { type: "fresh", address },
});

const singleRead = (code: string, address: string): PollJob => ({
  kind: "registers",
  code,
  read: { type: "address", address },
});

/** A round of everything leaves out what a list tells too, and what only news of it asks for. */
const isRepeated = (job: PollJob): boolean =>
  job.kind !== "connection" && !(job.kind === "registers" && job.read.type === "fresh");

/** What is asked for at its interval, and what a list is doubted for. */
const isPlanned = (job: PollJob): boolean => !(job.kind === "registers" && job.read.type === "fresh");

const concerns = (job: PollJob, code: string) => "code" in job && job.code === code;

/** Of the controller of this code, where one is given. */
const isOf = (job: PollJob, code: string | undefined) => code === undefined || concerns(job, code);
