import { addressTable, travelTimes, type AddressRow } from "./address-table.js";
import { isAutomatic, targetsOf } from "./actuators.js";
import { automaticTarget } from "./automatic.js";
import { firstClimate, stepClimate, type Climate, type House } from "./climate.js";
import { restingLevels, roles, type Levels, type Role } from "./levels.js";
import { localDay } from "./local-time.js";
import { chanceAt } from "./noise.js";
import { peculiarity, type Sky } from "./weather.js";

const stepMs = 60_000;
const warmUpMs = 45 * stepMs;
/** Someone who looks after a longer gap gets this much history and no more: a greenhouse forgets within days. */
const longestGapMs = 7 * 86_400_000;

/**
 * The greenhouse behind one controller: devices that travel and a climate that follows them. Time is simulated epoch
 * ms and only ever moves on by `advance`; the climate moves on a fixed grid, so it does not depend on who reads when.
 */
export class Plant {
  readonly climate: Climate;
  readonly house: House;
  readonly levels: Levels = restingLevels();
  /** What the sensors saw of the devices when they took their newest sample. */
  sample = { sunWm2: 0, plans: 0 };
  readonly #targets: Levels = restingLevels();
  readonly #travelMs: ReadonlyMap<Role, number>;
  readonly #sky: Sky;
  #automatic: readonly AddressRow[] = [];
  #movedAt: number;
  #stepAt: number;

  constructor(type: string, seed: number, startAt: number, sky: Sky) {
    this.#travelMs = travelTimes(type);
    this.#sky = sky;
    const phaseMs = Math.floor(chanceAt(seed, 1) * 60) * 1000;
    this.#stepAt = Math.floor(startAt / stepMs) * stepMs + phaseMs - stepMs - warmUpMs;
    this.#movedAt = this.#stepAt;
    this.climate = firstClimate(sky.at(this.#stepAt));
    this.house = {
      lossWm2K: 7.6 * (1 + 0.15 * peculiarity(seed, 2)),
      clarity: 0.66 + 0.05 * peculiarity(seed, 3),
    };
    for (const row of addressTable(type).values()) this.#place(row);
    this.advance(startAt);
  }

  /** When the sensors took their newest sample. */
  get sampledAt(): number {
    return this.#stepAt;
  }

  /** Where a device stands, 0 to 1. */
  level(role: Role): number {
    return this.levels[role];
  }

  /** Whether anything behind this row still moves. */
  isMoving(row: AddressRow): boolean {
    return row.roles.some((role) => this.levels[role] !== this.#targets[role]);
  }

  /** Starts what a new register value means; call `advance` to the same instant first. */
  drive(row: AddressRow, value: string): void {
    const targets = targetsOf(row, value);
    row.roles.forEach((role, index) => {
      const target = targets[index] ?? "hold";
      this.#targets[role] = typeof target === "number" ? target : this.levels[role];
    });
    const others = this.#automatic.filter((other) => other.address !== row.address);
    this.#automatic = isAutomatic(row, value) ? [...others, row] : others;
    if (isAutomatic(row, value)) this.#decide(row);
  }

  advance(to: number): void {
    if (to - this.#stepAt > longestGapMs)
      this.#stepAt += Math.ceil((to - this.#stepAt - longestGapMs) / stepMs) * stepMs;
    while (this.#stepAt + stepMs <= to) this.#step();
    this.#move(to);
  }

  #place(row: AddressRow): void {
    const targets = targetsOf(row, row.initial);
    row.roles.forEach((role, index) => {
      const target = targets[index];
      this.levels[role] = typeof target === "number" ? target : 0;
      this.#targets[role] = this.levels[role];
    });
    if (isAutomatic(row, row.initial)) this.#automatic = [...this.#automatic, row];
  }

  #step(): void {
    const before = localDay(this.#stepAt);
    this.#stepAt += stepMs;
    this.#move(this.#stepAt);
    const weather = this.#sky.at(this.#stepAt);
    this.sample = stepClimate(this.climate, weather, this.levels, this.house, stepMs / 1000);
    if (localDay(this.#stepAt) !== before) this.climate.rainTodayMm = 0;
    this.climate.rainTodayMm += (weather.rainMmH * stepMs) / 3_600_000;
    for (const row of this.#automatic) this.#decide(row);
  }

  #decide(row: AddressRow): void {
    const now = {
      climate: this.climate,
      weather: this.#sky.at(this.#stepAt),
      levels: this.levels,
      at: this.#stepAt,
    };
    for (const role of row.roles) this.#targets[role] = automaticTarget(role, now);
  }

  #move(to: number): void {
    const passedMs = to - this.#movedAt;
    if (passedMs <= 0) return;
    this.#movedAt = to;
    for (const role of roles) {
      const gap = this.#targets[role] - this.levels[role];
      if (gap === 0) continue;
      const reach = passedMs / (this.#travelMs.get(role) ?? 1);
      if (Math.abs(gap) <= reach) this.levels[role] = this.#targets[role];
      else this.levels[role] += Math.sign(gap) * reach;
    }
  }
}
