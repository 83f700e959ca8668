import type { Message } from "../history.js";
import { expectOutcome, expectShown, type Row } from "../row.js";
import type { World } from "../support/world.js";
import { killed, own, wait } from "./kinds.js";

/* G: the process: killed, frozen, stopped, started under bad conditions. */

/** Online in this life, so that its start is in the journal. */
async function isUp({ recorder }: World, since: number): Promise<void> {
  const isBirth = ({ topic, payload, at }: Message) =>
    at > since && topic === "greenhouse/bridge/state" && payload === "online";
  while (!recorder.messages.slice(-2_000).some(isBirth) && Date.now() < since + 20_000) await wait(50);
}

export const processRows: readonly Row[] = [
  killed(
    {
      name: "kill -9",
      how: "SIGKILL amid commands, started again at once",
    },
    () => undefined,
  ),
  own({
    name: "SIGTERM under load",
    aboutMs: 12_000,
    how: "stopped in order amid commands, started again",
    expected: "exit 0 within 10 s, offline published, no POST afterwards",
    holdMs: 0,
    begin: async ({ bridge, platform }, notes) => {
      const start = Date.now();
      const { code } = await bridge.stop();
      notes["tookMs"] = Date.now() - start;
      notes["code"] = code ?? -1;
      const posts = (await platform.posts()).length;
      await wait(2_000);
      notes["postsAfter"] = (await platform.posts()).length - posts;
      await bridge.start();
    },
    check: ({ notes }) => [
      ...(notes["code"] === 0 ? [] : [`exit ${notes["code"] ?? "none"}`]),
      ...((notes["tookMs"] ?? 0) <= 10_000 ? [] : [`it took ${notes["tookMs"] ?? 0} ms`]),
      ...(notes["postsAfter"] === 0 ? [] : [`${notes["postsAfter"] ?? 0} POSTs after the exit`]),
    ],
  }),
  own({
    name: "frozen process 12 s",
    how: "SIGSTOP, then SIGCONT",
    expected: "goes on; a command that waited too long is not done",
    hits: "delivery",
    holdMs: 12_000,
    begin: ({ bridge }) => bridge.program.signal("SIGSTOP"),
    end: ({ bridge }) => bridge.program.signal("SIGCONT"),
  }),
  own({
    name: "frozen process 40 s",
    how: "SIGSTOP past the keepalive: the broker publishes the will",
    expected: "offline meanwhile; online again, no old command is done",
    hits: "delivery",
    holdMs: 40_000,
    begin: ({ bridge }) => bridge.program.signal("SIGSTOP"),
    end: ({ bridge }) => bridge.program.signal("SIGCONT"),
    check: (seen) => expectShown(seen, "greenhouse/bridge/state", "offline"),
  }),
  own({
    name: "platform's name does not resolve",
    aboutMs: 10_000,
    how: "started with hosts below .invalid for 40 s, then with the right ones",
    expected: "online at the broker, unreachable, no exit",
    holdMs: 40_000,
    begin: async (world) => {
      await world.bridge.stop();
      const platform = world.configuration["platform"] as object;
      const names = { business_url: "https://platform.invalid", realtime_url: "https://platform.invalid" };
      await world.bridge.start({ ...world.configuration, platform: { ...platform, ...names } });
    },
    end: async ({ bridge }) => {
      await bridge.stop();
      await bridge.start();
    },
    check: (seen) => expectShown(seen, "greenhouse/bridge/platform", "unreachable"),
  }),
  own({
    name: "started in 1970",
    how: "the process's Date says 1970 at boot and is right after 12 s",
    expected: "works all the same",
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
    aboutMs: 42_000,
    how: "seven SIGKILLs in a row, each before any command, then a SIGTERM",
    expected: "read-only after five such lives; an orderly stop ends that",
    holdMs: 0,
    begin: async (world) => {
      // A life that did its work does not count: the first may have, the second may still end the first one's commands.
      world.load.pause();
      await wait(10_000);
      for (let life = 0; life < 7; life += 1) {
        await world.bridge.kill();
        await world.bridge.start();
        await isUp(world, Date.now());
      }
      world.load.resume();
      await wait(6_000);
      await world.bridge.stop();
      await world.bridge.start();
    },
    check: (seen) => expectOutcome(seen, "refused/read_only"),
  }),
];
