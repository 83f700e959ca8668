import { describe, expect, it } from "vitest";
import { type AuthRules } from "../../src/simulator/tokens.js";
import { Asking, json, minuteMs, object } from "./asking.js";

const strict: Partial<AuthRules> = { tokens: "known", accepted: ["good"], checkRealtime: true };
const paths = { business: "/api/station", realtime: "/api/device_status" } as const;

/** HTTP status and body code of one call with this header. */
function outcome(auth: Partial<AuthRules>, host: keyof typeof paths, authorization: string | undefined) {
  const decision = new Asking({ auth }).decide({
    path: paths[host],
    headers: { authorization },
    query: { deviceCode: "GH-0001" },
  });
  return [decision.status, json(decision.body).code];
}

describe("credentials", () => {
  it.each<[string, Partial<AuthRules>, keyof typeof paths, string | undefined, unknown[]]>([
    ["any token is good by default", {}, "business", "Bearer whatever", [200, 200]],
    ["a header that is no bearer token is not", {}, "business", "Basic eA==", [401, 401]],
    [
      "the business host refuses a missing header as documented",
      strict,
      "business",
      undefined,
      [403, undefined],
    ],
    ["a wrong token is 401", strict, "business", "Bearer bad", [401, 401]],
    ["or 403", { ...strict, refusal: 403 }, "business", "Bearer bad", [403, 403]],
    ["or a body code", { ...strict, refusal: "body" }, "business", "Bearer bad", [200, 401]],
    ["an accepted token passes", strict, "business", "Bearer good", [200, 200]],
    ["the realtime host does not check by default", { tokens: "known" }, "realtime", undefined, [200, 200]],
    ["the realtime host checks when told to", strict, "realtime", "Bearer bad", [401, 401]],
    ["also for a missing header", strict, "realtime", undefined, [401, 401]],
    ["and lets a good one pass", strict, "realtime", "Bearer good", [200, 200]],
  ])("%s", (_rule, auth, host, header, expected) => expect(outcome(auth, host, header)).toEqual(expected));
});

const signIn = (asking: Asking, body: unknown) =>
  json(
    asking.decide({ path: "/api/account/sign-in", method: "POST", body: JSON.stringify(body), headers: {} })
      .body,
  );
const status = (asking: Asking, token: unknown) =>
  asking.decide({ path: "/api/station", headers: { authorization: `Bearer ${String(token)}` } }).status;

it("signing in needs the fields of the account, and gives a token that is good until it expires", () => {
  const account = { account: "a", password: "p" };
  const asking = new Asking({ auth: { tokens: "known", lifetimeMs: minuteMs, signIn: account } });
  expect(signIn(asking, { ...account, password: "wrong" })).toMatchObject({ code: 401, data: null });
  const { token, expiresIn } = object(signIn(asking, { ...account, more: 1 }).data);
  expect(expiresIn).toBe(60);
  expect(status(asking.pass(minuteMs - 1), token)).toBe(200);
  expect(status(asking.pass(1), token)).toBe(401);
});

it("after all tokens were expired a new one is the way back, and accepting one by hand is another", () => {
  const asking = new Asking();
  asking.control.expireTokens();
  expect(status(asking, "t")).toBe(401);
  expect(status(asking, object(signIn(asking, {}).data).token)).toBe(200);
  asking.control.acceptToken("t");
  expect(status(asking, "t")).toBe(200);
});
