import anyAscii from "any-ascii";
import { expect, it } from "vitest";
import { mirrorSettings } from "../../src/sync/settings.js";
import { callsPerHourNeeded, configuredLoad } from "../../src/config/warnings.js";
import { systemClock } from "../../src/runtime/clock.js";
import { callsPerHour, jobIntervalMs, jobsOf, type PollJob } from "../../src/sync/poll-plan.js";
import { GreenhouseStore } from "../../src/sync/store.js";
import { loaded, platform } from "../config/loading.js";

const lists: readonly PollJob[] = [
  { kind: "controllers" },
  { kind: "devices", dataType: "TEXT" },
  { kind: "devices", dataType: "STREAM" },
];

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
