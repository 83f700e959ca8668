import { describe, expect, it } from "vitest";
import type { Controller, Sensor } from "../../src/greenhouse/model.js";
import { type History, type HistoryPoint, PlatformError } from "../../src/greenhouse/ports.js";
import { fillTrends, namesOf } from "../../src/http/past-readings.js";
import { silentLog } from "../support/builders.js";
import { VirtualClock } from "../support/virtual-clock.js";

const sensor = (id: string, platformName: string, factor: string | null = null, over: object = {}): Sensor =>
  ({
    value: 1,
    definition: {
      ...{
        id,
        platformName,
        factor,
        numeric: true,
        scale: 1,
        offset: 0,
        min: null,
        max: null,
        decimals: null,
      },
      ...over,
    },
  }) as unknown as Sensor;

const controllerOf = (code: string, ...sensors: Sensor[]): Controller =>
  ({
    info: { code, id: code.toLowerCase() },
    availability: "online",
    sensors: new Map(sensors.map((one) => [one.definition.id, one])),
  }) as unknown as Controller;

const refusal = (kind: "rejected" | "unauthorized") =>
  new PlatformError("no", { kind, host: "business", operation: "weather-data/list", sent: true });

interface Scene {
  readonly controllers: () => readonly Controller[];
  readonly answers: (code: string) => Partial<History> | PlatformError;
  readonly known?: number;
}

/** Runs it for a while; gives who was asked and what was added. */
async function filled({ controllers, answers, known = 0 }: Scene, ms = 60_000) {
  const clock = new VirtualClock();
  const asked: string[] = [];
  const added: string[] = [];
  const end = new AbortController();
  const running = fillTrends(
    {
      clock,
      log: silentLog,
      controllers,
      pauseMs: () => 0,
      ask: (code) => {
        asked.push(code);
        const answer = answers(code);
        if (answer instanceof PlatformError) return Promise.reject(answer);
        return Promise.resolve({ points: [], isOwn: false, truncated: false, ...answer });
      },
      trends: {
        of: (_, ids) =>
          Promise.resolve({
            ...{ step_s: 900, since: "", until: "" },
            sensors: Object.fromEntries(
              ids.map((id) => [id, Array.from({ length: 96 }, (_, at) => (at < known ? 1 : null))]),
            ),
          }),
        add: (controller, id, points) =>
          added.push(...points.map(({ value }) => `${controller}/${id} ${value}`)),
      },
    },
    end.signal,
  );
  await clock.advance(ms);
  end.abort();
  await clock.advance(10_000);
  await running;
  expect(clock.pendingTimers).toBe(0);
  return { asked, added };
}

const points = (...values: readonly [name: string, value: number][]): readonly HistoryPoint[] =>
  values.map(([name, value], at) => ({ at, name, value }));
const air = () => sensor("air", "空气温度", "airtemp");
const houses = [controllerOf("A", air()), controllerOf("B", air()), controllerOf("C", air())];

describe("trends are filled from what the platform has kept", () => {
  it("of each controller once, after its first readings, of what names the sensor", async () => {
    let all: readonly Controller[] = [];
    const scene = filled({
      controllers: () => all,
      answers: (code) => ({ isOwn: true, points: points(["airtemp", code === "A" ? 20 : 21], ["other", 5]) }),
    });
    all = houses.slice(0, 2);
    const { asked, added } = await scene;
    expect(asked).toEqual(["A", "B"]);
    expect(added).toEqual(["a/air 20", "b/air 21"]);
  });

  it("not of one that is offline, shows nothing, or of which a day is known", async () => {
    const away = { ...controllerOf("A", air()), availability: "offline" } as Controller;
    const controllers = () => [away, controllerOf("B")];
    expect((await filled({ controllers, answers: () => ({}) })).asked).toEqual([]);
    const known = await filled({ controllers: () => houses, answers: () => ({}), known: 90 });
    expect(known.asked).toEqual([]);
  });

  it("where the answer does not say whose it is, only if another device is answered otherwise", async () => {
    const told = await filled({
      controllers: () => houses,
      answers: (code) => ({ points: points(["airtemp", code.charCodeAt(0)]) }),
    });
    expect(told.added).toEqual(["a/air 65", "b/air 66", "c/air 67"]);
    const same = await filled({
      controllers: () => houses,
      answers: () => ({ points: points(["airtemp", 20]) }),
    });
    expect(same).toEqual({ asked: ["A", "B"], added: [] });
    const alone = await filled({
      controllers: () => houses.slice(0, 1),
      answers: () => ({ points: points(["airtemp", 20]) }),
    });
    expect(alone.added).toEqual([]);
  });

  it("not any more after three answers in a row without anything, and after one refused credential", async () => {
    const many = Array.from({ length: 9 }, (_, n) => controllerOf(`H${n}`, air()));
    const controllers = () => many;
    expect((await filled({ controllers, answers: () => ({}) })).asked).toHaveLength(3);
    expect((await filled({ controllers, answers: () => refusal("rejected") })).asked).toHaveLength(3);
    expect((await filled({ controllers, answers: () => refusal("unauthorized") })).asked).toHaveLength(1);
  });

  it("in the unit of the sensor, without what it cannot be", async () => {
    const scaled = sensor("air", "t", null, { scale: 0.1, max: 60 });
    const { added } = await filled({
      controllers: () => [controllerOf("A", scaled)],
      answers: () => ({ isOwn: true, points: points(["t", 215], ["t", 9_999]) }),
    });
    expect(added).toEqual(["a/air 21.5"]);
  });
});

it("a name is a sensor's own, its code's, or means the same quantity as one sensor alone", () => {
  const all = [sensor("air", "空气温度", "airtemp"), sensor("soil", "土壤温度"), sensor("other", "t7")];
  const names = (...given: string[]) =>
    Object.fromEntries([...namesOf(all, given)].map(([one, own]) => [one.definition.id, own.join()]));
  expect(names("AirTemp", "t7", "pressure")).toEqual({ air: "AirTemp", other: "t7" });
  expect(names("air_temperature", "soilTemperature")).toEqual({
    air: "air_temperature",
    soil: "soilTemperature",
  });
  expect(namesOf([...all, sensor("two", "空气温度", "t2")], ["air temperature"]).size).toBe(0);
});
