import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { UnreadableShape } from "../../../src/platform/decode/decoding.js";
import { listingReader, manyValuesReader, oneValueReader } from "../../../src/platform/decode/registers.js";
import type { OperationShape } from "../../../src/platform/settings.js";
import { anyAnswer, decoding, register, scalarsOf } from "../support/decoding.js";

function one(answer: unknown, address = "101", shape: OperationShape = {}) {
  const given = decoding(address);
  const value = oneValueReader(shape)(answer, given);
  return { value, problems: given.problems };
}

const set = { setValue: "10010" };
/** The platform has no value at present, whatever was set. */
const empties = ["value", "val", "currentValue", "current_value", "v"].flatMap((name) => [
  { [name]: null },
  { [name]: "" },
  { [name]: "--" },
]);

describe("get-value: data is keyed by the address string and holds that address's value", () => {
  it.each<[string, unknown, unknown]>([
    ["a string", { data: { "101": "10010" } }, "10010"],
    ["leading zeros kept", { data: { "101": "00000100" } }, "00000100"],
    ["blanks around it", { data: { "101": " 45 " } }, "45"],
    ["an object with value", { data: { "101": { value: "10010", time: "x" } } }, "10010"],
    ["a Boolean", { data: { "101": true } }, true],
    ["an item with the address as Int", { data: register(101, "10010") }, "10010"],
    ["one of a list", { data: [register("100", "1"), register("101", "10010")] }, "10010"],
    ["data.list", { data: { list: [{ addr: "101", val: "10010" }] } }, "10010"],
    ["under the device code", { data: { "GH-1": { "101": "10010" } } }, "10010"],
    ["beside the code", { code: 200, "101": "10010" }, "10010"],
    ["an item beside the code", { code: 200, ...register("101", "10010") }, "10010"],
    ["data itself, in digits", { code: 200, data: "10010" }, "10010"],
    ["data itself, a number that is no flag", { code: 200, data: 45 }, 45],
    ["an item whose value is an object", { data: { address: "101", value: { value: "10010" } } }, "10010"],
    [
      "an item with another name for it",
      { data: [{ addr: "101", val: { value: "10010", ts: 1 } }] },
      "10010",
    ],
    ["data.page.content", { data: { page: { content: [{ addr: "101", val: "10010" }] } } }, "10010"],
    ["nothing: null data", { data: null }, null],
    ["nothing: an object without a value", { data: { "101": { value: null } } }, null],
    ["nothing: the address with nothing in it", { data: { "101": "" } }, null],
    ["nothing: the address with dashes", { data: { "101": "--" } }, null],
    ["nothing: an empty list", { data: [] }, null],
    ["what was set, where there is no field for another value", { data: { "101": set } }, "10010"],
    ...empties.map((empty): [string, unknown, null] => [
      `nothing: ${JSON.stringify(empty)} beside what was set`,
      { data: { "101": { ...set, ...empty } } },
      null,
    ]),
    ...empties.map((empty): [string, unknown, null] => [
      `nothing: an item with ${JSON.stringify(empty)} beside what was set`,
      { data: { list: [{ address: "101", ...set, ...empty }] } },
      null,
    ]),
  ])("%s, and nothing to complain of", (_name, answer, value) =>
    expect(one(answer)).toEqual({ value, problems: [] }),
  );

  it.each<[string, unknown]>([
    ["another address", { data: { "102": "10010" } }],
    ["two that differ", { data: [register("101", "10010"), register("101", "10001")] }],
    ["the addresses of another device", { data: { deviceCode: "GH-2", "101": "10010" } }],
    ["an item of another device", { data: { deviceCode: "GH-2", ...register("101", "10010") } }],
    ["leading zeros differ", { data: { "0101": "10010" } }],
    ["a value without address", { data: { value: "10010" } }],
    ["a list under the address", { data: { "101": ["10010"] } }],
    ["an object whose value has no name", { data: { "101": { raw: "10010" } } }],
    ["a Boolean flag", { data: true }],
    ["a text", { data: "success" }],
  ])("is never taken for the value: %s", (_name, answer) =>
    expect(one(answer)).toEqual({ value: null, problems: [expect.any(String)] }),
  );

  it.each(["__proto__", "constructor", "toString", "hasOwnProperty", "code", "data", "message"])(
    "address %s finds no property that is not the answer's",
    (address) => expect(one({ code: 200, message: "ok", data: {} }, address).value).toBeNull(),
  );

  it("of several devices the own one's value counts, wherever it stands", () => {
    const data = [
      { deviceCode: "GH-2", "101": "1010" },
      { deviceCode: "GH-1", "101": "1001" },
    ];
    expect(one({ data }, "101").value).toBe("1001");
  });

  it("paths of the configuration replace the guesses", () => {
    expect(one({ r: { v: "7" } }, "101", { value: "r.v" }).value).toBe("7");
    expect(one({ regs: { a101: { now: "7" } } }, "101", { value: "regs.a{address}.now" }).value).toBe("7");
    const shape = { items: "regs", code: "no", value: "now" };
    expect(one({ regs: [{ no: 101, now: "7" }] }, "101", shape).value).toBe("7");
  });

  it("any answer gives a scalar of the answer or none, never a crash", () => {
    const reader = oneValueReader({});
    const addresses = fc.constantFrom("101", "1", "__proto__", "constructor", "value");
    fc.assert(
      fc.property(anyAnswer, addresses, (answer, address) => {
        const value = reader(answer, decoding(address));
        if (value !== null) expect(scalarsOf(answer)).toContain(String(value).trim());
      }),
      { numRuns: 10_000 },
    );
  });
});

function many(answer: unknown, shape: OperationShape = {}) {
  const given = decoding();
  const values = manyValuesReader(shape)(answer, given);
  return { values: Object.fromEntries(values), problems: given.problems };
}

describe("set-value/flush: all addresses of a parameter group", () => {
  const both = { "101": "10010", "102": "45" };
  const items = [register("101", "10010"), register(102, "45")];
  it.each<[string, unknown]>([
    ["keyed", { data: both }],
    ["keyed, some with {value}", { data: { "101": "10010", "102": { value: "45" } } }],
    ["a list", { data: items }],
    ["data.list", { data: { list: [items[0], { addr: "102", val: "45" }] } }],
    ["rows", { rows: items }],
    [
      "values that are objects, whatever they are called",
      {
        data: [
          { addr: "101", val: { value: "10010", dateTime: "x" } },
          { address: "102", currentValue: { val: "45" } },
        ],
      },
    ],
    ["items keyed by address", { data: { "101": items[0], "102": { value: "45" } } }],
    ["under the device code", { data: { "GH-1": both } }],
    ["beside a name and a type", { data: { deviceTypeId: 2, deviceCode: "GH-1", name: "x", ...both } }],
    ["with empty ones left out", { data: { ...both, "103": null, "104": "" } }],
  ])("%s", (_name, answer) => expect(many(answer)).toEqual({ values: both, problems: [] }));

  it.each([...empties, { value: { value: null } }, { value: {} }])(
    "what was set is no value where %j says that there is none",
    (empty) => {
      const list = [{ address: "101", ...set, ...empty }, register("102", "45")];
      expect(many({ data: list }).values).toEqual({ "102": "45" });
      expect(many({ data: { "101": { ...set, ...empty }, "102": "45" } }).values).toEqual({ "102": "45" });
    },
  );

  it.each([{ value: { value: "10001" } }, { value: "10001" }, { currentValue: 10001 }])(
    "what was set gives way to %j",
    (current) =>
      expect(String(many({ data: [{ address: "101", ...set, ...current }] }).values["101"])).toBe("10001"),
  );

  it.each([{ error: "Forbidden" }, { foo: "bar" }, { detail: "Not found." }])(
    "%j is a shape nobody knows",
    (answer) => expect(() => many(answer)).toThrow(UnreadableShape),
  );

  it.each([
    [],
    {},
    { data: null },
    { code: 200 },
    { list: [] },
    { rows: null },
    { "101": null },
    { total: 0 },
  ])("%j holds none, and nothing to complain of", (answer) =>
    expect(many(answer)).toEqual({ values: {}, problems: [] }),
  );

  it("numbers stay numbers", () => expect(many({ data: { "101": 10010 } }).values).toEqual({ "101": 10010 }));

  it.each([null, {}, []])("data %j is no addresses", (data) =>
    expect(many({ data })).toEqual({ values: {}, problems: [] }),
  );

  it("data that can hold none is a shape nobody knows", () =>
    expect(() => many({ data: "ok" })).toThrow(UnreadableShape));

  it("an address that stands there twice with different values is in doubt and left out", () => {
    const twice = [register("101", "1"), register("101", "2"), register("102", "3"), register("102", "3")];
    expect(many({ data: twice })).toEqual({ values: { "102": "3" }, problems: [expect.any(String)] });
  });

  it("a listing tells an address without a value from one whose value is in doubt or cannot be read", () => {
    const strange = { what: "1" };
    const data = [
      ...[register("101", "1"), register("101", "2"), register("102", null)],
      ...[register("103", strange), register("103", null), register("104", strange), register("104", "4")],
    ];
    const listed = listingReader({})({ data }, decoding());
    expect(listed.map(({ address, value, unclear }) => [address, value, unclear])).toEqual([
      ["101", null, "doubtful"],
      ["102", null, undefined],
      ["103", null, "strange"],
      ["104", "4", undefined],
    ]);
  });

  it("beside values under their addresses what cannot be read under one is told, and listed so", () => {
    const given = decoding();
    const listed = listingReader({})({ data: { "101": "10010", "102": { raw: "10010" } } }, given);
    expect(listed).toMatchObject([
      { address: "101", value: "10010" },
      { address: "102", value: null, unclear: "strange" },
    ]);
    expect(given.problems).toEqual(["a value of an address that is no text and no number"]);
  });

  it("what only describes values under their addresses is not told", () =>
    expect(many({ data: { ...both, remark: { by: "x" }, location: { lat: 1 } } })).toEqual({
      values: both,
      problems: [],
    }));

  it("any answer gives scalars of the answer or none, never a crash", () => {
    const reader = manyValuesReader({});
    fc.assert(
      fc.property(anyAnswer, (answer) => {
        const scalars = scalarsOf(answer);
        try {
          for (const [address, value] of reader(answer, decoding())) {
            expect(scalars).toContain(address);
            expect(scalars).toContain(String(value).trim());
          }
        } catch (error) {
          if (!(error instanceof UnreadableShape)) throw error;
        }
      }),
      { numRuns: 10_000 },
    );
  });
});
