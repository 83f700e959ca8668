import { execFileSync } from "node:child_process";
import { appendFileSync, closeSync, openSync, readdirSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { expectOutcome, expectShown, type Row, stayedOnline } from "../row.js";
import type { World } from "../support/world.js";

/* G: the process, its disk and its rivals. */

const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const own = (row: Omit<Row, "hits" | "limitMs"> & Partial<Pick<Row, "hits" | "limitMs">>): Row => ({
  hits: "process",
  limitMs: 60_000,
  ...row,
});

const journalFolder = ({ stage }: World) => join(stage.folder, "data", "journal");

function newestSegment(world: World): string {
  const names = readdirSync(journalFolder(world)).filter((name) => name.endsWith(".jsonl"));
  return join(journalFolder(world), names.sort().at(-1) ?? "");
}

const killed = (name: string, spoil: (world: World) => void, more: Partial<Row> = {}): Row =>
  own({
    name,
    requirement: "G52",
    lanes: ["mosquitto-5!", "aedes-4", "embedded-5"],
    how: "SIGKILL amid commands, started again at once",
    expected: "nothing is sent again; open commands are read back and told",
    holdMs: 0,
    begin: async (world) => {
      await world.bridge.kill();
      spoil(world);
      await world.bridge.start();
    },
    ...more,
  });

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

export const processRows: readonly Row[] = [
  killed("kill -9", () => undefined),
  own({
    name: "SIGTERM under load",
    requirement: "G57",
    lanes: ["mosquitto-5", "mosquitto-4", "aedes-5!", "aedes-4", "embedded-5"],
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
  killed(
    "kill -9, journal's tail torn",
    (world) => {
      const file = newestSegment(world);
      // In the middle of what would have been the next record, as a power cut leaves it.
      appendFileSync(file, '{"seq":99999999,"at":"2026-');
    },
    {
      requirement: "G53",
      lanes: ["mosquitto-4", "embedded-5"],
      how: "SIGKILL, half a record appended, started again",
    },
  ),
  killed(
    "kill -9, journal's tail zeroed",
    (world) => {
      // What some file systems show after a power cut: room that was never written.
      appendFileSync(newestSegment(world), Buffer.alloc(4_096));
    },
    { requirement: "G53", lanes: ["aedes-5"], how: "SIGKILL, 4 KiB of zeros appended, started again" },
  ),
  own({
    name: "frozen process 12 s",
    requirement: "G59",
    lanes: ["mosquitto-5", "aedes-4!", "embedded-5"],
    how: "SIGSTOP, then SIGCONT",
    expected: "goes on; a command that waited too long is not done",
    hits: "delivery",
    holdMs: 12_000,
    begin: ({ bridge }) => {
      bridge.program.signal("SIGSTOP");
    },
    end: ({ bridge }) => {
      bridge.program.signal("SIGCONT");
    },
  }),
  own({
    name: "frozen process 40 s",
    requirement: "G59, D32",
    lanes: ["mosquitto-4", "aedes-5"],
    how: "SIGSTOP past the keepalive: the broker publishes the will",
    expected: "offline meanwhile; online again, no old command is done",
    hits: "delivery",
    holdMs: 40_000,
    begin: ({ bridge }) => {
      bridge.program.signal("SIGSTOP");
    },
    end: ({ bridge }) => {
      bridge.program.signal("SIGCONT");
    },
    check: (seen) => expectShown(seen, "greenhouse/bridge/state", "offline"),
  }),
  own({
    name: "disk full",
    requirement: "G53",
    lanes: ["mosquitto-5", "embedded-5!"],
    how: "small file system filled to the last byte for 10 s",
    expected: "commands refused journal_unavailable, reading goes on",
    hits: "platform",
    holdMs: 10_000,
    reducedHoldMs: 6_000,
    begin: (world) => {
      if (world.hasOwnDisk) fillDisk(world);
    },
    end: (world) => {
      rmSync(filler(world), { force: true });
    },
    check: (seen, world) => [
      ...ownDisk(world),
      ...stayedOnline(seen),
      ...(world.hasOwnDisk ? expectOutcome(seen, "refused/journal_unavailable") : []),
    ],
  }),
  own({
    name: "started on a read-only disk",
    requirement: "G53",
    lanes: ["mosquitto-4", "aedes-5"],
    how: "stopped, data directory mounted read-only, started for 10 s",
    expected: "mirrors, refuses commands journal_unavailable",
    holdMs: 10_000,
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
    requirement: "G25",
    lanes: ["mosquitto-5", "mosquitto-4", "aedes-5", "aedes-4"],
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
    requirement: "G25",
    lanes: ["mosquitto-5", "mosquitto-4", "aedes-5"],
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
  own({
    name: "platform's name does not resolve",
    requirement: "G60, B14",
    lanes: ["aedes-5", "embedded-5"],
    how: "started with hosts below .invalid for 15 s, then with the right ones",
    expected: "online at the broker, unreachable, no exit",
    holdMs: 15_000,
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
    requirement: "C30",
    lanes: ["mosquitto-4", "embedded-5"],
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
    end: ({ bridge }) => {
      bridge.setClock(0);
    },
  }),
  own({
    name: "crash loop",
    requirement: "G58",
    lanes: ["aedes-4"],
    how: "five SIGKILLs in a row, then a SIGTERM",
    expected: "the sixth start is read-only; an orderly stop ends that",
    holdMs: 0,
    begin: async ({ bridge, recorder }) => {
      for (let turn = 0; turn < 5; turn += 1) {
        await bridge.kill();
        await bridge.start();
        const end = Date.now() + 20_000;
        const life = Date.now();
        // Online in this life, so that its start is in the journal.
        const isUp = () =>
          recorder.messages.some(
            ({ topic, payload, at }) =>
              at > life && topic === "greenhouse/bridge/state" && payload === "online",
          );
        while (!isUp() && Date.now() < end) await wait(50);
      }
      await wait(6_000);
      await bridge.stop();
      await bridge.start();
    },
    check: (seen) => expectOutcome(seen, "refused/read_only"),
  }),
];
