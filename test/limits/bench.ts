import type { Guard, Limits } from "../../src/greenhouse/limits.js";

export const limits = (over: Partial<Limits> = {}): Limits => ({
  ...{ restMs: 0, reversalMs: 0, startsPerHour: null, forMs: null, atMostMs: null, endsWith: null },
  guards: [],
  ...over,
});

export const guard = (over: Partial<Guard> = {}): Guard => ({
  name: "wind",
  input: { type: "weather", name: "wind" },
  from: "weather/wind",
  condition: { type: "above", limit: 12, clearAt: 9 },
  clearAfterMs: 600_000,
  allow: { words: ["close"], degrees: { min: 0, max: 10 } },
  sends: null,
  actsBlind: false,
  ...over,
});
