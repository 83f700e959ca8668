import type { Trait } from "./trait.js";

export const modeStays: Trait = {
  text: "after a degree the address goes on reading `10100`",
  dialect: { positionReads: "mode" },
};
