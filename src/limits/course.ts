import type { Outcome } from "../greenhouse/command/outcomes.js";
import { canonical } from "../greenhouse/command/words.js";
import type { Actuator } from "../greenhouse/model.js";
import { type Entry, keyOf, type LimitedCommand } from "./entry.js";
import type { GuardState } from "./guards.js";
import { limitsOf } from "./judge.js";
import { began, directionOf, endedAt, isStart, type Moves } from "./pauses.js";
import { type Attempts, type Hold, keptBack, type Lease, nextAttempt } from "./terms.js";

/* What the course of a command does to the movements, the lease and the hold of its actuator. Instants are monotonic ms. */

/** A command taken and not ended. */
export interface UnderWay {
  readonly command: LimitedCommand;
  readonly isPosted: boolean;
  /** What was in force before its first POST. */
  readonly before: Pick<Entry, "lease" | "hold"> | null;
}

/** By actuator. */
export class OpenCommands {
  readonly #open = new Map<string, Map<string, UnderWay>>();

  follow(under: UnderWay): void {
    const { command } = under;
    const key = keyOf(command.code, command.targetId);
    this.#open.set(key, (this.#open.get(key) ?? new Map<string, UnderWay>()).set(command.id, under));
  }

  find({ code, targetId, id }: LimitedCommand): UnderWay | null {
    return this.#open.get(keyOf(code, targetId))?.get(id) ?? null;
  }

  at(key: string): readonly UnderWay[] {
    const open = this.#open.get(key);
    return open === undefined ? nobody : [...open.values()];
  }

  /** Whether another command has sent the same. */
  isOnItsWay({ code, targetId, id, wanted }: LimitedCommand): boolean {
    const word = canonical(wanted);
    return this.at(keyOf(code, targetId)).some(
      ({ command, isPosted }) => isPosted && command.id !== id && canonical(command.wanted) === word,
    );
  }

  end({ code, targetId, id }: LimitedCommand): void {
    const key = keyOf(code, targetId);
    const open = this.#open.get(key);
    open?.delete(id);
    if (open?.size === 0) this.#open.delete(key);
  }
}

const nobody: readonly UnderWay[] = [];

type Shown = Pick<Actuator, "state" | "position"> | undefined;

/** As many starts are remembered as any limit counts. */
const mostStarts = 60;

/** Its first POST goes out: the movement begins, its lease and its hold are in force. */
export function afterFirstPost(entry: Entry, command: LimitedCommand, shown: Shown, now: number): Entry {
  const { term } = command;
  const word = canonical(command.wanted);
  return {
    ...entry,
    ...(command.rule === null && word !== "stop" ? givenUp(entry, word) : {}),
    ...(word === "stop" ? {} : { moves: movesAfter(entry.moves, command, shown, now) }),
    ...(term?.lease ? leaseFrom(entry, command) : {}),
    ...(term?.holdMs ? { hold: holdFrom(command, term.holdMs) } : {}),
  };
}

/** It takes over the read-backs of an equal one, whose POST counts for both; or an earlier run has sent it. */
export function afterForeignPost(entry: Entry, command: LimitedCommand): Entry {
  const { term, settings } = command;
  return {
    ...entry,
    // What the travel time does not end, its result will.
    ...(settings.travelMs > 0 ? {} : { moves: endedAt(entry.moves, Infinity) }),
    ...(term?.lease ? leaseFrom(entry, command) : {}),
    ...(term?.holdMs ? { hold: holdFrom(command, term.holdMs) } : {}),
  };
}

function movesAfter(moves: Moves, command: LimitedCommand, shown: Shown, now: number): Moves {
  const move = {
    isCounted: isStart(canonical(command.wanted)),
    direction: directionOf(command.wanted, shown),
    endsAt: endOfMove(command, now),
  };
  return began(moves, move, mostStarts, now);
}

const endOfMove = ({ settings }: LimitedCommand, now: number): number =>
  settings.travelMs > 0 ? now + settings.travelMs : Infinity;

/** A further POST of it, or the end of one. */
export const afterPost = (entry: Entry, command: LimitedCommand, now: number): Entry =>
  command.wanted.type === "stop" ? entry : { ...entry, moves: endedAt(entry.moves, endOfMove(command, now)) };

/** The command's own lease; one of the configuration leaves the deadline of the same command as it is. */
function leaseFrom(entry: Entry, command: LimitedCommand): Pick<Entry, "lease" | "leaseEnd"> {
  const word = canonical(command.wanted);
  const lease = command.term?.lease;
  const { lease: running, leaseEnd } = entry;
  if (!lease || (running?.command === word && !lease.isGiven)) return { lease: running, leaseEnd };
  return {
    lease: {
      ...{ id: command.id, by: command.by, command: word, endsWith: lease.endsWith },
      until: command.receivedMono + lease.ms,
    },
    leaseEnd: null,
  };
}

const holdFrom = ({ id, by, receivedMono }: LimitedCommand, ms: number): Hold => ({
  id,
  by,
  until: receivedMono + ms,
});

/** The command has ended; what a rule had sent is judged apart. */
export function afterEnd(
  entry: Entry,
  { command, isPosted, before }: UnderWay,
  outcome: Outcome,
  now: number,
): Entry {
  if (command.dryRun) return entry;
  const moved = isPosted ? { ...entry, moves: movesAfterEnd(entry.moves, command, outcome, now) } : entry;
  switch (outcome) {
    case "confirmed":
    case "already":
      return done(moved, command);
    case "rejected":
    case "failed":
      return {
        ...moved,
        ...(before && isPosted ? { lease: sooner(before.lease, moved.lease) } : {}),
        hold: moved.hold?.id === command.id ? (before?.hold ?? null) : moved.hold,
      };
    case "dry_run":
    case "refused":
    case "superseded":
    case "unconfirmed":
    case "unknown":
      return moved;
  }
}

function movesAfterEnd(moves: Moves, command: LimitedCommand, outcome: Outcome, now: number): Moves {
  const { endsAt } = moves;
  if (endsAt === null || endsAt <= now) return moves;
  const isStopped = command.wanted.type === "stop" && outcome === "confirmed";
  return isStopped || endsAt === Infinity ? endedAt(moves, now) : moves;
}

/** Another command that shows ends the lease, the same one renews it where it names a time. */
function done(entry: Entry, command: LimitedCommand): Entry {
  const { term } = command;
  const isSame = entry.lease?.command === canonical(command.wanted);
  const own = entry.lease?.id === command.id;
  const lease = own
    ? {}
    : term?.lease
      ? leaseFrom(entry, command)
      : isSame
        ? {}
        : { lease: null, leaseEnd: null };
  return { ...entry, ...lease, ...(term?.holdMs ? { hold: holdFrom(command, term.holdMs) } : {}) };
}

const sooner = (one: Lease | null, other: Lease | null): Lease | null =>
  one === null || (other !== null && other.until < one.until) ? other : one;

/** What guards had sent once is not sent again against somebody else; `word` is what he commands, if that is known. */
function givenUp({ guards, sends, settings }: Entry, word: string | null): Pick<Entry, "guards" | "sends"> {
  const isSame = (name: string) =>
    word !== null && limitsOf(settings).guards.some((one) => one.name === name && one.sends === word);
  const sent = [...sends].flatMap(([name, { tries }]) => (tries > 0 && !isSame(name) ? [name] : []));
  const done = (name: string, state: GuardState): GuardState =>
    sent.includes(name) && state.sending === "due" ? { ...state, sending: "done" } : state;
  return {
    guards: new Map([...guards].map(([name, state]) => [name, done(name, state)])),
    sends: new Map([...sends].filter(([name]) => !sent.includes(name))),
  };
}

/** Somebody else moved it: a start that counts, and the end of a lease. */
export function afterForeignMove(entry: Entry, from: string, to: string, now: number): Entry {
  const degree = /^\d+$/.test(from) ? Number(from) : null;
  const shown = { state: degree === null ? from : "position", position: degree };
  const { travelMs } = entry.settings;
  const move = {
    isCounted: isStart(to),
    direction: directionOf(to, shown),
    endsAt: now + travelMs,
  };
  const moves = began(entry.moves, move, mostStarts, now);
  return { ...entry, moves, ...givenUp(entry, null), lease: null, leaseEnd: null };
}

/** Refusals that say that it was kept back, and not that it was tried. */
const hindrances = new Set([
  "interlock",
  "read_only",
  "controller_offline",
  "platform_unavailable",
  "other_bridge",
  "shutting_down",
  "overloaded",
]);

/** What becomes of an attempt of a rule; null when it is done with. */
export function attemptAfter(
  attempts: Attempts,
  kind: "lease" | "guard",
  {
    outcome,
    reason,
    message,
  }: { readonly outcome: Outcome; readonly reason: string | null; readonly message: string | null },
  now: number,
): Attempts | null {
  if (outcome === "confirmed" || outcome === "already") return null;
  // Nothing was sent, so the lease is not over.
  if (outcome === "dry_run" && kind === "guard") return null;
  const problem = message ?? `It ended ${outcome}.`;
  const isHindered = outcome === "refused" && hindrances.has(reason ?? "");
  return isHindered ? keptBack(attempts, now, problem) : nextAttempt(attempts, kind, now, problem);
}
