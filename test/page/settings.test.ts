import { describe, expect, it } from "vitest";
import { schemaTree } from "../../src/saving/schema-tree.js";
import { keyText, pathOf } from "../../src/settings/key.js";
import {
  withChange,
  countIn,
  isElsewhere,
  inKey,
  parseList,
  moveName,
  namesIn,
  namesOfSensors,
  nodesOf,
  orderOfKnown,
  partNames,
  namesToPlace,
  parseTyped,
  sensorNameAt,
  unitKey,
  without,
  withSensorNames,
} from "../../src/page/settings-parts.js";
import en from "../../locales/en.json";
import { choiceText, labelOf, sentenceOf } from "../../src/page/settings-words.js";
import { language } from "../../src/page/words.js";
import { everySetting } from "../language/names.js";
import type { SettingNode } from "../../src/page/protocol.js";

const keys: readonly SettingNode[] = schemaTree();

it("words that can be chosen are those of the language that is read, where there are any", () => {
  const chosen = () => [
    choiceText("controllers.*.actuators.*.kind", "side_vent"),
    choiceText("kinds", "skylight"),
    choiceText("alarms", "soil_temperature"),
    choiceText("controllers.*.sensors.*.kind", "co2"),
    choiceText("http.ingress.role", "operator"),
    choiceText("mirror", "listed"),
  ];
  expect(chosen().slice(0, 3)).toEqual(["side vent", "skylight", "Soil temperature"]);
  language.value = "zh";
  const [, , , , role, ...asWritten] = chosen();
  language.value = "en";
  expect(role).toMatch(/^\p{Script=Han}+$/u);
  expect(asWritten).toEqual(["listed"]);
});

describe("a sensor that the file does not name", () => {
  const one = (name: string, factor: string | null = null, channel: string | null = null) => ({
    ...{ name, factor, channel },
  });
  const names = { "GH.1": { air: "空气温度" } };
  const at = 'controllers."GH.1".sensors.air';

  it("is named by what it alone is called on the platform", () => {
    expect(
      namesOfSensors({
        air: one("空气温度", "airtemp"),
        soil_1: one("土壤温度", "soil", "1"),
        soil_2: one("土壤温度", "soil", "2"),
        wet: one("湿度", "wet_1"),
        wet_2: one("湿度", "wet_2"),
        code: one("", "lux"),
        same: one("", null),
      }),
    ).toEqual({
      ...{ air: "空气温度", soil_1: "土壤温度@1", soil_2: "土壤温度@2", wet: "wet_1", wet_2: "wet_2" },
      ...{ code: "lux", same: "same" },
    });
  });

  it("is named with what is said of it first, and with nothing else", () => {
    expect(sensorNameAt(`${at}.from`, names)).toBe("空气温度");
    expect(sensorNameAt(`${at}.name`, names)).toBeUndefined();
    const limit = { [`${at}.alarm.low`]: 5 };
    expect(withSensorNames(limit, {}, names)).toEqual({ [`${at}.from`]: "空气温度", ...limit });
    for (const [draft, given] of [
      [{ [`${at}.alarm.low`]: null }, {}],
      [{ [`${at}.from`]: "t7", ...limit }, {}],
      [limit, { [`${at}.from`]: { value: "空气温度", from: "file" as const, line: 3 } }],
      [{ 'controllers."GH.1".sensors.other.name': "x", 'controllers."GH.1".name': "y" }, {}],
    ] as const)
      expect(withSensorNames(draft, given, names)).toBe(draft);
  });
});

describe("the settings of the page", () => {
  it("reach every key of the schema, and each in one part", () => {
    const shown = partNames.flatMap((part) =>
      nodesOf(part, keys).flatMap((node) =>
        node.name === "http" ? (node.keys ?? []).map(({ name }) => `http.${name}`) : [node.name],
      ),
    );
    const http = keys.find(({ name }) => name === "http")?.options?.find(({ type }) => type === "section");
    const wanted = keys.flatMap(({ name }) =>
      name === "http" ? (http?.keys ?? []).map((inner) => `http.${inner.name}`) : [name],
    );
    expect(shown.toSorted()).toEqual(wanted.toSorted());
  });

  it("have each key of an actuator at one place: its limits are a part of their own", () => {
    expect(isElsewhere("controllers.*.actuators.*.limits")).toBe(true);
    expect(isElsewhere("limits")).toBe(false);
    expect(isElsewhere("controllers.*.actuators.*.name")).toBe(false);
  });

  it.each([
    ["controllers.GH-0001.sensors.t.offset", "controllers.GH-0001.sensors.t.unit"],
    ['controllers."GH.1".sensors."t 1".alarm.low_low', 'controllers."GH.1".sensors."t 1".unit'],
    ["controllers.GH-0001.parameters.ec.writable.max", "controllers.GH-0001.parameters.ec.unit"],
    ["controllers.GH-0001.actuators.a.limits.guards.wind.above", "weather.wind.unit"],
    ["controllers.GH-0001.actuators.a.limits.guards.hot.clear_at", "controllers.GH-0001.sensors.air.unit"],
    ["controllers.GH-0001.sensors.t.alarm.delay", null],
    ["controllers.GH-0001.sensors.t.scale", null],
    ["http.port", null],
  ])("have beside %s the unit that its thing is given", (key, unit) => {
    const sensors: Record<string, string> = { wind: "weather/wind", hot: "air" };
    expect(unitKey(key, (one) => sensors[/guards\.(\w+)\.sensor$/.exec(one)?.[1] ?? ""] ?? "")).toBe(unit);
  });

  it("have a form for each type of key", () => {
    const types = new Set<string>();
    const look = (node: SettingNode): void => {
      types.add(node.type);
      for (const inner of [...(node.keys ?? []), ...(node.options ?? [])]) look(inner);
      if (node.entry !== undefined) look(node.entry);
    };
    for (const node of keys) look(node);
    expect([...types].toSorted()).toEqual([
      "anything",
      "choice",
      "either",
      "flag",
      "list",
      "map",
      "number",
      "section",
      "text",
    ]);
  });

  it("name no key that is none", () => {
    const known = everySetting();
    expect(Object.keys(en.keys).filter((pattern) => !known.has(pattern))).toEqual([]);
  });

  it("call every key by a name of each language, and say in each what it does", () => {
    const named = [...everySetting()].flatMap(([pattern, { isNamed }]) => (isNamed ? [pattern] : []));
    for (const one of ["en", "zh"] as const) {
      language.value = one;
      expect(named.filter((pattern) => labelOf(pattern, "") === "")).toEqual([]);
      expect(named.filter((pattern) => sentenceOf(pattern, "English").isForeign)).toEqual([]);
    }
    language.value = "en";
  });

  it.each([
    ["a house of the file goes up", ["a", "b", "c"], ["a", "b"], "b", -1, ["b", "a"]],
    [
      "one that the file does not name goes up among those",
      ["a", "b", "c"],
      ["a", "b"],
      "c",
      -1,
      ["a", "c", "b"],
    ],
    ["one goes down behind another that the file does not name", ["a", "b", "c"], ["a"], "b", 1, ["a", "c"]],
    [
      "of many that the file does not name those before it are named",
      ["a", "b", "c", "d"],
      [],
      "c",
      -1,
      ["a", "c"],
    ],
  ])("move: %s", (_, names, inFile, name, by, wanted) => {
    expect(namesToPlace(names, moveName(names, name, by), (one) => inFile.includes(one))).toEqual(wanted);
  });

  it("move nothing that was taken out since", () => {
    const given = { "controllers.a.name": { from: "file", line: 1, value: "A" } } as const;
    const draft = { "controllers.b": null, "controllers.c": {} };
    expect(orderOfKnown({ controllers: ["c", "b", "a"] }, given, draft)).toEqual({ controllers: ["c", "a"] });
  });

  it("spell keys as the bridge reads them", () => {
    for (const name of ["GH-0001", "a.b", 'c"d', "温室 1", "[0]"])
      expect([inKey("controllers", name), pathOf(inKey("controllers", name))]).toEqual([
        keyText(["controllers", name]),
        ["controllers", name],
      ]);
  });

  const given = {
    "controllers.GH-0001.name": { value: "East", from: "file", line: 3 },
    'controllers."a.b".name': { value: "Dots", from: "file", line: 4 },
    "http.users[1].role": { value: "admin", from: "file", line: 5 },
  } as const;

  it("keep only what is other than the file", () => {
    const key = "controllers.GH-0001.name";
    expect(withChange({}, given, key, "West")).toEqual({ [key]: "West" });
    expect(withChange({ [key]: "West" }, given, key, "East")).toEqual({});
    expect(withChange({}, given, key, "")).toEqual({ [key]: null });
    expect(withChange({ "commands.max_age": "5s" }, given, "commands.max_age", "")).toEqual({});
    expect(without({ [key]: "West" }, given, "controllers.GH-0001")).toEqual({ "controllers.GH-0001": null });
  });

  it("know the user's own names, and how long a list is", () => {
    expect(namesIn("controllers", given, { "controllers.GH-0002.name": "New" })).toEqual([
      "GH-0001",
      "a.b",
      "GH-0002",
    ]);
    expect(namesIn("controllers", given, { "controllers.GH-0001": null })).toEqual(["a.b"]);
    expect([countIn("http.users", given, {}), countIn("http.users", given, { "http.users[2]": {} })]).toEqual(
      [2, 3],
    );
  });

  it("take what is typed as its kind of value", () => {
    const of = (type: SettingNode["type"]): SettingNode => ({ name: "x", type });
    expect([
      parseTyped(of("number"), "12.5"),
      parseTyped(of("number"), "x"),
      parseTyped(of("flag"), "true"),
    ]).toEqual([12.5, "x", true]);
    expect([
      parseTyped(of("text"), "0012"),
      parseTyped(of("text"), " "),
      parseTyped(of("either"), "[1, 2]"),
    ]).toEqual(["0012", null, [1, 2]]);
    expect(parseList(of("text"), "a, b，c、")).toEqual(["a", "b", "c"]);
  });
});
