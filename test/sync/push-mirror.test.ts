import { describe, expect, it, onTestFinished } from "vitest";
import { parameterGroup, statusNumber } from "../../src/greenhouse/device-types.js";
import type { RawValue, RunningStatusItem, SensorItem } from "../../src/greenhouse/ports.js";
import type { ActuatorSettings } from "../../src/greenhouse/settings.js";
import { PushMirror } from "../../src/sync/push-mirror.js";
import {
  actuator,
  clientStatus,
  controllerSettings,
  item,
  nobodyWaits,
  record,
} from "../support/builders.js";
import { hour, mirrorSettings, polledMirror } from "../support/polled-mirror.js";

const code = "GH-0001";

type Bench = Awaited<ReturnType<typeof bench>>;

const month = 30 * 24 * hour;

/** A mirror on a virtual clock that was read once, two minutes ago, and is polled no more; the channel is open from the start. */
async function bench({
  actuators = [{}],
  online = true,
}: { actuators?: Partial<ActuatorSettings>[]; online?: boolean | null } = {}) {
  const settings = mirrorSettings([
    controllerSettings({ actuators: actuators.map((over) => actuator(over)) }),
  ]);
  const intervals = { controllers: month, sensors: month, running_status: month, actuators: month };
  const world = polledMirror({ settings, intervals });
  const { clock, store, platform, poller, abort } = world;
  platform.latencyMs = 100;
  platform.list = [record({ online })];
  const seen: string[] = [];
  const see = (of: string, address: string, raw: RawValue) => seen.push(`${of} ${address} ${String(raw)}`);
  const pushedTo = { store, poller, seen: { see } };
  const mirror = new PushMirror(pushedTo, nobodyWaits, clock);
  const run = poller.run(abort.signal);
  onTestFinished(async () => {
    abort.abort();
    await clock.advance(0);
    await run;
  });
  await clock.advance(120_000);
  platform.calls.length = 0;
  const registers = {
    set: (address: string, raw: RawValue) => {
      platform.registers.set(`${code} ${address}`, raw);
      return registers;
    },
  };
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
  const asked = () => platform.calls.map(({ name }) => name.replace(` ${code}`, ""));
  return { clock, store, platform, poller, registers, asked, mirror, polled, pushed, roof, seen };
}

describe("a pushed register", () => {
  it.each([
    ["that is shown already", { "101": 10001 }],
    ["of an address nobody follows", { "999": "1", constructor: "1", ["__proto__"]: "1" }],
  ])("%s changes nothing and asks nothing", async (_, values) => {
    const { polled, pushed, store, clock, asked } = await bench();
    polled({ "101": "10001" });
    const before = store.get(code);
    pushed(values);
    await clock.advance(60_000);
    expect(asked()).toEqual([]);
    expect(store.get(code)).toBe(before);
  });

  it("that differs is read afresh at once; where the read shows it too, the state comes from the push", async () => {
    const { polled, pushed, roof, clock, asked, registers } = await bench();
    polled({ "101": "10001" }, true);
    registers.set("101", "10010");
    pushed({ "101": "10010" });
    expect(roof()).toMatchObject({ state: "closed", source: "poll" });
    await clock.advance(1_000);
    expect(asked()).toEqual(["value 101 fresh"]);
    expect(roof()).toMatchObject({ state: "open", source: "push" });
  });

  it("that the read contradicts never shows", async () => {
    const { polled, pushed, roof, clock, registers, store } = await bench();
    polled({ "101": "10001" }, true);
    registers.set("101", "11000");
    const seen = new Set<string | null | undefined>();
    store.onChange(() => seen.add(roof()?.state));
    pushed({ "101": "10010" });
    await clock.advance(10_000);
    expect([...seen]).toEqual(["closed", "auto"]);
    expect(roof()).toMatchObject({ state: "auto", source: "poll" });
  });

  it.each([
    ["while its read was under way", 50, "1010"],
    ["right after its read ended", 150, "1001"],
  ])("that is undone %s shows so within 3 s", async (_, afterMs, register) => {
    const { polled, pushed, roof, clock, registers } = await bench({
      actuators: [{ kind: "circulation_fan" }],
    });
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
    const { polled, roof, clock, registers, mirror } = await bench({
      actuators: [{ kind: "circulation_fan" }],
    });
    polled({ "101": "1010" }, true);
    registers.set("101", "1001");
    mirror.onPushed(code, "101", "1001");
    await clock.advance(3_000);
    expect(roof()?.state).toBe("off");
  });

  it("of a group is verified address by address, as nothing says that a group is read from the device", async () => {
    const group = parameterGroup(2);
    const { pushed, clock, asked, registers, store } = await bench({
      actuators: [
        { id: "roof", address: "101", group },
        { id: "side", address: "102", group },
        { id: "alone", address: "103" },
      ],
    });
    registers.set("101", "10010").set("102", "10001").set("103", "11000");
    pushed({ "101": "10010", "102": "10010", "103": "11000" });
    await clock.advance(1_000);
    expect(asked().sort()).toEqual(["value 101 fresh", "value 102 fresh", "value 103 fresh"]);
    const shown = [...(store.get(code)?.actuators.values() ?? [])].map(
      ({ state, source }) => `${String(state)} ${String(source)}`,
    );
    expect(shown).toEqual(["open push", "closed poll", "auto push"]);
  });

  it("that never rests costs one read in 2 s", async () => {
    const { pushed, clock, asked, registers, polled } = await bench();
    polled({ "101": "0" }, true);
    registers.set("101", "0");
    for (let n = 0; n < 3_000; n++) {
      pushed({ "101": String((n % 99) + 1) });
      await clock.advance(10);
    }
    expect(asked().length).toBeLessThanOrEqual(16);
    expect(asked().length).toBeGreaterThanOrEqual(14);
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
  const statusesOf = ({ store }: Bench) =>
    [...(store.get(code)?.statuses.values() ?? [])].map(({ name, state }) => `${name} ${state}`);

  it("that differs from what a read has shown is read within 2 s, and that is shown", async () => {
    const made = await bench();
    const { mirror, clock, platform, asked } = made;
    platform.statuses = [fan(0)];
    mirror.fold({ type: "statuses", code, items: [fan(1)] }, 0);
    await clock.advance(1_000);
    expect(statusesOf(made)).toEqual(["fan off"]);
    platform.statuses = [fan(1)];
    mirror.fold({ type: "statuses", code, items: [fan(1, { name: "" })] }, 0);
    expect(statusesOf(made)).toEqual(["fan off"]);
    await clock.advance(1_200);
    expect(statusesOf(made)).toEqual(["fan on"]);
    expect(asked()).toEqual(["running_status", "running_status"]);
  });

  it("that says nothing new, or is of a status nobody has read, is worth a read a minute", async () => {
    const made = await bench();
    const { mirror, clock, platform, asked } = made;
    platform.statuses = [fan(0)];
    const odd = [fan(1, { name: "pump" }), fan(1, { name: "", number: null })];
    for (let second = 0; second < 59; second++) {
      mirror.fold({ type: "statuses", code, items: second % 2 === 0 ? [fan(0)] : odd }, 0);
      await clock.advance(1_000);
    }
    expect(asked()).toHaveLength(1);
    // What is news meanwhile does not wait for that.
    platform.statuses = [fan(1)];
    mirror.fold({ type: "statuses", code, items: [fan(1)] }, 0);
    await clock.advance(200);
    expect(statusesOf(made)).toEqual(["fan on"]);
  });
});

describe("a number of which a frame does not say whether it is an address or a running status", () => {
  const named = (number: number, value: RunningStatusItem["value"]): RunningStatusItem => ({
    name: "",
    number: statusNumber(number),
    value,
  });

  it("is read at once as the address that the configuration has, however its zeros are written", async () => {
    const { mirror, clock, asked, registers, store } = await bench({
      actuators: [{ kind: "motor", address: "0101", values: { open: "1" } }],
    });
    registers.set("0101", "1");
    mirror.fold({ type: "statuses", code, items: [named(101, 1)] }, 0);
    await clock.advance(1_000);
    expect(asked()).toContain("value 0101 fresh");
    expect(store.get(code)?.actuators.get("roof")?.state).toBe("open");
  });

  it("is no address where it has a name, or where nothing of the configuration has it", async () => {
    const { mirror, clock, asked } = await bench();
    mirror.fold({ type: "statuses", code, items: [{ ...named(101, 1), name: "fan" }, named(102, 1)] }, 0);
    await clock.advance(1_000);
    expect(asked()).toEqual(["running_status"]);
  });

  it("is read as the running status of that number where no address of the configuration has it", async () => {
    const { mirror, clock, asked, platform, pushed, seen } = await bench();
    platform.statuses = [fan(0)];
    mirror.fold({ type: "statuses", code, items: [fan(0)] }, 0);
    await clock.advance(60_000);
    platform.calls.length = 0;
    pushed({ "16": "1010" });
    await clock.advance(1_000);
    expect([asked(), seen]).toEqual([["running_status"], []]);
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
    const { mirror, clock, store, platform, asked } = await bench({ online });
    platform.status = () => clientStatus(status);
    const before = store.get(code)?.availability;
    mirror.fold({ type: "connection", code, online: false }, 0);
    expect(store.get(code)?.availability).toBe(before);
    await clock.advance(1_000);
    expect(store.get(code)?.availability).toBe(shown);
    expect(asked()).toHaveLength(asks);
  });

  it.each([
    ["before the read, gives way to what it says", [0], "online 7"],
    ["during the read, has it read once more", [50], "offline"],
    ["before the read and during it, too", [0, 50], "offline"],
  ] as const)("said %s", async (_name, said, shown) => {
    const { mirror, clock, store, platform, poller } = await bench();
    platform.latencyMs = 100;
    const answers = [{ ...clientStatus("online"), version: "7" }, clientStatus("offline")];
    platform.status = () => answers.shift() ?? clientStatus("unknown");
    const push = () => mirror.fold({ type: "connection", code, online: false }, 0);
    if (said[0] !== 0) poller.readSoon({ kind: "connection", code }, 0, null);
    for (const at of said) {
      await clock.advance(at);
      push();
    }
    await clock.advance(3_000);
    const { availability = null, info = null } = store.get(code) ?? {};
    expect(`${String(availability)} ${info?.client?.version ?? ""}`.trim()).toBe(shown);
    expect(answers).toHaveLength(shown === "online 7" ? 1 : 0);
  });

  it("that was undone while the status was asked for never shows", async () => {
    const { mirror, clock, store, platform } = await bench();
    const seen = new Set<string | undefined>();
    store.onChange((_, after) => seen.add(after?.availability));
    platform.status = () => clientStatus("offline");
    mirror.fold({ type: "connection", code, online: false }, 0);
    await clock.advance(50);
    mirror.fold({ type: "connection", code, online: true }, 0);
    await clock.advance(100);
    platform.status = () => clientStatus("online");
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
  const sensorsOf = ({ store }: Bench) => [...(store.get(code)?.sensors.values() ?? [])];

  async function withWind(measured = true) {
    const made = await bench();
    const at = made.clock.now();
    const rain = item({ name: "雨量", value: 0, raw: 0, unit: "mm", measuredAt: at });
    const items = [wind(3, measured ? at : null), rain];
    made.store.dispatch(code, { type: "sensors_read", items, receivedAt: at, source: "poll" });
    const push = (pushed: SensorItem, openedAt = 0, receivedAt = made.clock.now()) =>
      made.mirror.fold({ type: "sensors", code, items: [pushed], receivedAt }, openedAt);
    return { ...made, at, push };
  }

  it("that are newer change the sensors that reads have shown, one by one, and never which sensor is which", async () => {
    const made = await withWind();
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
  ])("that are %s change nothing", async (_name, pushed) => {
    const made = await withWind();
    const before = made.store.get(code);
    made.push(pushed(made.at));
    expect(made.store.get(code)).toBe(before);
  });

  it.each([
    ["before", { value: 5, quality: "uncertain", source: "push" }],
    ["after", { value: 3 }],
  ])(
    "without a time count where the sensor never has one, and was read since the channel was opened: %s that",
    async (opened, shown) => {
      const made = await withWind(false);
      made.push(wind(5, null), opened === "before" ? 0 : made.clock.monotonic() + 1);
      expect(sensorsOf(made)[0]).toMatchObject(shown);
    },
  );

  it("without a time are as old as they came, however long they waited to be read", async () => {
    const made = await withWind(false);
    await made.clock.advance(20_000);
    made.push(wind(5, null), 0, made.clock.now() - 15_000);
    expect(sensorsOf(made)[0]).toMatchObject({ value: 5, receivedAt: made.at + 5_000 });
  });

  it("without a time that came before the newest read change nothing", async () => {
    const made = await withWind(false);
    made.push(wind(5, null), 0, made.at - 1);
    expect(sensorsOf(made)[0]).toMatchObject({ value: 3, source: "poll" });
  });
});
