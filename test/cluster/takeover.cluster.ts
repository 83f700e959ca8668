import { describe, expect, it, onTestFinished } from "vitest";
import { startProcess } from "../bridge/support/program.js";
import { countFrom, type Figures, rounded, tellFigures } from "../proof/figures.js";
import { natsVersion, startNats } from "../support/nats.js";
import {
  type Cluster,
  clusterOf,
  commandTaken,
  firstReading,
  judgeResults,
  type Member,
  ownerOf,
  resultsOf,
  sendOnce,
} from "./support/members.js";

/* How long a take-over takes, TAKEOVERS times each: after a kill, and in order. Nothing is under way to the actuators. */

const takeOvers = countFrom("TAKEOVERS", 5);

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** Two targets in turn take so many in a minute. */
const askEveryMs = 550;

/** From now on until a command is carried out that was sent then. */
async function firstCommand(cluster: Cluster): Promise<number> {
  const from = performance.now();
  const sent: string[] = [];
  const taken = () =>
    resultsOf(cluster).find(
      ({ id, outcome }) => sent.includes(String(id)) && (outcome === "confirmed" || outcome === "already"),
    );
  for (let n = 0; taken() === undefined; n += 1) {
    sent.push(await sendOnce(cluster, n % 2 === 0 ? "fan" : "roller", n % 2 === 0 ? "on" : "open"));
    const until = performance.now() + askEveryMs;
    while (taken() === undefined && performance.now() < until) await wait(20);
    expect(performance.now() - from).toBeLessThan(70_000);
  }
  return performance.now() - from;
}

async function takenOver(cluster: Cluster, end: (owner: Member) => Promise<unknown>) {
  const owner = await ownerOf(cluster);
  await end(owner);
  const [readingMs, commandMs] = await Promise.all([firstReading(cluster), firstCommand(cluster)]);
  owner.program = startProcess({ folder: owner.folder });
  // The allowance of a minute, and that it stands by.
  await wait(20_000);
  return { readingMs, commandMs };
}

const told = (times: readonly number[]): string => {
  const sorted = times.toSorted((one, other) => one - other).map((ms) => rounded(ms / 1_000, 2));
  return `median ${sorted[Math.floor(sorted.length / 2)] ?? 0} s, worst ${sorted.at(-1) ?? 0} s (${sorted.join(", ")})`;
};

const ends = {
  "kill -9": ({ program }: Member) => program.end("SIGKILL"),
  "a stop in order, from the signal on": ({ program }: Member) => {
    program.signal("SIGTERM");
    return Promise.resolve();
  },
} as const;

describe.skipIf(natsVersion === null)(`members of a cluster at ${natsVersion ?? ""}`, () => {
  it("take over within 12 s (readings) and 15 s (commands) of a kill, and within 2 s in order", async () => {
    const nats = await startNats(3);
    onTestFinished(() => nats.stop());
    const cluster = await clusterOf(2, nats);
    const figures: Record<string, Figures[string]> = { "NATS servers": natsVersion };
    await commandTaken(cluster, "off");
    for (const [what, end] of Object.entries(ends)) {
      const times: Awaited<ReturnType<typeof takenOver>>[] = [];
      for (let n = 0; n < takeOvers; n += 1) times.push(await takenOver(cluster, end));
      figures[`first reading after ${what}`] = told(times.map(({ readingMs }) => readingMs));
      figures[`first command after ${what}`] = told(times.map(({ commandMs }) => commandMs));
    }
    await tellFigures("cluster take-over", takeOvers < 5, figures);
    judgeResults(cluster);
  });
});
