import { clamp } from "./noise.js";
import { planRoles, type Levels } from "./levels.js";
import type { Weather } from "./weather.js";

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
export function lightInside(weather: Weather, levels: Levels, house: House): number {
  const shade = (1 - 0.7 * (1 - levels.outer_shade)) * (1 - 0.5 * (1 - levels.inner_shade));
  const thermal = 1 - 0.8 * (1 - levels.thermal_curtain);
  return weather.irradianceWm2 * house.clarity * shade * thermal;
}

/** Changes of air per hour, through openings and fans. */
export function airChanges(weather: Weather, levels: Levels): { open: number; fans: number } {
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
