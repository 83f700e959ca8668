import { defaultEndsWith, valueTable, isStart } from "../../greenhouse/actuator-kinds.js";
import { isGood, type Refusal } from "../../greenhouse/command/outcomes.js";
import type { TargetKind } from "../../greenhouse/model.js";
import { canonical, type Wanted } from "../../greenhouse/command/words.js";
import type { ActuatorSettings } from "../../greenhouse/settings.js";
import type { KeptLimits } from "../../journal/records.js";
import { formatDuration } from "../../runtime/duration.js";
import { attemptAfter, type Ended, firstAttempt } from "./attempts.js";
import {
  asPlanned,
  type Entry,
  isMoving,
  keptOf,
  type Lease,
  type LimitedCommand,
  type Moment,
  type Moves,
  type Term,
} from "./entry.js";
import { sendDone } from "./guards.js";
import { directionOf } from "./judge.js";

/*
 * How long a command counts: a lease ends by itself, a hold keeps others off. Also what sending and ending a command
 * does to the lease, hold and movements of its actuator. Instants are monotonic ms.
 */

/**
 * The deadline for sending a command with this term, in monotonic ms. A lease counts from the arrival, so none begins
 * after its end.
 */
export const deadlineWith = (
  term: Term | null,
  { receivedMono, deadlineMono }: { readonly receivedMono: number; readonly deadlineMono: number },
): number => Math.min(deadlineMono, receivedMono + (term?.lease?.ms ?? Infinity));

/** The durations named in a payload. */
export interface GivenTerm {
  readonly forMs: number | null;
  readonly holdMs: number | null;
}

const bad = (message: string): Refusal => ({ reason: "bad_payload", message });

/** The term that a command names or the configuration gives its actuator; null for none. */
export function termOf(
  wanted: Wanted,
  target: TargetKind,
  settings: ActuatorSettings,
  { forMs, holdMs }: GivenTerm,
): Term | Refusal | null {
  const isGiven = forMs !== null || holdMs !== null;
  if (target !== "actuator")
    return isGiven ? bad('"for" and "hold" are for commands to actuators alone.') : null;
  const { limits } = settings;
  const endsWith = limits?.endsWith ?? defaultEndsWith(settings.kind, Object.keys(valueTable(settings)));
  const word = canonical(wanted);
  if (wanted.type === "stop" || word === endsWith)
    return isGiven ? bad(`"${word}" ends something and takes no "for" and no "hold".`) : null;
  const leaseMs = forMs ?? (word === "auto" ? null : (limits?.forMs ?? limits?.atMostMs ?? null));
  if (leaseMs === null) return holdMs === null ? null : { lease: null, holdMs };
  if (endsWith === null)
    return bad(
      '"for" needs a word that ends it: name it under limits.ends_with of this actuator in the configuration.',
    );
  const most = limits?.atMostMs ?? Infinity;
  if (leaseMs > most)
    return {
      reason: "out_of_range",
      message: `"for" is longer than limits.at_most of this actuator, ${formatDuration(most)}.`,
    };
  return { lease: { ms: leaseMs, endsWith, isGiven: forMs !== null }, holdMs };
}

/** The most starts that any limit counts. */
const mostStarts = 60;

/** The movements after one begins with this word or to this state. */
function startMovement(
  { settings, moves: { starts } }: Entry,
  word: string,
  { shown, mono }: Moment,
  endsAt: number,
): Moves {
  return {
    starts: isStart(settings.kind, word) ? [...starts, { at: mono }].slice(-mostStarts) : starts,
    direction: directionOf(settings.kind, word, shown),
    endsAt,
  };
}

const endMovement = ({ starts, direction }: Moves, at: number): Moves => ({
  starts,
  direction,
  endsAt: at,
});

/** The command is about to be saved as sent, together with its effect. */
export const beforePost = (entry: Entry, command: LimitedCommand, moment: Moment): Entry => ({
  ...entry,
  pending: { command, ...moment },
});

/** Its POST was sent, or never will be. */
const notPending = (entry: Entry, { id }: LimitedCommand): Entry =>
  entry.pending?.command.id === id ? { ...entry, pending: null } : entry;

/**
 * Its first POST is sent: the movement begins, its lease and hold are in force, and the earlier ones are remembered.
 */
function afterFirstPost(entry: Entry, command: LimitedCommand, moment: Moment): Entry {
  const { lease, hold } = entry;
  const word = canonical(command.wanted);
  const sent = new Map(entry.sent).set(command.id, { word, lease, hold });
  if (word === "stop") return { ...entry, sent };
  const given = command.rule === null ? withoutSends(entry, word) : entry;
  const moves = startMovement(entry, word, moment, endOfMove(command, moment.mono));
  return { ...given, sent, moves, ...termOfCommand(entry, command) };
}

/** What was in force before; an earlier run may have kept the command's own lease or hold. */
const beforeOwn = ({ lease, hold }: Entry, { id }: LimitedCommand) => ({
  lease: lease?.id === id ? null : lease,
  hold: hold?.id === id ? null : hold,
});

/** Counts another command's POST for this one: an equal one whose read-backs it takes over, or one of an earlier run. */
export function afterOthersPost(entry: Entry, command: LimitedCommand): Entry {
  const known = entry.sent.get(command.id);
  if (known !== undefined && known.isKept !== true) return entry;
  const { moves } = entry;
  const word = canonical(command.wanted);
  const { lease, hold } = known ?? beforeOwn(entry, command);
  const sent = new Map(entry.sent).set(command.id, { word, lease, hold });
  if (word === "stop") return { ...entry, sent };
  // A movement without a travel time ends with its result.
  const isTimed = command.settings.travelMs > 0;
  return {
    ...entry,
    sent,
    moves: isTimed ? moves : endMovement(moves, Infinity),
    ...termOfCommand(entry, command),
  };
}

/**
 * What the disk is to hold now, in epoch ms. It includes the effect of a command saved as sent, and a lock or hold on
 * its way there.
 */
export function keptNow(
  entry: Entry | null | undefined,
  { at, mono }: { readonly at: number; readonly mono: number },
): KeptLimits | null {
  if (!entry) return null;
  const { pending } = entry;
  const changed = asPlanned(entry);
  const kept = pending === null ? changed : afterFirstPost(changed, pending.command, pending);
  return keptOf(kept, at - mono);
}

const endOfMove = ({ settings }: LimitedCommand, now: number): number =>
  settings.travelMs > 0 ? now + settings.travelMs : Infinity;

/** A POST of it begins, or has ended. */
export function afterPost(before: Entry, command: LimitedCommand, moment: Moment): Entry {
  const entry = notPending(before, command);
  if (!entry.sent.has(command.id)) return afterFirstPost(entry, command, moment);
  if (command.wanted.type === "stop") return entry;
  return { ...entry, moves: endMovement(entry.moves, endOfMove(command, moment.mono)) };
}

/** The lease and hold with it. A configured time does not renew a running lease of the same command. */
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

/** A command has ended; if a rule sent it, it is done or will be sent again. */
export function afterEnd(entry: Entry, command: LimitedCommand, { mono }: Moment, result: Ended): Entry {
  const known = notPending(entry, command);
  const { sent, moves, lease, hold } = known;
  const { outcome } = result;
  const before = sent.get(command.id);
  let ended = known;
  if (before !== undefined) {
    const others = new Map(sent);
    others.delete(command.id);
    // A confirmed stop ends a movement; a result ends one without a travel time.
    const isStopped = command.wanted.type === "stop" && outcome === "confirmed";
    const isOver = isMoving(moves, mono) && (isStopped || moves.endsAt === Infinity);
    ended = { ...known, sent: others, moves: isOver ? endMovement(moves, mono) : moves };
  }
  if (isGood(outcome) && !command.dryRun) ended = afterConfirmed(ended, command);
  else if (before !== undefined && (outcome === "rejected" || outcome === "failed"))
    ended = {
      ...ended,
      lease: earlierOf(before.lease, lease),
      hold: hold?.id === command.id ? before.hold : hold,
    };
  return afterRuleSend(ended, result, mono);
}

/** Another confirmed command ends the lease; the same one renews it if it names a time. */
function afterConfirmed(entry: Entry, command: LimitedCommand): Entry {
  const { lease, hold } = termOfCommand(entry, command);
  if (entry.lease?.id === command.id) return { ...entry, hold };
  const isOther = !command.term?.lease && entry.lease?.command !== canonical(command.wanted);
  return { ...entry, hold, lease: isOther ? null : lease };
}

const earlierOf = (one: Lease | null, other: Lease | null): Lease | null =>
  one === null || (other !== null && other.until < one.until) ? other : one;

/** A command has ended; if a rule sent it, it is done or will be sent again. */
export function afterRuleSend(entry: Entry, result: Ended, now: number): Entry {
  const { lease, guards } = entry;
  if (lease?.end.id === result.id) {
    const end = attemptAfter(lease.end, "lease", result, now) ?? firstAttempt;
    return { ...entry, lease: { ...lease, end } };
  }
  for (const [place, { guard, state }] of guards.entries()) {
    if (state.attempts.id !== result.id) continue;
    const attempts = attemptAfter(state.attempts, "guard", result, now);
    const after = attempts === null ? sendDone(state) : { ...state, attempts };
    return { ...entry, guards: guards.with(place, { guard, state: after }) };
  }
  return entry;
}

/** A guard's command is not repeated against a change made elsewhere. `word`: what was commanded there, if known. */
function withoutSends(entry: Entry, word: string | null): Entry {
  let { guards } = entry;
  for (const [place, { guard, state }] of entry.guards.entries()) {
    const { id, tries } = state.attempts;
    // A command that waits or is being checked has sent nothing, and is no try.
    const tried = id !== null && !entry.sent.has(id) ? tries - 1 : tries;
    if (state.sending === "due" && tried > 0 && (word === null || guard.sends !== word))
      guards = guards.with(place, { guard, state: sendDone(state) });
  }
  return { ...entry, guards };
}

/** A value that our own earlier command sets late. */
interface OwnLate {
  readonly id: string;
  readonly to: string;
}

/**
 * The actuator was moved elsewhere, which counts as a start and ends a lease. If our own command took effect late, its
 * lease still ends as planned, and guards go on against it.
 */
export function afterForeignMove(
  entry: Entry,
  from: string,
  to: string,
  mono: number,
  late: OwnLate | null = null,
): Entry {
  const degree = /^\d+$/.test(from) ? Number(from) : null;
  const shown = { state: degree === null ? from : "position", position: degree };
  const moves = startMovement(entry, to, { shown, mono }, mono + entry.settings.travelMs);
  if (late === null) return { ...withoutSends(entry, null), moves, lease: null };
  const { lease } = entry;
  const isOfLate = lease !== null && (lease.id === late.id || lease.command === late.to);
  return { ...entry, moves, lease: isOfLate ? lease : null };
}
