import type { CommandResult } from "../../greenhouse/command/outcomes.js";
import type { BridgeEvent } from "../../greenhouse/events.js";
import type { PlatformState } from "../../greenhouse/model.js";
import type { Journal } from "../../journal/journal.js";
import type { RecordBody } from "../../journal/records.js";
import type { IncomingMessage } from "../../mqtt/connection/settings.js";
import type { CommandDesk } from "../../commands/desk.js";
import type { BridgeSurroundings } from "../surroundings.js";
import type { LiveSettings } from "../../config/live-settings.js";
import type { Mirror } from "../mirror.js";
import type { Outputs } from "../outputs.js";
import { awaitProven } from "./crash-loop.js";
import { CommandTally, metricFacts, metricsPage } from "./metrics.js";
import {
  notice,
  type Noticed,
  noticedNothing,
  type Overdue,
  overdueOf,
  type ReadBook,
  shortestIntervalMs,
} from "./overdue.js";
import { BrokerTests } from "./self-test.js";
import { ClockJumps, readPauseMs, Watchdog } from "./watchdog.js";

export interface OperationsParts {
  readonly around: BridgeSurroundings;
  readonly live: LiveSettings;
  readonly journal: Journal;
  readonly mirror: Mirror;
  readonly outputs: Outputs;
  readonly desk: CommandDesk;
  readonly reads: ReadBook;
  readonly onEvent: (event: BridgeEvent) => void;
  /** Something in `bridge/health` is worth telling before its time. */
  readonly onNews: () => void;
  /** 99th percentile of the event loop's delay, ms. */
  readonly lagMs: () => number;
}

const noticeMs = 1_000;
const journaledTokensMs = 60_000;

/** What looks after the bridge itself: is it heard, is it alone, is its clock right, is anything late. */
export class Operations {
  readonly #parts: OperationsParts;
  readonly #startedAt: number;
  readonly #commands = new CommandTally();
  readonly #tests: BrokerTests;
  readonly #jumps: ClockJumps;
  readonly #knownSince = new Map<string, number>();
  #noticed: Noticed = noticedNothing;
  #platformState: PlatformState | null = null;
  #platformReconnects = 0;
  #wrongTokens = 0;
  #wrongTokenAt: number | null = null;

  constructor(parts: OperationsParts) {
    this.#parts = parts;
    const { clock, log } = parts.around;
    this.#startedAt = clock.monotonic();
    const note = (record: RecordBody) => {
      this.#note(record);
    };
    this.#tests = new BrokerTests(parts, note);
    this.#jumps = new ClockJumps({ clock, log, note });
    parts.mirror.store.onChange((before, after) => {
      if (before === undefined && after) this.#knownSince.set(after.info.code, clock.monotonic());
      if (before && after === undefined) this.#forget(before.info.code);
    });
  }

  /** The connection's state, or what is wrong with one that stands: nothing arrives, or nothing is acknowledged. */
  get brokerState(): string {
    const { state, isMute } = this.#parts.outputs.connection;
    if (state !== "online") return state;
    if (isMute) return "unacknowledging";
    return this.#tests.self.isDeaf ? "deaf" : state;
  }

  get hasOtherBridge(): boolean {
    return this.#tests.other.isPresent;
  }

  /** Every subscription stands; call it before anything of this run is published on the link. */
  connected(): void {
    this.#tests.connected();
  }

  /** Whether the message was one of the bridge to itself, or of another bridge to all. */
  received(message: IncomingMessage): boolean {
    return this.#tests.received(message);
  }

  resulted(result: CommandResult): void {
    this.#commands.note(result);
  }

  platformState(state: PlatformState): void {
    if (this.#platformState === "unreachable") this.#platformReconnects += 1;
    this.#platformState = state;
  }

  wrongToken(address: string | null): void {
    const now = this.#parts.around.clock.monotonic();
    this.#wrongTokens += 1;
    if (this.#wrongTokenAt !== null && now - this.#wrongTokenAt < journaledTokensMs) return;
    this.#wrongTokenAt = now;
    this.#parts.around.log.warn({ address }, "somebody asked for metrics with a wrong http.token");
    this.#note({ type: "login_failed", listener: "http", client: null, user: null, address });
  }

  async run(signal: AbortSignal): Promise<void> {
    await Promise.all([
      this.#tests.run(signal),
      this.#jumps.run(signal),
      this.#watchdog()?.run(signal),
      this.#provenRun(signal),
      this.#noticing(signal),
    ]);
  }

  /** What `bridge/health` says of the bridge itself. */
  health() {
    const { self, other } = this.#tests;
    const { live } = this.#parts;
    const { present, client, since } = other.state();
    return {
      broker: {
        state: this.brokerState,
        deaf_since: iso(self.deafSince),
        heard_ourselves_at: iso(self.heardAt),
      },
      otherBridge: present ? { client, since: iso(since) } : null,
      readOnly: { active: live.current.commands.read_only, because: live.readOnlyBecause },
      overdue: this.overdue(),
    };
  }

  overdue(): readonly Overdue[] {
    const { around, mirror, reads } = this.#parts;
    return overdueOf({
      now: around.clock.monotonic(),
      wall: around.clock.now(),
      startedAt: this.#startedAt,
      intervals: mirror.intervals,
      stretch: mirror.poller.stretch,
      controllers: mirror.store.controllers(),
      hasReadings: (code) => mirror.inventory.hasReadings(code),
      answeredAt: (operation, code) => reads.answeredAt(operation, code),
      knownSince: (code) => this.#knownSince.get(code) ?? this.#startedAt,
    });
  }

  metrics(): string {
    const { self } = this.#tests;
    return metricsPage(
      metricFacts(this.#parts, {
        startedAt: this.#startedAt,
        clockJumps: this.#jumps.count,
        wrongTokens: this.#wrongTokens,
        commands: this.#commands,
        platformReconnects: this.#platformReconnects,
        overdue: this.overdue().length,
        hasOtherBridge: this.hasOtherBridge,
        isDeaf: self.isDeaf,
        selfTests: self.counters(),
      }),
    );
  }

  #watchdog(): Watchdog | null {
    const { around, mirror, outputs, reads } = this.#parts;
    const { manager, clock, log } = around;
    if (!manager) return null;
    const progress = () => ({
      startedAt: this.#startedAt,
      outputsAt: outputs.workedAt,
      readEndedAt: reads.endedAt,
      readPauseMs: readPauseMs(this.#shortestIntervalMs()),
    });
    const status = () =>
      `broker ${this.brokerState}; platform ${mirror.watch.state ?? "not asked yet"}; ${mirror.store.size} controllers`;
    return new Watchdog({ manager, clock, log, progress, status });
  }

  #shortestIntervalMs(): number {
    const { intervals, inventory, poller, store } = this.#parts.mirror;
    const hasReadings = (code: string) => inventory.hasReadings(code);
    return poller.stretch * shortestIntervalMs(intervals, store.controllers(), hasReadings);
  }

  async #provenRun(signal: AbortSignal): Promise<void> {
    const { around, live, outputs, onNews } = this.#parts;
    const ports = {
      ...{ startedAt: this.#startedAt, clock: around.clock, log: around.log, live },
      note: (record: RecordBody) => {
        this.#note(record);
      },
      onNews: () => {
        if (outputs.connection.state === "online") onNews();
      },
    };
    await awaitProven(ports, signal);
  }

  async #noticing(signal: AbortSignal): Promise<void> {
    const { around, mirror, onEvent } = this.#parts;
    const { clock, configuration } = around;
    const { platform } = mirror;
    const isRefused = () =>
      configuration.platform.sign_in !== undefined &&
      platform.link("business").unauthorized &&
      platform.link("realtime").unauthorized;
    while (!signal.aborted) {
      await clock.wait(noticeMs, signal).catch(() => undefined);
      const facts = {
        shapes: platform.shapeReports(),
        signIns: platform.counters().signins,
        contested: platform.counters().contested,
        isSignInRefused: isRefused(),
      };
      const { after, events } = notice(this.#noticed, facts, clock.monotonic(), clock.now());
      this.#noticed = after;
      for (const event of events) onEvent(event);
    }
  }

  #forget(code: string): void {
    this.#knownSince.delete(code);
    this.#parts.reads.forget(code);
  }

  #note(record: RecordBody): void {
    this.#parts.journal.append(record, { durable: false }).catch(() => undefined);
  }
}

const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString());
