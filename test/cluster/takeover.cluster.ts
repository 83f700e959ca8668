import { describe, expect, it, onTestFinished } from "vitest";
import { startProcess } from "../bridge/support/program.js";
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
} from "./support/members.js";

/*
 * How long a take-over takes, TAKEOVERS times each: after a kill, a stop (SIGSTOP), a cut from NATS, and in order. Nothing is under way
 * to the actuators.
 */

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

interface Accident {
  readonly begin: (owner: Member) => unknown;
  /** Brings it back as a member that stands by. */
  readonly end: (owner: Member) => unknown;
  /** It goes on showing readings until another one has the account. */
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
  // The allowance of a minute, and that it stands by.
  await wait(20_000);
  return { readingMs, commandMs };
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
      const times: Awaited<ReturnType<typeof takenOver>>[] = [];
      for (let n = 0; n < takeOvers; n += 1) times.push(await takenOver(cluster, accident));
      if (accident.isShowing !== true)
        figures[`first reading after ${what}`] = told(times.map(({ readingMs }) => readingMs ?? Infinity));
      figures[`first command after ${what}`] = told(times.map(({ commandMs }) => commandMs));
    }
    await tellFigures("cluster take-over", takeOvers < 5, figures);
    judgeResults(cluster);
  });
});
