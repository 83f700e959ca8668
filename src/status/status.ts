import { ignored } from "../runtime/failures.js";
import { monitorEventLoopDelay } from "node:perf_hooks";
import type { RecordBody } from "../journal/records.js";
import type { IncomingMessage } from "../mqtt/connection/settings.js";
import { clockAgrees, every, Rest } from "../runtime/clock.js";
import type { RecentLog } from "../runtime/log.js";
import type { Registry } from "../runtime/metrics.js";
import type { ServiceManager } from "../runtime/systemd.js";
import type { Bundle } from "./bundle.js";
import { awaitProven } from "./crash-loop.js";
import type { Core } from "../feature/core.js";
import type { EventOutput } from "../mqtt/events.js";
import type { LiveSettings } from "../config/live-settings.js";
import { bridgeInfo, healthDocument, type LoopDelay, type OwnFacts, type RunningFeatures } from "./health.js";
import type { BrokerTests } from "./other-bridge.js";
import type { OverdueWatch } from "./overdue.js";
import { notice, type Noticed, noticedNothing } from "./notices.js";

/** Facts that show whether the bridge works. Instants are monotonic ms. */
export interface Progress {
  readonly startedAt: number;
  /** Delay of the newest look. */
  readonly lateMs: number;
  /** When the outputs last worked. */
  readonly outputsAt: number | null;
  /** When a read of the platform last ended, with whatever result. */
  readonly readEndedAt: number | null;
  /** The longest normal pause between two reads. */
  readonly readPauseMs: number;
}

const mostLateMs = 1_000;
const outputsPauseMs = 30_000;

/** The part that makes no progress, as a word for the log; null for none. */
export function stuckPart(progress: Progress, now: number): string | null {
  const { startedAt, lateMs, outputsAt, readEndedAt, readPauseMs } = progress;
  if (lateMs > mostLateMs) return "event loop";
  if (now - (outputsAt ?? startedAt) > outputsPauseMs) return "outputs";
  return now - (readEndedAt ?? startedAt) > readPauseMs ? "polling" : null;
}

/** Three times the shortest polling interval, but never less than a request may take. */
export const readPauseMs = (shortestIntervalMs: number): number => Math.max(300_000, 3 * shortestIntervalMs);

const statusEveryMs = 30_000;
/** Looks per watchdog time, so that a missed one does not get the process killed. */
const looksPerWatchdog = 4;

/**
 * Tells the service manager (systemd) that the bridge is ready, works and stops; `line` is shown by `systemctl status`.
 */
export async function tellManager(
  manager: ServiceManager,
  look: () => Omit<Progress, "lateMs"> & { readonly line: string },
  { clock, log }: Pick<Core, "clock" | "log">,
  signal: AbortSignal,
): Promise<void> {
  const { watchdogMs } = manager;
  const everyMs = watchdogMs === null ? statusEveryMs : watchdogMs / looksPerWatchdog;
  manager.tell("READY=1", `STATUS=${look().line}`);
  let told: string | null = null;
  for (let due = clock.monotonic() + everyMs; ; due = clock.monotonic() + everyMs) {
    await clock.wait(Math.max(0, due - clock.monotonic()), signal).catch(ignored);
    if (signal.aborted) break;
    const { line, ...progress } = look();
    const stuck = stuckPart({ ...progress, lateMs: clock.monotonic() - due }, clock.monotonic());
    if (stuck !== null && stuck !== told)
      log.error({ part: stuck }, "a part makes no progress; systemd restarts the bridge if it stays so");
    told = stuck;
    const alive = watchdogMs !== null && stuck === null ? ["WATCHDOG=1"] : [];
    manager.tell(...alive, `STATUS=${stuck === null ? line : `${stuck} makes no progress`}`);
  }
  manager.tell("STOPPING=1", "STATUS=stopping");
}

/** Notes in log and journal that the wall clock was set, so that times in both can be understood later. */
export function tellClockSet(
  byMs: number,
  { clock, log }: Pick<Core, "clock" | "log">,
  note: (record: RecordBody) => void,
): void {
  const now = clock.now();
  log.warn(
    { by_s: Math.round(byMs / 1_000), now: Math.abs(now) <= 8.64e15 ? new Date(now).toISOString() : null },
    "the clock of this computer was set; deadlines and intervals are not affected by it",
  );
  note({ type: "clock_jump", by_ms: byMs });
}

export const measuredLoopDelay = (): LoopDelay => monitorEventLoopDelay({ resolution: lagResolutionMs });

const noticeMs = 5_000;
const healthEveryMs = 60_000;
const lagResolutionMs = 1_000;
const journaledTokensMs = 60_000;

/** What a status needs beside the core. */
interface Looking {
  /** The settings in force. */
  readonly live: LiveSettings;
  readonly tests: BrokerTests;
  readonly overdue: OverdueWatch;
  readonly events: Pick<EventOutput, "publish" | "newest">;
  readonly recentLog?: RecentLog | undefined;
  /** Learns that the bridge is ready, works and stops. */
  readonly manager?: ServiceManager | null | undefined;
  /** Given where others in the process already measure it. */
  readonly loopDelay?: LoopDelay | undefined;
}

/** The bridge's knowledge of itself: whether it is heard, alone, in time and with a right clock; it publishes this. */
export class Status {
  readonly #core: Core;
  readonly #looking: Looking;
  #running: RunningFeatures = {};
  readonly #startedAt: number;
  readonly #startedWall: number;
  readonly #lag: LoopDelay;
  readonly #look: Rest;
  #noticed: Noticed = noticedNothing;
  readonly #counts = { clockJumps: 0, wrongTokens: 0 };
  #wrongTokenAt: number | null = null;

  constructor(core: Core, looking: Looking) {
    this.#core = core;
    this.#looking = looking;
    this.#lag = looking.loopDelay ?? measuredLoopDelay();
    const { clock } = core;
    this.#startedAt = clock.monotonic();
    this.#startedWall = clock.now();
    this.#look = new Rest(clock);
    looking.tests.onNews(() => this.publish());
    core.mirror.store.onClockSet((byMs) => {
      this.#counts.clockJumps += 1;
      tellClockSet(byMs, core, (record) => this.#note(record));
    });
  }

  /** Sets the running features, whose facts and metrics are shown. */
  show(running: RunningFeatures): void {
    this.#running = running;
  }

  /** The connection's state, or the fault of one that is up: nothing arrives, or nothing is acknowledged. */
  get brokerState(): string {
    const { state, isMute } = this.#core.connection;
    if (state !== "online") return state;
    if (isMute) return "unacknowledging";
    return this.#looking.tests.self.deafSince === null ? state : "deaf";
  }

  /** Whether the link to the broker works. */
  isHealthy(): boolean {
    return this.brokerState === "online";
  }

  /** Whether the platform answers. */
  isReady(): boolean {
    const { state } = this.#core.mirror.watch;
    return state === "online" || state === "degraded";
  }

  /** Every subscription is granted. Has to be called before this run publishes anything else on the link. */
  onConnected(): void {
    this.#looking.tests.onConnected();
    this.#look.wake();
    this.publish();
  }

  /** A retained message from before this link. */
  onFound(topic: string, payload: Uint8Array): void {
    this.#looking.tests.onFound(topic, payload);
  }

  get flood(): BrokerTests["flood"] {
    return this.#looking.tests.flood;
  }

  /** Handles a self-test message of this or another bridge; returns whether it was one. */
  onMessage(message: IncomingMessage): boolean {
    const isOurs = this.#looking.tests.onMessage(message);
    if (isOurs) this.#look.wake();
    return isOurs;
  }

  /** Whether this computer's clock agrees with the platform's; null where unknown. */
  isClockRight(): boolean | null {
    return clockAgrees(this.#core.platform.clockSkewMs());
  }

  /** Notes that somebody logged in at the page. */
  loggedIn(user: string, address: string | null): void {
    this.#note({ type: "logged_in", user, address });
  }

  /** Notes a wrong token or password. Passwords have their own throttle. */
  refusedLogin(shown: "http.token" | "password", address: string | null): void {
    const { clock, log } = this.#core;
    const now = clock.monotonic();
    if (shown === "http.token") {
      this.#counts.wrongTokens += 1;
      if (this.#wrongTokenAt !== null && now - this.#wrongTokenAt < journaledTokensMs) return;
      this.#wrongTokenAt = now;
    }
    log.warn({ address }, `somebody came over HTTP with a wrong ${shown}`);
    this.#note({ type: "login_failed", listener: "http", client: null, user: null, address });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#core;
    this.#lag.enable();
    await Promise.all([
      this.#tellManager(signal),
      this.#awaitProven(signal),
      this.#lookAtBroker(signal),
      every(noticeMs, clock, signal, () => {
        this.#notice();
        // The limits are not told when the program makes itself read-only, or ends that.
        this.#core.commands.limits.engine.readOnlyChanged();
      }),
      every(healthEveryMs, clock, signal, () => {
        this.publish();
        this.#lag.reset();
      }),
    ]);
    this.#lag.disable();
    await this.#looking.tests.goodbye();
  }

  async #lookAtBroker(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#looking.tests.look();
      await this.#look.for(this.#looking.tests.restMs(), signal);
    }
  }

  /** Publishes `bridge/info` and `bridge/health`, if there is a link. */
  publish(): void {
    const { connection, topics, retained, version, journal, mirror } = this.#core;
    const { live } = this.#looking;
    if (connection.state !== "online") return;
    const { broker, versionReason } = connection;
    const about = { version, instance: journal.boot, startedAt: this.#startedWall };
    const mqtt =
      broker === null || versionReason === null
        ? null
        : { version: broker.protocolVersion === 5 ? "5" : "3.1.1", because: String(versionReason) };
    const { readOnlyBecause } = live;
    retained.wanted(
      topics.bridge.info,
      bridgeInfo(live.current, mirror.store, { ...about, mqtt, readOnlyBecause }),
    );
    retained.wanted(topics.bridge.health, JSON.stringify(this.health()));
  }

  /** The most important facts for a person. */
  facts() {
    const { version, rules, mirror } = this.#core;
    const { read_only, dry_run } = rules();
    return {
      version,
      started_at: new Date(this.#startedWall).toISOString(),
      platform: mirror.watch.state,
      broker: this.brokerState,
      read_only,
      dry_run,
    };
  }

  health(): Readonly<Record<string, unknown>> {
    return healthDocument(this.#core, this.#running, this.#own());
  }

  /** The base of `/metrics`. */
  figures(): readonly [Core, OwnFacts] {
    return [this.#core, this.#own()];
  }

  /** The metrics of features. */
  ofFeatures(): readonly Registry[] {
    return Object.values(this.#running).flatMap((one) => one?.metrics?.() ?? []);
  }

  #own(): OwnFacts {
    const { tests, overdue, live } = this.#looking;
    const { late, all } = overdue.now();
    return {
      startedAt: this.#startedAt,
      lagMs: Math.max(0, this.#lag.percentile(99) / 1e6 - lagResolutionMs),
      brokerState: this.brokerState,
      hearing: tests.self,
      otherBridge: tests.other(),
      overdue: late,
      overdueCount: all.length,
      readOnlyBecause: live.readOnlyBecause,
      ...this.#counts,
    };
  }

  /** A support bundle without secrets that fits into one message; `redact` also hides hosts, codes and names. */
  async bundle(redact: boolean): Promise<Bundle> {
    const { bridgeBundle, bundleForMessage, fitForStrangers } = await import("./bundle.js");
    return bundleForMessage(async (share) => {
      const { live, events, recentLog } = this.#looking;
      const configuration = live.current;
      const parts = { configuration, events, recentLog };
      const bundle = await bridgeBundle(this.#core, parts, this.health(), share);
      return redact ? fitForStrangers(bundle, configuration, []) : bundle;
    });
  }

  /** Publishes the change when a proven run ends the read-only state of a crash loop. */
  async #awaitProven(signal: AbortSignal): Promise<void> {
    if (await awaitProven(this.#core, this.#looking.live, this.#startedAt, signal)) this.publish();
  }

  async #tellManager(signal: AbortSignal): Promise<void> {
    const { mirror, outputs } = this.#core;
    const { manager } = this.#looking;
    if (!manager) return;
    const { poller, store, watch } = mirror;
    const look = () => ({
      startedAt: this.#startedAt,
      outputsAt: outputs.workedAt,
      readEndedAt: poller.tally.endedAt,
      readPauseMs: readPauseMs(poller.shortestIntervalMs),
      line: `broker ${this.brokerState}; platform ${watch.state ?? "not asked yet"}; ${store.size} controllers`,
    });
    await tellManager(manager, look, this.#core, signal);
  }

  #notice(): void {
    const { clock, configuration, platform } = this.#core;
    const { signins, contested } = platform.counters();
    const facts = {
      shapes: platform.shapeReports(),
      signIns: signins,
      contested,
      isSignInRefused:
        configuration.platform.sign_in !== undefined &&
        platform.link("business").unauthorized &&
        platform.link("realtime").unauthorized,
    };
    const { after, events } = notice(this.#noticed, facts, clock.monotonic(), clock.now());
    this.#noticed = after;
    for (const event of events) this.#looking.events.publish(event);
  }

  #note(record: RecordBody): void {
    this.#core.journal.append(record, { durable: false }).catch(ignored);
  }
}
