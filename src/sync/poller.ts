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

/** Hears how jobs end. */
interface PollOutcomes {
  onWorked(name: string, job: PollJob): void;
  /** Returns whether this is the first failure in a row, and not that of a whole host. */
  onFailed(name: string, job: PollJob, error: unknown): boolean;
  /** Forgets jobs that are not polled any more. */
  forget(names: Iterable<string>): void;
}

interface PollerSettings {
  readonly intervals: PollIntervals;
  readonly concurrency: number;
  readonly requestsPerMinute: number;
  /** Spreads requests that would leave together. */
  readonly random: Random;
  /** Called when the demand changes, with the factor by which intervals stretch. */
  readonly onStretch: (factor: number) => void;
  /**
   * Called when both reads of an address have differed for longer than its travel time: `get-value` counts from now on.
   */
  readonly onApart?: (found: Compared) => void;
  /** Called when addresses are read one by one from now on, as the answer of their group lacks them. */
  readonly onUnlisted?: (code: string, group: ParameterGroup, addresses: readonly string[]) => void;
  /** Whether any controller has to show the address of its video. */
  readonly showsVideos?: boolean;
  /** Inputs of guards, which are read first. */
  readonly guardInputs?: GuardInputs;
}

const idleMs = 60_000;
const askAnotherEveryMs = 5_000;
/** The shortest time between reads of a device without readings, whatever is pushed about it. */
const signGapMs = 60_000;
/** The pace of comparisons, which are not urgent: at this distance, and with an eighth of the budget at most. */
const checkGapMs = 1_000;
const checkPart = 1 / 8;
/** The smallest change of the stretch that changes the intervals. */
const noticeable = 0.1;
/** The parts of the budget for urgent reads and for status requests. */
const soonPart = 1 / 4;
const connectionPart = 1 / 2;
/** The part of the places for controllers that did not answer; others keep the rest. */
const silentPart = 1 / 2;
/** The distance of status requests where there are few devices. */
const longestConnectionGapMs = 1_000;

/** A read without a result. */
export interface FailedRead {
  /** Null for a list of the whole account. */
  readonly code: string | null;
  /** The request, as the platform calls it. */
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

/** Polls everything: one request for each job at a time, spread over its interval, within the budget. */
export class Poller {
  readonly tally: PollTally;
  readonly #settings: PollerSettings;
  readonly #ports: PollPorts;
  readonly #budget: RequestBudget;
  readonly #troubles: PollOutcomes;
  readonly #schedule: PollSchedule;
  readonly #rest: Rest;
  /** Codes of controllers that are back online, until their jobs are moved forward. */
  readonly #back = new Set<string>();
  readonly #running = new Map<string, Promise<void>>();
  /** Controllers by code, and reads by name, whose last request timed out. */
  readonly #silent = new Set<string>();
  /** Names of such reads that are under way. */
  readonly #silentRunning = new Set<string>();
  /** Names of reads that last failed because of the credential. */
  readonly #unauthorized = new Set<string>();
  /** For rare jobs by name: how often each has failed without any answer so far; Infinity after the first answer. */
  readonly #unanswered = new Map<string, number>();
  readonly #awaited = new Map<string, ((why: string | null) => void)[]>();
  /** By code: jobs that have not ended since the controller was added. */
  readonly #untried = new Map<string, Set<string>>();
  /** Requests that failed the last time. */
  readonly #failing = new Set<string>();
  readonly #askedAnotherAt = new Map<PlatformHost, number>();
  readonly #triedListeners: ((code: string) => void)[] = [];
  /** Refresh rounds by code, undefined for all: the present one, and the next one if somebody asks for it. */
  readonly #rounds = new Map<string | undefined, Round>();
  /** Hear of each read that ends, with its failure; null for none. */
  readonly #endListeners = new Set<(job: PollJob, why: string | null) => void>();
  readonly #comparison = new ReadComparison();
  /** The address being read for a comparison. */
  #check: ReturnType<ReadComparison["next"]> = null;
  /** By code: addresses that the answer of their group lacks, with the group. */
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

  /** Calls back when everything of an added controller has been asked for once. */
  onTried(listener: (code: string) => void): void {
    this.#triedListeners.push(listener);
  }

  get stretch(): number {
    return this.#stretch;
  }

  /** The shortest interval in force of repeated jobs; an account without sensors has only its lists. */
  get shortestIntervalMs(): number {
    return (
      Math.min(...Array.from(this.#schedule.jobs(), (job) => this.#plainIntervalMs(job))) * this.#stretch
    );
  }

  /** Addresses whose group shows another value than they do themselves, by device code. */
  apart(): ReadonlyMap<string, ReadonlySet<string>> {
    return this.#comparison.apart;
  }

  /** Addresses that are read one by one as the answer of their group lacks them, by device code. */
  unlistedGroups(): ReadonlyMap<string, ReadonlyMap<string, ParameterGroup>> {
    return this.#unlisted;
  }

  /** The cost of the jobs at the intervals in force. */
  callsPerHour(): PollCost {
    return callsPerHour(this.#schedule.jobs(), (job) => this.#plainIntervalMs(job) * this.#stretch);
  }

  /** Polls until the signal aborts, which aborts running requests too. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#ports.inventory.restore();
    this.#schedule.add({ kind: "controllers" });
    this.#schedule.add({ kind: "devices", dataType: "TEXT" });
    this.#schedule.add({ kind: "devices", dataType: "STREAM" });
    if (this.#settings.showsVideos === true) this.#schedule.add({ kind: "videos" });
    for (const controller of this.#ports.store.controllers()) this.follow(controller.info.code);
    // Offline controllers are asked less often, so coming and going changes the demand.
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

  /**
   * Moves the jobs of returned controllers forward, as their next reads may be minutes away. One list may bring back
   * thousands, so all are moved at once.
   */
  #takeBack(): void {
    if (this.#back.size === 0) return;
    const isBack = (job: PollJob) => "code" in job && this.#back.has(job.code);
    const intervalMs = (job: PollJob) => this.#plainIntervalMs(job) * this.#stretch;
    this.#schedule.bringForward(this.#ports.clock.monotonic(), isBack, intervalMs);
    this.#back.clear();
  }

  /** Adds a controller's jobs. */
  follow(code: string): void {
    const controller = this.#ports.store.get(code);
    if (!controller) return;
    const untried = this.#untried.get(code) ?? new Set();
    // A controller is shown once all of it was asked for. The first few need not wait for the sensors of all others.
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
    // An account without the right to averages has none for any controller.
    if (error === null || (job.kind === "averages" && kind === "rejected"))
      this.#unanswered.set(name, Infinity);
    this.#noteSilence(name, job, error);
  }

  /** Notes time-outs. A controller that answers some reads may still leave others unanswered. */
  #noteSilence(name: string, job: PollJob, error: unknown): void {
    if (!("code" in job)) return;
    const names = [name, job.code];
    // The platform itself knows the connection, so that answer says nothing about the controller.
    if (error === null && job.kind !== "connection") for (const one of names) this.#silent.delete(one);
    if (error instanceof PlatformError && error.facts.kind === "timeout")
      for (const one of names) this.#silent.add(one);
  }

  /**
   * Addresses that a group lacks get reads of their own, and lose them when it lists them again. The group of an
   * offline controller may list nothing.
   */
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

  /** Stops polling the chosen jobs. */
  #drop(chosen: (job: PollJob) => boolean): void {
    const names = this.#schedule.remove(chosen);
    for (const name of names) {
      this.#answerWaiting(name, null);
      this.#forgetEnds(name);
    }
    this.#troubles.forget(names);
    this.#demandChanged = true;
  }

  /** Forgets how reads of this name ended. */
  #forgetEnds(name: string): void {
    for (const noted of [this.#silent, this.#unauthorized, this.#unanswered]) noted.delete(name);
  }

  /**
   * Makes a read urgent, as something contradicts what is shown; `said` is the announced value, null for none. It
   * begins no sooner than `gapMs` after the last one; a failed read is repeated a few times.
   */
  readSoon(job: PollJob, gapMs: number, said: string | null): void {
    this.#schedule.readSoon(job, this.#ports.clock.monotonic(), gapMs, said);
    this.#rest.wake();
  }

  /** Whether an urgent read is still outstanding. */
  isWanted(job: PollJob): boolean {
    return this.#schedule.isWanted(jobName(job));
  }

  /** Cancels a status request that a list has answered. */
  spareConnection(code: string): void {
    const name = jobName({ kind: "connection", code });
    if (!this.#schedule.takeBack(name)) return;
    this.#answerWaiting(name, null);
    this.#planConnection(code);
  }

  /**
   * Plans the first status request, after everything else of the controller was read: at once where no list shows
   * whether it is online, else within an interval, for its other facts. The platform advises against asking for many at
   * a time.
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
      // Jobs of a lost host wait for its return, so requests for a refresh are answered now.
      for (const name of this.#schedule.namesOf(host))
        if (!this.#running.has(name)) this.#answerWaiting(name, awayText(host));
    }
    this.#rest.wake();
  }

  /** Repeats reads that failed because of the credential. */
  credentialRenewed(): void {
    const isMeant = (job: PollJob) => this.#unauthorized.has(jobName(job));
    this.#schedule.bringForward(this.#ports.clock.monotonic(), isMeant, () => firstRepeatMs);
    this.#rest.wake();
  }

  /** Repeats at once the reads made by this request, for one controller if given. */
  readAnew(request: string, code: string | undefined): void {
    const isMeant = (job: PollJob) =>
      jobRequest(job) === request && (code === undefined || concerns(job, code)) && isPlanned(job);
    this.#schedule.makeDue(this.#ports.clock.monotonic(), isMeant);
    this.#rest.wake();
  }

  /** Tests a host by another request, as this one gets no answer; at most once in a while. */
  askAnother(host: PlatformHost, request: string): void {
    const now = this.#ports.clock.monotonic();
    if (now - (this.#askedAnotherAt.get(host) ?? -Infinity) < askAnotherEveryMs) return;
    this.#askedAnotherAt.set(host, now);
    this.#failing.add(request);
    this.#schedule.askAnother(host, this.#failing, now);
    this.#rest.wake();
  }

  /**
   * Polls everything (of one controller, if given) and resolves to what failed once all was tried. Requests during a
   * round share the next one, as the present one may have missed what they want to see.
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

  /** Reads of a round, with those that follow from them: the status of doubted controllers, and all of added ones. */
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

  /** Jobs that are due or under way in addition. */
  #dueBeside(read: ReadonlySet<string>, code: string | undefined): readonly PollJob[] {
    const now = this.#ports.clock.monotonic();
    return [...this.#schedule.jobs()].filter((job) => {
      const name = jobName(job);
      if (read.has(name) || !isPlanned(job) || !isOf(job, code)) return false;
      return this.#running.has(name) || this.#schedule.isDue(name, now);
    });
  }

  /** Resolves when the job ends, to its failure; null for none. Jobs of a lost host fail at once. */
  async #nextEnd(job: PollJob): Promise<string | null> {
    const name = jobName(job);
    const host = jobHost(job);
    if (this.#schedule.isAway(host) && !this.#running.has(name)) return awayText(host);
    return new Promise((resolve) => this.#awaited.set(name, [...(this.#awaited.get(name) ?? []), resolve]));
  }

  /** Whether the connection stays unknown, as only its own status could show it and did not. */
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
    // With every place taken only the end of a request matters, so no timer is needed.
    return Infinity;
  }

  /** Whether a due job is still useful: a device may turn out to be a camera after its jobs were added. */
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

  #onEnded(name: string, job: PollJob, why: string | null): void {
    const worked = why === null;
    this.#running.delete(name);
    this.#silentRunning.delete(name);
    const now = this.#ports.clock.monotonic();
    const againMs = worked ? this.#plainIntervalMs(job) : this.#againMs(name, job);
    const at = againMs === Infinity ? againMs : this.#dueAt(name, job, now, againMs * this.#stretch);
    const comesAgain = this.#schedule.onEnded(name, worked, now, at);
    // A job that others now read is no trouble any more.
    if (!comesAgain) this.#troubles.forget([name]);
    this.#answerWaiting(name, why);
    for (const listener of this.#endListeners) listener(job, why);
    if ("code" in job) this.#onTried(name, job.code);
    this.#onCheckEnded(name, worked);
    this.#rest.wake();
  }

  /** The pause before a failed read is repeated. */
  #againMs(name: string, job: PollJob): number {
    const { controllers } = this.#settings.intervals;
    const plainMs = this.#plainIntervalMs(job);
    // A status is repeated until its first answer; a fresh read is left to polling.
    if (job.kind === "connection") return Math.min(plainMs, controllers);
    if (jobHost(job) === "realtime" && !this.#isRare(job)) return plainMs;
    // What failed at the start would otherwise be missing for an hour.
    const failures = this.#unanswered.get(name) ?? 0;
    this.#unanswered.set(name, failures + 1);
    const mostMs = job.kind === "devices" ? Math.min(plainMs, controllers) : plainMs;
    // There are few lists of an account; the failing reads of thousands of controllers would take everybody's budget.
    const firstMs = "code" in job ? Math.min(plainMs, controllers) : firstRepeatMs;
    // A list that was answered before counts as unusable until it works again, so its own interval would be too long.
    const laterMs = "code" in job ? plainMs : Math.min(plainMs, controllers);
    return failures === Infinity ? laterMs : Math.min(mostMs, firstMs * 2 ** failures);
  }

  #dueAt(name: string, job: PollJob, now: number, intervalMs: number): number {
    const chance = this.#settings.random();
    return job.kind === "controllers"
      ? notBefore(now, intervalMs, chance)
      : nextDueAt(name, now, intervalMs, chance, this.#slotShare);
  }

  /** Reads addresses of groups once by themselves, one after the other, at their own pace. */
  #planCheck(): void {
    for (;;) {
      if (this.#check !== null) return;
      this.#check = this.#comparison.next();
      if (this.#check === null) return;
      const job = freshRead(this.#check);
      // An address that is read anyway is compared as well.
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

  /** If both reads keep differing, the address is read by itself and its group is ignored for it. */
  #onApart(found: Compared): void {
    this.#addRead(found.code, found.address);
    this.#demandChanged = true;
    this.#rest.wake();
    this.#settings.onApart?.(found);
  }

  /** `why`: why nothing was read; null for success, and for jobs not polled any more. */
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

  /** Notes a push about a device; one with rare reads is read at once. */
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

/** Whether a job belongs to a full round: not a status, which lists give too, and not a fresh read. */
const isRepeated = (job: PollJob): boolean =>
  job.kind !== "connection" && !(job.kind === "registers" && job.read.type === "fresh");

/** Whether a job runs by its interval, or for a doubted list. */
const isPlanned = (job: PollJob): boolean => !(job.kind === "registers" && job.read.type === "fresh");

const concerns = (job: PollJob, code: string) => "code" in job && job.code === code;

/** Whether a job is of this controller, if one is given. */
const isOf = (job: PollJob, code: string | undefined) => code === undefined || concerns(job, code);
