import anyAscii from "any-ascii";
import { describe, expect, it } from "vitest";
import type { BandsByKind } from "../../src/greenhouse/bands.js";
import type { BridgeEvent } from "../../src/greenhouse/events.js";
import type { Alarm } from "../../src/greenhouse/limits.js";
import type { SensorSettings } from "../../src/greenhouse/settings.js";
import type { RecordBody } from "../../src/journal/records.js";
import { AlarmStore } from "../../src/limits/alarm-store.js";
import { ReadingAlarms } from "../../src/limits/readings/watch.js";
import { GreenhouseStore } from "../../src/sync/store.js";
import { controllerSettings, item, sensorSettings } from "../support/builders.js";
import { minute } from "../support/folding.js";
import { mirrorSettings } from "../support/polled-mirror.js";
import { settled, VirtualClock } from "../support/virtual-clock.js";

const code = "GH-0001";
const byKind: BandsByKind = {
  temperature: { low_low: 2, low: 5, high: 35, deadband: 1, delay: 10 * minute },
};

interface Given {
  readonly bands?: BandsByKind;
  readonly sensors?: readonly SensorSettings[];
  /** What an earlier run left. */
  readonly alarms?: readonly Alarm[];
  readonly clock?: VirtualClock;
  readonly houses?: number;
}

/** A bridge with readings and alarms alone. */
function house({
  bands = byKind,
  sensors = [],
  alarms = [],
  clock = new VirtualClock(),
  houses = 1,
}: Given = {}) {
  const settings = Array.from({ length: houses }, (_, n) =>
    controllerSettings({ code: n === 0 ? code : `GH-${n}`, name: `House ${n}`, sensors }),
  );
  const store = new GreenhouseStore(mirrorSettings(settings, { bands }), clock, anyAscii);
  const kept = new Map<string, Alarm | null>();
  const events: BridgeEvent[] = [];
  const counts = { published: 0, summaries: 0 };
  const book = new AlarmStore({
    clock,
    store,
    journal: {
      append: (record: RecordBody) => {
        if (record.type === "alarm_kept") kept.set(record.name, record.alarm ?? null);
        return Promise.resolve(1);
      },
    },
    onEvent: (event) => events.push(event),
    publish: () => (counts.published += 1),
    publishAll: () => (counts.summaries += 1),
    watchedFacts: () => ({
      journalProblem: null,
      otherBridge: false,
      crashLoop: null,
      overdue: () => ({ late: [], upToDate: new Set() }),
      isGone: () => false,
    }),
  });
  const readings = new ReadingAlarms({ clock, store, alarms: book });
  book.restore(alarms);
  readings.restore();
  store.setReachable(true);
  for (const one of settings) store.admit(one.code);
  /** A reading that is measured now, or `ago` minutes before. */
  const read = async (
    value: number | string | null,
    { ago = 0, of = code, name = "空气温度", unit = "℃" } = {},
  ) => {
    const measuredAt = clock.now() - ago * minute;
    store.dispatch(of, {
      type: "sensors_read",
      items: [item({ name, unit, value, raw: value, measuredAt })],
      receivedAt: clock.now(),
      source: "poll",
    });
    await settled();
  };
  const told = () => book.list.map(({ id, state, severity }) => `${id} ${state} ${severity}`);
  const message = () => book.list[0]?.message;
  return { clock, store, book, events, kept, counts, read, told, message };
}

const id = "reading_low.gh-0001.air_temperature";

describe("an alarm on a reading", () => {
  it("is raised, becomes an error in its place, and clears, each told once", async () => {
    const { clock, read, told, message, events, store } = house();
    await read(4);
    expect(told()).toEqual([]);
    await clock.advance(10 * minute);
    await read(3.5);
    expect(told()).toEqual([`${id} active warning`]);
    expect(message()).toBe("Air temperature is 3.5 °C, below 5 °C.");
    expect(store.get(code)?.readingAlarms).toEqual([
      { sensor: "air_temperature", limit: "low", message: "Air temperature is 3.5 °C, below 5 °C." },
    ]);
    await read(1);
    await clock.advance(10 * minute);
    await read(1.5);
    expect(told()).toEqual([`${id} active error`]);
    expect(message()).toBe("Air temperature is 1.5 °C, below 2 °C.");
    await clock.advance(minute);
    await read(6);
    expect(told()).toEqual([`${id} cleared error`]);
    expect(store.get(code)?.readingAlarms).toEqual([]);
    expect(events.map(({ type, facts }) => `${type} ${facts?.["sensor"]}`)).toEqual([
      "alarm air_temperature",
      "alarm_cleared air_temperature",
    ]);
  });

  it("that was acknowledged is active again where it becomes worse, and stays so where it becomes better", async () => {
    const { clock, read, told, book } = house({
      bands: { temperature: { low_low: 2, low: 5, deadband: 1, delay: 0 } },
    });
    await read(4);
    expect(book.acknowledge(id, "anna").ids).toEqual([id]);
    await clock.advance(minute);
    await read(1);
    expect(told()).toEqual([`${id} active error`]);
    book.acknowledge(id, "anna");
    await clock.advance(minute);
    await read(4);
    expect(told()).toEqual([`${id} acknowledged warning`]);
  });

  it.each([
    ["stale", async ({ clock }: ReturnType<typeof house>) => clock.advance(16 * minute)],
    ["bad", async ({ read, clock }: ReturnType<typeof house>) => (await clock.advance(minute), read(999))],
    ["stale", async ({ store }: ReturnType<typeof house>) => (store.setReachable(false), settled())],
  ])("is neither raised nor cleared by a %s reading, and says so", async (quality, lose) => {
    const scene = house({ bands: { temperature: { low: 5, delay: 0 } } });
    const { store, clock, read, told, message } = scene;
    const end = new AbortController();
    void store.run(end.signal);
    await read(4);
    const words = message();
    await lose(scene);
    expect(told()).toEqual([`${id} active warning`]);
    expect(message()).toBe(
      `${words} Its newest reading is ${quality}, so it is not known whether this is so still.`,
    );
    store.setReachable(true);
    await read(4);
    expect(message()).toBe(words);
    await clock.advance(minute);
    await read(20);
    expect(told()).toEqual([`${id} cleared warning`]);
    end.abort();
  });

  it("is on over a restart, and the first good value decides", async () => {
    const first = house();
    await first.read(4);
    await first.clock.advance(10 * minute);
    await first.read(4);
    const alarms = [...first.kept.values()].flatMap((one) => one ?? []);
    for (const [value, after] of [
      [5.5, "active"],
      [6, "cleared"],
    ] as const) {
      const next = house({ alarms, clock: first.clock });
      expect(next.told()).toEqual([`${id} active warning`]);
      await next.read(4, { ago: 20 });
      expect(next.message()).toBe("Before the restart: Air temperature is 4 °C, below 5 °C.");
      expect(next.store.get(code)?.readingAlarms).toHaveLength(1);
      await next.read(value);
      expect(next.told()).toEqual([`${id} ${after} warning`]);
      if (after === "active") expect(next.message()).toBe("Air temperature is 4 °C, below 5 °C.");
    }
  });

  it.each<[rule: string, given: Given]>([
    ["its limit", { bands: {} }],
    ["it by its kind", { sensors: [sensorSettings({ id: "air_temperature", alarm: false })] }],
    [
      "it because the sensor is left out",
      { sensors: [sensorSettings({ id: "air_temperature", ignore: true })] },
    ],
  ])("is over where the configuration takes away %s", async (_, given) => {
    const first = house({ bands: { temperature: { low: 5, delay: 0 } } });
    await first.read(4);
    const alarms = [...first.kept.values()].flatMap((one) => one ?? []);
    const next = house({ ...given, alarms, clock: first.clock });
    await next.read(4);
    // What is left out is no reading at all; another one shows that this controller was read.
    await next.read(50, { name: "空气湿度", unit: "%" });
    expect(next.told()).toEqual([`${id} cleared warning`]);
  });

  it("judges the value as it is scaled, by its own limits before those of its kind", async () => {
    const sensors = [sensorSettings({ id: "air", scale: 0.1, offset: -1, alarm: { low: 3, delay: 0 } })];
    const { clock, read, told } = house({ sensors });
    await read(41);
    expect(told()).toEqual([]);
    await clock.advance(minute);
    await read(39);
    expect(told()).toEqual(["reading_low.gh-0001.air active warning"]);
  });
});

it("readings that cross at once are told as one flood, in turns, with one summary a turn", async () => {
  const { store, clock, book, events, counts, read } = house({
    houses: 200,
    bands: { temperature: { low: 5, delay: 0 } },
  });
  for (const { info } of store.controllers()) void read(4, { of: info.code });
  await clock.advance(0);
  expect(book.list.filter(({ type }) => type === "reading_low")).toHaveLength(200);
  expect(events.map(({ type }) => type)).toEqual([...Array.from({ length: 10 }, () => "alarm"), "flood"]);
  expect(counts.summaries).toBeLessThanOrEqual(42);
});
