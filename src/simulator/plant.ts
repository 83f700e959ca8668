import {
  type AddressRow,
  isAutomatic,
  type Levels,
  planRoles,
  restingLevels,
  type Role,
  roles,
  targetsOf,
} from "./addresses.js";
import { chanceAt, clamp, localDay, localHour, peculiarity, type Sky, type Weather } from "./weather.js";
import { byKey } from "../runtime/objects.js";

/** Air and soil of one greenhouse. */
export interface Climate {
  temperatureC: number;
  humidityPct: number;
  co2Ppm: number;
  soilTemperatureC: number;
  soilMoisturePct: number;
  /** Water given since the start, m³. */
  waterM3: number;
  /** Rain since local midnight, mm. */
  rainTodayMm: number;
}

/** How one greenhouse differs from the next. */
interface House {
  /** Heat loss through the cover, W/m²K. */
  readonly lossWm2K: number;
  /** Share of the sunlight that enters with everything open. */
  readonly clarity: number;
}

/** Saturation vapour pressure, kPa. */
const saturationKpa = (celsius: number): number => 0.6112 * Math.exp((17.62 * celsius) / (243.12 + celsius));

/** Vapour pressure deficit, kPa. */
export const deficitKpa = ({ temperatureC, humidityPct }: Climate): number =>
  saturationKpa(temperatureC) * (1 - humidityPct / 100);

export function dewPointC(air: Pick<Climate, "temperatureC" | "humidityPct">): number {
  const { temperatureC: celsius, humidityPct } = air;
  const x = Math.log(Math.max(humidityPct, 1) / 100) + (17.62 * celsius) / (243.12 + celsius);
  return (243.12 * x) / (17.62 - x);
}

/** A start near the climate that the greenhouse would have anyway. */
function firstClimate({ temperatureC, irradianceWm2 }: Weather): Climate {
  return {
    temperatureC: Math.max(temperatureC + 4 + irradianceWm2 / 60, 4),
    humidityPct: 75,
    co2Ppm: 520 - irradianceWm2 / 6,
    soilTemperatureC: 16 + (temperatureC - 12) / 4,
    soilMoisturePct: 24,
    waterM3: 0,
    rainTodayMm: 0,
  };
}

const sum = (levels: Levels, ...some: readonly Role[]): number =>
  some.reduce((total, role) => total + levels[role], 0);

/** Light at the crop: sunlight past the curtains, and the lamp, W/m². */
function lightInside({ irradianceWm2 }: Weather, levels: Levels, { clarity }: House): number {
  const past = (role: Role, taken: number) => 1 - taken * (1 - levels[role]);
  const curtains = past("outer_shade", 0.7) * past("inner_shade", 0.5) * past("thermal_curtain", 0.8);
  return irradianceWm2 * clarity * curtains + 45 * levels.grow_light;
}

/**
 * Advances the climate by `seconds`: everything approaches its equilibrium, faster with more air exchange. Returns the
 * light at the crop and how many irrigation plans run.
 */
function stepClimate(
  climate: Climate,
  weather: Weather,
  levels: Levels,
  house: House,
  seconds: number,
): { sunWm2: number; plans: number } {
  const sunWm2 = lightInside(weather, levels, house);
  const openings = sum(levels, "left_skylight", "right_skylight", "side_vent", "vent_motor", "louvre");
  const fans = sum(levels, "fan_1", "fan_2", "fan_3");
  // Air changes per hour.
  const airing = 0.3 + 0.05 * weather.windMs + Math.min(openings * (4 + weather.windMs), 50) + 18 * fans;
  const loss = house.lossWm2K * (0.58 + 0.42 * levels.thermal_curtain) + 1.07 * airing;
  const wet = levels.wet_curtain * Math.min(fans, 1) * (1 - weather.humidityPct / 100);
  const heat = 0.45 * sunWm2 + 150 * levels.heating + 8 * (climate.soilTemperatureC - climate.temperatureC);
  const toward = (now: number, goal: number, lastsS: number) =>
    goal + (now - goal) * Math.exp(-seconds / lastsS);
  const outside = weather.temperatureC - 14 * wet;
  climate.temperatureC = toward(
    climate.temperatureC,
    outside + heat / loss - 2 * levels.mist_cooling,
    35_000 / loss,
  );
  // A closed house gets more humid by night than by day; an aired one approaches the outside.
  const share = airing / (airing + 6);
  const shutIn = 92 - sunWm2 / 14;
  const humidity = shutIn + (weather.humidityPct - shutIn) * share + 15 * levels.mist_cooling + 40 * wet;
  climate.humidityPct = clamp(toward(climate.humidityPct, humidity, 1_200), 1, 100);
  const gas = 418 + (140 - 0.5 * sunWm2 + 900 * levels.co2_supply) / (1 + airing / 3);
  climate.co2Ppm = clamp(toward(climate.co2Ppm, gas, 1_800), 150, 2_000);
  climate.soilTemperatureC = toward(climate.soilTemperatureC, 11 + 0.3 * climate.temperatureC, 60_000);
  return { sunWm2, plans: water(climate, levels, sunWm2, seconds) };
}

function water(climate: Climate, levels: Levels, sunWm2: number, seconds: number): number {
  const plans = sum(levels, ...planRoles);
  const given = 8 * Math.min(plans, 2) * (seconds / 3600);
  const drunk = (0.0005 + 0.0000015 * sunWm2) * (seconds / 10);
  climate.soilMoisturePct = clamp(climate.soilMoisturePct + given - drunk, 8, 42);
  climate.waterM3 += 6.5 * plans * (seconds / 3600);
  return plans;
}

interface Situation {
  readonly climate: Climate;
  readonly weather: Weather;
  readonly levels: Levels;
  /** Epoch ms. */
  readonly at: number;
}

type Rule = (now: Situation) => number;

/** A switch with hysteresis: on at a limit, and off only after some slack. */
const latch = (isOn: boolean, start: boolean, keep: boolean): number => ((isOn ? keep : start) ? 1 : 0);

const rough = (weather: Weather): boolean => weather.rainMmH > 0.2 || weather.windMs > 11;

const roof: Rule = ({ climate, weather }) =>
  rough(weather) ? 0 : Math.round(clamp((climate.temperatureC - 25) / 6, 0, 1) * 10) / 10;

const side: Rule = ({ climate, weather }) =>
  rough(weather) ? 0 : Math.round(clamp((climate.temperatureC - 28) / 5, 0, 1) * 10) / 10;

const shadeAbove =
  (limitWm2: number, role: Role): Rule =>
  ({ weather, levels }) =>
    1 - latch(levels[role] < 0.5, weather.irradianceWm2 > limitWm2, weather.irradianceWm2 > limitWm2 - 150);

const watering =
  (role: Role): Rule =>
  ({ climate, levels }) =>
    latch(levels[role] > 0.5, climate.soilMoisturePct < 17, climate.soilMoisturePct < 25);

/**
 * What the local controller does with a device in automatic, 0 to 1; devices without a rule are closed or off. Only the
 * device moves: its register keeps saying "automatic".
 */
const rules: Partial<Record<Role, Rule>> = {
  left_skylight: roof,
  right_skylight: roof,
  side_vent: side,
  louvre: side,
  inner_shade: shadeAbove(750, "inner_shade"),
  outer_shade: shadeAbove(850, "outer_shade"),
  thermal_curtain: ({ weather }) => (weather.irradianceWm2 > 5 ? 1 : 0),
  circulation_fan: ({ climate, at }) =>
    climate.humidityPct > 85 || Math.floor(at / 600_000) % 3 === 0 ? 1 : 0,
  grow_light: ({ weather, at }) =>
    localHour(at) > 5 && localHour(at) < 8 && weather.irradianceWm2 < 60 ? 1 : 0,
  co2_supply: ({ climate, weather, levels }) =>
    weather.irradianceWm2 > 150 && levels.left_skylight < 0.1 && climate.co2Ppm < 600 ? 1 : 0,
  heating: ({ climate, levels }) =>
    latch(levels.heating > 0.5, climate.temperatureC < 9, climate.temperatureC < 11),
  mist_cooling: ({ climate, levels }) =>
    latch(levels.mist_cooling > 0.5, climate.humidityPct < 40, climate.humidityPct < 50),
  plan_1: watering("plan_1"),
  plan_2: watering("plan_2"),
};

const isCurtain = (role: Role): boolean =>
  role === "inner_shade" || role === "outer_shade" || role === "thermal_curtain";

const stepMs = 60_000;
const warmUpMs = 45 * stepMs;
/** After a longer gap, only this much history is computed: a greenhouse forgets within days. */
const longestGapMs = 7 * 86_400_000;

/**
 * The greenhouse behind one controller: devices that travel, and a climate that follows them. Time is simulated epoch
 * ms and moves only by `advance`. The climate moves on a fixed grid, so it does not depend on who reads when.
 */
export class Plant {
  readonly climate: Climate;
  readonly house: House;
  /** The present level of each device, 0 to 1. */
  readonly levels: Levels = restingLevels();
  /** What the sensors saw of the devices in their newest sample. */
  sample = { sunWm2: 0, plans: 0 };
  /** How often each motor started or reversed. */
  readonly starts = new Map<Role, number>();
  readonly #targets: Levels = restingLevels();
  readonly #travelMs: Levels = restingLevels();
  readonly #sky: Sky;
  #automatic: readonly AddressRow[] = [];
  #movedAt: number;
  #stepAt: number;
  /** `open` spreads curtains out, so their level says how much they cover. */
  readonly #curtainsSpread: boolean;

  constructor(rows: Iterable<AddressRow>, seed: number, startAt: number, sky: Sky, curtainsSpread = false) {
    this.#sky = sky;
    this.#curtainsSpread = curtainsSpread;
    const phaseMs = Math.floor(chanceAt(seed, 1) * 60) * 1000;
    this.#stepAt = Math.floor(startAt / stepMs) * stepMs + phaseMs - stepMs - warmUpMs;
    this.#movedAt = this.#stepAt;
    this.climate = firstClimate(sky.at(this.#stepAt));
    this.house = {
      lossWm2K: 7.6 * (1 + 0.15 * peculiarity(seed, 2)),
      clarity: 0.66 + 0.05 * peculiarity(seed, 3),
    };
    for (const row of rows) this.#place(row);
    this.advance(startAt);
  }

  /** The time of the newest sample. */
  get sampledAt(): number {
    return this.#stepAt;
  }

  /** Whether any of these devices still moves. */
  isMoving(of: readonly Role[]): boolean {
    return of.some((role) => this.levels[role] !== this.#targets[role]);
  }

  /** Starts the movement that a new register value asks for; call `advance` to the same time first. */
  drive(row: AddressRow, value: string): void {
    const targets = targetsOf(row, value);
    row.roles.forEach((role, index) => {
      const target = targets[index] ?? "hold";
      if (target !== "auto") this.#aim(role, target === "hold" ? this.levels[role] : target);
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
      this.#travelMs[role] = row.travelMs;
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
    this.sample = stepClimate(this.climate, weather, this.#levelsInAir(), this.house, stepMs / 1000);
    if (localDay(this.#stepAt) !== before) this.climate.rainTodayMm = 0;
    this.climate.rainTodayMm += (weather.rainMmH * stepMs) / 3_600_000;
    for (const row of this.#automatic) this.#decide(row);
  }

  #decide(row: AddressRow): void {
    const { climate } = this;
    const levels = this.#levelsInAir();
    const now = { climate, levels, weather: this.#sky.at(this.#stepAt), at: this.#stepAt };
    for (const role of row.roles) {
      const target = rules[role]?.(now) ?? 0;
      this.#aim(role, this.#curtainsSpread && isCurtain(role) ? 1 - target : target);
    }
  }

  /** Levels in which every curtain counts by how far it is drawn aside. */
  #levelsInAir(): Levels {
    if (!this.#curtainsSpread) return this.levels;
    return byKey(roles, (role) => (isCurtain(role) ? 1 - this.levels[role] : this.levels[role]));
  }

  #aim(role: Role, target: number): void {
    const way = (to: number) => Math.sign(to - this.levels[role]);
    if (way(target) !== 0 && way(target) !== way(this.#targets[role]))
      this.starts.set(role, (this.starts.get(role) ?? 0) + 1);
    this.#targets[role] = target;
  }

  #move(to: number): void {
    const passedMs = to - this.#movedAt;
    if (passedMs <= 0) return;
    this.#movedAt = to;
    for (const role of roles) {
      const gap = this.#targets[role] - this.levels[role];
      if (gap === 0) continue;
      const reach = passedMs / this.#travelMs[role];
      if (Math.abs(gap) <= reach) this.levels[role] = this.#targets[role];
      else this.levels[role] += Math.sign(gap) * reach;
    }
  }
}
