import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseJson } from "../../src/platform/http/body.js";

const read = (text: string) => parseJson(Buffer.from(text));

describe("JSON of the platform", () => {
  it.each<[string, unknown]>([
    ["1680236549218304003", "1680236549218304003"],
    ["-1680236549218304003", "-1680236549218304003"],
    ["9007199254740991", 9_007_199_254_740_991],
    ["9007199254740993", "9007199254740993"],
    ["0.12345678901234567890", 0.12345678901234568],
    ["12345678901234567890.5", 12345678901234567000],
    ["1e3", 1000],
    ['"1680236549218304003"', "1680236549218304003"],
    ['{"12345678901234567890":1}', { "12345678901234567890": 1 }],
    [
      '["a\\"12345678901234567890,\\\\",12345678901234567890]',
      ['a"12345678901234567890,\\', "12345678901234567890"],
    ],
  ])("integers beyond 2^53 come as text, everything else as it is: %s", (text, value) =>
    expect(read(text)).toEqual(value),
  );

  it("any JSON value survives, beside long integers too", () =>
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        const text = JSON.stringify(value);
        fc.pre(!/\d{16}/.test(text));
        expect(read(text)).toEqual(JSON.parse(text));
        expect(read(`[12345678901234567890,${text}]`)).toEqual(["12345678901234567890", JSON.parse(text)]);
      }),
      { numRuns: 500 },
    ));

  it("any text is a value or an error of ours, never a crash", () =>
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom(...Array.from('{}[]":,\\0123456789-.eEtruefalsn u')),
          maxLength: 60,
        }),
        (text) => {
          try {
            read(text);
          } catch (error) {
            expect(error).toHaveProperty("name", "UnreadableJson");
          }
        },
      ),
      { numRuns: 5_000 },
    ));

  // Minutes, were each of them looked at with all that stand before it.
  it("2 MiB of backslashes or quotes are read in one go", () => {
    for (const piece of ["\\\\", '\\"']) read(`"${piece.repeat(1_000_000)}"`);
  });

  it("__proto__ in JSON changes no prototype", () => {
    read('{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}');
    expect(Object.hasOwn(Object.prototype, "polluted")).toBe(false);
  });
});
