import type { Configuration } from "../config/schema.js";
import type { BridgeEvent } from "../greenhouse/events.js";
import type { AlarmFacts, AlarmType, Guard, Restrictions } from "../greenhouse/limits.js";
import type { HistoryParts, KeptLimits, RecordBody } from "../journal/records.js";
import type { Clock } from "../runtime/clock.js";
import type { Controller } from "../greenhouse/model.js";
import type { GreenhouseStore } from "../sync/store.js";
import {
  type Entry,
  isEmpty,
  keptOf,
  keyOf,
  type LimitedCommand,
  newEntry,
  restored,
  restrictionsOf,
  type Shut,
} from "./rules/entry.js";
import type { Around, Instant } from "./rules/guards.js";
import type { Lease } from "./rules/terms.js";
import { type DueSend, problemsOf } from "./rules/upkeep.js";

/** What a rule has the bridge send. */
export interface RuleCommand extends DueSend {
  readonly controllerId: string;
  readonly actuator: string;
}

export interface EnginePorts {
  readonly clock: Clock;
  readonly store: GreenhouseStore;
  readonly journal: {
    append(record: RecordBody, options: { readonly durable: boolean }): Promise<number>;
  };
  readonly weather: Configuration["weather"];
  /** How old a reading of the platform may be, ms. */
  readonly staleAfterMs: number;
  readonly isReadOnly: () => boolean;
  readonly newId: () => string;
  readonly onEvent: (event: BridgeEvent) => void;
  /** Raises an alarm about an actuator, or with null takes it back. */
  readonly alarm: (
    type: AlarmType,
    about: { readonly controller: string; readonly actuator: string },
    message: string | null,
    facts?: AlarmFacts,
  ) => void;
  readonly submit: (command: RuleCommand) => void;
  /** What waits at the actuator is judged anew. */
  readonly recheck: (key: string) => void;
  /** Calls back once requests begun by now are out; within this task when absent. */
  readonly later?: (tell: () => void) => void;
}

interface Published {
  readonly restrictions: Restrictions | null;
  readonly at: number;
  /** Numbers have changed since. */
  readonly isLate: boolean;
}

const numbersEveryMs = 5_000;
/** What a removed actuator has left is forgotten after that. */
const goneForMs = 86_400_000;

/** Equal where the disk has to say the same, to the second. */
const signature = (entry: Entry | undefined): string => {
  const kept = entry === undefined ? null : keptOf(entry, (mono) => Math.round(mono / 1_000));
  return kept === null ? "" : JSON.stringify(kept);
};

/** What is known of every actuator that is limited, as it is on disk and as it is shown. */
export class LimitStore {
  readonly #ports: Pick<EnginePorts, "clock" | "store" | "journal" | "isReadOnly" | "alarm" | "onEvent">;
  readonly #entries = new Map<string, Entry>();
  readonly #published = new Map<string, Published>();
  /** As the disk has it, or is about to; null where that is not known. */
  readonly #onDisk = new Map<string, Entry | null>();
  /** What the disk has to have before a first POST, and is so once it is out: nothing may be written over it meanwhile. */
  readonly #ahead = new Map<string, { readonly id: string; readonly change: (entry: Entry) => Entry }>();

  constructor(ports: Pick<EnginePorts, "clock" | "store" | "journal" | "isReadOnly" | "alarm" | "onEvent">) {
    this.#ports = ports;
  }

  keys(): Iterable<string> {
    return [...this.#entries.keys()];
  }

  get(key: string): Entry | undefined {
    return this.#entries.get(key);
  }

  /** Holds it without a word to the disk. */
  set(entry: Entry): void {
    this.#entries.set(keyOf(entry.code, entry.id), entry);
  }

  /** Writes what the disk does not have yet of it. */
  keep(entry: Entry): void {
    const record = this.#unkept(entry);
    if (record === null) return;
    const isUnknown = () => this.#onDisk.set(keyOf(entry.code, entry.id), null);
    this.#ports.journal.append(record, { durable: false }).catch(isUnknown);
  }

  /** What has to be on disk with the first POST of a command, which then changes the entry so. */
  ahead(entry: Entry, id: string, change: (entry: Entry) => Entry): KeptLimits | null {
    const key = keyOf(entry.code, entry.id);
    const after = change(entry);
    this.#ahead.set(key, { id, change });
    this.#onDisk.set(key, after);
    return this.#keptNow(after);
  }

  /** Its first POST goes out, or it has ended. */
  caughtUp({ code, targetId, id }: LimitedCommand, isOnDisk: boolean): void {
    const key = keyOf(code, targetId);
    if (this.#ahead.get(key)?.id !== id) return;
    this.#ahead.delete(key);
    if (!isOnDisk) this.#onDisk.set(key, null);
  }

  /** Of which the disk may not have the newest. */
  unwritten(): readonly string[] {
    return [...this.#onDisk].flatMap(([key, entry]) => (entry === null ? [key] : []));
  }

  /** Null where the disk has it; what it is given counts as there from now on. */
  #unkept(present: Entry): RecordBody | null {
    const key = keyOf(present.code, present.id);
    const entry = this.#ahead.get(key)?.change(present) ?? present;
    const held = this.#onDisk.get(key);
    if (held === entry || (held !== null && signature(held) === signature(entry))) return null;
    this.#onDisk.set(key, entry);
    const kept = this.#keptNow(entry);
    return { type: "limits_kept", controller: entry.code, actuator: entry.id, kept };
  }

  #keptNow(entry: Entry): KeptLimits | null {
    const { clock } = this.#ports;
    const offset = clock.now() - clock.monotonic();
    return keptOf(entry, (mono) => Math.round(mono + offset));
  }

  /** Changes all of them once the disk has what they are to be; none where it cannot take it, which rejects. */
  async change(code: string, actuators: readonly string[], change: Partial<Shut>): Promise<void> {
    const held = this.#ports.store.get(code)?.actuators;
    const now = () =>
      actuators.flatMap((id) => {
        const settings = held?.get(id)?.settings;
        return settings ? [this.get(keyOf(code, id)) ?? newEntry(code, settings)] : [];
      });
    const records = now().flatMap((entry) => this.#unkept({ ...entry, ...change }) ?? []);
    const written = await Promise.allSettled(
      records.map((record) => this.#ports.journal.append(record, { durable: true })),
    );
    const failed = written.find(({ status }) => status === "rejected");
    for (const entry of now()) {
      this.set(failed === undefined ? { ...entry, ...change } : entry);
      if (failed === undefined) continue;
      this.#onDisk.set(keyOf(code, entry.id), null);
      this.keep(entry);
    }
    if (failed?.status === "rejected") throw failed.reason;
  }

  /** What an earlier run left. Says what will not be ended any more; null for nothing. */
  restore(history: HistoryParts, newestAt: number): string | null {
    const { clock, store, onEvent } = this.#ports;
    const [at, mono] = [clock.now(), clock.monotonic()];
    const open = new Set(
      history.open.flatMap(({ taken, phase, steps }) =>
        phase === "sending" || steps.length > 0 ? [taken.id] : [],
      ),
    );
    const isBehind = at < newestAt;
    const lost: string[] = [];
    for (const { controller: code, actuator, kept } of history.limits ?? []) {
      const held = store.get(code)?.actuators.get(actuator);
      if (held === undefined) {
        lost.push(...this.#gone({ code, actuator, kept }, at));
        continue;
      }
      const fresh = this.get(keyOf(code, actuator)) ?? newEntry(code, held.settings);
      const entry = restored(fresh, kept, { at, mono, isBehind, isOpen: (id) => open.has(id) });
      this.set(entry);
      const about = { controller: store.get(code)?.info.id ?? code, actuator };
      if (kept.lock !== null && entry.lock === null) onEvent(unlockedEvent(about, kept.lock.by, at));
      if (entry.lease !== null && entry.lease.until <= mono)
        onEvent(overrunEvent(entry.lease, about, isBehind ? null : kept, at));
    }
    return lost.length === 0 ? null : lost.join(" ");
  }

  /**
   * Of an actuator that the configuration has no more; with it again within a day, its lease is ended as any other. What was
   * locked or held stays so.
   */
  #gone(
    { code, actuator, kept }: { code: string; actuator: string; kept: KeptLimits },
    at: number,
  ): string[] {
    const { lease, lock, hold } = kept;
    if (lease !== null && at < lease.until + goneForMs) {
      const until = new Date(lease.until).toISOString();
      return [
        `The configuration has ${code}/${actuator} no more, where "${lease.command}" was to end with "${lease.ends_with}" at ${until}: nothing ends it.`,
      ];
    }
    if (lock === null && hold === null) {
      const record = { type: "limits_kept", controller: code, actuator, kept: null } as const;
      this.#ports.journal.append(record, { durable: false }).catch(() => undefined);
    }
    return [];
  }

  /** Shows it to everybody; what no longer limits anything is forgotten unless a command is open. */
  show(entry: Entry, now: Instant): void {
    const key = keyOf(entry.code, entry.id);
    const isReadOnly = this.#ports.isReadOnly();
    const isPlain = isEmpty(entry) && !isReadOnly;
    const restrictions = isPlain ? null : restrictionsOf(entry, isReadOnly, now);
    const before = this.#published.get(key);
    if (before && JSON.stringify(before.restrictions) === JSON.stringify(restrictions)) {
      // What was to be shown late is what is shown.
      if (before.isLate) this.#published.set(key, { ...before, isLate: false });
      return;
    }
    const isSmall =
      before?.restrictions && restrictions && differsInNumbersOnly(before.restrictions, restrictions);
    if (isSmall && now.mono < before.at + numbersEveryMs) {
      this.#published.set(key, { ...before, isLate: true });
      return;
    }
    this.#published.set(key, { restrictions, at: now.mono, isLate: false });
    this.#ports.store.dispatch(entry.code, { type: "restricted", id: entry.id, restrictions });
    if (!isPlain || entry.open.size > 0 || this.#onDisk.get(key) === null) return;
    for (const held of [this.#entries, this.#published, this.#onDisk]) held.delete(key);
  }

  /** When what is shown late is shown; null where nothing is. */
  shownAt(entry: Entry): number | null {
    const published = this.#published.get(keyOf(entry.code, entry.id));
    return published?.isLate === true ? published.at + numbersEveryMs : null;
  }

  tellProblems(entry: Entry, around: Around): void {
    const controller = around.own?.info.id;
    if (controller === undefined) return;
    const problems = problemsOf(entry, around);
    for (const type of ["guard_blind", "guard_unmet", "lease_overrun"] as const) {
      const problem = problems[type];
      const about = { controller, actuator: entry.id };
      if (problem !== undefined) this.#ports.alarm(type, about, problem?.message ?? null, problem?.facts);
    }
  }
}

/** A lease that is over at a start; `kept` is null where it is not known for how long. */
function overrunEvent(
  { endsWith }: Lease,
  about: { readonly controller: string; readonly actuator: string },
  kept: KeptLimits | null,
  at: number,
): BridgeEvent {
  const until = kept?.lease?.until ?? null;
  const minutes = until === null ? null : Math.max(0, Math.round((at - until) / 60_000));
  const when = minutes === null ? "by now, as the clock was set back" : `${minutes} minutes ago`;
  const message = `${about.controller}/${about.actuator} should have ended ${when}; ${endsWith} is sent as soon as it may be.`;
  return { type: "lease_overrun", severity: "error", message, at, facts: { ...about, minutes } };
}

/** A lock has ended by itself, at the time that was named with it. */
export const unlockedEvent = (
  about: { readonly controller: string; readonly actuator: string },
  by: string,
  at: number,
): BridgeEvent => ({
  type: "unlocked",
  severity: "info",
  message: `The lock of ${by} on ${about.controller}/${about.actuator} has run out.`,
  at,
  facts: { ...about, by },
});

/** Whether only numbers differ, which is told now and then. */
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

type Named = Pick<Controller["info"], "id" | "code">;

/** Which actuators, by their keys, have guards on what. */
export class Watchers {
  /** By `weather/<name>`, a controller's id or code, and both with one of its actuators. */
  readonly #bySource = new Map<string, Set<string>>();

  add(key: string, code: string, guards: readonly Guard[]): void {
    for (const { input } of guards) {
      const source = input.type === "weather" ? `weather/${input.name}` : (input.controller ?? code);
      this.#note(source, key);
      if (input.type === "actuator") this.#note(`${source} ${input.id}`, key);
    }
  }

  #note(source: string, key: string): void {
    this.#bySource.set(source, (this.#bySource.get(source) ?? new Set()).add(key));
  }

  ofWeather(name: string): readonly string[] {
    return [...(this.#bySource.get(`weather/${name}`) ?? [])];
  }

  of({ id, code }: Named): readonly string[] {
    if (this.#bySource.size === 0) return [];
    return [...(this.#bySource.get(code) ?? []), ...(id === code ? [] : (this.#bySource.get(id) ?? []))];
  }

  hasActuator({ id, code }: Named, actuator: string): boolean {
    if (this.#bySource.size === 0) return false;
    return this.#bySource.has(`${code} ${actuator}`) || this.#bySource.has(`${id} ${actuator}`);
  }
}
