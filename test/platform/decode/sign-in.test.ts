import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { readSignIn } from "../../../src/platform/decode/sign-in.js";
import { anyAnswer, decoding } from "../support/decoding.js";

const now = Date.parse("2026-03-01T08:00:00Z");
const { readTime } = decoding();
const read = (body: unknown, path?: string, headers: Readonly<Record<string, string>> = {}) =>
  readSignIn({ body, headers }, path, now, (value) => readTime(value, now));
const token = "0123456789abcdef0123";

const jwt = (claims: object) =>
  `${Buffer.from('{"alg":"none"}').toString("base64url")}.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.sig`;

describe("the token of a sign-in answer", () => {
  it.each<unknown>([
    { code: 200, data: { token } },
    { code: 200, data: { accessToken: token } },
    { code: 200, data: { tokenValue: token } },
    { code: 200, data: token },
    { code: 200, token },
    { access_token: token, token_type: "bearer" },
    { code: 200, data: { user: { id: 1, name: "demo" }, access_token: token } },
    { code: 200, data: { token: { accessToken: token } } },
    { result: { token: `Bearer ${token}` } },
    { code: 200, data: { userInfo: { x: 1 }, tokenInfo: { tokenValue: token } } },
  ])("is found in %j", (body) => expect(read(body)?.token).toBe(token));

  it.each<Readonly<Record<string, string>>>([
    { authorization: `Bearer ${token}` },
    { "x-auth-token": token },
    { token },
  ])("is found in the headers %j where the body has none", (headers) => {
    expect(read({ code: 200, message: "success" }, undefined, headers)?.token).toBe(token);
    expect(read({ token: `${token}0` }, undefined, headers)?.token).toBe(`${token}0`);
    expect(read({ code: 200 }, "data.token", headers)).toBeNull();
  });

  it.each<Readonly<Record<string, string>>>([
    { authorization: "Basic abc" },
    { authorization: "short" },
    { "set-cookie": token },
  ])("is not found in the headers %j", (headers) =>
    expect(read({ code: 200 }, undefined, headers)).toBeNull(),
  );

  it("is taken from the configured path only, where there is one", () => {
    expect(read({ a: { b: "tok" }, token }, "a.b")?.token).toBe("tok");
    expect(read({ token }, "a.b")).toBeNull();
    expect(read({ list: [{ t: token }] }, "list.0.t")?.token).toBe(token);
  });

  it.each<unknown>([
    { code: 200, data: "success" },
    { code: 200, message: token },
    { code: 200, data: { token: "" } },
    { code: 200, data: { token: 12345 } },
    { code: 200, data: { token: "two words here" } },
    { code: 200, data: { token: "中文中文中文中文" } },
    null,
    [],
    "token",
  ])("is not found in %j", (body) => expect(read(body)).toBeNull());

  it.each<[unknown, number | null]>([
    [{ token, expiresIn: 7_200 }, 7_200_000],
    [{ token, expires_in: "3600" }, 3_600_000],
    [{ token, expiresIn: 86_400_000 }, 86_400_000],
    [{ data: { token, expireTime: "2026-03-01 18:00:00" } }, 7_200_000],
    [{ data: { token, expiresAt: "2026-03-01T10:00:00Z" } }, 7_200_000],
    [{ data: { token, expireTime: now + 60_000 } }, 60_000],
    [{ data: { token, expireTime: "2020-01-01 00:00:00" } }, null],
    [{ data: { token } }, null],
    [{ token: jwt({ exp: now / 1000 + 600 }) }, 600_000],
    [{ token: jwt({ iat: 1_000, exp: 4_600 }) }, 3_600_000],
    [{ token: jwt({ exp: "x" }) }, null],
    [{ token: "a.b.c-not-json" }, null],
  ])("%j is good for %j ms", (body, lifetime) => expect(read(body)?.lifetimeMs ?? null).toBe(lifetime));

  it("any answer gives a token or none, never a crash", () =>
    fc.assert(
      fc.property(anyAnswer, (answer) => {
        const found = read(answer);
        expect(found === null || /^[\x21-\x7e]+$/.test(found.token)).toBe(true);
      }),
      { numRuns: 10_000 },
    ));
});
