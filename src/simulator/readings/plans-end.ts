import type { Trait } from "./trait.js";

const lastsMs = 20 * 60_000;

export const plansEnd: Trait = {
  text: "an irrigation plan that was turned on ends by itself after 20 minutes",
  taken: ({ controller, row, value, at }) => {
    if (row.kind !== "irrigation" || value !== "1010") return;
    const { address } = row;
    controller.schedule({ at: at + lastsMs, address, value: "1001", by: "rotation_end", onlyIf: value });
  },
};
