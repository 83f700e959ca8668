import type { Device } from "./account.js";
import { type Ignored, isDegree, judgeValue, rotation, takesDegrees } from "./actuators.js";
import { type AddressRow, type AddressTable, addressTable } from "./address-table.js";
import type { Dialect } from "./dialects.js";
import { Plant } from "./plant.js";
import { type Sample, type SampleItem, sampleOf } from "./sensors.js";
import { mix, type Sky, textSeed } from "./weather.js";

/** Who put a value into a register. */
export type Cause = "initial" | "command" | "hand" | "storm" | "rain" | "rotation_end" | "revert";

export interface HeldValue {
  readonly at: number;
  readonly value: string;
  readonly by: Cause;
}

const mostHeld = 1_000;

/** The registers of one controller with what they held when; a register that was not touched costs nothing. */
export class RegisterBank {
  readonly table: AddressTable;
  readonly #startAt: number;
  readonly #held = new Map<string, HeldValue[]>();

  constructor(table: AddressTable, startAt: number) {
    this.table = table;
    this.#startAt = startAt;
  }

  /** The value now; null for an address the device does not have. */
  read(address: string): string | null {
    return this.readAsOf(address, Infinity);
  }

  readAsOf(address: string, at: number): string | null {
    const earlier = this.#held.get(address)?.findLast((held) => held.at <= at);
    return earlier?.value ?? this.table.get(address)?.initial ?? null;
  }

  /** Oldest first; only the newest values are kept. */
  history(address: string): readonly HeldValue[] {
    const initial = this.table.get(address)?.initial;
    if (initial === undefined) return [];
    return this.#held.get(address) ?? [{ at: this.#startAt, value: initial, by: "initial" }];
  }

  put(address: string, held: HeldValue): void {
    const list = this.#held.get(address) ?? [...this.history(address)];
    list.push(held);
    if (list.length > mostHeld) list.shift();
    this.#held.set(address, list);
  }
}

export interface PendingValue {
  readonly at: number;
  readonly address: string;
  readonly value: string;
  readonly by: Cause;
  /** Dropped unless the register still holds this. */
  readonly onlyIf?: string;
  readonly settled?: (effect: "taken" | "offline" | Ignored) => void;
}

export interface World {
  readonly seed: number;
  readonly startAt: number;
  readonly sky: Sky;
  readonly manners: Pick<Dialect, "positionReads" | "lightWants" | "registers">;
  readonly changed: (device: Device, address: string, held: HeldValue) => void;
}

const rotationMs = 30 * 60_000;

/** One device of the account with its registers and the greenhouse behind it. Instants are simulated epoch ms. */
export class SimulatedController {
  readonly device: Device;
  readonly registers: RegisterBank;
  readonly #world: World;
  readonly plant: Plant;
  readonly #seed: number;
  #pending: readonly PendingValue[] = [];
  #lit = false;
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
    const table = addressTable(device.type, world.manners.registers.inType);
    this.registers = new RegisterBank(table, world.startAt);
    this.plant = new Plant(device.type, this.#seed, world.startAt, world.sky);
  }

  advance(to: number): void {
    if (to <= this.#now) return;
    for (;;) {
      const next = this.#pending[0];
      if (!next || next.at > to) break;
      this.#pending = this.#pending.slice(1);
      this.#step(Math.max(next.at, this.#now));
      this.#settle(next);
    }
    this.#step(to);
  }

  /** Lets a value arrive at the device later (or now); values of one instant arrive in the order given. */
  schedule(value: PendingValue): void {
    this.#pending = [...this.#pending, value].sort((a, b) => a.at - b.at);
    if (value.at > this.#now) return;
    this.#pending = this.#pending.filter((other) => other !== value);
    this.#settle(value);
  }

  /** Puts a value into a register as it stands, whatever the device would say to it. */
  put(address: string, value: string, by: Cause): void {
    const row = this.registers.table.get(address);
    if (!row) return;
    const held = { at: this.#now, value, by };
    this.registers.put(address, held);
    const forgets = this.#world.manners.lightWants === "after_off" && value === "1001";
    if (row.kind === "light") this.#lit = value === "1010" || (this.#lit && !forgets);
    this.plant.drive(row, value);
    const end = { at: this.#now + rotationMs, address, value: "1001", by: "rotation_end" } as const;
    if (value === rotation) this.schedule({ ...end, onlyIf: rotation });
    this.#world.changed(this.device, address, held);
  }

  /** Whether a value has arrived that was not looked at yet. */
  hasDue(at: number): boolean {
    const next = this.#pending[0];
    return next !== undefined && next.at <= at;
  }

  /** What the device answers for an address; null for one it does not have. */
  read(address: string): string | null {
    const value = this.registers.read(address);
    const row = this.registers.table.get(address);
    if (value === null || row === undefined) return value;
    if (this.#showsModeOnly(row, value)) return "10100";
    if (!this.#showsTravel(row, value)) return value;
    return String(Math.round(100 * this.plant.level(row.roles[0] ?? "special")));
  }

  /** How far each device behind an address is, 0 to 1, how often its motor started, and whether any still moves. */
  position(address: string) {
    const row = this.registers.table.get(address);
    if (!row) return null;
    return {
      levels: row.roles.map((role) => this.plant.level(role)),
      starts: row.roles.map((role) => this.plant.starts.get(role) ?? 0),
      moving: this.plant.isMoving(row),
    };
  }

  isOnline(): boolean {
    return this.#now >= this.#offlineUntil;
  }

  /** Off the platform until an instant; a past one brings it back. */
  disconnect(until: number): void {
    this.#hold();
    this.#offlineUntil = until;
  }

  /** Sensors stop reporting until an instant; a past one lets them go on. */
  freeze(until: number): void {
    this.#hold();
    this.#frozenUntil = until;
  }

  /** A sensor (name or factor) reports this instead of a reading until an instant. */
  breakSensor(sensor: string, value: SampleItem["value"], until: number): void {
    this.#broken.set(sensor, { value, until });
  }

  mendSensor(sensor: string): void {
    this.#broken.delete(sensor);
  }

  /** The newest readings the platform got from this device. */
  sample(): Sample {
    const frozen = this.#isHeld() ? this.#frozen : null;
    const sample = frozen ?? this.#freshSample();
    if (frozen === null) this.#frozen = null;
    if (this.#broken.size === 0) return sample;
    const items = sample.items.map((item) => {
      const broken = this.#broken.get(item.sensor.name) ?? this.#broken.get(item.sensor.factor);
      return broken && this.#now < broken.until ? { ...item, value: broken.value, isOverridden: true } : item;
    });
    return { ...sample, items };
  }

  #freshSample(): Sample {
    return sampleOf(this.device.type, this.#seed, this.plant, this.#world.sky.at(this.plant.sampledAt));
  }

  #isHeld(): boolean {
    return this.#now < Math.max(this.#offlineUntil, this.#frozenUntil);
  }

  #hold(): void {
    if (!this.#isHeld() || this.#frozen === null) this.#frozen = this.#freshSample();
  }

  #showsModeOnly(row: AddressRow, value: string): boolean {
    // Where the position has an address of its own the degree is all that it holds.
    return this.#world.manners.positionReads === "mode" && isDegree(value) && takesDegrees(row.kind);
  }

  #showsTravel(row: AddressRow, value: string): boolean {
    const isPositioner = row.roles.length === 1 && row.kind !== "parameter";
    return this.#world.manners.positionReads === "travelling" && isPositioner && isDegree(value);
  }

  #step(to: number): void {
    this.#now = to;
    this.plant.advance(to);
  }

  #settle(pending: PendingValue): void {
    const row = this.registers.table.get(pending.address);
    if (!row || (pending.onlyIf !== undefined && this.registers.read(pending.address) !== pending.onlyIf))
      return;
    if (pending.by === "command" && !this.isOnline()) {
      pending.settled?.("offline");
      return;
    }
    const memory = { read: (address: string) => this.registers.read(address) ?? "", lit: this.#lit };
    const ignored = pending.by === "command" ? judgeValue(row, pending.value, memory) : null;
    if (ignored === null) this.put(pending.address, pending.value, pending.by);
    pending.settled?.(ignored ?? "taken");
  }
}
