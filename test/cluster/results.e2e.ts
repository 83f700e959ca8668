import { describe, expect, it, onTestFinished } from "vitest";
import { startProcess } from "../bridge/support/program.js";
import { natsVersion, startNats } from "../support/nats.js";
import {
  type Cluster,
  clusterOf,
  commandTaken,
  cutFromNats,
  judgeResults,
  type Member,
  ownerOf,
  resultsOf,
  sendOnce,
} from "./support/members.js";

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** How long commands are sent after an accident, until another member has taken over. */
const sendForMs = 16_000;
const everyMs = 400;

const signalled = (signal: NodeJS.Signals) => (owner: Member) => {
  owner.program.signal(signal);
  return Promise.resolve();
};

/** What happens to the owner while commands come, and how it is undone. */
const accidents = {
  "is cut from NATS": {
    begin: (owner: Member) => cutFromNats(owner, true),
    end: (owner: Member) => cutFromNats(owner, false),
  },
  freezes: {
    begin: signalled("SIGSTOP"),
    end: signalled("SIGCONT"),
  },
  "is killed": {
    begin: async ({ program }: Member) => {
      await program.end("SIGKILL");
    },
    end: (owner: Member) => startAgain(owner),
  },
  "is stopped in order": {
    begin: signalled("SIGTERM"),
    end: (owner: Member) => startAgain(owner),
  },
} as const;

async function startAgain(owner: Member): Promise<void> {
  await owner.program.ended;
  owner.program = startProcess({ folder: owner.folder });
}

/** Every command that the broker acknowledges meanwhile gets its one result. */
async function during(cluster: Cluster, { begin, end }: (typeof accidents)[keyof typeof accidents]) {
  const owner = await ownerOf(cluster);
  const sent: string[] = [];
  const begun = wait(1_000).then(async () => {
    await begin(owner);
  });
  const until = performance.now() + sendForMs;
  for (let n = 0; performance.now() < until; n += 1) {
    sent.push(
      await sendOnce(
        cluster,
        n % 5 === 4 ? "roller" : "fan",
        ["on", "off", "on", "off", "open"][n % 5] ?? "",
      ),
    );
    await wait(everyMs);
  }
  await begun;
  await end(owner);
  const untold = () => sent.filter((id) => !resultsOf(cluster).some((one) => one["id"] === id));
  await expect
    .poll(untold, { timeout: 60_000 })
    .toEqual([])
    .catch((error: unknown) => {
      const of = (id: string) =>
        cluster.members.flatMap(({ name, program }) =>
          program.stderr.split("\n").flatMap((line) => (line.includes(`"${id}"`) ? `${name} ${line}` : [])),
        );
      throw new Error(untold().flatMap(of).join("\n"), { cause: error });
    });
  const outcomes: Record<string, number> = {};
  for (const { id, outcome, reason } of resultsOf(cluster))
    if (sent.includes(String(id))) {
      const how = `${String(outcome)}/${String(reason)}`;
      outcomes[how] = (outcomes[how] ?? 0) + 1;
    }
  console.log(JSON.stringify({ sent: sent.length, outcomes }));
}

describe.skipIf(natsVersion === null)(
  `every command that the broker acknowledged ends with one result (${natsVersion ?? ""})`,
  () => {
    it.each(Object.entries(accidents))(
      "also where the owner %s",
      async (_, accident) => {
        const nats = await startNats(3);
        onTestFinished(() => nats.stop());
        const cluster = await clusterOf(2, nats);
        await commandTaken(cluster, "off");
        await during(cluster, accident);
        await wait(3_000);
        judgeResults(cluster);
      },
      240_000,
    );
  },
);
