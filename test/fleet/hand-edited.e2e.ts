import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { logged } from "../bridge/support/program.js";
import { anna, isOnline, loggedIn, minutes, newerData, started, takenBack } from "./support/settings-page.js";

/* Settings of a fleet's accounts: built programs, a real broker, a page with two admins. */

describe("settings of an account of a fleet", () => {
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
    const changes = { "controllers.GH-0002.name": "West", "polling.stale_after": "20m" };
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

  it("go back also where the process is killed within the minute, and what came up stays", async () => {
    const { folder, port, program, start, page, text } = await started(["north", "east"]);
    const before = await text("north");
    const { etag } = await page.settings("north");
    const changes = { data_dir: await newerData(folder) };
    expect((await page.ask("north/settings", { changes, etag })).status).toBe(200);
    const good = {
      changes: { "controllers.GH-0002.name": "West", "polling.stale_after": "20m" },
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
});
