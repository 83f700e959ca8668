import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { hashPassword } from "../../src/runtime/passwords.js";
import type { SettingsDocument } from "../../src/page/protocol.js";
import { tempFolder, until } from "../mqtt-connection/support.js";
import { freePort } from "../support/mosquitto.js";
import { brokerAndClient, platform } from "./support/bridge.js";
import { busyPort, password, running } from "./support/settings-page.js";
import { linesOf, logged, startProcess } from "./support/program.js";

describe("settings of the page", () => {
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
});
