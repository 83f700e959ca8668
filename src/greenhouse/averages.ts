import type { SensorItem } from "./ports.js";

/*
 * An average is no reading of the quantity that it is the average of, so it has a name and a code of its own: `temperature` is
 * `temperature (avg)`, `airtemp` is `avg_airtemp`. Both words are those of the platform's operation, `weather-data/avg`.
 */

const suffix = " (avg)";
const prefix = "avg_";

export const asAverage = (item: SensorItem): SensorItem => ({
  ...item,
  name: item.name === "" ? "" : `${item.name}${suffix}`,
  factor: item.factor === null ? null : `${prefix}${item.factor}`,
  average: true,
});

/** Whether `from` of a configured sensor, a name or code perhaps with a channel, is that of an average. */
export const isFromAverage = (from: string): boolean => from.includes(suffix) || from.startsWith(prefix);

/** Name and code of the quantity that it is the average of. */
export const ofWhat = ({ name, factor }: Pick<SensorItem, "name" | "factor">) => ({
  name: name.endsWith(suffix) ? name.slice(0, -suffix.length) : name,
  factor: factor?.startsWith(prefix) === true ? factor.slice(prefix.length) : factor,
});
