import type { Call } from "./call.js";
import { success, type Answer } from "./envelope.js";
import { layOut } from "./layout.js";
import { writeTime } from "./local-time.js";
import type { PlatformState } from "./platform-state.js";

const hourMs = 3_600_000;
const hoursShown = 24;

/** The weather of the last day, hour by hour, oldest first. */
export function weatherList(state: PlatformState, call: Call): Answer {
  const { dialect } = state.settings;
  const items = lastHours(state).map(({ at, weather }) => ({
    deviceCode: call.request.query.deviceCode ?? null,
    dateTime: writeTime(state.timeline.realAt(at), dialect.sensors.time),
    temperature: rounded(weather.temperatureC),
    humidity: rounded(weather.humidityPct),
    windSpeed: rounded(weather.windMs),
    rain: rounded(weather.rainMmH),
    irradiance: Math.round(weather.irradianceWm2),
  }));
  return success(layOut(items, dialect.lists.layout, (item) => String(item.dateTime)));
}

/** Averages over the last day. */
export function weatherAverage(state: PlatformState): Answer {
  const hours = lastHours(state).map(({ weather }) => weather);
  const average = (values: readonly number[]) =>
    rounded(values.reduce((sum, value) => sum + value, 0) / values.length);
  return success({
    data: {
      temperature: average(hours.map((weather) => weather.temperatureC)),
      humidity: average(hours.map((weather) => weather.humidityPct)),
      windSpeed: average(hours.map((weather) => weather.windMs)),
      irradiance: average(hours.map((weather) => weather.irradianceWm2)),
    },
  });
}

function lastHours(state: PlatformState) {
  const newest = Math.floor(state.simulatedNow / hourMs) * hourMs;
  return Array.from({ length: hoursShown }, (_, index) => {
    const at = newest - (hoursShown - 1 - index) * hourMs;
    return { at, weather: state.sky.at(at) };
  });
}

const rounded = (value: number): number => Math.round(value * 10) / 10;
