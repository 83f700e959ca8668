import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { brokerAndClient, platform } from "../bridge/support/bridge.js";
import { startProcess } from "../bridge/support/program.js";
import type { Program } from "../end-to-end/support/program.js";
import { tempFolder } from "../mqtt-connection/support.js";
import { type NatsCluster, natsVersion, startNats } from "../support/nats.js";
import { claims } from "./support/members.js";

const accounts = ["north", "east", "west"];
const codeOf = (account: string): string => `GH-000${accounts.indexOf(account) + 1}`;

async function startFleet(url: string, nats: NatsCluster, hosts: object): Promise<Program> {
  const folder = await tempFolder();
  await mkdir(join(folder, "accounts"));
  const write = (name: string, content: object) =>
    writeFile(join(folder, name), JSON.stringify(content), { mode: 0o600 });
  await write("fleet.yaml", {
    defaults: {
      mqtt: { url },
      homeassistant: { enabled: false },
      polling: { sensors: "1s" },
      mirror: "listed",
    },
    cluster: { nats: nats.servers.map(({ port }) => `nats://127.0.0.1:${port}`), name: "fleet", replicas: 1 },
  });
  const fan = { kind: "circulation_fan", address: "150", settle: "0s" };
  for (const account of accounts)
    await write(`accounts/${account}.yaml`, {
      platform: { ...hosts, token: "simulator", requests_per_minute: 0, timeouts: { control: "2s" } },
      controllers: { [codeOf(account)]: { actuators: { fan } } },
    });
  return startProcess({ folder, args: ["fleet"] });
}

describe.skipIf(natsVersion === null)("a fleet of three accounts in a cluster of two members", () => {
  it("goes on with every account at the other member when one is killed", async () => {
    const nats = await startNats(1);
    onTestFinished(() => nats.stop());
    const { url, seen, json, say } = await brokerAndClient();
    const { businessUrl, realtimeUrl, control } = await platform({ controllers: accounts.length });
    for (const code of accounts.map(codeOf)) if (!control.codes().includes(code)) control.addController(code);
    const hosts = { business_url: businessUrl, realtime_url: realtimeUrl };
    const programs = [await startFleet(url, nats, hosts), await startFleet(url, nats, hosts)];
    const logs = () => programs.map(({ stderr }) => stderr.slice(-2_000));
    const topic = (account: string) => `greenhouse/${account}/${codeOf(account).toLowerCase()}/actuator/fan`;
    const isConfirmed = (account: string, id: string) =>
      json(`${topic(account)}/result`).some(
        (one) => String(one["id"]).startsWith(id) && one["outcome"] === "confirmed",
      );
    /** Sends to every account until a command of it is confirmed. */
    const allConfirmed = async (command: string) => {
      for (let n = 0; n < 60; n += 1) {
        const open = accounts.filter((account) => !isConfirmed(account, command));
        if (open.length === 0) return;
        for (const account of open) await say(`${topic(account)}/set`, { command, id: `${command}-${n}` });
        await new Promise((resolve) => setTimeout(resolve, 1_000));
      }
      throw new Error(`not every account takes commands: ${logs().join("\n---\n")}`);
    };
    await allConfirmed("on");
    const claimsIn = ({ stderr }: Program) => stderr.split(claims).length;
    const [killed, other] = programs.toSorted((a, b) => claimsIn(b) - claimsIn(a));
    await killed?.end("SIGKILL");
    const from = seen.length;
    await allConfirmed("off");
    const isRead = (account: string) =>
      seen
        .slice(from)
        .some((one) => one.topic.startsWith(`greenhouse/${account}/`) && one.topic.includes("/sensor/"));
    await expect.poll(() => accounts.filter(isRead)).toEqual(accounts);
    for (const account of accounts)
      expect(other?.stderr).toMatch(new RegExp(`"account":"${account}"[^\\n]*${claims}`));
  }, 180_000);
});
