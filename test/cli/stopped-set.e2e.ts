import { spawn } from "node:child_process";
import { once } from "node:events";
import type { MqttClient } from "mqtt";
import { describe, expect, it, onTestFinished } from "vitest";
import { platform, tokenEnv } from "../config/loading.js";
import { programFile } from "../end-to-end/support/program.js";
import { otherClient, stateTopic, testBroker } from "../mqtt-connection/support.js";
import { folder } from "./in-process.js";

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
