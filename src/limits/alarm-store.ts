import type { BridgeEvent } from "../greenhouse/events.js";
import type { Alarm, AlarmFacts, AlarmType } from "../greenhouse/limits.js";
import type { Controller, PlatformState } from "../greenhouse/model.js";
import type { RecordBody } from "../journal/records.js";
import { type Clock, every } from "../runtime/clock.js";
import { isNotRunningAsked, NotRunning } from "./not-running.js";
import {
  acknowledge,
  type AlarmChange,
  type AlarmNews,
  alarmSummary,
  carriedOver,
  change,
  noAlarms,
  passTime,
  shownAlarm,
} from "./rules/alarms.js";

/** What no part tells of by itself, looked at now and then. */
export interface WatchedFacts {
  /** Why the journal cannot be written; null while it can. */
  readonly journalProblem: string | null;
  /** Null while this run cannot know yet. */
  readonly otherBridge: boolean | null;
  /** What is to be told of a crash loop; null for none. */
  readonly crashLoop: string | null;
  /** By controller (topic id); null for the account's own list. What is in neither list is not known yet. */
  readonly overdue: () => {
    readonly late: readonly { readonly controller: string | null; readonly what: string }[];
    readonly upToDate: ReadonlySet<string | null>;
  };
  /** Whether it is certain that there is no such controller (topic id) any more. */
  readonly isGone: (controller: string) => boolean;
}

interface AlarmPorts {
  readonly clock: Clock;
  readonly journal: {
    append(record: RecordBody, options: { readonly durable: boolean }): Promise<number>;
  };
  readonly onEvent: (event: BridgeEvent) => void;
  /** What the topic of an alarm has to show; nothing where it is empty. */
  readonly publish: (id: string, payload: string) => void;
  /** All that are on in one. */
  readonly publishAll: (payload: string) => void;
  readonly watchedFacts: () => WatchedFacts;
  readonly store: {
    onChange(
      listener: (before: Controller | undefined, after: Controller | undefined) => void,
      parts: readonly (keyof Controller)[],
    ): void;
    byId(id: string): Controller | undefined;
    controllers(): Iterable<Controller>;
  };
}

const lookMs = 5_000;
const overdueEveryLooks = 12;
/** Of what is late so much is named to who tells it in another language. */
const mostLate = 10;
export const bridgeItself = { controller: null, actuator: null } as const;

/** Keeps the alarms: raised by the part that finds something wrong, kept over restarts, shown on a topic each. */
export class AlarmStore {
  readonly #ports: AlarmPorts;
  readonly #listeners: (() => void)[] = [];
  #state = noAlarms;
  #looks = 0;
  readonly #notRunning = new NotRunning();
  /** Alarms that the disk did not take as they are. */
  readonly #unwritten = new Set<string>();

  constructor(ports: AlarmPorts) {
    this.#ports = ports;
    if (isNotRunningAsked(ports.store.controllers()))
      ports.store.onChange((before, after) => this.#notRunning.onChange(before, after), ["actuators"]);
    ports.store.onChange(
      (before, after) => {
        // Just admitted: nothing of it is known yet, also not that an alarm of the run before is over.
        if (before === undefined) return;
        if (before.availability !== after?.availability) this.#onAvailability(after ?? before, after);
        if (before.problems !== after?.problems) this.#onProblems(after ?? before, after);
      },
      ["availability", "problems"],
    );
  }

  /** Tells that some are others than they were; the listener must not throw. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** Those that are shown: on, or cleared within the hour. */
  get list(): readonly Omit<Alarm, "clearedAt">[] {
    return [...this.#state.alarms.values()].map((alarm) => ({ ...shownAlarm(alarm), facts: alarm.facts }));
  }

  get #shown(): ReturnType<typeof shownAlarm>[] {
    return [...this.#state.alarms.values()].map(shownAlarm);
  }

  /** Raises one, or with null clears it. */
  set(
    type: AlarmType,
    about: { readonly controller: string | null; readonly actuator: string | null },
    message: string | null,
    facts?: AlarmFacts,
  ): void {
    if (message !== null || this.#state.alarms.size > 0) this.setAll([{ type, about, message, facts }]);
  }

  /** Several in one. */
  setAll(changes: Iterable<AlarmChange>): void {
    void this.#take(change(this.#state, changes, this.#ports.clock.now()));
  }

  /**
   * Which were acknowledged: the one of this id, or of `all` those that were not acknowledged yet; and when the disk has it, which
   * rejects where it does not take it.
   */
  acknowledge(
    id: string,
    by: string | null,
  ): { readonly ids: readonly string[]; readonly written: () => Promise<unknown> } {
    const asked = id === "all" ? this.list.flatMap((one) => (one.state === "active" ? [one.id] : [])) : [id];
    const kept: Promise<unknown>[] = [];
    const ids = asked.filter((one) => {
      const news = acknowledge(this.#state, one, by);
      if (news !== null) kept.push(...this.#take(news, true));
      return news !== null;
    });
    return { ids, written: () => Promise.all(kept) };
  }

  onPlatformState(state: PlatformState): void {
    const unreachable = state === "unreachable" ? "The platform's realtime host does not answer." : null;
    this.set("platform_unreachable", bridgeItself, unreachable);
    const refused = state === "unauthorized" ? "The platform refuses the credential of the bridge." : null;
    this.set("unauthorized", bridgeItself, refused);
  }

  #onAvailability({ info: { id, name } }: Controller, after: Controller | undefined): void {
    const message = after?.availability === "offline" ? `The platform says that ${name} is offline.` : null;
    this.set("controller_offline", { controller: id, actuator: null }, message);
  }

  /** What commands sent to it newest ended badly. */
  #onProblems({ info: { id: controller } }: Controller, after: Controller | undefined): void {
    const open = new Set(after?.problems.map(({ actuator }) => actuator));
    const told = this.list.flatMap(({ type, controller: of, actuator, state }) =>
      type === "command_problem" && of === controller && state !== "cleared" ? [actuator] : [],
    );
    for (const actuator of told)
      if (!open.has(actuator ?? "")) this.set("command_problem", { controller, actuator }, null);
    for (const { actuator, command, outcome, message } of after?.problems ?? []) {
      const what = `${controller}/${actuator} ${command ?? ""}`.trim();
      const facts = { command, outcome };
      this.set("command_problem", { controller, actuator }, `${what}: ${message ?? outcome}`, facts);
    }
  }

  /** As an earlier run left them. */
  restore(alarms: readonly Alarm[]): void {
    this.#state = { ...noAlarms, alarms: new Map(alarms.map((alarm) => [alarm.id, carriedOver(alarm)])) };
    for (const alarm of this.#shown) this.#ports.publish(alarm.id, JSON.stringify(alarm));
    this.#publishAll();
  }

  async run(signal: AbortSignal): Promise<void> {
    await every(lookMs, this.#ports.clock, signal, () => this.#look());
  }

  #look(): void {
    const { clock, watchedFacts, store } = this.#ports;
    const { journalProblem, otherBridge, crashLoop, overdue, isGone } = watchedFacts();
    this.set("crash_loop", bridgeItself, crashLoop);
    this.set("journal_unavailable", bridgeItself, journalProblem);
    const other = otherBridge ? "Another bridge is connected for the same account." : null;
    if (otherBridge !== null) this.set("other_bridge", bridgeItself, other);
    for (const [about, message] of this.#notRunning.judgeAll(store.controllers()))
      this.set("not_running", about, message);
    if (journalProblem === null) for (const name of this.#unwritten) void this.#keep(name);
    if (this.#looks++ % overdueEveryLooks === 0) this.#onOverdue(overdue());
    if (this.#state.alarms.size === 0) return;
    for (const { type, controller, actuator } of this.list)
      if (controller !== null && (isGone(controller) || this.#isSolved(type, controller, actuator)))
        this.set(type, { controller, actuator }, null);
    void this.#take(passTime(this.#state, clock.now()));
  }

  /**
   * The problem that an alarm of an earlier run tells of may have moved with the id of its controller, and nobody may be asked any more
   * whether an actuator runs.
   */
  #isSolved(type: AlarmType, controller: string, actuator: string | null): boolean {
    const known = this.#ports.store.byId(controller);
    const problems = known?.problems;
    if (type === "not_running")
      return known?.actuators.get(actuator ?? "")?.settings.notRunningAfterMs === undefined;
    return (
      type === "command_problem" &&
      problems !== undefined &&
      !problems.some((one) => one.actuator === actuator)
    );
  }

  #onOverdue({ late, upToDate }: ReturnType<WatchedFacts["overdue"]>): void {
    const byController = new Map<string | null, string[]>();
    for (const { controller, what } of late)
      byController.set(controller, [...(byController.get(controller) ?? []), what]);
    const tell = (controller: string | null, message: string | null, facts?: AlarmFacts) =>
      this.set("readings_overdue", { controller, actuator: null }, message, facts);
    for (const { type, controller, state } of this.list)
      if (type === "readings_overdue" && state !== "cleared" && upToDate.has(controller))
        tell(controller, null);
    for (const [controller, items] of byController)
      tell(controller, `Late: ${items.join(", ").slice(0, 300)}.`, { late: items.slice(0, mostLate) });
  }

  #publishAll(): void {
    this.#ports.publishAll(JSON.stringify(alarmSummary(this.#shown)));
  }

  /** What it returns is never unhandled. */
  #keep(name: string, durable = false): Promise<unknown> {
    this.#unwritten.delete(name);
    const alarm = this.#state.alarms.get(name) ?? null;
    const written = this.#ports.journal.append({ type: "alarm_kept", name, alarm }, { durable });
    written.catch(() => this.#unwritten.add(name));
    return written;
  }

  #take({ state, changed, events }: AlarmNews, durable = false): readonly Promise<unknown>[] {
    this.#state = state;
    const { publish, onEvent } = this.#ports;
    const kept: Promise<unknown>[] = [];
    for (const [name, alarm] of changed) {
      kept.push(this.#keep(name, durable));
      publish(name, alarm === null ? "" : JSON.stringify(shownAlarm(alarm)));
    }
    if (changed.size > 0) {
      this.#publishAll();
      for (const listener of this.#listeners) listener();
    }
    for (const event of events) onEvent(event);
    return kept;
  }
}
