import { laneKey } from "../../src/bridge/commands/command.js";
import type { Commander } from "../../src/bridge/commands/commander.js";
import type { CommandDesk } from "../../src/compose/command-desk.js";
import { interruptedFrom } from "../../src/compose/interrupted.js";
import type { Mirror } from "../../src/compose/mirror.js";
import type { FileSystem } from "../../src/journal/file-system.js";
import type { Journal } from "../../src/journal/journal.js";
import { newestRecords, readRecentCommands } from "../../src/journal/reader.js";
import { undeliveredResults } from "../../src/journal/undelivered.js";
import type { Clock } from "../../src/runtime/clock.js";

const hourMs = 3_600_000;

interface Around {
  readonly clock: Clock;
  readonly files: FileSystem;
}

/** As `restoreCommands` of the product does it, but on the simulated disk. Resolves with how many commands were open. */
export async function restored(
  { commander, outbox }: CommandDesk,
  journal: Journal,
  mirror: Mirror,
  around: Around,
): Promise<number> {
  const { open, unread, problems } = journal.history();
  commander.restoreUnread(
    unread.map(({ controller, target, actuator }) =>
      laneKey({ code: controller, target, targetId: actuator }),
    ),
  );
  for (const { controller, target, actuator } of problems)
    commander.problems.raise({ code: controller, target, targetId: actuator });
  const interrupted = open.flatMap((one) => interruptedFrom(one, mirror.store, around.clock) ?? []);
  commander.recover(interrupted);
  await rememberIds(commander, journal.directory, around);
  await restoreUndelivered(outbox, journal.directory, around);
  return interrupted.length;
}

async function rememberIds(commander: Commander, directory: string, { clock, files }: Around): Promise<void> {
  const recent = await readRecentCommands(directory, clock.now() - 12 * hourMs, files);
  for (const { about, isTaken, taken, result } of recent) {
    if (!isTaken || taken?.own_id === false || result === null) continue;
    const { controller: code, target, actuator: targetId } = about;
    const agoMs = Math.max(0, clock.now() - Date.parse(result.finished_at));
    commander.rememberResult({ code, target, targetId }, result, agoMs);
  }
}

async function restoreUndelivered(
  outbox: CommandDesk["outbox"],
  directory: string,
  { clock, files }: Around,
): Promise<void> {
  const types = new Set(["result", "refusal", "delivered"] as const);
  const what = { types, sinceMs: clock.now() - 24 * hourMs, limit: 2_000 };
  const records = await newestRecords(directory, what, files);
  for (const { result, target } of undeliveredResults(records, 1_000)) {
    const { controller: controllerId, actuator: targetId } = result;
    outbox.restore(result, { controllerId, target, targetId, response: null });
  }
}
