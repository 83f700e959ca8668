import { describe, expect, it } from "vitest";
import { parameterGroup } from "../../src/greenhouse/device-types.js";
import { callsPerHour, type PollJob } from "../../src/sync/poll-plan.js";

const lists: readonly PollJob[] = [
  { kind: "controllers" },
  { kind: "devices", dataType: "TEXT" },
  { kind: "devices", dataType: "STREAM" },
];
const one = (code: string): PollJob => ({
  ...{ kind: "registers", code },
  read: { type: "address", address: "1" },
});
const group = (code: string): PollJob => ({
  ...{ kind: "registers", code },
  read: { type: "group", group: parameterGroup(2) },
});
const readings = (code: string): readonly PollJob[] => [
  { kind: "sensors", code },
  { kind: "running_status", code },
];
const nothing = {
  controllers: 0,
  devices: 0,
  connection: 0,
  sensors: 0,
  running_status: 0,
  register: 0,
  registers: 0,
};

const minutes: Readonly<Record<PollJob["kind"], number>> = {
  ...{ controllers: 5, devices: 60, sensors: 1, running_status: 5, registers: 2, connection: Infinity },
};
const intervalMs = (stretch: number) => (job: PollJob) => minutes[job.kind] * 60_000 * stretch;

describe("what polling costs", () =>
  it.each([
    ["nothing", [], 1, {}],
    ["the lists of an account", lists, 1, { controllers: 12, devices: 2 }],
    ["a controller's readings", readings("A"), 1, { sensors: 60, running_status: 12 }],
    ["an address alone", [one("A")], 1, { register: 30 }],
    ["all of a type at once", [group("A")], 1, { registers: 30 }],
    [
      "two of each",
      [...readings("A"), one("A"), group("A"), ...readings("B"), one("B"), group("B")],
      1,
      {
        ...{ sensors: 120, running_status: 24, register: 60, registers: 60 },
      },
    ],
    [
      "the same, where the budget stretches the intervals to twice",
      [...lists, ...readings("A"), one("A")],
      2,
      {
        ...{ controllers: 6, devices: 1, sensors: 30, running_status: 6, register: 15 },
      },
    ],
    ["whole calls", [{ kind: "sensors", code: "A" }], 7, { sensors: 9 }],
  ] as const)("an hour of %s", (_, jobs, stretch, cost) =>
    expect(callsPerHour(jobs, intervalMs(stretch))).toEqual({ ...nothing, ...cost }),
  ));
