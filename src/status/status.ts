import { monitorEventLoopDelay } from "node:perf_hooks";
import type { PlatformState } from "../greenhouse/model.js";
import type { RecordBody } from "../journal/records.js";
import type { IncomingMessage } from "../mqtt/connection/settings.js";
import { every, Rest } from "../runtime/schedule.js";
import type { Bundle } from "./bundle.js";
import { awaitProven } from "./crash-loop.js";
import { bridgeInfo, healthDocument } from "./health.js";
import type { MetricSources } from "./metrics.js";
import { notice, type Noticed, noticedNothing } from "./notices.js";
import { BrokerTests } from "./other-bridge.js";
import { overdueOf, shortestIntervalMs } from "./overdue.js";
import type { StatusParts } from "./health.js";
import { readPauseMs, tellClockSet, Watchdog } from "./watchdog.js";

const noticeMs = 5_000;
const healthEveryMs = 60_000;
const lagResolutionMs = 100;
const journaledTokensMs = 60_000;

/** What the bridge knows and tells of itself: is it heard, is it alone, is its clock right, is anything late. */
export class Status {
  readonly #parts: StatusParts;
  readonly #startedAt: number;
  readonly #startedWall: number;
  readonly #lag = monitorEventLoopDelay({ resolution: lagResolutionMs });
  readonly #tests: BrokerTests;
  readonly #look: Rest;
  readonly #knownSince = new Map<string, number>();
  #noticed: Noticed = noticedNothing;
  #platformReconnects = 0;
  #platformState: PlatformState | null = null;
  #clockJumps = 0;
  #wrongTokens = 0;
  #wrongTokenAt: number | null = null;

  constructor(parts: StatusParts) {
    this.#parts = parts;
    const { clock } = parts;
    this.#startedAt = clock.monotonic();
    this.#startedWall = clock.now();
    const note = this.#note.bind(this);
    this.#tests = new BrokerTests(parts, note, () => this.publish());
    this.#look = new Rest(clock);
    parts.mirror.store.onClockSet((byMs) => {
      this.#clockJumps += 1;
      tellClockSet(byMs, parts, note);
    });
    parts.mirror.store.onChange((before, after) => {
      if (before === undefined && after) this.#knownSince.set(after.info.code, clock.monotonic());
      if (before && after === undefined) this.#knownSince.delete(before.info.code);
    });
  }

  /** The connection's state, or what is wrong with one that stands: nothing arrives, or nothing is acknowledged. */
  get brokerState(): string {
    const { state, isMute } = this.#parts.connection;
    if (state !== "online") return state;
    if (isMute) return "unacknowledging";
    return this.#tests.self.deafSince === null ? state : "deaf";
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

  /** Null while this run cannot know yet. */
  get otherBridge(): boolean | null {
    return this.#tests.other() !== null || (this.#tests.isAlone() ? false : null);
  }

  /** Every subscription stands; call it before anything else of this run is published on the link. */
  connected(): void {
    this.#tests.connected();
    this.#look.wake();
    this.publish();
  }

  /** Whether the message was one of the bridge to itself, or of another bridge to all. */
  received(message: IncomingMessage): boolean {
    const isOurs = this.#tests.received(message);
    if (isOurs) this.#look.wake();
    return isOurs;
  }

  platformState(state: PlatformState): void {
    if (this.#platformState === "unreachable") this.#platformReconnects += 1;
    this.#platformState = state;
  }

  /** Somebody showed a wrong token or password. Passwords have their own throttle. */
  refusedLogin(shown: "http.token" | "password", address: string | null): void {
    const { clock, log } = this.#parts;
    const now = clock.monotonic();
    if (shown === "http.token") {
      this.#wrongTokens += 1;
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
      this.#watchdog()?.run(signal),
      awaitProven(
        {
          ...{ ...this.#parts, startedAt: this.#startedAt, note: this.#note.bind(this) },
          onNews: () => this.publish(),
        },
        signal,
      ),
      this.#lookAtBroker(signal),
      every(noticeMs, clock, signal, () => {
        this.#notice();
      }),
      every(healthEveryMs, clock, signal, () => {
        this.publish();
        this.#lag.reset();
      }),
    ]);
    this.#lag.disable();
    await this.#tests.goodbye();
  }

  async #lookAtBroker(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      this.#tests.look();
      await this.#look.for(this.#tests.restMs(), signal);
    }
  }

  /** Tells `bridge/info` and `bridge/health`, where there is a link. */
  publish(): void {
    const { connection, topics, outputs, version, journal, mirror, live } = this.#parts;
    if (connection.state !== "online") return;
    const { broker, versionReason } = connection;
    const about = { version, instance: journal.boot, startedAt: this.#startedWall };
    const mqtt =
      broker === null || versionReason === null
        ? null
        : { version: broker.protocolVersion === 5 ? "5" : "3.1.1", because: versionReason };
    const { readOnlyBecause } = live;
    outputs.send(
      topics.bridge.info,
      bridgeInfo(live.current, mirror.store, { ...about, mqtt, readOnlyBecause }),
    );
    outputs.send(topics.bridge.health, JSON.stringify(this.health()));
  }

  /** What a person is to know before anything else. */
  facts() {
    const { version, live, mirror } = this.#parts;
    const { read_only, dry_run } = live.current.commands;
    return {
      ...{ version, started_at: new Date(this.#startedWall).toISOString() },
      ...{ platform: mirror.watch.state, broker: this.brokerState, read_only, dry_run },
    };
  }

  health(): Readonly<Record<string, unknown>> {
    const { self } = this.#tests;
    return healthDocument(this.#parts, {
      startedAt: this.#startedAt,
      lagMs: this.#lagMs(),
      broker: { state: this.brokerState, deafSince: self.deafSince, heardAt: self.heardAt },
      otherBridge: this.#tests.other(),
      overdue: this.overdue().late,
    });
  }

  /**
   * What somebody needs who is to help, without secrets, as much as one message can hold; `redact`: also without hosts, codes
   * and names.
   */
  async bundle(redact: boolean): Promise<Bundle> {
    const { bridgeBundle, bundleForMessage, fitForStrangers } = await import("./bundle.js");
    return bundleForMessage(async (share) => {
      const bundle = await bridgeBundle(this.#parts, this.health(), share);
      return redact ? fitForStrangers(bundle, this.#parts.live.current, []) : bundle;
    });
  }

  /** What `/metrics` shows. */
  metricSources(): MetricSources {
    const { self } = this.#tests;
    return {
      ...this.#parts,
      own: () => ({
        startedAt: this.#startedAt,
        lagMs: this.#lagMs(),
        clockJumps: this.#clockJumps,
        wrongTokens: this.#wrongTokens,
        platformReconnects: this.#platformReconnects,
        overdue: this.overdue().late.length,
        hasOtherBridge: this.otherBridge === true,
        isDeaf: self.deafSince !== null,
        selfTests: self.counters,
      }),
    };
  }

  /** 99th percentile of the event loop's delay since the last minute began. */
  #lagMs(): number {
    return Math.max(0, this.#lag.percentile(99) / 1e6 - lagResolutionMs);
  }

  overdue(): ReturnType<typeof overdueOf> {
    const { clock, mirror } = this.#parts;
    const { poller, store, inventory, intervals } = mirror;
    return overdueOf({
      now: clock.monotonic(),
      wall: clock.now(),
      startedAt: this.#startedAt,
      intervals,
      stretch: poller.stretch,
      controllers: store.controllers(),
      hasReadings: (code) => inventory.hasReadings(code),
      answeredAt: (operation, code) => poller.tally.answeredAt(operation, code),
      knownSince: (code) => this.#knownSince.get(code) ?? this.#startedAt,
    });
  }

  #watchdog(): Watchdog | null {
    const { manager, clock, log, mirror, outputs } = this.#parts;
    if (!manager) return null;
    const { poller, store, inventory, intervals, watch } = mirror;
    const shortestMs = () =>
      poller.stretch *
      shortestIntervalMs(intervals, store.controllers(), (code) => inventory.hasReadings(code));
    const progress = () => ({
      startedAt: this.#startedAt,
      outputsAt: outputs.workedAt,
      readEndedAt: poller.tally.endedAt,
      readPauseMs: readPauseMs(shortestMs()),
    });
    const status = () =>
      `broker ${this.brokerState}; platform ${watch.state ?? "not asked yet"}; ${store.size} controllers`;
    return new Watchdog({ manager, clock, log, progress, status });
  }

  #notice(): void {
    const { clock, configuration, platform, onEvent } = this.#parts;
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
    for (const event of events) onEvent(event);
  }

  #note(record: RecordBody): void {
    this.#parts.journal.append(record, { durable: false }).catch(() => undefined);
  }
}
