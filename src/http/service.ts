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

/** What the page shows and does, each asked of the part that has it. */
export interface PageSources {
  readonly clock: Clock;
  readonly log: Logger;
  /** The level of the log that is on. */
  readonly logLevel?: (() => string) | undefined;
  /** Kinds of sensors whose first reading stands on the overview. */
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
  /** Answers as `bridge/response/<name>` does; null where too many wait for an answer. */
  readonly ask: (name: string, payload: Uint8Array, via: Via, ageMs: number) => Promise<string | null>;
  /** When something was sent at the earliest that was read at that instant, monotonic ms; just then where absent. */
  readonly sentSince?: (readAt: number) => number;
  /** Addresses that were pushed and belong to nothing. */
  readonly seenAddresses: () => readonly SeenAddress[];
  /** What is wrong now. */
  readonly alarms: () => readonly Omit<Alarm, "clearedAt">[];
  /** What the `weather` topics brought last. */
  readonly weather: () => Weather;
  readonly journal: {
    onWritten(listener: (record: JournalRecord) => void): void;
    history(): Pick<Checkpoint, "lanes" | "alarms">;
  };
  /** The newest records that match, newest last. */
  readonly past: (filter: RecordFilter & { readonly limit: number }) => Promise<readonly JournalRecord[]>;
  /** The newest entries of the timeline that match, newest last, and before which number older ones are asked for. */
  readonly timeline: (
    filter: TimelineFilter & { readonly limit: number },
  ) => Promise<{ readonly entries: readonly TimelineEntry[]; readonly next: number | null }>;
  readonly recentLog?: Pick<RecentLog, "newest" | "written"> | undefined;
  /** Findings of `doctor` as they come. */
  readonly doctor?: Examine | undefined;
  /** What the account holds and the configuration does not, as lines for it; before that how far the search is. */
  readonly discover?: Examine | undefined;
  /** The file of the configuration; without it there is nothing to set here. */
  readonly settings?: SettingsSource | undefined;
  /** Keeps who saved which keys, once the disk has them. */
  readonly settingsSaved?: (by: string | null, via: string | null, keys: readonly string[]) => Promise<void>;
  /** The simulated greenhouse's time, where there is one: what it is, at a time of ours too, and how it is made to run faster. */
  readonly demo?:
    | {
        now(): NonNullable<BridgeFacts["demo"]>;
        timeAt(realMs: number): number;
        setSpeed(speed: number): void;
      }
    | undefined;
  /** What the platform has kept; null where the trends are not to be filled from it. */
  readonly pastReadings?: PastSources | null;
  /** Where the trends are kept. */
  readonly dataDir: string;
  /** Rejects where another folder shows in its place. */
  readonly inPlace?: () => Promise<void>;
  readonly files?: FileSystem | undefined;
}

/** What takes a while and reports as it goes, in the language of who asks. */
type Examine = (signal: AbortSignal, language: Language) => AsyncIterable<unknown>;
type Examination = "doctor" | "discover" | "attempt";

/** Twice a minute, as a pause of a whole one would leave a minute out now and then. */
const sampleMs = 30_000;
const demoSampleMs = 1_000;
const lightKinds: ReadonlySet<string> = new Set(["illuminance", "par", "irradiance"]);
/** What a view of one begins with. */
const ofController = "controller/";
/** More of the log than this is not told at once. */
const mostLines = 500;
/** Half an hour each: as fine as a line below a number is seen. */
const overviewPoints = 48;
/** Of the journal: more than come between two looks, and enough to know the last result of each target. */
const mostRecords = 200;
const mostRestored = 1_000;

/** The documents of the API, and who is told when they change. */
export class PageService {
  readonly sources: PageSources;
  readonly faults: Faults;
  readonly board = new CommandBoard();
  readonly trends: TrendKeeper;
  readonly live: LiveViews;
  /** Newest first, as the lines. */
  #records: readonly TimelineEntry[] = [];
  #lines: readonly LogLine[] = [];
  #linesRead = 0;
  /** How much had been told of commands when the overview was made last: while that is all, nobody waits for it. */
  #overviewOf = -1;
  /** Those that run; each ends with the client that waits for it. */
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
      // The simulated day is not that of any clock.
      isClockRight: () => (demo === undefined ? status.isClockRight() : null),
      onProblem: (problem) =>
        log.warn({ problem }, "trends are not kept on disk; the rest of the bridge goes on without"),
    });
  }

  /** A day of the key readings of some controllers. */
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

  /** What sensors of a controller showed; without a range of the last day. */
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

  /** Until the signal aborts; where it is served at two ports, for both. */
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

  /** The simulated day of a demo is none of which anybody has kept something. */
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

  /** What became of a command: told within its path, which a defect here must not end. */
  phase(command: Command, phase: Phase, isNewest: boolean): void {
    this.faults.attempt(() => this.board.phase(command, phase, isNewest));
  }

  result(result: CommandResult, about: ResultAddressee): void {
    this.faults.attempt(() => this.sources.metrics.note(result));
    this.faults.attempt(() => this.board.result(result, about));
  }

  /** What `doctor` or `discover` finds, as it comes; null while another one runs, undefined where there is none. */
  examine(
    name: "doctor" | "discover",
    gone: AbortSignal,
    language: Language,
  ): AsyncIterable<unknown> | null | undefined {
    const run = this.sources[name];
    if (run === undefined) return undefined;
    return this.once(name, run(gone, language));
  }

  /** One of a name at a time; null while another one runs. */
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

  /** How old a request may be by now that was read at that instant, ms: of another age only where the process stood still. */
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

  /** What a view shows: a document, or a list, newest first; null where there is no such view. */
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

  /** Lines written since the last look come before those known already. */
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

/** The line that stands for others. */
const leftOut = (lines: number, at: string): LogLine => ({
  at,
  level: "warn",
  facts: {},
  sentence: null,
  message: `${lines} lines were left out here: too many came at once.`,
});
