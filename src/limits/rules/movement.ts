import type { Outcome } from "../../greenhouse/command/outcomes.js";
import { type ActuatorKind, kindRows } from "../../greenhouse/actuator-kinds.js";
import { canonical } from "../../greenhouse/command/words.js";
import type { Limits } from "../../greenhouse/limits.js";
import { attemptAfter, type Ended, firstAttempt } from "./attempts.js";
import {
  type Direction,
  type Entry,
  type LimitedCommand,
  limitsOf,
  type Moment,
  type Moves,
} from "./entry.js";
import { degreeOf, sendDone } from "./guards.js";
import type { Lease } from "./lease.js";

/*
 * Rest, reversal and starts per hour; then what sending and ending a command does to the movements, the lease and the hold of its
 * actuator. Instants are monotonic ms.
 */

const hourMs = 3_600_000;

export const isMoving = ({ endsAt }: Moves, now: number): boolean => endsAt !== null && now < endsAt;

/**
 * The way it goes with a canonical word or a state: `open` or a greater degree is up. What the words of a motor do is the
 * configuration's own affair, whatever they are called.
 */
export function directionOf(
  kind: ActuatorKind,
  word: string,
  shown: { readonly state: string | null; readonly position: number | null } | undefined,
): Direction | null {
  if (kindRows[kind].configured) return null;
  if (word === "open") return "up";
  if (word === "close" || word === "closed") return "down";
  if (!/^\d{1,3}$/.test(word) || shown === undefined || shown.state === null) return null;
  const degree = Number(word);
  const before = degreeOf(shown.state, shown.position);
  if (before === null || degree === before) return null;
  return degree > before ? "up" : "down";
}

/** `stop` and `off` end something; they are no starts. */
export const isStart = (word: string): boolean => word !== "stop" && word !== "off";

interface Movement extends Omit<Moves, "starts" | "endsByClock"> {
  /** It is a start. */
  readonly isCounted: boolean;
}

/** As many starts are remembered as any limit counts. */
const mostStarts = 60;

/** A movement begins. */
function withMovement({ starts }: Moves, { isCounted, ...move }: Movement, now: number): Moves {
  return { ...move, starts: isCounted ? [...starts, { at: now }].slice(-mostStarts) : starts };
}

const withEnd = ({ starts, direction }: Moves, at: number): Moves => ({
  starts,
  direction,
  endsAt: at,
});

export interface Pause {
  readonly rule: "rest" | "reversal" | "starts_per_hour";
  /** As configured: seconds, or starts. */
  readonly limit: number;
  /** Monotonic ms; Infinity where only an end can tell. */
  readonly until: number;
}

/** What a movement in this direction has to wait for, or had to, the longest first. */
export function pausesFor(
  { restMs, reversalMs, startsPerHour }: Limits,
  { endsAt, direction: before, starts }: Moves,
  direction: Direction | null,
): readonly Pause[] {
  const pauses: Pause[] = [];
  if (endsAt !== null && restMs > 0)
    pauses.push({ rule: "rest", limit: restMs / 1_000, until: endsAt + restMs });
  if (endsAt !== null && reversalMs > 0 && (direction === null || direction !== before))
    pauses.push({ rule: "reversal", limit: reversalMs / 1_000, until: endsAt + reversalMs });
  const oldest = startsPerHour === null ? undefined : starts.at(-startsPerHour);
  if (startsPerHour !== null && oldest !== undefined)
    pauses.push({ rule: "starts_per_hour", limit: startsPerHour, until: oldest.at + hourMs });
  return pauses.sort((one, other) => other.until - one.until);
}

export const startsWithinHour = ({ starts }: Moves, now: number): Moves["starts"] =>
  starts.filter(({ at }) => now - at < hourMs);

/** The disk is about to know the command as sent, and with it what that does. */
export const beforePost = (entry: Entry, command: LimitedCommand, moment: Moment): Entry => ({
  ...entry,
  pending: { command, ...moment },
});

/** Its POST is out, or will never be. */
const notPending = (entry: Entry, { id }: LimitedCommand): Entry =>
  entry.pending?.command.id === id ? { ...entry, pending: null } : entry;

/** Its first POST is out, and this was in force before. */
function withSent(entry: Entry, { id, wanted }: LimitedCommand, { lease, hold }: Entry): Entry {
  const sent = new Map(entry.sent).set(id, { word: canonical(wanted), lease, hold });
  return { ...entry, sent };
}

/** What was sent for another counts for it: for an equal one whose read-backs it takes over, or in an earlier run. */
export const afterOthersPost = (entry: Entry, command: LimitedCommand): Entry =>
  entry.sent.has(command.id) ? entry : withSent(afterForeignPost(entry, command), command, entry);

/** Its first POST goes out: the movement begins, its lease and its hold are in force. */
function afterFirstPost(entry: Entry, command: LimitedCommand, { shown, mono }: Moment): Entry {
  const word = canonical(command.wanted);
  if (word === "stop") return entry;
  const given = command.rule === null ? withoutSends(entry, word) : entry;
  const move = {
    isCounted: isStart(word),
    direction: directionOf(entry.settings.kind, word, shown),
    endsAt: endOfMove(command, mono),
  };
  return {
    ...given,
    moves: withMovement(entry.moves, move, mono),
    ...termOfCommand(entry, command),
  };
}

/** What the disk is to hold: also what a command does that it knows as sent, and a lock or hold that is on its way there. */
export function toBeKept({ pending, planned, ...rest }: Entry): Entry {
  const now: Entry = { ...rest, pending: null, planned: [] };
  const entry = planned.reduce<Entry>((before, change) => ({ ...before, ...change }), now);
  return pending === null ? entry : afterFirstPost(entry, pending.command, pending);
}

/** That POST counts for both. */
function afterForeignPost(entry: Entry, command: LimitedCommand): Entry {
  if (command.wanted.type === "stop") return entry;
  // What the travel time does not end, its result will.
  const moves = command.settings.travelMs > 0 ? entry.moves : withEnd(entry.moves, Infinity);
  return { ...entry, moves, ...termOfCommand(entry, command) };
}

const endOfMove = ({ settings }: LimitedCommand, now: number): number =>
  settings.travelMs > 0 ? now + settings.travelMs : Infinity;

/** A POST of it begins, or has ended. */
export function afterPost(before: Entry, command: LimitedCommand, moment: Moment): Entry {
  const entry = notPending(before, command);
  if (!entry.sent.has(command.id)) return withSent(afterFirstPost(entry, command, moment), command, entry);
  if (command.wanted.type === "stop") return entry;
  return { ...entry, moves: withEnd(entry.moves, endOfMove(command, moment.mono)) };
}

/** The lease and the hold with it; a time of the configuration leaves the deadline of the same command as it is. */
function termOfCommand(entry: Entry, command: LimitedCommand): Pick<Entry, "lease" | "hold"> {
  const { id, by, receivedMono, term } = command;
  const word = canonical(command.wanted);
  const given = term?.lease;
  const isRunning = entry.lease?.command === word && given?.isGiven !== true;
  const hold = term?.holdMs ? { id, by, until: receivedMono + term.holdMs } : entry.hold;
  if (!given || isRunning) return { lease: entry.lease, hold };
  const until = receivedMono + given.ms;
  return { lease: { id, by, command: word, endsWith: given.endsWith, until, end: firstAttempt }, hold };
}

/** The command has ended: where a rule had sent it, it is done with or sent again. */
export function afterEnd(entry: Entry, command: LimitedCommand, { mono }: Moment, result: Ended): Entry {
  const known = notPending(entry, command);
  const ended = command.dryRun ? known : afterOutcome(known, command, result.outcome, mono);
  return afterRuleSend(ended, result, mono);
}

function afterOutcome(entry: Entry, command: LimitedCommand, outcome: Outcome, now: number): Entry {
  const before = entry.sent.get(command.id) ?? null;
  const sent = new Map(entry.sent);
  sent.delete(command.id);
  const moves = before ? movesAfterEnd(entry.moves, command, outcome, now) : entry.moves;
  const moved = before ? { ...entry, moves, sent } : entry;
  if (outcome === "confirmed" || outcome === "already") return afterConfirmed(moved, command);
  if (outcome !== "rejected" && outcome !== "failed") return moved;
  return {
    ...moved,
    lease: before ? earlierOf(before.lease, moved.lease) : moved.lease,
    hold: moved.hold?.id === command.id ? (before?.hold ?? null) : moved.hold,
  };
}

function movesAfterEnd(moves: Moves, command: LimitedCommand, outcome: Outcome, now: number): Moves {
  const { endsAt } = moves;
  if (endsAt === null || endsAt <= now) return moves;
  const isStopped = command.wanted.type === "stop" && outcome === "confirmed";
  return isStopped || endsAt === Infinity ? withEnd(moves, now) : moves;
}

/** Another command that shows ends the lease, the same one renews it where it names a time. */
function afterConfirmed(entry: Entry, command: LimitedCommand): Entry {
  const { lease, hold } = termOfCommand(entry, command);
  if (entry.lease?.id === command.id) return { ...entry, hold };
  const isOther = !command.term?.lease && entry.lease?.command !== canonical(command.wanted);
  return { ...entry, hold, lease: isOther ? null : lease };
}

const earlierOf = (one: Lease | null, other: Lease | null): Lease | null =>
  one === null || (other !== null && other.until < one.until) ? other : one;

/** A command has ended: where a rule had sent it, it is done with or sent again. */
export function afterRuleSend(entry: Entry, result: Ended, now: number): Entry {
  const { lease, guards } = entry;
  if (lease?.end.id === result.id) {
    const end = attemptAfter(lease.end, "lease", result, now) ?? firstAttempt;
    return { ...entry, lease: { ...lease, end } };
  }
  for (const [name, state] of guards) {
    if (state.attempts.id !== result.id) continue;
    const attempts = attemptAfter(state.attempts, "guard", result, now);
    const after = attempts === null ? sendDone(state) : { ...state, attempts };
    return { ...entry, guards: new Map(guards).set(name, after) };
  }
  return entry;
}

/** What guards had sent once is not sent again against a change made elsewhere; `word` is what was commanded there, if that is known. */
function withoutSends(entry: Entry, word: string | null): Entry {
  const guards = new Map(entry.guards);
  for (const [name, state] of entry.guards) {
    const { id, tries } = state.attempts;
    // One that waits or is being checked has sent nothing yet, and is no try.
    const tried = id !== null && !entry.sent.has(id) ? tries - 1 : tries;
    if (state.sending !== "due" || tried <= 0) continue;
    const guard = limitsOf(entry.settings).guards.find((one) => one.name === name);
    if (word === null || guard?.sends !== word) guards.set(name, sendDone(state));
  }
  return { ...entry, guards };
}

/** It was moved elsewhere: a start that counts, and the end of a lease. */
export function afterForeignMove(entry: Entry, from: string, to: string, now: number): Entry {
  const degree = /^\d+$/.test(from) ? Number(from) : null;
  const shown = { state: degree === null ? from : "position", position: degree };
  const { kind, travelMs } = entry.settings;
  const direction = directionOf(kind, to, shown);
  const move = { isCounted: isStart(to), direction, endsAt: now + travelMs };
  const moves = withMovement(entry.moves, move, now);
  return { ...withoutSends(entry, null), moves, lease: null };
}
