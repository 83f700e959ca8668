import type { Dialect } from "../dialects.js";
import type { Trait } from "./trait.js";

/** Answers in which a name or a channel is a key have no room for two of one. */
const keyed: ReadonlySet<Dialect["sensorLayout"]> = new Set(["keyed", "keyed_by_factor", "by_channel"]);

export const twinSensors: Trait = {
  text: "a greenhouse has a second 空气温度 that differs from the first by its place in the list alone",
  items: (items, { sensorLayout }) => {
    const first = items.find(({ sensor }) => sensor.factor === "airtemp" && sensor.channel === 1);
    if (first === undefined || keyed.has(sensorLayout) || typeof first.value !== "number") return items;
    return [...items, { ...first, value: Math.round((first.value - 3) * 10) / 10 }];
  },
};
