import { comesTrue, outcome, type Row, shown, unless, wait } from "../row.js";
import type { World } from "../support/world.js";
import { killed, own } from "./kinds.js";

/* G: the process: killed, frozen, stopped, started under bad conditions. */

const restart = async ({ bridge }: World) => {
  await bridge.stop();
  await bridge.start();
};

/** Killed, and online in its next life, so that its start is in the journal. */
async function lifeLost({ bridge, watch }: World): Promise<void> {
  await bridge.kill();
  await bridge.start();
  const mark = watch.mark();
  const isBirth = () =>
    watch.seen
      .slice(Math.max(mark, watch.mark() - 2_000))
      .some(({ topic, payload }) => topic === "greenhouse/bridge/state" && payload === "online");
  await comesTrue(isBirth, 20_000);
}

const frozen = (seconds: number, expected: string, checks: Row["checks"]): Row =>
  own({
    ...{ name: `frozen process ${seconds} s`, expected, hits: "delivery", holdMs: seconds * 1_000 },
    begin: ({ bridge }) => bridge.program.signal("SIGSTOP"),
    end: ({ bridge }) => bridge.program.signal("SIGCONT"),
    ...(checks && { checks }),
  });

export const processRows: readonly Row[] = [
  killed("kill -9", () => undefined),
  own({
    name: "SIGTERM under load",
    expected: "exit 0 within 10 s, offline published, no POST afterwards",
    holdMs: 0,
    begin: async ({ bridge, platform }, notes) => {
      const start = Date.now();
      const { code } = await bridge.stop();
      notes["tookMs"] = Date.now() - start;
      notes["code"] = code ?? -1;
      const posts = (await platform.posts()).length;
      await wait(2_000);
      notes["posts"] = (await platform.posts()).length - posts;
      await bridge.start();
    },
    checks: [
      ({ notes: { code = -1 } }) => unless(code === 0, `exit ${code}`),
      ({ notes: { tookMs = 0 } }) => unless(tookMs <= 10_000, `it took ${tookMs} ms`),
      ({ notes: { posts = 0 } }) => unless(posts === 0, `${posts} POSTs after the exit`),
    ],
  }),
  frozen(12, "goes on; a command that waited too long is not done", undefined),
  frozen(40, "past the keepalive: offline meanwhile; online again, no old command is done", [
    shown("greenhouse/bridge/state", "offline"),
  ]),
  own({
    name: "platform's name does not resolve",
    expected: "online at the broker, unreachable, no exit",
    holdMs: 40_000,
    begin: async ({ bridge, configuration }) => {
      await bridge.stop();
      const platform = configuration["platform"] as object;
      const names = { business_url: "https://platform.invalid", realtime_url: "https://platform.invalid" };
      await bridge.start({ ...configuration, platform: { ...platform, ...names } });
    },
    end: restart,
    checks: [shown("greenhouse/bridge/platform", "unreachable")],
  }),
  own({
    name: "started in 1970",
    expected: "works all the same, also when the clock is right after 12 s",
    holdMs: 12_000,
    begin: async ({ bridge, clockOffsets }) => {
      await bridge.stop();
      const offset = -Date.now() + 60_000;
      clockOffsets.push(offset);
      bridge.setClock(offset);
      await bridge.start();
    },
    end: ({ bridge }) => bridge.setClock(0),
  }),
  own({
    name: "crash loop",
    expected: "read-only after five lives that ended before any command; an orderly stop ends that",
    holdMs: 24_000,
    begin: async (world) => {
      // A life that did its work does not count: the first may have, the second may still end the first one's commands.
      world.load.pause();
      await wait(10_000);
      for (let life = 0; life < 7; life += 1) await lifeLost(world);
      world.load.resume();
      await wait(6_000);
      await restart(world);
    },
    checks: [outcome("refused/read_only")],
  }),
];
