import type { Trait } from "./trait.js";

export const offlineQueues: Trait = {
  text: "a value for a controller that is offline is refused, and carried out when it is back",
};
