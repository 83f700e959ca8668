import { describe, expect, it } from "vitest";
import type { SensorItem } from "../../src/greenhouse/ports.js";
import type { SensorSettings } from "../../src/greenhouse/settings.js";
import { isNoOtherSensor, layoutFor, unnamedTwins } from "../../src/greenhouse/sensor-identity.js";
import { operations, requestPath } from "../../src/platform/operations.js";
import { controllerSettings } from "../support/builders.js";

const one = (name: string, over: Partial<SensorItem> = {}): SensorItem => ({
  ...{ name, factor: null, channel: null, unit: "℃", value: 20, raw: 20, measuredAt: null },
  ...over,
});
const plain = (text: string) => text;

describe("sensors that differ by their place alone", () => {
  const items = [one("空气温度"), one("空气湿度"), one("空气温度", { value: 17 })];
  const idsOf = (sensors: readonly SensorSettings[], of = items) => {
    const settings = controllerSettings({ sensors });
    const first = layoutFor(of, { layout: [], settings }, { transliterate: plain });
    // A second answer, in which nothing changed, or one reading less.
    const again = layoutFor(of.slice(0, 3), { layout: first, settings }, { transliterate: plain });
    expect(again).toBe(first);
    return first.map(({ definition }) => definition?.id ?? null);
  };

  it("are told apart where the configuration names the second", () => {
    const second = { id: "second", from: "空气温度#2", scale: 1, offset: 0, ignore: false };
    expect(idsOf([])[2]).toBeNull();
    expect(idsOf([second])[2]).toBe("second");
    expect(idsOf([second])[0]).toBe(idsOf([])[0]);
  });

  it("are named as the configuration would name them", () => {
    expect(unnamedTwins(items)).toEqual(["空气温度#2"]);
    expect(unnamedTwins([one("a", { channel: "1" }), one("a", { channel: "2" })])).toEqual([]);
  });
});

describe("an entry of the configuration that names a sensor", () => {
  const of = (items: readonly SensorItem[], sensors: readonly SensorSettings[] = []) => {
    const settings = controllerSettings({ sensors });
    const layout = layoutFor(items, { layout: [], settings }, { transliterate: plain });
    return (id: string, from: string) => isNoOtherSensor({ layout, settings }, id, from, plain);
  };
  const air = [one("空气温度"), one("空气湿度")];
  const twins = [one("空气温度", { channel: "2" }), one("空气温度", { channel: "1" })];
  const named = { id: "roof", from: "空气温度", ignore: false };

  it.each<readonly [string, string, string, boolean]>([
    ["by the id that it has anyway is the same", "air_temperature", "空气温度", true],
    ["by its id in both places is the same", "air_temperature", "air_temperature", true],
    ["by another id is another topic", "roof", "空气温度", false],
    ["by the id of another is another one", "air_humidity", "空气温度", false],
    ["that is not there is none", "air_temperature", "光照", false],
  ])("%s", (_, id, from, isSame) => expect(of(air)(id, from)).toBe(isSame));

  it("of two that are called the same is the same by its channel, and by the name alone the first one", () => {
    const layout = layoutFor(twins, { layout: [], settings: null }, { transliterate: plain });
    const [second = "", first = ""] = layout.map(({ definition }) => definition?.id ?? "");
    expect(of(twins)(second, "空气温度@2")).toBe(true);
    expect(of(twins)(first, "空气温度@1")).toBe(true);
    expect(of(twins)(first, "空气温度")).toBe(true);
    expect(of(twins)(second, "空气温度")).toBe(false);
  });

  it("is another one where that alone gives it its id, or shows it", () => {
    expect(of(air, [named])("roof", "空气温度")).toBe(false);
    expect(of([...air, ...air])("x", "空气温度#2")).toBe(false);
  });

  it("of what was not read yet is not known", () => {
    expect(of([])("air_temperature", "空气温度")).toBe(false);
  });
});

describe("parameters that stand for what is asked", () => {
  const until = Date.UTC(2026, 4, 10);
  const window = { since: until - 24 * 3_600_000, until, offset: () => 8 * 3_600_000 };
  const params = { code: "{deviceCode}", startTime: "{since}", endTime: "{until}", size: "500" };

  it("are filled in, and one about a device is left out where none is asked about", () => {
    expect(requestPath(operations.weatherList, { deviceCode: "WS-1" }, { params }, () => window)).toBe(
      "/api/weather-data/list?deviceCode=WS-1&code=WS-1&startTime=2026-05-09%2008%3A00%3A00&endTime=2026-05-10%2008%3A00%3A00&size=500",
    );
    expect(requestPath(operations.videoList, {}, { params: { code: "{deviceCode}" } }, () => window)).toBe(
      "/api/video-data/list",
    );
  });

  it.each([
    ["date", "2026-05-09", "2026-05-10"],
    ["iso", "2026-05-09T08:00:00.000+08:00", "2026-05-10T08:00:00.000+08:00"],
    ["ms", "1778284800000", "1778371200000"],
    ["s", "1778284800", "1778371200"],
  ])("are written as the platform wants them: %s", (form, since, till) => {
    const params = { a: `{since:${form}}`, b: `{until:${form}}`, c: "{since:other}" };
    const path = requestPath(operations.weatherList, {}, { params }, () => window);
    expect(Object.fromEntries(new URL(path, "http://a").searchParams)).toEqual({
      a: since,
      b: till,
      c: "{since:other}",
    });
  });
});
