import { describe, expect, it, onTestFinished } from "vitest";
import { logged } from "../bridge/support/program.js";
import { natsVersion, startNats } from "../support/nats.js";
import {
  type Cluster,
  clusterOf,
  commandTaken,
  cutLines,
  judgeResults,
  type Member,
  ownerOf,
  settledOwner,
} from "./support/members.js";

const lines = {
  platform: ({ platform }: Member) => platform,
  broker: ({ broker }: Member) => [broker],
} as const;

/** Resolves once another member runs the account, with the ms it took. */
async function handedOver(cluster: Cluster, from: Member): Promise<number> {
  const began = performance.now();
  const isGivenUp = () => logged(from.program, "the account goes there") !== undefined;
  await expect
    .poll(isGivenUp, { timeout: 120_000 })
    .toBe(true)
    .catch((error: unknown) => {
      const logs = cluster.members.map(({ program }) => program.stderr.slice(-3_000));
      throw new Error(logs.join("\n---\n"), { cause: error });
    });
  await ownerOf(cluster, from);
  return performance.now() - began;
}

describe.skipIf(natsVersion === null)(`an owner that alone is cut off (${natsVersion ?? ""})`, () => {
  it.each(Object.entries(lines))(
    "from the %s gives the account up in order to a member that reaches it",
    async (what, linesOf) => {
      const nats = await startNats(3);
      onTestFinished(() => nats.stop());
      const cluster = await clusterOf(2, nats);
      await commandTaken(cluster, "on");
      const owner = await settledOwner(cluster);
      await cutLines(linesOf(owner), true);
      const goneMs = await handedOver(cluster, owner);
      const takenMs = await commandTaken(cluster, "off");
      console.log(JSON.stringify({ cutFrom: what, goneMs, takenMs }));
      const other = await ownerOf(cluster, owner);
      expect(other).not.toBe(owner);
      judgeResults(cluster);
    },
    240_000,
  );
});
