import type { Restrictions } from "../greenhouse/limits.js";
import type { Controller } from "../greenhouse/model.js";
import type { Checkpoint } from "../journal/records.js";
import { onDisk, Rest } from "../runtime/clock.js";
import type { AlarmStore } from "./alarm-store.js";
import { GuardWatch } from "./guard-watch.js";
import { entriesOf, type LimitsLeft, limitsLeft, lostNow, startAt } from "./restored-limits.js";
import type { LimitPorts } from "./ports.js";
import { isRuleDue, problemsOf } from "./rules/due.js";
import { asPlanned, type Entry, isEmpty, keyOf, type LimitInput, type LockAndHold } from "./rules/entry.js";
import { type LimitContext, type WeatherReading, weatherValue } from "./rules/guards.js";
import { restrictionsOf } from "./rules/judge.js";
import { type LimitSettings, watchersOf } from "./rules/settings.js";

const numbersEveryMs = 5_000;
/** The parts of a controller that guards and rules look at. Actuators are listened to separately. */
const lookedAt = ["sensors", "statuses", "availability", "platformReachable", "platformAnswers"] as const;

/**
 * Whether the words that an actuator accepts depend on what it shows: under a guard those of a light do. The lane
 * learns of reads separately.
 */
const looksAtItself = ({ settings }: Entry): boolean =>
  settings.kind === "light" && settings.leadIn !== "never";

/** A weather value; `receivedAt` is epoch ms. */
export type ReceivedWeather = WeatherReading & { readonly receivedAt: number };

/**
 * Connects limits with the world: tells the book of commands what guards look at, as limits are part of its lanes. It
 * also shows limits and raises their alarms, soon after a change and once for all changes of a moment (`#settle`).
 */
export class LimitEngine {
  readonly #ports;
  readonly #alarms: Pick<AlarmStore, "set">;
  /** Limits of every configured actuator at the start. */
  readonly #atFirst = new Map<string, Entry>();
  /** The same, only for actuators that the configuration limits. */
  readonly #limitedAtFirst = new Map<string, Entry>();
  /** Actuators by what their guards look at: `weather/<name>`, or a controller's id or code. */
  readonly #watchers = new Map<string, Set<string>>();
  /** Limited actuators, by device code. */
  readonly #limited = new Map<string, Set<string>>();
  /** Actuators that guards look at. */
  readonly #watched = new Set<string>();
  /** The newest value of each weather topic, by name. */
  readonly weather = new Map<string, ReceivedWeather>();
  /** The restrictions shown last, and when. */
  readonly #shown = new Map<string, { readonly restrictions: Restrictions | null; readonly at: number }>();
  /** When actuators whose numbers changed are shown again. */
  readonly #late = new Map<string, number>();
  readonly #rest: Rest;
  readonly #guardWatch = new GuardWatch();
  /** Actuators changed since they were settled. */
  readonly #dirty = new Set<string>();
  readonly settings: LimitSettings;
  /** Whether the bridge has begun to send for rules. */
  mayRulesSend = false;
  /** Number of the newest request for a lock or hold. */
  #requests = 0;
  /**
   * Whether it listens to changes of controllers, once something is limited, and to those of actuators, once a guard
   * looks at one.
   */
  #isListening = false;
  #isListeningToActuators = false;
  #readOnly: LimitContext["readOnly"] = { commands: false, rules: false };

  constructor(
    ports: Pick<LimitPorts, "clock" | "store" | "configuration" | "readOnly" | "run" | "book" | "onEvent"> & {
      readonly journal: Pick<LimitPorts["journal"], "append">;
    },
    alarms: Pick<AlarmStore, "set">,
  ) {
    this.#ports = ports;
    this.#alarms = alarms;
    this.#rest = new Rest(ports.clock);
    const { weather, polling } = ports.configuration;
    this.settings = {
      limitsAtFirst: this.#limitedAtFirst,
      unlimited: this.#atFirst,
      watched: this.#watched,
      watchers: this.#watchers,
      weatherStaleAfterMs: new Map(
        Object.entries(weather).map(([name, { stale_after: staleAfter }]) => [name, staleAfter]),
      ),
      startedAt: ports.clock.monotonic(),
      staleAfterMs: polling.stale_after,
      run: ports.run,
    };
    for (const controller of ports.store.controllers())
      for (const entry of entriesOf(controller)) this.#add(entry);
    // The next input tells the book that the clock was set.
    ports.store.onClockSet(() => ports.book().feedSoon({ type: "seen", keys: [], weather: null }));
  }

  #add(entry: Entry): void {
    const key = keyOf(entry.code, entry.id);
    this.#atFirst.set(key, entry);
    for (const { input } of entry.settings.limits?.guards ?? []) {
      const source = input.type === "weather" ? `weather/${input.name}` : (input.controller ?? entry.code);
      this.#watchers.set(source, (this.#watchers.get(source) ?? new Set()).add(key));
      if (input.type === "actuator")
        this.#watched.add(keyOf(this.#ports.store.find(source)?.info.code ?? source, input.id));
    }
    if (isEmpty(entry)) return;
    this.#limitedAtFirst.set(key, entry);
    this.#noteLimited(key, entry);
  }

  #noteLimited(key: string, entry: Entry): void {
    const { store } = this.#ports;
    if (!this.#isListening) store.onChange(this.#onControllerChange, lookedAt);
    this.#isListening = true;
    if (!this.#isListeningToActuators && (this.#watched.size > 0 || looksAtItself(entry))) {
      store.onChange(this.#onControllerChange, ["actuators"]);
      this.#isListeningToActuators = true;
    }
    this.#limited.set(entry.code, (this.#limited.get(entry.code) ?? new Set()).add(key));
  }

  /** Takes a live message on a weather topic. */
  onWeather(topic: string, payload: Uint8Array): void {
    const { clock, configuration, book } = this.#ports;
    for (const [name, { topic: own, field, stale_after }] of Object.entries(configuration.weather)) {
      if (own !== topic) continue;
      const value = weatherValue(new TextDecoder().decode(payload), field);
      const reading = { value, staleAt: clock.monotonic() + stale_after + 1 };
      this.weather.set(name, { ...reading, receivedAt: clock.now() });
      const keys = [...(this.#watchers.get(`weather/${name}`) ?? [])];
      book().feedSoon({ type: "seen", keys, weather: { name, reading } });
    }
  }

  readonly #onControllerChange = (before: Controller | undefined, after: Controller | undefined): void => {
    if (after === undefined) return;
    const keys = new Set([...watchersOf(this.settings, after.info), ...this.#keysConcerned(before, after)]);
    if (keys.size > 0) this.#ports.book().feedSoon({ type: "seen", keys: [...keys], weather: null });
  };

  /** Limited actuators of the controller for which the change matters, whatever guards look at. */
  *#keysConcerned(before: Controller | undefined, after: Controller): Iterable<string> {
    const { code } = after.info;
    const now = this.#ports.clock.monotonic();
    // What was due before the first request to the platform is sent as soon as it answers.
    const answers = before?.platformAnswers !== after.platformAnswers;
    for (const key of this.#limited.get(code) ?? []) {
      const entry = this.#ports.book().limitsOf(key);
      if (entry === null) continue;
      const { id } = entry;
      const isOther = looksAtItself(entry) && before?.actuators.get(id) !== after.actuators.get(id);
      if (!isRuleDue(entry, now) && (!(answers || isOther) || isEmpty(entry))) continue;
      this.#mark(key);
      yield key;
    }
  }

  /** The lock and hold in force, with changes that earlier requests have asked for. */
  inForce(code: string, actuator: string): LockAndHold | null {
    const entry = this.#ports.book().limitsOf(keyOf(code, actuator));
    return entry && asPlanned(entry);
  }

  /** Everything that can be locked at a controller: also the whole controller, and what an earlier run had locked. */
  lockable(code: string): readonly string[] {
    const all = [...this.#atFirst.values(), ...this.#ports.book().limited];
    return [...new Set(all.flatMap((one) => (one.code === code ? [one.id] : [])))];
  }

  /**
   * Locks, unlocks or releases. A lock forbids at once. Resolves when it is on disk; if it cannot be kept it is not in
   * force for any of the actuators. Rejects if the disk does not answer, whatever happens later.
   */
  async change(code: string, actuators: readonly string[], change: Partial<LockAndHold>): Promise<void> {
    const keys = actuators.map((id) => keyOf(code, id)).filter((key) => this.#wouldChange(key, change));
    const book = this.#ports.book();
    this.#requests += 1;
    const asked = { type: "lock_or_hold", request: this.#requests, change } as const;
    for (const key of keys) book.feedSoon({ ...asked, key, is: "planned" });
    await onDisk(this.#ports.clock, () => this.#bringToDisk(keys, asked));
  }

  async #bringToDisk(
    keys: readonly string[],
    asked: Omit<Extract<LimitInput, { readonly type: "lock_or_hold" }>, "key" | "is">,
  ): Promise<void> {
    const { journal } = this.#ports;
    const book = this.#ports.book();
    const written = await Promise.allSettled(
      keys.map((key) => journal.append(book.laneRecord(key), { durable: true })),
    );
    const refused = written.find((one) => one.status === "rejected");
    const is = refused === undefined ? "on_disk" : "given_up";
    for (const key of keys) book.feedSoon({ ...asked, key, is });
    if (refused !== undefined) throw refused.reason;
  }

  #wouldChange(key: string, { lock, hold }: Partial<LockAndHold>): boolean {
    const entry = this.#ports.book().limitsOf(key);
    if (entry === null || entry.planned.length > 0) return entry !== null;
    return (lock !== undefined && lock !== entry.lock) || (hold !== undefined && hold !== entry.hold);
  }

  /** The limits of an earlier run, for the book to begin with. */
  limitsLeft(history: Checkpoint, newestAt: number, isOfCluster = false): LimitsLeft {
    const { clock, store } = this.#ports;
    const at = startAt(clock.now(), newestAt, isOfCluster);
    const start = { at, mono: clock.monotonic(), newestAt, isOfCluster };
    const left = limitsLeft(history, start, this.#atFirst, store);
    for (const [key, { now }] of left.limits) this.#guardWatch.restore(key, now?.guards ?? []);
    return left;
  }

  /** Locks and leases of an earlier run that are not in force although nobody ended them. */
  lost(): LimitsLeft["lost"] {
    const { clock, store, book } = this.#ports;
    const now = { at: clock.now(), mono: clock.monotonic() };
    return lostNow(book().limited, now, this.#atFirst, store);
  }

  /** Wakes only for restrictions that are shown late; the book wakes for everything else. */
  async run(signal: AbortSignal): Promise<void> {
    this.mayRulesSend = true;
    this.readOnlyChanged();
    this.#settleLimited();
    while (!signal.aborted) {
      const now = this.#ports.clock.monotonic();
      this.#settleAll([...this.#late].flatMap(([key, at]) => (at > now ? [] : [key])));
      await this.#rest.for(Math.min(...this.#late.values()) - now, signal);
    }
    this.mayRulesSend = false;
  }

  /** To be called when the bridge may have become read-only, or writable again. */
  readOnlyChanged(): void {
    const before = this.#readOnly;
    this.#readOnly = this.#ports.readOnly();
    if (before.commands === this.#readOnly.commands && before.rules === this.#readOnly.rules) return;
    this.#ports.book().feedSoon({ type: "seen", keys: [...this.#atFirst.keys()], weather: null });
    for (const key of this.#atFirst.keys()) this.#mark(key);
  }

  /** To be called when the limits of a lane have changed. */
  onLimitsChange(key: string): void {
    const limits = this.#ports.book().limitsOf(key);
    if (limits !== null) this.#noteLimited(key, limits);
    this.#mark(key);
  }

  /** Settles later, as a listener of the store must not dispatch, and display work must not delay a POST. */
  #mark(key: string): void {
    if (this.#dirty.size === 0)
      this.#ports.clock.soon(() => {
        const keys = [...this.#dirty];
        this.#dirty.clear();
        this.#settleAll(keys);
      });
    this.#dirty.add(key);
  }

  #settleLimited(): void {
    const limited = this.#ports.book().limited.map(({ code, id }) => keyOf(code, id));
    const keys = new Set([
      ...[...this.#atFirst].flatMap(([key, one]) => (isEmpty(one) ? [] : [key])),
      ...limited,
    ]);
    this.#ports.book().feedSoon({ type: "seen", keys: [...keys], weather: null });
    this.#settleAll(keys);
  }

  #settleAll(keys: Iterable<string>): void {
    for (const key of keys) this.#settle(key);
    for (const event of this.#guardWatch.take(this.#ports.clock.now())) this.#ports.onEvent(event);
  }

  /** Shows the limits of an actuator and raises their alarms. */
  #settle(key: string): void {
    this.#late.delete(key);
    const entry = this.#ports.book().limitsOf(key);
    const context = entry && this.#ports.book().context(entry.code);
    if (entry === null || context === null) return;
    this.#show(key, entry, context);
    const about = { controller: context.own.info.id, actuator: entry.id };
    for (const [type, problem] of problemsOf(entry, context))
      this.#alarms.set(type, about, problem?.message ?? null, problem?.facts);
    this.#lookAgain(key, this.#guardWatch.note(key, entry, about, context.now.mono));
  }

  #lookAgain(key: string, at: number): void {
    if (at === Infinity) return;
    this.#late.set(key, Math.min(at, this.#late.get(key) ?? Infinity));
    this.#rest.wake();
  }

  /** Shows what is in force; if only numbers differ, at intervals. */
  #show(key: string, entry: Entry, { own, readOnly, now }: LimitContext): void {
    const actuator = own.actuators.get(entry.id);
    if (actuator === undefined) return;
    const isReadOnly = readOnly.commands;
    const restrictions =
      isEmpty(entry) && !isReadOnly ? null : restrictionsOf(entry, isReadOnly, actuator, now);
    const { restrictions: shown, at } = this.#shown.get(key) ?? { restrictions: null, at: 0 };
    if (JSON.stringify(shown) === JSON.stringify(restrictions)) return;
    const isSmall = shown && restrictions && differsInNumbersOnly(shown, restrictions);
    if (isSmall && now.mono < at + numbersEveryMs) {
      this.#lookAgain(key, at + numbersEveryMs);
      return;
    }
    this.#shown.set(key, { restrictions, at: now.mono });
    this.#ports.store.dispatch(entry.code, { type: "restricted", id: entry.id, restrictions });
  }
}

/** Whether only numbers differ, which are shown at intervals. */
function differsInNumbersOnly(one: Restrictions, other: Restrictions): boolean {
  const rest = ({ allowed, lock, lease }: Restrictions) =>
    JSON.stringify([
      ...[allowed.words, allowed.degrees, lock, lease],
      allowed.because.map(({ rule, quality, value }) => [
        rule,
        quality,
        typeof value === "number" ? 0 : value,
      ]),
    ]);
  return rest(one) === rest(other);
}
