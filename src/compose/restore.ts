import { laneKey } from "../bridge/commands/command.js";
import type { Journal } from "../journal/journal.js";
import { newestRecords, readRecentCommands } from "../journal/reader.js";
import { undeliveredResults } from "../journal/undelivered.js";
import type { BridgeSurroundings } from "./bridge-parts.js";
import type { CommandDesk } from "./command-desk.js";
import { abandonedFrom, interruptedFrom } from "./interrupted.js";
import type { Mirror } from "./mirror.js";

const ownIdsMs = 12 * 3_600_000;
const undeliveredMs = 24 * 3_600_000;
const mostUndelivered = 1_000;

/** Takes up what earlier runs left in the journal: open commands, unread POSTs, problems, ids seen, results not delivered. */
export async function restoreCommands(
  desk: CommandDesk,
  journal: Journal,
  mirror: Mirror,
  around: BridgeSurroundings,
): Promise<void> {
  const { clock, log } = around;
  const { open, unread, problems } = journal.history();
  const { commander, outbox } = desk;
  commander.restoreUnread(
    unread.map(({ controller, target, actuator }) =>
      laneKey({ code: controller, target, targetId: actuator }),
    ),
  );
  for (const { controller, target, actuator } of problems) {
    commander.problems.raise({ code: controller, target, targetId: actuator });
  }
  const interrupted = open.flatMap((one) => {
    const known = interruptedFrom(one, mirror.store, clock);
    if (known === null) commander.abandon(abandonedFrom(one, mirror.store, clock));
    return known ?? [];
  });
  if (interrupted.length > 0)
    log.warn({ commands: interrupted.length }, "reading back commands that the last run did not finish");
  commander.recover(interrupted);
  await rememberIds(commander, journal.directory, clock.now());
  await restoreUndelivered(outbox, journal.directory, clock.now());
}

async function rememberIds(
  commander: CommandDesk["commander"],
  directory: string,
  now: number,
): Promise<void> {
  for (const { about, isTaken, taken, result } of await readRecentCommands(directory, now - ownIdsMs)) {
    // Of a command that was never about to be sent no record tells whose id it is; nobody repeats one of ours.
    if (!isTaken || taken?.own_id === false || result === null) continue;
    const { controller: code, target, actuator: targetId } = about;
    commander.rememberResult(
      { code, target, targetId },
      result,
      Math.max(0, now - Date.parse(result.finished_at)),
    );
  }
}

async function restoreUndelivered(
  outbox: CommandDesk["outbox"],
  directory: string,
  now: number,
): Promise<void> {
  const types = new Set(["result", "refusal", "delivered"] as const);
  const records = await newestRecords(directory, {
    types,
    sinceMs: now - undeliveredMs,
    limit: 2 * mostUndelivered,
  });
  for (const { result, target } of undeliveredResults(records, mostUndelivered)) {
    const address = {
      controllerId: result.controller,
      target,
      targetId: result.actuator,
      response: null,
    };
    outbox.restore(result, address);
  }
}
