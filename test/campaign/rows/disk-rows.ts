import { execFileSync } from "node:child_process";
import { appendFileSync, closeSync, openSync, readdirSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { expectOutcome, type Row, stayedOnline } from "../row.js";
import type { World } from "../support/world.js";
import { hasOwnBroker, killed, own, wait } from "./kinds.js";

/* G: the disk, and who else works with it or with the account. */

const journalFolder = ({ stage }: World) => join(stage.folder, "data", "journal");

function newestSegment(world: World): string {
  const names = readdirSync(journalFolder(world)).filter((name) => name.endsWith(".jsonl"));
  return join(journalFolder(world), names.sort().at(-1) ?? "");
}

const filler = ({ stage }: World) => join(stage.folder, "data", "filler");

function fillDisk(world: World): void {
  const file = openSync(filler(world), "w");
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

const ownDisk = ({ hasOwnDisk }: World): readonly string[] =>
  hasOwnDisk ? [] : ["not run: this process may not mount a small file system"];

const remount = ({ stage }: World, how: "ro" | "rw") =>
  execFileSync("mount", ["-o", `remount,${how}`, join(stage.folder, "data")]);

async function second(world: World, more: Readonly<Record<string, unknown>>) {
  await world.stage.write("second.yaml", JSON.stringify({ ...world.configuration, http: false, ...more }));
  return world.stage.program(["run", "-c", "second.yaml", "--log-level", "info"]);
}

export const diskRows: readonly Row[] = [
  killed(
    {
      name: "kill -9, journal's tail torn",
      how: "SIGKILL, half a record appended, started again",
    },
    (world) => {
      const file = newestSegment(world);
      // In the middle of what would have been the next record, as a power cut leaves it.
      appendFileSync(file, '{"seq":99999999,"at":"2026-');
    },
  ),
  killed(
    {
      name: "kill -9, journal's tail zeroed",
      how: "SIGKILL, 4 KiB of zeros appended, started again",
    },
    (world) => {
      // What some file systems show after a power cut: room that was never written.
      appendFileSync(newestSegment(world), Buffer.alloc(4_096));
    },
  ),
  own({
    name: "disk full",
    unwritable: true,
    how: "small file system filled to the last byte for 10 s",
    expected: "commands refused journal_unavailable, reading goes on",
    hits: "platform",
    holdMs: 10_000,
    reducedHoldMs: 6_000,
    begin: (world) => {
      if (world.hasOwnDisk) fillDisk(world);
    },
    end: (world) => rmSync(filler(world), { force: true }),
    check: (seen, world) => [
      ...ownDisk(world),
      ...stayedOnline(seen),
      ...(world.hasOwnDisk ? expectOutcome(seen, "refused/journal_unavailable") : []),
    ],
  }),
  own({
    name: "started on a read-only disk",
    aboutMs: 9_000,
    unwritable: true,
    how: "stopped, data directory mounted read-only, started for 10 s",
    expected: "mirrors, refuses commands journal_unavailable",
    holdMs: 10_000,
    reducedHoldMs: 8_000,
    begin: async (world) => {
      await world.bridge.stop();
      if (world.hasOwnDisk) remount(world, "ro");
      await world.bridge.start();
      await wait(4_000);
    },
    end: async (world) => {
      await world.bridge.stop();
      if (world.hasOwnDisk) remount(world, "rw");
      await world.bridge.start();
    },
    check: (seen, world) => [
      ...ownDisk(world),
      ...(world.hasOwnDisk ? expectOutcome(seen, "refused/journal_unavailable") : []),
    ],
  }),
  own({
    name: "second bridge, same data directory",
    aboutMs: 7_000,
    only: hasOwnBroker,
    how: "started beside the first",
    expected: "exit 1; the first does not notice",
    hits: "nothing",
    holdMs: 0,
    begin: async (world, notes) => {
      const start = Date.now();
      const { code } = await (await second(world, {})).ended;
      notes["code"] = code ?? -1;
      notes["tookMs"] = Date.now() - start;
    },
    check: (seen) => [
      ...(seen.notes["code"] === 1 ? [] : [`the second ended with ${seen.notes["code"] ?? "none"}`]),
      ...stayedOnline(seen),
    ],
  }),
  own({
    name: "second bridge, same account",
    aboutMs: 20_000,
    only: hasOwnBroker,
    how: "another client id, base topic and data directory, for 12 s",
    expected: "commands refused other_bridge until it stops",
    hits: "nothing",
    holdMs: 0,
    limitMs: 60_000,
    begin: async (world) => {
      const mqtt = { ...(world.configuration["mqtt"] as object), client_id: "rival", base_topic: "rival" };
      const rival = await second(world, { mqtt, data_dir: "./rival", homeassistant: { enabled: false } });
      const end = Date.now() + 25_000;
      while (world.recorder.latest("rival/bridge/state") !== "online" && Date.now() < end) await wait(100);
      await wait(12_000);
      rival.signal("SIGTERM");
      await rival.ended;
    },
    check: (seen) => expectOutcome(seen, "refused/other_bridge"),
  }),
];
