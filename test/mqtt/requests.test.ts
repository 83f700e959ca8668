import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  answerRequest,
  optionalTextField,
  parseRequest,
  RequestError,
  type RequestHandler,
  textField,
} from "../../src/mqtt/requests.js";

const bytes = (text: string) => new TextEncoder().encode(text);
const signal = new AbortController().signal;
const answer = async (payload: string, handler: RequestHandler, name = "read"): Promise<unknown> =>
  JSON.parse(await answerRequest(name, parseRequest(bytes(payload)), new Map([["read", handler]]), signal));
const echo: RequestHandler = (fields) => Promise.resolve(fields);

describe("a request's payload", () => {
  it.each(["", " ", "x", "{", "\u0000"])("that is empty or no JSON counts as {}: %j", (payload) =>
    expect(parseRequest(bytes(payload))).toEqual({ transaction: undefined, fields: {} }),
  );

  it.each(["null", "[]", "[1]", "3", '"text"', "true"])(
    "that is JSON but no object is an error: %j",
    async (payload) => {
      expect(await answer(payload, echo)).toEqual({
        status: "error",
        error: expect.stringContaining("no object") as unknown,
      });
    },
  );

  it("may be any bytes", () =>
    fc.assert(
      fc.property(fc.uint8Array(), (payload) => {
        expect(() => parseRequest(payload)).not.toThrow();
      }),
    ));

  it("that is larger than any request needs is not read, and the error says so", async () => {
    const payload = JSON.stringify({ address: "1".repeat(20_000) });
    expect(await answer(payload, echo)).toEqual({
      status: "error",
      error: expect.stringContaining(`${payload.length} bytes`) as unknown,
    });
  });

  it("gives no access to the prototype", () => {
    const { fields } = parseRequest(bytes('{"__proto__":{"polluted":1},"a":1}'));
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
    expect(fields["a"]).toBe(1);
  });
});

describe("the response", () => {
  it.each(["7", '"abc"', "null", '{"a":[1]}'])(
    "echoes the transaction as it came: %s",
    async (transaction) => {
      const payload = `{"transaction":${transaction},"address":"1"}`;
      const expected = { transaction: JSON.parse(transaction) as unknown };
      expect(await answer(payload, echo)).toEqual({ ...expected, status: "ok", data: { address: "1" } });
      expect(await answer(payload, echo, "nonsense")).toMatchObject({ ...expected, status: "error" });
      expect(await answer(payload, () => Promise.reject(new Error("no")))).toEqual({
        ...expected,
        status: "error",
        error: "no",
      });
    },
  );

  it("to a request without one has none", async () => {
    expect(await answer("", echo)).toEqual({ status: "ok", data: {} });
  });

  it("to an unknown request names the known ones", async () => {
    expect(await answer("", echo, "nonsense")).toEqual({
      status: "error",
      error: expect.stringMatching(/nonsense.*read/) as unknown,
    });
  });

  it.each<[string, RequestHandler]>([
    [
      "a handler that throws at once",
      () => {
        throw new RequestError("say why");
      },
    ],
    ["a handler that throws no error", () => Promise.reject(new Error("say why"))],
    ["an answer JSON cannot hold", () => Promise.resolve({ n: 1n })],
  ])("is an error and never a crash: %s", async (_, handler) => {
    expect(await answer('{"transaction":1}', handler)).toMatchObject({ status: "error", transaction: 1 });
  });

  it.each(["read", "nonsense"])("never fails, however deep the transaction is nested: %s", async (name) => {
    const deep = `${"[".repeat(8_000)}${"]".repeat(8_000)}`;
    expect(await answer(`{"transaction":${deep}}`, echo, name)).toMatchObject({ status: "error" });
  });

  it("has data also where there is nothing to say", async () => {
    expect(await answer("", () => Promise.resolve(undefined))).toEqual({ status: "ok", data: {} });
  });
});

describe("fields", () => {
  it.each([
    ["GH-1", "GH-1"],
    [101, "101"],
    [0, "0"],
  ])("a text may come as a number: %j", (value, text) => {
    expect(textField({ controller: value }, "controller")).toBe(text);
    expect(optionalTextField({ controller: value }, "controller")).toBe(text);
  });

  it.each([undefined, null, "", true, {}, []])("one that is missing is named: %j", (value) =>
    expect(() => textField({ controller: value }, "controller")).toThrow('"controller"'),
  );

  it("an optional one may be missing or null, not wrong", () => {
    expect([optionalTextField({}, "a"), optionalTextField({ a: null }, "a")]).toEqual([null, null]);
    expect(() => optionalTextField({ a: {} }, "a")).toThrow(RequestError);
  });
});
