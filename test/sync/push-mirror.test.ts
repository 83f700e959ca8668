import anyAscii from "any-ascii";
import { describe, expect, it } from "vitest";
import { parameterGroup, statusNumber } from "../../src/greenhouse/device-types.js";
import type { RawValue, RunningStatusItem, SensorItem } from "../../src/greenhouse/ports.js";
import type { ActuatorSettings } from "../../src/greenhouse/settings.js";
import { RequestBudget } from "../../src/runtime/schedule.js";
import { PushMirror, PushReads } from "../../src/sync/push-mirror.js";
import { GreenhouseStore } from "../../src/sync/store.js";
import {
  actuator,
  clientStatus,
  controllerSettings,
  item,
  nobodyWaits,
  record,
  silentLog,
} from "../support/builders.js";
import { failure } from "../support/counting-platform.js";
import { mirrorSettings } from "../support/polled-mirror.js";
import { settled, VirtualClock } from "../support/virtual-clock.js";

const code = "GH-0001";

/** A mirror on a virtual clock whose platform answers from maps; the channel is open from the start. */
function bench({
  actuators = [{}],
  online = true,
}: { actuators?: Partial<ActuatorSettings>[]; online?: boolean | null } = {}) {
  const clock = new VirtualClock();
  const settings = controllerSettings({ actuators: actuators.map((over) => actuator(over)) });
  const store = new GreenhouseStore(mirrorSettings([settings]), clock, anyAscii);
  store.setReachable(true);
  store.admit(code);
  store.dispatch(code, {
    type: "listed",
    record: record({ online }),
    availability: online === null ? "unknown" : "online",
  });
  const registers = new Map<string, RawValue>();
  const asked: string[] = [];
  const answers = {
    connection: "online" as "online" | "offline" | "unknown",
    statuses: [] as readonly RunningStatusItem[],
    latencyMs: 100,
  };
  const ask = async <Answer>(name: string, answer: () => Answer): Promise<Answer> => {
    asked.push(name);
    await clock.wait(answers.latencyMs);
    return answer();
  };
  const platform = {
    connection: () => ask("connection", () => clientStatus(answers.connection)),
    runningStatuses: () => ask("statuses", () => answers.statuses),
    value: (_code: string, address: string, fresh: boolean) =>
      ask(`value ${address}${fresh ? " fresh" : ""}`, () => registers.get(address) ?? null),
  };
  const bell = nobodyWaits;
  const reads = new PushReads({ clock, budgets: [new RequestBudget(0)], log: silentLog });
  const mirror = new PushMirror({ store, platform, bell, reads, clock });
  const quit = new AbortController();
  void reads.run(quit.signal);
  /** A read as polling makes it. */
  const polled = (values: Readonly<Record<string, RawValue>>, fresh = false) =>
    store.dispatch(code, {
      type: "registers_read",
      values: new Map(Object.entries(values)),
      startedAt: clock.monotonic(),
      readAt: clock.now(),
      fresh,
      source: "poll",
    });
  const pushed = (values: Readonly<Record<string, RawValue>>) =>
    mirror.fold({ type: "registers", code, values: new Map(Object.entries(values)) }, 0);
  const roof = () => store.get(code)?.actuators.get("roof");
  return { clock, store, registers, asked, answers, bell, reads, mirror, quit, polled, pushed, roof };
}

describe("a pushed register", () => {
  it.each([
    ["that is shown already", { "101": 10001 }],
    ["of an address nobody follows", { "999": "1", constructor: "1", ["__proto__"]: "1" }],
  ])("%s changes nothing and asks nothing", async (_, values) => {
    const { polled, pushed, store, clock, asked } = bench();
    polled({ "101": "10001" });
    const before = store.get(code);
    pushed(values);
    await clock.advance(60_000);
    expect(asked).toEqual([]);
    expect(store.get(code)).toBe(before);
  });

  it("that differs is read afresh at once; where the read shows it too, the state comes from the push", async () => {
    const { polled, pushed, roof, clock, asked, registers } = bench();
    polled({ "101": "10001" }, true);
    registers.set("101", "10010");
    pushed({ "101": "10010" });
    expect(roof()).toMatchObject({ state: "closed", source: "poll" });
    await clock.advance(1_000);
    expect(asked).toEqual(["value 101 fresh"]);
    expect(roof()).toMatchObject({ state: "open", source: "push" });
  });

  it("that the read contradicts never shows", async () => {
    const { polled, pushed, roof, clock, registers, store } = bench();
    polled({ "101": "10001" }, true);
    registers.set("101", "11000");
    const seen = new Set<string | null | undefined>();
    store.onChange(() => seen.add(roof()?.state));
    pushed({ "101": "10010" });
    await clock.advance(10_000);
    expect([...seen]).toEqual(["auto"]);
    expect(roof()).toMatchObject({ state: "auto", source: "poll" });
  });

  it.each([
    ["while its read was under way", 50, "1010"],
    ["right after its read ended", 150, "1001"],
  ])("that is undone %s shows so within 3 s", async (_, afterMs, register) => {
    const { polled, pushed, roof, clock, registers } = bench({ actuators: [{ kind: "circulation_fan" }] });
    polled({ "101": "1001" }, true);
    registers.set("101", "1010");
    pushed({ "101": "1010" });
    await clock.advance(afterMs);
    // The answer on its way may still say on.
    registers.set("101", register);
    pushed({ "101": "1001" });
    await clock.advance(100);
    registers.set("101", "1001");
    await clock.advance(2_750);
    expect(roof()?.state).toBe("off");
  });

  it("that a command which has ended left unread is read within 3 s", async () => {
    const { polled, roof, clock, registers, mirror } = bench({ actuators: [{ kind: "circulation_fan" }] });
    polled({ "101": "1010" }, true);
    registers.set("101", "1001");
    mirror.pushed(code, "101", "1001");
    await clock.advance(3_000);
    expect(roof()?.state).toBe("off");
  });

  it("of a group is verified address by address, as nothing says that a group is read from the device", async () => {
    const group = parameterGroup(2);
    const { pushed, clock, asked, registers, store } = bench({
      actuators: [
        { id: "roof", address: "101", group },
        { id: "side", address: "102", group },
        { id: "alone", address: "103" },
      ],
    });
    registers.set("101", "10010").set("102", "10001").set("103", "11000");
    pushed({ "101": "10010", "102": "10010", "103": "11000" });
    await clock.advance(1_000);
    expect([...asked].sort()).toEqual(["value 101 fresh", "value 102 fresh", "value 103 fresh"]);
    const shown = [...(store.get(code)?.actuators.values() ?? [])].map(
      ({ state, source }) => `${String(state)} ${String(source)}`,
    );
    expect(shown).toEqual(["open push", "closed poll", "auto push"]);
  });

  it("that never rests costs one read in 2 s", async () => {
    const { pushed, clock, asked, registers, polled } = bench();
    polled({ "101": "0" }, true);
    registers.set("101", "0");
    for (let n = 0; n < 3_000; n++) {
      pushed({ "101": String((n % 99) + 1) });
      await clock.advance(10);
    }
    expect(asked.length).toBeLessThanOrEqual(16);
    expect(asked.length).toBeGreaterThanOrEqual(14);
  });
});

const fan = (
  value: RunningStatusItem["value"],
  over: Partial<RunningStatusItem> = {},
): RunningStatusItem => ({
  name: "fan",
  number: statusNumber(16),
  value,
  ...over,
});

describe("a pushed running status", () => {
  const statusesOf = ({ store }: ReturnType<typeof bench>) =>
    [...(store.get(code)?.statuses.values() ?? [])].map(({ name, state }) => `${name} ${state}`);

  it("that differs from what a read has shown is read within 2 s, and that is shown", async () => {
    const made = bench();
    const { mirror, clock, answers, asked } = made;
    answers.statuses = [fan(0)];
    mirror.fold({ type: "statuses", code, items: [fan(1)] }, 0);
    await clock.advance(1_000);
    expect(statusesOf(made)).toEqual(["fan off"]);
    answers.statuses = [fan(1)];
    mirror.fold({ type: "statuses", code, items: [fan(1, { name: "" })] }, 0);
    expect(statusesOf(made)).toEqual(["fan off"]);
    await clock.advance(1_200);
    expect(statusesOf(made)).toEqual(["fan on"]);
    expect(asked).toEqual(["statuses", "statuses"]);
  });

  it("that says nothing new, or is of a status nobody has read, is worth a read a minute", async () => {
    const made = bench();
    const { mirror, clock, answers, asked } = made;
    answers.statuses = [fan(0)];
    const odd = [fan(1, { name: "pump" }), fan(1, { name: "", number: null })];
    for (let second = 0; second < 59; second++) {
      mirror.fold({ type: "statuses", code, items: second % 2 === 0 ? [fan(0)] : odd }, 0);
      await clock.advance(1_000);
    }
    expect(asked).toHaveLength(1);
    // What is news meanwhile does not wait for that.
    answers.statuses = [fan(1)];
    mirror.fold({ type: "statuses", code, items: [fan(1)] }, 0);
    await clock.advance(200);
    expect(statusesOf(made)).toEqual(["fan on"]);
  });
});

describe("a pushed connection", () => {
  it.each([
    ["is believed when the device's single status agrees", true, "offline", "offline", 1],
    ["contradicted changes nothing", true, "online", "online", 1],
    ["unreadable changes nothing", true, "unknown", "online", 1],
    [
      "of a device that the list gives no flag for changes nothing and asks nothing",
      null,
      "offline",
      "unknown",
      0,
    ],
  ] as const)("%s", async (_name, online, status, shown, asks) => {
    const { mirror, clock, store, answers, asked } = bench({ online });
    answers.connection = status;
    const before = store.get(code)?.availability;
    mirror.fold({ type: "connection", code, online: false }, 0);
    expect(store.get(code)?.availability).toBe(before);
    await clock.advance(1_000);
    expect(store.get(code)?.availability).toBe(shown);
    expect(asked).toHaveLength(asks);
  });

  it("that was undone while the status was asked for never shows", async () => {
    const { mirror, clock, store, answers } = bench();
    const seen = new Set<string | undefined>();
    store.onChange((_, after) => seen.add(after?.availability));
    answers.connection = "offline";
    mirror.fold({ type: "connection", code, online: false }, 0);
    await clock.advance(50);
    mirror.fold({ type: "connection", code, online: true }, 0);
    await clock.advance(100);
    answers.connection = "online";
    await clock.advance(2_850);
    expect([...seen]).not.toContain("offline");
  });
});

describe("pushed readings", () => {
  const wind = (value: number, measuredAt: number | null, over: Partial<SensorItem> = {}) =>
    item({
      name: "风速",
      factor: "windspeed",
      channel: "4",
      value,
      raw: value,
      unit: "m/s",
      measuredAt,
      ...over,
    });
  const sensorsOf = ({ store }: ReturnType<typeof bench>) => [...(store.get(code)?.sensors.values() ?? [])];

  function withWind(measured = true) {
    const made = bench();
    const at = made.clock.now();
    const rain = item({ name: "雨量", value: 0, raw: 0, unit: "mm", measuredAt: at });
    const items = [wind(3, measured ? at : null), rain];
    made.store.dispatch(code, { type: "sensors_read", items, receivedAt: at, source: "poll" });
    const push = (pushed: SensorItem, openedAt = 0) =>
      made.mirror.fold({ type: "sensors", code, items: [pushed] }, openedAt);
    return { ...made, at, push };
  }

  it("that are newer change the sensors that reads have shown, one by one, and never which sensor is which", () => {
    const made = withWind();
    const layout = made.store.get(code)?.layout;
    made.push(wind(5, made.at + 1_000));
    expect(sensorsOf(made).map(({ value, source }) => `${String(value)} ${source}`)).toEqual([
      "5 push",
      "0 poll",
    ]);
    expect(made.store.get(code)?.layout).toBe(layout);
    // Recognised by what it says of itself, where only one sensor fits that.
    made.push(wind(6, made.at + 2_000, { name: "", channel: null, unit: null }));
    expect(sensorsOf(made)[0]?.value).toBe(6);
  });

  it.each<[string, (at: number) => SensorItem]>([
    ["older", (at) => wind(5, at - 1_000)],
    ["undated", () => wind(5, null)],
    ["from the future", (at) => wind(5, at + 3_600_000)],
    ["in another unit", (at) => wind(5, at + 1_000, { unit: "km/h" })],
    ["of a sensor nobody has read", (at) => wind(5, at + 1_000, { factor: "gust" })],
    [
      "of nobody knows which",
      (at) => wind(5, at + 1_000, { name: "", channel: null, factor: null, unit: "m/s" }),
    ],
  ])("that are %s change nothing", (_name, pushed) => {
    const made = withWind();
    const before = made.store.get(code);
    made.push(pushed(made.at));
    expect(made.store.get(code)).toBe(before);
  });

  it.each([
    [0, { value: 5, quality: "uncertain", source: "push" }],
    [1, { value: 3 }],
  ])(
    "without a time count where the sensor never has one, and was read since the channel was opened (%i)",
    (openedAt, shown) => {
      const made = withWind(false);
      made.push(wind(5, null), openedAt);
      expect(sensorsOf(made)[0]).toMatchObject(shown);
    },
  );
});

function reading(perMinute = 0, share = 0) {
  const clock = new VirtualClock();
  const reads = new PushReads({
    clock,
    budgets: [new RequestBudget(perMinute), new RequestBudget(share)],
    log: silentLog,
  });
  const quit = new AbortController();
  const done = reads.run(quit.signal);
  const begun: string[] = [];
  let running = 0;
  let most = 0;
  const want = (name: string, { gapMs = 5_000, takesMs = 100, fails = false } = {}) =>
    reads.want(name, gapMs, async (signal) => {
      begun.push(`${name} ${clock.monotonic()}`);
      most = Math.max(most, ++running);
      try {
        await clock.wait(takesMs, signal);
        if (fails) throw failure("unreachable", "realtime");
      } finally {
        running--;
      }
    });
  return { clock, reads, quit, done, begun, want, most: () => most };
}

describe("reads that pushes ask for", () => {
  it("happen at once, and once however often they are wanted; wanted again soon they wait for the gap", async () => {
    const { clock, begun, want } = reading();
    for (let n = 0; n < 100; n++) want("a");
    want("b");
    await clock.advance(50);
    want("a");
    await clock.advance(60_000);
    want("a");
    await clock.advance(1_000);
    expect(begun).toEqual(["a 0", "b 0", "a 5000", "a 60050"]);
  });

  it.each([
    ["are never more than four at once", 0, 0, 40],
    ["keep to the request budget", 10, 0, 10],
    ["leave polling its part of the budget", 100, 25, 25],
  ])("%s", async (_, perMinute, share, inAMinute) => {
    const { clock, begun, want, most } = reading(perMinute, share);
    for (let n = 0; n < 40; n++) want(`a${n}`);
    await clock.advance(59_000);
    expect(begun).toHaveLength(inAMinute);
    expect(most()).toBe(4);
    await clock.advance(61_000);
    expect(begun).toHaveLength(Math.min(40, 2 * inAMinute));
  });

  it("beyond a thousand are left to polling", () => {
    const { reads, want } = reading();
    for (let n = 0; n < 5_000; n++) want(`a${n}`);
    expect(reads.waiting).toBe(1_000);
  });

  it("that fail are made again at growing pauses, and after the sixth time left to polling; wanted anew, at once", async () => {
    const { clock, begun, want } = reading();
    for (const name of ["a", "b"]) want(name, { fails: true, takesMs: 0 });
    await clock.advance(20_000);
    want("b", { takesMs: 0 });
    await clock.advance(3_600_000);
    const of = (name: string) => begun.filter((one) => one.startsWith(name)).join(", ");
    expect(of("a")).toBe("a 0, a 5000, a 15000, a 35000, a 75000, a 155000");
    expect(of("b")).toBe("b 0, b 5000, b 15000, b 20000");
  });

  it("that fail and are wanted for just when they are made again still end after the sixth time", async () => {
    const { clock, begun, want } = reading();
    want("a", { fails: true, takesMs: 0 });
    await clock.advance(1_000);
    want("a", { fails: true, takesMs: 0 });
    await clock.advance(3_600_000);
    expect(begun).toHaveLength(6);
  });

  it("end with the signal, and leave no timer", async () => {
    const { clock, want, quit, done } = reading();
    want("a", { takesMs: 60_000 });
    await clock.advance(10);
    quit.abort();
    await done;
    await settled();
    expect(clock.pendingTimers).toBe(0);
  });
});
