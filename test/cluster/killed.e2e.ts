import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { ownerSocket } from "../../src/runtime/socket-file.js";
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
  resultsOf,
  sendOnce,
} from "./support/members.js";

const answerOf = async ({ port }: Member, path: string) => {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`);
  return [answer.status, await answer.text()] as const;
};

/**
 * The health endpoints of the standby member say that it lives and could take over; those of the owner that it works.
 */
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

/** Asks with an operator's rights, as the command line does on the same computer. */
async function passAgain({ folder }: Member): Promise<number | undefined> {
  const asking = request({
    socketPath: join(folder, "data", ownerSocket),
    path: "/api/requests/read_only",
    method: "POST",
    headers: { "content-type": "application/json" },
  }).end(JSON.stringify({ read_only: false, by: "anna" }));
  const [answer] = (await once(asking, "response")) as [IncomingMessage];
  answer.resume();
  return answer.statusCode;
}

/** The reason for which a command is refused once a member judges it; its outcome if it is not refused. */
async function reasonNow(cluster: Cluster): Promise<unknown> {
  const passing = ["platform_unavailable", "journal_unavailable", "no_read_back"];
  for (let n = 0; n < 40; n += 1) {
    const id = await sendOnce(cluster, "fan", "on");
    await new Promise((resolve) => setTimeout(resolve, 1_050));
    const { outcome, reason } = resultsOf(cluster).find((one) => one["id"] === id) ?? {};
    if (outcome !== undefined && !passing.includes(String(reason))) return reason ?? outcome;
  }
  throw new Error("no command was judged");
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

    it("hand a read-only that somebody chose over, and that it is over, after a kill and in order", async () => {
      const nats = await startNats(3);
      onTestFinished(() => nats.stop());
      const cluster = await clusterOf(2, nats);
      await commandTaken(cluster, "off");
      const chosen = { read_only: true, by: "ben", transaction: "t1" };
      await cluster.say("greenhouse/bridge/request/read_only", chosen);
      const answers = () => cluster.json("greenhouse/bridge/response/read_only");
      await expect.poll(answers).toMatchObject([{ status: "ok", transaction: "t1" }]);
      const posts = cluster.posts.length;

      const killed = await ownerOf(cluster);
      await killed.program.end("SIGKILL");
      await ownerOf(cluster, killed);
      expect(await reasonNow(cluster)).toBe("read_only");
      killed.program = startProcess({ folder: killed.folder });
      await until(() => logged(killed.program, "standing by") !== undefined, "standing by");

      const stopped = await ownerOf(cluster);
      await stopped.program.end("SIGTERM");
      const owner = await ownerOf(cluster, stopped);
      expect(await reasonNow(cluster)).toBe("read_only");
      expect(cluster.posts.length).toBe(posts);

      expect(await passAgain(owner)).toBe(200);
      stopped.program = startProcess({ folder: stopped.folder });
      await until(() => logged(stopped.program, "standing by") !== undefined, "standing by");
      await owner.program.end("SIGKILL");
      await commandTaken(cluster, "on");
      judgeResults(cluster);
    }, 200_000);
  },
);
