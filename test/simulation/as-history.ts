import type { Ask, Boot, History } from "../judge/history.js";
import type { World } from "./world.js";

/** The running world as a history for the judge: questions about an instant are asked at that instant. */
export function historyOf(world: World): History {
  const { journalist, disk } = world;
  const isWritten = (record: string, { by }: Pick<Ask, "by">) => disk.written.has(`${record} ${by}`);
  return {
    clockMs: 0,
    showsTravel: world.showsTravel,
    seesReads: true,
    asks: journalist.asks,
    posts: journalist.posts,
    lane: (code, actuator) => journalist.lane(code, actuator),
    postsTo: (code, actuator) => journalist.postsTo(code, actuator),
    readsOf: (code, address) => journalist.readsOf(code, address),
    heldBetween: (code, address, from, to) => world.heldBetween(code, address, from, to),
    isHonest: () => false,
    knowsPostsOf: () => true,
    startedAt: (boot) => journalist.startedAt.get(boot) ?? 0,
    stoppedAt: (boot) => journalist.stoppedAt.get(boot) ?? Infinity,
    machineEndedBetween: (from, to) => {
      const startOf = (boot: Boot) => journalist.startedAt.get(boot) ?? 0;
      return [...journalist.endedWithMachine].some(
        (boot) => startOf(boot) >= startOf(from) && startOf(boot) < startOf(to),
      );
    },
    stalledBefore: () => world.lastStallAt,
    lackedValue: (code, since) => journalist.valueless.some((one) => one.code === code && one.at >= since),
    mayBeGone: (ask) =>
      ask.boot !== world.bridge?.boot && !isWritten("command_taken", ask) && !isWritten("refusal", ask),
    mayBeUnheard: () => false,
    looksTooOld: (ask) => looksTooOld(world, ask),
    journal: {
      // For phases the disk knows the bridge's own id.
      isWritten: (record, ask, _, id) => isWritten(record, id === undefined ? ask : { by: id }),
      isDurable: (record, { by }) => disk.durable.has(`${record} ${by}`),
      outcomesOf: ({ results }) => results.length,
      mayBeMissing: (at) => mayBeMissing(world, at),
      isOpen: (ask) => isOpen(world, ask),
    },
  };
}

/** Results are kept for a day. */
const almostDayMs = 20 * 3_600_000;

function looksTooOld({ platformNow, time }: World, { results: [first] }: Ask): boolean {
  if (first === undefined) return false;
  const toldAt = platformNow - time.now + first.at;
  return Math.abs(Date.parse(first.result.finished_at) - toldAt) > almostDayMs;
}

const excusedMs = 60_000;

function mayBeMissing({ bridge, lastDiskTroubleAt, scenario }: World, at: number): boolean {
  const isBad = bridge?.journal?.state().available === false || scenario.syncFailure > 0;
  return isBad || lastDiskTroubleAt === Infinity || at - lastDiskTroubleAt < excusedMs;
}

function isOpen({ bridge }: World, { code, actuator, by }: Ask): boolean {
  const open = bridge?.journal?.history().open ?? [];
  return open.some(
    ({ taken }) => taken.by === by && taken.controller === code && taken.actuator === actuator,
  );
}
