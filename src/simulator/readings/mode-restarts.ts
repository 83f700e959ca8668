import { isDegree } from "../addresses.js";
import { isWindow } from "../control-values.js";
import type { Trait } from "./trait.js";

const mode = "10100";

export const modeRestarts: Trait = {
  text: "`10100` in the mode of positions makes a window close before it takes the next degree",
  taken: ({ controller, row, value, before }) => {
    if (value !== mode || before === null || !(isWindow(row.kind) || row.kind === "mode")) return;
    if (before === mode || isDegree(before)) controller.plant.drive(row, "10001");
  },
};
