import type { CommandResult } from "../greenhouse/command/outcomes.js";
import type {
  About,
  CommandTaken,
  CommandTarget,
  JournalRecord,
  Refusal,
  ResultRecord,
  Stamp,
} from "./records.js";

/** A command id the bridge has seen. */
export interface RecentCommand {
  readonly id: string;
  /** A sender may use one id for several targets, as a scene does: each is a command of its own. */
  readonly about: Required<About>;
  /** A refusal at the door takes nothing; a command that waited and was never sent was taken. */
  readonly isTaken: boolean;
  /** null when it ended before anything was about to be sent. */
  readonly taken: CommandTaken | null;
  /** Its first outcome; null while it is open. */
  readonly result: CommandResult | null;
}

interface Entry extends RecentCommand {
  readonly stamp: Stamp;
}

export interface RecentDraft {
  readonly sinceMs: number;
  readonly entries: Map<string, Entry>;
  /** Per boot: wall clock minus monotonic clock, from its newest record with a trusted clock. */
  readonly offsets: Map<string, number>;
}

/** More ids than this in the window means a flood; the oldest are forgotten. */
const mostEntries = 50_000;

export const emptyRecent = (sinceMs: number): RecentDraft => ({
  sinceMs,
  entries: new Map(),
  offsets: new Map(),
});

/** Takes the next record into the draft. */
export function addToRecent(draft: RecentDraft, record: JournalRecord): void {
  if (record.clock_synced === true) draft.offsets.set(record.boot, Date.parse(record.at) - record.mono);
  if (timeOf(draft, record) < draft.sinceMs) return;
  if (record.type === "command_taken")
    put(draft, {
      ...{ id: record.id, about: aboutOf(record), isTaken: true },
      ...{ taken: record, result: null, stamp: record },
    });
  else if (record.type === "result" || record.type === "refusal") addOutcome(draft, record);
}

/** The first outcome counts; the answer to a duplicate repeats the id and is not one. */
function addOutcome(draft: RecentDraft, record: Stamp & (ResultRecord | Refusal)): void {
  const { result, type } = record;
  const isTaken = type === "result";
  const ended = { id: result.id, about: aboutOf(record), isTaken, taken: null, result, stamp: record };
  const known = draft.entries.get(keyOf(ended));
  if (known === undefined) put(draft, ended);
  else if (known.result === null) {
    if (type === "refusal" && result.reason !== "journal_unavailable") return;
    draft.entries.set(keyOf(known), { ...known, result });
  } else if (known.result.outcome === "refused" && isTaken) put(draft, ended);
}

const aboutOf = ({ controller, actuator, target = "actuator" }: About): Required<About> => ({
  controller,
  actuator,
  target,
});

const keyOf = ({ id, about: { controller, target, actuator } }: Pick<RecentCommand, "id" | "about">) =>
  JSON.stringify([controller, target, actuator, id]);

function put(draft: RecentDraft, entry: Entry): void {
  draft.entries.delete(keyOf(entry));
  draft.entries.set(keyOf(entry), entry);
  if (draft.entries.size <= mostEntries) return;
  for (const oldest of draft.entries.keys()) {
    draft.entries.delete(oldest);
    return;
  }
}

/**
 * Epoch ms by a trusted clock. A record made before the clock was set is placed by a later one of the same boot; where
 * none exists it counts as new, because repeating a command is worse than refusing a repeat.
 */
function timeOf(draft: RecentDraft, stamp: Stamp): number {
  if (stamp.clock_synced === true) return Date.parse(stamp.at);
  const offset = draft.offsets.get(stamp.boot);
  return offset === undefined ? Number.POSITIVE_INFINITY : offset + stamp.mono;
}

export function recentOf(draft: RecentDraft): readonly RecentCommand[] {
  return [...draft.entries.values()].flatMap(({ stamp, ...command }) =>
    timeOf(draft, stamp) >= draft.sinceMs ? command : [],
  );
}

/** Commands that came at or after `sinceMs` (epoch ms), to tell duplicates. */
export function recentResults(records: Iterable<JournalRecord>, sinceMs: number): readonly RecentCommand[] {
  const draft = emptyRecent(sinceMs);
  for (const record of records) addToRecent(draft, record);
  return recentOf(draft);
}

export interface JournaledResult {
  readonly seq: number;
  readonly target: CommandTarget;
  /** False for what was refused before it was taken. */
  readonly isTaken: boolean;
  readonly result: CommandResult;
}

/**
 * Results the broker has not been known to have taken, oldest first, the newest `limit`: those after the last
 * `delivered` record. Some may have been published, so they are to be repeated as such.
 */
export function undeliveredResults(
  records: Iterable<JournalRecord>,
  limit: number,
): readonly JournaledResult[] {
  let waiting: JournaledResult[] = [];
  for (const record of records) {
    if (record.type === "delivered") waiting = waiting.filter(({ seq }) => seq > record.through);
    else if (record.type === "result" || (record.type === "refusal" && !isCut(record.result)))
      waiting.push({
        seq: record.seq,
        target: record.target ?? "actuator",
        isTaken: record.type === "result",
        result: record.result,
      });
    if (waiting.length > limit * 2) waiting = waiting.slice(-limit);
  }
  return waiting.slice(-limit);
}

/** An invented name was too long to be kept whole: where its refusal belongs is not known any more. */
const isCut = ({ controller, actuator }: CommandResult): boolean =>
  controller.endsWith("…") || actuator.endsWith("…");
