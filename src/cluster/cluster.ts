import { joinSignals } from "../runtime/signals.js";
import { TextError } from "../language/text.js";
import { ignored, nullIfFailed } from "../runtime/failures.js";
import { randomBytes } from "node:crypto";
import type { CoreConfiguration } from "../settings/sections/core.js";
import { journalDirectory, openJournal } from "../journal/open.js";
import type { DataPlace } from "../journal/place.js";
import { untilAborted, type Clock } from "../runtime/clock.js";
import type { FileSystem, KeepElsewhere } from "../runtime/file-system.js";
import type { Logger } from "../runtime/log.js";
import type { Registry } from "../runtime/metrics.js";
import { Semaphore } from "../runtime/schedule.js";
import { lossOf, lossRefusal, readCopy } from "./replica-position.js";
import { ClusterMetrics } from "./metrics.js";
import { leaseOf, type Instant, type Lease, type LeaseTimes, renewEveryMs } from "./lease.js";
import type { Reach } from "./membership.js";
import type { AccountStream, Bucket } from "./ports.js";
import { Reachability } from "./reachability.js";
import { isKeptAtOnce, keepStateFiles, stateFiles } from "./state-files.js";
import { importOf, importSubject } from "./stream-content.js";
import { StreamStore } from "./stream-store.js";
import { type LeaseChange, LeaseHolder } from "./lease-holder.js";
import type { Ownership } from "../feature/core.js";
import { MembershipView, memberKey, memberText, ownerKey, ownerText } from "./membership-view.js";

/**
 * How long a lease lasts without renewal. Two leases and the longest POST fit into the minute after which commands are
 * taken again.
 */
export const leaseMs = 9_000;

interface ClusterParts {
  /** Names this member; the same after a restart. */
  readonly id: string;
  readonly bucket: Bucket;
  readonly clock: Clock;
  /** Ms since the computer started, including its sleep. */
  readonly upMs: () => number;
  /** Spreads accounts over members. */
  readonly hash: (text: string) => number;
  readonly files: FileSystem;
  /** The place of an account's data directory. */
  readonly placeOf: (dataDir: string) => Pick<DataPlace, "claim" | "settle">;
  /** Whether the host of a URL can be reached from here. */
  readonly reaches: (url: string) => Promise<boolean>;
  /** For how long there has been no link to the NATS servers, ms; 0 while there is one. */
  readonly lostMs: () => number;
  /** Opens the journal of an account, or makes it; rejects with ClusterRefusal if it belongs to something else. */
  readonly openStream: (account: OwnedAccount) => Promise<AccountStream>;
}

/** An account that this member may run. */
export interface OwnedAccount {
  readonly account: string;
  readonly dataDir: string;
  /** The longest time that a POST takes, ms. */
  readonly controlMs: number;
  /** Tells the account from others, so that another one's journal is not taken up. */
  readonly identity: string;
  /** URLs of the hosts that the account needs beside NATS; when absent, none is probed. */
  readonly hosts?: Readonly<Record<Reach, readonly string[]>>;
  /** The account is owned to import a journal, which may have begun before. */
  readonly isToImport?: boolean;
  readonly log: Logger;
  /** Called whenever this member would run the account but does not. */
  readonly onStandby: () => void;
}

/** What the cluster has to know of an account. Outside of a fleet its name is the client id at the broker. */
export function namedAccount(
  { platform, mqtt, data_dir: dataDir }: Pick<CoreConfiguration, "platform" | "mqtt" | "data_dir">,
  account = mqtt.client_id.replace(/[^A-Za-z0-9_-]+/g, "-"),
): Omit<OwnedAccount, "log" | "onStandby"> {
  const identity = JSON.stringify([platform.business_url, platform.realtime_url, mqtt.base_topic]);
  const hosts = {
    broker: mqtt.url === undefined ? [] : [mqtt.url],
    platform: [platform.business_url, platform.realtime_url],
  };
  return { account, dataDir, controlMs: platform.timeouts.control, identity, hosts };
}

/** What an account's run gets while the account is owned. */
export interface OwnedRun {
  readonly ownership: Ownership;
  readonly openJournal: typeof openJournal;
  readonly store: Pick<StreamStore, "files" | "keepNote" | "keepImport" | "imported">;
  /** Keeps a small file for the next owner; rejects if the servers do not acknowledge it. */
  readonly keepFile: KeepElsewhere;
  /** Aborts when the run has to end in order. */
  readonly stop: AbortSignal;
}

/** An error that every further try would meet; its sentence says what to do. */
export class ClusterRefusal extends TextError {
  override name = "ClusterRefusal" as const;
}

const againMs = 1_000;
/** A member sees its own writes within milliseconds; more unseen ones mean that the watch is dead. */
const mostUnshown = 2;
/** Most journals read whole at a time, since each is in memory meanwhile. */
const readAtOnce = 4;
const unfitForMs = 900_000;

/** One process as a member of a cluster: it runs the accounts that it owns. */
export class Cluster {
  readonly #parts: ClusterParts;
  readonly #view: MembershipView;
  readonly #run = randomBytes(8).toString("hex");
  /** When an account last failed here, monotonic ms. */
  readonly #failedAt = new Map<string, number>();
  readonly #metricsByAccount = new Map<string, ClusterMetrics>();
  readonly #reach: Reachability;
  /** Accounts that this member runs or would run. */
  readonly #owned = new Map<string, OwnedAccount>();
  /** The leases of accounts that run here. */
  readonly #held = new Map<string, LeaseHolder>();
  readonly #reading = new Semaphore(readAtOnce);
  /** Since when an account's stream has had less than the copy here, monotonic ms. */
  readonly #lessSince = new Map<string, number>();
  /** By key of an account that this member would run: ends the pause before the next claim. */
  readonly #claiming = new Map<string, AbortController>();
  /** Accounts whose import is waited for. */
  readonly #awaited = new Set<string>();
  #claims = 0;
  #hasSeen = false;
  /** When the bucket last took a write of this member, monotonic ms. */
  #heardAt = -Infinity;
  /** Writes of this member in a row that the bucket took and the watch did not show. */
  #unshown = 0;
  #watching = new AbortController();

  constructor(parts: ClusterParts) {
    this.#parts = parts;
    this.#view = new MembershipView({ self: parts.id, leaseMs, hash: parts.hash });
    this.#reach = new Reachability(parts.clock, this.#reaches);
  }

  readonly #reaches = async (account: string, what: Reach): Promise<boolean> => {
    const urls = this.#owned.get(account)?.hosts?.[what] ?? [];
    const answers = await Promise.all(urls.map((url) => this.#parts.reaches(url)));
    return answers.length > 0 && answers.every(Boolean);
  };

  /** Probes what others do not reach of the accounts that this member would run. */
  #lookAtOthers(): void {
    const now = this.#parts.clock.monotonic();
    for (const account of this.#owned.keys())
      if (this.#held.has(account)) this.#reach.runs(account);
      else this.#reach.look(account, this.#view.lacked(account, now));
  }

  /** The member that was last seen to run an account; null for none. */
  holder(account: string): string | null {
    return this.#view.holding(account)?.holder ?? null;
  }

  /** Whether the NATS servers answer, so that this member could take over. */
  get isReachable(): boolean {
    return this.#hasSeen && this.#parts.clock.monotonic() - this.#heardAt < leaseMs;
  }

  metrics(account: string): Registry {
    const leaseHolder = this.#held.get(account);
    return this.#metricsOf(account).metrics({
      isOwner: leaseHolder !== undefined && !leaseHolder.isLost,
      leaseAgeMs: leaseHolder?.ownership.leaseAgeMs() ?? null,
      members: this.#view.count(this.#parts.clock.monotonic()),
    });
  }

  #metricsOf(account: string): ClusterMetrics {
    const metrics = this.#metricsByAccount.get(account) ?? new ClusterMetrics();
    this.#metricsByAccount.set(account, metrics);
    return metrics;
  }

  /** Announces this member and watches the others until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { bucket, clock, id } = this.#parts;
    const watching = this.#watch(signal);
    let revision = 0;
    while (!signal.aborted) {
      this.#lookAtOthers();
      const { lacks, reaches, moved } = this.#reach;
      const shown = memberText({ unfit: this.#unfit(), lacks, reaches, moved });
      revision = await bucket.put(memberKey(id), shown).then(
        (put) => {
          this.#heardAt = clock.monotonic();
          this.#unshown += 1;
          return put;
        },
        () => revision,
      );
      if (this.#unshown > mostUnshown) this.#watching.abort();
      await clock.wait(renewEveryMs(this.#times(0)), signal).catch(ignored);
    }
    this.#watching.abort();
    await watching;
    await bucket.release(memberKey(id), revision).catch(ignored);
  }

  /** Watches the bucket, anew when a watch shows nothing any more: its server may be gone. */
  async #watch(signal: AbortSignal): Promise<void> {
    const { bucket, clock } = this.#parts;
    const listener: Parameters<Bucket["watch"]>[0] = (key, entry) => {
      this.#unshown = 0;
      this.#view.take(key, entry, clock.monotonic());
      if (entry.value === null) this.#claiming.get(key)?.abort();
    };
    while (!signal.aborted) {
      this.#watching = new AbortController();
      const over = this.#watching.signal;
      const watched = bucket.watch(listener, over).then(
        () => true,
        () => false,
      );
      // A watch that is never answered is given up like one that shows nothing.
      const isWatched = await Promise.race([watched, untilAborted(over).then(() => false)]);
      if (!this.#hasSeen) this.#view.begin(clock.monotonic());
      this.#hasSeen ||= isWatched;
      this.#unshown = 0;
      await (isWatched ? untilAborted(over) : clock.wait(againMs, signal).catch(ignored));
    }
  }

  /**
   * Runs the account whenever this member owns it, until `stop` aborts. Rejects as `run` does; then others go first for
   * a while.
   */
  async own(
    account: OwnedAccount,
    run: (owned: OwnedRun) => Promise<void>,
    stop: AbortSignal,
  ): Promise<void> {
    const stream = await this.#stream(account, stop);
    this.#owned.set(account.account, account);
    try {
      while (stream !== null && !stop.aborted) {
        account.onStandby();
        const lease = await this.#claim(account, stream, stop);
        if (lease !== null) await this.#hold(account, { lease, stream }, run, stop);
      }
    } finally {
      // Another call for this name may have come since.
      if (this.#owned.get(account.account) === account) this.#owned.delete(account.account);
    }
  }

  /** Null if `stop` aborts first. */
  async #stream(account: OwnedAccount, stop: AbortSignal): Promise<AccountStream | null> {
    const { clock, openStream } = this.#parts;
    let isTold = false;
    while (!stop.aborted)
      try {
        return await openStream(account);
      } catch (error) {
        if (error instanceof ClusterRefusal) throw error;
        if (!isTold)
          account.log.warn(
            { reason: String(error) },
            "the NATS servers do not give the journal of the account; trying again",
          );
        isTold = true;
        await clock.wait(againMs, stop).catch(ignored);
      }
    return null;
  }

  /** Null if `stop` aborts first. Rejects with ClusterRefusal if the servers have lost what this member still has. */
  async #claim(owned: OwnedAccount, stream: AccountStream, stop: AbortSignal): Promise<Lease | null> {
    const { clock } = this.#parts;
    while (!stop.aborted) {
      const inMs = this.#hasSeen
        ? this.#view.claimInMs(owned.account, clock.monotonic(), this.#isUnfit(owned.account))
        : againMs;
      if (inMs <= 0 && (await this.#mayTakeUp(owned, stream).catch(unlessRefused))) {
        const lease = await this.#tryToClaim(owned);
        if (lease !== null) return lease;
      }
      const changed = this.#onceHeldOtherwise(owned.account);
      const { signal, release } = joinSignals(stop, changed);
      await clock.wait(inMs > 0 ? Math.min(inMs, againMs) : againMs, signal).catch(ignored);
      release();
    }
    return null;
  }

  /** Aborts when the bucket shows that the account was given up, so that the claim need not wait. */
  #onceHeldOtherwise(account: string): AbortSignal {
    const changed = new AbortController();
    this.#claiming.set(ownerKey(account), changed);
    return changed.signal;
  }

  async #tryToClaim({ account, controlMs }: OwnedAccount): Promise<Lease | null> {
    const { bucket, clock } = this.#parts;
    const held = this.#view.holding(account);
    const isMark = held?.holder === null;
    for (const over of this.#view.claimsOver(account, clock.monotonic())) {
      const sentAt = this.#instant();
      const revision = await bucket.claim(ownerKey(account), this.#value(), over).catch(nullIfFailed);
      const answeredAt = clock.monotonic();
      if (revision !== null)
        return leaseOf(
          { revision, sentAt, answeredAt, isAlone: over !== 0 && over === held?.revision },
          this.#times(controlMs),
        );
    }
    // The mark of a release may have vanished as well.
    if (isMark) this.#view.forgetMark(account);
    return null;
  }

  /** Whether the stream has a whole journal. Rejects if that is unknown, or if records are lost for good. */
  async #mayTakeUp(owned: OwnedAccount, stream: AccountStream): Promise<boolean> {
    const { account, dataDir, log, isToImport = false } = owned;
    if (isToImport) return true;
    const newest = await stream.newest(importSubject);
    const found = { ...(await stream.state()), imported: importOf(newest ?? undefined) };
    const isPart = found.imported === "begun";
    if (isPart && !this.#awaited.has(account)) log.warn(importAwaited);
    if (isPart) this.#awaited.add(account);
    else this.#awaited.delete(account);
    const loss = lossOf(await readCopy(this.#parts.files, dataDir), found);
    if (loss !== null && this.#hasBeenLess(account))
      throw new ClusterRefusal(lossRefusal(loss, account, dataDir));
    if (loss === null) this.#lessSince.delete(account);
    return !isPart && loss === null;
  }

  /** Whether the stream has had less for longer than a new leader may be behind. */
  #hasBeenLess(account: string): boolean {
    const now = this.#parts.clock.monotonic();
    const since = this.#lessSince.get(account) ?? now;
    this.#lessSince.set(account, since);
    return now - since >= leaseMs;
  }

  async #hold(
    owned: OwnedAccount,
    { lease, stream }: { readonly lease: Lease; readonly stream: AccountStream },
    run: (owned: OwnedRun) => Promise<void>,
    stop: AbortSignal,
  ): Promise<void> {
    const { bucket, clock } = this.#parts;
    const { account, controlMs, log } = owned;
    const ownedSince = clock.monotonic();
    const leaseHolder = new LeaseHolder(lease, {
      bucket,
      member: this.#parts.id,
      key: ownerKey(account),
      value: this.#value(),
      times: this.#times(controlMs),
      instant: () => this.#instant(),
      wait: (ms, signal) => clock.wait(ms, signal),
      fence: () => store.fence(),
      journalProblem: () => store.problem,
      lostMs: this.#parts.lostMs,
      isToGoTo: () => this.#isToGoTo(account, ownedSince),
      onLack: (lacked) => this.#reach.lack(account, lacked),
      metrics: () => this.metrics(account),
      onChange: (what) => log.warn(changes[what]),
    });
    this.#held.set(account, leaseHolder);
    this.#metricsOf(account).tookOver();
    const store = this.#store(owned, stream, leaseHolder);
    log.info({ owner: this.#parts.id }, "this member has claimed the account");
    try {
      await leaseHolder.hold((stopped) => run(this.#runOf(owned, leaseHolder, store, stopped)), stop);
    } catch (error) {
      this.#failedAt.set(account, clock.monotonic());
      throw error;
    } finally {
      this.#held.delete(account);
      this.#reach.forget(account);
    }
    log.info("this member runs the account no more");
  }

  /** Why another member should get the account; null where none should. */
  #isToGoTo(account: string, ownedSince: number): "handing back" | "reaching less" | null {
    const now = this.#parts.clock.monotonic();
    if (this.#view.isToHandBack(account, now, ownedSince)) return "handing back";
    const lacked = this.#reach.lackedBy(account);
    if (!this.#reach.mayGiveUp(account) || !this.#view.isReachedElsewhere(account, now, lacked)) return null;
    this.#reach.gaveUp(account);
    return "reaching less";
  }

  #store(owned: OwnedAccount, stream: AccountStream, leaseHolder: LeaseHolder): StreamStore {
    const { account, dataDir, isToImport = false } = owned;
    const { clock, files, id } = this.#parts;
    this.#claims += 1;
    const run = `${this.#run}-${this.#claims}`;
    return new StreamStore({
      stream,
      files,
      directory: journalDirectory(dataDir),
      dataDir,
      notes: stateFiles,
      run,
      about: () => JSON.stringify({ member: id, at: new Date(clock.now()).toISOString() }),
      wait: (ms) => clock.wait(ms),
      inTurn: (work) => this.#inTurn(work, leaseHolder.stop),
      isToImport,
      monotonic: () => clock.monotonic(),
      metrics: this.#metricsOf(account),
      isConfirmed: () => leaseHolder.isConfirmed,
      onLost: leaseHolder.onLost,
    });
  }

  async #inTurn<T>(work: () => Promise<T>, stop: AbortSignal): Promise<T> {
    if (!this.#reading.take()) await this.#reading.wait(stop);
    try {
      return await work();
    } finally {
      this.#reading.leave();
    }
  }

  #runOf(
    { dataDir }: OwnedAccount,
    { ownership }: LeaseHolder,
    store: StreamStore,
    stop: AbortSignal,
  ): OwnedRun {
    const { files, clock } = this.#parts;
    const original = { files: store.files, admit: () => store.admit(), place: this.#parts.placeOf(dataDir) };
    return {
      ownership,
      stop,
      store,
      keepFile: async (name) => {
        if (isKeptAtOnce(name)) await store.keepNoteFile(name);
      },
      openJournal: async (given) => {
        const opened = await openJournal({ ...given, original });
        const noted = new AbortController();
        const keeping = keepStateFiles({ files, clock, dataDir, store }, noted.signal);
        const close = async () => {
          await opened.close();
          noted.abort();
          await keeping;
        };
        return { ...opened, close };
      },
    };
  }

  #instant(): Instant {
    const { clock, upMs } = this.#parts;
    return { mono: clock.monotonic(), up: upMs(), wall: clock.now() };
  }

  #times(controlMs: number): LeaseTimes {
    return { leaseMs, controlMs };
  }

  #value(): string {
    return ownerText({ member: this.#parts.id, run: this.#run });
  }

  #isUnfit(account: string): boolean {
    if (this.#reach.isUnfit(account)) return true;
    const at = this.#failedAt.get(account);
    return at !== undefined && this.#parts.clock.monotonic() - at < unfitForMs;
  }

  #unfit(): readonly string[] {
    const all = new Set([...this.#failedAt.keys(), ...this.#reach.unfit]);
    return [...all].filter((account) => this.#isUnfit(account));
  }
}

/** False for an error that may pass; a ClusterRefusal is thrown again. */
function unlessRefused(error: unknown): false {
  if (error instanceof ClusterRefusal) throw error;
  return false;
}

const importAwaited =
  "a `journal import` of this account has begun and is not whole, so that no member runs the account; where it was broken off, run it again";

const changes = {
  lost: "another member has the account, or may have it: it ends here and sends nothing more",
  "handing back": "the account goes to a member that has come back",
  "reaching less":
    "this member does not reach the broker or the platform, and another one does: the account goes there",
  unconfirmed:
    "the NATS servers do not confirm that this member runs the account: nothing is sent until they do",
  confirmed: "the NATS servers confirm again that this member runs the account",
  "not fenced":
    "this member has claimed the account and cannot run it: the journal at the NATS servers takes no entry; look whether the stream or its disk is full, and run `greenhouse2mqtt doctor`",
} as const satisfies Record<LeaseChange, string>;
