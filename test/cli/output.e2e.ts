import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { open } from "node:fs/promises";
import mqtt, { type MqttClient } from "mqtt";
import { describe, expect, it, onTestFinished } from "vitest";
import { platform, tokenEnv } from "../config/loading.js";
import { programFile } from "../end-to-end/support/program.js";
import { otherClient, stateTopic, testBroker } from "../mqtt-connection/support.js";
import { freePort } from "../support/mosquitto.js";
import { folder } from "./in-process.js";

const hasFullDevice = existsSync("/dev/full");

const good =
  "platform: { business_url: https://b.example, realtime_url: https://r.example, token_file: t }\n";

type Sink = "pipe" | "ignore" | number;

function start(cwd: string, args: readonly string[], [stdout, stderr]: readonly [Sink, Sink]) {
  const child: ChildProcess = spawn(process.execPath, [programFile, ...args], {
    cwd,
    env: { PATH: process.env["PATH"] ?? "", HOME: cwd },
    stdio: ["ignore", stdout, stderr],
  });
  let errors = "";
  child.stderr?.setEncoding("utf8").on("data", (chunk: string) => (errors += chunk));
  const ended = once(child, "close").then(([code]: unknown[]) => ({ code: code as number | null, errors }));
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  return { child, ended };
}

async function fullDevice(): Promise<number> {
  const file = await open("/dev/full", "w");
  onTestFinished(() => file.close());
  return file.fd;
}

/** Nobody is behind the pipe before the program writes its first byte. */
function unread({ child }: ReturnType<typeof start>): void {
  child.stdout?.destroy();
}

describe.runIf(hasFullDevice)("output to a full disk", () => {
  it("ends the command with exit code 1 and one sentence on stderr", async () => {
    const cwd = await folder({ "config.yaml": good });
    for (const args of [["schema"], ["check"], ["--help"], ["--version"]]) {
      const { code, errors } = await start(cwd, args, [await fullDevice(), "pipe"]).ended;
      expect(code, args[0]).toBe(1);
      expect(errors.trimEnd(), args[0]).toMatch(/^the output could not be written: ENOSPC[^\n]*$/);
    }
  });

  it("does not hide that the command itself found a fault", async () => {
    const cwd = await folder({ "config.yaml": "nonsense: 1\n" });
    const { code, errors } = await start(cwd, ["check"], [await fullDevice(), "pipe"]).ended;
    expect(code).toBe(2);
    expect(errors).toMatch(/^the output could not be written: ENOSPC/m);
  });
});

describe("output that nobody reads any more", () => {
  it("changes nothing about the exit code", async () => {
    const cwd = await folder({ "config.yaml": "nonsense: 1\n", "good.yaml": good });
    for (const [args, wanted] of [
      [["check"], 2],
      [["check", "good.yaml"], 0],
      [["schema"], 0],
    ] as const) {
      const started = start(cwd, args, ["pipe", "pipe"]);
      unread(started);
      expect(await started.ended, args.join(" ")).toMatchObject({ code: wanted });
    }
  });

  it("ends a command that goes on until stopped, with exit code 0", async () => {
    const cwd = await folder();
    const started = start(cwd, ["simulate", "--port", "0"], ["pipe", "pipe"]);
    unread(started);
    expect(await started.ended).toMatchObject({ code: 0 });
  });
});

describe("a log that cannot be written", () => {
  const lonely = (port: number) =>
    [
      "platform: { business_url: http://127.0.0.1:1, realtime_url: http://127.0.0.1:1, token: x }",
      `broker: { port: ${port} }`,
      "http: false",
      "",
    ].join("\n");

  it.each<readonly [string, () => Promise<Sink>]>([
    ...(hasFullDevice ? ([["on a full disk", fullDevice]] as const) : []),
    ["for a reader that went away", () => Promise.resolve("pipe")],
  ])("does not end the bridge: %s", async (_, sink) => {
    const port = await freePort();
    const cwd = await folder({ "config.yaml": lonely(port) });
    const { child, ended } = start(cwd, ["run", "--log-level", "trace"], ["ignore", await sink()]);
    child.stderr?.destroy();
    const online = bridgeOnline(`mqtt://127.0.0.1:${port}`);
    await Promise.race([online, ended]);
    expect(child.exitCode).toBeNull();
    child.kill("SIGTERM");
    expect(await ended).toMatchObject({ code: 0 });
  });
});

/** Resolves when the bridge says on its broker that it works, which is long after its first lines of log. */
async function bridgeOnline(url: string): Promise<void> {
  const client = mqtt.connect(url, { reconnectPeriod: 100 });
  client.on("error", () => undefined);
  onTestFinished(() => client.endAsync(true));
  client.on("connect", () => client.subscribe("greenhouse/bridge/state"));
  await new Promise<void>((resolve) => {
    client.on("message", (_, payload) => {
      if (payload.toString() === "online") resolve();
    });
  });
}

const setTopic = "greenhouse/gh-0001/actuator/roof/set";

/** `set` as a process, beside a bridge that takes the command and never answers. */
async function unanswered() {
  const broker = await testBroker();
  const bridge: MqttClient = await otherClient(broker.url, { ...broker.credential, clientId: "bridge" });
  await bridge.subscribeAsync(setTopic, { qos: 1 });
  await bridge.publishAsync(stateTopic, "online", { retain: true, qos: 1 });
  const cwd = await folder({ "config.yaml": `${platform}mqtt: { url: "${broker.url}" }\n` });
  const child = spawn(process.execPath, [programFile, "set", "gh-0001", "roof", "open"], {
    cwd,
    env: { PATH: process.env["PATH"] ?? "", HOME: cwd, ...tokenEnv },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const output = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const)
    child[name].setEncoding("utf8").on("data", (chunk: string) => (output[name] += chunk));
  const ended = once(child, "close").then(([code]: unknown[]) => ({ code, ...output }));
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await ended;
  });
  await Promise.race([
    new Promise((resolve) => bridge.once("message", resolve)),
    ended.then(({ stderr }) => {
      throw new Error(`it ended: ${stderr}`);
    }),
  ]);
  return { child, bridge, ended };
}

describe("set beside a bridge that does not answer", () => {
  it.each(["SIGINT", "SIGTERM"] as const)(
    "ends at the first %s, and says where the result is",
    async (name) => {
      const { child, ended } = await unanswered();
      child.kill(name);
      expect(await ended).toEqual({
        code: 1,
        stdout: "",
        stderr: "stopped; the command was sent, and `greenhouse2mqtt journal` shows what became of it\n",
      });
    },
  );

  it("ends with the bridge, and says where the result will be", async () => {
    const { bridge, ended } = await unanswered();
    await bridge.publishAsync(stateTopic, "offline", { retain: true, qos: 1 });
    const { code, stderr } = await ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(/^the command was sent, but the bridge has gone offline; .*journal[^\n]*\n$/);
  });
});
