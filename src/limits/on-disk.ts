import type { BridgeEvent } from "../greenhouse/events.js";
import { wholeController } from "../greenhouse/limits.js";
import type { Controller } from "../greenhouse/model.js";
import type { HistoryParts, KeptLimits, LimitsEntry, RecordBody } from "../journal/records.js";
import { type Clock, clockAgrees } from "../runtime/clock.js";
import type { ActuatorSettings } from "../greenhouse/settings.js";
import type { GreenhouseStore } from "../sync/store.js";
import {
  type ClockJudgement,
  type Entry,
  keptOf,
  keyOf,
  type LimitedCommand,
  newEntry,
  restored,
  type Shut,
} from "./rules/entry.js";
import { overrunEvent } from "./shown.js";

export interface DiskPorts {
  readonly clock: Clock;
  readonly store: GreenhouseStore;
  readonly journal: {
    append(record: RecordBody, options: { readonly durable: boolean }): Promise<number>;
  };
}

/** Of what is locked and is no actuator of the configuration: nothing is ever sent there. */
const noActuator: Omit<ActuatorSettings, "id"> = {
  ...{ kind: "custom", address: "", values: {}, leadIn: "never", readOnly: true },
  ...{ settleMs: 0, travelMs: 0, confirmWithinMs: 0, minIntervalMs: 0, tolerance: 0 },
  homeAssistant: { enabled: false },
};

const entryWithoutActuator = (code: string, id: string): Entry => newEntry(code, { ...noActuator, id });

/** Of each actuator, and last of the controller as a whole, which can be locked too. */
export const entriesOf = ({ info: { code }, actuators }: Controller): readonly Entry[] => [
  ...[...actuators.values()].map(({ settings }) => newEntry(code, settings)),
  entryWithoutActuator(code, wholeController),
];

/**
 * Times of this run go on as they were where the clock was set. A lock until a time of day ends by the new one, a lease of
 * an earlier run sooner where the start did not know how long ago that was, and what moved before `startedAt`, monotonic ms
 * of this run, did so as long ago as the new clock says.
 */
export function afterClockSet(entry: Entry, byMs: number, startedAt: number): Entry {
  const { lock, lease, hold, moves } = entry;
  const until = lock?.isSpan === true && lock.until !== null ? lock.until + byMs : (lock?.until ?? null);
  // What is yet to come by a clock that was set back counts as of the start.
  const earlier = (mono: number) => Math.min(mono - byMs, startedAt);
  const starts = moves.starts.map(({ at, byClock }) =>
    byClock === undefined ? { at } : { at: at === Infinity ? at : earlier(byClock), byClock: byClock - byMs },
  );
  const { endsByClock } = moves;
  const endsAt = moves.endsAt !== null && moves.endsAt < startedAt ? earlier(moves.endsAt) : moves.endsAt;
  const unjudged = endsByClock === undefined ? {} : { endsByClock: endsByClock - byMs };
  return {
    ...entry,
    moves: { ...moves, starts, endsAt, ...unjudged },
    lock: lock && { ...lock, until, endsAt: lock.isSpan ? lock.endsAt : lock.endsAt - byMs },
    hold: hold?.isKept === true ? { ...hold, until: hold.until - byMs } : hold,
    lease: lease?.isKept === true ? { ...lease, until: lease.until - Math.max(0, byMs) } : lease,
  };
}

/** A platform that gives no time for so long as a reading may be old leaves the clock to be right as it is. */
export function clockJudgement(
  skewMs: number | null,
  startedAt: number,
  now: number,
  staleAfterMs: number,
): ClockJudgement {
  if (skewMs === null) return { startedAt, aheadMs: now >= startedAt + staleAfterMs ? 0 : null };
  return { startedAt, aheadMs: clockAgrees(skewMs) === true ? 0 : Math.max(0, -skewMs) };
}

/** What a removed actuator has left is forgotten after that. */
const goneForMs = 86_400_000;

/** Equal where the disk has to say the same, to the second. */
const signature = (entry: Entry): string => {
  const kept = keptOf(entry, (mono) => Math.round(mono / 1_000));
  return kept === null ? "nothing" : JSON.stringify(kept);
};

/** What the disk has, or is to have, of every actuator's limits. */
export class LimitsOnDisk {
  readonly #ports: DiskPorts;
  /** By key, "nothing", "unknown", or the signature of what it has or is about to have. */
  readonly #held = new Map<string, string>();
  /** By key, a command whose first POST is not out, and the change by it, which the disk has already: nothing may be written over it. */
  readonly #pending = new Map<string, { readonly id: string; readonly change: (entry: Entry) => Entry }>();
  /** By key, what an earlier run left with a lease of an address that is not there any more. */
  readonly #left = new Map<string, KeptLimits>();

  constructor(ports: DiskPorts) {
    this.#ports = ports;
  }

  /** Writes what the disk does not have yet of it. */
  keep(entry: Entry): void {
    const record = this.#unkept(entry);
    if (record === null) return;
    const isUnknown = () => this.#held.set(keyOf(entry.code, entry.id), "unknown");
    this.#ports.journal.append(record, { durable: false }).catch(isUnknown);
  }

  /** Changes all of them there; where it cannot take one, none is to be changed, which rejects. */
  async keepAll(present: () => readonly Entry[], change: Partial<Shut>): Promise<void> {
    const records = present().flatMap((entry) => this.#unkept({ ...entry, ...change }) ?? []);
    const written = await Promise.allSettled(
      records.map((record) => this.#ports.journal.append(record, { durable: true })),
    );
    const failed = written.find(({ status }) => status === "rejected");
    if (failed?.status !== "rejected") return;
    for (const entry of present()) {
      this.#held.set(keyOf(entry.code, entry.id), "unknown");
      this.keep(entry);
    }
    throw failed.reason;
  }

  /** What has to be on disk with the first POST of a command, which then changes the entry so. */
  ahead(entry: Entry, id: string, change: (entry: Entry) => Entry): KeptLimits | null {
    const key = keyOf(entry.code, entry.id);
    const after = change(entry);
    this.#pending.set(key, { id, change });
    this.#held.set(key, signature(after));
    return this.#kept(after);
  }

  /** Its first POST goes out; or it has ended, and the disk may have been told that it would be sent. */
  caughtUp({ code, targetId, id, wanted, rule }: LimitedCommand, by: "post" | "end"): void {
    const key = keyOf(code, targetId);
    if (this.#pending.get(key)?.id !== id) return;
    this.#pending.delete(key);
    // A stop, and what a rule sends, goes out without the disk too.
    if (by === "end" || wanted.type === "stop" || rule !== null) this.#held.set(key, "unknown");
  }

  /** The clock was set: every time that the disk has is of another one. */
  clockSet(): void {
    for (const [key, held] of this.#held) if (held !== "nothing") this.#held.set(key, "unknown");
  }

  /** Of which the disk may not have the newest. */
  unwritten(): readonly string[] {
    return [...this.#held].flatMap(([key, held]) => (held === "unknown" ? [key] : []));
  }

  /** Null where the disk has it; what it is given counts as there from now on. */
  #unkept(present: Entry): RecordBody | null {
    const key = keyOf(present.code, present.id);
    const entry = this.#pending.get(key)?.change(present) ?? present;
    const wanted = signature(entry);
    if (wanted === (this.#held.get(key) ?? "nothing")) return null;
    this.#held.set(key, wanted);
    return { type: "limits_kept", controller: entry.code, actuator: entry.id, kept: this.#kept(entry) };
  }

  #kept(entry: Entry): KeptLimits | null {
    const { clock } = this.#ports;
    const offset = clock.now() - clock.monotonic();
    const kept = keptOf(entry, (mono) => Math.round(mono + offset));
    const left = this.#left.get(keyOf(entry.code, entry.id)) ?? null;
    return kept && left ? { ...kept, lease: kept.lease ?? left.lease } : (kept ?? left);
  }

  /** The entries as an earlier run left them, what is told of it, and what is lost of it, by the alarm that says so. */
  restored(
    history: HistoryParts,
    newestAt: number,
    present: ReadonlyMap<string, Entry>,
  ): {
    readonly entries: readonly Entry[];
    readonly events: readonly BridgeEvent[];
    readonly lost: Lost;
  } {
    const { clock, store } = this.#ports;
    const [at, mono] = [clock.now(), clock.monotonic()];
    const isSent = ({ phase, steps }: HistoryParts["open"][number]) =>
      phase === "sending" || steps.length > 0;
    const open = new Set(history.open.filter(isSent).map(({ taken }) => taken.id));
    const isBehind = at < newestAt;
    const entries = new Map(present);
    const [events, leases, locks]: [BridgeEvent[], string[], string[]] = [[], [], []];
    for (const left of history.limits ?? []) {
      const { controller: code, actuator, kept } = left;
      const key = keyOf(code, actuator);
      const known = present.get(key);
      const isElsewhere =
        known === undefined || (kept.lease?.address ?? known.settings.address) !== known.settings.address;
      if (isElsewhere) leases.push(...this.#gone(left, at));
      // A controller that is not there takes no request to unlock either.
      if (known === undefined && (kept.lock === null || store.get(code) === undefined)) continue;
      const fresh = known ?? entryWithoutActuator(code, actuator);
      const mine = isElsewhere ? { ...kept, lease: null } : kept;
      const entry = restored(fresh, mine, { at, mono, isBehind, isOpen: (id) => open.has(id) });
      entries.set(key, entry);
      const about = { controller: store.get(code)?.info.id ?? code, actuator };
      const isLocked = entry.lock !== null && entry.lock.endsAt > mono;
      if (known === undefined && isLocked) locks.push(lostLock(left, entry.lock.by));
      if (entry.lease !== null && entry.lease.until <= mono)
        events.push(overrunEvent(entry.lease, about, isBehind ? null : kept, at));
    }
    const lost = { lease_overrun: leases.join(" ") || null, state_lost: locks.join(" ") || null };
    return { entries: [...entries.values()].map((entry) => withWholeLock(entry, entries)), events, lost };
  }

  /**
   * Of an address that is no actuator's of that name any more; with it again within a day, its lease is ended as any other.
   * What was locked or held stays so.
   */
  #gone(left: LimitsEntry, at: number): readonly string[] {
    const { controller, actuator, kept } = left;
    const { lease, lock, hold } = kept;
    if (lease !== null && at < lease.until + goneForMs) {
      this.#left.set(keyOf(controller, actuator), { ...kept, lock: null, hold: null });
      const until = new Date(lease.until).toISOString();
      const where = `${controller}/${actuator}${lease.address === undefined ? "" : ` at address ${lease.address}`}`;
      return [
        `The configuration has ${where} no more, where "${lease.command}" was to end with "${lease.ends_with}" at ${until}: nothing ends it.`,
      ];
    }
    if (lock === null && hold === null) {
      const record = { type: "limits_kept", controller, actuator, kept: null } as const;
      this.#ports.journal.append(record, { durable: false }).catch(() => undefined);
    }
    return [];
  }
}

/** What of an earlier run is not in force any more, by the alarm that says so; null for nothing. */
export type Lost = Readonly<Record<"lease_overrun" | "state_lost", string | null>>;

const lostLock = ({ controller, actuator }: LimitsEntry, by: string): string =>
  `The configuration has ${controller}/${actuator} no more, which ${by} has locked: that lock refuses nothing now.`;

/** A lock of the whole controller is also one of an actuator that the configuration has since. */
const withWholeLock = (entry: Entry, entries: ReadonlyMap<string, Entry>): Entry => ({
  ...entry,
  lock: entry.lock ?? entries.get(keyOf(entry.code, wholeController))?.lock ?? null,
});
