import type { TcpProxy } from "../../support/tcp-proxy.js";
import { Chance } from "../../simulation/scenario.js";
import { broker, linkOf, platform, type Row, stayedOnline, wait } from "../row.js";
import type { World } from "../support/world.js";

/*
 * Peers that hold connections: a connection stops answering, possibly in mid-answer, still takes data and is never
 * closed by the peer. The moment, the number of bytes and the fate of new connections are random; held connections stay
 * held after the fault.
 */

const anything = /^/;
const push = /upgrade: websocket/i;

/** Holds connections repeatedly until the fault is over, also within a line of HTTP, a body or a frame. */
async function clingTo(doors: readonly TcpProxy[], chance: Chance, forMs: number): Promise<void> {
  const endsAt = performance.now() + forMs;
  const isHole = chance.hits(0.3);
  while (performance.now() < endsAt) {
    const afterBytes = chance.of([0, chance.whole(1, 20), chance.whole(20, 600)]);
    for (const door of doors) door.cling(anything, afterBytes);
    // Some new connections are held as well, and some work until the next turn.
    if (isHole) for (const door of doors) await door.manner(chance.of(["black_hole", "pass"]));
    await wait(chance.between(200, 4_000));
  }
  for (const door of doors) await door.manner("pass");
}

const chanceOf = ({ seed, lane }: World, name: string) => new Chance(seed, `${lane.name}/${name}`);

const hosts = (which: string, doorsOf: (world: World) => readonly TcpProxy[]): Row => {
  const name = `${which} never lets go`;
  return platform({
    name,
    expected: "each request has its end; nothing waits for the other side to close",
    holdMs: 30_000,
    reducedHoldMs: 15_000,
    // The last POST may still have its whole deadline to wait.
    limitMs: 75_000,
    begin: (world, _notes, holdMs) => clingTo(doorsOf(world), chanceOf(world, name), holdMs),
    checks: [stayedOnline],
  });
};

export const clingingRows: readonly Row[] = [
  hosts("business host", ({ business }) => [business]),
  hosts("realtime host", ({ realtime }) => [realtime]),
  hosts("platform", ({ business, realtime }) => [business, realtime]),
  platform({
    name: "push never lets go",
    expected: "seen within 45 s, then a new channel; polling goes on",
    holdMs: 5_000,
    // Includes the pause of a channel that other faults have ended often.
    limitMs: 170_000,
    begin: (world) => {
      const afterBytes = chanceOf(world, "push").of([0, 1, 3]);
      for (const door of [world.business, world.realtime]) door.cling(push, afterBytes);
    },
    isOver: ({ business, realtime }) =>
      Promise.resolve(business.standing(push) + realtime.standing(push) > 0),
    checks: [stayedOnline],
  }),
  broker({
    name: "broker never lets go",
    expected: "the link is given up, each try at a new one has its end; back within 60 s",
    holdMs: 45_000,
    limitMs: 60_000,
    begin: async (world, _notes, holdMs) => {
      const { door } = linkOf(world);
      const chance = chanceOf(world, "broker");
      await clingTo([door], chance, holdMs - 1_000);
    },
  }),
];
