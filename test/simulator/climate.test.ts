import { describe, expect, it } from "vitest";
import { localHour, weatherAt } from "../../src/simulator/weather.js";
import { Asking, hourMs, minuteMs } from "./asking.js";

describe("the weather", () => {
  it("stays within what happens outdoors for a year, and has sun, rain and storms in it", () => {
    const hours = Array.from({ length: 365 * 24 }, (_, n) => Date.UTC(2026, 0, 1) + n * hourMs);
    const year = hours.map((at) => ({ ...weatherAt(at, 3, null), hour: localHour(at) }));
    const count = (is: (weather: (typeof year)[number]) => boolean) => year.filter(is).length;
    expect(count(({ temperatureC }) => temperatureC <= -20 || temperatureC >= 42)).toBe(0);
    expect(
      count(({ irradianceWm2, windMs }) => irradianceWm2 < 0 || irradianceWm2 >= 1100 || windMs < 0),
    ).toBe(0);
    expect(count(({ irradianceWm2, hour }) => hour < 3 && irradianceWm2 !== 0)).toBe(0);
    expect(count(({ rainMmH }) => rainMmH > 0)).toBeGreaterThan(100);
    expect(count(({ rainMmH }) => rainMmH > 0)).toBeLessThan(2500);
    expect(count(({ windMs }) => windMs > 14)).toBeGreaterThan(5);
    expect(count(({ temperatureC }) => temperatureC < 0)).toBeGreaterThan(100);
  });
});

describe("the weather station", () => {
  const said = (asking: Asking) =>
    Object.fromEntries(asking.control.weather().map(({ topic, payload }) => [topic, payload]));
  const speed = (asking: Asking) =>
    (JSON.parse(said(asking)["weather/wind"] ?? "{}") as { speed?: number }).speed ?? NaN;
  const every10s = (asking: Asking, see: (asking: Asking) => unknown) =>
    Array.from({ length: 120 }, () => see(asking.pass(10_000)));

  it("feels gusts from their first second to their last, around what they were asked to be", () => {
    const asking = new Asking({
      faults: [{ fault: "gusts", value: 20, at: 30_000, for: 20 * minuteMs }],
    });
    const before = speed(asking.pass(29_000));
    expect(speed(asking.pass(1_000))).toBeGreaterThan(before);
    const during = Array.from({ length: 119 }, () => speed(asking.pass(10_000)));
    expect(Math.min(...during)).toBeGreaterThanOrEqual(17);
    expect(Math.max(...during)).toBeLessThanOrEqual(23);
    expect(Math.max(...during) - Math.min(...during)).toBeGreaterThan(3);
    expect(speed(asking.pass(20_000))).toBeLessThan(17);
  });

  it("has a rain that comes and goes, for which no local controller closes its roof", () => {
    const asking = new Asking();
    asking.post("GH-0001", "101", "10010");
    asking.control.fault({ fault: "showers", for: hourMs });
    const rain = every10s(asking, (one) => said(one)["weather/rain"]);
    expect(new Set(rain)).toEqual(new Set(["on", "off"]));
    const changes = rain.filter((word, at) => at > 0 && word !== rain[at - 1]).length;
    expect(changes).toBeGreaterThan(1);
    expect(changes).toBeLessThan(12);
    expect(asking.read("GH-0001", "101")).toBe("10010");
  });

  it("loses a sensor, or says nothing at all, for as long as it is told", () => {
    const asking = new Asking({
      faults: [
        { fault: "station_silent", sensor: "wind", for: minuteMs },
        { fault: "station_silent", at: 2 * minuteMs, for: minuteMs },
      ],
    });
    expect(Object.keys(said(asking))).toEqual(["weather/rain", "weather/temperature", "weather/irradiance"]);
    expect(Object.keys(said(asking.pass(minuteMs)))).toContain("weather/wind");
    expect(asking.pass(minuteMs).control.weather()).toEqual([]);
    expect(asking.pass(minuteMs).control.weather()).toHaveLength(4);
  });
});

describe("a greenhouse", () => {
  it("cools when its skylights are opened at noon", () => {
    const [closed, opened] = [new Asking(), new Asking()];
    for (const asking of [closed, opened]) {
      asking.post("GH-0001", "104", "10001");
      asking.pass(4 * hourMs);
    }
    for (const address of ["101", "103"]) opened.post("GH-0001", address, "10010");
    const warm = closed.pass(hourMs).number("GH-0001", "airtemp");
    expect(opened.pass(hourMs).number("GH-0001", "airtemp")).toBeLessThan(warm - 1);
  });

  it("shows only plausible readings for a year", () => {
    const asking = new Asking({ seed: 5 });
    const bounds: Record<string, readonly [number, number]> = {
      ...{ airtemp: [-15, 60], airhumi: [1, 100], co2: [100, 2500] },
      ...{ soiltemp: [-5, 45], soilhumi: [5, 45], vpd: [0, 12] },
    };
    for (let n = 0; n < 24; n++) {
      const readings = asking.pass(15 * 24 * hourMs + 5 * hourMs).readings("GH-0001");
      for (const [factor, [low, high]] of Object.entries(bounds)) {
        expect(readings[factor]).toBeGreaterThanOrEqual(low);
        expect(readings[factor]).toBeLessThanOrEqual(high);
      }
    }
  });
});

it("sensors are sampled once a simulated minute and carry that instant in Asia/Shanghai text", () => {
  const asking = new Asking();
  const stamps = new Set<number>();
  for (let n = 0; n < 120; n++) {
    const at = asking.pass(1000).sampledAt("GH-0001");
    expect(asking.now - at).toBeGreaterThanOrEqual(0);
    expect(asking.now - at).toBeLessThan(minuteMs + 1000);
    stamps.add(at);
  }
  expect(stamps.size).toBeLessThanOrEqual(3);
});
