import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { freePort } from "../support/mosquitto.js";
import { otherClient, tempFolder, until } from "../mqtt-connection/support.js";
import { brokerAndClient, platform } from "./support/bridge.js";
import { programFile } from "../end-to-end/support/program.js";
import { linesOf, logged, says, startProcess } from "./support/program.js";

async function running() {
  const folder = await tempFolder();
  const { url, seen, say } = await brokerAndClient();
  const { businessUrl } = await platform();
  const write = (more: Readonly<Record<string, unknown>>, base: Readonly<Record<string, unknown>> = {}) => {
    const hosts = { business_url: businessUrl, realtime_url: businessUrl, token: "canary-token-99" };
    const configuration = { platform: { ...hosts, ...base }, mqtt: { url }, http: false, ...more };
    return writeFile(join(folder, "config.yaml"), JSON.stringify(configuration), { mode: 0o600 });
  };
  const fan = { "GH-0001": { actuators: { fan: { kind: "circulation_fan", address: "150" } } } };
  await write({ controllers: fan });
  const bridge = startProcess({ folder });
  await until(() => seen.some(({ topic }) => topic.endsWith("/bridge/info")), "online", [bridge.stderr]);
  const reload = async (text: string) => {
    const from = linesOf(bridge).length;
    bridge.signal("SIGHUP");
    await until(() => logged(bridge, text, from) !== undefined, `said "${text}"`, [bridge.stderr]);
  };
  return { folder, bridge, say, seen, write, reload, fan };
}

/** For the process itself: a signal comes while its first files are loaded. */
function duringLoad(signal: "SIGHUP" | "SIGINT" | "SIGTERM"): string {
  const hooks = `export async function load(url, context, next) {
    if (url.endsWith("/program/program.js")) process.kill(process.pid, "${signal}");
    return next(url, context);
  }`;
  const data = `data:text/javascript,${encodeURIComponent(hooks)}`;
  return `import { register } from "node:module"; register(${JSON.stringify(data)});`;
}

async function starting(before: string) {
  const folder = await tempFolder();
  const { businessUrl } = await platform();
  const hosts = { business_url: businessUrl, realtime_url: businessUrl, token: "canary-token-99" };
  const configuration = { platform: hosts, broker: { port: await freePort() }, http: false };
  await writeFile(join(folder, "config.yaml"), JSON.stringify(configuration), { mode: 0o600 });
  return startProcess({ folder, before });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe("SIGHUP", () => {
  it("applies what can change, begins a new run in the same process for the rest, and shows it on bridge/info", async () => {
    const { bridge, say, seen, write, reload, fan } = await running();
    await reload("nothing has changed");
    await write(
      { controllers: fan, log: { level: "debug" }, commands: { read_only: true }, mirror: "listed" },
      { token: "canary-token-98" },
    );
    await reload("a new run begins, for: mirror, platform.token");
    expect(logged(bridge, "in force now")?.["msg"]).toContain("commands.read_only, log.level");
    await until(
      () => seen.some(({ topic, text }) => topic.endsWith("info") && text.includes('"read_only":true')),
      "shown",
    );
    const runs = () => {
      const infos = seen.filter(({ topic }) => topic.endsWith("/bridge/info"));
      return new Set(infos.map(({ text }) => /"started_at":"[^"]+"/.exec(text)?.[0])).size;
    };
    const state = () => seen.findLast(({ topic }) => topic.endsWith("/bridge/state"))?.text;
    await until(() => runs() === 2 && state() === "online", "online in another run", [bridge.stderr]);
    await say("greenhouse/gh-0001/actuator/fan/set", "on");
    await until(() => seen.some(({ topic }) => topic.endsWith("/fan/result")), "answered");
    expect(seen.find(({ topic }) => topic.endsWith("/fan/result"))?.text).toContain('"read_only"');
    expect(bridge.stderr).not.toContain("canary-token");
  }, 60_000);

  it("takes up names, limits of readings, groups and ways without a new run or another link", async () => {
    const { bridge, say, seen, write, reload, fan } = await running();
    const last = (ending: string) => seen.findLast(({ topic }) => topic.endsWith(ending))?.text ?? "";
    await until(() => last("/fan/state") !== "", "read", [bridge.stderr]);
    const named = {
      "GH-0001": { name: "North", actuators: { fan: { ...fan["GH-0001"].actuators.fan, name: "Big fan" } } },
    };
    await write({
      controllers: named,
      alarms: { temperature: { high: -50, delay: "0s" } },
      groups: { fans: { members: ["gh-0001/fan"] } },
      notify: { ways: { shop: { webhook: { url: "http://127.0.0.1:1/" } } } },
    });
    await reload("in force now");
    const announced = () =>
      seen.filter(({ topic }) => topic.startsWith("homeassistant/")).map(({ text }) => text);
    await until(
      () =>
        announced().some((text) => text.includes('"name":"North"') && text.includes('"name":"Big fan"')) &&
        announced().some((text) => text.includes("greenhouse/group/fans/set")),
      "announced",
      [bridge.stderr],
    );
    await until(() => last("/gh-0001/info").includes('"North"'), "named", [bridge.stderr]);
    await until(() => last("/gh-0001/reading_alarms").includes('"limit":"high"'), "raised", [bridge.stderr]);
    await say("greenhouse/bridge/request/notify_test", {});
    await until(() => last("/response/notify_test").includes('"shop"'), "tried", [bridge.stderr]);
    await say("greenhouse/group/fans/set", { command: "on", dry_run: true });
    await until(() => last("/group/fans/result").includes('"dry_run"'), "commanded", [bridge.stderr]);
    await write({ controllers: fan });
    await reload("in force now");
    await until(
      () => last("/group/fans/state") === "" && last("/group/fans/json") === "",
      "left nothing behind",
    );
    await until(() => last("/gh-0001/reading_alarms").includes('"count":0'), "over", [bridge.stderr]);
    expect(announced().at(-1)).not.toContain("greenhouse/group/fans/set");
    expect(says(bridge, "a new run begins")).toBe(false);
    expect(linesOf(bridge).filter(({ msg }) => String(msg).startsWith("connected to"))).toHaveLength(1);
  }, 60_000);

  it("takes up users of the embedded broker without a new run, and disconnects nobody who stays", async () => {
    const folder = await tempFolder();
    const { businessUrl } = await platform();
    const port = await freePort();
    const platformSection = {
      business_url: businessUrl,
      realtime_url: businessUrl,
      token: "canary-token-99",
    };
    const write = (...names: readonly string[]) =>
      writeFile(
        join(folder, "config.yaml"),
        JSON.stringify({
          platform: platformSection,
          broker: { port, users: names.map((username) => ({ username, password: `of-${username}` })) },
          http: false,
        }),
        { mode: 0o600 },
      );
    await write("ha", "scada");
    const bridge = startProcess({ folder });
    await until(() => says(bridge, "connected to"), "connected", [bridge.stderr]);
    const clientOf = (username: string) =>
      otherClient(`mqtt://127.0.0.1:${port}`, { username, password: `of-${username}` });
    const [stays, goes] = [await clientOf("ha"), await clientOf("scada")];
    await write("ha", "phone");
    bridge.signal("SIGHUP");
    await until(() => logged(bridge, "in force now: broker.users") !== undefined, "taken up", [
      bridge.stderr,
    ]);
    await until(() => !goes.connected, "disconnected", [bridge.stderr]);
    await clientOf("phone");
    await expect(clientOf("scada")).rejects.toThrow();
    expect(stays.connected).toBe(true);
    expect(says(bridge, "a new run begins")).toBe(false);
    expect(linesOf(bridge).filter(({ msg }) => String(msg).startsWith("connected to"))).toHaveLength(1);
    expect(bridge.stderr).not.toContain("of-phone");
  }, 60_000);

  it("a file with mistakes: every mistake with its line, and the old settings stay", async () => {
    const { folder, bridge, say, seen, reload } = await running();
    await writeFile(
      join(folder, "config.yaml"),
      "platform:\n  busines_url: x\ncommands: { read_only: maybe }\n",
    );
    await reload("the old settings stay");
    expect(bridge.stderr).toMatch(/^config\.yaml:2:3 platform\.busines_url: unknown key/m);
    expect(bridge.stderr).toMatch(/^config\.yaml:3:\d+ commands\.read_only: /m);
    const alarm = () => seen.findLast(({ topic }) => topic.endsWith("/alarm/settings_returned"))?.text;
    await until(() => alarm()?.includes("platform.busines_url: unknown key") === true, "told", [
      bridge.stderr,
    ]);
    expect(bridge.hasEnded).toBe(false);
    await say("greenhouse/gh-0001/actuator/fan/set", { command: "on", dry_run: true });
    await until(() => seen.some(({ topic }) => topic.endsWith("/fan/result")), "answered");
    expect(seen.find(({ topic }) => topic.endsWith("/fan/result"))?.text).toContain('"dry_run"');
    bridge.signal("SIGTERM");
    expect((await bridge.ended).code).toBe(0);
  }, 60_000);

  it("a file by which the bridge does not start stays as it is, and an alarm says that it is not in force", async () => {
    const { folder, bridge, seen, write, reload, fan } = await running();
    const busy = createServer().listen(0, "127.0.0.1");
    onTestFinished(() => void busy.close());
    await once(busy, "listening");
    await write({ controllers: fan, mqtt: {}, broker: { port: (busy.address() as AddressInfo).port } });
    const edited = await readFile(join(folder, "config.yaml"), "utf8");
    await reload("it goes on with the earlier one until the file is corrected");
    const alarm = () => seen.findLast(({ topic }) => topic.endsWith("/alarm/settings_returned"))?.text;
    await until(() => alarm()?.includes("; the file stays as it was edited.") === true, "told", [
      bridge.stderr,
    ]);
    expect(await readFile(join(folder, "config.yaml"), "utf8")).toBe(edited);
    expect(bridge.hasEnded).toBe(false);
  }, 60_000);

  // `script` opens a terminal; killed, it closes it.
  it.skipIf(!existsSync("/usr/bin/script"))(
    "of a terminal that is closed ends the bridge that was started there, also where its log goes to a file",
    async () => {
      const folder = await tempFolder();
      const { businessUrl } = await platform();
      const hosts = { business_url: businessUrl, realtime_url: businessUrl, token: "canary-token-99" };
      const configuration = { platform: hosts, broker: { port: await freePort() }, http: false };
      await writeFile(join(folder, "config.yaml"), JSON.stringify(configuration), { mode: 0o600 });
      const command = `echo $$ >pid; exec '${process.execPath}' '${programFile}' run 2>log`;
      const terminal = spawn("script", ["-qfec", command, "/dev/null"], { cwd: folder, stdio: "pipe" });
      onTestFinished(() => void terminal.kill("SIGKILL"));
      const textOf = (name: string) =>
        existsSync(join(folder, name)) ? readFileSync(join(folder, name), "utf8") : "";
      await until(() => textOf("log").includes("connected to"), "connected");
      const pid = Number(textOf("pid"));
      onTestFinished(() => {
        if (isAlive(pid)) process.kill(pid, "SIGKILL");
      });
      terminal.kill("SIGKILL");
      await until(() => !isAlive(pid), "ended");
      expect(textOf("log")).toContain('"msg":"stopped"');
      expect(textOf("log")).not.toContain("configuration read again");
    },
    60_000,
  );

  it.each([
    ["is loaded", duringLoad("SIGHUP")],
    [
      "listens to it for the first time",
      `process.on("newListener", (name) => {
        if (name === "SIGHUP") setImmediate(() => process.kill(process.pid, "SIGHUP"));
      });`,
    ],
  ])(
    "while a service %s does not end it",
    async (_, before) => {
      const bridge = await starting(before);
      await until(() => bridge.hasEnded || says(bridge, "connected to"), "connected", [bridge.stderr]);
      expect(bridge.hasEnded).toBe(false);
      expect(says(bridge, "configuration read again: nothing has changed")).toBe(true);
    },
    60_000,
  );

  it("stops what cannot reload", async () => {
    const folder = await tempFolder();
    const simulator = startProcess({ folder, args: ["simulate", "--port", "0"] });
    await until(() => says(simulator, "simulated platform started"), "started", [simulator.stderr]);
    simulator.signal("SIGHUP");
    expect((await simulator.ended).signal).toBeNull();
  }, 60_000);
});

describe.each(["SIGTERM", "SIGINT"] as const)("%s", (signal) => {
  it("while the program is loaded ends it in order", async () => {
    const bridge = await starting(duringLoad(signal));
    expect(await bridge.ended).toMatchObject({ code: 0, signal: null });
    expect(says(bridge, "stopped")).toBe(true);
  }, 60_000);
});
