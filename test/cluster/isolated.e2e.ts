import { describe, expect, it, onTestFinished } from "vitest";
import { logged, startProcess } from "../bridge/support/program.js";
import { natsVersion, startNats } from "../support/nats.js";
import {
  type Cluster,
  clusterOf,
  commandTaken,
  judgeResults,
  type Member,
  ownerOf,
} from "./support/members.js";

/** New links of the member lead to that server alone, or to all. */
async function hangOn({ proxies }: Member, place: number | null): Promise<void> {
  await Promise.all(
    proxies.map((proxy, n) => proxy.manner(place === null || n === place ? "pass" : "closed")),
  );
  for (const [n, proxy] of proxies.entries()) if (n !== place) proxy.cut();
}

const doctorOf = async ({ folder }: Member) => {
  const { stdout } = await startProcess({ folder, args: ["doctor", "--json"] }).ended;
  const { checks } = JSON.parse(stdout) as { checks: { check: string; status: string }[] };
  return checks.filter(({ check }) => check.startsWith("cluster.")).map(({ status }) => status);
};

const standbyOf = (cluster: Cluster, owner: Member) => cluster.members.find((one) => one !== owner) ?? owner;

describe.skipIf(natsVersion === null)(`a NATS server that lost its peers (${natsVersion ?? ""})`, () => {
  it("is left by who stands by, who takes over in time, and by an owner that keeps its account", async () => {
    const nats = await startNats(3);
    onTestFinished(() => nats.stop());
    const cluster = await clusterOf(2, nats);
    await commandTaken(cluster, "on");
    const owner = await ownerOf(cluster);
    const standby = standbyOf(cluster, owner);
    const [server] = nats.servers;
    if (server === undefined) throw new Error("no server");
    await hangOn(standby, 0);
    await hangOn(owner, 1);
    await hangOn(standby, null);
    await hangOn(owner, null);
    await nats.isolate(server, true);
    await owner.program.end("SIGKILL");
    const takenMs = await commandTaken(cluster, "off");
    console.log(JSON.stringify({ isolatedStandbyTookOverMs: Math.round(takenMs) }));
    expect(takenMs).toBeLessThan(45_000);
    expect(await doctorOf(standby)).toEqual(["ok", "warning", "warning"]);
    await nats.isolate(server, false);

    owner.program = startProcess({ folder: owner.folder });
    await hangOn(standby, 2);
    await hangOn(standby, null);
    const last = nats.servers[2];
    if (last === undefined) throw new Error("no server");
    await new Promise((resolve) => setTimeout(resolve, 12_000));
    await nats.isolate(last, true);
    const keptMs = await commandTaken(cluster, "on");
    console.log(JSON.stringify({ isolatedOwnerTookCommandsAfterMs: Math.round(keptMs) }));
    // It may have gone back in order to who was started again.
    expect(logged(standby.program, "another member has the account")).toBeUndefined();
    judgeResults(cluster);
  }, 240_000);
});
