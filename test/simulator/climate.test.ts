import { describe, expect, it } from "vitest";
import { sensorTable } from "../../src/simulator/sensors.js";
import { localHour, localText, Sky, weatherAt } from "../../src/simulator/weather.js";
import { Asking, hourMs, list, minuteMs, morning } from "./asking.js";

describe("the weather", () => {
  it("is the same for the same seed and instant, and another one for another seed", () => {
    expect(weatherAt(morning, 7, null)).toEqual(weatherAt(morning, 7, null));
    expect(weatherAt(morning, 7, null)).not.toEqual(weatherAt(morning, 8, null));
  });

  it("stays within what happens outdoors for a year, and has sun, rain and storms in it", () => {
    let [rainy, stormy, frosty] = [0, 0, 0];
    for (let at = Date.UTC(2026, 0, 1); at < Date.UTC(2027, 0, 1); at += hourMs) {
      const weather = weatherAt(at, 3, null);
      expect(weather.temperatureC).toBeGreaterThan(-20);
      expect(weather.temperatureC).toBeLessThan(42);
      expect(weather.irradianceWm2).toBeGreaterThanOrEqual(0);
      expect(weather.irradianceWm2).toBeLessThan(1100);
      expect(weather.windMs).toBeGreaterThanOrEqual(0);
      if (localHour(at) < 3) expect(weather.irradianceWm2).toBe(0);
      rainy += weather.rainMmH > 0 ? 1 : 0;
      stormy += weather.windMs > 14 ? 1 : 0;
      frosty += weather.temperatureC < 0 ? 1 : 0;
    }
    expect(rainy).toBeGreaterThan(100);
    expect(rainy).toBeLessThan(2500);
    expect(stormy).toBeGreaterThan(5);
    expect(frosty).toBeGreaterThan(100);
  });

  it("obeys a forced storm from its start to its end", () => {
    const sky = new Sky(1);
    const before = sky.at(morning).windMs;
    sky.force("storm", morning + hourMs, morning + 2 * hourMs);
    expect(sky.at(morning).windMs).toBe(before);
    expect(sky.at(morning + 90 * minuteMs).windMs).toBeGreaterThan(14);
    expect(sky.at(morning + 90 * minuteMs).rainMmH).toBeGreaterThan(10);
    expect(sky.at(morning + 3 * hourMs).windMs).toBe(new Sky(1).at(morning + 3 * hourMs).windMs);
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
      faults: [{ fault: "gusts", value: 20, atMs: 30_000, forMs: 20 * minuteMs }],
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
    asking.control.fault({ fault: "showers", forMs: hourMs });
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
        { fault: "station_silent", sensor: "wind", forMs: minuteMs },
        { fault: "station_silent", atMs: 2 * minuteMs, forMs: minuteMs },
      ],
    });
    expect(Object.keys(said(asking))).toEqual(["weather/rain", "weather/temperature", "weather/irradiance"]);
    expect(Object.keys(said(asking.pass(minuteMs)))).toContain("weather/wind");
    expect(asking.pass(minuteMs).control.weather()).toEqual([]);
    expect(asking.pass(minuteMs).control.weather()).toHaveLength(4);
  });
});

describe("somebody in a greenhouse", () => {
  it("turns one switch after the other by hand, in one greenhouse, until he leaves", () => {
    const asking = new Asking({
      controllers: 4,
      faults: [{ fault: "somebody", forMs: 5 * minuteMs, delayMs: minuteMs }],
    });
    const moved = (ms: number): readonly string[] => {
      asking.pass(ms).state.advance(asking.now);
      return asking.state.takeChanges().map(({ device, held }) => `${device.code} ${held.by}`);
    };
    const seen = [0, 1, 1, 1, 1].flatMap((minutes) => moved(minutes * minuteMs));
    expect(seen.length).toBe(5);
    expect(new Set(seen).size).toBe(1);
    expect(seen[0]).toMatch(/^GH-\d+ hand$|^FM-\d+ hand$/);
    expect(moved(hourMs)).toEqual([]);
  });
});

describe("a greenhouse", () => {
  it.each([1, 2, 3])("is warmer at two in the afternoon than at four in the morning (seed %i)", (seed) => {
    const asking = new Asking({ seed });
    asking.pass(6 * hourMs);
    const day = asking.number("GH-0001", "airtemp");
    asking.pass(14 * hourMs);
    expect(day).toBeGreaterThan(asking.number("GH-0001", "airtemp") + 2);
  });

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

  it("differs from the next one a little", () => {
    const asking = new Asking().pass(4 * hourMs);
    const [a, b] = ["GH-0001", "GH-0003"].map((code) => asking.number(code, "airtemp"));
    expect(a).not.toBe(b);
    expect(Math.abs((a ?? 0) - (b ?? 0))).toBeLessThan(6);
  });

  it("changes slowly: no reading of the air jumps within a minute", () => {
    const asking = new Asking();
    let before = asking.number("GH-0001", "airtemp");
    for (let n = 0; n < 24 * 60; n++) {
      const now = asking.pass(minuteMs).number("GH-0001", "airtemp");
      expect(Math.abs(now - before)).toBeLessThan(2.5);
      before = now;
    }
  });

  it.each([1, 5])("shows only plausible readings for a year (seed %i)", (seed) => {
    const asking = new Asking({ seed });
    const bounds: Record<string, readonly [number, number]> = {
      airtemp: [-15, 60],
      airhumi: [1, 100],
      co2: [100, 2500],
      soiltemp: [-5, 45],
      soilhumi: [5, 45],
      vpd: [0, 12],
    };
    for (let n = 0; n < 24; n++) {
      const readings = asking.pass(15 * 24 * hourMs + 5 * hourMs).readings("GH-0001");
      for (const [factor, [low, high]] of Object.entries(bounds)) {
        expect(readings[factor]).toBeGreaterThanOrEqual(low);
        expect(readings[factor]).toBeLessThanOrEqual(high);
      }
    }
  });

  it("waters by its fertilizer machine: flow, EC and pH follow a plan that runs", () => {
    const asking = new Asking();
    const idle = asking.readings("FM-0002");
    asking.post("FM-0002", "210", "1010");
    const running = asking.pass(5 * minuteMs).readings("FM-0002");
    expect(running.flow).toBe(6.5);
    expect(running.ecfii).toBeGreaterThan(Number(idle.ecfii));
    expect(running.phfii).toBeLessThan(Number(idle.phfii));
    expect(running.lp).toBeGreaterThan(Number(idle.lp));
  });
});

describe("sensors", () => {
  it("are sampled once a simulated minute and carry that instant in Asia/Shanghai text", () => {
    const asking = new Asking();
    const stamps = new Set<unknown>();
    for (let n = 0; n < 120; n++) {
      const { data } = asking.pass(1000).get("/api/sensor-data", { deviceCode: "GH-0001" });
      stamps.add(list(data)[0]?.dateTime);
    }
    expect(stamps.size).toBeLessThanOrEqual(3);
    for (const stamp of stamps) {
      const at = Date.parse(`${String(stamp).replace(" ", "T")}+08:00`);
      expect(asking.now - at).toBeLessThan(180_000);
      expect(at).toBeLessThanOrEqual(asking.now);
    }
  });

  it("are never stamped in the future or long ago, however fast the simulation runs", () => {
    const asking = new Asking({ speed: 720, startAt: Date.UTC(2030, 0, 1) });
    for (let n = 0; n < 20; n++) {
      const { data } = asking.pass(7000).get("/api/sensor-data", { deviceCode: "GH-0001" });
      const at = Date.parse(`${String(list(data)[0]?.dateTime).replace(" ", "T")}+08:00`);
      expect(at).toBeLessThanOrEqual(asking.now);
      expect(asking.now - at).toBeLessThan(2000);
    }
  });

  it("have the decimals of their kind and distinct names, factors and channels", () => {
    const asking = new Asking();
    for (const [type, code] of [
      ["C001", "GH-0001"],
      ["C003", "FM-0002"],
      ["W001", "WS-0001"],
    ] as const) {
      const rows = sensorTable(type);
      const readings = asking.readings(code);
      expect(new Set(rows.map((row) => row.name)).size).toBe(rows.length);
      expect(new Set(rows.map((row) => row.channel)).size).toBe(rows.length);
      for (const row of rows) {
        const value = Number(readings[row.factor]);
        expect(Number(value.toFixed(row.decimals))).toBe(value);
      }
    }
    expect(sensorTable("C001")).toHaveLength(12);
  });

  it("of one greenhouse are not read again by looking: an unchanged minute gives equal answers", () => {
    const asking = new Asking();
    expect(asking.readings("GH-0001")).toEqual(asking.readings("GH-0001"));
  });
});

describe("local time", () =>
  it.each([
    [Date.UTC(2026, 4, 10, 0, 0, 0), "2026-05-10 08:00:00"],
    [Date.UTC(2026, 11, 31, 16, 0, 1), "2027-01-01 00:00:01"],
  ])("of %i is %s in Shanghai", (at, text) => expect(localText(at)).toBe(text)));
