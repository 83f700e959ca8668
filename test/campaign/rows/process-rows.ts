import { execFileSync } from "node:child_process";
import { appendFileSync, closeSync, openSync, readdirSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import {
  type Check,
  comesTrue,
  hasOwnBroker,
  killed,
  outcome,
  own,
  type Row,
  shown,
  stayedOnline,
  unless,
  wait,
} from "../row.js";
import type { World } from "../support/world.js";

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

/* G: the disk, and who else works with it or with the account. */

const dataIn = ({ stage }: World, name = "") => join(stage.folder, "data", name);

function appendToJournal(world: World, bytes: string | Buffer): void {
  const names = readdirSync(dataIn(world, "journal")).filter((name) => name.endsWith(".jsonl"));
  appendFileSync(join(dataIn(world, "journal"), names.sort().at(-1) ?? ""), bytes);
}

function fillDisk(world: World): void {
  const file = openSync(dataIn(world, "filler"), "w");
  try {
    for (let bytes = 65_536; bytes >= 1; bytes = Math.floor(bytes / 2))
      try {
        for (;;) writeSync(file, Buffer.alloc(bytes));
      } catch {
        // Full for pieces of this size; smaller ones may still fit.
      }
  } finally {
    closeSync(file);
  }
}

const remount = (world: World, how: "ro" | "rw") => {
  if (world.hasOwnDisk) execFileSync("mount", ["-o", `remount,${how}`, dataIn(world)]);
};

const refusedWithoutDisk: Check = (seen, world) =>
  world.hasOwnDisk
    ? outcome("refused/journal_unavailable")(seen, world)
    : ["not run: this process may not mount a small file system"];

async function second(world: World, more: Readonly<Record<string, unknown>>) {
  await world.stage.write("second.yaml", JSON.stringify({ ...world.configuration, http: false, ...more }));
  return world.stage.program(["run", "-c", "second.yaml", "--log-level", "info"]);
}

export const diskRows: readonly Row[] = [
  // In the middle of what would have been the next record, as a power cut leaves it.
  killed("kill -9, journal's tail torn", (world) => appendToJournal(world, '{"seq":99999999,"at":"2026-')),
  // What some file systems show after a power cut: room that was never written.
  killed("kill -9, journal's tail zeroed", (world) => appendToJournal(world, Buffer.alloc(4_096))),
  own({
    name: "disk full",
    unwritable: true,
    expected: "commands refused journal_unavailable, reading goes on",
    hits: "platform",
    holdMs: 10_000,
    reducedHoldMs: 6_000,
    begin: (world) => {
      if (world.hasOwnDisk) fillDisk(world);
    },
    end: (world) => rmSync(dataIn(world, "filler"), { force: true }),
    checks: [stayedOnline, refusedWithoutDisk],
  }),
  own({
    name: "started on a read-only disk",
    unwritable: true,
    expected: "mirrors, refuses commands journal_unavailable",
    holdMs: 10_000,
    reducedHoldMs: 8_000,
    begin: async (world) => {
      await world.bridge.stop();
      remount(world, "ro");
      await world.bridge.start();
      // The embedded broker comes with it, which takes its time on a busy machine.
      await comesTrue(() => world.watch.isConnected, 30_000);
      await wait(4_000);
    },
    end: async (world) => {
      await world.bridge.stop();
      remount(world, "rw");
      await world.bridge.start();
    },
    checks: [refusedWithoutDisk],
  }),
  own({
    name: "second bridge, same data directory",
    only: hasOwnBroker,
    expected: "exit 1; the first does not notice",
    hits: "nothing",
    holdMs: 0,
    begin: async (world, notes) => {
      notes["code"] = (await (await second(world, {})).ended).code ?? -1;
    },
    checks: [
      ({ notes: { code } }) => unless(code === 1, `the second ended with ${code ?? "none"}`),
      stayedOnline,
    ],
  }),
  own({
    name: "second bridge, same account",
    only: hasOwnBroker,
    expected: "commands refused other_bridge until it stops",
    hits: "nothing",
    holdMs: 12_000,
    begin: async (world) => {
      const mqtt = { ...(world.configuration["mqtt"] as object), client_id: "rival", base_topic: "rival" };
      const rival = await second(world, { mqtt, data_dir: "./rival", homeassistant: { enabled: false } });
      await comesTrue(() => world.watch.latest("rival/bridge/state") === "online", 25_000, 100);
      await wait(12_000);
      rival.signal("SIGTERM");
      await rival.ended;
    },
    checks: [outcome("refused/other_bridge")],
  }),
];
