import { describe, expect, it, onTestFinished } from "vitest";
import { serveFleet, type ShownAccount } from "../../src/http/fleet-site.js";
import type { Listener } from "../../src/http/access.js";
import type { AccountReport } from "../../src/page/protocol.js";
import { summaryOf } from "../../src/greenhouse/summary.js";
import { capturedLog } from "../mqtt-connection/support.js";
import { freePort } from "../support/mosquitto.js";
import { emptyPort, emptyService, loopback, refusedUpgrade, viewer } from "./support.js";

const report = (over: Partial<AccountReport> = {}): AccountReport => ({
  ...summaryOf([]),
  state: "running",
  since: "2026-01-01T00:00:00.000Z",
  restarts: 0,
  error: null,
  again: null,
  platform: "online",
  broker: "online",
  alarms: 0,
  worst: null,
  read_only: false,
  ...over,
});

const operator = { username: "anna", password: "operator-anna", role: "operator" } as const;
const ofNorth = { username: "ben", password: "viewer-ben-1", role: "operator", accounts: ["north"] } as const;

/** A fleet of three accounts, of which `west` does not run. */
async function fleet(users: Listener["users"] = [operator, ofNorth]) {
  const port = await freePort();
  const inForce = { users };
  const { log, lines } = capturedLog();
  const within: string[] = [];
  const serviceOf = (name: string) =>
    emptyService({
      log,
      ask: (request) => Promise.resolve(JSON.stringify({ status: "ok", data: `${request} of ${name}` })),
      timeline: () => {
        const entries = [{ seq: 1, at: "", kind: "system", type: `of ${name}` } as never];
        return Promise.resolve({ entries, next: null });
      },
    });
  const accounts = new Map<string, ShownAccount>([
    ["east", { report: () => report(), page: serviceOf("east") }],
    ["north", { report: () => report({ alarms: 1, worst: "error" }), page: serviceOf("north") }],
    ["west", { report: () => report({ state: "waiting", error: "wrong token" }), page: null }],
  ]);
  const stop = new AbortController();
  for (const { page } of accounts.values()) void page?.live.run(stop.signal);
  const served = serveFleet(
    emptyPort({ log, listener: () => ({ ...loopback, port, token: "for-programs", users: inForce.users }) }),
    {
      version: "test",
      mistake: () => 'fleet.yaml:3:1 http.users[0].accounts[0]: there is no account "south"',
      accounts: () => accounts,
      account: (name) => accounts.get(name),
      isStandby: () => false,
      canTakeOver: () => false,
      clusterMetrics: () => null,
      isHealthy: () => true,
      isReady: () => false,
      health: () => ({ rss_mb: 1 }),
      restore: () => Promise.resolve({ isBusy: true }),
      within: (name, run) => {
        within.push(name);
        return run();
      },
    },
    stop.signal,
  );
  onTestFinished(async () => {
    stop.abort();
    await served;
  });
  const url = `http://127.0.0.1:${port}`;
  await expect
    .poll(() =>
      fetch(`${url}/healthz`).then(
        ({ status }) => status,
        () => 0,
      ),
    )
    .toBe(200);
  const login = async ({ username, password }: { readonly username: string; readonly password: string }) => {
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify({ username, password });
    const answer = await fetch(`${url}/api/login`, { method: "POST", headers, body });
    return answer.headers.get("set-cookie")?.split(";")[0] ?? "";
  };
  const as = (cookie: string) => async (path: string, body?: object) => {
    const headers = { cookie, "content-type": "application/json" };
    const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const answer = await fetch(`${url}/${path}`, { headers, ...sent });
    const text = await answer.text();
    return [answer.status, text.startsWith("{") ? (JSON.parse(text) as object) : text] as const;
  };
  return { url, login, as, accounts, inForce, lines, within };
}

const everyPath: readonly (readonly [path: string, body?: object])[] = [
  ["overview"],
  ["controllers"],
  ["journal"],
  ["journal?kind=login"],
  ["trends/gh-0001"],
  ["alarms"],
  ["addresses"],
  ["groups"],
  ["health"],
  ["metrics"],
  ["session"],
  ["commands/x"],
  ["stream/gh-0001"],
  ["requests/bundle", {}],
  ["commands", { controller: "gh-0001", actuator: "fan", command: "on" }],
  ["doctor", {}],
];

describe("one page for all accounts", () => {
  it("tells mistakes of the fleet's files to who sees all accounts alone", async () => {
    const { as, login } = await fleet();
    const [anna, ben] = [as(await login(operator)), as(await login(ofNorth))];
    expect(await anna("api/accounts")).toMatchObject([
      200,
      { mistake: expect.stringContaining("south") as string },
    ]);
    expect(await ben("api/accounts")).toMatchObject([200, { mistake: null }]);
  });

  it("answers below an account what one bridge answers, and work for it is done as its own", async () => {
    const { as, login, within } = await fleet();
    const anna = as(await login(operator));
    expect(await anna("api/accounts/north/overview")).toMatchObject([200, { controllers: {} }]);
    expect(await anna("api/accounts/north/requests/bundle", {})).toMatchObject([
      200,
      { data: "bundle of north" },
    ]);
    expect(await anna("api/accounts/east/journal")).toMatchObject([200, { records: [{ type: "of east" }] }]);
    expect(within).toEqual(["north", "north", "east"]);
    expect(await anna("api/accounts/north/nothing")).toMatchObject([404, {}]);
    expect(await anna("api/overview")).toMatchObject([404, {}]);
    expect(await anna("api/accounts/north/login", {})).toMatchObject([404, {}]);
  });

  it("tells who asks which accounts there are, and how each is; a part of them to who sees a part", async () => {
    const { as, login } = await fleet();
    const [, all] = await as(await login(operator))("api/accounts");
    expect(all).toMatchObject({
      version: "test",
      accounts: { north: { alarms: 1 }, west: { state: "waiting" } },
    });
    const ben = as(await login(ofNorth));
    for (const path of ["api/accounts", "api/health"]) {
      const [, some] = await ben(path);
      expect(Object.keys((some as { accounts: object }).accounts)).toEqual(["north"]);
    }
    expect(await ben("api/session")).toMatchObject([200, { user: "ben", fleet: true }]);
    expect(await ben("api/accounts/north/session")).toMatchObject([200, { account: { state: "running" } }]);
  });

  it("does not tell of an account that a user may not see, at no path", async () => {
    const { as, login } = await fleet();
    const ben = as(await login(ofNorth));
    for (const [path, body] of everyPath) {
      const hidden = await ben(`api/accounts/east/${path}`, body);
      const missing = await ben(`api/accounts/nowhere/${path}`, body);
      expect(hidden[0], path).toBe(404);
      expect(JSON.stringify(hidden).replace("east", "nowhere"), path).toBe(JSON.stringify(missing));
      expect((await as("")(`api/accounts/north/${path}`, body))[0], path).toBe(401);
    }
  });

  it("says why an account does not answer that does not run", async () => {
    const { as, login, url } = await fleet();
    const cookie = await login(operator);
    const anna = as(cookie);
    const message = "The account west does not run (waiting): wrong token";
    expect(await anna("api/accounts/west/overview")).toEqual([503, { error: "account_away", message }]);
    expect(await anna("api/accounts/west/session")).toMatchObject([
      200,
      { account: { error: "wrong token" } },
    ]);
    expect(await refusedUpgrade(url, { headers: { cookie } }, "/api/accounts/west/live")).toBe(503);
  });

  it("shows the views of an account to who sees it, and all accounts as one view", async () => {
    const { login, url } = await fleet();
    const cookie = await login(ofNorth);
    const headers = { cookie };
    const path = (of: string) => `/api/accounts/${of}/live`;
    expect(await refusedUpgrade(url, { headers }, path("east"))).toBe(404);
    expect(await refusedUpgrade(url, {}, path("north"))).toBe(401);
    expect(await refusedUpgrade(url, {}, "/api/live")).toBe(401);
    const north = await viewer(url, { headers }, path("north"));
    north.subscribe("bridge");
    expect(await north.next(({ view }) => view === "bridge")).toMatchObject({ data: { version: "test" } });
    const all = await viewer(url, { headers });
    all.subscribe("accounts", "overview");
    const { data } = await all.next(({ view }) => view === "accounts");
    expect(Object.keys((data as { accounts: object }).accounts)).toEqual(["north"]);
    expect(await all.next(({ view }) => view === "overview")).toMatchObject({ kind: "error" });
  });

  it("ends the live views of who may no longer see them, and of nobody else", async () => {
    const { login, url, inForce } = await fleet();
    const path = "/api/accounts/north/live";
    const anna = await viewer(url, { headers: { cookie: await login(operator) } }, path);
    const ben = await viewer(url, { headers: { cookie: await login(ofNorth) } }, path);
    const closed: string[] = [];
    anna.socket.on("close", () => closed.push("anna"));
    ben.socket.on("close", (code) => closed.push(`ben ${code}`));
    inForce.users = [operator, { ...ofNorth, accounts: ["east"] }];
    anna.subscribe("accounts");
    await expect.poll(() => closed, { timeout: 15_000 }).toEqual(["ben 4401"]);
  });

  it("has metrics of each account that are seen, with its name, and probes that name none", async () => {
    const { as, login, url } = await fleet();
    const [, text] = await as(await login(ofNorth))("metrics");
    expect(text).toContain('greenhouse2mqtt_up{account="north"} 1');
    expect(text).toContain('greenhouse2mqtt_account_state{account="north",state="running"} 1');
    expect(text).not.toMatch(/east|west/);
    const token = await fetch(`${url}/metrics`, { headers: { authorization: "Bearer for-programs" } });
    expect(await token.text()).toContain('greenhouse2mqtt_account_state{account="west",state="waiting"} 1');
    expect((await fetch(`${url}/metrics`)).status).toBe(401);
    const ready = await fetch(`${url}/readyz`);
    expect([ready.status, await ready.text()]).toEqual([
      503,
      "no account has both its broker and its platform\n",
    ]);
  });

  it("without users lets this computer read all accounts and command none", async () => {
    const { as } = await fleet([]);
    const nobody = as("");
    expect(await nobody("api/accounts/north/overview")).toMatchObject([200, {}]);
    expect((await nobody("api/accounts/north/requests/bundle", {}))[0]).toBe(403);
  });
});
