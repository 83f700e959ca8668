import anyAscii from "any-ascii";
import { describe, expect, it, onTestFinished } from "vitest";
import type { BandsByKind } from "../../src/greenhouse/bands.js";
import type { BridgeEvent } from "../../src/greenhouse/events.js";
import type { Alarm } from "../../src/greenhouse/limits.js";
import type { SensorSettings } from "../../src/greenhouse/settings.js";
import type { RecordBody } from "../../src/journal/records.js";
import { AlarmStore } from "../../src/limits/alarm-store.js";
import { ReadingAlarms } from "../../src/limits/readings/watch.js";
import { topicsUnder } from "../../src/mqtt/topics.js";
import type { TextFile } from "../../src/runtime/file-system.js";
import { GreenhouseStore } from "../../src/sync/store.js";
import { clientStatus, controllerSettings, item, sensorSettings, silentLog } from "../support/builders.js";
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
  readonly averages?: boolean;
  /** What an earlier run kept beside its alarms. */
  readonly disk?: { text: string | null };
  readonly memory?: TextFile;
}

/** A bridge with readings and alarms alone. */
function house({
  bands = byKind,
  sensors = [],
  alarms = [],
  clock = new VirtualClock(),
  houses = 1,
  averages = false,
  disk = { text: null },
  memory = {
    read: () => Promise.resolve(disk.text),
    write: (text: string) => Promise.resolve(void (disk.text = text)),
  },
}: Given = {}) {
  const settings = Array.from({ length: houses }, (_, n) =>
    controllerSettings({ code: n === 0 ? code : `GH-${n}`, name: `House ${n}`, sensors, averages }),
  );
  const store = new GreenhouseStore(mirrorSettings(settings, { bands }), clock, anyAscii);
  const kept = new Map<string, Alarm | null>();
  const events: BridgeEvent[] = [];
  const counts = { published: 0, summaries: 0 };
  const gone = new Set<string>();
  const topics = topicsUnder("greenhouse");
  const wanted = (topic: string) => (counts[topic === topics.bridge.alarms ? "summaries" : "published"] += 1);
  const journal = {
    append: (record: RecordBody) => {
      if (record.type === "alarm_kept") kept.set(record.name, record.alarm ?? null);
      return Promise.resolve(1);
    },
  };
  const onEvent = (event: BridgeEvent) => void events.push(event);
  const book = new AlarmStore({ clock, store, journal, onEvent, retained: { wanted }, topics }, () => ({
    journalProblem: null,
    otherBridge: false,
    crashLoop: null,
    overdue: () => ({ late: [], upToDate: new Set() }),
    isGone: (controller) => gone.has(controller),
  }));
  const answeredAt = new Map<string, number>();
  const readings = new ReadingAlarms(book, {
    ...{ clock, store, log: silentLog, readingsKept: memory },
    readingsAnsweredAt: (of) => answeredAt.get(of) ?? null,
  });
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
    answeredAt.set(of, clock.monotonic());
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
  const over = new AbortController();
  onTestFinished(() => over.abort());
  const ended = readings.run(over.signal);
  const end = async () => {
    over.abort();
    await ended;
  };
  return { clock, store, book, events, kept, counts, gone, read, told, message, end };
}

const id = "reading_low.gh-0001.air_temperature";

describe("limits that are changed while the bridge runs", () => {
  const bands = (temperature: BandsByKind["temperature"]) =>
    mirrorSettings([controllerSettings({ code, name: "House 0" })], { bands: { temperature } });

  it("leave an alarm that is still one as it is, with its beginning and who has seen it", async () => {
    const { clock, read, book, store, told, message } = house();
    await read(4);
    await clock.advance(10 * minute);
    await read(4);
    const { since } = book.list[0] ?? {};
    book.acknowledge("all", "anna");
    store.rename(bands({ low_low: 2, low: 8, high: 35, deadband: 1, delay: 10 * minute }));
    await clock.advance(minute);
    expect(told()).toEqual([`${id} acknowledged warning`]);
    expect(book.list[0]).toMatchObject({ since, by: "anna" });
    expect(message()).toBe("Air temperature is 4 °C, below 8 °C.");
  });

  it("end an alarm that is none any more at once", async () => {
    const { clock, read, store, told } = house();
    await read(4);
    await clock.advance(10 * minute);
    await read(4);
    await clock.advance(10 * minute);
    store.rename(bands({ low: 2, deadband: 0.5, delay: 10 * minute }));
    await clock.advance(minute);
    expect(told()).toEqual([`${id} cleared warning`]);
    expect(store.get(code)?.readingAlarms).toEqual([]);
  });

  it("that are taken away take their alarm with them", async () => {
    const { clock, read, store, told } = house();
    await read(4);
    await clock.advance(10 * minute);
    await read(4);
    await clock.advance(10 * minute);
    store.rename(mirrorSettings([controllerSettings({ code, name: "House 0" })]));
    await clock.advance(minute);
    expect(told()).toEqual([`${id} cleared warning`]);
  });

  it("begin the delay anew where they are further out, as nobody knows how long the value was beyond them", async () => {
    const { clock, read, store, told } = house();
    await read(4.9);
    await clock.advance(9 * minute);
    await read(4.4);
    store.rename(bands({ low: 4.5, deadband: 0.2, delay: 10 * minute }));
    await clock.advance(minute);
    await read(4.4);
    expect(told()).toEqual([]);
    await clock.advance(9 * minute);
    await read(4.4);
    expect(told()).toEqual([`${id} active warning`]);
  });

  it("let a delay that runs go on where they are stricter", async () => {
    const { clock, read, store, told } = house();
    await read(4);
    await clock.advance(6 * minute);
    store.rename(bands({ low: 6, deadband: 1, delay: 10 * minute }));
    await clock.advance(minute);
    await clock.advance(4 * minute);
    await read(4);
    expect(told()).toEqual([`${id} active warning`]);
  });

  it("judge what was read last by the new ones", async () => {
    const { clock, read, store, told } = house({ bands: {} });
    await read(4);
    store.rename(bands({ low: 5, delay: 0 }));
    await clock.advance(minute);
    await clock.advance(minute);
    expect(told()).toEqual([`${id} active warning`]);
  });
});

describe("an alarm on a reading", () => {
  it("is raised, becomes an error in its place, and clears, each an event", async () => {
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
    expect(events.map(({ severity }) => severity)).toEqual(["warning", "error", "info"]);
    expect(events.map(({ type, facts }) => `${type} ${facts?.["sensor"]}`)).toEqual([
      "alarm air_temperature",
      "alarm air_temperature",
      "alarm_cleared air_temperature",
    ]);
  });

  it("says within its deadband that the value is back, until it is beyond the limit again", async () => {
    const { clock, read, told, message } = house({
      bands: { temperature: { low_low: 2, low: 5, deadband: 1, delay: 0 } },
    });
    const next = async (value: number) => {
      await clock.advance(minute);
      await read(value);
      return message();
    };
    expect(await next(1.9)).toBe("Air temperature is 1.9 °C, below 2 °C.");
    expect(await next(5)).toBe("Air temperature is 5 °C again; the limit is 5 °C.");
    expect(await next(5.5)).toBe("Air temperature is 5 °C again; the limit is 5 °C.");
    expect(await next(4)).toBe("Air temperature is 4 °C, below 5 °C.");
    expect(await next(5)).toBe("Air temperature is 4 °C, below 5 °C.");
    await next(7);
    expect(told()).toEqual([`${id} cleared warning`]);
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

  describe("whose delay has begun", () => {
    const renewed = async (before: ReturnType<typeof house>, given: Given) => {
      await before.end();
      return house({ ...given, clock: before.clock });
    };

    it("is raised in time however often the bridge is started anew meanwhile", async () => {
      const disk = { text: null };
      let scene = house({ disk });
      await scene.read(4);
      for (let times = 0; times < 2; times += 1) {
        await scene.clock.advance(4 * minute);
        await scene.read(4);
        scene = await renewed(scene, { disk });
      }
      await scene.clock.advance(minute);
      await scene.read(4);
      expect(scene.told()).toEqual([]);
      await scene.clock.advance(minute);
      await scene.read(4);
      expect(scene.told()).toEqual([`${id} active warning`]);
    });

    it("becomes an error in time over a restart", async () => {
      const disk = { text: null };
      const bands = { temperature: { low_low: 2, low: 5, delay: 10 * minute } };
      const first = house({ disk, bands });
      await first.read(4);
      await first.clock.advance(10 * minute);
      await first.read(1);
      const alarms = [...first.kept.values()].flatMap((one) => one ?? []);
      const next = await renewed(first, { disk, bands, alarms });
      await first.clock.advance(10 * minute);
      await next.read(1);
      expect(next.told()).toEqual([`${id} active error`]);
    });

    it.each<[string, Given, (scene: ReturnType<typeof house>) => Promise<unknown>]>([
      [
        "its limit is another one",
        { bands: { temperature: { low: 4.5, delay: 10 * minute } } },
        () => settled(),
      ],
      ["the first good value is within it", {}, ({ read }) => read(20, { ago: 1 })],
      ["what was kept is damaged", { disk: { text: "{ no JSON" } }, () => settled()],
    ])("begins it anew where %s", async (_, given, first) => {
      const disk = { text: null };
      const before = house({ disk });
      await before.read(4);
      await before.clock.advance(9 * minute);
      const scene = await renewed(before, { disk, ...given });
      await first(scene);
      await scene.read(4);
      await scene.clock.advance(2 * minute);
      await scene.read(4);
      expect(scene.told()).toEqual([]);
      await scene.clock.advance(8 * minute);
      await scene.read(4);
      expect(scene.told()).toEqual([`${id} active warning`]);
    });

    it("is on disk within a minute, until it was told", async () => {
      const disk = { text: null as string | null };
      const { clock, read } = house({ disk });
      const since = clock.now();
      await read(4);
      await clock.advance(minute);
      expect(JSON.parse(disk.text ?? "")).toEqual({
        pending: [["gh-0001", "air_temperature", "low", 5, since]],
        unlisted: {},
      });
      await clock.advance(9 * minute);
      await read(4);
      await clock.advance(minute);
      expect(JSON.parse(disk.text ?? "")).toEqual({ pending: [], unlisted: {} });
    });

    it("is judged though the disk does not answer", async () => {
      const memory = { read: () => new Promise<never>(() => undefined), write: () => Promise.resolve() };
      const { clock, read, told } = house({ memory, bands: { temperature: { low: 5, delay: 0 } } });
      await read(4);
      expect(told()).toEqual([]);
      await clock.advance(5_000);
      expect(told()).toEqual([`${id} active warning`]);
    });
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

  describe("whose sensor the answers do not list any more", () => {
    const bands: BandsByKind = { temperature: { low: 5, delay: 0 } };
    const hour = 60 * minute;
    const goneMessage =
      "Air temperature is 4 °C, below 5 °C. This alarm ends: the controller has answered for a day without this sensor, so it was renamed, removed or is not shown any more.";

    interface Cold extends Omit<Given, "bands"> {
      readonly name?: string;
    }

    /** An alarm is on, in this run or from an earlier one. */
    async function cold(isCarried: boolean, { name = "空气温度", ...given }: Cold = {}) {
      const first = house({ bands, ...given });
      if (given.alarms === undefined) await first.read(4, { name });
      const alarms = [...first.kept.values()].flatMap((one) => one ?? []);
      const isNext = isCarried && given.alarms === undefined;
      const scene = isNext ? house({ bands, ...given, alarms, clock: first.clock }) : first;
      /** Answers come every ten minutes, with another sensor. */
      const answers = async (hours: number) => {
        for (let n = 0; n < hours * 6; n += 1) {
          await scene.read(20, { name: "温度2" });
          await scene.clock.advance(10 * minute);
        }
      };
      return { ...scene, answers };
    }

    it.each([[true], [false]])(
      "ends after a day of answers, and says why (of an earlier run: %s)",
      async (isCarried) => {
        const { answers, told, message, events, store, read, clock } = await cold(isCarried);
        await answers(23);
        expect(told()).toEqual([`${id} active warning`]);
        await answers(2);
        expect(told()).toEqual([`${id} cleared warning`]);
        expect(events.at(-1)).toMatchObject({ type: "alarm_cleared", message: goneMessage });
        expect(store.get(code)?.readingAlarms).toEqual([]);
        await read(3);
        expect(told().at(-1)).toBe(`${id} active warning`);
        expect(message()).toBe("Air temperature is 3 °C, below 5 °C.");
        await clock.advance(minute);
      },
    );

    it.each([[true], [false]])(
      "ends also where averages are asked for in vain (of an earlier run: %s)",
      async (isCarried) => {
        const { answers, told } = await cold(isCarried, { averages: true });
        await answers(25);
        expect(told()).toEqual([`${id} cleared warning`]);
      },
    );

    it("stands where it is of an average, and no answer has listed averages since the start", async () => {
      const name = "空气温度 (avg)";
      const sensors = [{ id: "mean", from: name, ignore: false, kind: "temperature" as const }];
      const { answers, told } = await cold(true, { averages: true, sensors, name });
      expect(told()).toEqual(["reading_low.gh-0001.mean active warning"]);
      await answers(25);
      expect(told()).toEqual(["reading_low.gh-0001.mean active warning"]);
    });

    it("counts its day on over restarts", async () => {
      const disk = { text: null };
      const first = await cold(false, { disk });
      await first.answers(13);
      const alarms = [...first.kept.values()].flatMap((one) => one ?? []);
      await first.end();
      const next = await cold(true, { disk, alarms, clock: first.clock });
      await next.answers(13);
      expect(next.told()).toEqual([`${id} cleared warning`]);
    });

    it("stands through an outage, and begins its day anew where the sensor comes back", async () => {
      const { answers, told, clock, read, store } = await cold(true);
      await answers(23);
      await clock.advance(48 * hour);
      await read(20, { name: "温度2" });
      await clock.advance(minute);
      expect(told()).toContain(`${id} active warning`);
      for (const state of ["online", "offline"] as const)
        store.dispatch(code, { type: "connection", status: clientStatus(state) });
      await answers(24);
      expect(told()).toContain(`${id} active warning`);
      store.dispatch(code, { type: "connection", status: clientStatus("online") });
      await read(4);
      await clock.advance(minute);
      await answers(23);
      expect(told()).toContain(`${id} active warning`);
    });
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
  expect(counts.summaries).toBeLessThanOrEqual(102);
});

/** Turns come when they are called for. */
class TurningClock extends VirtualClock {
  readonly turns: (() => void)[] = [];
  override readonly soon = (call: () => void): void => void this.turns.push(call);
}

describe("thousands of alarms at once", () => {
  const count = 3_000;
  const alarmsOf = (message: string | null) =>
    Array.from({ length: count }, (_, n) => ({
      ...{ type: "reading_low" as const, message },
      about: { controller: `gh-${n}`, actuator: null, sensor: "air_temperature" },
    }));

  /** How much is told in each turn until there is none left. */
  function scene() {
    const clock = new TurningClock();
    const made = house({ clock });
    const over = new AbortController();
    void made.book.run(over.signal);
    onTestFinished(() => over.abort());
    made.book.setAll(alarmsOf("cold"));
    /** `work`, and each turn that follows from it. */
    const turnsOf = async (...works: readonly (() => unknown)[]) => {
      const told: number[] = [];
      const toldIn = async (turn: () => unknown) => {
        const before = made.counts.published;
        await turn();
        await settled();
        told.push(made.counts.published - before);
      };
      for (const work of works) {
        await toldIn(work);
        for (let turn = clock.turns.shift(); turn !== undefined; turn = clock.turns.shift())
          await toldIn(turn);
      }
      return { told: told.reduce((sum, one) => sum + one, 0), most: Math.max(...told) };
    };
    /** The store looks at them every five seconds. */
    const looksIn = (minutes: number) =>
      turnsOf(...Array.from({ length: minutes * 12 }, () => () => clock.advance(5_000)));
    return { ...made, clock, turnsOf, looksIn };
  }
  const inTurns = (told: number) => ({
    told,
    most: expect.toSatisfy((most: number) => most <= 31) as number,
  });

  it("are acknowledged in turns, and that is answered once the disk has all", async () => {
    const { book, kept, turnsOf } = scene();
    let written = 0;
    const acknowledged = await turnsOf(() => {
      const { ids, written: onDisk } = book.acknowledge("all", "anna");
      void onDisk().then(() => (written = ids.length));
    });
    expect(acknowledged).toEqual(inTurns(count + 1));
    expect(written).toBe(count + 1);
    const states = new Set([...kept.values()].map((alarm) => alarm?.state));
    expect(states).toEqual(new Set(["acknowledged"]));
  });

  it.each([
    ["got worse", [{ message: "colder", severity: "error" as const }], false],
    ["ended and came again", [{ message: null }, { message: "cold" }], false],
    ["ended", [{ message: null }], false],
    ["says something else", [{ message: "as cold as before" }], true],
  ] as const)("are acknowledged as they were seen: not one that %s meanwhile", async (_, changes, isSeen) => {
    const { book, clock, turnsOf } = scene();
    const about = { controller: `gh-${count - 1}`, actuator: null, sensor: "air_temperature" };
    const id = `reading_low.gh-${count - 1}.air_temperature`;
    let told: readonly string[] = [];
    await turnsOf(() => clock.advance(5 * minute));
    await turnsOf(() => {
      const { ids, written } = book.acknowledge("all", "anna");
      void written().then(() => (told = ids));
      for (const change of changes) book.setAll([{ type: "reading_low", about, ...change }]);
      return clock.advance(1_000);
    });
    expect(book.has(id)).toBe(true);
    expect(told).toHaveLength(count + (isSeen ? 1 : 0));
    expect([told.includes(id), book.list.find((one) => one.id === id)?.state === "acknowledged"]).toEqual([
      isSeen,
      isSeen,
    ]);
  });

  it("of controllers that are gone end in turns, each with its sensor", async () => {
    const { book, gone, looksIn } = scene();
    for (const { controller } of book.list) gone.add(controller ?? "");
    expect(await looksIn(1)).toEqual(inTurns(count));
    expect(book.list.filter(({ state }) => state === "cleared")).toHaveLength(count);
  });

  it("end in turns, and are forgotten in turns an hour later", async () => {
    const { book, clock, kept, looksIn } = scene();
    book.setAll(alarmsOf(null));
    expect(await looksIn(2)).toEqual(inTurns(count));
    expect(book.list.filter(({ state }) => state === "cleared")).toHaveLength(count);
    await clock.advance(57 * minute);
    expect(await looksIn(4)).toEqual(inTurns(count));
    await clock.advance(15 * minute);
    expect([book.list, new Set(kept.values())]).toEqual([[], new Set([null])]);
  });
});
