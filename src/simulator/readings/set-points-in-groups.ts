import type { Trait } from "./trait.js";

export const setPointsInGroups: Trait = {
  text: "a type lists set points, times and counters beside its actuators",
  dialect: { inType: "many" },
};
