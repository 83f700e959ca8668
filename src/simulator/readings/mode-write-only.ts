import type { Trait } from "./trait.js";

export const modeWriteOnly: Trait = {
  text: "a mode address that is not the degree's can only be written: no read gives a value of it",
  begin: () => ({ shown: ({ row, value }) => (row.kind === "mode" ? null : value) }),
};
