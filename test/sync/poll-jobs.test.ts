import { describe, expect, it } from "vitest";
import { parameterGroup } from "../../src/greenhouse/device-types.js";
import {
  jobHost,
  jobIntervalMs,
  jobName,
  jobRank,
  jobsOf,
  type PollJob,
  registerReads,
} from "../../src/sync/poll-plan.js";
import { actuator, controller, controllerSettings } from "../support/builders.js";

const intervals = { controllers: 300, sensors: 60, running_status: 301, actuators: 120 };
const registers: PollJob = { kind: "registers", code: "A", read: { type: "address", address: "101" } };
const group = parameterGroup(10);

describe("the jobs", () => {
  it.each<[PollJob, string, string, number, number]>([
    [{ kind: "controllers" }, "controllers", "business", 300, 300],
    [{ kind: "sensors", code: "A" }, "sensors A", "realtime", 60, 300],
    [{ kind: "running_status", code: "A" }, "running_status A", "realtime", 301, 1505],
    [registers, "registers A 101", "realtime", 120, 600],
    [{ ...registers, read: { type: "group", group } }, "registers A group 10", "realtime", 120, 600],
  ])(
    "%j: name, host, interval, and slower while its controller is offline",
    (job, name, host, online, offline) => {
      const here = { ...controller(), availability: "online" } as const;
      expect([jobName(job), jobHost(job)]).toEqual([name, host]);
      expect(jobIntervalMs(job, intervals, here)).toBe(online);
      expect(jobIntervalMs(job, intervals, { ...here, availability: "unknown" })).toBe(online);
      expect(jobIntervalMs(job, intervals, { ...here, availability: "offline" })).toBe(offline);
    },
  );

  it("the device list is asked for seldom, from the business host", () => {
    expect(jobHost({ kind: "devices", dataType: "TEXT" })).toBe("business");
    expect(jobIntervalMs({ kind: "devices", dataType: "TEXT" }, intervals, undefined)).toBeGreaterThanOrEqual(
      3_600,
    );
  });

  it("the account comes first, then what people look at", () => {
    const jobs: PollJob[] = [
      { kind: "running_status", code: "A" },
      registers,
      { kind: "sensors", code: "A" },
      { kind: "devices", dataType: "TEXT" },
      { kind: "controllers" },
    ];
    expect(jobs.sort((one, other) => jobRank(one) - jobRank(other)).map(({ kind }) => kind)).toEqual([
      "controllers",
      "devices",
      "sensors",
      "registers",
      "running_status",
    ]);
  });
});

describe("registers are read with the fewest requests", () => {
  const settings = controllerSettings({
    actuators: [
      actuator({ id: "a", group }),
      actuator({ id: "b", address: "102", group }),
      actuator({ id: "c", address: "201", modeAddress: "202", positionAddress: "203" }),
      actuator({ id: "d", address: "300" }),
    ],
    parameters: [
      { id: "p", address: "501", scale: 1 },
      { id: "q", address: "502", scale: 1, group },
      { id: "r", address: "300", scale: 1 },
    ],
  });

  it("one for each group, one for each address without, none twice", () =>
    expect(registerReads(controller(settings))).toEqual([
      { type: "group", group },
      { type: "address", address: "202" },
      { type: "address", address: "203" },
      { type: "address", address: "300" },
      { type: "address", address: "501" },
    ]));

  it("one without readings has its registers and its status; one without registers its readings and its status", () => {
    const kinds = (...args: Parameters<typeof jobsOf>) => jobsOf(...args).map(({ kind }) => kind);
    expect(kinds(controller(settings), false)).toEqual([...Array<string>(5).fill("registers"), "connection"]);
    expect(kinds(controller(), true)).toEqual(["sensors", "running_status", "connection"]);
  });
});
