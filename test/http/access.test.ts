import { describe, expect, it } from "vitest";
import { type Listener, refusalOf, type RequestFacts } from "../../src/http/server.js";

const loopback: Listener = {
  host: "127.0.0.1",
  port: 8099,
  allowed_hosts: ["greenhouse.local"],
};
const guarded: Listener = { ...loopback, token: "right-token" };
const exposed: Listener = { ...loopback, host: "0.0.0.0" };

const asked: RequestFacts = {
  method: "GET",
  path: "/metrics",
  host: "127.0.0.1:8099",
  origin: undefined,
  authorization: undefined,
};

const statusOf = (request: Partial<RequestFacts>, access: Listener) =>
  refusalOf({ ...asked, ...request }, access)?.status ?? 200;

describe("who is served", () => {
  it.each([
    ["a known name", { host: "greenhouse.local" }, 200],
    ["a known name in capitals, with a port", { host: "Greenhouse.LOCAL:8099" }, 200],
    ["localhost", { host: "localhost:8099" }, 200],
    ["the loopback address of IPv6", { host: "[::1]:8099" }, 200],
    ["a name that resolves to us", { host: "evil.example" }, 421],
    ["a name that ends like ours", { host: "127.0.0.1.evil.example" }, 421],
    ["no name at all", { host: undefined }, 421],
    ["its own origin", { origin: "http://127.0.0.1:8099" }, 200],
    ["a foreign origin", { origin: "https://evil.example" }, 403],
    ["the null origin of a sandboxed page", { origin: "null" }, 403],
    ["HEAD", { method: "HEAD" }, 200],
    ["a request that could change something", { method: "POST" }, 405],
    ["DELETE", { method: "DELETE" }, 405],
  ])("%s gets %o → %i", (_, request, status) => expect(statusOf(request, loopback)).toBe(status));

  it.each([
    ["fd00::5", "[fd00::5]:8099", 200],
    ["fd00::5", "[fd00::5]", 200],
    ["FD00:0:0::5", "[fd00::5]:8099", 200],
    ["[fd00::5]", "[fd00::5]:8099", 200],
    ["fe80::1%eth0", "[fe80::1]:8099", 200],
    ["fd00::5", "[fd00::6]:8099", 421],
    ["fd00::5", "[fd00::5].evil.example", 421],
  ])("a server that listens on %s asked as %s gives %i", (own, host, status) => {
    const path = "/healthz";
    expect(statusOf({ host, path }, { ...loopback, host: own })).toBe(status);
    const named = { ...loopback, allowed_hosts: [own] };
    expect(statusOf({ host }, named), "among http.allowed_hosts").toBe(status);
  });

  it.each(["/healthz", "/readyz"])("%s needs no token", (path) => {
    expect(statusOf({ path }, guarded)).toBe(200);
    expect(statusOf({ path, host: "localhost" }, exposed)).toBe(200);
  });

  it.each(["/metrics", "/", "/anything", "/healthz/../metrics", "/HEALTHZ"])(
    "%s needs the token where one is configured",
    (path) => {
      expect(statusOf({ path }, guarded)).toBe(401);
      expect(statusOf({ path, authorization: "Bearer right-token" }, guarded)).toBe(200);
    },
  );

  it.each([
    ["nothing", undefined, 401],
    ["another token", "Bearer wrong-token", 401],
    ["the beginning of it", "Bearer right", 401],
    ["more than it", "Bearer right-token-and-more", 401],
    ["it without a scheme", "right-token", 401],
    ["it under another scheme", "Basic right-token", 401],
    ["an empty one", "Bearer ", 401],
    ["it under a scheme in small letters", "bearer right-token", 200],
  ])("whoever shows %s gets %o → %i", (_, authorization, status) =>
    expect(statusOf({ authorization }, guarded)).toBe(status),
  );

  it("only a token that was shown and wrong counts as a wrong one", () => {
    expect(refusalOf(asked, guarded)?.wrongToken).toBeUndefined();
    expect(refusalOf({ ...asked, authorization: "Bearer no" }, guarded)?.wrongToken).toBe(true);
  });

  it("without a token metrics are for this computer alone", () => {
    expect(statusOf({}, loopback)).toBe(200);
    expect(statusOf({ host: "localhost" }, exposed)).toBe(401);
  });
});
