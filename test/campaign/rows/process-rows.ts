import { execFileSync } from "node:child_process";
import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import {
  type Check,
  comesTrue,
  killed,
  outcome,
  own,
  resultsOf,
  type Row,
  shown,
  stayedOnline,
  unless,
  wait,
} from "../row.js";
import { textOf } from "../history.js";
import { commanded, targets, topicOf } from "../support/house.js";
import type { World } from "../support/world.js";

const youngMs = 5_000;
const youngIds = "still-";

/** Sends commands with a maximum age of some seconds while nobody reads them. */
async function sendYoung({ watch }: World): Promise<void> {
  await wait(500);
  const sentAt = Date.now();
  for (const [n, [actuator, { commands }]] of Object.entries(targets).slice(0, 3).entries()) {
    const [command] = commands[0] ?? [""];
    const said = { command, id: `${youngIds}${sentAt}-${n}`, by: "campaign", max_age: `${youngMs / 1_000}s` };
    watch.publish(`${topicOf(commanded, actuator)}/set`, JSON.stringify(said)).catch(() => undefined);
  }
}

/** Checks that commands that waited too long in a socket ended expired, and were not sent. */
const expired: Check = ({ messages }) => {
  const young = resultsOf(messages).filter(({ id }) => textOf(id).startsWith(youngIds));
  const wrong = young.filter(({ outcome, reason }) => outcome !== "refused" || reason !== "expired");
  return [
    ...unless(young.length > 0, "no command that lay in the socket has a result"),
    ...wrong.map(({ id, outcome, reason }) => `${textOf(id)} ended ${textOf(outcome)} ${textOf(reason)}`),
  ];
};

const frozen = (seconds: number, expected: string, checks: Row["checks"]): Row =>
  own({
    ...{ name: `frozen process ${seconds} s`, expected, hits: "delivery", holdMs: seconds * 1_000 },
    begin: async (world) => {
      world.bridge.program.signal("SIGSTOP");
      await sendYoung(world);
    },
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
  frozen(12, "goes on; a command that waited too long is not done", [expired]),
  frozen(40, "past the keepalive: offline meanwhile; online again, no old command is done", [
    shown("greenhouse/bridge/state", "offline"),
  ]),
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
];

/* G: the disk, and other programs that use it or the account. */

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

/** Where the directory and its content are meanwhile. */
const awayFrom = (world: World) => join(world.stage.folder, "data-away");

const mounted = (...options: readonly string[]) => execFileSync("mount", options, { stdio: "ignore" });

/** Removes the disk, or renames the directory: open files stay open, but nobody finds them. */
function takeAway(world: World): void {
  if (!world.hasOwnDisk) {
    renameSync(dataIn(world), awayFrom(world));
    return;
  }
  mkdirSync(awayFrom(world), { recursive: true });
  mounted("--bind", dataIn(world), awayFrom(world));
  execFileSync("umount", ["-l", dataIn(world)]);
}

function putBack(world: World): void {
  if (!world.hasOwnDisk) {
    renameSync(awayFrom(world), dataIn(world));
    return;
  }
  mounted("--bind", awayFrom(world), dataIn(world));
  execFileSync("umount", ["-l", awayFrom(world)]);
}

const refusedWithoutDisk: Check = (seen, world) =>
  world.hasOwnDisk
    ? outcome("refused/journal_unavailable")(seen, world)
    : ["not run: this process may not mount a small file system"];

/** Checks that the bridge created nothing in place of the missing directory. */
const nothingInItsPlace: Check = ({ notes: { inItsPlace = 0 } }) =>
  unless(inItsPlace === 0, `${inItsPlace} files were made where the directory had been`);

const goneDirectory = (name: string, holdMs: number): Row =>
  own({
    name,
    unwritable: true,
    expected:
      "commands refused journal_unavailable, nothing made in its place; goes on by itself when it is back",
    hits: "platform",
    holdMs,
    reducedHoldMs: 8_000,
    begin: takeAway,
    end: (world, notes) => {
      notes["inItsPlace"] = existsSync(dataIn(world)) ? readdirSync(dataIn(world)).length : 0;
      putBack(world);
    },
    checks: [stayedOnline, outcome("refused/journal_unavailable"), nothingInItsPlace],
  });

export const diskRows: readonly Row[] = [
  goneDirectory("data directory gone", 12_000),
  goneDirectory("data directory gone for a minute", 60_000),
  // In the middle of what would have been the next record, as a power cut leaves it.
  killed("kill -9, journal's tail torn", (world) => appendToJournal(world, '{"seq":99999999,"at":"2026-')),
  // Some file systems show this after a power cut: allocated blocks that were never written.
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
      // A start takes time on a busy machine, and commands sent before it get no answer.
      const isOnline = () => world.watch.latest("greenhouse/bridge/state") === "online";
      await comesTrue(() => world.watch.isConnected && isOnline(), 30_000);
      await wait(4_000);
    },
    end: async (world) => {
      await world.bridge.stop();
      remount(world, "rw");
      await world.bridge.start();
    },
    checks: [refusedWithoutDisk],
  }),
];
