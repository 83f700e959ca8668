import { isWindow } from "../control-values.js";
import type { Trait } from "./trait.js";

export const combinedBits: Trait = {
  text: "in automatic the bits are combined with what runs: `11010`, `11001`, `1110`, `1101`",
  told: ({ row: { kind }, value, level }) => {
    const isRunning = level > 0.5;
    if (value === "11000" && (isWindow(kind) || kind === "mode")) return isRunning ? "11010" : "11001";
    if (value === "1100") return isRunning ? "1110" : "1101";
    return null;
  },
};
