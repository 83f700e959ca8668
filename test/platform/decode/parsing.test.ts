import { describe, expect, it } from "vitest";
import { parseJson, readFlag } from "../../../src/platform/decode/decoding.js";

const parsed = (text: string) => parseJson(Buffer.from(text));

describe("an answer as text", () => {
  it.each<[string, string, unknown]>([
    ["a byte order mark before it", '\u{feff}{"code":200}', { code: 200 }],
    ["integers beyond 2^53 keep their digits", '{"id":1680236549218304003}', { id: "1680236549218304003" }],
    [
      "a value that is no number costs itself",
      '{"code":200,"data":[{"name":"NaN of Infinity","value":NaN},{"value":-Infinity},{"value":2}]}',
      { code: 200, data: [{ name: "NaN of Infinity", value: null }, { value: null }, { value: 2 }] },
    ],
    [
      "`data` as JSON once more",
      '{"code":200,"data":"[{\\"value\\":1}]"}',
      { code: 200, data: [{ value: 1 }] },
    ],
    ["a payload as JSON once more", '{"payload":"{\\"101\\":1}"}', { payload: { 101: 1 } }],
    ["`data` as words", '{"code":200,"data":"[offline]"}', { code: 200, data: "[offline]" }],
  ])("%s", (_, text, value) => expect(parsed(text)).toEqual(value));

  it.each(['{"a":NaN', "NaN of all", '{"a":1,}', ""])("%j is none", (text) =>
    expect(() => parsed(text)).toThrow("broken or cut JSON"),
  );
});

it("a cut text of many quotes beside a value that is no number is read in no time", () => {
  expect(() => parsed(`{"a":NaN,"b":"${'\\"'.repeat(200_000)}`)).toThrow("broken or cut JSON");
});

describe("a flag", () =>
  it.each<[boolean | null, readonly unknown[]]>([
    [true, [1, "1", true, "True", "ONLINE", " online ", "在线"]],
    [false, [0, "0", false, "FALSE", "Offline", "离线"]],
    [null, [2, "2", "", null, undefined, [], {}, "maybe", "yes", -1]],
  ])("%j is what each of %j says", (flag, values) =>
    expect(values.map(readFlag)).toEqual(values.map(() => flag)),
  ));
