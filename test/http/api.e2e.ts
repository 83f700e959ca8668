import { once } from "node:events";
import { describe, expect, it, vi } from "vitest";
import { capturedLog } from "../mqtt-connection/support.js";
import { field, pageScene, patched, refusedUpgrade, users, viewer } from "./support.js";

/** What a merge patch cannot say: null. */
const withoutNulls = (document: unknown) => patched({}, document);

const wrongRequests = [
  ["GET", "api/nothing", {}, undefined, 404, "not_found"],
  ["GET", "api/controllers/none", {}, undefined, 404, "not_found"],
  ["GET", "api/commands/none", {}, undefined, 404, "not_found"],
  ["GET", "api/stream/gh-0001", {}, undefined, 404, "not_found"],
  ["GET", "api/trends/gh-0001/none", {}, undefined, 404, "not_found"],
  ["GET", "api/trends", {}, undefined, 400, "bad_request"],
  ["GET", "api/trends/gh-0001?since=1h&until=2h", {}, undefined, 400, "bad_request"],
  ["GET", "api/trends/gh-0001?since=2126-01-01T00:00:00Z", {}, undefined, 400, "bad_request"],
  ["GET", `api/trends?controllers=${"a,".repeat(60)}`, {}, undefined, 400, "bad_request"],
  ["GET", "api/journal?limit=0", {}, undefined, 400, "bad_request"],
  ["GET", "api/commands", {}, undefined, 405, "method"],
  ["PUT", "api/overview", {}, undefined, 405, "method"],
  ["POST", "api/commands", {}, "{", 400, "bad_request"],
  ["POST", "api/commands", {}, "[]", 400, "bad_request"],
  ["POST", "api/commands", {}, '{"controller":"gh-0001","command":"on"}', 400, "bad_request"],
  [
    "POST",
    "api/commands",
    {},
    '{"controller":"gh-0001","actuator":"fan","command":"on","x":1}',
    400,
    "bad_request",
  ],
  ["POST", "api/commands", {}, '{"controller":"gh-0001","actuator":"fan","command":{}}', 400, "bad_request"],
  ["POST", "api/commands", {}, `{"x":"${"y".repeat(70_000)}"}`, 413, "too_large"],
  ["POST", "api/commands", { "content-type": "text/plain" }, "{}", 415, "media_type"],
  ["POST", "api/commands", { origin: "http://evil.example" }, "{}", 403, "foreign_origin"],
  ["POST", "api/requests/none", {}, "{}", 400, expect.any(String)],
  ["GET", "nothing", {}, undefined, 404, "not_found"],
] as const;

describe("the API", () => {
  it("shows overview, controllers, alarms and health to everybody on this computer", async () => {
    const { get, post } = await pageScene();
    const [, session] = await get("api/session");
    expect(session).toEqual({ user: null, role: "viewer", via: null, login: false, first_operator: true });
    const [, overview] = await get("api/overview");
    for (const key of [
      "name",
      "availability",
      "problem",
      "quality",
      "oldest_reading_at",
      "command",
      "alarms",
    ])
      expect(overview).toHaveProperty(`controllers.gh-0001.${key}`);
    expect(overview).toMatchObject({ bridge: { platform: "online", version: "test", demo: null } });
    const [, list] = await get("api/controllers");
    expect(list).toMatchObject({ "gh-0001": { code: "GH-0001", id: "gh-0001", name: "East" } });
    const [, byCode] = await get("api/controllers/GH-0001");
    expect(byCode).toEqual((await get("api/controllers/gh-0001"))[1]);
    const roof = { words: ["open", "close", "auto"], degrees: true, stop: false };
    expect(byCode).toMatchObject({
      actuators: {
        roof: {
          ...roof,
          allowed: { words: ["open", "close", "auto"], degrees: { min: 0, max: 100 }, because: [] },
          lock: null,
          lease: null,
        },
      },
      sensors: { airtemp: { unit: "°C" } },
    });
    expect((await get("api/alarms"))[0]).toBe(200);
    expect((await get("api/health"))[1]).toHaveProperty("uptime_s");
    expect(await get("api/addresses")).toEqual([200, { addresses: [], yaml: "" }]);
    expect((await post("api/commands", { controller: "gh-0001", actuator: "fan", command: "on" }))[0]).toBe(
      403,
    );
  });

  it("says in one word and a sentence what is wrong with a request", async () => {
    const { url, login } = await pageScene(users);
    const cookie = await login("anna", "operator-anna");
    for (const [method, path, more, body, status, error] of wrongRequests) {
      const headers = new Headers({ cookie, ...more });
      if (body !== undefined && !headers.has("content-type")) headers.set("content-type", "application/json");
      const answer = await fetch(`${url}/${path}`, { method, headers, ...(body !== undefined && { body }) });
      const said = (await answer.json()) as { error: string };
      expect([path, answer.status, said.error], body?.slice(0, 100)).toEqual([path, status, error]);
      expect(answer.headers.get("cache-control")).toBe("no-store");
    }
  });

  it("answers a wrong login as one of a user who does not exist, and a viewer who acts with 403", async () => {
    const { get, post, login } = await pageScene(users);
    expect((await get("api/session"))[1]).toMatchObject({
      user: null,
      role: null,
      via: null,
      login: true,
    });
    expect((await get("api/overview"))[0]).toBe(401);
    const wrong = await post("api/login", { username: "anna", password: "no" });
    expect(wrong).toEqual([401, expect.objectContaining({ error: "wrong_login" })]);
    expect(await post("api/login", { username: "nobody", password: "no" })).toEqual(wrong);
    const ben = await login("ben", "viewer-ben");
    expect((await get("api/overview", { cookie: ben }))[0]).toBe(200);
    const command = { controller: "gh-0001", actuator: "fan", command: "on" };
    expect((await post("api/commands", command, { cookie: ben }))[1]).toMatchObject({ error: "role" });
    expect((await post("api/requests/health", {}, { cookie: ben }))[0]).toBe(403);
    expect((await get("api/stream/gh-0001", { cookie: ben }))[1]).toMatchObject({ error: "role" });
    expect((await post("api/logout", {}, { cookie: ben }))[0]).toBe(204);
    expect((await get("api/overview", { cookie: ben }))[0]).toBe(401);
  });

  it("takes a command on the way of those over MQTT, and tells its phase and its one result", async () => {
    const { get, post, login } = await pageScene(users);
    const cookie = await login("anna", "operator-anna");
    const command = { controller: "GH-0001", actuator: "fan", command: "on", id: "first" };
    expect(await post("api/commands", command, { cookie })).toEqual([202, { id: "first" }]);
    const done = await vi.waitUntil(
      async () => {
        const [, told] = await get("api/commands/first", { cookie });
        return field(told, "result") !== null && told;
      },
      { timeout: 20_000 },
    );
    expect(done).toMatchObject({ id: "first", controller: "gh-0001", actuator: "fan", phase: "done" });
    expect(done).toMatchObject({ result: { outcome: "confirmed", by: "anna", via: "page:anna" } });
    const other = await post("api/commands", { ...command, command: "off" }, { cookie });
    expect(other).toEqual([409, expect.objectContaining({ id: "first", reason: "bad_payload" })]);
    expect((await get("api/commands/first", { cookie }))[1]).toEqual(done);
    const again = await post("api/commands", command, { cookie });
    expect(again).toEqual([
      409,
      expect.objectContaining({ outcome: "refused", reason: "duplicate", id: "first" }),
    ]);
    expect(again[1]).toMatchObject({ original: { outcome: "confirmed" } });
    const refused = await post(
      "api/commands",
      { ...command, command: "050", id: "second", by: "me" },
      { cookie },
    );
    expect(refused).toEqual([409, expect.objectContaining({ reason: "bad_payload", by: "me" })]);
    const unknown = await post("api/commands", { ...command, actuator: "none", id: "third" }, { cookie });
    expect(unknown[1]).toMatchObject({ outcome: "refused", reason: "unknown_actuator" });
    const [, shown] = await get("api/controllers/gh-0001", { cookie });
    expect(shown).toMatchObject({
      actuators: { fan: { state: "on", command: { id: "first", phase: "done" } } },
    });
    const withId = (id: string): unknown =>
      expect.objectContaining({ result: expect.objectContaining({ id }) as unknown });
    const [, page] = await get("api/journal?limit=2", { cookie });
    expect(field(page, "records")).toEqual([withId("third"), withId("second")]);
    const [, rest] = await get(`api/journal?before=${String(field(page, "next"))}&limit=2`, { cookie });
    expect(field(rest, "records")).toEqual([withId("first"), withId("first")]);
    const [, confirmed] = await get("api/journal?outcome=confirmed&controller=gh-0001&since=1h", { cookie });
    expect(field(confirmed, "records")).toHaveLength(1);
  });

  it("answers each refusal of a flood, also those that the journal only counts", async () => {
    const { post, login } = await pageScene(users);
    const cookie = await login("anna", "operator-anna");
    const asked = { controller: "gh-0001", actuator: "fan", command: "nonsense" };
    for (let n = 0; n < 70; n += 1) expect((await post("api/commands", asked, { cookie }))[0]).toBe(409);
  });

  it("gives the journal as a table in which no text is a formula", async () => {
    const { url, post, login } = await pageScene(users);
    const cookie = await login("anna", "operator-anna");
    await post("api/commands", { controller: "gh-0001", actuator: "=1+1", command: 'say "a"' }, { cookie });
    const answer = await fetch(`${url}/api/journal?kind=command`, {
      headers: { cookie, accept: "text/csv" },
    });
    expect(answer.headers.get("content-type")).toBe("text/csv; charset=utf-8");
    const [head, row] = Buffer.from(await answer.arrayBuffer())
      .toString()
      .split("\r\n");
    expect(head).toMatch(/^\uFEFFat,kind,type,controller,actuator,/);
    expect(row).toContain(",gh-0001,'=1+1,");
    const either = await fetch(`${url}/api/journal`, {
      headers: { cookie, accept: "application/json, text/csv;q=0.5" },
    });
    expect(either.headers.get("content-type")).toMatch("application/json");
  });

  it("names the next page of the table, as `next` does, until there is none", async () => {
    const { url, post, login } = await pageScene(users);
    const cookie = await login("anna", "operator-anna");
    for (const command of ["one", "two", "three"])
      await post("api/commands", { controller: "gh-0001", actuator: "fan", command }, { cookie });
    const rows: string[] = [];
    for (let query = "kind=command&limit=2", pages = 0; query !== "" && pages < 9; pages += 1) {
      const answer = await fetch(`${url}/api/journal?${query}`, {
        headers: { cookie, accept: "application/json;q=0.5, text/csv" },
      });
      rows.push(...(await answer.text()).trim().split("\r\n").slice(1));
      const next = /before=\d+(?=>; rel="next")/.exec(answer.headers.get("link") ?? "")?.[0];
      query = next === undefined ? "" : `kind=command&limit=2&${next}`;
    }
    expect(rows).toHaveLength(3);
    expect(new Set(rows).size).toBe(3);
    const first = await fetch(`${url}/api/journal?before=0`, { headers: { cookie } });
    expect(await first.json()).toEqual({ records: [], next: null });
    const newest = await fetch(`${url}/api/journal?limit=2&before=`, { headers: { cookie } });
    expect(await newest.json()).toMatchObject({ records: [{}, {}] });
    // Without a kind all that happened, the login too.
    const all = await fetch(`${url}/api/journal?kind=login,system`, { headers: { cookie } });
    expect(JSON.stringify(await all.json())).toContain('"type":"logged_in","user":"anna"');
  });

  it("gives the whole journal in pages, also where what one record says lies over the border of two", async () => {
    const { get, post, login } = await pageScene(users);
    const cookie = await login("anna", "operator-anna");
    const about = { controller: "gh-0001", actuator: "fan" };
    await post("api/commands", { ...about, command: "nonsense" }, { cookie });
    await post("api/commands", { ...about, command: "on", for: "10m", hold: "10m" }, { cookie });
    const page = async (query: string) =>
      (await get(`api/journal?${query}`, { cookie }))[1] as { records: unknown[]; next: number | null };
    await expect
      .poll(async () => JSON.stringify(await page("kind=lease,hold")))
      .toMatch(/held.*lease_begun|lease_begun.*held/);
    const query = `kind=command,lease,hold&until=${new Date().toISOString()}`;
    const all = await page(query);
    const found: unknown[] = [];
    for (let next: number | null | "" = ""; next !== null;) {
      const { records, next: before } = await page(`${query}&limit=1&before=${next}`);
      found.push(...records);
      next = before;
    }
    expect(found).toEqual(all.records);
    expect(JSON.stringify(found)).toContain("nonsense");
  });

  it("logs who came in and that somebody did not, without a word that may be a password", async () => {
    const { log, lines } = capturedLog();
    const { login } = await pageScene(users, { log });
    await login("typed-into-the-wrong-field", "secret-of-anna");
    await login("anna", "operator-anna");
    expect(lines.filter((line) => line.includes("wrong password"))).toHaveLength(1);
    expect(
      lines.filter((line) => /logged in to the page.*anna|anna.*logged in to the page/.test(line)),
    ).toHaveLength(1);
    expect(lines.filter((line) => /typed-into|secret-of|operator-anna/.test(line))).toEqual([]);
  });

  it("ends the doctor of somebody who does not wait for it", async () => {
    const ended: string[] = [];
    async function* doctor(signal: AbortSignal) {
      yield { check: "first" };
      await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
      ended.push("stopped");
    }
    const { url, login } = await pageScene(users, { page: { doctor } });
    const cookie = await login("anna", "operator-anna");
    const gone = new AbortController();
    const headers = { cookie, "content-type": "application/json" };
    const answer = await fetch(`${url}/api/doctor`, {
      method: "POST",
      headers,
      body: "{}",
      signal: gone.signal,
    });
    const reader = answer.body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe('{"check":"first"}\n');
    gone.abort();
    await vi.waitUntil(() => ended.length === 1, { timeout: 20_000 });
  });

  it("answers requests as MQTT does", async () => {
    const { post, login } = await pageScene(users);
    const cookie = await login("anna", "operator-anna");
    const read = await post(
      "api/requests/read",
      { controller: "gh-0001", address: "150", transaction: 7 },
      { cookie },
    );
    expect(read).toMatchObject([200, { status: "ok", transaction: 7, data: { address: "150" } }]);
    const wrong = await post("api/requests/read", { controller: "none", address: "1" }, { cookie });
    expect(wrong).toEqual([400, expect.objectContaining({ status: "error" })]);
  });

  it("is not there with `page: false`", async () => {
    const { get } = await pageScene("page: false");
    expect((await get(""))[0]).toBe(404);
    expect((await get("api/session"))[0]).toBe(404);
  });
});

describe("live views", () => {
  it("begin with a snapshot; patches lead from it to what the GET answers", async () => {
    const { url, get, post, login } = await pageScene(users);
    const cookie = await login("anna", "operator-anna");
    const { messages, subscribe, next } = await viewer(url, { headers: { cookie } });
    subscribe("overview", "controller/gh-0001", "journal", "log", "alarms");
    const isFirst = (view: string) => next((one) => one.view === view && one.kind === "snapshot");
    for (const view of ["overview", "controller/gh-0001", "journal", "alarms"]) await isFirst(view);
    await post(
      "api/commands",
      { controller: "gh-0001", actuator: "fan", command: "on", id: "x" },
      { cookie },
    );
    await next(({ view, kind }) => view === "journal" && kind === "append");
    await next(({ kind }) => kind === "alive");
    await vi.waitFor(
      async () => {
        const own = messages.filter(({ view }) => view === "controller/gh-0001");
        const shown = own.reduce<unknown>(
          (document, { kind, data }) => (kind === "patch" ? patched(document, data) : data),
          {},
        );
        const [, now] = await get("api/controllers/gh-0001", { cookie });
        expect(withoutNulls(shown)).toEqual(withoutNulls(now));
        expect(field(now, "actuators", "fan", "result", "outcome")).toBe("confirmed");
      },
      { timeout: 20_000 },
    );
    expect(
      messages.filter(({ view, kind }) => view === "controller/gh-0001" && kind === "patch"),
    ).not.toEqual([]);
  });

  it("an unknown view is an error and the connection stays; what is no JSON, or too much, ends it", async () => {
    const { url } = await pageScene();
    const one = await viewer(url);
    one.subscribe("nothing", "controller/none");
    await one.next(({ view, kind }) => view === "nothing" && kind === "error");
    await one.next(({ view, kind }) => view === "controller/none" && kind === "error");
    one.subscribe("overview");
    await one.next(({ kind }) => kind === "snapshot");
    one.socket.send("{");
    expect((await once(one.socket, "close"))[0]).toBe(1008);
    const other = await viewer(url);
    other.socket.send(JSON.stringify({ subscribe: ["x".repeat(5_000)] }));
    expect((await once(other.socket, "close"))[0]).toBe(1009);
  });

  it("need a role, a known host and an own origin, and end with the session", async () => {
    const { url, post, login } = await pageScene(users);
    expect(await refusedUpgrade(url, {})).toBe(401);
    const cookie = await login("ben", "viewer-ben");
    expect(await refusedUpgrade(url, { headers: { cookie }, origin: "http://evil.example" })).toBe(403);
    expect(await refusedUpgrade(url, { headers: { cookie, host: "evil.example" } })).toBe(421);
    expect(await refusedUpgrade(url, { headers: { cookie } }, "/api/other")).toBe(404);
    expect(await refusedUpgrade(url, { headers: { cookie }, origin: url })).toBe(101);
    const { socket } = await viewer(url, { headers: { cookie } });
    const closed = once(socket, "close");
    await post("api/logout", {}, { cookie });
    expect((await closed)[0]).toBe(4401);
  });
});
