import { humidityPct, type Climate } from "./climate.js";
import type { Levels, Role } from "./levels.js";
import { localHour } from "./local-time.js";
import { clamp } from "./noise.js";
import type { Weather } from "./weather.js";

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
export function automaticTarget(role: Role, now: Situation): number {
  return (rules[role] ?? never)(now);
}
