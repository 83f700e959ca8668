import { mkdir, rename, writeFile } from "node:fs/promises";
import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, it, onTestFinished } from "vitest";
import { ownerSocket } from "../../src/runtime/socket-file.js";
import { brokerAndClient, platform } from "../bridge/support/bridge.js";
import { startProcess } from "../bridge/support/program.js";
import type { Program } from "../end-to-end/support/program.js";
import { tempFolder } from "../mqtt-connection/support.js";
import { type NatsCluster, natsVersion, startNats } from "../support/nats.js";
import { claims } from "./support/members.js";

const accounts = ["north", "east", "west"];
const codeOf = (account: string): string => `GH-000${accounts.indexOf(account) + 1}`;

async function startFleet(folder: string, url: string, nats: NatsCluster, hosts: object): Promise<Program> {
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

/** The finding of the page's `doctor` for the journal of an account that runs here; null if another member runs it. */
async function journalAt(dataDir: string): Promise<string | null> {
  const asking = request({ socketPath: join(dataDir, ownerSocket), path: "/api/doctor", method: "POST" });
  asking.setHeader("content-type", "application/json").end("{}");
  const [response] = (await once(asking, "response").catch(() => [null])) as [IncomingMessage | null];
  if (response === null) return null;
  const findings = (await text(response)).trim().split("\n");
  const all = findings.map((line) => JSON.parse(line) as Readonly<Record<"check" | "status", string>>);
  return all.find(({ check }) => check === "cluster.journal")?.status ?? null;
}

/** Two members with the accounts, at a real server. */
async function twoMembers() {
  const nats = await startNats(1);
  onTestFinished(() => nats.stop());
  const broker = await brokerAndClient();
  const { businessUrl, realtimeUrl, control } = await platform({ controllers: accounts.length });
  for (const code of accounts.map(codeOf)) if (!control.codes().includes(code)) control.addController(code);
  const hosts = { business_url: businessUrl, realtime_url: realtimeUrl };
  const folders = [await tempFolder(), await tempFolder()];
  const programs = await Promise.all(folders.map((folder) => startFleet(folder, broker.url, nats, hosts)));
  const logs = () => programs.map(({ stderr }) => stderr.slice(-2_000));
  const topic = (account: string, code: string) => `greenhouse/${account}/${code.toLowerCase()}/actuator/fan`;
  const isConfirmed = (result: string, id: string) =>
    broker.json(result).some((one) => String(one["id"]).startsWith(id) && one["outcome"] === "confirmed");
  /** Sends to every account, each with the code of its controller, until one of its commands is confirmed. */
  const allConfirmed = async (
    command: string,
    codes = accounts.map((name) => [name, codeOf(name)] as const),
  ) => {
    for (let n = 0; n < 60; n += 1) {
      const open = codes.map((one) => topic(...one)).filter((one) => !isConfirmed(`${one}/result`, command));
      if (open.length === 0) return;
      for (const one of open) await broker.say(`${one}/set`, { command, id: `${command}-${n}` });
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
    throw new Error(`not every account takes commands: ${logs().join("\n---\n")}`);
  };
  return { ...broker, folders, programs, allConfirmed };
}

describe.skipIf(natsVersion === null)("a fleet of three accounts in a cluster of two members", () => {
  it("goes on with every account at the other member when one is killed", async () => {
    const { seen, folders, programs, allConfirmed } = await twoMembers();
    await allConfirmed("on");
    // The page's `doctor` also checks what runs.
    const places = folders.flatMap((folder) => accounts.map((account) => join(folder, "data", account)));
    const found = await Promise.all(places.map(journalAt));
    expect(found.filter((status) => status !== null)).toEqual(["ok", "ok", "ok"]);
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

  it("runs an account whose file was renamed under its new name alone, after two SIGHUPs at once", async () => {
    const { texts, folders, programs, allConfirmed } = await twoMembers();
    await allConfirmed("on");
    const before = texts("greenhouse/west/bridge/state").length;
    for (const folder of folders)
      await rename(join(folder, "accounts/west.yaml"), join(folder, "accounts/coast.yaml"));
    for (const program of programs) program.signal("SIGHUP");
    await new Promise((resolve) => setTimeout(resolve, 20));
    for (const program of programs) program.signal("SIGHUP");
    await allConfirmed("off", [
      ["north", codeOf("north")],
      ["east", codeOf("east")],
      ["coast", codeOf("west")],
    ]);
    // Long enough for the other member to take it over.
    await new Promise((resolve) => setTimeout(resolve, 15_000));
    expect(texts("greenhouse/west/bridge/state").slice(before)).toEqual(["offline"]);
    expect(texts("greenhouse/coast/bridge/state").filter((one) => one === "online")).toHaveLength(1);
    expect(programs.map(({ hasEnded }) => hasEnded)).toEqual([false, false]);
  }, 180_000);
});
