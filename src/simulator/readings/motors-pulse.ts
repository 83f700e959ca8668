import type { Trait } from "./trait.js";

const idle = "00000000";
const pulseMs = 1_000;

export const motorsPulse: Trait = {
  text: "a motor's register is a pulse: a value starts or stops it, and the register goes back to `00000000` after a second",
  rows: (row) => [row.kind === "motor" ? { ...row, initial: idle } : row],
  taken: ({ controller, row: { kind, address }, value, at }) => {
    if (kind === "motor" && value !== idle)
      controller.schedule({ at: at + pulseMs, address, value: idle, by: "idle", onlyIf: value });
  },
};
