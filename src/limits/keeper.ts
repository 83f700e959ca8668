import type { Refusal } from "../greenhouse/command/outcomes.js";
import type { Actuator, Controller } from "../greenhouse/model.js";
import type { HistoryParts, RecordBody } from "../journal/records.js";
import { Rest, Schedule } from "../runtime/schedule.js";
import {
  afterEnd,
  afterFirstPost,
  afterForeignMove,
  afterForeignPost,
  afterPost,
  OpenCommands,
  type UnderWay,
} from "./course.js";
import { type Entry, keyOf, type LimitedCommand, newEntry, type Shut, unlockedEvent } from "./entry.js";
import {
  type Activity,
  type InputSource,
  nothingUnderWay,
  Watchers,
  type WeatherReading,
  weatherValue,
} from "./inputs.js";
import { go, judge, type KeptBack, type Verdict } from "./judge.js";
import { type KeeperPorts, Ledger } from "./ledger.js";
import { type Instant, isMoving } from "./pauses.js";
import { type GivenTerm, type Term, termOf } from "./terms.js";
import {
  dueAt,
  dueSends,
  type Ended,
  expire,
  isKeptBack,
  isThere,
  readGuards,
  sentAs,
  type Surroundings,
} from "./upkeep.js";

type Taking = { readonly term: Term | null } | { readonly refusal: Refusal } | KeptBack;

const inForce = ({ lease, hold }: Entry): UnderWay["before"] => ({ lease, hold });
type About = Pick<LimitedCommand, "code" | "targetId" | "settings" | "term">;

/**
 * Holds what limits every actuator: judges commands, follows what becomes of them, and sends what a guard or the end of a
 * lease asks for. Actuators without limits, locks, holds and leases cost nothing here.
 */
export class LimitKeeper {
  readonly #ports: KeeperPorts;
  readonly #ledger: Ledger;
  /** By actuator and command id. */
  readonly #open = new OpenCommands();
  readonly #watchers = new Watchers();
  readonly #weather = new Map<string, WeatherReading>();
  readonly #due = new Schedule<string>();
  readonly #rest: Rest;
  readonly #startedAt: number;
  readonly #source: InputSource;
  readonly #iso: (mono: number) => string;
  readonly #touched = new Set<string>();
  /** Actuators for which a rule's command waits until it may be sent. */
  readonly #keptBack = new Set<string>();
  #isRunning = false;
  #wasReadOnly = false;

  constructor(ports: KeeperPorts) {
    this.#ports = ports;
    this.#ledger = new Ledger(ports);
    this.#rest = new Rest(ports.clock);
    const { clock, store, weather } = ports;
    this.#startedAt = clock.monotonic();
    // Whole seconds, so that two clocks that run apart by a hair say the same.
    this.#iso = (mono) =>
      new Date(Math.round((mono + clock.now() - clock.monotonic()) / 1_000) * 1_000).toISOString();
    this.#source = {
      controller: (idOrCode) => store.byId(idOrCode) ?? store.get(idOrCode),
      weather: (name) => this.#weather.get(name) ?? null,
      staleAfterMs: (name) => weather[name]?.stale_after ?? null,
      activity: (code, actuator) => this.#activity(code, actuator),
    };
    for (const { info, actuators } of store.controllers())
      for (const { settings } of actuators.values())
        if (settings.limits !== undefined) {
          this.#ledger.set(newEntry(info.code, settings));
          this.#watchers.add(keyOf(info.code, settings.id), info.code, settings.limits.guards);
        }
    store.onChange((before, after) => this.#changed(before, after));
  }

  /** At taking: the command's times, or why it is not taken. */
  take(command: LimitedCommand, given: GivenTerm): Taking {
    const term = termOf(command.wanted, command.target, command.settings, given);
    if (term !== null && "reason" in term) return { refusal: term };
    const verdict = this.#mayStart(command, term);
    return verdict.type === "refuse" ? verdict : { term };
  }

  /** What waits longer than the command may is refused. */
  mayStart(command: LimitedCommand): Verdict {
    return this.#mayStart(command, command.term);
  }

  #mayStart(command: LimitedCommand, term: Term | null): Verdict {
    const verdict = this.#judge(command, term, false);
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
    const verdict = this.#judge(command, command.term, isLeadIn);
    if (verdict.type !== "wait") return verdict;
    return this.#open.find(command)?.isPosted === true ? go : { ...verdict, type: "refuse" };
  }

  #judge(command: LimitedCommand, term: Term | null, isLeadIn: boolean): Verdict {
    const { code, targetId, wanted, rule } = command;
    if (command.target !== "actuator" || wanted.type === "stop") return go;
    const entry = this.#read(keyOf(code, targetId));
    if (entry === undefined) return go;
    const hasHold = term !== null && term.holdMs !== null;
    const shown = this.#shown(command);
    const now = { mono: this.#ports.clock.monotonic(), iso: this.#iso };
    return judge(entry, { wanted, isLeadIn, source: rule ?? "sender", hasHold, shown }, now);
  }

  #isThere(command: LimitedCommand): boolean {
    const actuator = this.#shown(command);
    if (command.force || command.target !== "actuator" || !actuator) return false;
    return this.#open.isOnItsWay(command) || isThere(actuator, command.wanted);
  }

  /** What has to be on disk before the first POST. */
  beforeSending(command: LimitedCommand): readonly RecordBody[] {
    const entry = this.#entryFor(command);
    if (entry === null) return [];
    const [shown, now] = [this.#shown(command), this.#ports.clock.monotonic()];
    return this.#ledger.ahead(entry, command.id, (one) => afterFirstPost(one, command, shown, now));
  }

  /** One that confirms without a POST of its own has taken over the read-backs of an equal one. */
  phase(command: LimitedCommand, phase: string, isRecovered: boolean): void {
    if (command.target !== "actuator" || command.dryRun || phase === "done") return;
    if (!this.#mayMatter(command)) return;
    const under = this.#open.find(command);
    const isForeign = (isRecovered || phase === "confirming") && under?.isPosted !== true;
    const entry = isForeign && command.wanted.type !== "stop" ? this.#entryFor(command) : null;
    if (under !== null && entry === null) return;
    this.#open.follow({ command, isPosted: isForeign, before: entry && inForce(entry) });
    if (entry === null) this.#touchController(command.code);
    else {
      this.#ledger.put(afterForeignPost(entry, command));
      this.#touchAfter(command);
    }
  }

  /** A POST of it begins, or has ended. */
  posted(command: LimitedCommand): void {
    const entry = this.#entryFor(command);
    if (entry === null) return;
    const under = this.#open.find(command);
    const now = this.#ports.clock.monotonic();
    const after = under?.isPosted
      ? afterPost(entry, command, now)
      : afterFirstPost(entry, command, this.#shown(command), now);
    this.#open.follow({ command, isPosted: true, before: under?.before ?? inForce(entry) });
    // A stop, and what a rule sends, goes out without the disk too.
    const isOnDisk = command.wanted.type !== "stop" && command.rule === null;
    this.#ledger.caughtUp(command, isOnDisk);
    this.#ledger.put(after);
    this.#touchAfter(command);
  }

  ended(command: LimitedCommand, result: Ended): void {
    if (command.target !== "actuator") return;
    const under = this.#open.find(command) ?? { command, isPosted: false, before: null };
    this.#open.end(command);
    this.#ledger.caughtUp(command, false);
    // Also of one that was never sent: the disk may have been told that it would be.
    const entry = this.#entryFor(command);
    if (entry !== null) {
      const now = this.#ports.clock.monotonic();
      this.#ledger.put(sentAs(afterEnd(entry, under, result.outcome, now), result, now));
    }
    this.#touchAfter(command);
  }

  /** What a rule asked for was refused before it was a command. */
  turnedAway(about: Pick<LimitedCommand, "code" | "targetId">, result: Ended): void {
    const entry = this.#ledger.get(keyOf(about.code, about.targetId));
    if (entry) this.#ledger.put(sentAs(entry, result, this.#ports.clock.monotonic()));
    this.#touchAfter(about);
  }

  /** Somebody else moved it. */
  changedElsewhere(controllerId: string, actuator: string, from: string, to: string): void {
    const code = this.#ports.store.byId(controllerId)?.info.code ?? controllerId;
    const settings = this.#ports.store.get(code)?.actuators.get(actuator)?.settings;
    if (settings === undefined) return;
    const entry = this.#entryFor({ code, targetId: actuator, settings, target: "actuator", term: null });
    if (entry === null) return;
    this.#ledger.put(afterForeignMove(entry, from, to, this.#ports.clock.monotonic()));
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
  held(code: string, actuator: string): Shut | null {
    const entry = this.#ledger.get(keyOf(code, actuator));
    return entry ? expire(entry, this.#ports.clock.monotonic()) : null;
  }

  /** Locks, unlocks or releases. Resolves once it is on disk; what cannot be kept is not in force, for none of them. */
  async change(code: string, actuators: readonly string[], change: Partial<Shut>): Promise<void> {
    await this.#ledger.change(code, actuators, change);
    for (const actuator of actuators) this.#touchLater(keyOf(code, actuator));
  }

  /** What an earlier run left; call it before anything is judged. Says what nobody will end any more; null for nothing. */
  restore(history: HistoryParts, newestAt: number): string | null {
    const lost = this.#ledger.restore(history, newestAt);
    for (const key of this.#ledger.keys()) this.#touch(key);
    return lost;
  }

  /** Wakes by itself for what time alone changes. */
  async run(signal: AbortSignal): Promise<void> {
    this.#isRunning = true;
    this.readOnlyChanged();
    for (const key of this.#ledger.keys()) this.#touch(key);
    while (!signal.aborted) {
      const { clock } = this.#ports;
      const first = this.#due.first();
      await this.#rest.for(first === null ? Infinity : Math.max(0, first.at - clock.monotonic()), signal);
      for (let due = this.#due.first(); due && due.at <= clock.monotonic(); due = this.#due.first()) {
        this.#due.take();
        this.#touch(due.key);
        const code = this.#ledger.get(due.key)?.code;
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
        if (this.#ledger.get(key) === undefined) this.#ledger.set(newEntry(info.code, settings));
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
    return this.#ledger.get(keyOf(code, targetId)) !== undefined;
  }

  /** Of an actuator that may be limited, or that others look at; null where nothing has to be remembered. */
  #entryFor(about: About & Pick<LimitedCommand, "target">): Entry | null {
    if (about.target !== "actuator" || !this.#mayMatter(about)) return null;
    return this.#ledger.get(keyOf(about.code, about.targetId)) ?? newEntry(about.code, about.settings);
  }

  /** Folds what its inputs show now. */
  #read(key: string): Entry | undefined {
    const before = this.#ledger.get(key);
    if (before === undefined) return undefined;
    const after = readGuards(before, this.#around(before));
    if (after !== before) this.#ledger.put(after);
    return after;
  }

  #around({ code }: Entry): Surroundings {
    const { store, staleAfterMs, clock, isReadOnly } = this.#ports;
    const [source, startedAt] = [this.#source, this.#startedAt];
    const now = clock.monotonic();
    return { own: store.get(code), source, now, startedAt, isReadOnly: isReadOnly(), staleAfterMs };
  }

  #activity(code: string, actuator: string): Activity {
    const key = keyOf(code, actuator);
    const moves = this.#ledger.get(key)?.moves;
    const open = this.#open.at(key);
    if (moves === undefined && open.length === 0) return nothingUnderWay;
    return {
      unfinished: open.flatMap(({ command: { wanted } }) => (wanted.type === "stop" ? [] : [wanted])),
      isMoving: moves !== undefined && isMoving(moves, this.#ports.clock.monotonic()),
    };
  }

  #touchAfter({ code, targetId }: Pick<LimitedCommand, "code" | "targetId">): void {
    if (this.#ledger.get(keyOf(code, targetId)) !== undefined) this.#touchLater(keyOf(code, targetId));
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
    for (const key of this.#ledger.putAgain()) this.#touchLater(key);
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
    const read = this.#read(key);
    if (read === undefined) return;
    const { clock, newId, submit, recheck, onEvent } = this.#ports;
    const now = { mono: clock.monotonic(), iso: this.#iso };
    const around = this.#around(read);
    const expired = expire(read, clock.monotonic());
    const about = { controller: around.own?.info.id ?? read.code, actuator: read.id };
    if (read.lock && !expired.lock) onEvent(unlockedEvent(about, read.lock.by, clock.now()));
    const { entry, sends } = this.#isRunning
      ? dueSends(expired, around, now, newId)
      : { entry: expired, sends: [] };
    const open = this.#open.at(key);
    this.#ledger.put(entry);
    this.#ledger.show(entry, now, open.length > 0);
    this.#ledger.tellProblems(entry, around);
    if (isKeptBack(entry)) this.#keptBack.add(key);
    else this.#keptBack.delete(key);
    this.#schedule(key, entry, around, now);
    if (around.own !== undefined)
      for (const send of sends) submit({ ...send, controllerId: about.controller, actuator: entry.id });
    if (open.some(({ isPosted }) => !isPosted)) recheck(key);
  }

  #schedule(key: string, entry: Entry, around: Surroundings, now: Instant): void {
    const at = dueAt(entry, around, now);
    const next = Math.min(at ?? Infinity, this.#ledger.shownAt(entry) ?? Infinity);
    if (next === Infinity) this.#due.delete(key);
    else this.#due.set(key, next);
    this.#rest.wake();
  }
}
