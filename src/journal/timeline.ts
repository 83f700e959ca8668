import { type Alarm, wholeController } from "../greenhouse/limits.js";
import {
  type About,
  type Checkpoint,
  commandOutcomes,
  type JournalRecord,
  type KeptLimits,
  type RecordType,
  type Stamp,
  withoutMemory,
} from "./records.js";

/*
 * Makes one timeline of a house from journal records. Commands, logins and acts of the program are entries as they
 * stand. Of limits and alarms the journal keeps each new state, so their entries are the differences of two records.
 * Every file begins with the state then in force, so reading can begin at any file.
 */

export const timelineKinds = [
  "command",
  "rule",
  "lock",
  "hold",
  "lease",
  "guard",
  "alarm",
  "login",
  "change",
  "system",
] as const;

export type TimelineKind = (typeof timelineKinds)[number];

/** Changes of locks, holds, leases, guards and alarms. */
type HappenedType =
  | "locked"
  | "unlocked"
  | "held"
  | "hold_ended"
  | "lease_begun"
  | "lease_ended"
  | "guard_holds"
  | "guard_clears"
  | "alarm_raised"
  | "alarm_acknowledged"
  | "alarm_cleared";

/** An entry derived from two records. */
export interface Happened extends Pick<Stamp, "seq" | "at"> {
  readonly kind: TimelineKind;
  readonly type: HappenedType;
  readonly controller: string | null;
  /** Null for none, or for all of a controller. */
  readonly actuator: string | null;
  /** Who did it; null where nobody did, or unknown. */
  readonly by: string | null;
  /** The reason of a lock, the command of a lease, the name of a guard, the sentence of an alarm. */
  readonly what: string | null;
  /** The facts of an alarm, to say it in another language. */
  readonly facts?: Alarm["facts"];
  readonly alarm: Alarm["type"] | null;
  /** The id of an alarm, which names its subject. */
  readonly id?: Alarm["id"];
  readonly severity: Alarm["severity"] | null;
  /** ISO time. */
  readonly until: string | null;
}

/** A record as it stands, or an entry derived from two records. */
export type TimelineEntry = (JournalRecord | Happened) & { readonly kind: TimelineKind };

/** The entry with the controller's topic id, which people know; commands are stored by code, most others by id. */
export function withControllerId(entry: TimelineEntry, idOf: (idOrCode: string) => string): TimelineEntry {
  const controller = "controller" in entry ? (entry.controller ?? null) : null;
  return controller === null ? entry : ({ ...entry, controller: idOf(controller) } as TimelineEntry);
}

const ownKinds: Partial<Record<RecordType, TimelineKind>> = {
  ...Object.fromEntries([...commandOutcomes].map((type) => [type, "command"])),
  changed_elsewhere: "change",
  ended_by_itself: "change",
  late_execution: "change",
  acknowledged: "alarm",
  login_failed: "login",
  logged_in: "login",
  start: "system",
  stop: "system",
  clock_jump: "system",
  other_bridge: "system",
  configuration_changed: "system",
  journal_damaged: "system",
  journal_resumed: "system",
};

const isOfRule = (by: string | null): boolean => /^(?:rule|lease) /.test(by ?? "");

function ownKind(record: JournalRecord): TimelineKind | null {
  if ("result" in record && isOfRule(record.result.by)) return "rule";
  return ownKinds[record.type] ?? null;
}

const keyOf = (controller: string, actuator: string) => JSON.stringify([controller, actuator]);
const iso = (at: number | null | undefined): string | null =>
  at === null || at === undefined ? null : new Date(at).toISOString();

type Difference = Partial<Happened> & Pick<Happened, "type">;

type AtFirst = Pick<Checkpoint, "lanes" | "alarms">;

/** Folds records in their order. */
export class Timeline {
  readonly #limits = new Map<string, KeptLimits | null>();
  readonly #alarms = new Map<string, Alarm>();

  constructor(history?: AtFirst) {
    if (history) this.#begin(history);
  }

  #begin({ lanes, alarms = [] }: AtFirst): void {
    this.#limits.clear();
    this.#alarms.clear();
    for (const { controller, actuator, memory } of lanes)
      if (memory.limits) this.#limits.set(keyOf(controller, actuator), memory.limits);
    for (const alarm of alarms) this.#alarms.set(alarm.id, alarm);
  }

  /** The entries that a record adds. */
  entries(record: JournalRecord): readonly TimelineEntry[] {
    const own = ownKind(record);
    if (own !== null) return [{ ...withoutMemory(record), kind: own }];
    if (record.type === "freed") return this.#entryOfFreed(record);
    if (record.type === "alarm_kept") return this.#alarm(record, record.name, record.alarm ?? null);
    if (record.type === "carried") this.#begin(record);
    // A record without limits leaves them unchanged.
    if (!("memory" in record) || record.memory?.limits === undefined) return [];
    return this.#limitsOf(record, record, record.memory.limits);
  }

  #limitsOf(
    stamp: Stamp,
    { controller, actuator }: About,
    kept: KeptLimits | null,
  ): readonly TimelineEntry[] {
    const key = keyOf(controller, actuator);
    const before = this.#limits.get(key) ?? null;
    this.#limits.set(key, kept);
    // A lock of the whole controller is shown by each of its actuators.
    if (actuator === wholeController) return [];
    return limitDifferences(before, kept).map((one) => entryOf(stamp, { controller, actuator, ...one }));
  }

  /**
   * The entry of an unlock or release. The state is changed as well, so that the record that follows is no second
   * entry.
   */
  #entryOfFreed(record: JournalRecord & { readonly type: "freed" }): readonly TimelineEntry[] {
    const { controller, actuator, what, by } = record;
    for (const [key, kept] of this.#limits) {
      const [of, one] = JSON.parse(key) as [string, string];
      const isMeant = of === controller && (actuator === null || one === actuator);
      if (isMeant && kept !== null) this.#limits.set(key, { ...kept, [what]: null });
    }
    const type = what === "lock" ? "unlocked" : "hold_ended";
    return [entryOf(record, { type, controller, actuator, by: by ?? null })];
  }

  #alarm(stamp: Stamp, id: string, alarm: Alarm | null): readonly TimelineEntry[] {
    const before = this.#alarms.get(id);
    if (alarm === null) this.#alarms.delete(id);
    else this.#alarms.set(id, alarm);
    if (alarm === null) return [];
    const isWorse = alarm.severity === "error" && before?.severity !== "error";
    const isSame = before?.state === alarm.state && before.since === alarm.since && !isWorse;
    const isStill = alarm.state === "cleared" && before === undefined;
    if (isSame || isStill) return [];
    const types = {
      active: "alarm_raised",
      acknowledged: "alarm_acknowledged",
      cleared: "alarm_cleared",
    } as const;
    return [
      entryOf(stamp, {
        type: types[alarm.state],
        controller: alarm.controller,
        actuator: alarm.actuator,
        by: alarm.state === "acknowledged" ? alarm.by : null,
        what: alarm.message,
        alarm: alarm.type,
        id: alarm.id,
        severity: alarm.severity,
        ...(alarm.facts !== undefined && { facts: alarm.facts }),
      }),
    ];
  }
}

const kindOfType: Readonly<Record<HappenedType, TimelineKind>> = {
  locked: "lock",
  unlocked: "lock",
  held: "hold",
  hold_ended: "hold",
  lease_begun: "lease",
  lease_ended: "lease",
  guard_holds: "guard",
  guard_clears: "guard",
  alarm_raised: "alarm",
  alarm_acknowledged: "alarm",
  alarm_cleared: "alarm",
};

export const entryTypes: readonly string[] = [...Object.keys(ownKinds), ...Object.keys(kindOfType)];

const entryOf = ({ seq, at }: Stamp, difference: Difference): TimelineEntry => ({
  seq,
  at,
  kind: kindOfType[difference.type],
  controller: null,
  actuator: null,
  by: null,
  what: null,
  alarm: null,
  severity: null,
  until: null,
  ...difference,
});

/** The changes of one actuator's limits between two records. */
function limitDifferences(before: KeptLimits | null, after: KeptLimits | null): readonly Difference[] {
  const found: Difference[] = [];
  const lock = after?.lock ?? null;
  const hold = after?.hold ?? null;
  const lease = after?.lease ?? null;
  if (lock === null && before?.lock) found.push({ type: "unlocked" });
  if (lock !== null && before?.lock?.since !== lock.since)
    found.push({ type: "locked", by: lock.by, what: lock.reason, until: iso(lock.until) });
  if (hold === null && before?.hold) found.push({ type: "hold_ended" });
  if (hold !== null && before?.hold?.id !== hold.id)
    found.push({ type: "held", by: hold.by, until: iso(hold.until) });
  if (lease === null && before?.lease) found.push({ type: "lease_ended", what: before.lease.command });
  if (lease !== null && before?.lease?.id !== lease.id)
    found.push({ type: "lease_begun", by: lease.by, what: lease.command, until: iso(lease.until) });
  for (const name of new Set([...Object.keys(before?.guards ?? {}), ...Object.keys(after?.guards ?? {})])) {
    const isHeld = after?.guards[name]?.phase === "held";
    const wasHeld = before?.guards[name]?.phase === "held";
    if (isHeld !== wasHeld) found.push({ type: isHeld ? "guard_holds" : "guard_clears", what: name });
  }
  return found;
}

export interface TimelineFilter {
  /** Device codes or topic ids. */
  readonly controllers?: ReadonlySet<string>;
  readonly kinds?: ReadonlySet<TimelineKind>;
  /** Topic id of an actuator; entries about the whole controller match too. */
  readonly actuator?: string;
  /** A part of the name of who did it, in any case. */
  readonly by?: string;
  /** Epoch ms. */
  readonly sinceMs?: number;
  readonly untilMs?: number;
  /** Only commands with this outcome. */
  readonly outcome?: string;
  /** Only entries older than this number. */
  readonly before?: number;
}

export function isWanted(entry: TimelineEntry, filter: TimelineFilter): boolean {
  const { controllers, kinds, sinceMs = -Infinity, untilMs = Infinity, outcome, before } = filter;
  if (before !== undefined && entry.seq >= before) return false;
  if (kinds !== undefined && !kinds.has(entry.kind)) return false;
  if (outcome !== undefined && !("result" in entry && entry.result.outcome === outcome)) return false;
  const at = Date.parse(entry.at);
  if (at < sinceMs || at > untilMs) return false;
  if (filter.actuator !== undefined && !isAbout(entry, filter.actuator)) return false;
  if (filter.by !== undefined && !whoOf(entry).includes(filter.by.toLowerCase())) return false;
  return controllers === undefined || controllersOf(entry).some((one) => controllers.has(one));
}

function isAbout(entry: TimelineEntry, actuator: string): boolean {
  if ("result" in entry) return entry.result.actuator === actuator;
  if (!("actuator" in entry)) return false;
  return entry.actuator === actuator || (entry.actuator === null && ["lock", "hold"].includes(entry.kind));
}

function whoOf(entry: TimelineEntry): string {
  const by = "result" in entry ? entry.result.by : "by" in entry ? entry.by : null;
  return (by ?? ("user" in entry ? entry.user : null) ?? "").toLowerCase();
}

function controllersOf(entry: TimelineEntry): readonly string[] {
  const own = "controller" in entry && typeof entry.controller === "string" ? [entry.controller] : [];
  return "result" in entry ? [...own, entry.result.controller] : own;
}
