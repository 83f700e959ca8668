import { expect, it } from "vitest";
import { countBeyond, urgency } from "../../src/page/urgency.js";

const calm = {
  availability: "online",
  quality: "good",
  problem: false,
  readings: {},
  worst: null,
  limits: { guards: {}, locks: {}, holds: {}, leases: {} },
} as const;

it("an error comes before warnings, whatever comes with them, and a warning before what is only limited", () => {
  const rows = {
    error: { ...calm, worst: "error" },
    warned: {
      ...calm,
      worst: "warning",
      availability: "offline",
      limits: { ...calm.limits, guards: { storm: 2 }, locks: { anna: 1 }, holds: { ben: 1 } },
    },
    warning: { ...calm, worst: "warning" },
    limited: { ...calm, quality: "stale", limits: { ...calm.limits, guards: { storm: 1 } } },
    info: { ...calm, worst: "info" },
    calm,
  } as const;
  const sorted = Object.entries(rows).toSorted(([, one], [, other]) => urgency(other) - urgency(one));
  expect(sorted.map(([name]) => name)).toEqual(Object.keys(rows));
});

it("a reading beyond its limits counts before its alarm is raised, the further the more", () => {
  const reading = (beyond: "low" | "low_low" | null) => ({
    ...({ sensor: "t", value: 4, unit: "°C", quality: "good", at: null } as const),
    beyond,
  });
  const rows = {
    far: { ...calm, readings: { temperature: reading("low_low"), humidity: reading("low") } },
    near: { ...calm, readings: { temperature: reading("low") } },
    locked: { ...calm, limits: { ...calm.limits, locks: { anna: 1 } } },
    within: { ...calm, readings: { temperature: reading(null) } },
    // The page is not sent what says nothing.
    unsent: { ...calm, readings: { temperature: reading(undefined as unknown as null) } },
  } as const;
  const sorted = Object.entries(rows).toSorted(([, one], [, other]) => urgency(other) - urgency(one));
  expect(sorted.map(([name]) => name)).toEqual(Object.keys(rows));
  expect(Object.values(rows).map(countBeyond)).toEqual([2, 1, 0, 0, 0]);
});
