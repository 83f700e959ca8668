import type { Via } from "../../greenhouse/command/outcomes.js";
import type { Wanted } from "../../greenhouse/command/words.js";
import type { Actuator, TargetKind } from "../../greenhouse/model.js";
import type { ActuatorSettings } from "../../greenhouse/settings.js";
import type { KeptHold, KeptLease, KeptLimits } from "../../journal/records.js";
import { type Attempts, firstAttempt, isOverdue, laterTriesMs } from "./attempts.js";
import { type GuardNow, type GuardState, unjudged, type WeatherReading } from "./guards.js";

/* The limits of one actuator, and their form on disk. */

export interface Lock {
  readonly by: string;
  readonly via: Via;
  readonly reason: string | null;
  /** Epoch ms, like `until`, the end that was named. */
  readonly since: number;
  readonly until: number | null;
  /** Monotonic ms of its end; Infinity for none. */
  readonly endsAt: number;
  /** Whether the end was named as a duration, which stays the same if the clock is set; otherwise as a time of day. */
  readonly isSpan: boolean;
  /** From an earlier run. */
  readonly isKept?: true;
}

/** A command that ends by itself. Instants are monotonic ms. */
export interface Lease {
  readonly id: string;
  readonly by: string | null;
  readonly command: string;
  readonly endsWith: string;
  readonly until: number;
  /** Attempts to send `endsWith` once it is over. */
  readonly end: Attempts;
  /** Begun by an earlier run; at the start the clock may not have known how long ago. */
  readonly isKept?: true;
  /** Its times come from another computer's clock, so it ends only once ours is known to be right. */
  readonly isUnjudged?: true;
}

export const isLeaseOver = (lease: Pick<Lease, "until" | "isUnjudged">, now: number): boolean =>
  lease.isUnjudged !== true && now >= lease.until;

export type Hold = Pick<Lease, "id" | "by" | "until" | "isKept">;

/** The durations of a command, in ms from its arrival. */
export interface Term {
  readonly lease: {
    readonly ms: number;
    readonly endsWith: string;
    /** Whether the command named it; one from the configuration does not renew a running lease. */
    readonly isGiven: boolean;
  } | null;
  readonly holdMs: number | null;
}

/* A movement lasts from the first POST until the travel time after the last, without travel time until the result. */

export type Direction = "up" | "down";

export interface Moves {
  /**
   * Oldest first, as many as count. Those of an earlier run have `byClock`, which may be yet to come, and their `at` is
   * Infinity until the clock is known to be right.
   */
  readonly starts: readonly { readonly at: number; readonly byClock?: number }[];
  /** When the newest movement ends; Infinity while only its result can tell. */
  readonly endsAt: number | null;
  /** The end of an earlier run's movement, by a clock that is not known to be right yet. */
  readonly endsByClock?: number;
  /** Null if unknown. */
  readonly direction: Direction | null;
}

const neverMoved: Moves = { starts: [], endsAt: null, direction: null };

/** Whether anything is known of a movement. */
export const hasMoved = ({ starts, endsAt, direction }: Moves): boolean =>
  starts.length > 0 || endsAt !== null || direction !== null;

export const isMoving = ({ endsAt }: Moves, now: number): boolean => endsAt !== null && now < endsAt;

/** What commands are judged by. */
export interface Standing {
  readonly settings: ActuatorSettings;
  readonly guards: readonly GuardNow[];
  readonly moves: Moves;
  /** Both null unless in force. */
  readonly lock: Lock | null;
  readonly hold: Hold | null;
}

export interface Entry extends Standing {
  readonly code: string;
  readonly id: string;
  readonly lease: Lease | null;
  /** Commands without a result whose first POST was sent, by id. */
  readonly sent: ReadonlyMap<string, SentBefore>;
  /** A command that is saved as sent, with its effect on the entry, and whose first POST is not sent yet. */
  readonly pending: Pending | null;
  /**
   * Changes on their way to the disk; records written meanwhile include them. A lock forbids from now on, everything
   * else is in force once it is on disk.
   */
  readonly planned: readonly Planned[];
  /** Lease of an address that the actuator no longer has, in epoch ms; a later start that has the address ends it. */
  readonly formerLease: KeptLimits["lease"];
}

export const keyOf = (code: string, actuator: string): string => `${code} actuator ${actuator}`;

export type LockAndHold = Pick<Entry, "lock" | "hold">;

/** The entry with the changes that are on their way to the disk. */
export const asPlanned = (entry: Entry): Entry =>
  entry.planned.reduce<Entry>((before, { change }) => ({ ...before, ...change }), entry);

/** A change by a request, in force once it is on disk. */
interface Planned {
  readonly request: number;
  readonly change: Partial<LockAndHold>;
}

/** What is in force for commands: a lock forbids without waiting for the disk. */
export function asForbidden(entry: Entry): Entry {
  const lock = entry.planned.findLast(({ change }) => change.lock)?.change.lock;
  return lock ? { ...entry, lock } : entry;
}

/** A command, so far as limits need it. */
export interface LimitedCommand {
  readonly id: string;
  readonly code: string;
  readonly target: TargetKind;
  readonly targetId: string;
  readonly settings: ActuatorSettings;
  readonly wanted: Wanted;
  readonly by: string | null;
  readonly via: Via;
  readonly force: boolean;
  readonly dryRun: boolean;
  readonly receivedMono: number;
  readonly deadlineMono: number;
  /** How long it counts; null for no time. */
  readonly term: Term | null;
  /** The rule that sent it; null for a sender. */
  readonly rule: "guard" | "lease" | null;
}

/** A command whose first POST was sent. */
interface SentBefore {
  readonly word: string;
  /** What was in force before it. */
  readonly lease: Lease | null;
  readonly hold: Hold | null;
  /** From an earlier run, and not taken over by this one yet. */
  readonly isKept?: true;
}

/** A moment in a command's life, with what its actuator showed. */
export interface Moment {
  readonly shown: Pick<Actuator, "state" | "position"> | undefined;
  readonly mono: number;
}

interface Pending extends Moment {
  readonly command: LimitedCommand;
}

const noneSent: Entry["sent"] = new Map();

export const newEntry = (code: string, settings: ActuatorSettings): Entry => ({
  code,
  id: settings.id,
  settings,
  guards: (settings.limits?.guards ?? []).map((guard) => ({ guard, state: unjudged })),
  moves: neverMoved,
  lock: null,
  hold: null,
  lease: null,
  sent: noneSent,
  pending: null,
  planned: [],
  formerLease: null,
});

/** Whether nothing is in force and nothing has to be remembered. */
export const isEmpty = ({ settings, lock, hold, lease, moves }: Entry): boolean =>
  settings.limits === undefined && lock === null && hold === null && lease === null && !hasMoved(moves);

/**
 * The entry for the disk; null if there is nothing to keep. `aheadMs`: epoch ms minus monotonic ms. Times of movements
 * are rounded up to the second: a POST goes out a moment later than planned, which then is no change, and no pause gets
 * shorter by a restart.
 */
export function keptOf(entry: Entry, aheadMs: number): KeptLimits | null {
  const epoch = (mono: number, unitMs = 1) => Math.ceil(Math.round(mono + aheadMs) / unitMs) * unitMs;
  const { settings, lock, hold, lease, moves, guards, formerLease } = entry;
  const { endsByClock: endsAt = moves.endsAt } = moves;
  const startsPerHour = settings.limits?.startsPerHour ?? null;
  const keptGuards = new Map<string, KeptLimits["guards"][string]>();
  for (const { guard, state } of guards) {
    const { phase, sending, attempts, isTripped } = state;
    const tripped = isTripped ? ({ tripped: true } as const) : {};
    // A guard in its initial state needs no record.
    if (phase !== unjudged.phase || sending !== unjudged.sending || isTripped)
      keptGuards.set(guard.name, { phase, sending, id: attempts.id, tries: attempts.tries, ...tripped });
  }
  const sent = keptSent(entry, epoch);
  const isBound = lock !== null || hold !== null || lease !== null || formerLease !== null || sent !== null;
  if (!isBound && keptGuards.size === 0 && !hasMoved(moves)) return null;
  // Each but the first as a difference, since sixty instants have to fit into a journal record.
  const starts: number[] = [];
  let before = 0;
  for (const { at, byClock = at } of startsPerHour === null ? [] : moves.starts.slice(-startsPerHour)) {
    const start = epoch(byClock, 1_000);
    starts.push(start - before);
    before = start;
  }
  return {
    guards: Object.fromEntries(keptGuards),
    starts,
    // A movement that only its result can end is read back by the next start.
    moved_until: endsAt !== null && Number.isFinite(endsAt) ? epoch(endsAt, 1_000) : null,
    direction: moves.direction,
    lock: lock && { by: lock.by, via: lock.via, reason: lock.reason, since: lock.since, until: lock.until },
    lease: lease === null ? formerLease : keptLease(lease, settings, epoch),
    hold: hold && keptHold(hold, epoch),
    ...(sent && { sent }),
  };
}

const keptLease = (
  { id, by, command, endsWith, until }: Lease,
  { address }: ActuatorSettings,
  epoch: (mono: number) => number,
): KeptLease => ({ id, by, command, ends_with: endsWith, until: epoch(until), address });

const keptHold = ({ id, by, until }: Hold, epoch: (mono: number) => number): KeptHold => ({
  id,
  by,
  until: epoch(until),
});

/** What was in force before sent commands; null for nothing. */
function keptSent({ sent, settings }: Entry, epoch: (mono: number) => number) {
  const kept = new Map<string, NonNullable<KeptLimits["sent"]>[string]>();
  for (const [id, { word, lease, hold }] of sent)
    if (lease !== null || hold !== null)
      kept.set(id, {
        word,
        lease: lease && keptLease(lease, settings, epoch),
        hold: hold && keptHold(hold, epoch),
      });
  return kept.size === 0 ? null : Object.fromEntries(kept);
}

interface Restart {
  /** The same moment as epoch ms and as monotonic ms. */
  readonly at: number;
  readonly mono: number;
  /** The clock is behind the journal's newest record, so it is unknown how much time has passed. */
  readonly isBehind: boolean;
  /** The earlier run may have been on another computer. */
  readonly isOfCluster?: boolean;
  /** Whether a command of the earlier run has no result yet. */
  readonly isOpen: (id: string) => boolean;
}

const dayMs = 86_400_000;

const keptGuardNow = (
  guard: GuardNow["guard"],
  { guards }: KeptLimits,
  isOpen: Restart["isOpen"],
  mono: number,
): GuardNow => ({ guard, state: keptGuard(guards[guard.name], isOpen, mono) });

/**
 * The entry as an earlier run left it. A lease is over if it is unknown how much time has passed. Locks and holds
 * (`inForceNow`) and movements (`judgedByClock`) are judged once the clock is known to be right; until then a movement
 * counts as recent.
 */
export function restore(
  entry: Entry,
  kept: KeptLimits,
  { at, mono, isBehind, isOfCluster = false, isOpen }: Restart,
): Entry {
  const ahead = (epoch: number) => mono + (epoch - at);
  const { lock, lease, hold } = kept;
  const restoreLease = ({ id, by, command, ends_with: endsWith, until }: KeptLease): Lease => ({
    id,
    by,
    command,
    endsWith,
    end: firstAttempt,
    until: isBehind ? mono : Math.min(ahead(until), mono + dayMs),
    isKept: true,
    ...(isOfCluster && !isBehind && { isUnjudged: true }),
  });
  const restoreHold = ({ id, by, until }: KeptHold): Hold => ({
    ...{ id, by, until: Math.min(ahead(until), mono + dayMs), isKept: true },
  });
  const sent = new Map<string, SentBefore>();
  for (const [id, { word, lease: leaseBefore, hold: holdBefore }] of Object.entries(kept.sent ?? {})) {
    const before = {
      lease: leaseBefore && restoreLease(leaseBefore),
      hold: holdBefore && restoreHold(holdBefore),
    };
    if (isOpen(id)) sent.set(id, { word, ...before, isKept: true });
  }
  return {
    ...entry,
    guards: entry.guards.map(({ guard }) => keptGuardNow(guard, kept, isOpen, mono)),
    moves: restoreMoves(kept, entry.settings.travelMs, mono, ahead),
    lock: lock && { ...lock, endsAt: ahead(lock.until ?? Infinity), isSpan: false, isKept: true },
    lease: lease && restoreLease(lease),
    hold: hold && restoreHold(hold),
    sent,
  };
}

function restoreMoves(
  { starts, moved_until: movedUntil, direction }: KeptLimits,
  travelMs: number,
  mono: number,
  ahead: (epoch: number) => number,
): Moves {
  const endsByClock = movedUntil === null ? null : ahead(movedUntil);
  const ends =
    endsByClock === null
      ? { endsAt: null }
      : { endsAt: Math.min(Math.max(endsByClock, mono), mono + travelMs), endsByClock };
  return {
    starts: starts.map((_, place, all) => {
      const byClock = ahead(all.slice(0, place + 1).reduce((sum, ms) => sum + ms, 0));
      return { at: Infinity, byClock };
    }),
    ...ends,
    direction,
  };
}

/** Whether a part of it waits until the clock is known to be right. */
export const awaitsClock = ({ moves, lock, hold, lease }: Entry): boolean =>
  lock?.isKept === true || hold?.isKept === true || lease?.isUnjudged === true || isUnjudged(moves);

/** Corrects a lease of another computer's run by the lead of our clock. */
export function leaseJudged(
  { id, by, command, endsWith, until, end, isKept }: Lease,
  aheadMs: number,
): Lease {
  return { id, by, command, endsWith, end, until: until + aheadMs, ...(isKept && { isKept }) };
}

const isUnjudged = ({ starts, endsByClock }: Moves): boolean =>
  endsByClock !== undefined || starts[0]?.at === Infinity;

/** Dates movements of an earlier run once the clock is known to be right; a clock ahead is corrected first. */
export function judgedByClock(entry: Entry, startedAt: number, aheadMs: number): Entry {
  const { moves, settings } = entry;
  if (!isUnjudged(moves)) return entry;
  const starts = moves.starts.map(({ at, byClock }) =>
    byClock === undefined ? { at } : { at: Math.min(byClock + aheadMs, startedAt), byClock },
  );
  const { endsByClock, direction } = moves;
  const endsAt =
    endsByClock === undefined ? moves.endsAt : Math.min(endsByClock + aheadMs, startedAt + settings.travelMs);
  return { ...entry, moves: { starts, endsAt, direction } };
}

function keptGuard(
  kept: KeptLimits["guards"][string] | undefined,
  isOpen: Restart["isOpen"],
  mono: number,
): GuardState {
  if (kept === undefined) return unjudged;
  const { sending, id, tries, tripped: isTripped = false } = kept;
  const phase = kept.phase === "clear" ? ("unsure" as const) : kept.phase;
  const state = { ...unjudged, phase, sending, isTripped };
  if (sending !== "due") return state;
  // A command that was about to be sent, and that the platform does not have, was no attempt.
  if (id !== null) {
    const again = isOpen(id) ? { id, tries } : { tries: Math.max(0, tries - 1) };
    return { ...state, attempts: { ...firstAttempt, ...again } };
  }
  const problem = "It was not confirmed before the restart.";
  const later = isOverdue(tries) ? { nextAt: mono + laterTriesMs, problem } : {};
  return { ...state, attempts: { ...firstAttempt, tries, ...later } };
}

/**
 * The entry after the clock was set. Durations of this run stay. A lock until a time of day ends by the new clock. A
 * lease of an earlier run may end sooner, as its age was unknown at the start. Movements before `startedAt` (monotonic
 * ms) get their age by the new clock.
 */
export function afterClockSet(entry: Entry, byMs: number, startedAt: number): Entry {
  const { lock, lease, hold, moves, sent } = entry;
  const until = lock?.isSpan === true && lock.until !== null ? lock.until + byMs : (lock?.until ?? null);
  // A time that a clock set back puts into the future counts as that of the start.
  const earlier = (mono: number) => Math.min(mono - byMs, startedAt);
  const starts = moves.starts.map(({ at, byClock }) =>
    byClock === undefined ? { at } : { at: at === Infinity ? at : earlier(byClock), byClock: byClock - byMs },
  );
  const { endsByClock } = moves;
  const endsAt = moves.endsAt !== null && moves.endsAt < startedAt ? earlier(moves.endsAt) : moves.endsAt;
  const unjudged = endsByClock === undefined ? {} : { endsByClock: endsByClock - byMs };
  return {
    ...entry,
    moves: { ...moves, starts, endsAt, ...unjudged },
    lock: lock && { ...lock, until, endsAt: lock.isSpan ? lock.endsAt : lock.endsAt - byMs },
    hold: hold && holdAfterClockSet(hold, byMs),
    lease: lease && leaseAfterClockSet(lease, byMs),
    sent: sentAfterClockSet(sent, byMs),
  };
}

const holdAfterClockSet = (hold: Hold, byMs: number): Hold =>
  hold.isKept === true ? { ...hold, until: hold.until - byMs } : hold;

/** For an unjudged lease of another computer only the new clock decides when it ends, even if later. */
const leaseAfterClockSet = (lease: Lease, byMs: number): Lease =>
  lease.isKept === true
    ? { ...lease, until: lease.until - (lease.isUnjudged === true ? byMs : Math.max(0, byMs)) }
    : lease;

function sentAfterClockSet(sent: Entry["sent"], byMs: number): Entry["sent"] {
  const after = new Map(sent);
  for (const [id, { lease, hold, ...one }] of sent)
    after.set(id, {
      ...one,
      lease: lease && leaseAfterClockSet(lease, byMs),
      hold: hold && holdAfterClockSet(hold, byMs),
    });
  return after;
}

/** Inputs of the book of commands about limits. */
export type LimitInput = Readonly<
  /** A lock or hold begins or ends by a request, once it is on disk; `given_up` if the disk cannot take it. */
  | {
      type: "lock_or_hold";
      key: string;
      /** Numbers the requests of this run. */
      request: number;
      change: Partial<LockAndHold>;
      is: "planned" | "on_disk" | "given_up";
    }
  /** Something may have changed that guards of these lanes look at, or that their rules depend on. */
  | {
      type: "seen";
      keys: readonly string[];
      /** The newest live value of a weather topic. */
      weather: { readonly name: string; readonly reading: WeatherReading } | null;
    }
>;
