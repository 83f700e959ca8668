import type { TargetKind } from "../greenhouse/model.js";
import type { CommandResult } from "../greenhouse/command/outcomes.js";
import {
  type About,
  commandKey,
  type CommandTaken,
  type JournalRecord,
  type Refusal,
  wholeAbout,
  type ResultRecord,
  type Stamp,
} from "./records.js";
import { setBounded } from "../runtime/table.js";

/* Recent commands: to recognise repeated ids, and to find results that the broker may not have received. */

/** More ids than this mean a flood; the oldest are forgotten. */
const mostRecent = 50_000;

/** A command id that the bridge has seen. */
export interface RecentCommand {
  readonly id: string;
  /** A sender may use one id for several targets, as a scene does; each is a command of its own. */
  readonly about: Required<About>;
  /** False for a refusal on arrival; true for an accepted command, even if it was never sent. */
  readonly isTaken: boolean;
  /** Null without a record of its acceptance, as for a refusal on arrival. */
  readonly taken: CommandTaken | null;
  /** Its first outcome; null while it is open. */
  readonly result: CommandResult | null;
}

/** Commands that came at or after `sinceMs` (epoch ms), to recognise duplicates. Every record passes through it. */
export class RecentCommands {
  readonly #sinceMs: number;
  readonly #entries = new Map<string, RecentCommand & { readonly stamp: Stamp }>();
  /** By boot: wall clock minus monotonic clock, from the newest record with a trusted clock. */
  readonly #offsets = new Map<string, number>();

  constructor(sinceMs: number) {
    this.#sinceMs = sinceMs;
  }

  list(): readonly RecentCommand[] {
    return [...this.#entries.values()].flatMap(({ stamp, ...command }) =>
      this.#timeOf(stamp) >= this.#sinceMs ? command : [],
    );
  }

  add(record: JournalRecord): void {
    if (record.clock_synced === true) this.#offsets.set(record.boot, Date.parse(record.at) - record.mono);
    if (this.#timeOf(record) < this.#sinceMs) return;
    if (record.type === "command_taken") {
      const { id } = record;
      this.#put({ id, about: wholeAbout(record), isTaken: true, taken: record, result: null }, record);
    } else if (record.type === "result" || record.type === "refusal") this.#addOutcome(record);
  }

  /** The first outcome counts; the answer to a duplicate has the same id but is no outcome. */
  #addOutcome(record: Stamp & (ResultRecord | Refusal)): void {
    const { result } = record;
    const isTaken = record.type === "result";
    const key = commandKey(record, result.id);
    const known = this.#entries.get(key);
    if (known === undefined || (known.result?.outcome === "refused" && isTaken))
      this.#put({ id: result.id, about: wholeAbout(record), isTaken, taken: null, result }, record);
    else if (known.result === null && (isTaken || result.reason === "journal_unavailable"))
      this.#entries.set(key, { ...known, result });
  }

  #put(command: RecentCommand, stamp: Stamp): void {
    setBounded(this.#entries, commandKey(command.about, command.id), { ...command, stamp }, mostRecent);
  }

  /**
   * Epoch ms by a trusted clock. A record from before the clock was set is placed by a later one of its boot. Without
   * one it counts as new, as repeating a command is worse than refusing a repeat.
   */
  #timeOf(stamp: Stamp): number {
    if (stamp.clock_synced === true) return Date.parse(stamp.at);
    return (this.#offsets.get(stamp.boot) ?? Number.POSITIVE_INFINITY) + stamp.mono;
  }
}

export interface JournaledResult {
  readonly seq: number;
  readonly target: TargetKind;
  /** False for a refusal on arrival. */
  readonly isTaken: boolean;
  readonly result: CommandResult;
}

/**
 * Results that the broker may not have received: those after the last `delivered` record, the newest `limit`, oldest
 * first. Some may have been published, so they are marked as repeated.
 */
export function undeliveredResults(
  records: Iterable<JournalRecord>,
  limit: number,
): readonly JournaledResult[] {
  let waiting: JournaledResult[] = [];
  for (const record of records) {
    const { type, seq } = record;
    if (type === "delivered") waiting = waiting.filter((one) => one.seq > record.through);
    else if (type === "result" || (type === "refusal" && !isCut(record.result))) {
      const { target = "actuator", result } = record;
      waiting.push({ seq, target, isTaken: type === "result", result });
    }
    if (waiting.length > limit * 2) waiting = waiting.slice(-limit);
  }
  return waiting.slice(-limit);
}

/** Whether an invented name was cut, so that the topic of its refusal is unknown. */
const isCut = ({ controller, actuator }: CommandResult): boolean =>
  controller.endsWith("…") || actuator.endsWith("…");
