import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { serviceManager } from "../../src/runtime/systemd.js";
import { until, tempFolder } from "../mqtt-connection/support.js";
import { freePort } from "../support/mosquitto.js";
import { notifySocket } from "./support/notify-socket.js";
import { says, startProcess } from "./support/program.js";

describe("the service manager", () => {
  const failed = () => undefined;

  it("is none without NOTIFY_SOCKET", () => {
    expect(serviceManager({ env: {}, pid: 1, onFailure: failed })).toBeNull();
    expect(serviceManager({ env: { NOTIFY_SOCKET: "" }, pid: 1, onFailure: failed })).toBeNull();
  });

  it.each([
    ["half a minute", { WATCHDOG_USEC: "30000000" }, 30_000],
    ["meant for us", { WATCHDOG_USEC: "30000000", WATCHDOG_PID: "7" }, 30_000],
    ["meant for another process", { WATCHDOG_USEC: "30000000", WATCHDOG_PID: "8" }, null],
    ["not asked for", {}, null],
    ["nonsense", { WATCHDOG_USEC: "soon" }, null],
    ["zero", { WATCHDOG_USEC: "0" }, null],
  ])("waits for signs of life: %s → %s", (_, env, ms) => {
    const manager = serviceManager({ env: { NOTIFY_SOCKET: "/x", ...env }, pid: 7, onFailure: failed });
    expect(manager?.watchdogMs).toBe(ms);
  });

  it("is told in order; of what comes together the newest counts", async () => {
    const socket = await notifySocket();
    const env = { NOTIFY_SOCKET: socket.path, PATH: process.env["PATH"] };
    const manager = serviceManager({ env, pid: process.pid, onFailure: failed });
    manager?.tell("READY=1", "STATUS=one");
    manager?.tell("STATUS=two");
    manager?.tell("WATCHDOG=1", "STATUS=three");
    await until(() => socket.told.includes("STATUS=three"), "told");
    expect(socket.told).toEqual(["READY=1", "STATUS=one", "WATCHDOG=1", "STATUS=three"]);
  });

  it("that cannot be told is reported once, and nothing breaks", async () => {
    const reasons: string[] = [];
    const manager = serviceManager({
      env: { NOTIFY_SOCKET: "/nowhere", PATH: process.env["PATH"] },
      pid: 1,
      program: "no-such-program-here",
      onFailure: (reason) => reasons.push(reason),
    });
    manager?.tell("READY=1");
    await until(() => reasons.length === 1, "reported");
    manager?.tell("WATCHDOG=1");
    manager?.tell("STATUS=x");
    await new Promise((resolve) => setImmediate(resolve));
    expect(reasons).toHaveLength(1);
  });
});

/** Without platform and broker: a boot with no network. */
async function bootAlone(env: Readonly<Record<string, string>>, before?: string) {
  const folder = await tempFolder();
  const nobody = `http://127.0.0.1:${await freePort()}`;
  const configuration = {
    platform: { business_url: nobody, realtime_url: nobody, token: "token-of-nobody" },
    mqtt: { url: `mqtt://127.0.0.1:${await freePort()}` },
    http: false,
  };
  await writeFile(join(folder, "config.yaml"), JSON.stringify(configuration), { mode: 0o600 });
  return startProcess({ folder, env, ...(before !== undefined && { before }) });
}

describe("the bridge as a service", () => {
  it("is ready without network, gives signs of life, and says that it stops", async () => {
    const { path, told } = await notifySocket();
    const bridge = await bootAlone({ NOTIFY_SOCKET: path, WATCHDOG_USEC: "2000000" });
    await until(() => told.filter((one) => one === "WATCHDOG=1").length >= 3, "alive", [bridge.stderr]);
    expect(told[0]).toBe("READY=1");
    expect(told.find((one) => one.startsWith("STATUS="))).toContain("broker");
    bridge.signal("SIGTERM");
    expect((await bridge.ended).code).toBe(0);
    await until(() => told.includes("STOPPING=1"), "said goodbye");
  }, 60_000);

  it("with a blocked event loop gives no sign of life", async () => {
    const { path, told } = await notifySocket();
    const block = "process.on('SIGUSR2', () => { process.stderr.write('blocked\\n'); for (;;) ; });";
    const bridge = await bootAlone({ NOTIFY_SOCKET: path, WATCHDOG_USEC: "1000000" }, block);
    await until(() => told.includes("WATCHDOG=1"), "alive", [bridge.stderr]);
    bridge.signal("SIGUSR2");
    await until(() => says(bridge, "blocked"), "blocked");
    // What was on its way has arrived once another message of ours, sent later, is there.
    const env = { NOTIFY_SOCKET: path, PATH: process.env["PATH"] };
    const manager = serviceManager({ env, pid: 0, onFailure: () => undefined });
    const marked = async (mark: string) => {
      manager?.tell(`STATUS=${mark}`);
      await until(() => told.includes(`STATUS=${mark}`), mark);
    };
    for (let n = 0; n < 10; n += 1) await marked(`sooner ${n}`);
    const before = told.filter((one) => one === "WATCHDOG=1").length;
    for (let n = 0; n < 20; n += 1) await marked(`later ${n}`);
    expect(told.filter((one) => one === "WATCHDOG=1").length).toBe(before);
  }, 60_000);
});
