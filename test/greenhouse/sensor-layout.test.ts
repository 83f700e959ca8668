import anyAscii from "any-ascii";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { layoutFor } from "../../src/greenhouse/sensor-identity.js";
import type { SensorItem } from "../../src/greenhouse/ports.js";
import type { SensorSettings } from "../../src/greenhouse/settings.js";
import { topicsUnder } from "../../src/mqtt/topics.js";
import { controller, controllerSettings, item, sensorSettings } from "../support/builders.js";
import { after, minute, sensorsRead, start, validId } from "../support/folding.js";

const layout = (items: readonly SensorItem[], sensors: readonly SensorSettings[] = []) =>
  layoutFor(items, { layout: [], settings: controllerSettings({ sensors }) }, anyAscii);
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

const ids = (items: readonly SensorItem[][]) => {
  const folded = after(controller(), start, ...items.map((one) => sensorsRead(one)));
  return [...folded.sensors.values()].map(({ definition, value }) => [definition.id, value]);
};

describe("sensors from answer to answer", () => {
  it("an answer that fits the last layout keeps it, with its definitions, by reference", () => {
    const items = [item(), item({ name: "湿度", unit: "%" })];
    const first = layout(items);
    const again = layoutFor(
      items.map((one) => ({ ...one, value: 3, measuredAt: start })),
      { layout: first, settings: null },
      anyAscii,
    );
    expect(again).toBe(first);
  });

  it("a new sensor leaves the definitions of the others the same references", () => {
    const first = layout([item()]);
    const more = layoutFor(
      [item({ name: "湿度", unit: "%" }), item()],
      { layout: first, settings: null },
      anyAscii,
    );
    expect(more[1]?.definition).toBe(first[0]?.definition);
  });

  it("a sensor with a code that is renamed keeps its id and takes the new name", () => {
    const named = (name: string) => [item({ name, factor: "t7" })];
    const folded = after(controller(), start, sensorsRead(named("旧")), sensorsRead(named("新")));
    expect([...folded.sensors].map(([id, { definition }]) => [id, definition.name])).toEqual([["t7", "新"]]);
  });

  it("a sensor known by name only that is renamed is another one, and the old one turns stale with its last value", () => {
    const dated = (name: string, measuredAt: number) => [item({ name, measuredAt })];
    const later = start + 16 * minute;
    const folded = after(
      after(controller(), start, sensorsRead(dated("旧", start))),
      later,
      sensorsRead(dated("新", later), later),
    );
    expect(
      [...folded.sensors.values()].map(({ definition, quality, value }) => [definition.name, quality, value]),
    ).toEqual([
      ["旧", "stale", 21.5],
      ["新", "good", 21.5],
    ]);
  });

  it("a unit that changes changes the definition and not the id", () => {
    const folded = after(
      controller(),
      start,
      sensorsRead([item({ name: "光照", unit: "klx", value: 5, measuredAt: start - 1 })]),
      sensorsRead([item({ name: "光照", unit: "lx", value: 5_000, measuredAt: start })]),
    );
    expect([...folded.sensors.values()].map(({ definition, value }) => [definition.unit, value])).toEqual([
      ["lx", 5_000],
    ]);
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

const pieces = [" ", ..."/ + # $ \u0000 \ud83c \u202e 🌱 .. _ @ ~ 温 度 t T 1".split(" ")];
const hostile = fc.oneof(
  { weight: 1, arbitrary: fc.constant("x".repeat(70_000)) },
  {
    weight: 15,
    arbitrary: fc.array(fc.constantFrom(...pieces), { maxLength: 5 }).map((parts) => parts.join("")),
  },
  { weight: 15, arbitrary: fc.string({ unit: "binary", maxLength: 12 }) },
  {
    weight: 15,
    arbitrary: fc.constantFrom("", "空气温度", "气温", "bridge", "air_temperature", "__proto__", "own"),
  },
);
const code = fc.option(hostile);
const hostileItem = fc
  .record({ name: hostile, factor: code, channel: code, unit: code })
  .map((over) => item(over));

describe("hostile names", () => {
  const topics = topicsUnder("greenhouse");

  const check = (items: readonly SensorItem[], sensors: readonly SensorSettings[]) => {
    const given = idsOf(items, sensors).filter((id) => id !== null);
    const refused = given.filter((id) => !validId.test(id) || topics.sensor("gh", id).json.length > 512);
    expect(refused).toEqual([]);
    expect(new Set(given).size).toBe(given.length);
  };

  it("answers of 10,000 hostile items in all give no invalid id, no id twice and no topic a broker would refuse", () =>
    fc.assert(
      fc.property(fc.array(hostileItem, { maxLength: 6 }), (items) => check(items, [])),
      { numRuns: 3_500 },
    ));
});
