import type { Command, CommandRequest, Phase, ResultAddressee } from "../commands/command.js";
import type { CommandResult, Via } from "../greenhouse/command/outcomes.js";
import type { Alarm } from "../greenhouse/limits.js";
import type { Controller } from "../greenhouse/model.js";
import { commandOutcomes, type JournalRecord, type RecordFilter } from "../journal/records.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger, LogLine } from "../runtime/log.js";
import type { Alarms, BridgeFacts, ControllerView, Overview, OverviewRow } from "../page/protocol.js";
import type { GreenhouseStore } from "../sync/store.js";
import { type LiveView, LiveViews } from "./live.js";
import { TrendRing } from "./trends.js";
import { CommandBoard, controllerView, overviewRow } from "./views.js";

/** What the page shows and does, each asked of the part that has it. */
export interface PageSources {
  readonly clock: Clock;
  readonly log: Logger;
  readonly store: Pick<GreenhouseStore, "controllers" | "get" | "byId" | "onChange">;
  readonly status: {
    facts(): Omit<BridgeFacts, "demo">;
    health(): Readonly<Record<string, unknown>>;
  };
  readonly submit: (request: CommandRequest) => { readonly id: string; readonly isTaken: boolean };
  /** Answers as `bridge/response/<name>` does; null where too many wait for an answer. */
  readonly ask: (name: string, payload: Uint8Array, signal: AbortSignal, via: Via) => Promise<string | null>;
  /** What is wrong now. */
  readonly alarms: () => readonly Omit<Alarm, "clearedAt">[];
  readonly journal: { onWritten(listener: (record: JournalRecord) => void): void };
  /** The newest records that match, newest last. */
  readonly past: (filter: RecordFilter & { readonly limit: number }) => Promise<readonly JournalRecord[]>;
  readonly recentLog?:
    | {
        newest(limit?: number): readonly LogLine[];
        subscribe(listener: (read: () => LogLine) => void): unknown;
      }
    | undefined;
  /** Findings of `doctor` as they come. */
  readonly doctor?: ((signal: AbortSignal) => AsyncIterable<unknown>) | undefined;
  /** The simulated greenhouse's time, where there is one: what it is, and how it is made to run faster. */
  readonly demo?: { now(): NonNullable<BridgeFacts["demo"]>; setSpeed(speed: number): void } | undefined;
}

const mostShown = 100;

/** The documents of the API, and who is told when they change. */
export class PageService {
  readonly sources: PageSources;
  readonly board = new CommandBoard();
  readonly trends: TrendRing;
  readonly live: LiveViews;
  readonly #rows = new Map<string, { readonly of: readonly unknown[]; readonly row: OverviewRow }>();
  /** Newest first. */
  #records: readonly JournalRecord[] = [];

  constructor(sources: PageSources) {
    this.sources = sources;
    const { clock, store } = sources;
    this.trends = new TrendRing({ clock, controllers: () => store.controllers() });
    this.live = new LiveViews({ clock, view: (name) => this.#view(name), look: () => this.#look() });
    store.onChange((before, after) => this.#changed((after ?? before)?.info.id ?? ""));
    sources.journal.onWritten((record) => this.#written(record));
    sources.recentLog?.subscribe((read) => this.live.append("log", read));
  }

  async run(signal: AbortSignal): Promise<void> {
    const wanted = { types: commandOutcomes, limit: 10 * mostShown };
    const records = await this.sources.past(wanted).catch(() => []);
    for (const record of records.toReversed())
      if ("result" in record) this.board.restore(record.result, record.target ?? "actuator");
    this.#records = [...this.#records, ...records.toReversed()].slice(0, mostShown);
    await this.trends.run(signal);
  }

  /** A command has come into another phase. */
  phase(command: Command, phase: Phase): void {
    this.board.phase(command, phase);
    this.#changed(command.controllerId);
  }

  result(result: CommandResult, about: ResultAddressee): void {
    this.board.result(result, about);
    this.#changed(about.controllerId);
  }

  controllerOf(idOrCode: string): Controller | undefined {
    const { store } = this.sources;
    return store.byId(idOrCode) ?? store.get(idOrCode);
  }

  overview(): Overview {
    const { clock, store } = this.sources;
    const alarms = new Map<string, number>();
    for (const { controller, state } of Object.values(this.alarms()))
      if (controller !== null && state !== "cleared")
        alarms.set(controller, (alarms.get(controller) ?? 0) + 1);
    const rows = [...store.controllers()].map((one) => {
      const { id } = one.info;
      return [id, this.#row(one, alarms.get(id) ?? 0)] as const;
    });
    return {
      at: new Date(clock.now()).toISOString(),
      bridge: this.bridge(),
      controllers: Object.fromEntries(rows),
    };
  }

  bridge(): BridgeFacts {
    const { status, demo } = this.sources;
    return { ...status.facts(), demo: demo?.now() ?? null };
  }

  controller(idOrCode: string): ControllerView | null {
    const controller = this.controllerOf(idOrCode);
    return controller ? controllerView(controller, this.board) : null;
  }

  alarms(): Alarms {
    return Object.fromEntries(
      this.sources.alarms().map((alarm) => [alarm.id, { ...alarm, name: this.#nameOf(alarm) }]),
    );
  }

  #nameOf({ controller: id, actuator }: Pick<Alarm, "controller" | "actuator">): string | null {
    const controller = id === null ? undefined : this.sources.store.byId(id);
    if (controller === undefined) return null;
    const name = actuator && (controller.actuators.get(actuator)?.settings.name ?? actuator);
    return [controller.info.name, ...(name ? [name] : [])].join(" / ");
  }

  /** Rows of controllers that did not change are the same objects, so that hundreds cost little. */
  #row(controller: Controller, alarms: number): OverviewRow {
    const { id } = controller.info;
    const of = [controller, this.board.running(id), alarms];
    const held = this.#rows.get(id);
    if (held?.of.every((one, at) => one === of[at])) return held.row;
    const row = overviewRow(controller, this.board, alarms);
    this.#rows.set(id, { of, row });
    return row;
  }

  #changed(controllerId: string): void {
    this.live.touch("overview");
    this.live.touch(`controller/${controllerId}`);
  }

  /** Now and then while somebody looks: what no part tells of by itself. */
  #look(): void {
    for (const name of this.live.watched) this.live.touch(name);
  }

  #written(record: JournalRecord): void {
    if (!commandOutcomes.has(record.type)) return;
    this.#records = [record, ...this.#records].slice(0, mostShown);
    this.live.append("journal", () => record);
  }

  #view(name: string): LiveView | null {
    const { recentLog } = this.sources;
    const [kind, ...rest] = name.split("/");
    const id = rest.join("/");
    if (kind === "controller" && id !== "") return { isList: false, document: () => this.controller(id) };
    const lines = () => ({ records: (recentLog?.newest(mostShown) ?? []).toReversed(), next: null });
    const past = () => ({ records: this.#records, next: this.#records.at(-1)?.seq ?? null });
    const views: Readonly<Record<string, LiveView>> = {
      bridge: { isList: false, document: () => this.bridge() },
      overview: { isList: false, document: () => this.overview() },
      alarms: { isList: false, document: () => this.alarms() },
      journal: { isList: true, document: past },
      log: { isList: true, document: lines },
    };
    return Object.hasOwn(views, name) ? (views[name] ?? null) : null;
  }
}
