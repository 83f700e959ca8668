import type { Via } from "../../greenhouse/command/outcomes.js";
import type { Wanted } from "../../greenhouse/command/words.js";
import type { Actuator, TargetKind } from "../../greenhouse/model.js";
import type { ActuatorSettings } from "../../greenhouse/settings.js";
import type { KeptHold, KeptLease, KeptLimits } from "../../journal/records.js";
import { type Attempts, firstAttempt, isOverdue, laterTriesMs } from "./attempts.js";
import { type GuardNow, type GuardState, unjudged, type WeatherReading } from "./guards.js";

/* What the limits know of one actuator, and how it is kept on disk. */

export interface Lock {
  readonly by: string;
  readonly via: Via;
  readonly reason: string | null;
  /** Epoch ms, as the end that was named. */
  readonly since: number;
  readonly until: number | null;
  /** Monotonic ms of its end; Infinity for none. */
  readonly endsAt: number;
  /** Named as a time to last, which it keeps where the clock is set; else as a time of day. */
  readonly isSpan: boolean;
  /** Of an earlier run. */
  readonly isKept?: true;
}

/** A command that ends by itself. Instants are monotonic ms. */
export interface Lease {
  readonly id: string;
  readonly by: string | null;
  readonly command: string;
  readonly endsWith: string;
  readonly until: number;
  /** What is sent once it is over. */
  readonly end: Attempts;
  /** Begun by an earlier run: how long ago, the clock may not have known at the start. */
  readonly isKept?: true;
  /** By the clock of another computer, so that it ends only once ours is known to be right. */
  readonly isUnjudged?: true;
}

export const isLeaseOver = (lease: Pick<Lease, "until" | "isUnjudged">, now: number): boolean =>
  lease.isUnjudged !== true && now >= lease.until;

export type Hold = Pick<Lease, "id" | "by" | "until" | "isKept">;

/** The times of a command, in ms from its arrival. */
export interface Term {
  readonly lease: {
    readonly ms: number;
    readonly endsWith: string;
    /** The command named it; one of the configuration does not renew a lease that is running. */
    readonly isGiven: boolean;
  } | null;
  readonly holdMs: number | null;
}

/* A movement lasts from a first POST until the travel time after the last one, of kinds without one until the command's result. */

export type Direction = "up" | "down";

export interface Moves {
  /**
   * Oldest first, as many as count; those of an earlier run also by the clock, where they may be yet to come. `at` is Infinity
   * until the clock is known to be right.
   */
  readonly starts: readonly { readonly at: number; readonly byClock?: number }[];
  /** When the newest movement ends; Infinity while only its result can tell. */
  readonly endsAt: number | null;
  /** The same of one of an earlier run by a clock that is not known to be right yet. */
  readonly endsByClock?: number;
  /** Null where it is not known. */
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
  /** Both as long as they are in force. */
  readonly lock: Lock | null;
  readonly hold: Hold | null;
}

export interface Entry extends Standing {
  readonly code: string;
  readonly id: string;
  readonly lease: Lease | null;
  /** Commands not ended whose first POST is out, by their ids. */
  readonly sent: ReadonlyMap<string, SentBefore>;
  /** A command that the disk knows as sent, with what it does to the entry, and whose first POST is not out. */
  readonly pending: Pending | null;
  /**
   * On their way to the disk; what is written meanwhile has them already. A lock forbids from here on, everything else is in force once
   * the disk has it.
   */
  readonly planned: readonly Planned[];
  /** Of an address that the actuator has no more, in epoch ms: a later start that has it again ends it. */
  readonly formerLease: KeptLimits["lease"];
}

export const keyOf = (code: string, actuator: string): string => `${code} actuator ${actuator}`;

export type LockAndHold = Pick<Entry, "lock" | "hold">;

/** With what is on its way to the disk. */
export const asPlanned = (entry: Entry): Entry =>
  entry.planned.reduce<Entry>((before, { change }) => ({ ...before, ...change }), entry);

/** What a request changes once the disk has it. */
interface Planned {
  readonly request: number;
  readonly change: Partial<LockAndHold>;
}

/** What is in force for commands: a lock forbids without waiting for the disk. */
export function asForbidden(entry: Entry): Entry {
  const lock = entry.planned.findLast(({ change }) => change.lock)?.change.lock;
  return lock ? { ...entry, lock } : entry;
}

/** A command as the limits see it. */
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
  /** How long it counts; null where it has no time. */
  readonly term: Term | null;
  /** Sent by a rule and not by a sender. */
  readonly rule: "guard" | "lease" | null;
}

/** A command whose first POST is out. */
interface SentBefore {
  readonly word: string;
  /** What was in force before. */
  readonly lease: Lease | null;
  readonly hold: Hold | null;
  /** Of an earlier run, and not followed yet by this one. */
  readonly isKept?: true;
}

/** When something happened to a command, and what its actuator showed then. */
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

/** Nothing is in force and nothing has to be remembered. */
export const isEmpty = ({ settings, lock, hold, lease, moves }: Entry): boolean =>
  settings.limits === undefined && lock === null && hold === null && lease === null && !hasMoved(moves);

/**
 * For the disk: `aheadMs` is by how much epoch ms are ahead of the instants of this run. Null where there is nothing to keep. When
 * something moved goes up to the whole second: a POST goes out a moment later than was planned, which is no change then, and no pause is
 * shorter over a restart.
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
    // Nothing of one that is as it begins without a kept state.
    if (phase !== unjudged.phase || sending !== unjudged.sending || isTripped)
      keptGuards.set(guard.name, { phase, sending, id: attempts.id, tries: attempts.tries, ...tripped });
  }
  const sent = keptSent(entry, epoch);
  const isBound = lock !== null || hold !== null || lease !== null || formerLease !== null || sent !== null;
  if (!isBound && keptGuards.size === 0 && !hasMoved(moves)) return null;
  // Each but the first since the one before: sixty instants have to fit into a record of the journal.
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
    // One that only its result can end is read back by the next start.
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

/** Null where nothing was in force before. */
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
  /** Epoch ms and the monotonic ms of the same moment. */
  readonly at: number;
  readonly mono: number;
  /** The clock is behind the journal's newest record: how much time has passed is not known. */
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
 * As an earlier run left it. A lease is over where it is not known how much time has passed. Whether a lock or a hold is over (`expire`), and
 * how long ago it moved (`judgedByClock`), is judged once the clock is known to be right: until then it may have moved just now.
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

/** Whether something of it waits for a clock that is known to be right. */
export const awaitsClock = ({ moves, lock, hold, lease }: Entry): boolean =>
  lock?.isKept === true || hold?.isKept === true || lease?.isUnjudged === true || isUnjudged(moves);

/** A lease of another computer's run, by how much our clock is ahead. */
export function leaseJudged(
  { id, by, command, endsWith, until, end, isKept }: Lease,
  aheadMs: number,
): Lease {
  return { id, by, command, endsWith, end, until: until + aheadMs, ...(isKept && { isKept }) };
}

const isUnjudged = ({ starts, endsByClock }: Moves): boolean =>
  endsByClock !== undefined || starts[0]?.at === Infinity;

/** Movements of an earlier run are as long ago as a clock says that is known to be right; of one that is ahead, as the platform's says. */
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
  // One that was about to be sent and of which the platform has nothing was no attempt.
  if (id !== null) {
    const again = isOpen(id) ? { id, tries } : { tries: Math.max(0, tries - 1) };
    return { ...state, attempts: { ...firstAttempt, ...again } };
  }
  const problem = "It was not confirmed before the restart.";
  const later = isOverdue(tries) ? { nextAt: mono + laterTriesMs, problem } : {};
  return { ...state, attempts: { ...firstAttempt, tries, ...later } };
}

/**
 * Times of this run go on as they were where the clock was set. A lock until a time of day ends by the new one, a lease of
 * an earlier run sooner where the start did not know how long ago that was, and what moved before `startedAt`, monotonic ms
 * of this run, did so as long ago as the new clock says.
 */
export function afterClockSet(entry: Entry, byMs: number, startedAt: number): Entry {
  const { lock, lease, hold, moves, sent } = entry;
  const until = lock?.isSpan === true && lock.until !== null ? lock.until + byMs : (lock?.until ?? null);
  // What is yet to come by a clock that was set back counts as of the start.
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

/** Of another computer's run that is not judged yet only the new clock tells when it ends, later too. */
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

/** What the book of commands is told of limits. */
export type LimitInput = Readonly<
  /** A lock or a hold begins or ends by a request: once the disk has that, unless it cannot take it. */
  | {
      type: "lock_or_hold";
      key: string;
      /** Numbers the requests of this run. */
      request: number;
      change: Partial<LockAndHold>;
      is: "planned" | "on_disk" | "given_up";
    }
  /** Something that guards of these lanes look at may show something else, or what else their rules depend on. */
  | {
      type: "seen";
      keys: readonly string[];
      /** The newest live value of a weather topic. */
      weather: { readonly name: string; readonly reading: WeatherReading } | null;
    }
>;
