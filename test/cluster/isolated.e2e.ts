import { describe, expect, it, onTestFinished } from "vitest";
import { linesOf, logged, startProcess } from "../bridge/support/program.js";
import { until } from "../mqtt-connection/support.js";
import { type NatsCluster, natsVersion, startNats } from "../support/nats.js";
import {
  type Cluster,
  clusterOf,
  commandTaken,
  journal,
  judgeResults,
  leaderOf,
  type Member,
  ownerOf,
} from "./support/members.js";

/** Connects the member to that server, whatever its link was before. */
async function hangOn({ proxies }: Member, place: number): Promise<void> {
  const there = proxies[place];
  const before = there?.accepted ?? 0;
  for (const proxy of proxies) if (proxy !== there) await proxy.manner("closed");
  for (const proxy of proxies) proxy.cut();
  await until(() => (there?.accepted ?? 0) > before, "a link to that server");
  for (const proxy of proxies) await proxy.manner("pass");
}

const doctorOf = async ({ folder }: Member) => {
  const { stdout } = await startProcess({ folder, args: ["doctor", "--json"] }).ended;
  const { checks } = JSON.parse(stdout) as { checks: { check: string; status: string }[] };
  return checks.filter(({ check }) => check.startsWith("cluster.")).map(({ status }) => status);
};

const standbyOf = (cluster: Cluster, owner: Member) => cluster.members.find((one) => one !== owner) ?? owner;

/** A server that leads nothing: finding another leader takes about as long as a lease. */
async function followerOf(nats: NatsCluster): Promise<NatsCluster["servers"][number]> {
  const leaders = await Promise.all([leaderOf(nats, journal), leaderOf(nats, "KV_test")]);
  const follower = nats.servers.find((server) => !leaders.includes(server));
  return follower ?? Promise.reject(new Error("each server leads"));
}

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
    await nats.isolate(server, true);
    await owner.program.end("SIGKILL");
    const takenMs = await commandTaken(cluster, "off");
    console.log(JSON.stringify({ isolatedStandbyTookOverMs: Math.round(takenMs) }));
    expect(takenMs).toBeLessThan(45_000);
    // The servers that are left may have to find a leader first.
    await expect
      .poll(() => doctorOf(standby), { timeout: 45_000 })
      .toEqual(["warning", "warning", "warning"]);
    await nats.isolate(server, false);

    owner.program = startProcess({ folder: owner.folder });
    // The isolated server is a peer again, and the restarted member stands by.
    await new Promise((resolve) => setTimeout(resolve, 12_000));
    const last = await followerOf(nats);
    await hangOn(standby, nats.servers.indexOf(last));
    const from = linesOf(standby.program).length;
    await nats.isolate(last, true);
    const keptMs = await commandTaken(cluster, "on");
    console.log(JSON.stringify({ isolatedOwnerTookCommandsAfterMs: Math.round(keptMs) }));
    expect(keptMs).toBeLessThan(45_000);
    expect(logged(standby.program, "the NATS server answers nothing", from)).toBeDefined();
    // It may have gone back to the restarted member by a hand-over, or after its lease ran out on a starved machine.
    if (logged(standby.program, "the NATS servers do not confirm") === undefined)
      expect(logged(standby.program, "another member has the account")).toBeUndefined();
    judgeResults(cluster);
  }, 240_000);
});
