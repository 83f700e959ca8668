import { describe, expect, it, onTestFinished } from "vitest";
import { startProcess } from "../bridge/support/program.js";
import { until } from "../mqtt-connection/support.js";
import { countFrom, type Figures, rounded, tellFigures } from "../proof/figures.js";
import { natsVersion, startNats } from "../support/nats.js";
import {
  type Cluster,
  clusterOf,
  commandTaken,
  cutFromNats,
  firstReading,
  judgeResults,
  type Member,
  ownerOf,
  resultsOf,
  sendOnce,
  settledOwner,
} from "./support/members.js";

/*
 * How long a take-over takes, TAKEOVERS times each: after a kill, a stop (SIGSTOP), a cut from NATS, and an orderly
 * end, with no POST in progress. ACCIDENTS is a regular expression on their names. And BUSY_TAKEOVERS times after a
 * kill, with a POST in progress to one of two actuators that may take 30 s.
 */

const takeOvers = countFrom("TAKEOVERS", 5);
const busyTakeOvers = countFrom("BUSY_TAKEOVERS", 2);
const wanted = new RegExp(process.env["ACCIDENTS"] ?? "");

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** The interval between commands, as a target accepts a limited number in a minute. */
const askEveryMs = 1_100;

type Asked = readonly [actuator: string, word: string];
const both: readonly Asked[] = [
  ["fan", "on"],
  ["roller", "open"],
];

/** The time until one of these commands, which are sent in turn, is carried out. */
async function firstCommand(cluster: Cluster, asked: readonly Asked[] = both): Promise<number> {
  const from = performance.now();
  const sent: string[] = [];
  const taken = () =>
    resultsOf(cluster).find(
      ({ id, outcome }) => sent.includes(String(id)) && (outcome === "confirmed" || outcome === "already"),
    );
  for (let n = 0; taken() === undefined; n += 1) {
    const [actuator, word] = asked[n % asked.length] ?? expect.fail("nothing to ask");
    sent.push(await sendOnce(cluster, actuator, word));
    const next = performance.now() + askEveryMs / asked.length;
    while (taken() === undefined && performance.now() < next) await wait(20);
    expect(performance.now() - from).toBeLessThan(70_000);
  }
  return performance.now() - from;
}

interface Accident {
  readonly begin: (owner: Member) => unknown;
  /** Brings it back as a standby member. */
  readonly end: (owner: Member) => unknown;
  /** It continues to publish readings until another one has the account. */
  readonly isShowing?: boolean;
}

const startAgain = async (owner: Member): Promise<void> => {
  await owner.program.ended;
  owner.program = startProcess({ folder: owner.folder });
};

const accidents: Readonly<Record<string, Accident>> = {
  "kill -9": { begin: ({ program }) => program.end("SIGKILL"), end: startAgain },
  "a stop (SIGSTOP)": {
    begin: ({ program }) => program.signal("SIGSTOP"),
    end: ({ program }) => program.signal("SIGCONT"),
  },
  "a cut from NATS": {
    begin: (owner) => cutFromNats(owner, true),
    end: (owner) => cutFromNats(owner, false),
    isShowing: true,
  },
  "a stop in order, from the signal on": {
    begin: ({ program }) => program.signal("SIGTERM"),
    end: startAgain,
  },
};

async function takenOver(cluster: Cluster, { begin, end, isShowing = false }: Accident) {
  const owner = await ownerOf(cluster);
  await begin(owner);
  const reading = isShowing ? null : firstReading(cluster);
  const commandMs = await firstCommand(cluster);
  const readingMs = await reading;
  await end(owner);
  // For the allowance of a minute, and until it stands by.
  await wait(20_000);
  return { readingMs, commandMs };
}

/** The default deadline of a POST. */
const controlMs = 30_000;
/** The lease before, in which nothing may be sent, and the next attempt. */
const aroundMs = 15_000;

const addresses = { fan: "150", roller: "300" } as const;
const words = { fan: ["on", "off"], roller: ["open", "close"] } as const;

/**
 * The owner dies with a POST in progress to one actuator. Measures how long the other actuator and this one then wait
 * for a command.
 */
async function takenOverBusy(cluster: Cluster, n: number) {
  const [busy, idle] = n % 2 === 0 ? (["fan", "roller"] as const) : (["roller", "fan"] as const);
  const owner = await settledOwner(cluster);
  // Ensures that the owner has read the commands that the broker kept while no member was connected, which are refused.
  await commandTaken(cluster, "off");
  const address = addresses[busy];
  const before = cluster.posts.length;
  const posts = () => cluster.posts.slice(before).filter((post) => post.address === address);
  cluster.simulator.control.fault({ fault: "timeout", operation: "set-value", address, count: 1 });
  const caught = await sendOnce(cluster, busy, words[busy][0]);
  const resultOfCaught = () => resultsOf(cluster).find(({ id }) => id === caught);
  await until(() => posts().length > 0 || resultOfCaught() !== undefined, "a POST that is under way");
  expect(resultOfCaught(), "nothing became of it yet").toBeUndefined();
  await owner.program.end("SIGKILL");
  const [idleMs, busyMs] = await Promise.all([
    firstCommand(cluster, [[idle, words[idle][1]]]),
    firstCommand(cluster, [[busy, words[busy][1]]]),
  ]);
  const [sent, next] = posts();
  await startAgain(owner);
  expect(resultsOf(cluster).filter(({ id }) => id === caught)).not.toEqual([]);
  expect(next?.member).not.toBe(sent?.member);
  return { idleMs, busyMs, apartMs: (next?.at ?? Infinity) - (sent?.at ?? 0) };
}

const told = (times: readonly number[]): string => {
  const sorted = times.toSorted((one, other) => one - other).map((ms) => rounded(ms / 1_000, 2));
  return `median ${sorted[Math.floor(sorted.length / 2)] ?? 0} s, worst ${sorted.at(-1) ?? 0} s (${sorted.join(", ")})`;
};

describe.skipIf(natsVersion === null)(`members of a cluster at ${natsVersion ?? ""}`, () => {
  it("take over within 12 s (readings) and 15 s (commands) of a kill, and within 2 s in order", async () => {
    const nats = await startNats(3);
    onTestFinished(() => nats.stop());
    const cluster = await clusterOf(2, nats);
    const figures: Record<string, Figures[string]> = { "NATS servers": natsVersion };
    await commandTaken(cluster, "off");
    for (const [what, accident] of Object.entries(accidents)) {
      if (!wanted.test(what)) continue;
      const times: Awaited<ReturnType<typeof takenOver>>[] = [];
      for (let n = 0; n < takeOvers; n += 1) times.push(await takenOver(cluster, accident));
      if (accident.isShowing !== true)
        figures[`first reading after ${what}`] = told(times.map(({ readingMs }) => readingMs ?? Infinity));
      figures[`first command after ${what}`] = told(times.map(({ commandMs }) => commandMs));
    }
    await tellFigures("cluster take-over", takeOvers < 5, figures);
    judgeResults(cluster);
  });

  it("send to an actuator once a POST of the owner before is over, and no later; to all others at once", async () => {
    const nats = await startNats(3);
    onTestFinished(() => nats.stop());
    const cluster = await clusterOf(2, nats, `${controlMs / 1_000}s`);
    await commandTaken(cluster, "off");
    await sendOnce(cluster, "roller", "close");
    const times: Awaited<ReturnType<typeof takenOverBusy>>[] = [];
    for (let n = 0; n < busyTakeOvers; n += 1) times.push(await takenOverBusy(cluster, n));
    await tellFigures("cluster take-over with a POST under way", busyTakeOvers < 2, {
      "NATS servers": natsVersion,
      "first command to another actuator": told(times.map(({ idleMs }) => idleMs)),
      [`first command to the actuator, control: ${controlMs / 1_000}s`]: told(
        times.map(({ busyMs }) => busyMs),
      ),
      "from that POST to the next one": told(times.map(({ apartMs }) => apartMs)),
    });
    for (const { idleMs, busyMs, apartMs } of times) {
      expect(idleMs).toBeLessThan(aroundMs);
      expect(apartMs).toBeGreaterThan(controlMs);
      expect(busyMs).toBeLessThan(controlMs + aroundMs);
    }
    judgeResults(cluster);
  });
});
