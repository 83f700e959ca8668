import { isWindow } from "../control-values.js";
import type { Trait } from "./trait.js";

export const actualPositions: Trait = {
  text: "`get-value` gives how far a window is, whatever was set",
  told: ({ row: { kind, roles }, level }) =>
    isWindow(kind) && roles.length === 1 ? String(Math.round(100 * level)) : null,
};
