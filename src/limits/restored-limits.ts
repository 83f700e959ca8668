import type { BridgeEvent } from "../greenhouse/events.js";
import { wholeController } from "../greenhouse/limits.js";
import type { Controller } from "../greenhouse/model.js";
import type { ActuatorSettings } from "../greenhouse/settings.js";
import type { Checkpoint, KeptLease, KeptLimits, LimitsEntry } from "../journal/records.js";
import { trustedSkewMs } from "../runtime/clock.js";
import type { GreenhouseStore } from "../sync/store.js";
import { type Entry, isLeaseOver, keyOf, type Lease, newEntry, restore } from "./rules/entry.js";

/* Limits of an earlier run, compared with the present configuration. */

/** The limits of one actuator at a start. */
export interface RestoredLimits {
  /** Null if nothing is left. */
  readonly now: Entry | null;
  /** The limits in the form that the disk has; null if the disk has none. */
  readonly onDisk: Entry | null;
}

export const noLimits: RestoredLimits = { now: null, onDisk: null };

/** Settings of a locked target that the configuration does not have: nothing is ever sent there. */
const noActuator: Omit<ActuatorSettings, "id"> = {
  kind: "custom",
  address: "",
  values: {},
  leadIn: "never",
  readOnly: true,
  settleMs: 0,
  travelMs: 0,
  confirmWithinMs: 0,
  minIntervalMs: 0,
  tolerance: 0,
  homeAssistant: { enabled: false },
};

const entryWithoutActuator = (code: string, id: string): Entry => newEntry(code, { ...noActuator, id });

/** An entry for each actuator, and last one for the whole controller, which can be locked too. */
export const entriesOf = ({ info: { code }, actuators }: Controller): readonly Entry[] => [
  ...[...actuators.values()].map(({ settings }) => newEntry(code, settings)),
  entryWithoutActuator(code, wholeController),
];

/** How long past its end a lease is kept whose actuator has another address now. */
const goneForMs = 86_400_000;

/** What of an earlier run is no longer in force, by the alarm that says so; null for nothing. */
type Lost = Readonly<Record<"lease_overrun" | "state_lost", string | null>>;

export interface LimitsLeft {
  /** By lane, where something was left or is still in force. */
  readonly limits: ReadonlyMap<string, RestoredLimits>;
  /** Events to publish about leftovers. */
  readonly events: readonly BridgeEvent[];
  readonly lost: Lost;
}

interface Start {
  /** The same moment as epoch ms and as monotonic ms. */
  readonly at: number;
  readonly mono: number;
  /** Time of the newest record of earlier runs, in epoch ms of their clock. */
  readonly newestAt: number;
  readonly isOfCluster?: boolean;
}

/**
 * The time of the start, in epoch ms. A cluster's newest record may have another computer's time. If that is ahead by
 * no more than trusted clocks differ, it counts, so that later ends do not come at once.
 */
export function startAt(now: number, newestAt: number, isOfCluster: boolean): number {
  const aheadMs = newestAt - now;
  return isOfCluster && aheadMs > 0 && aheadMs <= trustedSkewMs ? newestAt : now;
}

/**
 * Whether a lease's times come from a clock that was ahead and was set right since, perhaps another computer's. Then it
 * is unknown how much of them has passed, even if newer records have right times.
 */
const isFromAhead = (limitedAt: number, { at, isOfCluster = false }: Start): boolean =>
  limitedAt > at + (isOfCluster ? trustedSkewMs : 0);

/** `present`: the limits of every configured actuator before anything happened. */
export function limitsLeft(
  history: Pick<Checkpoint, "open" | "lanes">,
  start: Start,
  present: ReadonlyMap<string, Entry>,
  store: Pick<GreenhouseStore, "get">,
): LimitsLeft {
  const open = new Set(history.open.flatMap(({ sent }) => sent?.id ?? []));
  const limits = new Map<string, RestoredLimits>();
  const events: BridgeEvent[] = [];
  for (const { controller: code, actuator, memory, limited_at: limitedAt = 0 } of history.lanes) {
    if (!memory.limits) continue;
    const isBehind = start.at < start.newestAt || isFromAhead(limitedAt, start);
    const left = { controller: code, actuator, kept: memory.limits, isBehind };
    const known = present.get(keyOf(code, actuator)) ?? null;
    const controller = store.get(code);
    const { entry, ...restoredLimits } = takenUp(left, known, start, (id) => open.has(id));
    limits.set(keyOf(code, actuator), restoredLimits);
    if (entry.lease === null || !isLeaseOver(entry.lease, start.mono)) continue;
    const about = { controller: controller?.info.id ?? code, actuator };
    events.push(overrunEvent(entry.lease, about, isBehind ? null : left.kept, start.at));
  }
  lockAsWhole(limits, present);
  const entries = [...limits.values()].flatMap(({ now }) => now ?? []);
  return { limits, events, lost: lostNow(entries, start, present, store) };
}

/** A lease was over at the start; `kept` is null if its end is unknown. */
function overrunEvent(
  { endsWith }: Lease,
  about: { readonly controller: string; readonly actuator: string },
  kept: KeptLimits | null,
  at: number,
): BridgeEvent {
  const until = kept?.lease?.until ?? null;
  const minutes = until === null ? null : Math.max(0, Math.round((at - until) / 60_000));
  const when = minutes === null ? "by now, as the clock was set back" : `${minutes} minutes ago`;
  const message = `${about.controller}/${about.actuator} should have ended ${when}; ${endsWith} is sent as soon as it may be, unless it shows that somebody moved it meanwhile.`;
  return { type: "lease_overrun", severity: "error", message, at, facts: { ...about, minutes } };
}

/** What of earlier runs is lost although nobody ended it: a lock until it is lifted, a lease for a day past its end. */
export function lostNow(
  entries: Iterable<Entry>,
  { at, mono }: Pick<Start, "at" | "mono">,
  present: ReadonlyMap<string, Entry>,
  store: Pick<GreenhouseStore, "get">,
): Lost {
  const leases: string[] = [];
  const locks: string[] = [];
  for (const { code, id, lock, formerLease } of entries) {
    if (formerLease !== null && at < formerLease.until + goneForMs)
      leases.push(lostLease(code, id, formerLease));
    const isHere = present.has(keyOf(code, id)) || store.get(code) === undefined;
    if (!isHere && lock !== null && lock.endsAt > mono) locks.push(lostLock(code, id, lock.by));
  }
  return { lease_overrun: leases.join(" ") || null, state_lost: locks.join(" ") || null };
}

interface TakenUp extends RestoredLimits {
  readonly entry: Entry;
}

function takenUp(
  { controller, actuator, kept, isBehind }: LimitsEntry & { readonly isBehind: boolean },
  known: Entry | null,
  { at, mono, isOfCluster }: Start,
  isOpen: (id: string) => boolean,
): TakenUp {
  const isElsewhere =
    known === null || (kept.lease?.address ?? known.settings.address) !== known.settings.address;
  const own = isElsewhere ? { ...kept, lease: null, sent: {} } : kept;
  const fresh = known ?? entryWithoutActuator(controller, actuator);
  const entry = restore(fresh, own, { at, mono, isBehind, isOfCluster, isOpen });
  // The lease of an address that this actuator no longer has; its lock and hold stay.
  const lease = isElsewhere ? kept.lease : null;
  const former = lease !== null && at < lease.until + goneForMs ? lease : null;
  const isLeft = known !== null || kept.lock !== null || kept.hold !== null || former !== null;
  return {
    entry,
    now: isLeft ? { ...entry, formerLease: former } : null,
    onDisk: { ...entry, formerLease: lease },
  };
}

/** Extends a lock of a whole controller to actuators that the configuration has gained since. */
function lockAsWhole(limits: Map<string, RestoredLimits>, present: ReadonlyMap<string, Entry>): void {
  for (const [key, atFirst] of present) {
    const left = limits.get(key) ?? { now: atFirst, onDisk: null };
    const whole = limits.get(keyOf(atFirst.code, wholeController))?.now?.lock ?? null;
    if (whole !== null && left.now !== null && left.now.lock === null)
      limits.set(key, { ...left, now: { ...left.now, lock: whole } });
  }
}

const lostLock = (controller: string, actuator: string, by: string): string =>
  `The configuration has ${controller}/${actuator} no more, which ${by} has locked: that lock refuses nothing now.`;

function lostLease(
  controller: string,
  actuator: string,
  { command, ends_with, until, address }: KeptLease,
): string {
  const where = `${controller}/${actuator}${address === undefined ? "" : ` at address ${address}`}`;
  return `The configuration has ${where} no more, where "${command}" was to end with "${ends_with}" at ${new Date(until).toISOString()}: nothing ends it.`;
}
