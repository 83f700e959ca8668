import { execFileSync } from "node:child_process";
import { appendFileSync, closeSync, openSync, readdirSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { type Check, comesTrue, outcome, type Row, stayedOnline, unless, wait } from "../row.js";
import type { World } from "../support/world.js";
import { hasOwnBroker, killed, own } from "./kinds.js";

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
