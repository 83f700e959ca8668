import anyAscii from "any-ascii";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { ControllerEvent } from "../../src/greenhouse/events.js";
import { deviceType } from "../../src/greenhouse/device-types.js";
import type { Controller, Sensor } from "../../src/greenhouse/model.js";
import type { SensorItem } from "../../src/greenhouse/ports.js";
import { type FirstLayouts, layoutFor } from "../../src/greenhouse/sensor-identity.js";
import type { SensorSettings } from "../../src/greenhouse/settings.js";
import { reduce } from "../../src/greenhouse/reduce.js";
import { controller, controllerSettings, item, limits, record, sensorSettings } from "../support/builders.js";
import { after, minute, onlySensor, sensorsRead, start, validId } from "../support/folding.js";

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
  it.each([
    ["a later one replaces the one held", -minute, 0, 2],
    ["an older one is ignored", 0, -minute, 1],
    ["one of the same instant replaces it", 0, 0, 2],
    ["an older one is ignored where the platform's clock is a minute ahead", minute, 30_000, 1],
    ["one that claims the far future gives way to a believable one", 60 * minute, 0, 2],
  ])("%s", (_, first, second, value) => {
    const readings = [first, second].map((at, n) => ({ value: n + 1, raw: n + 1, measuredAt: start + at }));
    expect(read(readings).value).toBe(value);
  });

  it("whatever the order readings come in, the one measured last is shown", () =>
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(1_000), { minLength: 1, maxLength: 8 }), (ages) => {
        const readings = ages.map((age) => ({ value: age, raw: age, measuredAt: start - age * 1_000 }));
        expect(read(readings, { min: 0, max: 1_000 }).value).toBe(Math.min(...ages));
      }),
    ));
});

it("a controller that turns out to be a weather station after its readings has the limits of one from the next answer on", () => {
  const context = {
    ...{ now: start, freshness: limits, transliterate: anyAscii },
    bands: { temperature: { high: 35 } },
  };
  const fold = (held: Controller, event: ControllerEvent) => reduce(held, event, context);
  const reading = sensorsRead([item({ name: "空气温度", value: 20, raw: 20 })]);
  const listed = { type: "listed", availability: "online" } as const;
  const indoors = fold(controller(controllerSettings()), reading);
  expect(onlySensor(indoors).definition.bands?.limits).toEqual({ high: 35 });
  const station = fold(indoors, { ...listed, record: record({ type: deviceType("W001") }) });
  expect(onlySensor(fold(station, reading)).definition.bands).toBeUndefined();
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
    ["scale comes before offset", { scale: 2, offset: 1 }, 10, 21],
    ["binary fractions leave no tail", { scale: 0.1 }, 3, 0.3],
    ["decimals round", { decimals: 1 }, 21.55, 21.6],
    ["rounding comes last", { offset: 0.04, decimals: 1 }, 21.5, 21.5],
    ["a configured minimum is the limit", { min: 22 }, 21.5, null],
    ["a configured maximum is the limit", { max: 21 }, 21.5, null],
    ["limits apply to the value as shown", { scale: 10, max: 100 }, 21.5, null],
    ["a configured limit may be wider than the plausible one", { max: 5_000 }, 4_000, 4_000],
    ["another kind has other limits", { kind: "co2", unit: "ppm" }, 900, 900],
    ["kind other has none", { kind: "other" }, 999_999, 999_999],
  ])("%s", (_, settings, raw, value) => expect(read([{ value: raw, raw }], settings).value).toBe(value));

  it("its id, name, kind and unit win over the platform's, which stays beside them", () => {
    const own = { id: "t1", name: "Air", kind: "soil_temperature" } as const;
    const { definition } = read([{}], { ...own, unit: "℉" });
    expect(definition).toMatchObject({ ...own, platformName: "空气温度", unit: "°F" });
  });

  it("its own stale_after decides", () => {
    const old = { measuredAt: start - 3 * minute };
    expect(read([old], { staleAfterMs: 2 * minute }).quality).toBe("stale");
    expect(read([old], { staleAfterMs: 4 * minute }).quality).toBe("good");
  });
});

describe("what a sensor is without configuration", () =>
  it.each<[string, Partial<SensorItem>, object]>([
    ["a known name has kind and unit", {}, { id: "air_temperature", kind: "temperature", unit: "°C" }],
    ["an unknown one has neither", { name: "神秘", unit: null }, { kind: "other", min: null, max: null }],
    ["one without a name and a code is called by its id", { name: "" }, { name: "s_el88vcn6" }],
    ["a contradicting unit takes the class away", { unit: "lx" }, { kind: "other", unit: "lx" }],
    [
      "a factor code stands for the name where there is none",
      { name: "", factor: "ecfii", unit: null },
      { id: "ecfii", kind: "ec", name: "ecfii" },
    ],
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

describe("a sensor that showed numbers and shows words", () => {
  const unknown = { name: "神秘", unit: null };
  /** A number, then these a minute apart, each measured anew. */
  const shown = (values: readonly (string | number | null)[], over: Partial<SensorItem> = unknown) => {
    const all = [7, ...values].map((value, n) => ({
      ...over,
      value,
      raw: value,
      measuredAt: start + n * minute,
    }));
    const { value, quality, definition } = read(all, null, start + all.length * minute);
    return `${String(value)} ${quality} ${definition.numeric ? "number" : "text"}`;
  };

  it.each<[string, readonly (string | number | null)[], string, Partial<SensorItem>?]>([
    ["once is broken", ["Err"], "7 bad number"],
    ["twice is broken", ["Err", "Err"], "7 bad number"],
    ["three times in a row is a text from then on", ["晴", "晴", "阴"], "阴 good text"],
    ["and stays one where it shows a number again", ["晴", "晴", "阴", 8], "8 good text"],
    ["with a number in between counts anew", ["Err", "Err", 8, "Err"], "8 bad number"],
    ["with nothing in between counts anew", ["Err", "Err", null, "Err", "Err"], "7 bad number"],
    [
      "under a unit is a quantity that cannot be read",
      ["Err", "Err", "Err", "Err"],
      "7 bad number",
      { name: "神秘", unit: "kg" },
    ],
    ["where a temperature belongs is one too", ["Err", "Err", "Err", "Err"], "7 bad number", {}],
    [
      "for a wind direction is a word for it",
      ["东", "东北", "北"],
      "北 good text",
      { name: "风向", unit: null },
    ],
  ])("%s", (_, values, expected, over) => expect(shown(values, over)).toBe(expected));

  it("the same reading asked for again and again is one", () => {
    const known = item({ ...unknown, value: 7, raw: 7, measuredAt: start - 1 });
    const broken = sensorsRead([{ ...known, value: "Err", raw: "Err", measuredAt: start }]);
    const folded = after(controller(), start, sensorsRead([known]), broken, broken, broken, broken);
    expect(onlySensor(folded)).toMatchObject({ value: 7, quality: "bad" });
  });

  it("the configured kind decides, whatever it shows", () => {
    const words = [7, "Err", "Err", "Err"].map((value, n) => ({
      ...unknown,
      value,
      raw: value,
      measuredAt: start + n * minute,
    }));
    const settings = { from: "神秘", kind: "temperature" } as const;
    expect(read(words, settings, start + 4 * minute)).toMatchObject({ value: 7, quality: "bad" });
  });
});

const layout = (items: readonly SensorItem[], sensors: readonly SensorSettings[] = []) =>
  layoutFor(items, { layout: [], settings: controllerSettings({ sensors }) }, { transliterate: anyAscii });
const idsOf = (items: readonly SensorItem[], sensors: readonly SensorSettings[] = []) =>
  layout(items, sensors).map(({ definition }) => definition?.id ?? null);
const own = (from: string, over: Partial<SensorSettings> = {}) =>
  sensorSettings({ id: "own", from, ...over });

describe("`from` names a sensor", () => {
  it.each<[string, string, Partial<SensorItem>, boolean]>([
    ["by its exact name", "空气温度", {}, true],
    ["by its factor code", "t7", { name: "", factor: "t7" }, true],
    ["by its factor code beside a name", "t7", { factor: "t7" }, true],
    ["by name@channel", "空气温度@3", { channel: "3" }, true],
    ["not by another channel", "空气温度@3", { channel: "4" }, false],
    ["not by a channel it does not have", "空气温度@3", {}, false],
    ["not by a part of its name", "温度", {}, false],
    ["not by another letter case", "Air", { name: "air" }, false],
    ["not the nameless by an empty channel", "@", { name: "", factor: "x" }, false],
  ])("%s", (_, from, over, matches) => expect(idsOf([item(over)], [own(from)])[0] === "own").toBe(matches));

  it("name@channel picks one of several that share a name; the other keeps an id of its own", () => {
    const both = [item({ channel: "1" }), item({ channel: "2" })];
    const [first, second] = idsOf(both, [own("空气温度@2")]);
    expect(second).toBe("own");
    expect(first).toMatch(validId);
    expect(first).not.toBe("own");
  });

  const channels = (...all: string[]) => all.map((channel) => item({ channel }));
  const name = "空气温度";

  it.each<[string, items: readonly SensorItem[], sensors: Readonly<Record<string, string>>, string]>([
    ["a name beside name@channel", channels("1", "2"), { a: name, b: `${name}@1` }, "b a"],
    ["in the other order of the file", channels("1", "2"), { b: `${name}@1`, a: name }, "b a"],
    ["a name alone, of channels as numbers", channels("10", "2"), { a: name }, "- a"],
    ["a name alone, of letters as texts", channels("b", "a"), { a: name }, "- a"],
    [
      "a code beside code@channel",
      channels("10", "2").map((one) => ({ ...one, factor: "t" })),
      { a: "t", b: "t@2" },
      "a b",
    ],
  ])(
    "%s: what is named exactly is given first, the rest by the order of channels",
    (_, items, sensors, are) => {
      const all = Object.entries(sensors).map(([id, from]) => sensorSettings({ id, from }));
      for (const [answer, ids] of [
        [items, are.split(" ")],
        [items.toReversed(), are.split(" ").toReversed()],
      ] as const)
        expect(idsOf(answer, all).map((id) => (id !== null && id in sensors ? id : "-"))).toEqual(ids);
    },
  );

  it("an ignored sensor is left out, the others are not", () => {
    const items = [item(), item({ name: "湿度", unit: "%" })];
    expect(idsOf(items, [own("空气温度", { ignore: true })])).toEqual([null, expect.stringMatching(validId)]);
  });

  it("a configured id is never given to another sensor, also while its own is not there", () => {
    const taken = sensorSettings({ id: "air_temperature", from: "光照" });
    const [id] = idsOf([item()], [taken]);
    expect(id).toMatch(/^air_temperature_[0-9a-z]{8}$/);
    expect(idsOf([item(), item({ name: "光照", unit: "lx" })], [taken])).toEqual([id, "air_temperature"]);
  });
});

describe("first answers of one account", () => {
  const first = (items: readonly SensorItem[], layouts: FirstLayouts) =>
    layoutFor(items, { layout: [], settings: null }, { transliterate: anyAscii, firstLayouts: layouts });
  const unit = fc.constantFrom(null, "℃", "%", "°");
  const value = fc.constantFrom<SensorItem["value"]>(null, 1, 2, "on", "东北");
  const name = fc.constantFrom("空气温度", "风向", "神秘", "");
  const code = fc.constantFrom(null, "t7", "x");
  const answer = fc.array(
    fc.record({ name, unit, value, factor: code, channel: fc.constantFrom(null, "1", "2") }).map(item),
    { maxLength: 4 },
  );

  it("are the same sensors whether or not another controller answered alike before", () =>
    fc.assert(
      fc.property(fc.array(answer, { minLength: 1, maxLength: 6 }), (answers) => {
        const layouts: FirstLayouts = new Map();
        for (const items of answers) expect(first(items, layouts)).toEqual(layout(items));
      }),
    ));

  it("share what is known of them, by reference, where only values differ", () => {
    const layouts: FirstLayouts = new Map();
    const one = first([item({ value: 3 })], layouts);
    expect(first([item({ value: 4 })], layouts)).toBe(one);
    expect(first([item({ value: null })], layouts)).not.toBe(one);
  });
});

const ids = (items: readonly SensorItem[][]) => {
  const folded = after(controller(), start, ...items.map((one) => sensorsRead(one)));
  return [...folded.sensors.values()].map(({ definition, value }) => [definition.id, value]);
};

describe("sensors from answer to answer", () => {
  const humidity = item({ name: "湿度", unit: "%" });
  const next = (items: readonly SensorItem[], held: ReturnType<typeof layout>) =>
    layoutFor(items, { layout: held, settings: null }, { transliterate: anyAscii });

  it("an answer that fits the last layout keeps it, with its definitions, by reference", () => {
    const first = layout([item(), humidity]);
    const again = [item(), humidity].map((one) => ({ ...one, value: 3, measuredAt: start }));
    expect(next(again, first)).toBe(first);
  });

  it("a new sensor leaves the definitions of the others the same references", () => {
    const first = layout([item()]);
    expect(next([humidity, item()], first)[1]?.definition).toBe(first[0]?.definition);
  });

  it("a sensor with a code that is renamed keeps its id and takes the new name", () => {
    const named = (name: string) => [item({ name, factor: "t7" })];
    const folded = after(controller(), start, sensorsRead(named("旧")), sensorsRead(named("新")));
    expect([...folded.sensors].map(([id, { definition }]) => [id, definition.name])).toEqual([["t7", "新"]]);
  });

  it("a sensor known by name only that is renamed is another one, and the old one turns stale with its last value", () => {
    const dated = (name: string, measuredAt: number) => [item({ name, measuredAt })];
    const later = start + 16 * minute;
    const before = after(controller(), start, sensorsRead(dated("旧", start)));
    const { sensors } = after(before, later, sensorsRead(dated("新", later), later));
    const shown = [...sensors.values()].map(({ definition, quality, value }) => [
      definition.name,
      quality,
      value,
    ]);
    expect(shown.join(" ")).toBe("旧,stale,21.5 新,good,21.5");
  });

  it("a unit that changes changes the definition and not the id", () => {
    const { value, definition } = read([
      { name: "光照", unit: "klx", value: 5, measuredAt: start - 1 },
      { name: "光照", unit: "lx", value: 5_000 },
    ]);
    expect([value, definition.unit, definition.id]).toEqual([5_000, "lx", "light"]);
  });

  it("a sensor that showed numbers stays numeric when another appears while it shows a text", () => {
    const known = item({ name: "神秘", unit: null, value: 7, raw: 7, measuredAt: start - 1 });
    const broken = { ...known, value: "Err", raw: "Err", measuredAt: start };
    const folded = after(controller(), start, sensorsRead([known]), sensorsRead([broken, item()]));
    const [sensor] = folded.sensors.values();
    expect(sensor).toMatchObject({ value: 7, quality: "bad" });
  });

  it("of items that nothing tells apart the first is the sensor, answer after answer", () => {
    const twice = [item({ value: 1 }), item({ value: 2 })];
    expect(ids([twice, twice])).toEqual([["air_temperature", 1]]);
  });

  it("an answer that leaves one sensor out never gives its id to another", () => {
    const one = item({ name: "空气温度", value: 1 });
    const other = item({ name: "气温", value: 2 });
    const both = new Map(ids([[one, other]]) as [string, number][]);
    for (const rest of [one, other])
      expect(new Map(ids([[one, other], [rest]]) as [string, number][])).toEqual(both);
  });
});
