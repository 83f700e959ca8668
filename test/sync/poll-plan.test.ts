import anyAscii from "any-ascii";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { callsPerHourNeeded, configuredLoad } from "../../src/config/warnings.js";
import { parameterGroup } from "../../src/greenhouse/device-types.js";
import { systemClock } from "../../src/runtime/clock.js";
import { RequestBudget, Rest, Schedule } from "../../src/runtime/schedule.js";
import {
  callsPerHour,
  jobHost,
  jobIntervalMs,
  jobName,
  jobsOf,
  nextDueAt,
  type PollJob,
  pollOperations,
  PollSchedule,
  type RegisterRead,
  registerReads,
  stretchFactor,
} from "../../src/sync/poll-plan.js";
import { mirrorSettings } from "../../src/sync/settings.js";
import { GreenhouseStore } from "../../src/sync/store.js";
import { loaded, platform } from "../config/loading.js";
import { actuator, controller, controllerSettings } from "../support/builders.js";
import { VirtualClock } from "../support/virtual-clock.js";

const sensors = (code: string): PollJob => ({ kind: "sensors", code });

function book(...jobs: PollJob[]): PollSchedule {
  const one = new PollSchedule();
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

  it("tries nothing where there is nothing to try", () => {
    const one = book({ kind: "controllers" });
    due(one, 0);
    one.hostAway("realtime", 0);
    for (let now = 0; now < 60_000; now += 1_000) expect(due(one, now)).toEqual([]);
  });
});

const intervals = { controllers: 300, sensors: 60, running_status: 301, actuators: 120 };
const registers: PollJob = { kind: "registers", code: "A", read: { type: "address", address: "101" } };
const group = parameterGroup(10);

describe("the jobs", () => {
  it.each<[PollJob, string, string, number, number]>([
    [{ kind: "controllers" }, "controllers", "business", 300, 300],
    [{ kind: "devices", dataType: "TEXT" }, "devices TEXT", "business", 3_600, 3_600],
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

const lists: readonly PollJob[] = [
  { kind: "controllers" },
  { kind: "devices", dataType: "TEXT" },
  { kind: "devices", dataType: "STREAM" },
];
const reading =
  (read: RegisterRead) =>
  (code: string): PollJob => ({ kind: "registers", code, read });
const addressOf = reading({ type: "address", address: "1" });
const groupOf = reading({ type: "group", group });
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
    ["an address alone", [addressOf("A")], 1, { register: 30 }],
    ["all of a type at once", [groupOf("A")], 1, { registers: 30 }],
    [
      "two of each",
      [...readings("A"), addressOf("A"), groupOf("A"), ...readings("B"), addressOf("B"), groupOf("B")],
      ...[1, { sensors: 120, running_status: 24, register: 60, registers: 60 }],
    ],
    [
      "the same, where the budget stretches the intervals to twice",
      [...lists, ...readings("A"), addressOf("A")],
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

type Step = readonly ["set", string, number] | readonly ["delete", string] | readonly ["take"];

const key = fc.constantFrom("a", "b", "c", "d", "e", "f", "g");
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(fc.constant("set" as const), key, fc.integer({ min: 0, max: 20 })),
  fc.tuple(fc.constant("delete" as const), key),
  fc.tuple(fc.constant("take" as const)),
);

describe("the schedule", () =>
  it("always gives a key of the earliest due time, the last one it was given", () =>
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const schedule = new Schedule<string>();
        const model = new Map<string, number>();
        for (const one of steps) {
          if (one[0] === "set") {
            schedule.set(one[1], one[2]);
            model.set(one[1], one[2]);
          } else if (one[0] === "delete") {
            schedule.delete(one[1]);
            model.delete(one[1]);
          } else {
            const earliest = Math.min(...model.values());
            const taken = schedule.take();
            if (taken === null) expect(model.size).toBe(0);
            else {
              expect(model.get(taken)).toBe(earliest);
              model.delete(taken);
            }
          }
          const first = schedule.first();
          expect(first?.at).toBe(model.size === 0 ? undefined : Math.min(...model.values()));
          for (const name of "abcdefg") expect(schedule.dueAt(name)).toBe(model.get(name));
        }
      }),
      { numRuns: 2_000 },
    )));

it("gives keys of one due time in the order of setting", () =>
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 60 }), (times) => {
      const schedule = new Schedule<number>();
      for (const [key, at] of times.entries()) schedule.set(key, at);
      const wanted = [...times.keys()].sort((one, other) => (times[one] ?? 0) - (times[other] ?? 0));
      expect(times.map(() => schedule.take())).toEqual(wanted);
    }),
  ));

describe("when a job runs next", () => {
  it("is at least nearly half an interval away, at most little more than one and a half", () => {
    const now = fc.double({ min: 0, max: 1e9, noNaN: true });
    const chance = fc.double({ min: 0, max: 0.999, noNaN: true });
    fc.assert(
      fc.property(
        fc.string(),
        now,
        fc.integer({ min: 1_000, max: 3_600_000 }),
        chance,
        (job, at, interval, luck) => {
          const away = nextDueAt(job, at, interval, luck) - at;
          expect(away).toBeGreaterThan(0.44 * interval);
          expect(away).toBeLessThan(1.56 * interval);
        },
      ),
    );
  });

  it("spreads 1,000 jobs over the interval: no tenth of it has more than a fifth too many", () => {
    const tenths = new Array<number>(10).fill(0);
    for (let n = 0; n < 1_000; n++) {
      const tenth = Math.floor((nextDueAt(`sensors GH-${n}`, 1e6, 60_000, 0.5) % 60_000) / 6_000);
      tenths[tenth] = (tenths[tenth] ?? 0) + 1;
    }
    expect(Math.max(...tenths)).toBeLessThanOrEqual(140);
    expect(Math.min(...tenths)).toBeGreaterThanOrEqual(60);
  });
});

it("a rest of months asks no timer for more than it can hold, as that would fire at once", async () => {
  const asked: number[] = [];
  const clock = new VirtualClock();
  const after = (ms: number, call: () => void) => {
    asked.push(ms);
    return clock.after(0, call);
  };
  const rest = new Rest({ now: () => 0, monotonic: () => 0, wait: clock.wait, after });
  await Promise.all([rest.for(90 * 86_400_000, new AbortController().signal), clock.advance(0)]);
  expect(asked).toEqual([2 ** 31 - 1]);
});

describe("the request budget", () => {
  it("that is used up waits for the oldest to be a minute old", () => {
    const budget = new RequestBudget(3);
    for (const at of [0, 10, 20]) budget.spend(at);
    expect(budget.waitMs(30)).toBe(59_971);
    expect(budget.left(30)).toBe(0);
    expect(budget.waitMs(60_001)).toBe(0);
    expect(budget.left(60_006)).toBe(1);
  });

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
    expect(budget.left(0)).toBeNull();
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

describe("intervals stretch evenly", () =>
  it.each([
    [100, 300, 1],
    [300, 300, 1],
    [600, 300, 2],
    [600, 0, 1],
  ])("a demand of %d with a budget of %d: times %d", (demand, budget, factor) =>
    expect(stretchFactor(demand, budget)).toBe(factor),
  ));
