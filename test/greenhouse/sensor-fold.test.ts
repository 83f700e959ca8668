import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Sensor } from "../../src/greenhouse/model.js";
import type { SensorItem } from "../../src/greenhouse/ports.js";
import type { SensorSettings } from "../../src/greenhouse/settings.js";
import { controller, controllerSettings, item, sensorSettings } from "../support/builders.js";
import { after, minute, onlySensor, sensorsRead, start } from "../support/folding.js";

/** The sensor after readings, each received when it was measured unless it says otherwise. */
function read(
  readings: readonly Partial<SensorItem>[],
  settings: Partial<SensorSettings> | null = null,
  now = start,
): Sensor {
  const configured = controllerSettings({ sensors: settings === null ? [] : [sensorSettings(settings)] });
  const events = readings.map((over) => sensorsRead([item({ measuredAt: start, ...over })], now));
  return onlySensor(after(controller(configured), now, ...events));
}

describe("the newest reading counts", () => {
  it.each<[string, number, number, number]>([
    ["a later one replaces the one held", start - minute, start, 2],
    ["an older one is ignored", start, start - minute, 1],
    ["one of the same instant replaces it", start, start, 2],
    [
      "an older one is ignored where the platform's clock is a minute ahead",
      start + minute,
      start + 30_000,
      1,
    ],
    ["one that claims the far future gives way to a believable one", start + 60 * minute, start, 2],
  ])("%s", (_, first, second, value) =>
    expect(
      read([
        { value: 1, raw: 1, measuredAt: first },
        { value: 2, raw: 2, measuredAt: second },
      ]).value,
    ).toBe(value),
  );

  it("whatever the order readings come in, the one measured last is shown", () =>
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.integer({ min: 0, max: 1_000 }), { minLength: 1, maxLength: 8 }),
        (ages) => {
          const shown = read(
            ages.map((age) => ({ value: age, raw: age, measuredAt: start - age * 1_000 })),
            {
              min: 0,
              max: 1_000,
            },
          );
          expect(shown.value).toBe(Math.min(...ages));
        },
      ),
    ));
});

describe("a reading that cannot be right", () => {
  const good = { value: 20, raw: 20, measuredAt: start - minute };
  it.each<[string, Partial<SensorItem>, Sensor["fault"]]>([
    ["no value", { value: null, raw: null }, "unreadable"],
    ["a text where a number belongs", { value: "Err", raw: "Err" }, "unreadable"],
    ["not a number", { value: NaN, raw: "NaN" }, "unreadable"],
    ["without end", { value: Infinity, raw: "1e999" }, "unreadable"],
    ["below the plausible range", { value: -99, raw: -99 }, "implausible"],
    ["above the plausible range", { value: 6553.5, raw: 6553.5 }, "implausible"],
  ])("is bad and keeps the last good value: %s", (_, over, fault) => {
    expect(read([good, over])).toMatchObject({ value: 20, raw: over.raw, fault, quality: "bad" });
    expect(read([good, over, { value: 22, raw: 22 }])).toMatchObject({ value: 22, quality: "good" });
  });

  it("does not put the last good value under a unit it was not measured in", () => {
    const shown = read([
      { name: "光照", value: 5, raw: 5, unit: "klx", measuredAt: start - minute },
      { name: "光照", value: null, raw: null, unit: "lx" },
    ]);
    expect([shown.value, shown.definition.unit]).not.toEqual([5, "lx"]);
  });
});

describe("what the configuration says of a sensor", () => {
  it.each<[string, Partial<SensorSettings>, number, number | string | null]>([
    ["an offset is added", { offset: -0.4 }, 21.5, 21.1],
    ["a scale multiplies", { scale: 1000, unit: "lx", kind: "illuminance" }, 21.5, 21_500],
    ["scale comes before offset", { scale: 2, offset: 1 }, 10, 21],
    ["binary fractions leave no tail", { scale: 0.1 }, 3, 0.3],
    ["decimals round", { decimals: 1 }, 21.55, 21.6],
    ["decimals may be none", { decimals: 0 }, 21.5, 22],
    ["rounding comes last", { offset: 0.04, decimals: 1 }, 21.5, 21.5],
    ["a configured minimum is the limit", { min: 22 }, 21.5, null],
    ["a configured maximum is the limit", { max: 21 }, 21.5, null],
    ["limits apply to the value as shown", { scale: 10, max: 100 }, 21.5, null],
    ["a configured limit may be wider than the plausible one", { max: 5_000 }, 4_000, 4_000],
    ["another kind has other limits", { kind: "co2", unit: "ppm" }, 900, 900],
    ["kind other has none", { kind: "other" }, 999_999, 999_999],
  ])("%s", (_, settings, raw, value) => expect(read([{ value: raw, raw }], settings).value).toBe(value));

  it("its id, name, kind and unit win over the platform's, which stays beside them", () => {
    const { definition } = read([{}], { id: "t1", name: "Air", kind: "soil_temperature", unit: "℉" });
    expect(definition).toMatchObject({
      id: "t1",
      name: "Air",
      platformName: "空气温度",
      kind: "soil_temperature",
      unit: "°F",
    });
  });

  it("its own stale_after decides", () => {
    const old = { measuredAt: start - 3 * minute };
    expect(read([old], { staleAfterMs: 2 * minute }).quality).toBe("stale");
    expect(read([old], { staleAfterMs: 4 * minute }).quality).toBe("good");
  });
});

describe("what a sensor is without configuration", () =>
  it.each<[string, Partial<SensorItem>, object]>([
    [
      "a known name has kind and spelling of unit",
      {},
      { id: "air_temperature", kind: "temperature", unit: "°C" },
    ],
    [
      "an unknown one has neither class nor limits",
      { name: "神秘", unit: null },
      { kind: "other", min: null, max: null },
    ],
    ["a contradicting unit takes the class away", { unit: "lx" }, { kind: "other", unit: "lx" }],
    [
      "a factor code is recognised where the name is not",
      { name: "", factor: "ecfii", unit: null },
      { id: "ecfii", kind: "ec" },
    ],
    ["without a name it is called by its code", { name: "", factor: "ecfii" }, { name: "ecfii" }],
  ])("%s", (_, over, definition) => expect(read([over]).definition).toMatchObject(definition)));

describe("texts", () => {
  it.each([
    ["an unknown name", { name: "神秘", unit: null }],
    ["an unknown name with a unit", { name: "神秘", unit: "kg" }],
    ["a known name", {}],
  ])("nothing first and numbers then make a numeric sensor: %s", (_, over) => {
    const shown = read([
      { ...over, value: null, raw: null, measuredAt: start - minute },
      { ...over, value: 12.5, raw: 12.5 },
    ]);
    expect(shown).toMatchObject({ value: 12.5, fault: null, quality: "good" });
    expect(shown.definition.numeric).toBe(true);
  });

  it("a wind direction written as a word is a text", () =>
    expect(read([{ name: "风向", unit: null, value: "东北", raw: "东北" }])).toMatchObject({
      value: "东北",
      quality: "good",
    }));
});
