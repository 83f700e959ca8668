import { expect, it } from "vitest";
import { urgency } from "../../src/page/urgency.js";

const calm = {
  availability: "online",
  quality: "good",
  problem: false,
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
