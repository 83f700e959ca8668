import { readdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { openBackup } from "../../src/backup/open-backup.js";
import { brokerAndClient, platform } from "../bridge/support/bridge.js";
import { linesOf, startProcess } from "../bridge/support/program.js";
import { freePort } from "../support/mosquitto.js";
import { natsVersion, startNats } from "../support/nats.js";
import { startTcpProxy } from "../support/tcp-proxy.js";
import {
  type Page,
  anna,
  ben,
  filesOf,
  isOnline,
  loggedIn,
  minutes,
  newerData,
  started,
  takenBack,
} from "./support/settings-page.js";

/* Settings of a fleet's accounts: built programs, a real broker, a page with two admins. */

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
      const changes = { "controllers.GH-0001.name": "West", "polling.stale_after": "20m" };
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
