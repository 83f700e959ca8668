import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { toBeStartedAgain } from "../../src/terminal/context.js";
import { restartingOf, unitIn } from "../../src/cli/restarting.js";
import { settingsOn } from "../../src/cli/settings-source.js";
import { notYetRun } from "../../src/cli/trial.js";
import { loadConfiguration } from "../../src/config/load.js";
import { capturedLog } from "../mqtt-connection/support.js";
import { VirtualClock } from "../support/virtual-clock.js";
import { fileWith, greenhouse2mqtt } from "./in-process.js";

const own = 4_242;
const unit = { name: "greenhouse2mqtt.service", isOfUser: false };
const ofUnit = (restart: string, pid = own) => `MainPID=${pid}\nRestart=${restart}\n`;

async function sourceWith(env: Readonly<Record<string, string>>, said: string | null) {
  const file = await fileWith("commands: { read_only: true }\n");
  const clock = new VirtualClock();
  const restart = vi.fn();
  const how = { pid: own, askUnit: () => Promise.resolve(said), ownUnit: () => Promise.resolve(unit) };
  const { source } = settingsOn({
    ...{ file, env, clock },
    restarting: restartingOf({ env, restart }, () => capturedLog().log, how),
    load: () => loadConfiguration(file, { env }),
    dataDir: () => join(file, "..", "data"),
    ...{ goBack: () => false, settle: () => undefined },
    readAgain: () => Promise.resolve(null),
    seen: () => notYetRun,
    log: () => capturedLog().log,
  });
  return { source, clock, restart };
}

const ofService = { INVOCATION_ID: "1f" };

it.each([
  ["as the process of a unit that starts it again", ofService, ofUnit("always"), true],
  ["as that of one that starts it again where it failed", ofService, ofUnit("on-failure"), true],
  [
    "as that of one that leaves it alone",
    { ...ofService, SYSTEMD_EXEC_PID: String(own) },
    ofUnit("no"),
    false,
  ],
  ["in a shell that a unit has started", ofService, ofUnit("always", own + 1), false],
  [
    "where systemd cannot be asked, and is new enough to say so",
    { ...ofService, SYSTEMD_EXEC_PID: String(own) },
    null,
    true,
  ],
  ["where systemd cannot be asked, in a shell", { ...ofService, SYSTEMD_EXEC_PID: "7" }, null, false],
  ["where systemd cannot be asked, and is older than 248", ofService, null, false],
  ["in a terminal", {}, ofUnit("always"), false],
] as const)(
  "the program is restarted from the page only where something starts it again: %s",
  async (...of) => {
    const [, env, said, wanted] = of;
    const { source, clock, restart } = await sourceWith(env, said);
    expect([(await source.read()).program.can_restart, await source.restart()]).toEqual([wanted, wanted]);
    // The answer leaves before.
    expect(restart).not.toHaveBeenCalled();
    await clock.advance(300);
    expect(restart).toHaveBeenCalledTimes(wanted ? 1 : 0);
  },
);

it.each([
  ["0::/system.slice/greenhouse2mqtt.service\n", unit],
  ["0::/system.slice/system-g.slice/g@1.service/inner\n", { name: "g@1.service", isOfUser: false }],
  [
    "0::/user.slice/user-1000.slice/user@1000.service/app.slice/g.service\n",
    { name: "g.service", isOfUser: true },
  ],
  ["0::/user.slice/user-1000.slice/user@1000.service\n", null],
  ["0::/user.slice/user-1000.slice/session-2.scope\n", null],
  ["12:cpu:/\n0::/\n", null],
])("the unit of a process is the innermost of its groups: %j", (groups, found) => {
  expect(unitIn(groups)).toEqual(found);
});

it("an app has Home Assistant restart it, and says where that is refused", async () => {
  const asked: unknown[] = [];
  const server = createServer(({ method, url, headers: { authorization } }, response) => {
    asked.push([method, url, authorization]);
    response.writeHead(asked.length === 1 ? 200 : 403).end("{}");
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const { log, lines } = capturedLog();
  const supervisor = { url: `http://127.0.0.1:${port}`, token: "canary" };
  const restarting = restartingOf({ env: {}, supervisor }, () => log);
  expect(await restarting?.canRestart()).toBe(true);
  const request = ["POST", "/addons/self/restart", "Bearer canary"];
  for (const [times, said] of [
    [1, null],
    [2, "the Supervisor answered 403"],
  ] as const) {
    expect(await restarting?.restart()).toBe(said);
    expect(asked).toEqual(Array.from({ length: times }, () => request));
  }
  await expect.poll(() => lines.length).toBe(1);
  expect(JSON.stringify(lines)).toMatch(/did not restart the app/);
  expect(JSON.stringify(lines)).not.toContain("canary");
});

it.each([
  ["refused", Promise.resolve("no"), "no"],
  ["done", Promise.resolve(null), true],
  ["not answered", new Promise<null>(() => undefined), true],
] as const)("an app's page is told of a restart that is %s", async (_, answer, wanted) => {
  const file = await fileWith("commands: { read_only: true }\n");
  const clock = new VirtualClock();
  const { source } = settingsOn({
    ...{ file, env: {}, clock },
    restarting: { canRestart: () => Promise.resolve(true), restart: () => answer, endsAtOnce: false },
    load: () => loadConfiguration(file, { env: {} }),
    dataDir: () => join(file, "..", "data"),
    ...{ goBack: () => false, settle: () => undefined },
    readAgain: () => Promise.resolve(null),
    seen: () => notYetRun,
    log: () => capturedLog().log,
  });
  const told = source.restart();
  await clock.advance(5_000);
  expect(await told).toBe(wanted);
});

it("an app that is ended before Home Assistant answers says that it is restarted", async () => {
  const server = createServer();
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const stop = new AbortController();
  const supervisor = { url: `http://127.0.0.1:${port}`, token: "canary" };
  const restarting = restartingOf({ env: {}, supervisor, stop: stop.signal }, () => capturedLog().log);
  const told = restarting?.restart();
  stop.abort();
  expect(await told).toBeNull();
});

it.each([
  ["was stopped", undefined, 0],
  ["is to be started again", toBeStartedAgain, 1],
])("a program that %s ends with the code that a service manager takes it by", async (_, reason, wanted) => {
  const { code, err } = await greenhouse2mqtt(["schema"], { stop: AbortSignal.abort(reason) });
  expect([code, err]).toEqual([wanted, ""]);
});
