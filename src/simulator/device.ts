import type { Device } from "./account.js";
import {
  type AddressRow,
  type AddressTable,
  type Ignored,
  isDegree,
  judgeValue,
  rotation,
  takesDegrees,
} from "./addresses.js";
import type { Dialect } from "./dialects.js";
import { Plant } from "./plant.js";
import { onTaken, type Readings, toldInstead } from "./readings.js";
import { type Sample, type SampleItem, sampleOf } from "./sensors.js";
import { mix, type Sky, textSeed } from "./weather.js";

/** What put a value into a register. */
export type Cause = "initial" | "command" | "hand" | "storm" | "rain" | "rotation_end" | "revert" | "idle";

export interface HeldValue {
  readonly at: number;
  readonly value: string;
  readonly by: Cause;
}

interface PendingValue extends HeldValue {
  readonly address: string;
  /** Dropped unless the register still holds this value. */
  readonly onlyIf?: string;
  readonly onSettled?: (effect: "taken" | "offline" | Ignored) => void;
}

export interface World {
  readonly seed: number;
  readonly startAt: number;
  readonly sky: Sky;
  readonly manners: Pick<Dialect, "positionReads" | "lightWants">;
  readonly addresses: (type: string) => AddressTable;
  readonly readings: Readings;
  readonly onChange: (device: Device, address: string, held: HeldValue) => void;
}

const rotationMs = 30 * 60_000;
const mostHeld = 1_000;

/** One device of the account, with its registers and the greenhouse behind it. Times are simulated epoch ms. */
export class SimulatedController {
  readonly device: Device;
  readonly table: AddressTable;
  readonly plant: Plant;
  readonly #world: World;
  readonly #seed: number;
  /** The history of each register that was touched. */
  readonly #held = new Map<string, HeldValue[]>();
  #pending: readonly PendingValue[] = [];
  /** Values that came while the device was offline, kept for it by the platform. */
  #queued: readonly { readonly address: string; readonly value: string }[] = [];
  #isLit = false;
  #now: number;
  #offlineUntil = -Infinity;
  #frozenUntil = -Infinity;
  #frozen: Sample | null = null;
  readonly #broken = new Map<string, { readonly value: SampleItem["value"]; readonly until: number }>();

  constructor(device: Device, world: World) {
    this.device = device;
    this.#world = world;
    this.#seed = mix(world.seed, textSeed(device.code));
    this.#now = world.startAt;
    this.table = world.addresses(device.type);
    const spreads = world.readings.has("curtains_spread");
    this.plant = new Plant(this.table.values(), this.#seed, world.startAt, world.sky, spreads);
  }

  advance(to: number): void {
    if (to <= this.#now) return;
    for (let next = this.#pending[0]; next !== undefined && next.at <= to; next = this.#pending[0]) {
      this.#pending = this.#pending.slice(1);
      this.#step(Math.max(next.at, this.#now));
      this.#settle(next);
    }
    this.#step(to);
    this.#takeQueued();
  }

  /** Lets the platform keep a value until the device is back. */
  queue(address: string, value: string): void {
    this.#queued = [...this.#queued, { address, value }];
  }

  #takeQueued(): void {
    if (this.#queued.length === 0 || !this.isOnline()) return;
    const queued = this.#queued;
    this.#queued = [];
    for (const one of queued) this.#settle({ ...one, at: this.#now, by: "command" });
  }

  /** Lets a value arrive at the device later, or now; values of the same time arrive in the given order. */
  schedule(value: PendingValue): void {
    if (value.at <= this.#now) this.#settle(value);
    else this.#pending = [...this.#pending, value].sort((a, b) => a.at - b.at);
  }

  /** Puts a value into a register, whatever the device would do with it. */
  put(address: string, value: string, by: Cause): void {
    const row = this.table.get(address);
    if (!row) return;
    const held = { at: this.#now, value, by };
    const before = this.register(address);
    this.#held.set(address, [...this.history(address).slice(1 - mostHeld), held]);
    const forgets = this.#world.manners.lightWants === "after_off" && value === "1001";
    if (row.kind === "light") this.#isLit = value === "1010" || (this.#isLit && !forgets);
    // A register that returns to idle does not change what it has started.
    if (by !== "idle") this.plant.drive(row, value);
    if (value === rotation) {
      const end = { at: this.#now + rotationMs, address, value: "1001", by: "rotation_end" } as const;
      this.schedule({ ...end, onlyIf: rotation });
    }
    onTaken(this.#world.readings, {
      ...{ row, value, before },
      later: (afterMs, then, cause) =>
        this.schedule({ at: this.#now + afterMs, address, value: then, by: cause, onlyIf: value }),
      drive: (as) => this.plant.drive(row, as),
    });
    this.#world.onChange(this.device, address, held);
  }

  /** Whether a value has arrived that was not handled yet. */
  hasDue(at: number): boolean {
    const next = this.#pending[0];
    return (next !== undefined && next.at <= at) || (this.#queued.length > 0 && at >= this.#offlineUntil);
  }

  /** What a register truly holds, or held at a given time; null for an address that the device lacks. */
  register(address: string, at = Infinity): string | null {
    const earlier = this.#held.get(address)?.findLast((held) => held.at <= at);
    return earlier?.value ?? this.table.get(address)?.initial ?? null;
  }

  /** The values of a register, oldest first; only the newest are kept. */
  history(address: string): readonly HeldValue[] {
    const initial = this.table.get(address)?.initial;
    if (initial === undefined) return [];
    return this.#held.get(address) ?? [{ at: this.#world.startAt, value: initial, by: "initial" }];
  }

  /** What the device answers for an address; null for one that it lacks. */
  read(address: string): string | null {
    const value = this.register(address);
    const row = this.table.get(address);
    if (value === null || row === undefined) return value;
    const told = toldInstead(this.#world.readings, { row, value, level: this.#openness(row) });
    if (told !== null || !isDegree(value)) return told ?? value;
    const { positionReads } = this.#world.manners;
    // If the position has its own address, that register holds only the degree.
    if (positionReads === "mode" && takesDegrees(row.kind)) return "10100";
    const [role, ...others] = row.roles;
    if (positionReads !== "travelling" || role === undefined || others.length > 0) return value;
    return String(Math.round(100 * this.#openness(row)));
  }

  /** How far the first device behind an address is open, 0 to 1. */
  #openness({ roles: [role] }: AddressRow): number {
    return role === undefined ? 0 : this.plant.levels[role];
  }

  /**
   * For each device behind an address: its level, 0 to 1, and how often its motor started. Also whether any still
   * moves.
   */
  position({ roles }: AddressRow) {
    const { levels, starts } = this.plant;
    return {
      levels: roles.map((role) => levels[role]),
      starts: roles.map((role) => starts.get(role) ?? 0),
      isMoving: this.plant.isMoving(roles),
    };
  }

  isOnline(): boolean {
    return this.#now >= this.#offlineUntil;
  }

  /** Takes the device offline until a given time; a past one brings it back. */
  disconnect(until: number): void {
    this.#hold();
    this.#offlineUntil = until;
  }

  /** Stops the sensors until a given time; a past one lets them go on. */
  freeze(until: number): void {
    this.#hold();
    this.#frozenUntil = until;
  }

  /** Makes a sensor (name or factor) report this instead of a reading, until a given time. */
  breakSensor(sensor: string, value: SampleItem["value"], until: number): void {
    this.#broken.set(sensor, { value, until });
  }

  mendSensor(sensor: string): void {
    this.#broken.delete(sensor);
  }

  /** The newest readings that the platform has from this device. */
  sample(): Sample {
    if (!this.#isHeld()) this.#frozen = null;
    const sample = this.#frozen ?? this.#freshSample();
    const items = sample.items.map((item) => {
      const broken = this.#broken.get(item.sensor.name) ?? this.#broken.get(item.sensor.factor);
      return broken && this.#now < broken.until ? { ...item, value: broken.value, isOverridden: true } : item;
    });
    return { ...sample, items };
  }

  #freshSample(): Sample {
    const { sampledAt } = this.plant;
    const register = (address: string) => this.register(address);
    return sampleOf(this.device.type, this.#seed, this.plant, this.#world.sky.at(sampledAt), register);
  }

  #isHeld(): boolean {
    return this.#now < Math.max(this.#offlineUntil, this.#frozenUntil);
  }

  #hold(): void {
    if (!this.#isHeld() || this.#frozen === null) this.#frozen = this.#freshSample();
  }

  #step(to: number): void {
    this.#now = to;
    this.plant.advance(to);
  }

  #settle({ address, value, by, onlyIf, onSettled }: PendingValue): void {
    const row = this.table.get(address);
    if (!row || (onlyIf !== undefined && this.register(address) !== onlyIf)) return;
    if (by === "command" && !this.isOnline()) {
      onSettled?.("offline");
      return;
    }
    const memory = { read: (other: string) => this.register(other), isLit: this.#isLit };
    const ignored = by === "command" ? judgeValue(row, value, memory) : null;
    if (ignored === null) this.put(address, value, by);
    onSettled?.(ignored ?? "taken");
  }
}
