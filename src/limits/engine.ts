import type { Refusal } from "../greenhouse/command/outcomes.js";
import { canonical } from "../greenhouse/command/words.js";
import type { Interlock } from "../greenhouse/limits.js";
import type { Actuator, Controller } from "../greenhouse/model.js";
import type { HistoryParts, KeptLimits } from "../journal/records.js";
import { Rest, Schedule } from "../runtime/schedule.js";
import {
  afterEnd,
  afterFirstPost,
  afterForeignMove,
  afterForeignPost,
  afterPost,
  opened,
} from "./rules/course.js";
import { type Entry, keyOf, type LimitedCommand, newEntry, type Shut } from "./rules/entry.js";
import {
  type Activity,
  type Around,
  type Instant,
  nothingUnderWay,
  type WeatherReading,
  weatherValue,
} from "./rules/guards.js";
import { go, judge, type Verdict } from "./rules/judge.js";
import { type EnginePorts, LimitStore, unlockedEvent, Watchers } from "./store.js";
import { isMoving } from "./rules/pauses.js";
import type { Ended } from "./rules/attempts.js";
import { deadlineWith, type GivenTerm, termOf } from "./rules/terms.js";
import { dueAt, dueSends, expire, isKeptBack, isThere, readGuards, sentAs } from "./rules/upkeep.js";

type Taking =
  | Pick<LimitedCommand, "term" | "deadlineMono">
  | { readonly refusal: Refusal; readonly interlock?: Interlock };

type About = Pick<LimitedCommand, "code" | "targetId" | "settings" | "term">;

/**
 * Holds what limits every actuator: judges commands, follows what becomes of them, and sends what a guard or the end of a
 * lease asks for. Actuators without limits, locks, holds and leases cost nothing here.
 */
export class LimitEngine {
  readonly #ports: EnginePorts;
  readonly #entries: LimitStore;
  readonly #watchers = new Watchers();
  readonly #weather = new Map<string, WeatherReading>();
  readonly #due = new Schedule<string>();
  readonly #rest: Rest;
  readonly #lookUp: Pick<Around, "controller" | "weather" | "weatherStaleAfterMs" | "activity" | "startedAt">;
  readonly #iso: (mono: number) => string;
  readonly #touched = new Set<string>();
  /** Actuators for which a rule's command waits until it may be sent. */
  readonly #keptBack = new Set<string>();
  #isRunning = false;
  #wasReadOnly = false;

  constructor(ports: EnginePorts) {
    this.#ports = ports;
    this.#entries = new LimitStore(ports);
    this.#rest = new Rest(ports.clock);
    const { clock, store, weather } = ports;
    // Whole seconds, so that two clocks that run apart by a hair say the same.
    this.#iso = (mono) =>
      new Date(Math.round((mono + clock.now() - clock.monotonic()) / 1_000) * 1_000).toISOString();
    this.#lookUp = {
      startedAt: clock.monotonic(),
      controller: (idOrCode) => store.byId(idOrCode) ?? store.get(idOrCode),
      weather: (name) => this.#weather.get(name) ?? null,
      weatherStaleAfterMs: (name) => weather[name]?.stale_after ?? null,
      activity: (code, actuator) => this.#activity(code, actuator),
    };
    for (const { info, actuators } of store.controllers())
      for (const { settings } of actuators.values())
        if (settings.limits !== undefined) {
          this.#entries.set(newEntry(info.code, settings));
          this.#watchers.add(keyOf(info.code, settings.id), info.code, settings.limits.guards);
        }
    store.onChange((before, after) => this.#changed(before, after));
  }

  /** At taking: the command's times, or why it is not taken. */
  take(command: LimitedCommand, given: GivenTerm): Taking {
    const term = termOf(command.wanted, command.target, command.settings, given);
    if (term !== null && "reason" in term) return { refusal: term };
    const deadlineMono = deadlineWith(term, command);
    const verdict = this.mayStart(term === null ? command : { ...command, term, deadlineMono });
    if (verdict.type !== "refuse") return { term, deadlineMono };
    const { message, interlock } = verdict;
    return { refusal: { reason: "interlock", message }, interlock };
  }

  /** What waits longer than the command may is refused. */
  mayStart(command: LimitedCommand): Verdict {
    const verdict = this.#judge(command, false);
    if (verdict.type !== "wait") return verdict;
    // Nothing would move.
    if (this.#isThere(command)) return go;
    const isTooLong =
      this.#ports.clock.monotonic() > command.deadlineMono ||
      (Number.isFinite(verdict.until) && verdict.until > command.deadlineMono);
    return isTooLong ? { ...verdict, type: "refuse" } : verdict;
  }

  /** Immediately before a POST; only a first one waits for pauses, and cannot any more. */
  mayPost(command: LimitedCommand, isLeadIn: boolean): Verdict {
    const verdict = this.#judge(command, isLeadIn);
    if (verdict.type !== "wait") return verdict;
    const before = this.#entryOf(command)?.open.get(command.id)?.before ?? null;
    return before !== null ? go : { ...verdict, type: "refuse" };
  }

  #judge(command: LimitedCommand, isLeadIn: boolean): Verdict {
    const { code, targetId, wanted, rule, term } = command;
    if (command.target !== "actuator" || wanted.type === "stop") return go;
    const entry = this.#read(keyOf(code, targetId));
    if (entry === undefined) return go;
    const hasHold = term !== null && term.holdMs !== null;
    const shown = this.#shown(command);
    return judge(entry, { wanted, isLeadIn, source: rule ?? "sender", hasHold, shown }, this.#now());
  }

  #isThere(command: LimitedCommand): boolean {
    const actuator = this.#shown(command);
    if (command.force || !actuator) return false;
    const word = canonical(command.wanted);
    const others = [...(this.#entryOf(command)?.open.values() ?? [])];
    const isOnItsWay = others.some(
      ({ command: other, before }) =>
        before !== null && other.id !== command.id && canonical(other.wanted) === word,
    );
    return isOnItsWay || isThere(actuator, command.wanted);
  }

  /** What has to be on disk before the first POST, in the record that says that it is sent. */
  beforeSending(command: LimitedCommand): KeptLimits | null {
    const entry = this.#entryFor(command);
    if (entry === null) return null;
    const [shown, now] = [this.#shown(command), this.#ports.clock.monotonic()];
    return this.#entries.ahead(entry, command.id, (one) => afterFirstPost(one, command, shown, now));
  }

  /** One that confirms without a POST of its own has taken over the read-backs of an equal one. */
  phase(command: LimitedCommand, phase: string, isRecovered: boolean): void {
    const entry = command.dryRun || phase === "done" ? null : this.#entryFor(command);
    if (entry === null) return;
    const under = entry.open.get(command.id);
    const isForeign = (isRecovered || phase === "confirming") && !under?.before;
    if (under !== undefined && !isForeign) return;
    const after = isForeign ? afterForeignPost(entry, command) : entry;
    this.#entries.set(opened(after, command, isForeign ? entry : null));
    if (isForeign) this.#touchAfter(command);
    else this.#touchController(command.code);
  }

  /** A POST of it begins, or has ended. */
  posted(command: LimitedCommand): void {
    const entry = this.#entryFor(command);
    if (entry === null) return;
    const under = entry.open.get(command.id);
    const now = this.#ports.clock.monotonic();
    const after = under?.before
      ? afterPost(entry, command, now)
      : afterFirstPost(entry, command, this.#shown(command), now);
    // A stop, and what a rule sends, goes out without the disk too.
    const isOnDisk = command.wanted.type !== "stop" && command.rule === null;
    this.#entries.caughtUp(command, isOnDisk);
    this.#entries.set(opened(after, command, under?.before ?? entry));
    this.#touchAfter(command);
  }

  ended(command: LimitedCommand, result: Ended): void {
    const entry = this.#entryFor(command);
    if (entry === null) return;
    // Also of one that was never sent: the disk may have been told that it would be.
    this.#entries.caughtUp(command, false);
    const now = this.#ports.clock.monotonic();
    const after = sentAs(afterEnd(entry, command, result.outcome, now), result, now);
    this.#entries.set(after);
    // Before the result, whose way to the disk brings it there too: a lease that is over must not come back without it.
    this.#entries.keep(after);
    this.#touchAfter(command);
  }

  /** What a rule asked for was refused before it was a command. */
  turnedAway(about: Pick<LimitedCommand, "code" | "targetId">, result: Ended): void {
    const entry = this.#entryOf(about);
    if (entry) this.#entries.set(sentAs(entry, result, this.#ports.clock.monotonic()));
    this.#touchAfter(about);
  }

  /** It was moved elsewhere. */
  changedElsewhere(controllerId: string, actuator: string, from: string, to: string): void {
    const code = this.#ports.store.byId(controllerId)?.info.code ?? controllerId;
    const settings = this.#ports.store.get(code)?.actuators.get(actuator)?.settings;
    if (settings === undefined) return;
    const entry = this.#entryFor({ code, targetId: actuator, settings, target: "actuator", term: null });
    if (entry === null) return;
    this.#entries.set(afterForeignMove(entry, from, to, this.#ports.clock.monotonic()));
    this.#touchAfter({ code, targetId: actuator });
  }

  /** A live message on a weather topic. */
  measured(topic: string, payload: Uint8Array): void {
    const at = this.#ports.clock.monotonic();
    for (const [name, { topic: own, field }] of Object.entries(this.#ports.weather)) {
      if (own !== topic) continue;
      const watchers = this.#watchers.ofWeather(name);
      // What time alone has changed comes first, also where a stalled program had no turn for it.
      for (const key of watchers) this.#read(key);
      this.#weather.set(name, { value: weatherValue(new TextDecoder().decode(payload), field), at });
      this.#touchAll(watchers);
    }
  }

  #changed(before: Controller | undefined, after: Controller | undefined): void {
    const isSame =
      after === undefined ||
      (before?.sensors === after.sensors &&
        before.statuses === after.statuses &&
        before.actuators === after.actuators &&
        before.availability === after.availability &&
        before.platformReachable === after.platformReachable);
    if (isSame) return;
    this.#touchController(after.info.code);
    for (const key of this.#keptBack) if (key.startsWith(`${after.info.code} `)) this.#touchLater(key);
  }

  /** The lock and the hold in force. */
  inForce(code: string, actuator: string): Shut | null {
    const entry = this.#entries.get(keyOf(code, actuator));
    return entry ? expire(entry, this.#ports.clock.monotonic()) : null;
  }

  /** Locks, unlocks or releases. Resolves once it is on disk; what cannot be kept is not in force, for none of them. */
  async change(code: string, actuators: readonly string[], change: Partial<Shut>): Promise<void> {
    await this.#entries.change(code, actuators, change);
    for (const actuator of actuators) this.#touchLater(keyOf(code, actuator));
  }

  /** What an earlier run left; call it before anything is judged. Says what will not be ended any more; null for nothing. */
  restore(history: HistoryParts, newestAt: number): string | null {
    const lost = this.#entries.restore(history, newestAt);
    for (const key of this.#entries.keys()) this.#touch(key);
    return lost;
  }

  /** Wakes by itself for what time alone changes. */
  async run(signal: AbortSignal): Promise<void> {
    this.#isRunning = true;
    this.readOnlyChanged();
    for (const key of this.#entries.keys()) this.#touch(key);
    while (!signal.aborted) {
      const { clock } = this.#ports;
      const first = this.#due.first();
      await this.#rest.for(first === null ? Infinity : Math.max(0, first.at - clock.monotonic()), signal);
      for (let due = this.#due.first(); due && due.at <= clock.monotonic(); due = this.#due.first()) {
        this.#due.take();
        this.#touch(due.key);
        const code = this.#entries.get(due.key)?.code;
        if (code !== undefined) this.#touchController(code);
      }
    }
    this.#isRunning = false;
  }

  /** Whether the bridge may command at all may have changed. */
  readOnlyChanged(): void {
    const isReadOnly = this.#ports.isReadOnly();
    if (isReadOnly === this.#wasReadOnly) return;
    this.#wasReadOnly = isReadOnly;
    for (const { info, actuators } of this.#ports.store.controllers())
      for (const { settings } of actuators.values()) {
        const key = keyOf(info.code, settings.id);
        if (this.#entries.get(key) === undefined) this.#entries.set(newEntry(info.code, settings));
        this.#touchLater(key);
      }
  }

  #shown({ code, targetId }: Pick<LimitedCommand, "code" | "targetId">): Actuator | undefined {
    return this.#ports.store.get(code)?.actuators.get(targetId);
  }

  /** Whether the actuator is limited, others look at it, or this command limits itself. */
  #mayMatter({ code, targetId, settings, term }: About): boolean {
    if (settings.limits !== undefined || term !== null) return true;
    if (this.#watchers.hasActuator(this.#named(code), targetId)) return true;
    return this.#entryOf({ code, targetId }) !== undefined;
  }

  #entryOf({ code, targetId }: Pick<LimitedCommand, "code" | "targetId">): Entry | undefined {
    return this.#entries.get(keyOf(code, targetId));
  }

  /** Of an actuator that may be limited, or that others look at; null where nothing has to be remembered. */
  #entryFor(about: About & Pick<LimitedCommand, "target">): Entry | null {
    if (about.target !== "actuator" || !this.#mayMatter(about)) return null;
    return this.#entryOf(about) ?? newEntry(about.code, about.settings);
  }

  /** Folds what its inputs show now. */
  #read(key: string): Entry | undefined {
    const before = this.#entries.get(key);
    if (before === undefined) return undefined;
    const after = readGuards(before, this.#around(before));
    if (after === before) return before;
    this.#entries.set(after);
    this.#touchLater(key);
    return after;
  }

  #around({ code }: Entry): Around {
    const { store, staleAfterMs, isReadOnly } = this.#ports;
    const now = this.#now();
    return { ...this.#lookUp, own: store.get(code), now, isReadOnly: isReadOnly(), staleAfterMs };
  }

  #now(): Instant {
    return { mono: this.#ports.clock.monotonic(), iso: this.#iso };
  }

  #activity(code: string, actuator: string): Activity {
    const entry = this.#entries.get(keyOf(code, actuator));
    if (entry === undefined) return nothingUnderWay;
    return {
      unfinished: [...entry.open.values()].flatMap(({ command: { wanted } }) =>
        wanted.type === "stop" ? [] : [wanted],
      ),
      isMoving: isMoving(entry.moves, this.#ports.clock.monotonic()),
    };
  }

  #touchAfter({ code, targetId }: Pick<LimitedCommand, "code" | "targetId">): void {
    this.#touchLater(keyOf(code, targetId));
    this.#touchController(code);
  }

  #touchController(code: string): void {
    this.#touchAll(this.#watchers.of(this.#named(code)));
  }

  #named(code: string): { readonly id: string; readonly code: string } {
    return this.#ports.store.get(code)?.info ?? { id: code, code };
  }

  #touchAll(keys: readonly string[]): void {
    for (const key of keys) {
      this.#read(key);
      this.#touchLater(key);
    }
  }

  /** Writes what the disk could not take when it was so. */
  journalAgain(): void {
    for (const key of this.#entries.unwritten()) this.#touchLater(key);
  }

  /** Not within what told of it: a listener of the store must not dispatch. What it shows must not hold up a POST. */
  #touchLater(key: string): void {
    if (this.#touched.size === 0)
      (this.#ports.later ?? queueMicrotask)(() => {
        const keys = [...this.#touched];
        this.#touched.clear();
        for (const one of keys) this.#touch(one);
      });
    this.#touched.add(key);
  }

  #touch(key: string): void {
    const before = this.#entries.get(key);
    if (before === undefined) return;
    const { clock, newId, submit, recheck, onEvent } = this.#ports;
    const around = this.#around(before);
    const read = readGuards(before, around);
    const expired = expire(read, around.now.mono);
    const about = { controller: around.own?.info.id ?? read.code, actuator: read.id };
    if (read.lock && !expired.lock) onEvent(unlockedEvent(about, read.lock.by, clock.now()));
    const { entry, sends } = this.#isRunning
      ? dueSends(expired, around, newId)
      : { entry: expired, sends: [] };
    this.#entries.set(entry);
    this.#entries.keep(entry);
    this.#entries.show(entry, around.now);
    this.#entries.tellProblems(entry, around);
    if (isKeptBack(entry)) this.#keptBack.add(key);
    else this.#keptBack.delete(key);
    this.#schedule(key, entry, around);
    if (around.own !== undefined)
      for (const send of sends) submit({ ...send, controllerId: about.controller, actuator: entry.id });
    if ([...entry.open.values()].some((one) => one.before === null)) recheck(key);
  }

  #schedule(key: string, entry: Entry, around: Around): void {
    const at = dueAt(entry, around);
    const next = Math.min(at ?? Infinity, this.#entries.shownAt(entry) ?? Infinity);
    if (next === Infinity) this.#due.delete(key);
    else this.#due.set(key, next);
    this.#rest.wake();
  }
}
