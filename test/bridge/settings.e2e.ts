import { readdir, readFile, writeFile } from "node:fs/promises";
import { createServer as createHttpServer } from "node:http";
import { type AddressInfo, createServer } from "node:net";
import { once } from "node:events";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { hashPassword } from "../../src/runtime/passwords.js";
import type { Overview, SettingsDocument, SettingsProposal } from "../../src/page/protocol.js";
import { tempFolder } from "../mqtt-connection/support.js";
import { startProgram } from "../end-to-end/support/program.js";
import { freePort } from "../support/mosquitto.js";
import { brokerAndClient, platform } from "./support/bridge.js";
import { linesOf, logged, startProcess } from "./support/program.js";

const until = (
  condition: () => boolean | Promise<boolean>,
  what: string,
  lines: readonly string[] = [],
  timeout = 60_000,
): Promise<void> =>
  vi.waitFor(
    async () => {
      if (!(await condition())) throw new Error(`not ${what}; log:\n${lines.slice(-20).join("\n")}`);
    },
    { timeout, interval: 20 },
  );

const password = "blue-kettle-on-snow";

/** One that somebody else listens at. */
async function busyPort(): Promise<number> {
  const taken = createServer();
  await once(taken.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void taken.close());
  const address = taken.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

interface Place {
  readonly folder: string;
  readonly text: string;
  readonly bridge: ReturnType<typeof startProcess>;
  readonly seen: Awaited<ReturnType<typeof brokerAndClient>>["seen"];
  readonly port: number;
  readonly ask: (path: string, body?: object) => Promise<{ readonly status: number; readonly body: unknown }>;
  readonly logIn: (username: string) => Promise<void>;
  /** Until another run than this is at the page. */
  readonly nextRun: (before: string) => Promise<number>;
  readonly startedAt: () => Promise<string>;
}

async function running(more = "", env: Readonly<Record<string, string>> = {}): Promise<Place> {
  const folder = await tempFolder();
  const { url, seen } = await brokerAndClient();
  const { businessUrl } = await platform();
  const port = await freePort();
  const text = `# The houses of Anna
platform: { business_url: "${businessUrl}", realtime_url: "${businessUrl}", token: !secret token } # the vendor
mqtt: { url: "${url}" }
http:
  port: ${port}
  users:
    - { username: anna, password: !secret anna, role: admin }
    - { username: olga, password: !secret anna, role: operator }
controllers:
  GH-0001:
    name: East # as on the sign
    actuators:
      fan: { kind: circulation_fan, address: 150 }
${more}`;
  await writeFile(join(folder, "config.yaml"), text, { mode: 0o600 });
  const secrets = `token: canary-token-99\nanna: ${await hashPassword(password)}\n`;
  await writeFile(join(folder, "secrets.yaml"), secrets, { mode: 0o600 });
  const bridge = startProcess({ folder, env });
  await until(() => seen.some(({ topic }) => topic.endsWith("/bridge/info")), "online", [bridge.stderr]);
  let cookie = "";
  const ask = async (path: string, body?: object) => {
    const answer = await fetch(`http://127.0.0.1:${port}/api/${path}`, {
      headers: { cookie, "content-type": "application/json" },
      ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
    });
    const set = answer.headers.getSetCookie().map((one) => one.split(";")[0]);
    if (set.length > 0) cookie = set.join("; ");
    const told = await answer.text();
    return { status: answer.status, body: told === "" ? null : (JSON.parse(told) as unknown) };
  };
  const startedAt = async () => {
    const { body } = await ask("overview");
    return (body as { readonly bridge: { readonly started_at: string } }).bridge.started_at;
  };
  const nextRun = async (before: string) => {
    const from = performance.now();
    await until(
      async () => {
        const now = await startedAt().catch(() => before);
        return now !== before;
      },
      "another run",
      [bridge.stderr],
    );
    return performance.now() - from;
  };
  const logIn = async (username: string) => {
    expect((await ask("login", { username, password })).status).toBe(204);
  };
  return { folder, text, bridge, seen, port, ask, logIn, startedAt, nextRun };
}

describe("settings of the page", () => {
  it("are for an admin alone, and show no secret", async () => {
    const { ask, logIn, bridge } = await running();
    expect((await ask("settings")).status).toBe(401);
    await logIn("olga");
    expect(await ask("settings")).toMatchObject({ status: 403, body: { error: "role" } });
    expect((await ask("settings/check", { changes: {} })).status).toBe(403);
    await logIn("anna");
    const { status, body } = await ask("settings");
    expect([status, JSON.stringify(body)]).toEqual([200, expect.not.stringMatching(/canary|scrypt/)]);
    expect(body).toMatchObject({
      not_writable: null,
      given: { "controllers.GH-0001.name": { value: "East", from: "file", line: 11 } },
    });
    expect((await ask("session")).body).toMatchObject({ role: "admin", settings: true });
    expect(bridge.stderr).not.toContain("canary");
  }, 60_000);

  it("are saved into the user's file, and taken up by a new run of the same process", async () => {
    const { folder, text, ask, logIn, nextRun, startedAt, seen, bridge } = await running();
    await logIn("anna");
    const { etag } = (await ask("settings")).body as SettingsDocument;
    const before = await startedAt();
    const changes = { "controllers.GH-0001.name": "West", "groups.fans.members": ["GH-0001/fan"] };
    const proposal = (await ask("settings/check", { changes, language: "zh" })).body as SettingsProposal;
    expect(proposal).toMatchObject({ errors: {}, need_run: ["controllers.GH-0001.name", "groups.fans"] });
    const saved = await ask("settings", { changes, etag });
    expect(saved).toMatchObject({ status: 200 });
    expect(await readFile(join(folder, "config.yaml"), "utf8")).toBe(
      `${text.replace("name: East #", "name: West #")}groups:\n  fans:\n    members: [GH-0001/fan]\n`,
    );
    const tookMs = await nextRun(before);
    expect(tookMs).toBeLessThan(10_000);
    process.stderr.write(`a new run took ${Math.round(tookMs)} ms\n`);
    expect(bridge.hasEnded).toBe(false);
    // The login outlives it, and the journal says who it was.
    const { body: journal } = await ask("journal?kind=system");
    expect(journal).toMatchObject({
      records: expect.arrayContaining([
        expect.objectContaining({
          type: "configuration_changed",
          by: "anna",
          changes: ["controllers.GH-0001.name", "groups.fans"],
        }),
      ]) as unknown,
    });
    expect(
      seen.some(
        ({ topic, text: event }) => topic.endsWith("bridge/event") && event.includes('"settings_changed"'),
      ),
    ).toBe(true);
    // What this page knew before is not what the file says now.
    expect(await ask("settings", { changes: { "controllers.GH-0001.name": "North" }, etag })).toMatchObject({
      status: 409,
      body: { error: "changed" },
    });
    expect(await readdir(join(folder, "data", "backups"))).toHaveLength(1);
    await until(async () => JSON.stringify((await ask("controllers")).body).includes('"West"'), "renamed");
  }, 60_000);

  it("hide an actuator: it is neither mirrored nor commanded, and what was retained of it is cleared", async () => {
    const { folder, text, ask, logIn, nextRun, startedAt, seen } = await running();
    const state = "greenhouse/gh-0001/actuator/fan/state";
    await until(() => seen.some(({ topic, text: shown }) => topic === state && shown !== ""), "shown");
    await logIn("anna");
    const { etag } = (await ask("settings")).body as SettingsDocument;
    const before = await startedAt();
    const changes = { "controllers.GH-0001.actuators.fan.ignore": true };
    expect(await ask("settings", { changes, etag })).toMatchObject({ status: 200 });
    expect(await readFile(join(folder, "config.yaml"), "utf8")).toBe(
      text.replace("address: 150 }", "address: 150, ignore: true }"),
    );
    await nextRun(before);
    await until(() => seen.findLast(({ topic }) => topic === state)?.text === "", "cleared");
    const announced = () =>
      seen.findLast(({ topic }) => topic.startsWith("homeassistant/device/"))?.text ?? "";
    await until(() => announced() !== "" && !announced().includes("actuator/fan"), "not announced any more");
    const refused = await ask("commands", { controller: "gh-0001", actuator: "fan", command: "on" });
    expect(refused).toMatchObject({ status: 409, body: { reason: "unknown_actuator" } });
    expect((await ask("controllers/gh-0001")).body).toMatchObject({ actuators: {} });
  }, 60_000);

  it("move a house in the file, with its remarks, and the overview follows", async () => {
    const more = "  # let to Li\n  GH-0002: { name: West } # small\n";
    const { folder, text, ask, logIn, nextRun, startedAt } = await running(more);
    await logIn("anna");
    const { etag } = (await ask("settings")).body as SettingsDocument;
    const before = await startedAt();
    const order = { controllers: ["GH-0002", "GH-0001"] };
    expect((await ask("settings/check", { order })).body).toMatchObject({
      errors: {},
      keys: ["controllers"],
    });
    expect(await ask("settings", { order: { controllers: ["GH-9"] }, etag })).toMatchObject({ status: 422 });
    expect(await ask("settings", { order, etag })).toMatchObject({ status: 200 });
    expect(await readFile(join(folder, "config.yaml"), "utf8")).toBe(
      text.replace(more, "").replace("controllers:\n", `controllers:\n${more}`),
    );
    await nextRun(before);
    await until(async () => {
      const { controllers } = (await ask("overview")).body as Overview;
      return controllers["gh-0001"]?.place === 1 && controllers["gh-0002"]?.place === 0;
    }, "in order");
  }, 60_000);

  it("that concern users count at once, without a new run", async () => {
    const { ask, logIn, startedAt } = await running();
    await logIn("anna");
    const before = await startedAt();
    const { etag } = (await ask("settings")).body as SettingsDocument;
    const kept = await ask("settings", {
      changes: { "http.users[2]": { username: "cleo", password: "green-pot-in-rain" } },
      etag,
    });
    expect(kept).toMatchObject({ status: 200, body: { need_run: [] } });
    await until(
      async () => (await ask("login", { username: "cleo", password: "green-pot-in-rain" })).status === 204,
      "let in",
    );
    expect(await startedAt()).toBe(before);
    await logIn("anna");
    const { etag: now } = (await ask("settings")).body as SettingsDocument;
    expect(await ask("settings", { changes: { "http.users[0].role": "viewer" }, etag: now })).toMatchObject({
      status: 422,
      body: { errors: { "http.users": [expect.stringContaining("no longer be an admin")] } },
    });
  }, 60_000);

  it("by which the page cannot be opened go back after a minute, with an alarm", async () => {
    const { folder, text, ask, logIn, port, bridge } = await running();
    const busy = await busyPort();
    await logIn("anna");
    const { etag } = (await ask("settings")).body as SettingsDocument;
    expect((await ask("settings", { changes: { "http.port": busy }, etag })).status).toBe(200);
    await until(() => logged(bridge, "no page, no health checks") !== undefined, "the page is gone");
    expect(await readFile(join(folder, "config.yaml"), "utf8")).toContain(`port: ${busy}`);
    await until(() => logged(bridge, "are taken back") !== undefined, "taken back", [bridge.stderr], 90_000);
    await until(
      async () => (await ask("settings").catch(() => ({ status: 0 }))).status === 200,
      `back at ${port}`,
    );
    expect(await readFile(join(folder, "config.yaml"), "utf8")).toBe(text);
    expect((await ask("settings")).body).toMatchObject({
      returned: {
        reason: expect.stringContaining(`port ${busy}`) as string,
        difference: expect.stringContaining(`+  port: ${busy}`) as string,
      },
    });
    await until(
      async () => JSON.stringify((await ask("alarms")).body).includes('"settings_returned"'),
      "an alarm",
    );
    expect(linesOf(bridge).filter(({ msg }) => msg === "starting")).toHaveLength(1);
  }, 150_000);

  it.each([
    ["killed", "SIGKILL"],
    ["ended in order", "SIGTERM"],
  ] as const)(
    "that do not start go back also where the process is %s within the minute, with an alarm and both texts",
    async (_, signal) => {
      const { folder, text, ask, logIn, bridge } = await running();
      await logIn("anna");
      const { etag } = (await ask("settings")).body as SettingsDocument;
      const changes = { "mqtt.url": null, "broker.port": await busyPort() };
      expect((await ask("settings", { changes, etag })).status).toBe(200);
      await until(() => logged(bridge, "trying again") !== undefined, "failing");
      bridge.signal(signal);
      await bridge.ended;
      expect(await readFile(join(folder, "config.yaml"), "utf8")).toContain("mqtt: {}");
      const next = startProcess({ folder });
      await until(() => logged(next, "are taken back") !== undefined, "taken back", [next.stderr], 90_000);
      await until(
        async () => (await ask("settings").catch(() => ({ status: 0 }))).status === 200,
        "back at its page",
        [next.stderr],
        30_000,
      );
      expect(await readFile(join(folder, "config.yaml"), "utf8")).toBe(text);
      const returned = {
        returned: { difference: expect.stringContaining("+mqtt: {}") as string },
      };
      expect((await ask("settings")).body).toMatchObject(returned);
      await until(
        async () => JSON.stringify((await ask("alarms")).body).includes('"settings_returned"'),
        "an alarm",
        [next.stderr],
        30_000,
      );
      // What was taken back is told until other settings have come up.
      next.signal("SIGKILL");
      await next.ended;
      const third = startProcess({ folder });
      await until(async () => (await ask("settings").catch(() => ({ status: 0 }))).status === 200, "up", [
        third.stderr,
      ]);
      expect((await ask("settings")).body).toMatchObject(returned);
    },
    180_000,
  );

  it("of a file edited by hand by which the page cannot be opened are in force for a minute: the file stays, also over a restart", async () => {
    const { folder, text, ask, logIn, bridge, port, startedAt } = await running();
    await logIn("anna");
    const busy = await busyPort();
    // Taken out of the file at once, whatever becomes of the rest.
    const withoutOlga = text.replace(/ {4}- \{ username: olga.*\n/, "");
    const edited = withoutOlga.replace(`port: ${port}`, `port: ${busy} # by hand`);
    await writeFile(join(folder, "config.yaml"), edited, { mode: 0o600 });
    bridge.signal("SIGHUP");
    await until(() => logged(bridge, "no page, no health checks") !== undefined, "the page is gone");
    const isBack = async () => (await ask("settings").catch(() => ({ status: 0 }))).status === 200;
    await until(isBack, `back at ${port}`, [bridge.stderr], 90_000);
    expect(await readFile(join(folder, "config.yaml"), "utf8")).toBe(edited);
    const notInForce = {
      returned: {
        by_hand: true,
        reason: expect.stringContaining(`port ${busy}; the file stays as it was edited`) as string,
        difference: expect.stringMatching(
          new RegExp(`^-  port: ${port}[^]*^\\+  port: ${busy} # by hand`, "m"),
        ) as string,
      },
    };
    expect((await ask("settings")).body).toMatchObject(notInForce);
    await until(
      async () => JSON.stringify((await ask("alarms")).body).includes('"settings_returned"'),
      "an alarm",
    );
    expect((await ask("login", { username: "olga", password })).status).toBe(401);
    const run = await startedAt();
    bridge.signal("SIGHUP");
    await until(() => logged(bridge, "only what counts at once is taken of it") !== undefined, "told", [
      bridge.stderr,
    ]);
    expect(await startedAt()).toBe(run);
    expect(linesOf(bridge).filter(({ msg }) => msg === "starting")).toHaveLength(1);
    bridge.signal("SIGTERM");
    await bridge.ended;
    const next = startProcess({ folder });
    await until(() => logged(next, "it is tried once more") !== undefined, "tried", [next.stderr]);
    await until(isBack, `back at ${port} once more`, [next.stderr], 100_000);
    expect((await ask("settings")).body).toMatchObject(notInForce);
    expect(await readFile(join(folder, "config.yaml"), "utf8")).toBe(edited);
    await writeFile(join(folder, "config.yaml"), text, { mode: 0o600 });
    next.signal("SIGHUP");
    await until(
      async () => ((await ask("settings")).body as SettingsDocument).returned === null,
      "told no more",
      [next.stderr],
      130_000,
    );
    expect((await readdir(folder)).sort()).toEqual(["config.yaml", "data", "secrets.yaml"]);
  }, 420_000);

  it("that name users for the first time, by hand, and do not start leave the first admin in", async () => {
    const folder = await tempFolder();
    const { url } = await brokerAndClient();
    const { businessUrl } = await platform();
    const port = await freePort();
    const text = `platform: { business_url: "${businessUrl}", realtime_url: "${businessUrl}", token: canary-token-99 }
mqtt: { url: "${url}" }
http: { port: ${port} }
`;
    await writeFile(join(folder, "config.yaml"), text, { mode: 0o600 });
    const bridge = startProcess({ folder });
    const code = () => /the code ([0-9A-Z]{4}-[0-9A-Z]{4})/.exec(bridge.stderr)?.[1];
    await until(() => code() !== undefined, "a code", [bridge.stderr]);
    const url0 = `http://127.0.0.1:${port}/api`;
    const post = (path: string, body: object) =>
      fetch(`${url0}/${path}`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify(body),
      });
    const mona = { username: "mona", password };
    expect((await post("first_operator", { code: code(), ...mona })).status).toBeLessThan(300);
    const edited =
      `${text.replace(`port: ${port}`, `port: ${port}, users: [{ username: otto, password: "${await hashPassword(password)}", role: viewer }]`)}broker: { port: ${await busyPort()} }
`.replace(/^mqtt:.*\n/m, "");
    await writeFile(join(folder, "config.yaml"), edited, { mode: 0o600 });
    bridge.signal("SIGHUP");
    await until(() => logged(bridge, "is not in force") !== undefined, "back", [bridge.stderr], 90_000);
    // Users count at once; the one that was made at the page is kept for when the file names nobody again.
    await until(
      async () =>
        (await post("login", { ...mona, username: "otto" }).catch(() => ({ status: 0 }))).status === 204,
      "up",
    );
    expect(JSON.parse(await readFile(join(folder, "data", "page-users.json"), "utf8"))).toMatchObject([
      { username: "mona" },
    ]);
    await writeFile(join(folder, "config.yaml"), text, { mode: 0o600 });
    bridge.signal("SIGHUP");
    await until(
      async () => (await post("login", mona).catch(() => ({ status: 0 }))).status === 204,
      "mona is in",
    );
  }, 180_000);

  it("of a text above 64 KiB are saved too", async () => {
    const { folder, text, ask, logIn } = await running();
    await logIn("anna");
    const { etag } = (await ask("settings")).body as SettingsDocument;
    const long = `${text}${"# 温室的说明，写得很长很长\n".repeat(4_000)}`;
    expect((await ask("settings", { text: long, etag })).status).toBe(200);
    expect(await readFile(join(folder, "config.yaml"), "utf8")).toBe(long);
    // Of everybody else no more is read than before.
    expect((await ask("commands", { x: "y".repeat(70_000) })).status).toBe(413);
  }, 60_000);

  it("of the command line are taken up by the bridge that runs", async () => {
    const { folder, logIn, nextRun, startedAt } = await running();
    await logIn("anna");
    const before = await startedAt();
    const set = startProgram(["config", "set", "controllers.GH-0001.name", "South"], { folder });
    expect((await set.ended).code).toBe(0);
    expect(set.stdout).toContain("saved; the running bridge uses it now");
    await nextRun(before);
  }, 60_000);

  it("have an app restarted by Home Assistant, whose token nothing else of the program gets to see", async () => {
    const asked: unknown[] = [];
    const supervisor = createHttpServer(({ method, url, headers }, response) => {
      asked.push([method, url, headers.authorization]);
      response.end("{}");
    });
    await once(supervisor.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => void supervisor.close());
    const { port: at } = supervisor.address() as AddressInfo;
    const { ask, logIn } = await running("", {
      SUPERVISOR_TOKEN: "canary-of-the-supervisor",
      SUPERVISOR_URL: `http://127.0.0.1:${at}`,
    });
    await logIn("anna");
    const { program } = (await ask("settings")).body as SettingsDocument;
    expect(program.can_restart).toBe(true);
    const text = "controllers: { GH-0001: { name: !env SUPERVISOR_TOKEN } }\n";
    const proposal = (await ask("settings/check", { text })).body as SettingsProposal;
    expect(JSON.stringify(proposal.errors)).toContain("SUPERVISOR_TOKEN is not set");
    expect((await ask("settings/restart", {})).status).toBe(202);
    await expect
      .poll(() => asked)
      .toEqual([["POST", "/addons/self/restart", "Bearer canary-of-the-supervisor"]]);
  }, 60_000);

  it("are not there where http.settings is false", async () => {
    const { folder, text, ask, logIn, bridge } = await running();
    await logIn("anna");
    await writeFile(join(folder, "config.yaml"), text.replace("http:\n", "http:\n  settings: false\n"));
    bridge.signal("SIGHUP");
    await until(() => logged(bridge, "in force now: http.settings") !== undefined, "reloaded");
    expect((await ask("settings")).status).toBe(404);
    expect((await ask("session")).body).not.toHaveProperty("settings");
  }, 60_000);
});
