/** Every quantity a sensor can be recognised as; `other` is mirrored without a class. */
export const sensorKinds = [
  "temperature",
  "humidity",
  "co2",
  "illuminance",
  "par",
  "irradiance",
  "soil_temperature",
  "soil_moisture",
  "ec",
  "ph",
  "pressure",
  "wind_speed",
  "wind_direction",
  "rain",
  "rain_rate",
  "flow",
  "dew_point",
  "vpd",
  "battery",
  "voltage",
  "other",
] as const;

export type SensorKind = (typeof sensorKinds)[number];
