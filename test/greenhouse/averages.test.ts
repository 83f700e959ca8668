import { describe, expect, it } from "vitest";
import { reduce } from "../../src/greenhouse/reduce.js";
import type { Controller } from "../../src/greenhouse/model.js";
import type { SensorItem } from "../../src/greenhouse/ports.js";
import { averageReader } from "../../src/platform/decode/sensors.js";
import { timeReader } from "../../src/platform/time.js";
import { zoneOffset } from "../../src/runtime/zone.js";
import { controller, item, limits } from "../support/builders.js";

const now = Date.UTC(2026, 2, 1, 8);
const hour = 3_600_000;

/** Averages as an answer gives them, with what was reported. */
function averages(body: unknown) {
  const problems: string[] = [];
  const items = averageReader({})(body, {
    ...{ code: "GH-0001", address: "", readTime: timeReader(zoneOffset("Asia/Shanghai")), receivedAt: now },
    report: (problem) => problems.push(String(problem)),
  });
  return { items, problems };
}

const read = (one: Controller, items: readonly SensorItem[], part?: "averages", at = now) =>
  reduce(
    one,
    { type: "sensors_read", items, receivedAt: at, source: "poll", ...(part && { part }) },
    { now: at, freshness: limits, transliterate: (text) => text },
  );

describe("averages of the platform", () => {
  it.each<[shape: string, data: unknown, found: unknown]>([
    ["one object", { temperature: 21.5, deviceCode: "GH-0001" }, [["avg_temperature", 21.5, null]]],
    [
      "a list with units",
      [
        { name: "空气温度", value: "21.5℃" },
        { name: "空气湿度", value: 60, unit: "%" },
      ],
      [
        ["空气温度 (avg)", 21.5, null],
        ["空气湿度 (avg)", 60, null],
      ],
    ],
    [
      "days, of which the newest counts",
      [
        { dateTime: "2026-03-01 00:00:00", temperature: 2 },
        { dateTime: "2026-02-28 00:00:00", temperature: 1 },
      ],
      [["avg_temperature", 2, now - 16 * hour]],
    ],
    ["days without times", [{ temperature: 2 }, { temperature: 1 }], []],
    ["of another device", [{ deviceCode: "GH-0002", temperature: 1 }], []],
    ["nothing", [], []],
  ])("%s: only what is said is read", (_, data, found) =>
    expect(
      averages({ code: 200, data }).items.map(({ factor, name, value, measuredAt }) => [
        factor ?? name,
        value,
        measuredAt,
      ]),
    ).toEqual(found),
  );

  it("stand beside the readings, which they neither change nor outdate", () => {
    const own = item({ name: "空气温度", factor: "airtemp", value: 20, raw: 20, measuredAt: now });
    const { items } = averages({ data: [{ factor: "airtemp", name: "空气温度", value: 18 }] });
    const both = read(read(controller(), [own]), items, "averages");
    const shown = [...both.sensors].map(([id, { value, quality }]) => [id, value, quality]);
    expect(shown).toEqual([
      ["airtemp", 20, "good"],
      ["avg_airtemp", 18, "uncertain"],
    ]);
    const definition = both.sensors.get("avg_airtemp")?.definition;
    expect(definition).toMatchObject({ kind: "temperature", average: true, name: "空气温度 (avg)" });
    const later = read(both, [{ ...own, value: 21, raw: 21, measuredAt: now + hour }], undefined, now + hour);
    expect(later.layout).toBe(both.layout);
    expect(later.sensors.get("avg_airtemp")).toBe(both.sensors.get("avg_airtemp"));
  });

  it("are stale when no new ones came for a day", () => {
    const { items } = averages({ data: [{ name: "空气温度", value: 18, dateTime: "2026-03-01 00:00:00" }] });
    const quality = (afterMs: number) => {
      const one = read(controller(), items, "averages");
      const context = { now: now + afterMs, freshness: limits, transliterate: (text: string) => text };
      return [...reduce(one, { type: "time_passed" }, context).sensors.values()].map((s) => s.quality);
    };
    // The platform is not known to be reachable here, which alone makes nothing good.
    expect(quality(0)).toEqual(["good"]);
    expect(quality(10 * hour)).toEqual(["stale"]);
  });
});
