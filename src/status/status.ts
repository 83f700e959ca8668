import { monitorEventLoopDelay } from "node:perf_hooks";
import type { RecordBody } from "../journal/records.js";
import type { IncomingMessage } from "../mqtt/connection/settings.js";
import { type Clock, clockAgrees, every, Rest } from "../runtime/clock.js";
import type { Logger } from "../runtime/log.js";
import type { ServiceManager } from "../runtime/systemd.js";
import type { Bundle } from "./bundle.js";
import { awaitProven } from "./crash-loop.js";
import { bridgeInfo, healthDocument, type LoopDelay, type OwnFacts, type StatusParts } from "./health.js";
import { notice, type Noticed, noticedNothing } from "./notices.js";

/** What shows that the bridge really works. Instants are monotonic ms. */
export interface Progress {
  readonly startedAt: number;
  /** How late the newest look came. */
  readonly lateMs: number;
  /** The publishing half was last at work. */
  readonly outputsAt: number | null;
  /** A read of the platform last ended, however it ended. */
  readonly readEndedAt: number | null;
  /** The longest pause between two reads that can be right. */
  readonly readPauseMs: number;
}

const mostLateMs = 1_000;
const outputsPauseMs = 30_000;

/** Which part makes no progress, as a word for the log; null while all do. */
export function stuckPart(progress: Progress, now: number): string | null {
  const { startedAt, lateMs, outputsAt, readEndedAt, readPauseMs } = progress;
  if (lateMs > mostLateMs) return "event loop";
  if (now - (outputsAt ?? startedAt) > outputsPauseMs) return "outputs";
  return now - (readEndedAt ?? startedAt) > readPauseMs ? "polling" : null;
}

/** The shortest interval of the reads made, several times over, but never less than any deadline of a request. */
export const readPauseMs = (shortestIntervalMs: number): number => Math.max(300_000, 3 * shortestIntervalMs);

interface WatchdogPorts {
  readonly manager: ServiceManager;
  readonly clock: Clock;
  readonly log: Logger;
  readonly progress: () => Omit<Progress, "lateMs">;
  /** A line for `systemctl status`. */
  readonly status: () => string;
}

const statusEveryMs = 30_000;
/** Looks per watchdog time: one that is left out must not be the one that kills us. */
const looksPerWatchdog = 4;

/** Tells systemd that we are ready, that we live as long as work gets done, and that we stop. */
export async function tellManager(ports: WatchdogPorts, signal: AbortSignal): Promise<void> {
  const { manager, clock, log, progress, status } = ports;
  const { watchdogMs } = manager;
  const everyMs = watchdogMs === null ? statusEveryMs : watchdogMs / looksPerWatchdog;
  manager.tell("READY=1", `STATUS=${status()}`);
  let told: string | null = null;
  for (let due = clock.monotonic() + everyMs; ; due = clock.monotonic() + everyMs) {
    await clock.wait(Math.max(0, due - clock.monotonic()), signal).catch(() => undefined);
    if (signal.aborted) break;
    const stuck = stuckPart({ ...progress(), lateMs: clock.monotonic() - due }, clock.monotonic());
    if (stuck !== null && stuck !== told)
      log.error({ part: stuck }, "a part makes no progress; systemd restarts the bridge if it stays so");
    told = stuck;
    const alive = watchdogMs !== null && stuck === null ? ["WATCHDOG=1"] : [];
    manager.tell(...alive, `STATUS=${stuck === null ? status() : `${stuck} makes no progress`}`);
  }
  manager.tell("STOPPING=1", "STATUS=stopping");
}

/** Says in log and journal that the wall clock was set, so that times in both can be understood later. */
export function tellClockSet(
  byMs: number,
  { clock, log }: Pick<WatchdogPorts, "clock" | "log">,
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

/** What the bridge knows and tells of itself: is it heard, is it alone, is its clock right, is anything late. */
export class Status {
  readonly #parts: StatusParts;
  readonly #startedAt: number;
  readonly #startedWall: number;
  readonly #lag: LoopDelay;
  readonly #look: Rest;
  #noticed: Noticed = noticedNothing;
  readonly #counts = { clockJumps: 0, wrongTokens: 0 };
  #wrongTokenAt: number | null = null;

  constructor(parts: StatusParts) {
    this.#parts = parts;
    this.#lag = parts.loopDelay ?? measuredLoopDelay();
    const { clock, tests } = parts;
    this.#startedAt = clock.monotonic();
    this.#startedWall = clock.now();
    this.#look = new Rest(clock);
    tests.onNews(() => this.publish());
    parts.mirror.store.onClockSet((byMs) => {
      this.#counts.clockJumps += 1;
      tellClockSet(byMs, parts, (record) => this.#note(record));
    });
  }

  /** The connection's state, or what is wrong with one that stands: nothing arrives, or nothing is acknowledged. */
  get brokerState(): string {
    const { state, isMute } = this.#parts.connection;
    if (state !== "online") return state;
    if (isMute) return "unacknowledging";
    return this.#parts.tests.self.deafSince === null ? state : "deaf";
  }

  /** The process works and its link to the broker stands. */
  isHealthy(): boolean {
    return this.brokerState === "online";
  }

  /** The platform answers too. */
  isReady(): boolean {
    const { state } = this.#parts.mirror.watch;
    return state === "online" || state === "degraded";
  }

  /** Every subscription stands; call it before anything else of this run is published on the link. */
  onConnected(): void {
    this.#parts.tests.onConnected();
    this.#look.wake();
    this.publish();
  }

  /** What the broker holds, from before. */
  onFound(topic: string, payload: Uint8Array): void {
    this.#parts.tests.onFound(topic, payload);
  }

  /** Whether the message was one of the bridge to itself, or of another bridge to all. */
  onMessage(message: IncomingMessage): boolean {
    const isOurs = this.#parts.tests.onMessage(message);
    if (isOurs) this.#look.wake();
    return isOurs;
  }

  /** Whether this computer's clock agrees with the platform's; null where nobody can tell. */
  isClockRight(): boolean | null {
    return clockAgrees(this.#parts.platform.clockSkewMs());
  }

  /** Somebody came in at the page. */
  loggedIn(user: string, address: string | null): void {
    this.#note({ type: "logged_in", user, address });
  }

  /** A wrong token or password was shown. Passwords have their own throttle. */
  refusedLogin(shown: "http.token" | "password", address: string | null): void {
    const { clock, log } = this.#parts;
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
    const { clock } = this.#parts;
    this.#lag.enable();
    await Promise.all([
      this.#tellManager(signal),
      awaitProven(
        {
          ...this.#parts,
          startedAt: this.#startedAt,
          note: (record) => this.#note(record),
          onNews: () => this.publish(),
        },
        signal,
      ),
      this.#lookAtBroker(signal),
      every(noticeMs, clock, signal, () => {
        this.#notice();
        // What the program made read-only by itself begins and ends without a word to the limits.
        this.#parts.commands.limits.engine.readOnlyChanged();
      }),
      every(healthEveryMs, clock, signal, () => {
        this.publish();
        this.#lag.reset();
      }),
    ]);
    this.#lag.disable();
    await this.#parts.tests.goodbye();
  }

  async #lookAtBroker(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#parts.tests.look();
      await this.#look.for(this.#parts.tests.restMs(), signal);
    }
  }

  /** Tells `bridge/info` and `bridge/health`, where there is a link. */
  publish(): void {
    const { connection, topics, retained, version, journal, mirror, live } = this.#parts;
    if (connection.state !== "online") return;
    const { broker, versionReason } = connection;
    const about = { version, instance: journal.boot, startedAt: this.#startedWall };
    const mqtt =
      broker === null || versionReason === null
        ? null
        : { version: broker.protocolVersion === 5 ? "5" : "3.1.1", because: versionReason };
    const { readOnlyBecause } = live;
    retained.wanted(
      topics.bridge.info,
      bridgeInfo(live.current, mirror.store, { ...about, mqtt, readOnlyBecause }),
    );
    retained.wanted(topics.bridge.health, JSON.stringify(this.health()));
  }

  /** What a person is to know before anything else. */
  facts() {
    const { version, live, mirror } = this.#parts;
    const { read_only, dry_run } = live.current.commands;
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
    return healthDocument(this.#parts, this.#own());
  }

  /** What `/metrics` shows is made from these. */
  figures(): readonly [StatusParts, OwnFacts] {
    return [this.#parts, this.#own()];
  }

  #own(): OwnFacts {
    const { tests, overdue } = this.#parts;
    return {
      startedAt: this.#startedAt,
      lagMs: Math.max(0, this.#lag.percentile(99) / 1e6 - lagResolutionMs),
      brokerState: this.brokerState,
      hearing: tests.self,
      otherBridge: tests.other(),
      overdue: overdue.now().late,
      ...this.#counts,
    };
  }

  /**
   * What a helper needs, without secrets, as much as one message can hold; `redact`: also without hosts, codes
   * and names.
   */
  async bundle(redact: boolean): Promise<Bundle> {
    const { bridgeBundle, bundleForMessage, fitForStrangers } = await import("./bundle.js");
    return bundleForMessage(async (share) => {
      const bundle = await bridgeBundle(this.#parts, this.health(), share);
      return redact ? fitForStrangers(bundle, this.#parts.live.current, []) : bundle;
    });
  }

  async #tellManager(signal: AbortSignal): Promise<void> {
    const { manager, clock, log, mirror, outputs } = this.#parts;
    if (!manager) return;
    const { poller, store, watch } = mirror;
    const progress = () => ({
      startedAt: this.#startedAt,
      outputsAt: outputs.workedAt,
      readEndedAt: poller.tally.endedAt,
      readPauseMs: readPauseMs(poller.shortestIntervalMs),
    });
    const status = () =>
      `broker ${this.brokerState}; platform ${watch.state ?? "not asked yet"}; ${store.size} controllers`;
    await tellManager({ manager, clock, log, progress, status }, signal);
  }

  #notice(): void {
    const { clock, configuration, platform, events: output } = this.#parts;
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
    for (const event of events) output.publish(event);
  }

  #note(record: RecordBody): void {
    this.#parts.journal.append(record, { durable: false }).catch(() => undefined);
  }
}
