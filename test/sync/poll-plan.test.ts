import anyAscii from "any-ascii";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { callsPerHourNeeded, configuredLoad } from "../../src/config/warnings.js";
import { parameterGroup } from "../../src/greenhouse/device-types.js";
import type { Availability } from "../../src/greenhouse/model.js";
import { Rest, systemClock } from "../../src/runtime/clock.js";
import { RequestBudget, Schedule } from "../../src/runtime/schedule.js";
import {
  jobHost,
  jobIntervalMs,
  jobRequest,
  jobsOf,
  nextDueAt,
  type PollJob,
  PollSchedule,
  registerReads,
} from "../../src/sync/poll-plan.js";
import { callsPerHour } from "../../src/sync/poll-reads.js";
import { mirrorSettings } from "../../src/sync/settings.js";
import { GreenhouseStore } from "../../src/sync/store.js";
import { loaded, platform } from "../config/loading.js";
import { actuator, controller, controllerSettings } from "../support/builders.js";
import { VirtualClock } from "../support/virtual-clock.js";

const sensors = (code: string): PollJob => ({ kind: "sensors", code });

function book(...jobs: PollJob[]): PollSchedule {
  return bookWith(() => null, jobs);
}

function bookWith(silentPart: (job: PollJob) => "itself" | null, jobs: readonly PollJob[]): PollSchedule {
  const one = new PollSchedule({
    soon: new RequestBudget(0),
    connectionGapMs: () => 0,
    silentPart,
    hasSilentPlace: () => true,
  });
  for (const job of jobs) one.add(job);
  return one;
}

/** Names of everything due at `now`, in order; each is planned again far away. */
function due(one: PollSchedule, now: number): string[] {
  const names: string[] = [];
  while (one.waitMs(now) === 0) {
    const taken = one.take(now);
    if (taken !== null) names.push(taken.name);
  }
  return names;
}

describe("what is asked for again", () =>
  it("keeps its place: however often, the jobs of the lowest rank have their turn", () => {
    const one = book(sensors("A"), { kind: "running_status", code: "A" });
    due(one, 100);
    const taken: (string | undefined)[] = [];
    for (let now = 1_000; now < 4_000; now += 1_000) {
      one.makeDue(now, () => true);
      taken.push(one.take(now)?.name);
    }
    expect(taken).toContain("running_status A");
  }));

describe("when a job runs next", () => {
  const minute = 60_000;
  const names = Array.from({ length: 500 }, (_, place) => `sensors GH-${place}`);
  const dueIn = (intervalMs: number, chance: number, share = 0) =>
    names.map((name) => nextDueAt(name, 10 * minute, intervalMs, chance, share));

  it.each([1_000, 10_000, minute, 24 * 60 * minute])(
    "of %i ms: at its own phase, from half an interval on and within one and a half, give or take 5 %%",
    (intervalMs) => {
      for (const chance of [0, 0.5, 0.999])
        for (const at of dueIn(intervalMs, chance)) {
          expect(at - 10 * minute).toBeGreaterThanOrEqual(0.45 * intervalMs);
          expect(at - 10 * minute).toBeLessThanOrEqual(1.55 * intervalMs);
        }
    },
  );

  it("many leave together and are spread evenly over the interval all the same", () => {
    const times = dueIn(minute, 0.5);
    const perMoment = new Map<number, number>();
    for (const at of times) perMoment.set(at, (perMoment.get(at) ?? 0) + 1);
    expect(perMoment.size).toBeLessThanOrEqual(61);
    expect(Math.max(...perMoment.values())).toBeLessThan(3.5 * (names.length / 60));
  });

  it("those of two accounts leave at other moments", () => {
    const own = new Set(dueIn(minute, 0.5, 0.25));
    expect(dueIn(minute, 0.5, 0.75).filter((at) => own.has(at))).toEqual([]);
  });
});

describe("a host that is away", () => {
  it("has one of its jobs tried now and then; the other host's go on", () => {
    const one = book({ kind: "controllers" }, sensors("A"), sensors("B"));
    one.hostAway("realtime", 0);
    expect(due(one, 100)).toEqual(["controllers"]);
    const tried: string[] = [];
    for (let now = 1_000; now <= 60_000; now += 1_000)
      for (const name of due(one, now)) {
        tried.push(name);
        one.runAgainAt(name, now + 1_000);
      }
    expect(tried.length).toBeGreaterThanOrEqual(6);
    expect(tried.filter((name) => name !== "controllers").length).toBeLessThanOrEqual(13);
    expect(new Set(tried)).toContain("sensors B");
  });

  it("is tried with a controller that was silent only where there is nothing else", () => {
    const isSilent = (job: PollJob) => (job.kind === "sensors" && job.code === "A" ? "itself" : null);
    const triedOf = (jobs: readonly PollJob[]) => {
      const one = bookWith(isSilent, jobs);
      one.hostAway("realtime", 0);
      const tried: string[] = [];
      for (let now = 1_000; now <= 30_000; now += 1_000)
        for (const name of due(one, now)) {
          tried.push(name);
          one.runAgainAt(name, now + 1_000);
        }
      return tried;
    };
    expect(triedOf([sensors("A")])).toContain("sensors A");
    expect(new Set(triedOf([sensors("A"), sensors("B")]))).toEqual(new Set(["sensors B"]));
  });

  it("has its last try due at once when that brings it back, and what is not near in its own time", () => {
    const one = book(sensors("A"), sensors("B"));
    due(one, 100);
    one.runAgainAt("sensors B", 60_000);
    one.hostAway("realtime", 1_000);
    one.runAgainAt("sensors A", 60_000);
    one.hostBack("realtime", 1_000, () => 60_000);
    expect(due(one, 1_000)).toEqual(["sensors A"]);
  });

  it.each([
    ["what was asked for more rarely than its interval is now", 0, 300_000, 60_000],
    ["what is due within its interval", 0, 40_000, 40_000],
    ["what was read so long ago that it is overdue", -60_000, 300_000, 30_000],
    ["what was never asked", null, 300_000, 300_000],
  ] as const)("that is back has %s due within that interval", (_name, begunAt, plannedAt, dueAt) => {
    const one = book(sensors("A"));
    due(one, 100);
    if (begunAt !== null) one.onBegun("sensors A", begunAt);
    one.runAgainAt("sensors A", plannedAt);
    one.hostAway("realtime", 10_000);
    one.hostBack("realtime", 30_000, () => 60_000);
    expect(due(one, dueAt - 1_000)).toEqual([]);
    expect(due(one, dueAt)).toEqual(["sensors A"]);
  });

  it("that comes and goes has everything read again once in its interval", () => {
    const one = book(sensors("A"));
    const times = [0, 2_000, 4_000, 61_000].map((now) => {
      one.hostAway("realtime", now);
      one.runAgainAt("sensors A", now);
      one.hostBack("realtime", now, () => 60_000);
      return due(one, now).length;
    });
    expect(times).toEqual([1, 0, 0, 1]);
  });

  it("has what is asked once only, and failed meanwhile, asked at once, and others after it", () => {
    const once = { kind: "connection", code: "A" } as const;
    const one = book(once, sensors("A"));
    one.hostAway("realtime", 0);
    one.hostBack("realtime", 1_000, (job) => (job === once ? Infinity : 60_000), new Set([jobRequest(once)]));
    expect(due(one, 1_000)).toEqual(["connection A", "sensors A"]);
    one.runAgainAt("sensors A", 5_000);
    expect(due(one, 5_000)).toEqual(["sensors A"]);
  });

  it("of which one request has no answer is asked for something else, that is due first and did work", () => {
    const status = (code: string) => ({ kind: "running_status", code }) as const;
    const one = book(sensors("A"), status("A"), { kind: "controllers" });
    due(one, 100);
    one.runAgainAt("sensors A", 10_000);
    one.runAgainAt("running_status A", 20_000);
    one.runAgainAt("controllers", 30_000);
    one.askAnother("realtime", new Set(["GET /api/sensor-data"]), 1_000);
    expect(due(one, 1_000)).toEqual(["running_status A"]);
    one.askAnother("realtime", new Set(["GET /api/sensor-data", "GET /api/device_status"]), 2_000);
    expect(due(one, 2_000)).toEqual([]);
  });

  it("tries nothing where there is nothing to try", () => {
    const one = book({ kind: "controllers" });
    due(one, 0);
    one.hostAway("realtime", 0);
    expect(due(one, 60_000)).toEqual([]);
  });
});

const group = parameterGroup(10);

describe("the jobs", () => {
  const read = { kind: "registers", code: "A", read: { type: "group", group } } as const;
  const intervals = { controllers: 300, sensors: 60, running_status: 301, actuators: 120 };
  it.each<[PollJob, string, number, number]>([
    [{ kind: "controllers" }, "business", 300, 300],
    [{ kind: "devices", dataType: "TEXT" }, "business", 3_600, 3_600],
    [{ kind: "sensors", code: "A" }, "realtime", 60, 300],
    [{ kind: "running_status", code: "A" }, "realtime", 301, 1505],
    [read, "realtime", 120, 600],
  ])("%j: host, interval, and slower while its controller is offline", (job, host, online, offline) => {
    const here = (availability: Availability) =>
      jobIntervalMs(job, intervals, { ...controller(), availability });
    expect([jobHost(job), here("online"), here("unknown"), here("offline")]).toEqual([
      host,
      online,
      online,
      offline,
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
});

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
  expect(planned).toEqual({
    ...{ controllers: 12, devices: 2, sensors: 2 * 60, running_status: 2 * 12, connection: 0 },
    ...{ videos: 0, averages: 0 },
    ...{ registers: 2 * 30, register: 6 * 30 },
  });
  const total = Object.values(planned).reduce((sum, calls) => sum + calls, 0);
  expect(total).toBe(callsPerHourNeeded(configuration.polling, configuredLoad(configuration)));
});

type Step = readonly ["set", string, number] | readonly ["delete", string] | readonly ["take"];

const key = fc.constantFrom("a", "b", "c", "d", "e", "f", "g");
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(fc.constant("set" as const), key, fc.integer({ min: 0, max: 20 })),
  fc.tuple(fc.constant("delete" as const), key),
  fc.tuple(fc.constant("take" as const)),
);

describe("the schedule", () => {
  it("costs no more for a key where 40,000 are due than ten times what it costs where 400 are", () => {
    const leastFor = (keys: number): number => {
      const schedule = new Schedule<number>();
      for (let one = 0; one < keys; one += 1) schedule.set(one, one);
      const round = () => {
        const before = process.cpuUsage();
        for (let n = 0; n < 2_000; n += 1) schedule.set(schedule.take() ?? 0, keys + n);
        const { user, system } = process.cpuUsage(before);
        return user + system;
      };
      return Math.min(round(), round(), round());
    };
    leastFor(400);
    expect(leastFor(40_000)).toBeLessThan(10 * Math.max(leastFor(400), 500));
  });

  it("always gives a key of the earliest due time, of several the one that was set first", () =>
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const schedule = new Schedule<string>();
        const model = new Map<string, number>();
        for (const one of steps) {
          if (one[0] === "set") {
            schedule.set(one[1], one[2]);
            model.delete(one[1]);
            model.set(one[1], one[2]);
          } else if (one[0] === "delete") {
            schedule.delete(one[1]);
            model.delete(one[1]);
          } else {
            const [first] = [...model].sort(([, one], [, other]) => one - other);
            expect(schedule.take()).toBe(first?.[0] ?? null);
            model.delete(first?.[0] ?? "");
          }
          const first = schedule.first();
          expect(first?.at).toBe(model.size === 0 ? undefined : Math.min(...model.values()));
          for (const name of "abcdefg") expect(schedule.dueAt(name)).toBe(model.get(name));
        }
      }),
      { numRuns: 2_000 },
    ));
});

it("a rest of months asks no timer for more than it can hold, as that would fire at once", async () => {
  const asked: number[] = [];
  const clock = new VirtualClock();
  const after = (ms: number, call: () => void) => {
    asked.push(ms);
    return clock.after(0, call);
  };
  const rest = new Rest({ now: () => 0, monotonic: () => 0, wait: clock.wait, soon: clock.soon, after });
  await Promise.all([rest.for(90 * 86_400_000, new AbortController().signal), clock.advance(0)]);
  expect(asked).toEqual([2 ** 31 - 1]);
});

describe("the request budget", () => {
  it("lets half of it go at once and spreads the rest, so that there is always another soon", () => {
    const budget = new RequestBudget(300);
    const starts: number[] = [];
    for (let now = 0; now < 300_000;) {
      now += budget.waitMs(now);
      budget.spend(now);
      starts.push(now);
    }
    expect(starts[149]).toBe(0);
    const gaps = starts.slice(1).map((at, place) => at - (starts[place] ?? 0));
    expect(Math.max(...gaps)).toBeLessThan(500);
    expect(starts.filter((at) => at >= 120_000 && at < 180_000).length).toBeGreaterThan(290);
  });

  it("0 means no limit", () => {
    const budget = new RequestBudget(0);
    for (let n = 0; n < 10_000; n++) budget.spend(0);
    expect(budget.waitMs(0)).toBe(0);
    expect(budget.remaining(0)).toBeNull();
  });

  it("is never exceeded in any 60 s, whatever the demand", () =>
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 20 }),
        fc.array(fc.integer({ min: 0, max: 20_000 }), { maxLength: 200 }),
        (perMinute, gaps) => {
          const budget = new RequestBudget(perMinute);
          const starts: number[] = [];
          let now = 0;
          for (const gap of gaps) {
            now += gap;
            now += budget.waitMs(now);
            budget.spend(now);
            starts.push(now);
          }
          for (const [place, at] of starts.entries()) {
            const inWindow = starts.slice(place).filter((other) => other < at + 60_000).length;
            expect(inWindow).toBeLessThanOrEqual(perMinute);
          }
        },
      ),
    ));
});
