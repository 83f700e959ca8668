import { join } from "node:path";
import type { Command, CommandRequest, Phase, ResultAddressee } from "../commands/command.js";
import { likenessOf, type SeenAddress, seenYaml } from "../greenhouse/addresses-seen.js";
import { leastSpan } from "../greenhouse/bands.js";
import type { CommandResult, Via } from "../greenhouse/command/outcomes.js";
import { controllerItem, isoOrNull, nameOf } from "../greenhouse/documents.js";
import type { Language } from "../greenhouse/labels.js";
import type { Alarm } from "../greenhouse/limits.js";
import type { Controller, Sensor } from "../greenhouse/model.js";
import { keySensors } from "../greenhouse/summary.js";
import {
  commandOutcomes,
  type Checkpoint,
  type JournalRecord,
  type RecordFilter,
} from "../journal/records.js";
import { Timeline, type TimelineEntry, type TimelineFilter } from "../journal/timeline.js";
import type { Clock } from "../runtime/clock.js";
import { nullIfFailed } from "../runtime/failures.js";
import type { Registry } from "../runtime/metrics.js";
import { type FileSystem, nodeFileSystem } from "../runtime/file-system.js";
import type { Logger, LogLine, RecentLog } from "../runtime/log.js";
import type {
  Alarms,
  BridgeFacts,
  Overview,
  SeenAddresses,
  Sparkline,
  Sparklines,
  Trends,
  Untold,
  Weather,
} from "../page/protocol.js";
import type { GreenhouseStore } from "../sync/store.js";
import type { Listener } from "./access.js";
import type { SettingsSource } from "../page/settings-source.js";
import { CommandBoard } from "./board.js";
import { Faults } from "./faults.js";
import { LiveViews } from "./live.js";
import { type CommandedGroups, groupsAndScenesView } from "./groups.js";
import { fillTrends, type PastSources } from "./past-readings.js";
import { nightsOf, type Range, TrendKeeper } from "./trends.js";
import { alarmsOn, controllerView, noneOn, overviewRow } from "./views.js";

/** What the page shows and does, each from the part that owns it. */
export interface PageSources {
  readonly clock: Clock;
  readonly log: Logger;
  /** The current level of the log. */
  readonly logLevel?: (() => string) | undefined;
  /** Kinds of sensors on the overview; each shows its first reading. */
  readonly kinds: () => Listener["overview"];
  readonly metrics: { registry(): Registry; note(result: CommandResult): void };
  readonly store: Pick<GreenhouseStore, "controllers" | "get" | "byId" | "find">;
  readonly status: {
    facts(): Omit<BridgeFacts, "demo" | "log_level">;
    health(): Readonly<Record<string, unknown>>;
    isHealthy(): boolean;
    isReady(): boolean;
    loggedIn(user: string, address: string | null): void;
    /** Whether this computer's clock agrees with the platform's; null where nobody can tell. */
    isClockRight(): boolean | null;
  };
  readonly submit: (request: CommandRequest) => { readonly id: string; readonly isTaken: boolean };
  readonly groups: CommandedGroups;
  /** Resolves with what `bridge/response/<name>` would say; null where too many wait for an answer. */
  readonly ask: (name: string, payload: Uint8Array, via: Via, ageMs: number) => Promise<string | null>;
  /** The earliest time at which a request read at `readAt` may have been sent, monotonic ms; when absent, `readAt`. */
  readonly sentSince?: (readAt: number) => number;
  /** Addresses that the platform pushed and that belong to nothing known. */
  readonly seenAddresses: () => readonly SeenAddress[];
  /** Present alarms. */
  readonly alarms: () => readonly Omit<Alarm, "clearedAt">[];
  /** The newest values of the `weather` topics. */
  readonly weather: () => Weather;
  readonly journal: {
    onWritten(listener: (record: JournalRecord) => void): void;
    history(): Pick<Checkpoint, "lanes" | "alarms">;
  };
  /** The newest records that match, oldest first. */
  readonly past: (filter: RecordFilter & { readonly limit: number }) => Promise<readonly JournalRecord[]>;
  /**
   * The newest entries of the timeline that match, oldest first. `next` is the number before which older ones are asked
   * for.
   */
  readonly timeline: (
    filter: TimelineFilter & { readonly limit: number },
  ) => Promise<{ readonly entries: readonly TimelineEntry[]; readonly next: number | null }>;
  readonly recentLog?: Pick<RecentLog, "newest" | "written"> | undefined;
  /** Findings of `doctor` as they come. */
  readonly doctor?: Examine | undefined;
  /** What the account has and the configuration lacks, as lines for it; until then the progress of the search. */
  readonly discover?: Examine | undefined;
  /** The configuration's file; absent where settings cannot be changed. */
  readonly settings?: SettingsSource | undefined;
  /** Records who saved which keys; resolves once the disk has it, or could not take it. */
  readonly settingsSaved?: (by: string | null, via: string | null, keys: readonly string[]) => Promise<void>;
  /** The simulated greenhouse's time: now, at one of our times, and how fast it runs. Absent outside of the demo. */
  readonly demo?:
    | {
        now(): NonNullable<BridgeFacts["demo"]>;
        timeAt(realMs: number): number;
        setSpeed(speed: number): void;
      }
    | undefined;
  /** Past readings of the platform; null where trends are not filled from them. */
  readonly pastReadings?: PastSources | null;
  /** The folder below which trends are kept. */
  readonly dataDir: string;
  /** Rejects if another folder has taken the data directory's place. */
  readonly inPlace?: () => Promise<void>;
  readonly files?: FileSystem | undefined;
}

/** Work that takes a while and reports as it goes, in the reader's language. */
type Examine = (signal: AbortSignal, language: Language) => AsyncIterable<unknown>;
type Examination = "doctor" | "discover" | "attempt";

/** Twice a minute, as a pause of a whole minute would skip one now and then. */
const sampleMs = 30_000;
const demoSampleMs = 1_000;
const lightKinds: ReadonlySet<string> = new Set(["illuminance", "par", "irradiance"]);
/** How the name of a controller's view begins. */
const ofController = "controller/";
/** More lines of the log than this are not sent at once. */
const mostLines = 500;
/** Half an hour each: as fine as a small line below a number can show. */
const overviewPoints = 48;
/**
 * Entries of the journal view, more than come between two looks; and results read at the start, enough for the last one
 * of each target.
 */
const mostRecords = 200;
const mostRestored = 1_000;

/** Makes the documents of the API, and tells browsers when they change. */
export class PageService {
  readonly sources: PageSources;
  readonly faults: Faults;
  readonly board = new CommandBoard();
  readonly trends: TrendKeeper;
  readonly live: LiveViews;
  /** Newest first, like the lines. */
  #records: readonly TimelineEntry[] = [];
  #lines: readonly LogLine[] = [];
  #linesRead = 0;
  /**
   * The board's count of changes when the overview was last made. While it is the same, nobody waits for the overview.
   */
  #overviewOf = -1;
  /** Examinations under way; each ends with the client that waits for it. */
  readonly #examinations = new Set<Examination>();
  #running: Promise<void> | null = null;
  readonly #views = new Map<string, () => object>([
    ["bridge", () => this.#bridge()],
    ["overview", () => this.#overview()],
    ["alarms", () => this.#alarms()],
    ["groups", () => groupsAndScenesView(this.sources.groups, this.sources.store)],
    ["journal", () => this.#records],
    ["log", () => this.#log()],
  ]);

  constructor(sources: PageSources) {
    this.sources = sources;
    const { clock, log, journal } = sources;
    this.faults = new Faults(log, clock);
    this.trends = this.#createTrends();
    this.live = new LiveViews(
      clock,
      (name) => this.view(name),
      this.faults,
      (name) => name === "overview" && this.#overviewOf === this.board.changes,
    );
    const timeline = new Timeline(journal.history());
    journal.onWritten((record) =>
      this.faults.attempt(() => {
        const added = timeline.entries(record);
        if (added.length > 0) this.#records = [...added.toReversed(), ...this.#records].slice(0, mostRecords);
      }),
    );
  }

  #createTrends(): TrendKeeper {
    const { clock, log, store, demo, dataDir, inPlace, files = nodeFileSystem, status } = this.sources;
    return new TrendKeeper({
      clock,
      timeOf: (realMs) => demo?.timeAt(realMs) ?? realMs,
      everyMs: demo === undefined ? sampleMs : demoSampleMs,
      controllers: () => store.controllers(),
      directory: join(dataDir, "trends"),
      files,
      inPlace,
      isSending: () => this.board.isSending(),
      // A simulated day follows no real clock.
      isClockRight: () => (demo === undefined ? status.isClockRight() : null),
      onProblem: (problem) =>
        log.warn({ problem }, "trends are not kept on disk; the rest of the bridge goes on without"),
    });
  }

  /** A day of key readings of some controllers. */
  async sparklines(controllers: readonly Controller[]): Promise<Sparklines> {
    const kinds = this.sources.kinds();
    const known = controllers.map((one) => [one.info.id, keySensors(one, kinds)] as const);
    const wanted = new Map(
      known.map(([id, sensors]) => [id, sensors.map(({ definition }) => definition.id)] as const),
    );
    const found = await this.trends.ofAll(wanted, null, overviewPoints);
    const lineOf = (id: string, { definition }: Sensor): Sparkline => ({
      points: found.controllers[id]?.[definition.id] ?? [],
      least_span: leastSpan(definition.kind, definition.unit),
    });
    return {
      ...found,
      controllers: Object.fromEntries(
        known.map(([id, sensors]) => [
          id,
          Object.fromEntries(sensors.map((sensor) => [sensor.definition.id, lineOf(id, sensor)] as const)),
        ]),
      ),
    };
  }

  /** Points of sensors of a controller; without a range, of the last day. */
  async trendsOf(
    { info, sensors }: Controller,
    ids: readonly string[],
    range: Range | null,
    points: number,
  ): Promise<Trends> {
    const { clock, demo } = this.sources;
    const light = [...sensors.values()].find(({ definition }) => lightKinds.has(definition.kind))?.definition
      .id;
    const asked = light === undefined ? ids : [...new Set([...ids, light])];
    const found = await this.trends.of(info.id, asked, range, points);
    const real = clock.now();
    return {
      ...found,
      sensors: Object.fromEntries(ids.map((id) => [id, found.sensors[id] ?? []])),
      nights: nightsOf(found.sensors[light ?? ""] ?? [], found.since, found.step_s),
      demo: demo
        ? {
            simulated: new Date(demo.timeAt(real)).toISOString(),
            real: new Date(real).toISOString(),
            speed: demo.now().speed,
            time_zone: demo.now().time_zone,
          }
        : null,
    };
  }

  /** Runs until the signal aborts. Further calls, for a second port, return the same promise. */
  run(signal: AbortSignal): Promise<void> {
    this.#running ??= this.#run(signal);
    return this.#running;
  }

  async #run(signal: AbortSignal): Promise<void> {
    const parts = [this.trends.run(signal, this.faults), this.live.run(signal), this.#fillTrends(signal)];
    const wanted = { types: commandOutcomes, limit: mostRestored };
    const records = (await this.sources.past(wanted).catch(() => [])).toReversed();
    for (const record of records)
      if ("result" in record) this.board.restore(record.result, record.target ?? "actuator");
    const past = await this.sources.timeline({ limit: mostRecords }).catch(nullIfFailed);
    const entries = past?.entries.toReversed() ?? [];
    const newest = entries[0]?.seq ?? 0;
    this.#records = [...this.#records.filter(({ seq }) => seq > newest), ...entries].slice(0, mostRecords);
    await Promise.all(parts);
  }

  /** Nobody has kept readings of a demo's simulated day. */
  async #fillTrends(signal: AbortSignal): Promise<void> {
    const { clock, log, store, pastReadings = null, demo } = this.sources;
    if (pastReadings === null || demo !== undefined) return;
    const { trends } = this;
    const controllers = () => store.controllers();
    try {
      await fillTrends({ ...pastReadings, clock, log, controllers, trends }, signal);
    } catch (error) {
      this.faults.note(error);
    }
  }

  /** Called within a command's path, which an error here must not end. */
  phase(command: Command, phase: Phase, isNewest: boolean): void {
    this.faults.attempt(() => this.board.phase(command, phase, isNewest));
  }

  result(result: CommandResult, about: ResultAddressee): void {
    this.faults.attempt(() => this.sources.metrics.note(result));
    this.faults.attempt(() => this.board.result(result, about));
  }

  /**
   * Findings of `doctor` or `discover` as they come; null while one of that name runs, undefined where there is none.
   */
  examine(
    name: "doctor" | "discover",
    gone: AbortSignal,
    language: Language,
  ): AsyncIterable<unknown> | null | undefined {
    const run = this.sources[name];
    if (run === undefined) return undefined;
    return this.once(name, run(gone, language));
  }

  /** Allows one of each name at a time; null while another one runs. */
  once(name: Examination, found: AsyncIterable<unknown>): AsyncIterable<unknown> | null {
    if (this.#examinations.has(name)) return null;
    this.#examinations.add(name);
    return this.#findings(name, found);
  }

  async *#findings(name: Examination, found: AsyncIterable<unknown>): AsyncGenerator {
    try {
      yield* found;
    } finally {
      this.#examinations.delete(name);
    }
  }

  /**
   * How old a request may be that was read at that instant, ms. It exceeds the time since then only where the process
   * stood still.
   */
  ageOf(readAt: number): number {
    const { clock, sentSince = (at: number) => at } = this.sources;
    return clock.monotonic() - sentSince(readAt);
  }

  controllerOf(idOrCode: string): Controller | undefined {
    return this.sources.store.find(idOrCode);
  }

  controllers() {
    const items = [...this.sources.store.controllers()].map(({ info, availability, problem }) => {
      return [info.id, { ...controllerItem(info), availability, problem }] as const;
    });
    return Object.fromEntries(items);
  }

  seenAddresses(): SeenAddresses {
    const { seenAddresses, store } = this.sources;
    const seen = seenAddresses();
    return {
      addresses: seen.map(({ code, address, values, firstAt, lastAt }) => ({
        controller: store.get(code)?.info.id ?? code,
        code,
        address,
        values,
        looks_like: likenessOf(values).kind,
        first_at: isoOrNull(firstAt) ?? "",
        last_at: isoOrNull(lastAt) ?? "",
      })),
      yaml: seenYaml(seen),
    };
  }

  /** What a view shows: a document, or a list, newest first; null for an unknown view. */
  view(name: string): object | null {
    const controller = name.startsWith(ofController) && this.controllerOf(name.slice(ofController.length));
    if (!controller) return this.#views.get(name)?.() ?? null;
    return controllerView(controller, this.board, this.sources.weather());
  }

  #bridge(): BridgeFacts {
    const { status, demo, logLevel } = this.sources;
    return { ...status.facts(), log_level: logLevel?.() ?? null, demo: demo?.now() ?? null };
  }

  #overview(): Untold<Overview> {
    this.#overviewOf = this.board.changes;
    const { clock, store, alarms, weather } = this.sources;
    const kinds = this.sources.kinds();
    const on = alarmsOn(alarms());
    const running = this.board.running();
    const rows = [...store.controllers()].map((controller) => {
      const { id } = controller.info;
      return [id, overviewRow(controller, running.get(id) ?? null, on.get(id) ?? noneOn, kinds)] as const;
    });
    return {
      at: isoOrNull(clock.now()) ?? "",
      bridge: this.#bridge(),
      weather: weather(),
      kinds,
      controllers: Object.fromEntries(rows),
    };
  }

  #alarms(): Untold<Alarms> {
    const { alarms, store } = this.sources;
    const named = alarms().map((alarm) => {
      const controller = alarm.controller === null ? undefined : store.byId(alarm.controller);
      return [alarm.id, { ...alarm, name: controller ? nameOf(controller, alarm.actuator) : null }] as const;
    });
    return Object.fromEntries(named);
  }

  /** Puts lines written since the last call before the known ones. */
  #log(): readonly LogLine[] {
    const { recentLog } = this.sources;
    const written = recentLog?.written ?? 0;
    const added = written - this.#linesRead;
    if (recentLog === undefined || added === 0) return this.#lines;
    const lines = recentLog.newest(Math.min(added, mostLines));
    const gap = added > mostLines ? [leftOut(added - mostLines, lines[0]?.at ?? "")] : [];
    this.#lines = [...lines.toReversed(), ...gap, ...this.#lines].slice(0, 2 * mostLines);
    this.#linesRead = written;
    return this.#lines;
  }
}

/** A line in place of those that were left out. */
const leftOut = (lines: number, at: string): LogLine => ({
  at,
  level: "warn",
  facts: {},
  sentence: null,
  message: `${lines} lines were left out here: too many came at once.`,
});
