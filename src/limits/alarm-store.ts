import { ignored } from "../runtime/failures.js";
import { type Alarm, type AlarmFacts, type AlarmType, bridgeItself } from "../greenhouse/limits.js";
import type { Controller, PlatformState } from "../greenhouse/model.js";
import { every } from "../runtime/clock.js";
import { isNotRunningAsked, NotRunning } from "./not-running.js";
import type { LimitPorts, WatchedFacts } from "./ports.js";
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

const lookMs = 5_000;
const overdueEveryLooks = 12;
/** The most alarms changed in one go; then commands have a turn. */
export const mostATurn = 30;
/** The most late reads listed in an alarm's facts, for other languages. */
const mostLate = 10;
const mostInMessage = 100;

/**
 * Keeps the alarms: raised by the part that finds a fault, kept over restarts, shown on a topic each. It accepts none
 * before it has those of earlier runs.
 */
export class AlarmStore {
  readonly #ports;
  readonly #watchedFacts;
  readonly #listeners: (() => void)[] = [];
  #state = noAlarms;
  #hasBegun = false;
  #looks = 0;
  readonly #notRunning = new NotRunning();
  /** Alarms that the disk has not saved in their present form. */
  readonly #unwritten = new Set<string>();

  constructor(
    ports: Pick<LimitPorts, "clock" | "store" | "onEvent" | "retained" | "topics"> & {
      readonly journal: Pick<LimitPorts["journal"], "append">;
    },
    watchedFacts: () => WatchedFacts,
  ) {
    this.#ports = ports;
    this.#watchedFacts = watchedFacts;
    if (isNotRunningAsked(ports.store.controllers()))
      ports.store.onChange((before, after) => this.#notRunning.onChange(before, after), ["actuators"]);
    ports.store.onChange(
      (before, after) => {
        // Just admitted: nothing of it is known yet, not even whether an alarm of the run before is over.
        if (before === undefined) return;
        if (before.availability !== after?.availability) this.#onAvailability(after ?? before, after);
        if (before.problems !== after?.problems) this.#onProblems(after ?? before, after);
      },
      ["availability", "problems"],
    );
  }

  /** Calls `listener`, which must not throw, after alarms changed. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  /** The alarms that are shown: on, or cleared within the hour. */
  get list(): readonly Omit<Alarm, "clearedAt">[] {
    return [...this.#state.alarms.values()].map((alarm) => ({ ...shownAlarm(alarm), facts: alarm.facts }));
  }

  has(id: string): boolean {
    return this.#state.alarms.has(id);
  }

  /** Raises an alarm; clears it if `message` is null. */
  set(
    type: AlarmType,
    about: { readonly controller: string | null; readonly actuator: string | null },
    message: string | null,
    facts?: AlarmFacts,
  ): void {
    if (message !== null || this.#state.alarms.size > 0) this.setAll([{ type, about, message, facts }]);
  }

  /** Raises and clears several alarms at once. */
  setAll(changes: Iterable<AlarmChange>): void {
    if (this.#hasBegun) void this.#take(change(this.#state, changes, this.#ports.clock.now()));
  }

  /**
   * Acknowledges an alarm by its id, or with `all` those not acknowledged yet. `ids` grows as they are acknowledged;
   * `written` resolves when all are on disk, and rejects if the disk does not take them.
   */
  acknowledge(
    id: string,
    by: string | null,
  ): { readonly ids: readonly string[]; readonly written: () => Promise<unknown> } {
    const seen = [...this.#state.alarms.values()].filter((alarm) =>
      id === "all" ? alarm.state === "active" : alarm.id === id && alarm.state !== "cleared",
    );
    const ids: string[] = [];
    const written = this.#acknowledgeSome(seen, by, ids);
    written.catch(ignored);
    return { ids, written: () => written };
  }

  async #acknowledgeSome(seen: readonly Alarm[], by: string | null, done: string[]): Promise<unknown> {
    const kept: Promise<unknown>[] = [];
    for (let at = 0; at < seen.length; at += mostATurn) {
      if (at > 0) await new Promise<void>((turn) => this.#ports.clock.soon(turn));
      const same = seen.slice(at, at + mostATurn).filter((alarm) => this.#isStillSo(alarm));
      const ids = same.map(({ id }) => id);
      const news = acknowledge(this.#state, ids, by);
      done.push(...ids);
      if (news !== null) kept.push(...this.#take(news, true));
    }
    return Promise.all(kept);
  }

  /** Whether the alarm is still the one that was seen, and not worse or raised anew since. */
  #isStillSo({ id, since, severity }: Alarm): boolean {
    const now = this.#state.alarms.get(id);
    return now?.since === since && now.severity === severity && now.state !== "cleared";
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

  /** Raises and clears alarms for actuators whose newest commands ended badly. */
  #onProblems({ info: { id: controller } }: Controller, after: Controller | undefined): void {
    const open = new Set(after?.problems.map(({ actuator }) => actuator));
    // Iterates without a copy, as there may be thousands of alarms.
    for (const { type, controller: of, actuator, state } of this.#state.alarms.values()) {
      const isTold = type === "command_problem" && of === controller && state !== "cleared";
      if (isTold && !open.has(actuator ?? "")) this.set("command_problem", { controller, actuator }, null);
    }
    for (const { actuator, command, outcome, message } of after?.problems ?? []) {
      const what = `${controller}/${actuator} ${command ?? ""}`.trim();
      const facts = { command, outcome };
      this.set("command_problem", { controller, actuator }, `${what}: ${message ?? outcome}`, facts);
    }
  }

  /** Starts with the alarms of an earlier run. */
  restore(alarms: readonly Alarm[]): void {
    this.#hasBegun = true;
    this.#state = { ...noAlarms, alarms: new Map(alarms.map((alarm) => [alarm.id, carriedOver(alarm)])) };
    for (const alarm of [...this.#state.alarms.values()].map(shownAlarm))
      this.#publish(alarm.id, JSON.stringify(alarm));
    this.#publishAll();
  }

  async run(signal: AbortSignal): Promise<void> {
    await every(lookMs, this.#ports.clock, signal, () => this.#look());
  }

  #look(): void {
    const { store } = this.#ports;
    const { journalProblem, otherBridge, crashLoop, overdue } = this.#watchedFacts();
    this.set("crash_loop", bridgeItself, crashLoop);
    this.set("journal_unavailable", bridgeItself, journalProblem);
    const other = otherBridge ? "Another bridge is connected for the same account." : null;
    if (otherBridge !== null) this.set("other_bridge", bridgeItself, other);
    for (const [about, message] of this.#notRunning.judgeAll(store.controllers()))
      this.set("not_running", about, message);
    if (journalProblem === null) for (const name of this.#unwritten) void this.#keep(name);
    if (this.#looks++ % overdueEveryLooks === 0) this.#onOverdue(overdue());
    if (this.#state.alarms.size === 0) return;
    this.#endWithTheirs();
    this.#passTime();
  }

  /** Clears alarms of controllers that are gone, and alarms without a cause. */
  readonly #endWithTheirs = (): void => {
    const { clock } = this.#ports;
    const { isGone } = this.#watchedFacts();
    const changes: AlarmChange[] = [];
    for (const { id, type, controller, actuator, sensor, state } of this.#state.alarms.values()) {
      if (changes.length >= mostATurn) break;
      if (controller === null || state === "cleared" || this.#state.over.has(id)) continue;
      if (!isGone(controller) && !this.#isSolved(type, controller, actuator)) continue;
      const about = { controller, actuator, ...(sensor !== undefined && { sensor }) };
      changes.push({ type, about, message: null });
    }
    if (changes.length > 0) this.setAll(changes);
    if (changes.length >= mostATurn) clock.soon(this.#endWithTheirs);
  };

  readonly #passTime = (): void => {
    const { clock } = this.#ports;
    const news = passTime(this.#state, clock.now(), mostATurn);
    void this.#take(news);
    if (news.isMore) clock.soon(this.#passTime);
  };

  /**
   * Whether an alarm of an earlier run has lost its cause: its problem may have moved with the controller's id, or the
   * setting that asks whether an actuator runs may be gone.
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
    for (const { controller, what } of late) {
      const items = byController.get(controller);
      if (items === undefined) byController.set(controller, [what]);
      // The message has no room for more.
      else if (items.length < mostInMessage) items.push(what);
    }
    const changes: AlarmChange[] = [];
    const tell = (controller: string | null, message: string | null, facts?: AlarmFacts) =>
      changes.push({ type: "readings_overdue", about: { controller, actuator: null }, message, facts });
    for (const { type, controller, state } of this.#state.alarms.values())
      if (type === "readings_overdue" && state !== "cleared" && upToDate.has(controller))
        tell(controller, null);
    for (const [controller, items] of byController)
      tell(controller, `Late: ${items.join(", ").slice(0, 300)}.`, { late: items.slice(0, mostLate) });
    this.#setInTurns(changes);
  }

  #setInTurns(changes: readonly AlarmChange[]): void {
    if (changes.length > 0) this.setAll(changes.slice(0, mostATurn));
    const left = changes.slice(mostATurn);
    if (left.length > 0) this.#ports.clock.soon(() => this.#setInTurns(left));
  }

  /** Publishes an alarm; an empty payload empties its topic. */
  #publish(id: string, payload: string): void {
    const { retained, topics } = this.#ports;
    retained.wanted(topics.alarm(id), payload);
  }

  #publishAll(): void {
    const { alarms, ...counts } = alarmSummary(this.#state.alarms.values());
    const shown = alarms.map(shownAlarm);
    const { message, remedy } = shown[0] ?? counts;
    const { retained, topics } = this.#ports;
    retained.wanted(topics.bridge.alarms, JSON.stringify({ ...counts, message, remedy, alarms: shown }));
  }

  /** Saves the alarm; the returned promise may be left unhandled. */
  #keep(name: string, durable = false): Promise<unknown> {
    this.#unwritten.delete(name);
    const alarm = this.#state.alarms.get(name) ?? null;
    const written = this.#ports.journal.append({ type: "alarm_kept", name, alarm }, { durable });
    written.catch(() => this.#unwritten.add(name));
    return written;
  }

  #take({ state, changed, events }: AlarmNews, durable = false): readonly Promise<unknown>[] {
    this.#state = state;
    const { onEvent } = this.#ports;
    const kept: Promise<unknown>[] = [];
    for (const [name, alarm] of changed) {
      kept.push(this.#keep(name, durable));
      this.#publish(name, alarm === null ? "" : JSON.stringify(shownAlarm(alarm)));
    }
    if (changed.size > 0) {
      this.#publishAll();
      for (const listener of this.#listeners) listener();
    }
    for (const event of events) onEvent(event);
    return kept;
  }
}
