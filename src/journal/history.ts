import type { CommandResult } from "../greenhouse/command/outcomes.js";
import type { MemberResult } from "../greenhouse/groups.js";
import type { Alarm } from "../greenhouse/limits.js";
import {
  type About,
  aboutKey,
  type ChosenReadOnly,
  commandKey,
  type CommandTaken,
  type Checkpoint,
  type GroupMemberTaken,
  type GroupTaken,
  type JournalRecord,
  type LaneMemory,
  type OpenCommand,
  type PhaseEntered,
  type RecordedStart,
  type Refusal,
  type RememberedLane,
  wholeAbout,
  runEvents,
  withoutMemory,
} from "./records.js";
import { setBounded } from "../runtime/table.js";

const mostOpen = 1_000;
const mostLanes = 5_000;
const mostAlarms = 5_000;
const mostStarts = 20;
const mostVersion = 60;
/** Bounds for all open commands to groups and scenes together, as a checkpoint is one line. */
const mostMembers = 2_000;
const mostGroups = 1_000;
const mostOfMessage = 300;

/**
 * The state that a restarted bridge needs: for each target the newest memory, and the accepted commands without a
 * result. Every record passes through it; most types leave no trace.
 */
export class History {
  readonly #open = new Map<string, OpenCommand>();
  readonly #lanes = new Map<string, RememberedLane>();
  /** Lanes with limits, without a bound: what is in force must survive a restart. */
  readonly #limited = new Map<string, RememberedLane>();
  readonly #alarms = new Map<string, Alarm>();
  readonly #groups = new Map<string, GroupTaken>();
  #starts: readonly RecordedStart[] = [];
  /** Undefined where nobody ever chose. */
  #chosen: ChosenReadOnly | null | undefined;
  /** Wall-clock time of the newest record, epoch ms. */
  newestAt = 0;

  /** A copy that later records do not change. */
  parts(): Checkpoint {
    return {
      open: [...this.#open.values()],
      starts: this.#starts,
      lanes: this.#allLanes(),
      alarms: [...this.#alarms.values()],
      groups: [...this.#groups.values()],
      ...(this.#chosen !== undefined && { chosen: this.#chosen }),
    };
  }

  #allLanes(): readonly RememberedLane[] {
    // The order in which lanes are restored.
    return [...this.#lanes.values(), ...this.#limited.values()];
  }

  /** Whether a command was accepted and has no result. */
  isOpen(about: About, id: string): boolean {
    return this.#open.has(commandKey(about, id));
  }

  /** Whether it is open and its checks began during this boot of the machine. */
  isChecked(about: About, id: string, kernel: string): boolean {
    return this.#open.get(commandKey(about, id))?.checked_under === kernel;
  }

  add(record: JournalRecord): void {
    const { type } = record;
    this.newestAt = Math.max(this.newestAt, Date.parse(record.at) || 0);
    this.#starts = startsAfter(this.#starts, record);
    if (type === "command_taken") {
      // Written later inside another record, where it must not look like the start of a line.
      const { type: first, ...stamped } = withoutMemory(record);
      const taken: CommandTaken = { type: first, ...stamped };
      setBounded(this.#open, commandKey(record, record.id), { taken, sent: null }, mostOpen);
    } else if (type === "result") this.#open.delete(commandKey(record, record.result.id));
    else if (type === "refusal") this.#addRefusal(record);
    else if (type === "phase" && record.phase === "checking") this.#addChecked(record);
    else if (type === "carried") this.#restore(record);
    else if (type === "alarm_kept" && record.alarm === null) this.#alarms.delete(record.name);
    else if (type === "alarm_kept" && record.alarm !== null)
      setBounded(this.#alarms, record.name, record.alarm, mostAlarms);
    else if (type === "configuration_changed" && record.chosen !== undefined) this.#chosen = record.chosen;
    else this.#addOfGroup(record);
    if (type === "result" || type === "refusal") this.#addMember(record, record.result, type);
    if ("memory" in record && record.memory !== undefined)
      this.#remember(record, record.memory, Date.parse(record.at));
  }

  #addOfGroup(record: JournalRecord): void {
    if (record.type === "group_ended" && record.group.is_taken)
      this.#groups.delete(groupKey({ ...record.group, id: record.group.told.id }));
    if (record.type !== "group_taken") return;
    setBounded(this.#groups, groupKey(record.group), record.group, mostGroups);
    let members = 0;
    for (const { members: own } of this.#groups.values()) members += own.length;
    // A group without its members still gets its end at the next start.
    for (const [key, group] of this.#groups) {
      if (members <= mostMembers || group === record.group) break;
      this.#groups.set(key, { ...group, members: [] });
      members -= group.members.length;
    }
  }

  /** Notes the result of a member. A refusal may answer another message under the same id, so the command goes on. */
  #addMember(about: About, result: CommandResult, type: "result" | "refusal"): void {
    const key = commandKey(about, result.id);
    const isMeant = (one: GroupMemberTaken) =>
      one.id === result.id && one.ended === undefined && commandKey(one, one.id) === key;
    for (const [place, group] of this.#groups) {
      if (!group.members.some(isMeant)) continue;
      const end = memberEnd(result);
      const members = group.members.map((one) => {
        if (!isMeant(one)) return one;
        const { refused = end, ...taken } = one;
        return type === "result" ? { ...taken, ended: end } : { ...taken, refused };
      });
      this.#groups.set(place, { ...group, members });
    }
  }

  #addChecked(record: PhaseEntered): void {
    const key = commandKey(record, record.id);
    const command = this.#open.get(key);
    if (command === undefined || record.kernel === undefined) return;
    this.#open.set(key, { ...command, checked_under: record.kernel });
  }

  #remember(about: About, { sent = [], ...memory }: LaneMemory, at: number): void {
    for (const one of sent) {
      const command = this.#open.get(commandKey(about, one.id));
      if (command !== undefined) this.#open.set(commandKey(about, one.id), { ...command, sent: one });
    }
    const key = aboutKey(about);
    // Records may lack limits and unconfirmed commands; then the earlier ones stay.
    const limited = this.#limited.get(key);
    const before = (limited ?? this.#lanes.get(key))?.memory;
    const limits = limited?.memory.limits;
    const { unconfirmed = before?.unconfirmed ?? [], ...now } = memory;
    const kept = { ...(limits && { limits }), ...(unconfirmed.length > 0 && { unconfirmed }) };
    const limitedAt = now.limits === undefined ? limited?.limited_at : now.limits?.lease ? at : undefined;
    const lane = { ...wholeAbout(about), memory: { ...kept, ...now } };
    this.#put(limitedAt === undefined ? lane : { ...lane, limited_at: limitedAt });
  }

  #put(lane: RememberedLane): void {
    const key = aboutKey(lane);
    this.#lanes.delete(key);
    this.#limited.delete(key);
    if (lane.memory.limits) this.#limited.set(key, lane);
    else if (!isNothing(lane.memory)) setBounded(this.#lanes, key, lane, mostLanes);
  }

  /** A command refused because its record could not be made durable may still have left that record behind. */
  #addRefusal(record: Refusal): void {
    const key = commandKey(record, record.result.id);
    const isSent = (this.#open.get(key)?.sent?.steps.length ?? 0) > 0;
    if (record.result.reason === "journal_unavailable" && !isSent) this.#open.delete(key);
  }

  #restore({ open, starts, lanes, alarms = [], groups = [], chosen }: Checkpoint): void {
    for (const map of [this.#open, this.#lanes, this.#limited, this.#alarms, this.#groups]) map.clear();
    for (const group of groups) this.#groups.set(groupKey(group), group);
    for (const { sent = null, ...one } of open)
      this.#open.set(commandKey(one.taken, one.taken.id), { ...one, sent });
    for (const lane of lanes) this.#put(lane);
    for (const alarm of alarms) this.#alarms.set(alarm.id, alarm);
    this.#starts = starts;
    this.#chosen = chosen;
  }
}

/**
 * Open commands as known in this boot of the machine (`kernel`). One that was being checked when the machine itself
 * went down may have been sent, as its record need not have reached the disk. If only the program ended, all that it
 * wrote is there.
 */
export const openAtStart = (open: readonly OpenCommand[], kernel: string | null): readonly OpenCommand[] =>
  open.map((one) => {
    const { taken, sent, checked_under: then } = one;
    if (sent !== null || then === undefined || then === kernel) return one;
    return { ...one, sent: { id: taken.id, steps: [], is_accepted: false, request_id: null, sent_at: null } };
  });

const groupKey = ({ kind, name, id }: Pick<GroupTaken, "kind" | "name" | "id">): string =>
  JSON.stringify([kind, name, id]);

function memberEnd(result: CommandResult): MemberResult {
  const { controller, actuator, command, id, outcome, reason, message, interlock } = result;
  const isLong = String(message).length > mostOfMessage;
  const said = isLong ? `${String(message).slice(0, mostOfMessage)}…` : message;
  return { controller, actuator, command, id, outcome, reason, message: said, interlock };
}

function isNothing(memory: object): boolean {
  const values: readonly unknown[] = Object.values(memory);
  for (const value of values) if (value !== null && value !== undefined) return false;
  return true;
}

/** The newest starts, with the end of each run as far as this record shows it. */
function startsAfter(starts: readonly RecordedStart[], record: JournalRecord): readonly RecordedStart[] {
  const { type, boot, at } = record;
  if (type === "start") {
    const version = record.version.slice(0, mostVersion);
    return [...starts, { boot, at, stopped: false, version }].slice(-mostStarts);
  }
  if (type !== "stop" && type !== "result" && type !== "event") return starts;
  const isError = type === "event" && record.event === runEvents.uncaughtError;
  if (type === "event" && !isError && record.event !== runEvents.ranWell) return starts;
  // An uncaught error is noted by the next run, before its own start.
  const run = isError ? starts.at(-1)?.boot : boot;
  const how = isError ? { failed: true } : type === "stop" ? { stopped: true } : { worked: true };
  const after: RecordedStart[] = [];
  for (const one of starts) after.push(one.boot === run ? { ...one, ...how } : one);
  return after;
}
