import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { judge, type Listener, reachableAt, servesPage } from "../../src/http/access.js";
import { loopback } from "./support.js";

const exposed: Listener = { ...loopback, host: "0.0.0.0" };
const anna = { username: "anna", password: "a-password-of-hers", role: "operator" } as const;
const withUsers: Listener = { ...loopback, users: [anna] };
const guarded: Listener = { ...withUsers, token: "right-token" };
const behind: Listener = { ...exposed, ingress: { ...loopback.ingress, enabled: true, role: "operator" } };

interface Facts {
  readonly remote?: string;
  readonly local?: string;
  readonly host?: string | undefined;
  readonly origin?: string;
  readonly authorization?: string;
  readonly ingressPath?: string | undefined;
  readonly ingressUser?: string;
}

function asking({ remote = "127.0.0.1", local = "127.0.0.1", ...given }: Facts) {
  const { ingressPath, ingressUser, ...headers } = { host: "127.0.0.1:8099", ...given };
  return {
    socket: { remoteAddress: remote, localAddress: local },
    headers: { ...headers, "x-ingress-path": ingressPath, "x-remote-user-name": ingressUser },
  };
}
const noSessions = { find: () => null };

/** The status of a refusal, else the role: `none` where the data need a login. */
function verdictOf(request: Facts, listener: Listener): number | string {
  const verdict = judge(asking(request), listener, noSessions);
  return "status" in verdict ? verdict.status : (verdict.role ?? "none");
}

it("whoever comes by a proxy that changes the Host reads which header it has to pass on", () => {
  const refusal = judge(asking({ origin: "https://house.example" }), loopback, noSessions);
  expect("body" in refusal && JSON.stringify(refusal.body)).toContain("proxy_set_header Host $http_host");
});

describe("who is let in", () => {
  it.each([
    ["a known name", { host: "greenhouse.local" }, "viewer"],
    ["a known name in capitals, with a port", { host: "Greenhouse.LOCAL:8099" }, "viewer"],
    ["localhost", { host: "localhost:8099" }, "viewer"],
    ["the loopback address of IPv6", { host: "[::1]:8099" }, "viewer"],
    ["a name that resolves to us", { host: "evil.example" }, 421],
    ["a name that ends like ours", { host: "127.0.0.1.evil.example" }, 421],
    ["no name at all", { host: undefined }, 421],
    ["an address of IPv6 without its brackets", { host: "::1" }, 400],
    ["an address of IPv6 without its brackets, whose port could be part of it", { host: "::1:8099" }, 400],
    ["a name with a port that there is not", { host: "localhost:99999" }, 400],
    ["a name with a user before it", { host: "a@localhost" }, 400],
    ["its own origin", { origin: "http://127.0.0.1:8099" }, "viewer"],
    ["its own origin behind a proxy that speaks https", { origin: "https://127.0.0.1:8099" }, "viewer"],
    [
      "its own origin behind a proxy that names the port of https",
      { host: "localhost:443", origin: "https://LOCALHOST" },
      "viewer",
    ],
    ["its own name at another port", { origin: "http://127.0.0.1:8123" }, 403],
    ["a foreign origin", { origin: "https://evil.example" }, 403],
    ["the null origin of a sandboxed page", { origin: "null" }, 403],
    ["a header that only ingress may send", { ingressPath: "/api/hassio_ingress/abc" }, "viewer"],
  ])("%s: %o gives %s", (_, request, verdict) => expect(verdictOf(request, loopback)).toBe(verdict));

  it.each([
    ["fd00::5", "[fd00::5]:8099", "none"],
    ["fd00::5", "[fd00::5]", "none"],
    ["FD00:0:0::5", "[fd00::5]:8099", "none"],
    ["[fd00::5]", "[fd00::5]:8099", "none"],
    ["fe80::1%eth0", "[fe80::1]:8099", "none"],
    ["fd00::5", "[fd00::6]:8099", 421],
    ["fd00::5", "[fd00::5].evil.example", 400],
  ])("a server that listens on %s asked as %s gives %s", (own, host, verdict) => {
    expect(verdictOf({ host }, { ...loopback, host: own })).toBe(verdict);
    const named = { ...exposed, allowed_hosts: [own] };
    expect(verdictOf({ host }, named), "among http.allowed_hosts").toBe(verdict);
  });

  it.each([
    ["without users everybody on this computer reads", loopback, {}, "viewer"],
    ["also where programs have a token", { ...loopback, token: "right-token" }, {}, "viewer"],
    [
      "beyond it, under its own address, a login is asked for",
      exposed,
      { local: "192.0.2.7", host: "192.0.2.7:8099" },
      "none",
    ],
    [
      "and under an address that is not its own nothing",
      exposed,
      { local: "192.0.2.7", host: "192.0.2.8:8099" },
      421,
    ],
    [
      "a further name may be given with its port",
      { ...exposed, allowed_hosts: ["a.example:8443"] },
      { host: "a.example:8443" },
      "none",
    ],
    ["with users nobody reads without a login", withUsers, {}, "none"],
    ["where others reach the server nobody reads without one", exposed, {}, "none"],
    ["the token reads", guarded, { authorization: "Bearer right-token" }, "viewer"],
    ["its scheme may be in small letters", guarded, { authorization: "bearer right-token" }, "viewer"],
    ["another token is none", guarded, { authorization: "Bearer wrong-token" }, "none"],
    ["nor is its beginning", guarded, { authorization: "Bearer right" }, "none"],
    ["nor more than it", guarded, { authorization: "Bearer right-token-and-more" }, "none"],
    ["nor without a scheme", guarded, { authorization: "right-token" }, "none"],
    ["nor under another one", guarded, { authorization: "Basic right-token" }, "none"],
    ["nor where none is configured", withUsers, { authorization: "Bearer undefined" }, "none"],
  ])("%s", (_, listener, request, verdict) => expect(verdictOf(request, listener)).toBe(verdict));

  it("every request is judged, whatever bytes stand in its headers", () => {
    // Node reads headers as Latin-1.
    const bytes = fc.string({
      unit: fc.integer({ min: 0, max: 255 }).map((one) => String.fromCharCode(one)),
    });
    const own = fc.constantFrom("::1", "0:0::1", "[::1]", "localhost", "127.0.0.1", "greenhouse.local");
    const hosts = fc.oneof(
      own,
      own.map((name) => `${name}:8099`),
      bytes,
      fc.ipV6(),
      fc.webAuthority({ withIPv6: true, withPort: true }),
    );
    const origins = fc.oneof(
      bytes,
      fc.webUrl(),
      hosts.map((host) => `https://${host}`),
    );
    const headers = fc.record(
      {
        ...{ host: hosts, origin: origins, cookie: bytes, ingressPath: bytes, ingressUser: bytes },
        authorization: fc.oneof(
          bytes,
          bytes.map((token) => `Bearer ${token}`),
        ),
        local: fc.oneof(fc.constant("::1"), fc.ipV6(), fc.ipV4()),
        remote: fc.oneof(fc.ipV6(), fc.ipV4()),
      },
      { requiredKeys: [] },
    );
    const listeners = fc.constantFrom(loopback, exposed, guarded, behind);
    fc.assert(
      fc.property(headers, listeners, (request, listener) => {
        expect(verdictOf(request, listener)).toSatisfy((verdict) => verdict !== undefined);
      }),
      { numRuns: 2_000 },
    );
  });

  it.each([
    ["a request is a use of its session", {}, true],
    ["a live connection is none", { upgrade: "websocket" }, false],
    ["nor is what the page asks by itself", { "x-unattended": "1" }, false],
  ])("%s", (_, more, expected) => {
    const uses: boolean[] = [];
    const find = (_: string, isUse: boolean) => {
      uses.push(isUse);
      return null;
    };
    const request = asking({});
    judge({ ...request, headers: { ...request.headers, ...more } }, guarded, { find });
    expect(uses).toEqual([expected]);
  });

  it("only a token that was shown and wrong counts as a wrong one", () => {
    expect(judge(asking({}), guarded, noSessions)).not.toHaveProperty("isWrongToken");
    const wrong = judge(asking({ authorization: "Bearer no" }), guarded, noSessions);
    expect(wrong).toHaveProperty("isWrongToken", true);
  });
});

describe("Home Assistant's ingress", () => {
  const through = {
    ...{ remote: "172.30.32.2", host: "ha.example:8123", origin: "https://ha.example" },
    ...{ ingressPath: "/api/hassio_ingress/x-Y_1", ingressUser: "anna" },
  };

  it.each([
    ["the Supervisor with its path is ingress, whatever Host and Origin", {}, "operator"],
    ["so it is as an IPv4 address in IPv6", { remote: "::ffff:172.30.32.2" }, "operator"],
    ["another address is not, whatever it sends", { remote: "172.30.32.3" }, 421],
    ["nor is it without the path", { ingressPath: undefined }, 421],
    ["nor with one that could lead elsewhere", { ingressPath: "/a/../b" }, 421],
    ["nor with one that is an address", { ingressPath: "//evil.example" }, 421],
    ["nor with one that ends a header", { ingressPath: '/a"><script>' }, 421],
  ])("%s", (_, request, verdict) => expect(verdictOf({ ...through, ...request }, behind)).toBe(verdict));

  it("is off unless it is configured", () => expect(verdictOf(through, exposed)).toBe(421));

  it.each(["anna", "Jürgen 王"])("says who asks: %s", (user) => {
    const ingressUser = Buffer.from(user).toString("latin1");
    expect(judge(asking({ ...through, ingressUser }), behind, noSessions)).toMatchObject({
      ...{ user, via: `ingress:${user}`, isIngress: true },
    });
  });
});

describe("where the page is served", () => {
  it.each([
    ["on this computer", loopback, true],
    ["nowhere else without anybody who could log in", exposed, false],
    ["with users", { ...exposed, users: [anna] }, true],
    ["with ingress", behind, true],
    ["not where it is turned off", { ...loopback, page: false }, false],
  ])("%s", (_, listener, served) => expect(servesPage(listener)).toBe(served));
});

describe("the address that others are told", () => {
  it.each<[string, Listener | false, string | undefined]>([
    ["of a page that is off", false, undefined],
    ["of one for this computer alone", withUsers, undefined],
    ["of one at every address, where none is the right one", { ...withUsers, host: "0.0.0.0" }, undefined],
    ["of one that nobody may open", { ...loopback, host: "192.168.1.5" }, undefined],
    ["of one at an address", { ...withUsers, host: "192.168.1.5" }, "http://192.168.1.5:8099/"],
    ["of one at an IPv6 address", { ...withUsers, host: "fd00::5" }, "http://[fd00::5]:8099/"],
  ])("%s", (_, listener, address) => expect(reachableAt(listener)).toBe(address));
});
