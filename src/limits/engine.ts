import type { Refusal } from "../greenhouse/command/outcomes.js";
import type { Interlock, Restrictions } from "../greenhouse/limits.js";
import type { Actuator, Controller } from "../greenhouse/model.js";
import type { HistoryParts, KeptLimits } from "../journal/records.js";
import { Rest, Schedule } from "../runtime/schedule.js";
import { afterClockSet, clockJudgement, entriesOf, LimitsOnDisk, type Lost } from "./on-disk.js";
import type { Ended } from "./rules/attempts.js";
import { afterEnd, afterFirstPost, afterForeignMove, afterPost, begun, sentAs } from "./rules/course.js";
import {
  type ClockJudgement,
  type Entry,
  isEmpty,
  judgedByClock,
  keyOf,
  type LimitedCommand,
  type Shut,
} from "./rules/entry.js";
import { type Around, type Instant, weatherValue } from "./rules/guards.js";
import { go, mayPost, mayStart, type Verdict } from "./rules/judge.js";
import { isMoving } from "./rules/pauses.js";
import type { EnginePorts } from "./ports.js";
import {
  differsInNumbersOnly,
  movedMeanwhileEvent,
  type ReceivedWeather,
  restrictionsOf,
  unlockedEvents,
} from "./shown.js";
import { deadlineWith, type GivenTerm, termOf } from "./rules/terms.js";
import { dueAt, dueSends, expire, isKeptBack, problemsOf, readGuards } from "./rules/upkeep.js";

type Taking =
  | Pick<LimitedCommand, "term" | "deadlineMono">
  | { readonly refusal: Refusal; readonly interlock?: Interlock };

/** An actuator; of a command also what else it may be about. */
type About = Pick<LimitedCommand, "code" | "targetId"> & Partial<Pick<LimitedCommand, "target" | "term">>;

const numbersEveryMs = 5_000;

/**
 * Holds what limits every configured actuator: judges commands, follows what becomes of them, and sends what a guard or the
 * end of a lease asks for. Of actuators without limits, locks, holds and leases nothing is followed. What is told, seen or locked
 * changes an entry at once (`#set`); what follows of that is drawn soon, once for all changes of that moment (`#settle`).
 */
export class LimitEngine {
  readonly #ports: EnginePorts;
  readonly #entries = new Map<string, Entry>();
  readonly #disk: LimitsOnDisk;
  /** By `weather/<name>`, or a controller's id or code: the actuators with guards that look at something of it. */
  readonly #watchers = new Map<string, Set<string>>();
  /** Actuators that guards look at. */
  readonly #watched = new Set<string>();
  readonly weather = new Map<string, ReceivedWeather>();
  /** What everybody was shown, and when; numbers that changed since are shown with the next look after a while. */
  readonly #shown = new Map<string, { readonly restrictions: Restrictions | null; readonly at: number }>();
  readonly #due = new Schedule<string>();
  readonly #rest: Rest;
  readonly #startedAt: number;
  /** Changed since they were settled. */
  readonly #dirty = new Set<string>();
  #isRunning = false;
  #readOnly: Around["readOnly"] = { commands: false, rules: false };

  constructor(ports: EnginePorts) {
    this.#ports = ports;
    this.#disk = new LimitsOnDisk(ports);
    this.#rest = new Rest(ports.clock);
    this.#startedAt = ports.clock.monotonic();
    for (const controller of ports.store.controllers())
      for (const entry of entriesOf(controller)) this.#add(entry);
    ports.store.onChange((before, after) => this.#changed(before, after));
    ports.store.onClockSet((byMs) => this.#clockSet(byMs));
  }

  #add(entry: Entry): void {
    const key = keyOf(entry.code, entry.id);
    this.#entries.set(key, entry);
    for (const { input } of entry.settings.limits?.guards ?? []) {
      const source = input.type === "weather" ? `weather/${input.name}` : (input.controller ?? entry.code);
      this.#watchers.set(source, (this.#watchers.get(source) ?? new Set()).add(key));
      if (input.type === "actuator")
        this.#watched.add(keyOf(this.#controller(source)?.info.code ?? source, input.id));
    }
  }

  /** At taking: the command's times, or why it is not taken. What is judged changes nothing here. */
  take(command: LimitedCommand, given: GivenTerm): Taking {
    const term = termOf(command.wanted, command.target, command.settings, given);
    if (term !== null && "reason" in term) return { refusal: term };
    const deadlineMono = deadlineWith(term, command);
    const verdict = this.mayStart(term === null ? command : { ...command, term, deadlineMono });
    if (verdict.type !== "refuse") return { term, deadlineMono };
    const { message, interlock } = verdict;
    return { refusal: { reason: "interlock", message }, interlock };
  }

  mayStart(command: LimitedCommand): Verdict {
    const entry = this.#judged(command);
    return entry === null ? go : mayStart(entry, command, this.#actuator(command), this.#now());
  }

  /** Immediately before a POST. */
  mayPost(command: LimitedCommand, isLeadIn: boolean): Verdict {
    const entry = this.#judged(command);
    return entry === null ? go : mayPost(entry, command, isLeadIn, this.#actuator(command), this.#now());
  }

  /** As what its inputs show at this moment makes it; null for what nothing limits. */
  #judged({ target, wanted, code, targetId }: LimitedCommand): Entry | null {
    if (target !== "actuator" || wanted.type === "stop") return null;
    const read = this.#read(keyOf(code, targetId));
    return read && expire(read.entry, read.around.now.mono, read.around);
  }

  /** What has to be on disk before the first POST, in the record that says that it is sent. */
  beforeSending(command: LimitedCommand): KeptLimits | null {
    const entry = this.#followed(command);
    if (entry === null) return null;
    const [shown, { mono }] = [this.#actuator(command), this.#now()];
    return this.#disk.ahead(entry, command.id, (one) => afterFirstPost(one, command, shown, mono));
  }

  phase(command: LimitedCommand, phase: string, isRecovered: boolean): void {
    if (command.dryRun || phase === "done") return;
    this.#fold(command, (entry) => begun(entry, command, isRecovered || phase === "confirming"));
  }

  /** A POST of it begins, or has ended. */
  posted(command: LimitedCommand): void {
    this.#disk.caughtUp(command, "post");
    this.#fold(command, (entry, now) => afterPost(entry, command, this.#actuator(command), now));
  }

  ended(command: LimitedCommand, result: Ended): void {
    this.#disk.caughtUp(command, "end");
    const after = this.#fold(command, (entry, now) =>
      sentAs(afterEnd(entry, command, result.outcome, now), result, now),
    );
    // Before the result, whose way to the disk brings it there too: a lease that is over must not come back without it.
    if (after !== null) this.#disk.keep(after);
  }

  /** What a rule asked for was refused before it was a command. */
  turnedAway(about: About, result: Ended): void {
    this.#fold(about, (entry, now) => sentAs(entry, result, now));
  }

  /** It was moved elsewhere. */
  changedElsewhere(controllerId: string, targetId: string, from: string, to: string): void {
    const code = this.#ports.store.byId(controllerId)?.info.code ?? controllerId;
    this.#fold({ code, targetId }, (entry, now) => afterForeignMove(entry, from, to, now));
  }

  /** The entry of what is commanded; null where nothing has to be remembered of it. */
  #followed({ code, targetId, target = "actuator", term = null }: About): Entry | null {
    const key = keyOf(code, targetId);
    const entry = target === "actuator" ? this.#entries.get(key) : undefined;
    if (entry === undefined) return null;
    const isFollowed = term !== null || this.#watched.has(key) || entry.open.size > 0 || !isEmpty(entry);
    return isFollowed ? entry : null;
  }

  /** What has become of a command; who looks at its actuator sees it at once. */
  #fold(about: About, change: (entry: Entry, now: number) => Entry): Entry | null {
    const before = this.#followed(about);
    const after = before && change(before, this.#now().mono);
    if (after === null || after === before) return after;
    this.#set(after);
    this.#look(after.code);
    return after;
  }

  /** A live message on a weather topic. */
  measured(topic: string, payload: Uint8Array): void {
    const { mono } = this.#now();
    for (const [name, { topic: own, field, stale_after }] of Object.entries(this.#ports.weather)) {
      if (own !== topic) continue;
      const source = `weather/${name}`;
      // What time alone has changed comes first, also where a stalled program had no turn for it.
      this.#look(source);
      const value = weatherValue(new TextDecoder().decode(payload), field);
      const receivedAt = this.#ports.clock.now();
      this.weather.set(name, { value, staleAt: mono + stale_after + 1, receivedAt });
      this.#look(source);
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
    const { code } = after.info;
    this.#look(code);
    // What was due before the platform was asked for the first time goes as soon as it answers.
    const answers = before?.platformReachable !== after.platformReachable;
    for (const [id, actuator] of after.actuators) {
      const entry = this.#entries.get(keyOf(code, id));
      if (entry === undefined) continue;
      // Which words a light takes under a guard depends on what it shows, and whether a lease of an earlier run is ended.
      const isLookedAt = entry.settings.leadIn !== "never" || entry.lease?.isKept === true;
      const isOther = isLookedAt && before?.actuators.get(id) !== actuator;
      if (isKeptBack(entry) || ((answers || isOther) && !isEmpty(entry))) this.#mark(keyOf(code, id));
    }
  }

  #clockSet(byMs: number): void {
    this.#disk.clockSet();
    for (const entry of this.#entries.values())
      if (!isEmpty(entry)) this.#set(afterClockSet(entry, byMs, this.#startedAt));
  }

  /** The lock and the hold in force. */
  inForce(code: string, actuator: string): Shut | null {
    const entry = this.#entries.get(keyOf(code, actuator));
    return entry ? expire(entry, this.#now().mono, this.#clockJudgement()) : null;
  }

  /** All that can be locked at a controller: also the whole of it, and what an earlier run had locked there. */
  lockable(code: string): readonly string[] {
    return [...this.#entries.values()].flatMap((one) => (one.code === code ? [one.id] : []));
  }

  /** Locks, unlocks or releases. Resolves once it is on disk; what cannot be kept is not in force, for none of them. */
  async change(code: string, actuators: readonly string[], change: Partial<Shut>): Promise<void> {
    const present = () => actuators.flatMap((id) => this.#entries.get(keyOf(code, id)) ?? []);
    await this.#disk.keepAll(present, change);
    for (const entry of present()) this.#set({ ...entry, ...change });
  }

  /** What an earlier run left; call it before anything is judged. */
  restore(history: HistoryParts, newestAt: number): Lost {
    const { entries, events, lost } = this.#disk.restored(history, newestAt, this.#entries);
    for (const entry of entries) this.#entries.set(keyOf(entry.code, entry.id), entry);
    for (const event of events) this.#ports.onEvent(event);
    this.#settleLimited();
    return lost;
  }

  /** Wakes by itself for what time alone changes. */
  async run(signal: AbortSignal): Promise<void> {
    this.#isRunning = true;
    this.readOnlyChanged();
    this.#settleLimited();
    while (!signal.aborted) {
      const first = this.#due.first();
      await this.#rest.for(first === null ? Infinity : Math.max(0, first.at - this.#now().mono), signal);
      for (let due = this.#due.first(); due && due.at <= this.#now().mono; due = this.#due.first()) {
        this.#due.take();
        this.#settle(due.key);
        const code = this.#entries.get(due.key)?.code;
        if (code !== undefined) this.#look(code);
      }
    }
    this.#isRunning = false;
  }

  /** Whether the bridge may command at all may have changed. */
  readOnlyChanged(): void {
    const before = this.#readOnly;
    this.#readOnly = this.#ports.readOnly();
    if (before.commands === this.#readOnly.commands && before.rules === this.#readOnly.rules) return;
    for (const key of this.#entries.keys()) this.#mark(key);
  }

  /** Writes what the disk could not take when it was so. */
  journalAgain(): void {
    for (const key of this.#disk.unwritten()) this.#mark(key);
  }

  #controller(idOrCode: string): Controller | undefined {
    return this.#ports.store.byId(idOrCode) ?? this.#ports.store.get(idOrCode);
  }

  #actuator({ code, targetId }: About): Actuator | undefined {
    return this.#ports.store.get(code)?.actuators.get(targetId);
  }

  #now(): Instant {
    const { clock } = this.#ports;
    const mono = clock.monotonic();
    // Whole seconds, so that two clocks that run apart by a hair say the same.
    const iso = (at: number) => new Date(Math.round((at + clock.now() - mono) / 1_000) * 1_000).toISOString();
    return { mono, iso };
  }

  #clockJudgement(): ClockJudgement {
    const { clock, clockSkewMs, staleAfterMs } = this.#ports;
    return clockJudgement(clockSkewMs(), this.#startedAt, clock.monotonic(), staleAfterMs);
  }

  /** What its limits look at now; null for a controller that is not there. */
  #around({ code }: Entry): Around | null {
    const { store, staleAfterMs, readOnly, weather } = this.#ports;
    const own = store.get(code);
    if (own === undefined) return null;
    const now = this.#now();
    return {
      ...this.#clockJudgement(),
      ...{ own, now, readOnly: readOnly(), staleAfterMs },
      controller: (idOrCode) => this.#controller(idOrCode),
      weather: (name) => this.weather.get(name) ?? null,
      weatherStaleAfterMs: (name) => weather[name]?.stale_after ?? null,
      activity: (of, actuator) => {
        const { open, moves } = this.#entries.get(keyOf(of, actuator)) ?? {};
        const wanteds = [...(open?.values() ?? [])].map(({ command }) => command.wanted);
        const unfinished = wanteds.filter(({ type }) => type !== "stop");
        return { unfinished, isMoving: moves !== undefined && isMoving(moves, now.mono) };
      },
    };
  }

  /** An entry as what its guards see at this moment makes it; null for what nothing limits. */
  #read(key: string): { readonly entry: Entry; readonly around: Around } | null {
    const entry = this.#entries.get(key);
    const around = entry && this.#around(entry);
    return entry && around ? { entry: readGuards(judgedByClock(entry, around), around), around } : null;
  }

  /** Guards that look at something of it count at once what they see, also where it is over before it is settled. */
  #look(source: string): void {
    if (this.#watchers.size === 0) return;
    for (const name of new Set([source, this.#ports.store.get(source)?.info.id ?? source]))
      for (const key of this.#watchers.get(name) ?? []) {
        const read = this.#read(key);
        if (read !== null) this.#set(read.entry);
      }
  }

  #set(entry: Entry): void {
    const key = keyOf(entry.code, entry.id);
    this.#entries.set(key, entry);
    this.#mark(key);
  }

  /** Not within what told of it: a listener of the store must not dispatch. What it shows must not hold up a POST. */
  #mark(key: string): void {
    if (this.#dirty.size === 0)
      (this.#ports.later ?? queueMicrotask)(() => {
        const keys = [...this.#dirty];
        this.#dirty.clear();
        for (const one of keys) this.#settle(one);
      });
    this.#dirty.add(key);
  }

  #settleLimited(): void {
    for (const [key, entry] of this.#entries) if (!isEmpty(entry)) this.#settle(key);
  }

  /** Lets an actuator's inputs and its time count, and does what follows. */
  #settle(key: string): void {
    const read = this.#read(key);
    if (read === null) return;
    const { around } = read;
    const { clock, newId, submit, recheck, onEvent, alarm } = this.#ports;
    const now = expire(read.entry, around.now.mono, around);
    const { entry, sends, moved } = this.#isRunning
      ? dueSends(now, around, newId)
      : { entry: now, sends: [], moved: null };
    const about = { controller: around.own.info.id, actuator: entry.id };
    for (const event of unlockedEvents(read.entry.lock, entry, about, clock.now())) onEvent(event);
    this.#entries.set(key, entry);
    this.#disk.keep(entry);
    const shownAt = this.#show(key, entry, around);
    for (const [type, problem] of problemsOf(entry, around))
      alarm(type, about, problem?.message ?? null, problem?.facts);
    const next = Math.min(dueAt(entry, around), shownAt);
    if (next === Infinity) this.#due.delete(key);
    else this.#due.set(key, next);
    this.#rest.wake();
    if (moved !== null) {
      const record = {
        type: "changed_elsewhere",
        controller: entry.code,
        actuator: entry.id,
        ...moved,
      } as const;
      this.#ports.journal.append(record, { durable: false }).catch(() => undefined);
      onEvent(movedMeanwhileEvent(about, moved, clock.now()));
    }
    for (const send of sends) submit({ ...send, controllerId: about.controller, actuator: entry.id });
    if ([...entry.open.values()].some((one) => one.beforePost === null)) recheck(key);
  }

  /** Shows everybody what is in force; says when what is not shown yet is to be shown, Infinity where all is. */
  #show(key: string, entry: Entry, { own, readOnly, now }: Around): number {
    const actuator = own.actuators.get(entry.id);
    if (actuator === undefined) return Infinity;
    const restrictions =
      isEmpty(entry) && !readOnly.commands ? null : restrictionsOf(entry, readOnly.commands, actuator, now);
    const { restrictions: shown, at } = this.#shown.get(key) ?? { restrictions: null, at: 0 };
    if (JSON.stringify(shown) === JSON.stringify(restrictions)) return Infinity;
    const isSmall = shown && restrictions && differsInNumbersOnly(shown, restrictions);
    if (isSmall && now.mono < at + numbersEveryMs) return at + numbersEveryMs;
    this.#shown.set(key, { restrictions, at: now.mono });
    this.#ports.store.dispatch(entry.code, { type: "restricted", id: entry.id, restrictions });
    return Infinity;
  }
}
