import type { Trait } from "./trait.js";

export const fanAutomatic: Trait = {
  text: "fan and wet curtain take `11111`, which is automatic",
  rows: (row) => [row.kind === "fan_wet_curtain" ? { ...row, automatic: "11111" } : row],
};
