import { inHalves } from "../addresses.js";
import { isWindow } from "../control-values.js";
import type { Trait } from "./trait.js";

export const degreesApart: Trait = {
  text: "the degree of a window has an address of its own in the type of its mode; one that is sent to the mode's is accepted and moves nothing",
  rows: (row) => (isWindow(row.kind) ? inHalves(row, String(1_000 + Number(row.address))) : [row]),
};
