import type { CommandService } from "../commands/service.js";
import { unsentEnding } from "../commands/endings.js";
import { ownIdMs } from "../commands/intake.js";
import type { MemberResult } from "../greenhouse/groups.js";
import type { Journal } from "../journal/journal.js";
import { newestRecords } from "../journal/reader.js";
import type { GroupEnded, GroupMemberTaken, GroupTaken, JournalRecord } from "../journal/records.js";
import { JournalUnreadable } from "../journal/segments.js";
import { resultsKeptMs } from "../mqtt/outbox.js";
import type { Clock } from "../runtime/clock.js";
import { placeOf, type Running, runningFrom } from "./running.js";

/* Restores commands to groups and scenes from earlier runs. */

/** A result of an earlier run. */
export interface EarlierEnd {
  readonly group: GroupEnded;
  /** Its age, by which its id is recognised; null where it is too old, or was a refusal. */
  readonly agoMs: number | null;
  /** Its record number, if the broker may not have it. */
  readonly undelivered: number | null;
}

export interface GroupsPast {
  readonly open: readonly GroupTaken[];
  /** Whether the journal holds a member's command without a result, which this run then ends. */
  readonly isOpen: (member: GroupMemberTaken) => boolean;
  /** Oldest first. */
  readonly ended: readonly EarlierEnd[];
}

const most = 2_000;

interface Past {
  readonly journal: Journal;
  readonly clock: Pick<Clock, "now">;
}

/**
 * Restores what earlier runs left, even for groups no longer configured. What cannot be read is left to a later start
 * that can.
 */
export async function restoreGroups(
  service: { restore(past: GroupsPast): void },
  commands: Pick<CommandService, "leaveDeliveryMarks">,
  from: Past,
): Promise<void> {
  const past = await readGroupsPast(from);
  if (past === null) {
    commands.leaveDeliveryMarks();
    return;
  }
  service.restore(past);
}

/** Null where a file cannot be read. */
async function readGroupsPast({ journal, clock }: Past): Promise<GroupsPast | null> {
  const { groups: open = [] } = journal.history();
  if (journal.readProblem !== null) return null;
  const isOpen = (member: GroupMemberTaken) => journal.isOpen(member, member.id);
  const { directory, files } = journal;
  const now = clock.now();
  try {
    const since = { sinceMs: now - resultsKeptMs, limit: most };
    const ended = await newestRecords(directory, { ...since, types: new Set(["group_ended"]) }, files);
    const [mark] = await newestRecords(directory, { types: new Set(["delivered"]), limit: 1 }, files);
    const through = mark?.type === "delivered" ? mark.through : 0;
    return { open, isOpen, ended: ended.flatMap((record) => earlierEnd(record, through, now) ?? []) };
  } catch (error) {
    if (!(error instanceof JournalUnreadable)) throw error;
    return null;
  }
}

/**
 * A result of an earlier run. With an untrusted clock its age is unknown and counts as 0: asking twice is worse than
 * refusing a repetition.
 */
function earlierEnd(record: JournalRecord, through: number, now: number): EarlierEnd | null {
  if (record.type !== "group_ended") return null;
  const { group, seq } = record;
  const agoMs = record.clock_synced === true ? Math.max(0, now - Date.parse(group.told.finished_at)) : 0;
  return {
    group,
    agoMs: group.is_taken && agoMs <= ownIdMs ? agoMs : null,
    undelivered: seq > through ? seq : null,
  };
}

/**
 * An open command as this run continues it: members that have ended, members whose commands now end, and those whose
 * commands never reached the journal. `idOf`: the topic id of a device code.
 */
export function takenUp(
  taken: GroupTaken,
  isOpen: GroupsPast["isOpen"],
  idOf: (code: string) => string,
): Running {
  const running = runningFrom(taken);
  for (const member of taken.members) {
    const { controller: code, actuator, id, ended, refused } = member;
    const controllerId = idOf(code);
    if (ended !== undefined) running.ended.push({ ...ended, controller: controllerId });
    else if (isOpen(member))
      running.open.set(placeOf(controllerId, actuator, id), { code, controllerId, actuator });
    else if (refused !== undefined) running.ended.push({ ...refused, controller: controllerId });
    else running.ended.push(neverAsked(member, controllerId));
  }
  running.order = taken.members.map(({ controller, actuator }) => `${idOf(controller)}/${actuator}`);
  return running;
}

function neverAsked({ actuator, id, command }: GroupMemberTaken, controller: string): MemberResult {
  const { outcome, reason, message } = unsentEnding(command?.toLowerCase() === "stop");
  return { controller, actuator, command, id, outcome, reason, message, interlock: null };
}
