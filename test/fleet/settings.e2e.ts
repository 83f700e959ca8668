import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openBackup } from "../../src/backup/opened.js";
import type { SettingsDocument } from "../../src/page/protocol.js";
import { brokerAndClient, platform } from "../bridge/support/bridge.js";
import { linesOf, logged, startProcess } from "../bridge/support/program.js";
import type { Program } from "../end-to-end/support/program.js";
import { tempFolder } from "../mqtt-connection/support.js";
import { freePort } from "../support/mosquitto.js";
import { natsVersion, startNats } from "../support/nats.js";
import { startTcpProxy } from "../support/tcp-proxy.js";
import { onTestFinished } from "vitest";

/* Settings of a fleet's accounts: built programs, a real broker, a page with two admins. */

const anna = { username: "anna", password: "all-of-the-houses", role: "admin" };
const ben = { username: "ben", password: "only-north-is-his", role: "admin", accounts: ["north"] };

const minutes = (count: number) => ({ timeout: count * 60_000, interval: 100 });

interface Hosts {
  readonly business_url: string;
  readonly realtime_url: string;
}

const accountText = (code: string, { business_url, realtime_url }: Hosts) => `# as on the sign
platform: { business_url: "${business_url}", realtime_url: "${realtime_url}", token: !secret token, requests_per_minute: 0 }
controllers:
  ${code}:
    name: House # of ${code}
`;

/** The files of a fleet in a folder of their own. */
async function filesOf(accounts: readonly string[], url: string, hosts: Hosts, more: object = {}) {
  const folder = await tempFolder();
  const port = await freePort();
  await mkdir(join(folder, "accounts"));
  const write = (name: string, text: string) => writeFile(join(folder, name), text, { mode: 0o600 });
  const fleet = {
    defaults: { mqtt: { url }, homeassistant: { enabled: false }, mirror: "listed" },
    http: { port, users: [anna, ben] },
    ...more,
  };
  await write("fleet.yaml", JSON.stringify(fleet));
  for (const [at, account] of accounts.entries())
    await write(`accounts/${account}.yaml`, accountText(`GH-000${at + 1}`, hosts));
  await write("accounts/secrets.yaml", "token: simulator\nother: canary-of-others\n");
  return {
    folder,
    port,
    text: (account: string) => readFile(join(folder, "accounts", `${account}.yaml`), "utf8"),
  };
}

type Page = Awaited<ReturnType<typeof loggedIn>>;

/** Asks below an account; `bytes` for what is no JSON. */
async function loggedIn(port: number, { username, password }: typeof anna) {
  const url = `http://127.0.0.1:${port}/api`;
  const headers = { "content-type": "application/json" };
  const login = () =>
    fetch(`${url}/login`, { method: "POST", headers, body: JSON.stringify({ username, password }) });
  await expect
    .poll(
      () =>
        login().then(
          ({ status }) => status,
          () => 0,
        ),
      minutes(1),
    )
    .toBe(204);
  const cookie = (await login()).headers.get("set-cookie")?.split(";")[0] ?? "";
  const bytes = async (path: string, body?: object) => {
    const answer = await fetch(`${url}/accounts/${path}`, {
      headers: { ...headers, cookie },
      ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }),
    });
    return { status: answer.status, bytes: Buffer.from(await answer.arrayBuffer()) };
  };
  const ask = async (path: string, body?: object) => {
    const answer = await bytes(path, body);
    const text = answer.bytes.toString("utf8");
    return { status: answer.status, body: text === "" ? null : (JSON.parse(text) as unknown) };
  };
  /** A piece of a backup. */
  const restore = async (said: object, piece: Uint8Array) => {
    const answer = await fetch(`${url}/restore`, {
      method: "POST",
      headers: {
        cookie,
        "content-type": "application/octet-stream",
        "x-restore": encodeURIComponent(JSON.stringify(said)),
      },
      body: Buffer.from(piece),
    });
    return { status: answer.status, body: await answer.json() };
  };
  const settings = async (account: string) => {
    await expect
      .poll(
        () =>
          ask(`${account}/settings`).then(
            ({ status }) => status,
            () => 0,
          ),
        minutes(1),
      )
      .toBe(200);
    return (await ask(`${account}/settings`)).body as SettingsDocument;
  };
  const startedAt = async (account: string) => {
    const { body } = await ask(`${account}/overview`).catch(() => ({ body: null }));
    return (body as { readonly bridge?: { readonly started_at: string } } | null)?.bridge?.started_at ?? null;
  };
  return { ask, bytes, restore, settings, startedAt };
}

const isOnline = (page: Page, account: string) =>
  expect
    .poll(
      async () => JSON.stringify((await page.ask(`${account}/health`).catch(() => ({ body: null }))).body),
      minutes(1),
    )
    .toMatch(/"platform":\{?[^}]*"?online/);

async function started(accounts: readonly string[]) {
  const { url } = await brokerAndClient();
  const { businessUrl, realtimeUrl } = await platform({ controllers: accounts.length });
  const files = await filesOf(accounts, url, { business_url: businessUrl, realtime_url: realtimeUrl });
  const start = () => startProcess({ folder: files.folder, args: ["fleet"] });
  const program = start();
  const page = await loggedIn(files.port, anna);
  for (const account of accounts) await isOnline(page, account);
  return { ...files, program, start, page };
}

/** Settings by which an account does not come up: they differ in what the bridge finds wrong. */
async function newerData(folder: string): Promise<string> {
  await mkdir(join(folder, "newer"));
  await writeFile(join(folder, "newer", "format"), "99\n");
  return join(folder, "newer");
}

const takenBack = (program: Program) => logged(program, "are taken back");

describe("settings of an account of a fleet", () => {
  it.each([
    [
      "its data are of a newer version",
      async (folder: string) => ({ data_dir: await newerData(folder) }),
      /the bridge did not start with them \(.*newer version/,
    ],
    [
      "the platform is not reached by them any more",
      async () => ({ "platform.realtime_url": `http://127.0.0.1:${await freePort()}` }),
      /the platform is not reached any more/,
    ],
  ] as const)(
    "go back after a minute where %s, with an alarm and both texts; the other account notices nothing",
    async (_, changesIn, reason) => {
      const { folder, program, page, text } = await started(["north", "east"]);
      const [before, others] = [await text("north"), await page.startedAt("east")];
      const { etag } = await page.settings("north");
      const changes = await changesIn(folder);
      const [key = ""] = Object.keys(changes);
      expect(await page.ask("north/settings", { changes, etag })).toMatchObject({ status: 200 });
      const savedAt = performance.now();
      expect(await text("north")).not.toBe(before);
      await expect
        .poll(() => takenBack(program), minutes(2))
        .toMatchObject({ account: "north", keys: [key] });
      expect(performance.now() - savedAt).toBeGreaterThan(59_000);
      expect(await text("north")).toBe(before);
      // The account is just starting by its former settings.
      await expect
        .poll(async () => (await page.settings("north")).returned, minutes(1))
        .toMatchObject({
          reason: expect.stringMatching(reason) as string,
          difference: expect.stringMatching(/^\+.*(newer|127\.0\.0\.1)/m) as string,
        });
      await expect
        .poll(async () => JSON.stringify((await page.ask("north/alarms")).body), minutes(1))
        .toContain('"settings_returned"');
      await isOnline(page, "north");
      expect(JSON.stringify((await page.ask("east/alarms")).body)).not.toContain("settings_returned");
      expect(await page.startedAt("east")).toBe(others);
      expect(linesOf(program).filter(({ msg }) => msg === "starting a fleet")).toHaveLength(1);
    },
    240_000,
  );

  it("that were edited by hand stay in the file, and are not in force where the account does not come up by them", async () => {
    const { folder, program, start, page, text, port } = await started(["north", "east"]);
    const before = await text("north");
    const others = await page.startedAt("east");
    const edited = `${before}data_dir: ${await newerData(folder)} # by hand\n`;
    const file = join(folder, "accounts", "north.yaml");
    await writeFile(file, edited, { mode: 0o600 });
    program.signal("SIGHUP");
    await expect
      .poll(() => logged(program, "is not in force"), minutes(2))
      .toMatchObject({ account: "north", keys: ["data_dir"] });
    await expect
      .poll(async () => (await page.settings("north")).returned, minutes(1))
      .toMatchObject({
        by_hand: true,
        reason: expect.stringMatching(/newer version.*; the file stays as it was edited/) as string,
        difference: expect.stringMatching(/^\+data_dir:.*# by hand/m) as string,
      });
    await expect
      .poll(async () => JSON.stringify((await page.ask("north/alarms")).body), minutes(1))
      .toContain('"settings_returned"');
    await isOnline(page, "north");
    expect(await text("north")).toBe(edited);
    const run = await page.startedAt("north");
    // A change of another account has all files read again.
    const { etag } = await page.settings("east");
    const changes = { "controllers.GH-0002.name": "West" };
    expect((await page.ask("east/settings", { changes, etag })).status).toBe(200);
    await expect.poll(() => page.startedAt("east"), minutes(1)).not.toBe(others);
    expect(await page.startedAt("north")).toBe(run);
    program.signal("SIGKILL");
    await program.ended;
    const next = start();
    await expect.poll(() => logged(next, "is not in force"), minutes(2)).toMatchObject({ account: "north" });
    const again = await loggedIn(port, anna);
    await isOnline(again, "north");
    await writeFile(file, before, { mode: 0o600 });
    next.signal("SIGHUP");
    await expect.poll(async () => (await again.settings("north")).returned, minutes(3)).toBeNull();
  }, 420_000);

  it("and all it had come back from its backup, sent to the page in pieces, while the others run", async () => {
    const { folder, port, program, page, text } = await started(["north", "east"]);
    const [before, others] = [await text("north"), await page.startedAt("east")];
    const password = "a-long-road-by-the-sea";
    const { bytes: backup } = await page.bytes("north/settings/backup", { password });
    const restore = async (at: number, piece: Uint8Array, end?: object, who: Page = page) =>
      who.restore({ id: "one-file-0001", at, ...(end !== undefined && { end }) }, piece);
    const half = Math.floor(backup.length / 2);
    const [first, second] = [backup.subarray(0, half), backup.subarray(half)];
    // What is there is never overwritten.
    await restore(0, first);
    expect(await restore(half, second, { password })).toMatchObject({
      status: 400,
      body: { message: expect.stringMatching(/exists and is never overwritten/) as string },
    });
    await rename(join(folder, "accounts", "north.yaml"), join(folder, "north.kept"));
    program.signal("SIGHUP");
    await expect.poll(async () => (await page.ask("north/overview")).status, minutes(1)).toBe(404);
    await rename(join(folder, "data", "north"), join(folder, "north-data.kept"));
    expect((await restore(5, first)).status).toBe(409);
    expect((await restore(0, first)).status).toBe(200);
    expect(
      (await restore(half, second, { password: "another-password-entirely", language: "zh" })).body,
    ).toMatchObject({
      message: expect.stringContaining("密码不对") as string,
    });
    expect((await restore(0, first)).status).toBe(200);
    const done = await restore(half, second, { password });
    expect(done).toMatchObject({
      status: 200,
      body: {
        lines: [
          expect.stringMatching(/north\.yaml and its data are restored/),
          expect.stringMatching(/other accounts use token of/),
        ],
      },
    });
    await isOnline(page, "north");
    expect(await text("north")).toBe(before);
    expect(await page.startedAt("east")).toBe(others);
    expect((await readdir(join(folder, "data"))).filter((name) => name.endsWith(".tmp"))).toEqual([]);
    const limited = await loggedIn(port, ben);
    expect((await restore(0, first, undefined, limited)).status).toBe(403);
  }, 240_000);

  it("go back also where the process is killed within the minute, and what came up stays", async () => {
    const { folder, port, program, start, page, text } = await started(["north", "east"]);
    const before = await text("north");
    const { etag } = await page.settings("north");
    const changes = { data_dir: await newerData(folder) };
    expect((await page.ask("north/settings", { changes, etag })).status).toBe(200);
    const good = {
      changes: { "controllers.GH-0002.name": "West" },
      etag: (await page.settings("east")).etag,
    };
    expect((await page.ask("east/settings", good)).status).toBe(200);
    await expect
      .poll(() => logged(program, "ended by an error"), minutes(1))
      .toMatchObject({ account: "north" });
    program.signal("SIGKILL");
    await program.ended;
    expect(await text("north")).not.toBe(before);
    const next = start();
    await expect.poll(() => takenBack(next), minutes(2)).toMatchObject({ account: "north" });
    expect(await text("north")).toBe(before);
    const again = await loggedIn(port, anna);
    expect((await again.settings("north")).returned?.reason).toMatch(/did not start with them/);
    await expect
      .poll(async () => JSON.stringify((await again.ask("north/alarms")).body), minutes(1))
      .toContain('"settings_returned"');
    await isOnline(again, "north");
    await expect.poll(() => readdir(join(folder, "accounts")), minutes(2)).not.toContain(".east.yaml.trial");
    expect(await text("east")).toContain("name: West # of GH-0002");
    expect((await again.settings("east")).returned).toBeNull();
  }, 300_000);

  it("and its backup are for an admin of it, without what is of others", async () => {
    const { port } = await started(["north", "east"]);
    const page = await loggedIn(port, ben);
    expect((await page.settings("north")).program.of_fleet).toBe(false);
    const password = "blue-kettle-on-snow";
    const { status, bytes } = await page.bytes("north/settings/backup", { password });
    expect(status).toBe(200);
    const { facts, files } = await openBackup(bytes, password);
    expect(facts).toMatchObject({ of: "account", account: "north", account_secrets_left_out: ["token"] });
    const texts = files
      .map(({ name, bytes: one }) => `${name} ${Buffer.from(one).toString("utf8")}`)
      .join("\n");
    expect(texts).toContain("data/north/format");
    expect(texts).not.toMatch(/canary|east\.yaml|GH-0002|users/);
    expect(await page.ask("north/settings/backup", { fleet: true })).toMatchObject({
      status: 403,
      body: { error: "accounts" },
    });
    expect((await page.ask("east/settings/backup", {})).status).toBe(404);
    const toAll = { changes: { "http.host": "0.0.0.0", "http.port": 8101 } };
    expect((await page.ask("north/settings/check", toAll)).status).toBe(403);
    const all = await loggedIn(port, anna);
    // Users of the fleet do not come into the file of one account.
    expect(JSON.stringify(await all.ask("north/settings/check", toAll))).not.toContain("only-north");
    expect((await all.settings("east")).program.of_fleet).toBe(true);
    const whole = await openBackup((await all.bytes("east/settings/backup", { fleet: true })).bytes, null);
    expect(whole.facts).toMatchObject({ of: "fleet", account_secrets_left_out: ["token"] });
    expect(whole.files.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["fleet.yaml", "accounts/north.yaml", "accounts/east.yaml", "data/east/format"]),
    );
  }, 180_000);
});

describe.skipIf(natsVersion === null)(
  "settings of an account that another member of a cluster runs by then",
  () => {
    it("stay: that this one stands by is no failure", async () => {
      const nats = await startNats(1);
      onTestFinished(() => nats.stop());
      const line = await startTcpProxy(nats.servers[0]?.port ?? 0);
      onTestFinished(() => line.close());
      const { url } = await brokerAndClient();
      const { businessUrl, realtimeUrl } = await platform();
      const hosts = { business_url: businessUrl, realtime_url: realtimeUrl };
      const clusterAt = (at: number) => ({
        cluster: { nats: [`nats://127.0.0.1:${at}`], name: "s", replicas: 1 },
      });
      const own = await filesOf(["north"], url, hosts, clusterAt(line.port));
      const program = startProcess({ folder: own.folder, args: ["fleet"] });
      const page = await loggedIn(own.port, anna);
      await isOnline(page, "north");
      const other = await filesOf(["north"], url, hosts, clusterAt(nats.servers[0]?.port ?? 0));
      const second = startProcess({ folder: other.folder, args: ["fleet"] });
      const { etag } = await page.settings("north");
      const changes = { "controllers.GH-0001.name": "West" };
      expect((await page.ask("north/settings", { changes, etag })).status).toBe(200);
      await line.manner("closed");
      line.cut();
      const there = await loggedIn(other.port, anna);
      await isOnline(there, "north");
      // It goes on showing readings until it has seen that the other one is at the broker.
      await expect.poll(async () => (await page.ask("north/overview")).status, minutes(1)).toBe(503);
      expect(await readdir(join(own.folder, "accounts"))).toContain(".north.yaml.trial");
      await expect
        .poll(() => readdir(join(own.folder, "accounts")), minutes(2))
        .not.toContain(".north.yaml.trial");
      expect(await own.text("north"), program.stderr.slice(-3_000)).toContain("name: West # of GH-0001");
      expect([takenBack(program), takenBack(second)]).toEqual([undefined, undefined]);
    }, 300_000);
  },
);
