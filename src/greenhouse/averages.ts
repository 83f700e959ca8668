import type { SensorItem } from "./ports.js";

/*
 * An average is no reading of its quantity, so it has a name and code of its own: `temperature` becomes `temperature
 * (avg)`, `airtemp` becomes `avg_airtemp`. Both words come from the platform's operation `weather-data/avg`.
 */

const suffix = " (avg)";
const prefix = "avg_";

export const asAverage = (item: SensorItem): SensorItem => ({
  ...item,
  name: item.name === "" ? "" : `${item.name}${suffix}`,
  factor: item.factor === null ? null : `${prefix}${item.factor}`,
  average: true,
});

/** Whether a configured sensor's `from`, a name or code with an optional channel, means an average. */
export const isFromAverage = (from: string): boolean => from.includes(suffix) || from.startsWith(prefix);

/** Name and code of the quantity that was averaged. */
export const ofWhat = ({ name, factor }: Pick<SensorItem, "name" | "factor">) => ({
  name: name.endsWith(suffix) ? name.slice(0, -suffix.length) : name,
  factor: factor?.startsWith(prefix) === true ? factor.slice(prefix.length) : factor,
});
