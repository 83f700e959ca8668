import { spawn } from "node:child_process";
import { describe, expect, it, onTestFinished } from "vitest";
import { says } from "../bridge/support/program.js";
import { until } from "../mqtt-connection/support.js";
import { countFrom, type Figures, rounded, tellFigures } from "../proof/figures.js";
import { type NatsCluster, natsVersion, startNats } from "../support/nats.js";
import {
  type Cluster,
  clusterOf,
  commandTaken,
  firstReading,
  journal,
  judgeResults,
  leaderOf,
  lengthOf,
  type Member,
  ownerOf,
  resultsOf,
  sendOnce,
} from "./support/members.js";

/*
 * Long tests with real NATS servers (NATS_SERVER names another program): a member is stopped for FREEZE_SECONDS with a
 * command in progress, FREEZES times; and the server that leads the servers, the bucket or the journal is killed,
 * LEADERS times each, with LOAD processes running beside.
 */

const freezeMs = countFrom("FREEZE_SECONDS", 60) * 1_000;
const freezes = countFrom("FREEZES", 4);
const leaders = countFrom("LEADERS", 4);
const load = countFrom("LOAD", 2);
/** After waking: longer than the member needs to become owner again, or anything it had begun needs to end. */
const watchMs = 20_000;

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
const seconds = (times: readonly number[]): string => {
  const sorted = times.toSorted((one, other) => one - other).map((ms) => rounded(ms / 1_000, 1));
  return `${sorted[0] ?? 0} to ${sorted.at(-1) ?? 0} s (${sorted.join(", ")})`;
};

const wordAt = (n: number): string => (n % 2 === 0 ? "off" : "on");
const postsOf = ({ members, posts }: Cluster, member: Member): number =>
  posts.filter((post) => post.member === members.indexOf(member)).length;

/**
 * Stops the owner before the POST of a command, then lets it continue. Returns the take-over time and the POSTs after
 * waking.
 */
async function frozen(cluster: Cluster, nats: NatsCluster, n: number) {
  const owner = await ownerOf(cluster);
  const { program } = owner;
  const from = program.stderr.length;
  for (const proxy of cluster.toPlatform) proxy.latency(500);
  const journaled = await lengthOf(nats, journal);
  const caught = await sendOnce(cluster, "fan", wordAt(n));
  await until(() => program.stderr.includes(`"id":"${caught}"`, from), "a command that is under way");
  await expect.poll(() => lengthOf(nats, journal)).toBeGreaterThan(journaled);
  program.signal("SIGSTOP");
  const stoppedAt = performance.now();
  for (const proxy of cluster.toPlatform) proxy.latency(0);
  const [readingMs, commandMs] = await Promise.all([
    firstReading(cluster),
    commandTaken(cluster, wordAt(n + 1)),
  ]);
  while (performance.now() - stoppedAt < freezeMs) await wait(100);
  const before = postsOf(cluster, owner);
  program.signal("SIGCONT");
  const wokeAt = performance.now();
  while (performance.now() - wokeAt < watchMs) {
    await sendOnce(cluster, "fan", wordAt(n));
    await wait(2_000);
  }
  expect(says(program, "another member has the account")).toBe(true);
  expect(resultsOf(cluster).some(({ id }) => id === caught)).toBe(true);
  return { readingMs, commandMs, posts: postsOf(cluster, owner) - before };
}

/** The meta leader, by the logs of the servers. */
function metaLeaderOf({ servers }: NatsCluster): NatsCluster["servers"][number] | undefined {
  const words =
    /(\d{4}\/\S+ [\d:.]+) \[INF\] (?:Self is new JetStream cluster metadata leader|JetStream cluster new metadata leader: (\w+))/g;
  const said = servers.flatMap((server) =>
    [...server.log().matchAll(words)].map(([, at = "", name = server.name]) => ({ at, name })),
  );
  const newest = said.toSorted((one, other) => (one.at < other.at ? 1 : -1))[0];
  return servers.find(({ name }) => name === newest?.name);
}

const leads = {
  "of all servers": (nats: NatsCluster) => Promise.resolve(metaLeaderOf(nats)),
  "of the bucket": (nats: NatsCluster) => leaderOf(nats, "KV_test"),
  "of the journal": (nats: NatsCluster) => leaderOf(nats, journal),
} as const;

describe.skipIf(natsVersion === null)(`members of a cluster at ${natsVersion ?? ""}`, () => {
  it(`send nothing after a stop of ${freezeMs / 1_000} s, and commands are taken whichever server dies`, async () => {
    const nats = await startNats(3);
    onTestFinished(() => nats.stop());
    const cluster = await clusterOf(2, nats);
    const figures: Record<string, Figures[string]> = { "NATS servers": natsVersion };
    await commandTaken(cluster, "on");

    const runs: Awaited<ReturnType<typeof frozen>>[] = [];
    for (let n = 0; n < freezes; n += 1) runs.push(await frozen(cluster, nats, n));
    figures[`first reading after a SIGSTOP of ${freezeMs / 1_000} s`] = seconds(
      runs.map(({ readingMs }) => readingMs),
    );
    figures["first command after it"] = seconds(runs.map(({ commandMs }) => commandMs));
    figures["POSTs of the member that woke up"] = runs.reduce((sum, { posts }) => sum + posts, 0);

    const loads = Array.from({ length: load }, () => spawn(process.execPath, ["-e", "while(1);"]));
    onTestFinished(() => loads.forEach((one) => one.kill("SIGKILL")));
    for (const [what, leader] of Object.entries(leads)) {
      const took: number[] = [];
      for (let n = 0; n < leaders; n += 1) {
        const server = await leader(nats);
        await server?.kill();
        took.push(await commandTaken(cluster, wordAt(n)));
        await server?.restart();
        // A second server must not die until this one has caught up.
        await wait(12_000);
      }
      figures[`first command after the death of the leader ${what}`] = seconds(took);
      expect(Math.max(...took), what).toBeLessThan(40_000);
    }
    await tellFigures("cluster", freezeMs < 60_000, figures);
    expect(figures["POSTs of the member that woke up"]).toBe(0);
    for (const { readingMs, commandMs } of runs) {
      expect(readingMs).toBeLessThan(30_000);
      expect(commandMs).toBeLessThan(60_000);
    }
    judgeResults(cluster);
  });
});
