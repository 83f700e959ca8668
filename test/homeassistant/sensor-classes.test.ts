import { expect, test } from "vitest";
import type { SensorKind } from "../../src/greenhouse/sensors.js";
import { classify, counter } from "../../src/homeassistant/sensor-classes.js";

test.each<[SensorKind, string | null, string | null, string | null, number]>([
  ["temperature", "°C", "temperature", "°C", 1],
  ["temperature", "℃", "temperature", "°C", 1],
  ["temperature", null, null, null, 1],
  ["temperature", "Ω", null, "Ω", 1],
  ["humidity", "%", "humidity", "%", 1],
  ["soil_moisture", "m³/m³", null, "m³/m³", 1],
  ["co2", "ppm", "carbon_dioxide", "ppm", 1],
  ["illuminance", "lx", "illuminance", "lx", 1],
  ["illuminance", "klx", "illuminance", "lx", 1000],
  ["illuminance", "constructor", null, "constructor", 1],
  ["irradiance", "W/m²", "irradiance", "W/m²", 1],
  ["par", "μmol/m²/s", null, "μmol/m²/s", 1],
  ["ec", "mS/cm", "conductivity", "mS/cm", 1],
  ["ec", "μS/cm", "conductivity", "mS/cm", 0.001],
  ["ec", "µS/cm", "conductivity", "mS/cm", 0.001],
  ["ph", null, "ph", null, 1],
  ["ph", "pH", "ph", null, 1],
  ["ph", "mV", null, "mV", 1],
  ["pressure", "hPa", "atmospheric_pressure", "hPa", 1],
  ["pressure", "MPa", "pressure", "kPa", 1000],
  ["wind_direction", "°", null, "°", 1],
  ["rain", "mm", "precipitation", "mm", 1],
  ["flow", "L/s", "volume_flow_rate", "L/min", 60],
  ["vpd", "kPa", null, "kPa", 1],
  ["other", "g", null, "g", 1],
])("%s in %s is class %s in %s, times %d", (kind, unit, deviceClass, sent, factor) =>
  expect(classify(kind, unit, null)).toMatchObject({ deviceClass, unit: sent, factor }),
);

test.each<[SensorKind, string, number | null, number]>([
  ["temperature", "°C", null, 1],
  ["temperature", "°C", 2, 2],
  ["illuminance", "klx", 2, 0],
  ["illuminance", "klx", 4, 1],
  ["illuminance", "lx", 2, 2],
  ["ec", "μS/cm", 0, 3],
  ["ec", "μS/cm", null, 2],
])("%s in %s with %s decimals of the reading shows %d", (kind, unit, decimals, shown) =>
  expect(classify(kind, unit, decimals).decimals).toBe(shown),
);

test.each<[string, string | null, string | null]>([
  ["flow_total", "m³", "water"],
  ["water_volume", "L", "water"],
  ["energy", "kWh", "energy"],
  ["flow_total", "m³/h", null],
  ["flow_total", null, null],
  ["flow", "m³", null],
])("%s in %s adds up as %s: only a counter in a unit of amounts can be summed", (word, unit, deviceClass) => {
  const found = counter(word, unit, null);
  expect(found?.deviceClass ?? null).toBe(deviceClass);
  if (found !== null) expect(found.stateClass).toBe("total_increasing");
});
