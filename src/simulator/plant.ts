import { isAutomatic, targetsOf } from "./actuators.js";
import {
  type AddressRow,
  addressTable,
  type Levels,
  planRoles,
  restingLevels,
  type Role,
  roles,
  travelTimes,
} from "./address-table.js";
import { chanceAt, clamp, localDay, localHour, peculiarity, type Sky, type Weather } from "./weather.js";

/** Air and soil of one greenhouse. */
export interface Climate {
  temperatureC: number;
  /** Water vapour, g/m³. */
  vapour: number;
  co2Ppm: number;
  soilTemperatureC: number;
  soilMoisturePct: number;
  /** Water given since the start, m³. */
  waterM3: number;
  /** Rain since local midnight, mm. */
  rainTodayMm: number;
}

/** What makes one greenhouse differ from the next. */
export interface House {
  /** Heat lost through the cover, W/m²K. */
  readonly lossWm2K: number;
  /** Share of the sun that gets in with everything open. */
  readonly clarity: number;
}

const heightM = 3.2;
const heatCapacity = 35_000;
const soilCapacity = 260_000;
const airHeat = 1206;
const evaporation = 2450;

/** Vapour that air can hold at most, g/m³. */
export const saturation = (celsius: number): number =>
  (1324.4 * Math.exp((17.62 * celsius) / (243.12 + celsius))) / (273.15 + celsius);

/** Relative humidity in per cent. */
export const humidityPct = (climate: Climate): number =>
  clamp((100 * climate.vapour) / saturation(climate.temperatureC), 1, 100);

export function dewPointC(celsius: number, relativePct: number): number {
  const x = Math.log(Math.max(relativePct, 1) / 100) + (17.62 * celsius) / (243.12 + celsius);
  return (243.12 * x) / (17.62 - x);
}

/** A start near where the greenhouse would be anyway. */
export function firstClimate(weather: Weather): Climate {
  const temperatureC = Math.max(weather.temperatureC + 4 + weather.irradianceWm2 / 60, 4);
  return {
    temperatureC,
    vapour: 0.75 * saturation(temperatureC),
    co2Ppm: 520 - weather.irradianceWm2 / 6,
    soilTemperatureC: 16 + (weather.temperatureC - 12) / 4,
    soilMoisturePct: 24,
    waterM3: 0,
    rainTodayMm: 0,
  };
}

/** Sunlight that reaches the crop, W/m². */
function lightInside(weather: Weather, levels: Levels, house: House): number {
  const shade = (1 - 0.7 * (1 - levels.outer_shade)) * (1 - 0.5 * (1 - levels.inner_shade));
  const thermal = 1 - 0.8 * (1 - levels.thermal_curtain);
  return weather.irradianceWm2 * house.clarity * shade * thermal;
}

/** Changes of air per hour, through openings and fans. */
function airChanges(weather: Weather, levels: Levels): { open: number; fans: number } {
  const roof = (levels.left_skylight + levels.right_skylight) / 2;
  const open =
    0.3 +
    0.05 * weather.windMs +
    roof * (7 + 3 * weather.windMs) +
    levels.side_vent * (5 + 2 * weather.windMs);
  const motors = 2 * (levels.vent_motor + levels.louvre);
  return { open: Math.min(open + motors, 60), fans: 18 * (levels.fan_1 + levels.fan_2 + levels.fan_3) };
}

/** Air that comes in: outdoor air, cooled and wetted on its way through a wet curtain. */
function incoming(weather: Weather, levels: Levels, fanShare: number) {
  const outside = (weather.humidityPct / 100) * saturation(weather.temperatureC);
  const wet = 0.75 * levels.wet_curtain * fanShare;
  const wetBulb = weather.temperatureC - 0.33 * (saturation(weather.temperatureC) - outside) ** 0.9;
  const temperatureC = weather.temperatureC - wet * (weather.temperatureC - wetBulb);
  return { temperatureC, vapour: outside + wet * Math.max(0, saturation(temperatureC) - outside) };
}

/**
 * Moves the climate on by `seconds` (at most 60 at a time, or the explicit step becomes unstable). Tells the light at
 * the crop and how many irrigation plans ran.
 */
export function stepClimate(
  climate: Climate,
  weather: Weather,
  levels: Levels,
  house: House,
  seconds: number,
): { sunWm2: number; plans: number } {
  const sun = lightInside(weather, levels, house) + 45 * levels.light;
  const { open, fans } = airChanges(weather, levels);
  const air = incoming(weather, levels, fans / (open + fans));
  const exchange = (open + fans) / 3600;
  const dryness = Math.max(0, saturation(climate.temperatureC) - climate.vapour);
  const growth = (0.36 * sun) / evaporation + (0.0012 + 0.006 * levels.mist) * dryness;
  const loss = house.lossWm2K * (1 - 0.42 * (1 - levels.thermal_curtain));
  const soilHeat = (6 + 2 * levels.circulation) * (climate.soilTemperatureC - climate.temperatureC);
  const heat =
    0.75 * sun +
    150 * levels.heating +
    soilHeat -
    evaporation * growth -
    loss * (climate.temperatureC - weather.temperatureC) -
    airHeat * heightM * exchange * (climate.temperatureC - air.temperatureC);
  const limit = 0.97 * saturation(climate.temperatureC);
  const gas = 35 - (0.55 * sun * climate.co2Ppm) / (climate.co2Ppm + 250) + 700 * levels.co2;
  climate.temperatureC += (heat / heatCapacity) * seconds;
  climate.vapour += (growth / heightM - exchange * (climate.vapour - air.vapour)) * seconds;
  if (climate.vapour > limit) climate.vapour = limit;
  climate.co2Ppm += (gas / 3600 - exchange * (climate.co2Ppm - 418)) * seconds;
  climate.soilTemperatureC +=
    ((0.1 * sun - soilHeat + 1.2 * (15 - climate.soilTemperatureC)) / soilCapacity) * seconds;
  return { sunWm2: sun, plans: water(climate, levels, growth, seconds) };
}

function water(climate: Climate, levels: Levels, growth: number, seconds: number): number {
  let plans = 0;
  for (const plan of planRoles) plans += levels[plan];
  const given = 8 * Math.min(plans, 2) * (seconds / 3600);
  climate.soilMoisturePct = clamp(climate.soilMoisturePct + given - 0.0009 * growth * seconds, 8, 42);
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

/** On above or below a limit, with some slack before it turns off again. */
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

const never: Rule = () => 0;

const rules: Partial<Record<Role, Rule>> = {
  left_skylight: roof,
  right_skylight: roof,
  side_vent: side,
  louvre: side,
  inner_shade: shadeAbove(750, "inner_shade"),
  outer_shade: shadeAbove(850, "outer_shade"),
  thermal_curtain: ({ weather }) => (weather.irradianceWm2 > 5 ? 1 : 0),
  circulation: ({ climate, at }) => (humidityPct(climate) > 85 || Math.floor(at / 600_000) % 3 === 0 ? 1 : 0),
  light: ({ weather, at }) => (localHour(at) > 5 && localHour(at) < 8 && weather.irradianceWm2 < 60 ? 1 : 0),
  co2: ({ climate, weather, levels }) =>
    weather.irradianceWm2 > 150 && levels.left_skylight < 0.1 && climate.co2Ppm < 600 ? 1 : 0,
  heating: ({ climate, levels }) =>
    latch(levels.heating > 0.5, climate.temperatureC < 9, climate.temperatureC < 11),
  mist: ({ climate, levels }) =>
    latch(levels.mist > 0.5, humidityPct(climate) < 40, humidityPct(climate) < 50),
  plan_1: watering("plan_1"),
  plan_2: watering("plan_2"),
};

/**
 * What the local controller does with a device that is left to it, 0 to 1. It moves the device only: the register goes
 * on saying "automatic".
 */
function automaticTarget(role: Role, now: Situation): number {
  return (rules[role] ?? never)(now);
}

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
