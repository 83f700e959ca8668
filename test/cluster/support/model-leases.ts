import type { ActuatorSettings } from "../../../src/greenhouse/settings.js";
import { readWanted } from "../../../src/greenhouse/command/words.js";
import type { Journal } from "../../../src/journal/journal.js";
import type { KeptLimits } from "../../../src/journal/records.js";
import { limitsLeft, startAt } from "../../../src/limits/restored-limits.js";
import { type DueSend, dueSends, inForceNow } from "../../../src/limits/rules/due.js";
import {
  afterClockSet,
  type Entry,
  keyOf,
  type LimitedCommand,
  newEntry,
} from "../../../src/limits/rules/entry.js";
import type { LimitContext } from "../../../src/limits/rules/guards.js";
import { afterEnd, afterPost, beforePost, keptNow } from "../../../src/limits/rules/lease.js";
import { clockAgrees, type Clock, jumpMs } from "../../../src/runtime/clock.js";
import { ClockSkew } from "../../../src/platform/time.js";
import { actuator } from "../../support/builders.js";

const code = "GH-0001";
/** The most actuators that a history may lease, one each. */
const mostLeases = 200;
export const valveOf = (place: number): string => `valve-${place}`;

const encoded: Readonly<Record<string, string>> = { on: "1010", off: "1001" };
const staleAfterMs = 900_000;
const settingsOf = (id: string): ActuatorSettings =>
  actuator({ id, kind: "irrigation", address: id, travelMs: 0, settleMs: 0 });
const wanted = (word: string, settings: ActuatorSettings) => {
  const read = readWanted(word, settings);
  if ("reason" in read) throw new Error(String(read.message));
  return read;
};

interface LeaseSurroundings {
  newId(): string;
  /** The value that the platform shows of an actuator; null if it does not answer. */
  shows(actuator: string): string | null;
  /** Whether a command there has no result yet. */
  isOpen(actuator: string): boolean;
}

/** The value written at the end of a command that ends by itself. */
export const endOf = (id: string): string => `the end of ${id}`;

/** The command that a bridge's rule wants to send to an actuator. */
export interface EndOfLease {
  readonly id: string;
  readonly actuator: string;
  readonly command: LimitedCommand;
}

/**
 * Actuators whose commands end by themselves, by the bridge's own rules: the next owner takes up what is kept, judges
 * it once the platform has told the time, and sends it.
 */
export class ModelLeases {
  readonly #clock: Clock;
  readonly #skew: ClockSkew;
  readonly #startedAt: number;
  readonly #entries = new Map<string, Entry>();
  #aheadMs: number;
  #answers = false;

  readonly #around: LeaseSurroundings;

  constructor(clock: Clock, around: LeaseSurroundings) {
    this.#clock = clock;
    this.#around = around;
    this.#skew = new ClockSkew(clock);
    this.#startedAt = clock.monotonic();
    this.#aheadMs = clock.now() - clock.monotonic();
  }

  /** Takes up what an earlier owner has left, as the bridge does. */
  restore(journal: Journal): void {
    const ids = Array.from({ length: mostLeases }, (_, n) => valveOf(n + 1));
    const present = new Map(ids.map((id) => [keyOf(code, id), newEntry(code, settingsOf(id))]));
    const { newestAt } = journal;
    this.#aheadMs = this.#clock.now() - this.#clock.monotonic();
    const at = startAt(this.#clock.now(), newestAt, true);
    const start = { at, mono: this.#clock.monotonic(), newestAt, isOfCluster: true };
    const { limits } = limitsLeft(journal.history(), start, present, { get: () => undefined });
    for (const [key, { now }] of limits) if (now?.lease) this.#entries.set(key, now);
  }

  /** Notes an answer of the platform, and the time in it. */
  heard(date: string | null): void {
    this.#answers = date !== null;
    if (date !== null) this.#skew.note(date);
  }

  readonly #now = () => ({ at: this.#clock.now(), mono: this.#clock.monotonic() });

  kept(id: string): KeptLimits | null {
    return keptNow(this.#entries.get(keyOf(code, id)), this.#now());
  }

  /** Begins a command with a lease; the disk is about to record it as sent. */
  begin(id: string, target: string, leaseMs: number): LimitedCommand {
    const settings = settingsOf(target);
    const entry = this.#entries.get(keyOf(code, target)) ?? newEntry(code, settings);
    const lease = { ms: leaseMs, endsWith: "off", isGiven: true };
    const command = this.#command(id, "on", settings, { lease, holdMs: null });
    this.#put(beforePost(entry, command, this.#moment(target)));
    return command;
  }

  posted(command: LimitedCommand): void {
    this.#change(command, (entry) => afterPost(entry, command, this.#moment(command.targetId)));
  }

  ended(command: LimitedCommand, outcome: "confirmed" | "unconfirmed" | "not_sent"): void {
    const result =
      outcome === "not_sent"
        ? ({ id: command.id, outcome: "failed", reason: "not_sent", message: null } as const)
        : ({ id: command.id, outcome, reason: null, message: null } as const);
    this.#change(command, (entry) => afterEnd(entry, command, this.#moment(command.targetId), result));
  }

  /** The commands to send now; `noted` gets each actuator whose times on disk have changed. */
  look(noted: (actuator: string) => void): readonly EndOfLease[] {
    const aheadMs = this.#clock.now() - this.#clock.monotonic();
    const byMs = jumpMs(this.#aheadMs, aheadMs);
    this.#aheadMs = aheadMs;
    const ends: EndOfLease[] = [];
    for (const [key, entry] of [...this.#entries]) {
      if (entry.lease === null) continue;
      const known = byMs === null ? entry : afterClockSet(entry, byMs, this.#startedAt);
      const context = this.#context(entry.id);
      const due = dueSends(inForceNow(known, context), context, () => this.#around.newId());
      this.#entries.set(key, due.entry);
      if (byMs !== null || due.moved !== null) noted(entry.id);
      for (const send of due.sends) ends.push(this.#end(entry, send));
    }
    return ends;
  }

  #end({ id: target, settings, lease }: Entry, { id, command }: DueSend): EndOfLease {
    const of = this.#command(id, command, settings, null);
    return { id: endOf(lease?.id ?? ""), actuator: target, command: { ...of, rule: "lease" } };
  }

  #command(
    id: string,
    word: string,
    settings: ActuatorSettings,
    term: LimitedCommand["term"],
  ): LimitedCommand {
    return {
      ...{
        id,
        code,
        target: "actuator",
        targetId: settings.id,
        settings,
        wanted: wanted(word, settings),
        term,
      },
      ...{ by: null, via: "mqtt", force: false, dryRun: false, rule: null },
      ...{ receivedMono: this.#clock.monotonic(), deadlineMono: Infinity },
    };
  }

  #put(entry: Entry): void {
    this.#entries.set(keyOf(code, entry.id), entry);
  }

  #change({ targetId }: LimitedCommand, change: (entry: Entry) => Entry): void {
    const entry = this.#entries.get(keyOf(code, targetId));
    if (entry !== undefined) this.#put(change(entry));
  }

  readonly #moment = (target: string) => {
    const state = this.#around.shows(target);
    return { shown: state === null ? undefined : { state, position: null }, mono: this.#clock.monotonic() };
  };

  #context(target: string): LimitContext {
    const mono = this.#clock.monotonic();
    const state = this.#around.shows(target);
    const value = state === null ? null : encoded[state];
    const read = { state, value, position: null, quality: state === null ? "stale" : "good" };
    const shown = { ...read, between: null, settings: settingsOf(target) };
    const skewMs = this.#skew.skewMs();
    const isSilent = skewMs === null && mono < this.#startedAt + staleAfterMs;
    const aheadMs = isSilent ? null : clockAgrees(skewMs) === false ? Math.max(0, -(skewMs ?? 0)) : 0;
    return {
      ...{ staleAfterMs, weatherStaleAfterMs: new Map(), startedAt: this.#startedAt, aheadMs },
      own: {
        info: { id: code.toLowerCase(), code },
        availability: "online",
        platformAnswers: this.#answers,
        actuators: new Map([[target, shown]]),
      } as unknown as LimitContext["own"],
      controller: () => undefined,
      readOnly: { commands: false, rules: false },
      weather: () => null,
      activity: (_, id) => ({
        unfinished: this.#around.isOpen(id) ? [wanted("on", settingsOf(id))] : [],
        isMoving: false,
      }),
      now: { mono, watchedSince: this.#startedAt, iso: () => "" },
    };
  }
}
