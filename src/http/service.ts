import type { Command, CommandRequest, Phase, ResultAddressee } from "../commands/command.js";
import type { CommandResult, Via } from "../greenhouse/command/outcomes.js";
import { controllerItem, isoOrNull } from "../greenhouse/documents.js";
import type { Alarm } from "../greenhouse/limits.js";
import type { Controller } from "../greenhouse/model.js";
import { commandOutcomes, type JournalRecord, type RecordFilter } from "../journal/records.js";
import type { Clock } from "../runtime/clock.js";
import type { Logger, LogLine } from "../runtime/log.js";
import type { Alarms, BridgeFacts, ControllerView, Overview } from "../page/protocol.js";
import type { GreenhouseStore } from "../sync/store.js";
import { CommandBoard } from "./board.js";
import { LiveViews } from "./live.js";
import { TrendRing } from "./trends.js";
import { controllerView, nameOf, overviewRow } from "./views.js";

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
  readonly ask: (name: string, payload: Uint8Array, via: Via) => Promise<string | null>;
  /** What is wrong now. */
  readonly alarms: () => readonly Omit<Alarm, "clearedAt">[];
  readonly journal: { onWritten(listener: (record: JournalRecord) => void): void };
  /** The newest records that match, newest last. */
  readonly past: (filter: RecordFilter & { readonly limit: number }) => Promise<readonly JournalRecord[]>;
  readonly recentLog?: { newest(limit?: number): readonly LogLine[] } | undefined;
  /** Findings of `doctor` as they come. */
  readonly doctor?: ((signal: AbortSignal) => AsyncIterable<unknown>) | undefined;
  /** The simulated greenhouse's time, where there is one: what it is, and how it is made to run faster. */
  readonly demo?: { now(): NonNullable<BridgeFacts["demo"]>; setSpeed(speed: number): void } | undefined;
}

const mostShown = 100;
/** What a view of one begins with. */
const controllers = "controller/";

/** The documents of the API, and who is told when they change. */
export class PageService {
  readonly sources: PageSources;
  readonly board = new CommandBoard();
  readonly trends: TrendRing;
  readonly live: LiveViews;
  /** Newest first. */
  #records: readonly JournalRecord[] = [];

  constructor(sources: PageSources) {
    this.sources = sources;
    const { clock, store, journal } = sources;
    this.trends = new TrendRing(clock, () => store.controllers());
    this.live = new LiveViews(clock, (name) => this.#view(name));
    store.onChange(() => this.live.touch());
    journal.onWritten((record) => {
      if (!commandOutcomes.has(record.type)) return;
      this.#records = [record, ...this.#records].slice(0, mostShown);
      this.live.touch();
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const wanted = { types: commandOutcomes, limit: 10 * mostShown };
    const records = (await this.sources.past(wanted).catch(() => [])).toReversed();
    for (const record of records)
      if ("result" in record) this.board.restore(record.result, record.target ?? "actuator");
    this.#records = [...this.#records, ...records].slice(0, mostShown);
    await this.trends.run(signal);
  }

  /** A command has come into another phase. */
  phase(command: Command, phase: Phase): void {
    this.board.phase(command, phase);
    this.live.touch();
  }

  result(result: CommandResult, about: ResultAddressee): void {
    this.board.result(result, about);
    this.live.touch();
  }

  readonly controllerOf = (idOrCode: string): Controller | undefined => {
    const { store } = this.sources;
    return store.byId(idOrCode) ?? store.get(idOrCode);
  };

  overview(): Overview {
    const { clock, store, alarms } = this.sources;
    const active = alarms().filter(({ state }) => state !== "cleared");
    const counts = new Map<string | null, number>();
    for (const { controller } of active) counts.set(controller, (counts.get(controller) ?? 0) + 1);
    const running = this.board.running();
    const rows = [...store.controllers()].map((controller) => {
      const { id } = controller.info;
      return [id, overviewRow(controller, running.get(id) ?? null, counts.get(id) ?? 0)] as const;
    });
    const at = isoOrNull(clock.now()) ?? "";
    return { at, bridge: this.bridge(), controllers: Object.fromEntries(rows) };
  }

  controllers() {
    const items = [...this.sources.store.controllers()].map(({ info, availability, problem }) => {
      return [info.id, { ...controllerItem(info), availability, problem }] as const;
    });
    return Object.fromEntries(items);
  }

  controller(idOrCode: string): ControllerView | null {
    const controller = this.controllerOf(idOrCode);
    return controller ? controllerView(controller, this.board) : null;
  }

  bridge(): BridgeFacts {
    const { status, demo } = this.sources;
    return { ...status.facts(), demo: demo?.now() ?? null };
  }

  alarms(): Alarms {
    const { alarms, store } = this.sources;
    const named = alarms().map((alarm) => {
      const controller = alarm.controller === null ? undefined : store.byId(alarm.controller);
      return [alarm.id, { ...alarm, name: controller ? nameOf(controller, alarm.actuator) : null }] as const;
    });
    return Object.fromEntries(named);
  }

  #view(name: string): object | null {
    switch (name) {
      case "bridge":
        return this.bridge();
      case "overview":
        return this.overview();
      case "alarms":
        return this.alarms();
      case "journal":
        return { records: this.#records, next: this.#records.at(-1)?.seq ?? null };
      case "log":
        return { records: this.sources.recentLog?.newest(mostShown).toReversed() ?? [], next: null };
      default:
        return name.startsWith(controllers) ? this.controller(name.slice(controllers.length)) : null;
    }
  }
}
