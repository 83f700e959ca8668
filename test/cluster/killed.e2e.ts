import { describe, expect, it, onTestFinished } from "vitest";
import { logged, startProcess } from "../bridge/support/program.js";
import { until } from "../mqtt-connection/support.js";
import { natsVersion, startNats } from "../support/nats.js";
import {
  type Cluster,
  clusterOf,
  commandTaken,
  firstReading,
  type Member,
  ownerOf,
  judgeResults,
} from "./support/members.js";

const answerOf = async ({ port }: Member, path: string) => {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`);
  return [answer.status, await answer.text()] as const;
};

/** Who watches the member that stands by learns that it lives and could take over; of the owner, that it works. */
async function answersStandingBy(cluster: Cluster): Promise<void> {
  const owner = await ownerOf(cluster);
  const standby = cluster.members.find((one) => one !== owner) ?? owner;
  for (const path of ["/livez", "/healthz", "/readyz"]) {
    await expect.poll(() => answerOf(standby, path)).toEqual([200, "standby\n"]);
    expect(await answerOf(owner, path)).toEqual([200, "ok\n"]);
  }
  expect((await answerOf(standby, "/"))[0]).toBe(503);
  expect((await answerOf(standby, "/metrics"))[1]).toContain("\ngreenhouse2mqtt_cluster_owner 0\n");
  const [, figures] = await answerOf(owner, "/metrics");
  expect(figures).toContain("\ngreenhouse2mqtt_cluster_owner 1\n");
  expect(figures).toContain("\ngreenhouse2mqtt_cluster_members 2\n");
  const [, facts] = await answerOf(standby, "/api/health");
  expect(JSON.parse(facts)).toMatchObject({ state: "standby", ready: true });
  const found = await startProcess({ folder: standby.folder, args: ["doctor", "--json"] }).ended;
  const { checks } = JSON.parse(found.stdout) as {
    checks: { check: string; status: string; summary: string }[];
  };
  const ofCluster = checks.filter(({ check }) => check.startsWith("cluster."));
  console.log(ofCluster.map(({ check, status, summary }) => `${check} ${status} ${summary}`).join("\n"));
  expect(ofCluster.map(({ status }) => status)).toEqual(["ok", "ok", "ok"]);
}

describe.skipIf(natsVersion === null)(
  `two members of a cluster at three NATS servers (${natsVersion ?? ""})`,
  () => {
    it("take over from each other when one is killed or stopped in order, and one alone sends", async () => {
      const nats = await startNats(3);
      onTestFinished(() => nats.stop());
      const cluster = await clusterOf(2, nats);
      await commandTaken(cluster, "on");
      await answersStandingBy(cluster);

      const killed = await ownerOf(cluster);
      await killed.program.end("SIGKILL");
      const [readingMs, commandMs] = await Promise.all([firstReading(cluster), commandTaken(cluster, "off")]);
      expect(readingMs).toBeLessThan(30_000);
      expect(commandMs).toBeLessThan(60_000);
      killed.program = startProcess({ folder: killed.folder });
      await until(() => logged(killed.program, "standing by") !== undefined, "standing by");

      const owner = await ownerOf(cluster);
      expect(owner).not.toBe(killed);
      await owner.program.end("SIGTERM");
      const stoppedMs = await commandTaken(cluster, "on");
      console.log(
        JSON.stringify({ nats: natsVersion, killed: { readingMs, commandMs }, stopped: stoppedMs }),
      );
      expect(stoppedMs).toBeLessThan(15_000);
      judgeResults(cluster);
    }, 200_000);
  },
);
