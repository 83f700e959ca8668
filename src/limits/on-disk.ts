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
  newEntry,
  restored,
  type Shut,
} from "./rules/entry.js";
import { toBeKept } from "./rules/movement.js";
import { overrunEvent } from "./restrictions.js";

export interface DiskPorts {
  readonly clock: Clock;
  readonly store: GreenhouseStore;
  readonly journal: {
    append(record: RecordBody, options: { readonly durable: boolean }): Promise<number>;
  };
}

/** Of what is locked and is no actuator of the configuration: nothing is ever sent there. */
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

/** Of each actuator, and last of the controller as a whole, which can be locked too. */
export const entriesOf = ({ info: { code }, actuators }: Controller): readonly Entry[] => [
  ...[...actuators.values()].map(({ settings }) => newEntry(code, settings)),
  entryWithoutActuator(code, wholeController),
];

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

/** A change of locks or holds on its way to the disk. */
interface Pending {
  readonly keys: ReadonlySet<string>;
  readonly change: Partial<Shut>;
  /** A command that is sent has written them as they were before, so they have to be written once more. */
  readonly overwritten: Set<string>;
}

/** What the disk has, or is to have, of every actuator's limits. */
export class LimitsOnDisk {
  readonly #ports: DiskPorts;
  /** By key, "nothing", "unknown", or the signature of what it has or is about to have. */
  readonly #held = new Map<string, string>();
  /** Changes that are in force as soon as the disk has them. */
  readonly #pending = new Set<Pending>();
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

  /**
   * Changes all of them there, and brings them into force once it has them; where it cannot take one, none is to be changed, which
   * rejects. What else is written of them meanwhile already has the change, or a kill would find it taken back.
   */
  async keepAll(present: () => readonly Entry[], change: Partial<Shut>, enforce: () => void): Promise<void> {
    const keys = new Set(present().map(({ code, id }) => keyOf(code, id)));
    const pending: Pending = { keys, change, overwritten: new Set() };
    this.#pending.add(pending);
    try {
      await this.#append(present());
      enforce();
    } catch (error) {
      this.#pending.delete(pending);
      for (const entry of present()) {
        this.#held.set(keyOf(entry.code, entry.id), "unknown");
        this.keep(entry);
      }
      throw error;
    }
    this.#pending.delete(pending);
    for (const key of pending.overwritten) this.#held.set(key, "unknown");
    await this.#append(present());
  }

  /** Resolves once the disk has what it does not have yet of all of them; rejects where it cannot take one. */
  async #append(entries: readonly Entry[]): Promise<void> {
    const records = entries.flatMap((entry) => this.#unkept(entry) ?? []);
    const written = await Promise.allSettled(
      records.map((record) => this.#ports.journal.append(record, { durable: true })),
    );
    for (const one of written) if (one.status === "rejected") throw one.reason;
  }

  /** A record of the command that is sent is about to bring it to the disk. */
  keptWith(key: string, limits: Entry): void {
    for (const { keys, overwritten } of this.#pending) if (keys.has(key)) overwritten.add(key);
    this.#held.set(key, signature(limits));
  }

  /** Whether the disk has what was to be there is not known. */
  unsure(key: string): void {
    if (this.#held.get(key) !== undefined) this.#held.set(key, "unknown");
  }

  /** Of which the disk may not have the newest. */
  unwritten(): readonly string[] {
    return [...this.#held].flatMap(([key, held]) => (held === "unknown" ? [key] : []));
  }

  /** Null where the disk has it; what it is given counts as there from now on. */
  #unkept(present: Entry): RecordBody | null {
    const key = keyOf(present.code, present.id);
    const entry = toBeKept(this.#ahead(key, present));
    const wanted = signature(entry);
    if (wanted === (this.#held.get(key) ?? "nothing")) return null;
    this.#held.set(key, wanted);
    return { type: "limits_kept", controller: entry.code, actuator: entry.id, kept: this.#kept(entry) };
  }

  #ahead(key: string, entry: Entry): Entry {
    let ahead = entry;
    for (const { keys, change } of this.#pending) if (keys.has(key)) ahead = { ...ahead, ...change };
    return ahead;
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
    const at = clock.now();
    const mono = clock.monotonic();
    const open = new Set(history.open.flatMap(({ sent }) => sent?.id ?? []));
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
function withWholeLock(entry: Entry, entries: ReadonlyMap<string, Entry>): Entry {
  const lock = entry.lock ?? entries.get(keyOf(entry.code, wholeController))?.lock ?? null;
  return lock === entry.lock ? entry : { ...entry, lock };
}
