import anyAscii from "any-ascii";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { identifySensors, sensorKey } from "../../src/greenhouse/sensor-identity.js";
import { assignIds, controllerTopicId, freeId, hash8, topicId } from "../../src/greenhouse/topic-ids.js";

const valid = /^[a-z0-9_-]{1,64}$/;

const hostilePieces = [" ", ..."/ + # $ \u0000 \ud83c \udf31 \u202e 🌱 مرحبا . .. _".split(" ")];
const hostile = fc.oneof(
  fc.string({ unit: "binary", maxLength: 16 }),
  fc.string({ unit: "grapheme", maxLength: 80 }),
  fc
    .array(fc.constantFrom(...hostilePieces, "GH", "gh", "温", "度", "1", "-"), { maxLength: 6 })
    .map((parts) => parts.join("")),
);

const shuffled = <T>(items: readonly T[], seed: number): T[] =>
  items
    .map((item, place) => ({ item, order: hash8(`${seed} ${place}`) }))
    .sort((one, other) => (one.order < other.order ? -1 : 1))
    .map(({ item }) => item);

test.each([
  ["", "el88vcn6"],
  ["GH-0001", "byg4lm92"],
  ["空调温度", "yu3ldu9h"],
  ["\ud800", "zw34ctiv"],
])("the hash of %j is frozen, since ids are made of it", (text, hash) => expect(hash8(text)).toBe(hash));

describe("topic ids", () => {
  test.each([
    ["GH-0001", "gh-0001"],
    ["C001_9f", "c001_9f"],
    [" gh-1 ", "gh-1"],
    ["a".repeat(64), "a".repeat(64)],
  ])("a text that loses nothing but letter case keeps its name: %j", (raw, id) =>
    expect(topicId(raw, anyAscii)).toBe(id),
  );

  test.each([
    ["空调温度", "kong_diao_wen_du"],
    ["Ñandú", "nandu"],
    ["a/b", "a_b"],
    ["", "s"],
    ["🌱", "seedling"],
    ["\u0000", "s"],
    ["\ud800", "s"],
    ["ＧＨ－１", "gh-1"],
    ["x".repeat(65), "x".repeat(55)],
    ["x/".repeat(35_000), "x_".repeat(27) + "x"],
    ["\u212a", "k"],
    ["__proto__", "proto"],
    [" __PROTO__ ", "proto"],
  ])("a text that loses more is followed by its hash: %j", (raw, start) =>
    expect(topicId(raw, anyAscii)).toBe(`${start}_${hash8(raw)}`),
  );

  test("whatever comes in is a valid topic id, and the same again", () =>
    fc.assert(
      fc.property(hostile, (raw) => {
        expect(topicId(raw, anyAscii)).toMatch(valid);
        expect(topicId(raw)).toMatch(valid);
        expect(topicId(raw, anyAscii)).toBe(topicId(raw, anyAscii));
      }),
      { numRuns: 10_000 },
    ));
});

describe("topic ids of controllers that were given none", () => {
  const idOf = (code: string) => controllerTopicId(code, anyAscii);

  test.each([
    ["GH-0001", "gh-0001"],
    ["20240117", "20240117"],
    ["A".repeat(64), "a".repeat(64)],
    ["ZONE_BUILDING", "zone_building"],
    ["GH_00000001", "gh_00000001"],
  ])("a code of capitals, digits, _ and - is only spelt small: %s", (code, id) =>
    expect(idOf(code)).toBe(id),
  );

  test.each([
    ["gh-1", "gh-1"],
    ["A B", "a_b"],
    ["温室", "wen_shi"],
    ["GH/1", "gh_1"],
    ["BRIDGE", "bridge"],
    ["RESPONSE", "response"],
    ["GH_A1B2C3D4", "gh_a1b2c3d4"],
    ["a".repeat(64), "a".repeat(55)],
  ])("any other code, or one whose id is reserved, is followed by a hash: %s", (code, start) => {
    const id = idOf(code);
    expect(id.slice(0, -9)).toBe(start);
    expect(id.slice(-9)).toMatch(/^_[0-9a-z]{8}$/);
    expect(id).toMatch(valid);
  });

  test("codes that differ have ids that differ, all of them valid", () => {
    const alike = fc.stringMatching(/^[gGhH ]{1,2}[-_/][01aA]{1,2}$/);
    fc.assert(
      fc.property(fc.uniqueArray(fc.oneof(alike, hostile), { maxLength: 12 }), (codes) => {
        const ids = codes.map(idOf);
        expect(new Set(ids).size).toBe(codes.length);
        for (const id of ids) expect(id).toMatch(valid);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("a free id", () =>
  test("is the id itself where nothing has it, else one with the hash of the key", () => {
    expect(freeId("east", "GH-1", () => false)).toBe("east");
    expect(freeId("east", "GH-1", (id) => id === "east")).toBe(`east_${hash8("GH-1")}`);
  }));

describe("assigned ids", () => {
  const assigned = (...wanted: string[]) => assignIds(wanted.map((text) => ({ key: text, wanted: text })));

  test("a text spelt like its id keeps it; the others that want it get the hash of their key", () => {
    const ids = assigned("GH-1", "gh-1", "Gh-1");
    expect(ids.get("gh-1")).toBe("gh-1");
    expect(ids.get("GH-1")).toBe(`gh-1_${hash8("GH-1")}`);
    expect(ids.get("Gh-1")).toBe(`gh-1_${hash8("Gh-1")}`);
  });

  test("all are valid and unique, and the set alone decides, not the order", () => {
    const wanted = fc.record({ wanted: hostile, turn: fc.nat(1) });
    fc.assert(
      fc.property(fc.array(wanted, { maxLength: 8 }), fc.nat(), (texts, seed) => {
        const all = texts.map((one) => ({ ...one, key: `${one.wanted}|${one.turn}` }));
        const ids = assignIds(all, { reserved: new Set(["gh"]), transliterate: anyAscii });
        expect([...ids.keys()].sort()).toEqual([...new Set(all.map(({ key }) => key))].sort());
        expect(new Set(ids.values()).size).toBe(ids.size);
        for (const id of ids.values()) expect(id).toMatch(valid);
        const again = assignIds(shuffled(all, seed), { reserved: new Set(["gh"]), transliterate: anyAscii });
        for (const [key, id] of ids) expect(again.get(key)).toBe(id);
      }),
      { numRuns: 5_000 },
    );
  });
});

const sensor = (name: string, factor: string | null = null, channel: string | null = null) => ({
  name,
  factor,
  channel,
});

describe("sensors", () => {
  test.each([
    [sensor("EC反馈", "ecfii", "2"), "factor:ecfii", "ecfii"],
    [sensor("空气温度", null, "3"), "channel:3", "channel_3"],
    [sensor("空气温度"), "name:空气温度", "air_temperature"],
    [sensor("土壤温度1"), "name:土壤温度1", "soil_temperature_1"],
    [sensor("空调温度"), "name:空调温度", `kong_diao_wen_du_${hash8("空调温度")}`],
    [sensor("空气温度", "  ", ""), "name:空气温度", "air_temperature"],
    [sensor("", "温度"), "factor:温度", `wen_du_${hash8("温度")}`],
    [sensor(""), "name:", `s_${hash8("")}`],
  ])("the platform's code goes before its channel, that before the name: %j", (item, key, id) => {
    expect(identifySensors([item], anyAscii)).toEqual([{ key, id }]);
    expect(sensorKey(item)).toBe(key);
  });

  test.each([
    [
      "a code are told apart by channel",
      [sensor("温度", "t", "1"), sensor("温度", "t", "2"), sensor("温度", "t")],
      "factor:t@1 t_1, factor:t@2 t_2, factor:t t",
    ],
    [
      "code and channel by name",
      [sensor("空气温度", "t", "1"), sensor("土壤温度", "t", "1")],
      "factor:t~空气温度 t_air_temperature, factor:t~土壤温度 t_soil_temperature",
    ],
    [
      "a channel without code by name",
      [sensor("空气温度", null, "1"), sensor("空气湿度", null, "1"), sensor("光照", null, "2")],
      "channel:1~空气温度 channel_1_air_temperature, channel:1~空气湿度 channel_1_air_humidity, channel:2 channel_2",
    ],
    ["everything are one: the first is kept", [sensor("温度", "t"), sensor("温度", "t")], "factor:t t, none"],
  ])("sensors that share %s", (_, items, told) => {
    const found = identifySensors(items).map((one) => (one === null ? "none" : `${one.key} ${one.id}`));
    expect(found.join(", ")).toBe(told);
  });

  test("keys can be carried by every outlet: short, no controls, no lone surrogates", () => {
    for (const text of ["x".repeat(70_000), "a\u0000b", "\ud800", "🌱".repeat(100)])
      expect(
        identifySensors([sensor(text), sensor("", text), sensor("", null, text)]).map((one) => one?.key),
      ).toEqual([
        expect.stringMatching(/^name:[^\p{Cc}\p{Cs}]{1,72}$/u),
        expect.stringMatching(/^factor:[^\p{Cc}\p{Cs}]{1,72}$/u),
        expect.stringMatching(/^channel:[^\p{Cc}\p{Cs}]{1,72}$/u),
      ]);
  });

  test("keys and ids are valid, unique, free of place in the answer, and need no memory", () => {
    const code = fc.option(fc.oneof(fc.constantFrom("t", "T", "t@1", "ecfii", "1", " "), hostile));
    const name = fc.oneof(fc.constantFrom("空气温度", "气温", "温度1", "t", ""), hostile);
    const item = fc.record({ name, factor: code, channel: code });
    fc.assert(
      fc.property(fc.array(item, { maxLength: 8 }), fc.nat(), (items, seed) => {
        const found = identifySensors(items, anyAscii).filter((one) => one !== null);
        expect(new Set(found.map(({ id }) => id)).size).toBe(found.length);
        expect(new Set(found.map(({ key }) => key)).size).toBe(found.length);
        for (const { id } of found) expect(id).toMatch(valid);
        const order = shuffled([...items.keys()], seed);
        const again = identifySensors(
          order.flatMap((place) => items[place] ?? []),
          anyAscii,
        );
        const pairs = again.filter((one) => one !== null).map(({ key, id }) => `${key} ${id}`);
        expect(pairs.sort()).toEqual(found.map(({ key, id }) => `${key} ${id}`).sort());
      }),
      { numRuns: 5_000 },
    );
  });
});
