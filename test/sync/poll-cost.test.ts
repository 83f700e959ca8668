import anyAscii from "any-ascii";
import { describe, expect, it } from "vitest";
import { callsPerHourNeeded, configuredLoad } from "../../src/config/warnings.js";
import { parameterGroup } from "../../src/greenhouse/device-types.js";
import { systemClock } from "../../src/runtime/clock.js";
import {
  callsPerHour,
  jobIntervalMs,
  jobsOf,
  type PollJob,
  pollOperations,
  type RegisterRead,
} from "../../src/sync/poll-plan.js";
import { mirrorSettings } from "../../src/sync/settings.js";
import { GreenhouseStore } from "../../src/sync/store.js";
import { loaded, platform } from "../config/loading.js";

const lists: readonly PollJob[] = [
  { kind: "controllers" },
  { kind: "devices", dataType: "TEXT" },
  { kind: "devices", dataType: "STREAM" },
];
const reading =
  (read: RegisterRead) =>
  (code: string): PollJob => ({ kind: "registers", code, read });
const one = reading({ type: "address", address: "1" });
const group = reading({ type: "group", group: parameterGroup(2) });
const readings = (code: string): readonly PollJob[] => [
  { kind: "sensors", code },
  { kind: "running_status", code },
];
const nothing = Object.fromEntries(pollOperations.map((operation) => [operation, 0]));

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
      ...[1, { sensors: 120, running_status: 24, register: 60, registers: 60 }],
    ],
    [
      "the same, where the budget stretches the intervals to twice",
      [...lists, ...readings("A"), one("A")],
      ...[2, { controllers: 6, devices: 1, sensors: 30, running_status: 6, register: 15 }],
    ],
    ["whole calls", [{ kind: "sensors", code: "A" }], 7, { sensors: 9 }],
  ] as const)("an hour of %s", (_, jobs, stretch, cost) =>
    expect(callsPerHour(jobs, intervalMs(stretch))).toEqual({ ...nothing, ...cost }),
  ));

it("what `check` says polling will cost is what the bridge then plans, read by read", async () => {
  const { configuration } = await loaded(`${platform}controllers:
  G:
    actuators:
      together: { kind: skylight, address: 1, type_id: 2 }
      with_it: { kind: skylight, address: 2, mode_address: 3, position_address: 4, type_id: 2 }
      alone: { kind: light, address: 5 }
      apart: { kind: positioner, address: 6, mode_address: 7, position_address: 8 }
      half: { kind: positioner, address: 9, position_address: 10 }
    parameters:
      grouped: { address: 11, type_id: 203 }
      also: { address: 12, type_id: 203 }
      single: { address: 13 }
  H: {}
  I: { ignore: true }
`);
  const settings = mirrorSettings(configuration);
  const store = new GreenhouseStore(settings, systemClock, anyAscii);
  for (const { code, ignore } of settings.controllers.values()) if (!ignore) store.admit(code);
  const jobs = [...lists, ...[...store.controllers()].flatMap((controller) => jobsOf(controller, true))];
  const planned = callsPerHour(jobs, (job) => jobIntervalMs(job, configuration.polling, undefined));
  expect(planned).toMatchObject({ registers: 2 * 30, register: 6 * 30, sensors: 120 });
  const total = Object.values(planned).reduce((sum, calls) => sum + calls, 0);
  expect(total).toBe(callsPerHourNeeded(configuration.polling, configuredLoad(configuration)));
});
