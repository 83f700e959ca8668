import type { Command } from "../commands/command.js";
import { laneKey } from "../commands/command.js";
import type { Interrupted } from "../commands/book.js";
import type { Abandoned } from "../commands/report.js";
import { nodeFileSystem, type FileSystem } from "../journal/file-system.js";
import type { Journal } from "../journal/journal.js";
import { newestRecords, readRecentCommands } from "../journal/reader.js";
import type { RecentCommand } from "../journal/recent-commands.js";
import type { JournalRecord, RecordType } from "../journal/records.js";
import { undeliveredResults } from "../journal/undelivered.js";
import { JournalUnreadable } from "../journal/unreadable.js";
import { awaitedFrom, awaitedSince, heldResults, heldTypes, lateResults } from "./awaited.js";
import type { BridgeSurroundings } from "./bridge-parts.js";
import type { CommandDesk } from "./command-desk.js";
import { abandonedFrom, interruptedFrom } from "./interrupted.js";
import type { Mirror } from "./mirror.js";
import { refuseForUnread } from "./operations/unread-journal.js";

const ownIdsMs = 12 * 3_600_000;
const undeliveredMs = 24 * 3_600_000;
const mostUndelivered = 1_000;
const mostAwaited = 2_000;
const heldMs = 24 * 3_600_000;
const mostHeld = 10_000;

/**
 * Takes up what earlier runs left in the journal: open commands, unread POSTs, problems, ids seen, results not delivered,
 * values that may still come. All of it is read before this run writes outcomes of its own there. Where records cannot be read,
 * nothing of them is taken up or told, nor counted as told.
 */
export async function restoreCommands(
  desk: CommandDesk,
  journal: Journal,
  mirror: Mirror,
  around: Around,
  files: FileSystem = nodeFileSystem,
): Promise<void> {
  const { unread, problems } = journal.history();
  const { commander } = desk;
  commander.restoreUnread(
    unread.map(({ controller, target, actuator }) =>
      laneKey({ code: controller, target, targetId: actuator }),
    ),
  );
  for (const { controller, target, actuator } of problems) {
    commander.problems.raise({ code: controller, target, targetId: actuator });
  }
  const past = await readPast(journal, around, files);
  if (past === null || journal.unread !== null) desk.leaveDeliveryMarks();
  if (past !== null) {
    rememberIds(commander, past.recent, around.clock.now());
    for (const one of undeliveredResults(past.told, mostUndelivered)) desk.restoreResult(one);
    restoreAwaited(commander, past.results, mirror);
    restoreHeld(commander, past.held, mirror);
  }
  takeUpOpen(desk, { journal, mirror, around, recent: past?.recent ?? [] });
}

type Around = Pick<BridgeSurroundings, "clock" | "log" | "live">;

interface Past {
  readonly recent: readonly RecentCommand[];
  /** What says which results were told, and which not. */
  readonly told: readonly JournalRecord[];
  /** What says which values may still come. */
  readonly results: readonly JournalRecord[];
  /** What says which confirmed values were not looked at again. */
  readonly held: readonly JournalRecord[];
}

/** Null where a file cannot be read: this run then mirrors only. */
async function readPast(
  journal: Journal,
  { clock, log, live }: Around,
  files: FileSystem,
): Promise<Past | null> {
  const { directory } = journal;
  const now = clock.now();
  const newest = (types: ReadonlySet<RecordType>, sinceMs: number, limit: number) =>
    newestRecords(directory, { types, sinceMs, limit }, files);
  const tellable = new Set(["result", "refusal", "delivered"] as const);
  const hopeful = new Set(["result", "confirmed_late"] as const);
  try {
    return {
      recent: await readRecentCommands(directory, now - ownIdsMs, files),
      told: await newest(tellable, now - undeliveredMs, 2 * mostUndelivered),
      results: await newest(hopeful, awaitedSince(journal.history().problems, now), mostAwaited),
      held: await newest(heldTypes, now - heldMs, mostHeld),
    };
  } catch (error) {
    if (!(error instanceof JournalUnreadable)) throw error;
    if (journal.unread === null) refuseForUnread(error, journal, log, live);
    return null;
  }
}

function takeUpOpen(
  desk: CommandDesk,
  {
    journal,
    mirror,
    around,
    recent,
  }: {
    readonly journal: Journal;
    readonly mirror: Mirror;
    readonly around: Around;
    readonly recent: readonly RecentCommand[];
  },
): void {
  const { clock, log } = around;
  const { commander, phases } = desk;
  const interrupted: Interrupted[] = [];
  for (const one of journal.history().open) {
    const known = interruptedFrom(one, mirror.store, clock);
    if (known === null) abandon(desk, abandonedFrom(one, mirror.store, clock));
    else interrupted.push(known);
  }
  if (interrupted.length > 0)
    log.warn({ commands: interrupted.length }, "reading back commands that the last run did not finish");
  for (const { command } of interrupted) if (isOvertaken(command, recent)) phases.overtaken(command);
  commander.recover(interrupted);
}

function abandon(desk: CommandDesk, one: Abandoned): void {
  const { about, asked } = one;
  desk.commander.abandon(one);
  const { controllerId, receivedAt } = asked;
  desk.endedBefore({ ...about, controllerId }, { ...asked, received_at: new Date(receivedAt).toISOString() });
}

/**
 * Whether a newer command to the same target was taken, and shown, before the last run ended. One that was superseded
 * meanwhile was the older.
 */
function isOvertaken({ id, code, target, targetId }: Command, recent: readonly RecentCommand[]): boolean {
  const ofTarget = recent.filter(
    ({ about, isTaken }) =>
      isTaken && about.controller === code && about.target === target && about.actuator === targetId,
  );
  const own = ofTarget.findIndex((one) => one.id === id);
  return ofTarget.slice(own + 1).some(({ result }) => result !== null && result.outcome !== "superseded");
}

function rememberIds(
  commander: CommandDesk["commander"],
  recent: readonly RecentCommand[],
  now: number,
): void {
  for (const { about, isTaken, taken, result } of recent) {
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

function restoreAwaited(
  commander: CommandDesk["commander"],
  records: readonly JournalRecord[],
  { store }: Mirror,
): void {
  for (const late of lateResults(records)) {
    const awaited = awaitedFrom(late, store);
    if (awaited) commander.await(awaited);
  }
}

function restoreHeld(
  commander: CommandDesk["commander"],
  records: readonly JournalRecord[],
  { store }: Mirror,
): void {
  for (const one of heldResults(records)) {
    const held = awaitedFrom(one, store);
    if (held) commander.hold({ ...held.command, settings: held.settings }, held.step);
  }
}
