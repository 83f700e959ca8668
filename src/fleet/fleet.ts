import { joinSignals } from "../runtime/signals.js";
import { type Text, textOf } from "../language/text.js";
import { ignored } from "../runtime/failures.js";
import { AsyncLocalStorage } from "node:async_hooks";
import { hashOf } from "../runtime/hash.js";
import {
  type FleetFiles,
  type LoadedAccount,
  mistakeIn,
  ownAccounts,
  refusedAccounts,
} from "../config/fleet.js";
import { exclude } from "../config/clashes.js";
import { Fallback, type FormerRun, type Judged } from "../config/fallback.js";
import { type KnowsSensor, LiveSettings } from "../config/live-settings.js";
import type { BridgeView } from "../bridge.js";
import {
  abortReason,
  cameWithin,
  type Clock,
  diskPatienceMs,
  fullJitter,
  type Random,
  untilAborted,
} from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import { oneAtATime } from "../runtime/schedule.js";

/**
 * `waiting`: ended by an error, starts again at `again`. `refused`: not started, as its file has mistakes. `standby`:
 * another member of the cluster may run it.
 */
type AccountPhase = "starting" | "running" | "waiting" | "stopping" | "refused" | "standby";

/** The state of an account of the fleet. */
export interface AccountState {
  readonly phase: AccountPhase;
  /** Epoch ms. */
  readonly since: number;
  /** The same by the monotonic clock, for durations. */
  readonly enteredAt: number;
  readonly restarts: number;
  /** Why it last ended or was not started; null for neither. */
  readonly error: Text | null;
  /** Epoch ms of the next start; null where none is due. */
  readonly again: number | null;
  /** The cluster member that was seen to run it while this one stands by. */
  readonly owner: string | null;
  /** Null while it does not run. */
  readonly bridge: BridgeView | null;
}

/** The inputs of one run of an account. */
export interface AccountRun {
  readonly loaded: LoadedAccount;
  readonly live: LiveSettings;
  /** Aborts when the run has to end in order. */
  readonly stop: AbortSignal;
  /** Aborts with an uncaught error of this account as its reason. */
  readonly failing: AbortSignal;
  readonly onMade: (bridge: BridgeView) => void;
  /** Called whenever another cluster member may run the account, with the member that was seen to. */
  readonly onStandby: (owner: string | null) => void;
}

interface FleetParts {
  /** Reads all files again. */
  readonly read: () => Promise<FleetFiles>;
  /** Called for each valid file that was read again, before and after its settings are taken over. */
  readonly onRead: (account: string, judged: Judged) => Promise<void>;
  readonly onTaken: (account: string) => Promise<void>;
  /** Called when a file that was read again has mistakes. */
  readonly onMistaken: (account: string, mistakes: Text) => void;
  /** Called when the files no longer name the account. */
  readonly onRemoved: (account: string) => void;
  /** Runs the bridge of an account; rejects if it ends by an error. */
  readonly start: (run: AccountRun) => Promise<void>;
  /** Keeps the error for the account's next start. */
  readonly noteError: (account: LoadedAccount, error: unknown) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** Starts are spread over time, so that sign-ins and later polls are spread too. */
const startApartMs = 60;
const longestStartMs = 60_000;
const restarts = { firstMs: 2_000, maxMs: 300_000 };
/** A run that waits for another one to end logs that after this time. */
const longestEndMs = 60_000;
/** A run of this length was good, so its end does not count as a repeated failure. */
const goodRunMs = 900_000;

/** The delay in ms of an account's start, among `count` accounts that start together. */
export const startDelayMs = (account: string, count: number): number =>
  Math.round((hashOf(account) / 2 ** 32) * Math.min(longestStartMs, startApartMs * count));

/** The accounts of one process. Each is a bridge of its own that ends and starts again without the others. */
export class Fleet {
  readonly #parts: FleetParts;
  /** Accounts that the files name. */
  readonly #accounts = new Map<string, Account>();
  /** Accounts that the files no longer name, until their last run has ended. */
  readonly #ending = new Set<Account>();
  /** Accounts whose files have mistakes and which do not run. */
  #refused: ReadonlyMap<string, AccountState> = new Map();
  /** The account on whose behalf the present code runs. */
  readonly #within = new AsyncLocalStorage<Account>();
  /** Aborts once the accounts of the first files exist. */
  readonly #begun = new AbortController();
  #isStopped = false;
  #mistake: Text | null = null;

  constructor(parts: FleetParts) {
    this.#parts = parts;
  }

  /** Why the last reload changed nothing; null where it succeeded. */
  get mistake(): Text | null {
    return this.#mistake;
  }

  /** By name, in alphabetical order. */
  states(): ReadonlyMap<string, AccountState> {
    const all = new Map(this.#refused);
    for (const account of this.#all()) all.set(account.name, account.state);
    return new Map([...all].sort(([one], [other]) => (one < other ? -1 : 1)));
  }

  state(name: string): AccountState | undefined {
    const account = this.#accounts.get(name) ?? [...this.#ending].findLast((one) => one.name === name);
    return account?.state ?? this.#refused.get(name);
  }

  /** Runs code for an account, which then owns an uncaught error of it. */
  within<Result>(name: string, run: () => Result): Result {
    const account = this.#accounts.get(name);
    return account === undefined ? run() : this.#within.run(account, run);
  }

  /** Runs the accounts until `stop` aborts and all have ended. */
  async run(
    files: FleetFiles,
    stop: AbortSignal,
    formers: ReadonlyMap<string, FormerRun> = new Map(),
  ): Promise<void> {
    const own = ownAccounts(files);
    this.#noteRefused(files);
    for (const [name, loaded] of own) this.#add(loaded, startDelayMs(name, own.size), formers.get(name));
    this.#begun.abort();
    await untilAborted(stop);
    this.#isStopped = true;
    await Promise.all(this.#all().map((account) => account.stop()));
  }

  /** Whether an uncaught error belongs to one account, which then ends alone. */
  readonly isContained = (error: unknown): boolean => {
    const account = this.#within.getStore();
    account?.fail(error);
    return account !== undefined;
  };

  /**
   * Takes over added, changed and removed accounts without effect on the others. Resolves once that is decided, without
   * waiting for runs to end. Only one reload runs at a time, after `run` has begun.
   */
  readonly reload: () => Promise<void> = oneAtATime(() => this.#reload());

  async #reload(): Promise<void> {
    const { log, read, onRead, onTaken, onMistaken } = this.#parts;
    await untilAborted(this.#begun.signal);
    const files = await read();
    if (this.#isStopped) return;
    this.#mistake = mistakeIn(files);
    if (this.#mistake !== null) {
      log.error(
        files.fleet === null
          ? "the file of the fleet was not read again because of mistakes in it; all accounts go on as they were"
          : "the folder of the accounts cannot be read; all accounts go on as they were",
      );
      return;
    }
    const own = ownAccounts(files);
    const known = this.#knownOf(own);
    await this.#ofEach(known, ({ account, loaded }) => onRead(account.name, account.judge(loaded)));
    if (this.#hasStopped()) return;
    this.#noteRefused(files);
    for (const name of files.refused)
      if (this.#accounts.has(name))
        log.error(
          { account: name },
          "its file was not read again because of mistakes in it; what ran before goes on",
        );
    for (const [name, mistakes] of refusedAccounts(files))
      if (this.#accounts.has(name)) onMistaken(name, mistakes);
    const removed = [...this.#accounts.keys()].filter(
      (name) => !own.has(name) && !files.refused.includes(name),
    );
    for (const name of removed) this.#remove(name);
    // All changes are made in one turn: an account that waits has to know which others are about to end.
    const changed = known.flatMap(({ account, loaded }) => (account.take(loaded) ? [account.name] : []));
    const added = [...own].filter(([name]) => !this.#accounts.has(name));
    for (const [name, loaded] of added) this.#add(loaded, startDelayMs(name, added.length));
    const names = added.map(([name]) => name);
    log.info({ added: names, changed, removed }, "the files of the fleet were read again");
    await this.#ofEach(known, ({ account }) => onTaken(account.name));
  }

  async #ofEach<One extends { readonly account: Account }>(
    all: readonly One[],
    tell: (one: One) => Promise<void>,
  ): Promise<void> {
    await Promise.all(all.map((one) => this.#inTime(one.account.name, tell(one))));
  }

  /**
   * Waits for work on one account's files, but not for ever: a disk that does not answer must not delay other accounts.
   */
  async #inTime(account: string, told: Promise<void>): Promise<void> {
    const { clock, log } = this.#parts;
    try {
      if (!(await cameWithin(clock, diskPatienceMs, told)))
        log.error(
          { account },
          "the disk does not answer, so what this account ran by before cannot be kept; if its new file does not work, nothing goes back",
        );
    } catch (err) {
      log.error({ account, err }, "what this account ran by before could not be kept");
    }
  }

  #knownOf(own: ReadonlyMap<string, LoadedAccount>) {
    return [...own].flatMap(([name, loaded]) => {
      const account = this.#accounts.get(name);
      return account === undefined ? [] : [{ account, loaded }];
    });
  }

  /** Makes an account run by its former configuration; returns whether there is one. */
  goBack(name: string): boolean {
    return this.#accounts.get(name)?.goBack() ?? false;
  }

  /** Forgets an account's former configuration: the new one has come up, or nothing can be taken back any more. */
  settle(name: string): void {
    this.#accounts.get(name)?.settle();
  }

  /** A method, since a narrowed field would hide changes during an await. */
  #hasStopped(): boolean {
    return this.#isStopped;
  }

  /** All accounts, those that end before their successors of the same name. */
  #all(): readonly Account[] {
    return [...this.#ending, ...this.#accounts.values()];
  }

  #noteRefused(files: FleetFiles): void {
    const now = this.#parts.clock.now();
    const enteredAt = this.#parts.clock.monotonic();
    const states = [...refusedAccounts(files)].map(([name, error]): readonly [string, AccountState] => {
      const before = this.#refused.get(name);
      const refused = {
        phase: "refused",
        since: now,
        enteredAt,
        restarts: 0,
        error,
        again: null,
        owner: null,
        bridge: null,
      } as const;
      return [name, before !== undefined && String(before.error) === String(error) ? before : refused];
    });
    this.#refused = new Map(states);
  }

  #add(loaded: LoadedAccount, delayMs: number, former?: FormerRun): void {
    const account: Account = new Account(loaded, this.#parts, {
      former: former?.configuration ?? null,
      untilFree: (stop) => this.#untilFree(account, stop),
    });
    if (former?.isRefused === true) account.goBack();
    this.#accounts.set(account.name, account);
    account.ended = this.#within.run(account, () => account.run(delayMs));
  }

  #remove(name: string): void {
    const account = this.#accounts.get(name);
    if (account === undefined) return;
    this.#accounts.delete(name);
    this.#ending.add(account);
    void account.stop().finally(() => this.#ending.delete(account));
    this.#parts.onRemoved(name);
  }

  /**
   * Waits until ending runs have released what this account needs, or `stop` aborts. There is no time limit: of two
   * runs side by side one would send unlisted commands, and a process frozen for a minute had no time to end anything.
   */
  async #untilFree(account: Account, stop: AbortSignal): Promise<void> {
    for (;;) {
      // Meanwhile another account may have begun to end.
      const before = this.#all().filter((other) => other !== account && other.isInTheWayOf(account));
      if (before.length === 0 || stop.aborted) return;
      await this.#haveEnded(account, before, stop);
    }
  }

  /** Waits until the runs have ended or `stop` aborts. */
  async #haveEnded(account: Account, before: readonly Account[], stop: AbortSignal): Promise<void> {
    const { clock, log } = this.#parts;
    const over = Promise.race([Promise.all(before.map((other) => other.underWay)), untilAborted(stop)]);
    if (await cameWithin(clock, longestEndMs, over)) return;
    const waitedFor = before.map(({ name }) => name);
    log.error(
      { account: account.name, waitedFor },
      "an account does not start: another one that is to end first has not ended in a minute; if it stays so, start the program again",
    );
    await over;
  }
}

/** Runs the bridge of an account again and again, with growing pauses. */
class Account {
  ended: Promise<void> = Promise.resolve();
  readonly name: string;
  readonly #parts: FleetParts;
  readonly #untilFree: (stop: AbortSignal) => Promise<void>;
  readonly #stop = new AbortController();
  #loaded: LoadedAccount;
  /** The settings of the present run; null for no run. */
  #running: LoadedAccount | null = null;
  #underWay: Promise<unknown> = Promise.resolve();
  #live: LiveSettings;
  #state: AccountState;
  /** These two belong to the present run. */
  #failing = new AbortController();
  #restart = new AbortController();
  /** Whether the run has to end. A field, as each of a thousand starting accounts asks all others. */
  #isToEnd = false;
  readonly #fallback: Fallback;
  readonly #knowsSensor: KnowsSensor = (...of) => this.#state.bridge?.knowsSensor(...of) ?? false;

  constructor(
    loaded: LoadedAccount,
    parts: FleetParts,
    {
      former,
      untilFree,
    }: {
      readonly former: LoadedAccount["configuration"] | null;
      readonly untilFree: (stop: AbortSignal) => Promise<void>;
    },
  ) {
    this.name = loaded.account;
    this.#parts = parts;
    this.#fallback = new Fallback(former, this.#knowsSensor);
    this.#untilFree = untilFree;
    this.#loaded = loaded;
    this.#live = new LiveSettings(loaded.configuration);
    const since = parts.clock.now();
    this.#state = {
      phase: "starting",
      since,
      enteredAt: parts.clock.monotonic(),
      restarts: 0,
      error: null,
      again: since,
      owner: null,
      bridge: null,
    };
  }

  get state(): AccountState {
    return this.#state;
  }

  /** Settles when the present run ends. */
  get underWay(): Promise<unknown> {
    return this.#underWay;
  }

  /** Whether an ending run holds what the other account needs alone. Accounts of the same name exclude each other. */
  isInTheWayOf(other: Account): boolean {
    if (!this.#isToEnd || this.#running === null) return false;
    return this.name === other.name || exclude(this.#running, other.#loaded);
  }

  /** A method, since a narrowed field would hide changes during an await. */
  #isStopped(): boolean {
    return this.#stop.signal.aborted;
  }

  async run(delayMs: number): Promise<void> {
    const { clock, random } = this.#parts;
    this.#enter("starting", { again: clock.now() + delayMs });
    await clock.wait(delayMs, this.#stop.signal).catch(ignored);
    let failures = 0;
    while (!this.#isStopped()) {
      const startedAt = clock.monotonic();
      await this.#untilFree(this.#stop.signal);
      if (this.#isStopped()) break;
      const run = this.#once();
      this.#underWay = run;
      const error = await run;
      if (error === null || this.#isStopped()) continue;
      failures = clock.monotonic() - startedAt >= goodRunMs ? 0 : failures + 1;
      const pauseMs = restarts.firstMs + fullJitter(failures, restarts, random());
      this.#onFailure(error, pauseMs);
      const { signal, release } = joinSignals(this.#stop.signal, this.#restart.signal);
      await clock.wait(pauseMs, signal).catch(ignored);
      release();
    }
  }

  /** Resolves when the account has ended in order. */
  async stop(): Promise<void> {
    this.#enter("stopping", {});
    this.#isToEnd = true;
    this.#stop.abort();
    await this.ended;
  }

  fail(error: unknown): void {
    this.#failing.abort(error instanceof Error ? error : new Error(String(error)));
    // On standby no bridge listens to `failing`, and after a takeover the new bridge would fail at once.
    if (this.#state.phase === "standby") this.#endRun();
  }

  judge({ configuration }: LoadedAccount): Judged {
    return this.#fallback.judge(this.#loaded.configuration, configuration);
  }

  /** Takes over a configuration; returns whether anything changed. Settings that need a restart end the present run. */
  take(loaded: LoadedAccount): boolean {
    const before = this.#loaded.configuration;
    const configuration = this.#fallback.taken(before, loaded.configuration);
    const { applied, needRestart } = this.#live.reload(configuration, this.#knowsSensor);
    this.#loaded = { ...loaded, configuration };
    if (needRestart.length > 0) {
      if (this.#state.phase === "running") this.#fallback.keep(before);
      this.#renew();
    }
    return applied.length + needRestart.length > 0;
  }

  /** Ends the run for one by the former configuration; returns whether there is one. */
  goBack(): boolean {
    const configuration = this.#fallback.refuse(this.#loaded.configuration);
    if (configuration === null) return false;
    this.#loaded = { ...this.#loaded, configuration };
    this.#renew();
    return true;
  }

  settle(): void {
    this.#fallback.settle();
  }

  #renew(): void {
    this.#live = this.#live.follow(this.#loaded.configuration);
    this.#endRun();
  }

  /** Ends the run, to be followed by another one. */
  #endRun(): void {
    this.#isToEnd = true;
    this.#restart.abort();
  }

  /** One run to its end; resolves to null where it ended on request, else to the error. */
  async #once(): Promise<unknown> {
    this.#failing = new AbortController();
    this.#restart = new AbortController();
    this.#isToEnd = this.#isStopped();
    this.#enter("starting", { again: null });
    this.#running = this.#loaded;
    const { signal: stop, release } = joinSignals(this.#stop.signal, this.#restart.signal);
    try {
      await this.#parts.start({
        loaded: this.#loaded,
        live: this.#live,
        stop,
        failing: this.#failing.signal,
        onMade: (bridge) => this.#enter("running", { bridge }),
        onStandby: (owner) => this.#enter("standby", { bridge: null, owner }),
      });
      return this.#failing.signal.aborted ? abortReason(this.#failing.signal) : null;
    } catch (error) {
      return error;
    } finally {
      release();
      this.#running = null;
      this.#state = { ...this.#state, bridge: null };
    }
  }

  #onFailure(error: unknown, pauseMs: number): void {
    const { log, clock, noteError } = this.#parts;
    const { account } = this.#loaded;
    noteError(this.#loaded, error);
    log.error(
      { account, err: error, again_in_s: Math.round(pauseMs / 1_000) },
      "an account ended by an error and starts again; the others go on",
    );
    const { restarts: before } = this.#state;
    this.#enter("waiting", { error: textOf(error), restarts: before + 1, again: clock.now() + pauseMs });
  }

  #enter(phase: AccountPhase, change: Partial<AccountState>): void {
    const { clock } = this.#parts;
    this.#state = { ...this.#state, ...change, phase, since: clock.now(), enteredAt: clock.monotonic() };
  }
}
