import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { SettingsDocument } from "../../src/page/protocol.js";
import { until } from "../mqtt-connection/support.js";
import { busyPort, running } from "./support/settings-page.js";
import { linesOf, logged, startProcess } from "./support/program.js";

describe("settings of the page", () => {
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
});
