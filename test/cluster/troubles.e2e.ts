import { jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { describe, expect, it, onTestFinished } from "vitest";
import { logged, startProcess } from "../bridge/support/program.js";
import { until } from "../mqtt-connection/support.js";
import { type NatsCluster, natsVersion, startNats } from "../support/nats.js";
import {
  judgeResults,
  resultsOf,
  type Cluster,
  clusterOf,
  commandTaken,
  cutLines,
  journal,
  ownerOf,
  sendOnce,
  settledOwner,
} from "./support/members.js";

/** Limits the journal to its present size, as with a full disk, or removes the limit. */
async function boundJournal({ servers }: NatsCluster, isFull: boolean): Promise<void> {
  const link = await connect({ servers: servers.map(({ port }) => `127.0.0.1:${port}`) });
  const { streams } = await jetstreamManager(link);
  const { state } = await streams.info(journal);
  await streams.update(journal, { max_bytes: isFull ? state.bytes : -1 });
  await link.close();
}

const resultWith = (cluster: Cluster, id: string) => resultsOf(cluster).find((one) => one["id"] === id);

/** The result of a command that is sent once; `during` runs before the wait for it. */
async function resultOf(cluster: Cluster, actuator: string, word: string, during?: () => Promise<void>) {
  const id = await sendOnce(cluster, actuator, word);
  await during?.();
  const told = () => resultWith(cluster, id);
  await until(
    () => told() !== undefined,
    `the result of ${actuator} ${word}`,
    cluster.members.map(({ program }) => program.stderr.slice(-3_000)),
  );
  return told() ?? {};
}

const alarmsOf = ({ json }: Cluster): string =>
  JSON.stringify(json("greenhouse/bridge/alarms").at(-1)?.["alarms"] ?? []);

const refusal = { outcome: "refused", reason: "journal_unavailable" };

/**
 * Sends until a command meets the full journal, and resolves with its id. The member makes room by dropping old
 * records.
 */
async function meetsFull(cluster: Cluster, nats: NatsCluster): Promise<string> {
  for (let n = 0; n < 20; n += 1) {
    await boundJournal(nats, true);
    const id = await sendOnce(cluster, "fan", n % 2 === 0 ? "on" : "off");
    const isMet = () => alarmsOf(cluster).includes("journal_unavailable");
    await until(() => isMet() || resultWith(cluster, id) !== undefined, "an alarm or a result");
    if (isMet()) return id;
    expect(resultWith(cluster, id)).toMatchObject({ outcome: "confirmed" });
  }
  throw new Error("the journal took all of them");
}

async function fullJournal(cluster: Cluster, nats: NatsCluster): Promise<void> {
  const id = await meetsFull(cluster, nats);
  // A command that meets the full journal in progress waits with its result, unless its records were the last to fit;
  // later ones are refused at once.
  expect(await resultOf(cluster, "fan", "on")).toMatchObject(refusal);
  const before = cluster.posts.length;
  const stopped = resultOf(cluster, "roller", "stop");
  await expect.poll(() => cluster.posts.length).toBeGreaterThan(before);
  await boundJournal(nats, false);
  expect((await stopped)["outcome"]).not.toBe("refused");
  await until(() => resultWith(cluster, id) !== undefined, "the result of what met it");
  const met = resultWith(cluster, id);
  const lastIn = { outcome: "confirmed", reason: null };
  expect(met).toMatchObject(met?.["outcome"] === "confirmed" ? lastIn : refusal);
  await commandTaken(cluster, "on");
  await expect.poll(() => alarmsOf(cluster)).not.toContain("journal_unavailable");
}

/** The delay of requests, long enough that one is in progress when a line is cut. */
const lateMs = 500;

const requestsOf = ({ simulator }: Cluster): number =>
  Object.values(simulator.control.requests()).reduce((sum, count) => sum + count, 0);

/** A command whose POST is sent but unanswered when `cut` is called. */
async function underWay(cluster: Cluster, word: string, cut: () => Promise<void>) {
  const before = cluster.posts.length;
  for (const proxy of cluster.toPlatform) proxy.latency(lateMs);
  const result = await resultOf(cluster, "fan", word, async () => {
    const sent = () => (cluster.posts.length > before ? "sent" : resultsOf(cluster).slice(-3));
    await expect.poll(sent, { timeout: 50_000 }).toBe("sent");
    await cut();
  });
  expect(result).toMatchObject({ outcome: "confirmed" });
  expect(cluster.posts).toHaveLength(before + 1);
}

/** The owner continues to read, and reports what has ended when the line is back. */
async function cutFromBroker(cluster: Cluster): Promise<void> {
  const { broker } = await ownerOf(cluster);
  await underWay(cluster, "off", async () => {
    await cutLines([broker], true);
    for (const proxy of cluster.toPlatform) proxy.latency(0);
    const requests = requestsOf(cluster);
    await expect.poll(() => requestsOf(cluster)).toBeGreaterThan(requests + 5);
    await cutLines([broker], false);
  });
  await commandTaken(cluster, "on");
}

/** A command that was carried out but not answered is read back, and not sent again. */
async function cutFromPlatform(cluster: Cluster): Promise<void> {
  const { toPlatform, texts } = cluster;
  const state = () => texts("greenhouse/bridge/platform").at(-1);
  await underWay(cluster, "off", async () => {
    for (const proxy of toPlatform) {
      await proxy.manner("black_hole");
      proxy.deafen("to_client");
    }
    await expect.poll(state, { timeout: 40_000 }).toBe("unreachable");
    for (const proxy of toPlatform) proxy.latency(0);
    await cutLines(toPlatform, false);
  });
  await commandTaken(cluster, "on");
  // A state is held for ten seconds, so that the next one comes after a command.
  await expect.poll(state, { timeout: 40_000 }).toBe("online");
}

/** Every member is stopped cleanly and started again, one after the other, while commands continue. */
async function rollingRestart(cluster: Cluster): Promise<void> {
  const { members, posts } = cluster;
  const from = posts.length;
  const logs = () => members.map(({ program }) => program.stderr);
  const end = new AbortController();
  const ended: string[] = [];
  const sending = (async () => {
    for (let n = 0; !end.signal.aborted; n += 1) {
      await sendOnce(cluster, "fan", n % 2 === 0 ? "off" : "on");
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
  })();
  for (const member of members) {
    ended.push((await member.program.end("SIGTERM")).stderr);
    // Before it is back, the other one has the account.
    await ownerOf(cluster);
    member.program = startProcess({ folder: member.folder });
    await until(() => /standing by|has claimed the account/.test(member.program.stderr), "a member again");
    await ownerOf(cluster);
    const count = posts.length;
    await until(() => posts.length > count, "a POST of who runs the account by now");
  }
  end.abort();
  await sending;
  const taken = [...ended, ...logs()].flatMap((log) =>
    [...log.matchAll(/"id":"(c\d+)"[^\n]*"msg":"command taken"/g)].map(([, id]) => id),
  );
  expect(new Set(taken).size).toBe(taken.length);
  const untold = () => taken.filter((id) => !resultsOf(cluster).some((one) => one["id"] === id));
  await expect.poll(untold).toEqual([]);
  const since = posts.slice(from);
  expect(since.length).toBeGreaterThan(0);
  const changes = since.filter(({ member }, at) => at > 0 && since[at - 1]?.member !== member);
  expect(changes.length).toBeGreaterThan(0);
  expect(changes.length).toBeLessThanOrEqual(members.length);
}

describe.skipIf(natsVersion === null)(
  `two members of a cluster at three NATS servers (${natsVersion ?? ""})`,
  () => {
    it("say what is so with a full journal, cut from the broker or the platform, and restarted one by one, and lose nothing", async () => {
      const nats = await startNats(3);
      onTestFinished(() => nats.stop());
      const cluster = await clusterOf(2, nats);
      await commandTaken(cluster, "off");
      // The account would otherwise go back to it half a minute later, and commands then in progress would be refused.
      const owner = await settledOwner(cluster);
      // Shows that it runs: the full journal would not even accept its first entry.
      await commandTaken(cluster, "off");
      await fullJournal(cluster, nats);
      await cutFromBroker(cluster);
      await cutFromPlatform(cluster);
      // Nobody reaches more.
      expect(logged(owner.program, "the account goes there")).toBeUndefined();
      await rollingRestart(cluster);
      judgeResults(cluster);
    }, 240_000);
  },
);
