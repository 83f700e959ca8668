import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import {
  likenessOf,
  seeAddress,
  type SeenAddress,
  seenYaml,
  suggestedActuator,
  valuesText,
} from "../../src/greenhouse/addresses-seen.js";
import type { RawValue } from "../../src/greenhouse/ports.js";
import { loaded } from "../config/loading.js";
import { inChinese } from "../support/chinese.js";

describe("what the values of an address look like", () => {
  it.each<[values: string[], kind: string | null]>([
    [["1001", "1010"], "machine"],
    [["1100"], "machine"],
    [["1110", "1010"], "machine"],
    [["1010", "11111111"], "irrigation"],
    [["10010"], "positioner"],
    [["10100", "45"], "positioner"],
    [["11010", "10001"], "positioner"],
    [["11110"], "fan_wet_curtain"],
    [["11000", "00000", "10000"], "fan_wet_curtain"],
    [["00000100", "00000001"], "motor"],
    [["11000"], null],
    [["45"], null],
    [["0"], null],
    [["00000"], null],
    [["2.35"], null],
    [["0110"], null],
    [["1010", "45"], null],
    [["open"], null],
    [[""], null],
  ])("%j: %s", (values, kind) => {
    expect(likenessOf(values).kind).toBe(kind);
    expect(likenessOf(values).text).not.toBe("");
  });
});

const seen = (address: string, ...values: RawValue[]): SeenAddress => {
  const all = values.reduce<SeenAddress | undefined>(
    (known, raw, at) => seeAddress(known, "GH-0001", address, raw, at),
    undefined,
  );
  if (all === undefined) throw new Error("no values");
  return all;
};

it("values are kept in their order, without repeats, the newest few", () => {
  expect(seen("317", "1001", 1001, "1010", "1001")).toMatchObject({
    values: ["1001", "1010", "1001"],
    firstAt: 0,
    lastAt: 3,
  });
  const many = seen("1", ...Array.from({ length: 50 }, (_, n) => n));
  expect([many.values.length, valuesText(many.values)]).toEqual([12, "… → 46 → 47 → 48 → 49"]);
  expect(seen("1", "x".repeat(5_000)).values[0]).toHaveLength(80);
});

it("the YAML of seen addresses is a configuration that is taken, and nothing of the platform's text gets out of its comment", async () => {
  const yaml = seenYaml([
    seen("317", "1001", "1010"),
    seen("0012", "00000100", "00000001"),
    seen("no", "10010"),
    seen("900", "45"),
    seen("901", "1\n  evil: true"),
    { ...seen("5", "1010"), code: "大棚: #1" },
  ]);
  const text = String(yaml);
  const head =
    "platform: { business_url: http://127.0.0.1:1, realtime_url: http://127.0.0.1:1, token: none }\n";
  const { configuration } = await loaded(head + text);
  const own = configuration.controllers["GH-0001"]?.actuators ?? {};
  expect(Object.entries(own).map(([id, { kind, address }]) => [id, kind, address])).toEqual([
    ["machine_317", "machine", "317"],
    ["motor_0012", "motor", "0012"],
    ["positioner_no", "positioner", "no"],
  ]);
  expect(own["motor_0012"]?.values).toEqual({ word_1: "00000001", stop: "00000100" });
  expect(Object.keys(configuration.controllers)).toEqual(["GH-0001", "大棚: #1"]);
  expect(text).toContain("# address 900: 45, looks like a number from 0 to 100");
  expect(inChinese(yaml), "comments are in the language of who reads").toContain(
    "# 地址 900：45，看起来像 0 到 100 的数",
  );
  expect(parse(inChinese(yaml))).toEqual(parse(text));
  expect(JSON.stringify(parse(text))).not.toContain("evil");
  expect(seenYaml([])).toBe("");
  expect(suggestedActuator(seen("900", "45"))).toBeNull();
});
