import type { Via } from "../../greenhouse/command/outcomes.js";
import type { Wanted } from "../../greenhouse/command/words.js";
import type { LeaseShown, LockShown, Restrictions } from "../../greenhouse/limits.js";
import type { ActuatorSettings } from "../../greenhouse/settings.js";
import type { KeptLimits } from "../../journal/records.js";
import { type GuardState, type Instant, unjudged } from "./guards.js";
import { allowedNow, limitsOf, type Standing } from "./judge.js";
import { neverMoved } from "./pauses.js";
import { firstAttempt, isGivenUp } from "./attempts.js";
import type { Lease, Term } from "./terms.js";

/* What the limits know of one actuator, how it is kept on disk, and how it is shown. */

export interface Entry extends Standing {
  readonly code: string;
  readonly id: string;
  readonly lease: Lease | null;
  /** Commands taken and not ended, by their ids. */
  readonly open: ReadonlyMap<string, UnderWay>;
}

export const keyOf = (code: string, actuator: string): string => `${code} actuator ${actuator}`;

/** What keeps others off. */
export type Shut = Pick<Entry, "lock" | "hold">;

/** A command as the limits see it. */
export interface LimitedCommand {
  readonly id: string;
  readonly code: string;
  readonly target: "actuator" | "parameter" | "address";
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

/** A command taken and not ended. */
export interface UnderWay {
  readonly command: LimitedCommand;
  /** What was in force before its first POST; null until then. */
  readonly before: Pick<Entry, "lease" | "hold"> | null;
}

export const newEntry = (code: string, settings: ActuatorSettings): Entry => ({
  ...{ code, id: settings.id, settings },
  guards: new Map(limitsOf(settings).guards.map(({ name }) => [name, unjudged])),
  ...{ moves: neverMoved, lock: null, hold: null, lease: null, open: new Map() },
});

/** Nothing is in force and nothing has to be remembered. */
export const isEmpty = ({ settings, lock, hold, lease, moves }: Entry): boolean =>
  settings.limits === undefined && lock === null && hold === null && lease === null && moves === neverMoved;

/** Sixty instants have to fit into a record of the journal. */
const sinceBefore = (at: number, place: number, all: readonly number[]): number => at - (all[place - 1] ?? 0);

/** For the disk; `epoch` turns an instant of this run into epoch ms. Null where there is nothing to keep. */
export function keptOf(entry: Entry, epoch: (mono: number) => number): KeptLimits | null {
  const { settings, lock, hold, lease, moves, guards } = entry;
  if (isEmpty(entry)) return null;
  const { endsAt } = moves;
  const { startsPerHour } = limitsOf(settings);
  return {
    guards: Object.fromEntries([...guards].flatMap(([name, state]) => keptState(name, state))),
    starts: startsPerHour === null ? [] : moves.starts.slice(-startsPerHour).map(epoch).map(sinceBefore),
    // One that only its result can end is read back by the next start.
    moved_until: endsAt !== null && Number.isFinite(endsAt) ? epoch(endsAt) : null,
    direction: moves.direction,
    lock: lock && {
      ...{ by: lock.by, via: lock.via, reason: lock.reason, since: lock.since, until: lock.until },
    },
    lease: lease && {
      ...{ id: lease.id, by: lease.by, command: lease.command, ends_with: lease.endsWith },
      until: epoch(lease.until),
    },
    hold: hold && { id: hold.id, by: hold.by, until: epoch(hold.until) },
  };
}

/** Nothing of one that is as it begins without a kept state. */
function keptState(name: string, { phase, sending, attempts: { id, tries } }: GuardState) {
  const isNew = phase === unjudged.phase && sending === unjudged.sending;
  return isNew ? [] : [[name, { phase, sending, id, tries }] as const];
}

interface Restart {
  /** Epoch ms and the monotonic ms of the same moment. */
  readonly at: number;
  readonly mono: number;
  /** The clock is behind the journal's newest record: how much time has passed is not known. */
  readonly isBehind: boolean;
  /** Whether a command of the earlier run has no result yet. */
  readonly isOpen: (id: string) => boolean;
}

const dayMs = 86_400_000;

/** As an earlier run left it. A lease is over where it is not known how much time has passed. */
export function restored(entry: Entry, kept: KeptLimits, { at, mono, isBehind, isOpen }: Restart): Entry {
  // What lies in the future by a clock that was set back counts as now.
  const past = (epoch: number) => mono - Math.max(0, at - epoch);
  const ahead = (epoch: number) => mono + (epoch - at);
  const { lock, lease, hold } = kept;
  const isLocked = lock !== null && (lock.until === null || lock.until > at);
  return {
    ...entry,
    guards: new Map(
      [...entry.guards].map(([name, fresh]) => [name, keptGuard(fresh, kept.guards[name], isOpen)]),
    ),
    moves: {
      starts: kept.starts.map((_, place, all) =>
        past(all.slice(0, place + 1).reduce((sum, ms) => sum + ms, 0)),
      ),
      endsAt:
        kept.moved_until === null ? null : Math.min(ahead(kept.moved_until), mono + entry.settings.travelMs),
      direction: kept.direction,
    },
    lock: isLocked ? { ...lock, endsAt: lock.until === null ? Infinity : ahead(lock.until) } : null,
    lease: lease && {
      ...{ id: lease.id, by: lease.by, command: lease.command, endsWith: lease.ends_with },
      ...{ until: isBehind ? mono : Math.min(ahead(lease.until), mono + dayMs), end: firstAttempt },
    },
    hold: hold && { id: hold.id, by: hold.by, until: Math.min(ahead(hold.until), mono + dayMs) },
  };
}

function keptGuard(
  fresh: GuardState,
  kept: KeptLimits["guards"][string] | undefined,
  isOpen: Restart["isOpen"],
): GuardState {
  if (kept === undefined) return fresh;
  const { sending, id, tries } = kept;
  const phase = kept.phase === "clear" ? "unsure" : kept.phase;
  if (sending !== "due") return { ...fresh, phase, sending };
  // One that was about to be sent and of which the platform has nothing was no attempt.
  if (id !== null) {
    const again = isOpen(id) ? { id, tries } : { tries: Math.max(0, tries - 1) };
    return { ...fresh, phase, sending, attempts: { ...firstAttempt, ...again } };
  }
  const problem = "It was not confirmed before the restart, and is not sent a fourth time.";
  const never = isGivenUp(tries) ? { nextAt: Infinity, problem } : {};
  return { ...fresh, phase, sending, attempts: { ...firstAttempt, tries, ...never } };
}

/** What everybody is shown of it. */
export function restrictionsOf(entry: Entry, isReadOnly: boolean, now: Instant): Restrictions {
  const { settings, lock, lease } = entry;
  return {
    allowed: allowedNow(entry, isReadOnly || settings.readOnly, now),
    lock: lock === null || lock.endsAt <= now.mono ? null : shownLock(lock),
    lease: lease === null ? null : shownLease(lease, now),
  };
}

const shownLock = ({ by, via, reason, since, until }: NonNullable<Standing["lock"]>): LockShown => ({
  ...{ by, via, reason, since: new Date(since).toISOString() },
  until: until === null ? null : new Date(until).toISOString(),
});

const shownLease = ({ id, by, command, endsWith, until }: Lease, { iso }: Instant): LeaseShown => ({
  ...{ command, until: iso(until), ends_with: endsWith, id, by },
});
