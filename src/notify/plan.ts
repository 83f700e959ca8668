import { type Text } from "../language/text.js";
import { type Alarm, isOfReading } from "../greenhouse/limits.js";

/*
 * Decides what a way sends now. It compares each alarm with what was last sent about it, so a way that was quiet or
 * failed sends only what still holds. Pure; instants are epoch ms.
 */

export type ShownAlarm = Omit<Alarm, "clearedAt">;
type Severity = Alarm["severity"];

/** What a way leaves out. */
export interface WayRules {
  /** Less severe alarms are not sent. */
  readonly severity: Severity;
  readonly cleared: boolean;
  /**
   * Quiet hours, in minutes of the day; null for none. Alarms at least as severe as `severity` are sent all the same.
   */
  readonly quiet: { readonly from: number; readonly to: number; readonly severity: Severity } | null;
}

/**
 * What was last sent about an alarm. Its other members serve the message that it is over, once it is not shown any
 * more.
 */
export interface Told extends Pick<Alarm, "type" | "severity" | "controller" | "actuator" | "sensor"> {
  readonly isOn: boolean;
  readonly at: number;
  /** Since when it is worse than was sent; absent where it is not. */
  readonly worseAt?: number | undefined;
  /** For a flood: the severity of the worst alarm beside it. */
  readonly worst?: Severity | undefined;
}

/** By id of the alarm. */
export type ToldBefore = ReadonlyMap<string, Told>;

/** The content of one message. */
export interface Notice {
  /** The worst first. */
  readonly raised: readonly ShownAlarm[];
  readonly over: readonly (Pick<Alarm, "id"> & Told)[];
  /** For a flood: how many other alarms are on; null without one. */
  readonly flood: number | null;
  /** For a flood: the severity of the worst unacknowledged alarm beside it; null without one. */
  readonly worst: Severity | null;
  /** Alarms that came and went while this way failed; null for none. */
  readonly missed: Missed | null;
}

export interface Missed {
  readonly since: number;
  /** When a message got out again; null where this is the first. */
  readonly until: number | null;
  readonly hasGaps?: true | undefined;
  readonly alarms: readonly (Pick<Alarm, "id"> & Came)[];
}

/** An alarm that came while nothing got out. */
export interface Came extends Pick<Alarm, "type" | "severity" | "controller" | "actuator" | "sensor"> {
  readonly from: number;
  /** When it was last over; null while it is on. */
  readonly until: number | null;
}

/** From the first message that failed until the missed alarms are sent; messages about anything else do not end it. */
export interface Outage {
  readonly since: number;
  /** When a message got out again; null while none does. */
  readonly until: number | null;
  /** Some messages got out meanwhile. */
  readonly hasGaps?: true | undefined;
  /** By id of the alarm. */
  readonly came: ReadonlyMap<string, Came>;
}

const ranks: Readonly<Record<Severity, number>> = { info: 0, warning: 1, error: 2 };
/** The shortest time between two messages about one alarm. */
const pauseMs = 600_000;
/** Alarms that come within this time share one message. */
const gatherMs = 10_000;
/** The most messages about one kind of limit within `rowMs`; further ones come at most once in `pauseMs`. */
const mostAlone = 3;
const rowMs = 3_600_000;

/** Whether a quiet hour silences the severity. `minute`: local minute of the day. */
export function isQuiet({ quiet }: WayRules, severity: Severity, minute: number): boolean {
  if (quiet === null || ranks[severity] >= ranks[quiet.severity]) return false;
  const { from, to } = quiet;
  return from < to ? minute >= from && minute < to : minute >= from || minute < to;
}

/** A time in the future dates from before the clock was set back, so it counts as old. */
const isYounger = (at: number, ms: number, now: number): boolean => at <= now && now - at < ms;

/** The most alarms remembered one by one. */
const mostCame = 200;

/** An outage that begins with `notice`, which did not get out. */
export const outageSince = (since: number, notice: Notice | null): Outage => ({
  since,
  until: null,
  came: new Map(notice?.raised.map((one) => [one.id, cameOf(one, null)])),
});

/** A message that got out, or did not. `notice`: its alarms; null where it is about none. */
export interface Try {
  readonly hasReached: boolean;
  readonly notice: Notice | null;
  readonly begunAt: number;
  readonly now: number;
  /** Alarms that came and went while it was being sent. */
  readonly gone?: Outage["came"] | undefined;
}

/** The outage after one more try; null once nothing of it is left to send. */
export function outageAfter(
  before: Outage | null,
  { hasReached, notice, begunAt, now, gone = new Map() }: Try,
): Outage | null {
  if (!hasReached) {
    const fresh = outageSince(begunAt, notice);
    const came = new Map([...(before?.came ?? []), ...gone, ...fresh.came, ...(before?.came ?? [])]);
    const hasGaps = before !== null && before.until !== null ? true : before?.hasGaps;
    return { since: before?.since ?? begunAt, until: null, hasGaps, came };
  }
  if (before === null) return null;
  const told = new Set(notice?.raised.map(({ id }) => id));
  const missed = new Map(notice?.missed?.alarms.map(({ id, until }) => [id, until]));
  const came = [...before.came].filter(([id, { until }]) => {
    // The message of a flood covers all alarms that are on.
    if (told.has(id) || (until === null && (notice?.flood ?? null) !== null)) return false;
    return !missed.has(id) || missed.get(id) !== until;
  });
  return came.length === 0 ? null : { ...before, until: before.until ?? now, came: new Map(came) };
}

/** Alarms that came after `since` and are over now. */
export function goneSince(
  since: number,
  rules: WayRules,
  alarms: readonly ShownAlarm[],
  now: number,
  minute: number,
): Outage["came"] {
  const isFlood = isFloodIn(alarms);
  const gone = alarms.filter(
    (one) => isOver(one) && Date.parse(one.since) >= since && !isSpared(one, rules, isFlood, minute),
  );
  return new Map(gone.slice(0, mostCame).map((one) => [one.id, cameOf(one, now)]));
}

const cameOf = (
  { type, severity, controller, actuator, sensor, since }: ShownAlarm,
  until: number | null,
): Came => ({ type, severity, controller, actuator, sensor, from: Date.parse(since), until });

const isSpared = (
  { type, severity }: ShownAlarm,
  rules: WayRules,
  isFlood: boolean,
  minute: number,
): boolean =>
  ranks[severity] < ranks[rules.severity] ||
  isQuiet(rules, severity, minute) ||
  (isFlood && type !== "flood");

/** The state of a way; `isOut`: still no message gets out. */
interface Way {
  readonly rules: WayRules;
  readonly told: ToldBefore;
  readonly isOut: boolean;
}

/** The outage with what came and went since the last look. */
export function meanwhile(
  outage: Outage,
  { rules, told, isOut }: Way,
  alarms: readonly ShownAlarm[],
  now: number,
  minute: number,
): Outage {
  const came = new Map(outage.came);
  const shown = byId(alarms);
  const worst = worstIn(alarms);
  for (const [id, one] of outage.came) {
    const alarm = shown.get(id);
    if (one.until !== null) continue;
    if (alarm === undefined || isOver(alarm)) came.set(id, { ...one, until: now });
    // Messages get out again, and somebody acknowledged or received it. An alarm carried over from an earlier run stays
    // until this run has judged it.
    else if (!isOut && (alarm.state === "acknowledged" || isToldOf(alarm, told.get(id), worst)))
      came.delete(id);
  }
  const isFlood = isFloodIn(alarms);
  for (const alarm of isOut ? alarms : []) {
    const { id } = alarm;
    const known = came.get(id);
    if (isSpared(alarm, rules, isFlood, minute) || !isNews(alarm, told.get(id), worst)) continue;
    if (known === undefined && came.size >= mostCame) continue;
    const one = cameOf(alarm, null);
    came.set(id, { ...one, from: known?.from ?? one.from });
  }
  return { ...outage, came };
}

/** The alarms of an outage that are over again. */
function missedIn(outage: Outage | null, rules: WayRules, minute: number): Missed | null {
  const alarms = [...(outage?.came ?? [])].flatMap(([id, one]) =>
    one.until === null || isQuiet(rules, one.severity, minute) ? [] : [{ id, ...one }],
  );
  if (outage === null || alarms.length === 0) return null;
  const sorted = alarms.toSorted((one, other) => ranks[other.severity] - ranks[one.severity]);
  return { since: outage.since, until: outage.until, hasGaps: outage.hasGaps, alarms: sorted };
}

/** The notice to send now; null for none, or not yet. */
export function noticeDue(
  rules: WayRules,
  before: ToldBefore,
  alarms: readonly ShownAlarm[],
  now: number,
  minute: number,
  outage: Outage | null = null,
): Notice | null {
  const isFlood = isFloodIn(alarms);
  const worst = worstIn(alarms);
  const shown = byId(alarms);
  const mayTell = ({ severity, type }: Pick<Alarm, "severity" | "type">): boolean =>
    ranks[severity] >= ranks[rules.severity] &&
    !isQuiet(rules, severity, minute) &&
    (!isFlood || type === "flood");
  const news = alarms.filter((alarm) => {
    const told = before.get(alarm.id);
    if (!isNews(alarm, told, worst) || !mayTell(alarm)) return false;
    return told === undefined || told.isOn || !isYounger(told.at, pauseMs, now);
  });
  const raised = news.toSorted((one, other) => ranks[other.severity] - ranks[one.severity]);
  const over = [...before].flatMap(([id, told]) => {
    const isDue = rules.cleared && told.isOn && isOver(shown.get(id)) && !isYounger(told.at, pauseMs, now);
    return isDue && mayTell(told) ? [{ id, ...told }] : [];
  });
  const missed = missedIn(outage, rules, minute);
  if (raised.length + over.length === 0 && missed === null) return null;
  const mayWait = (one: ShownAlarm): boolean =>
    isYounger(begunAt(one, before), gatherMs, now) || (missed === null && isInARow(one, before, now));
  if (over.length === 0 && raised.length > 0 && raised.every(mayWait)) return null;
  const isOfFlood = raised.some(({ type }) => type === "flood");
  const others = alarms.filter(({ type, state }) => type !== "flood" && state !== "cleared");
  const flood = isOfFlood ? { flood: others.length, worst } : { flood: null, worst: null };
  return { raised, over, ...flood, missed };
}

/**
 * Whether many messages about one kind of limit came within the hour, as when a night cools slowly. Further ones are
 * then sent together.
 */
function isInARow({ type, severity }: ShownAlarm, before: ToldBefore, now: number): boolean {
  if (!isOfReading(type)) return false;
  const same = [...before.values()].filter((told) => told.type === type && told.severity === severity);
  const times = new Set(same.map(({ at }) => at).filter((at) => isYounger(at, rowMs, now)));
  return times.size >= mostAlone && isYounger(Math.max(...times), pauseMs, now);
}

/** When the alarm came, or became worse than was sent. */
function begunAt({ id, since }: ShownAlarm, before: ToldBefore): number {
  const { isOn = false, worseAt } = before.get(id) ?? {};
  return isOn && worseAt !== undefined ? worseAt : Date.parse(since);
}

const byId = (alarms: readonly ShownAlarm[]): ReadonlyMap<string, ShownAlarm> =>
  new Map(alarms.map((alarm) => [alarm.id, alarm]));

const isFloodIn = (alarms: readonly ShownAlarm[]): boolean =>
  alarms.some(({ type, state }) => type === "flood" && state !== "cleared");

/** Whether it is on, not acknowledged, and judged by this run. */
const isUnseen = ({ state, facts }: ShownAlarm): boolean => state === "active" && facts?.carried !== true;

/** The severity of the worst unacknowledged alarm beside a flood. */
const worstIn = (alarms: readonly ShownAlarm[]): Severity =>
  (["error", "warning"] as const).find((worst) =>
    alarms.some((one) => one.severity === worst && one.type !== "flood" && isUnseen(one)),
  ) ?? "info";

/** Whether it is worse than was sent; a flood is as bad as its worst alarm. */
const isWorse = ({ type, severity }: ShownAlarm, told: Told, worst: Severity): boolean =>
  type === "flood" ? ranks[worst] > ranks[told.worst ?? "error"] : ranks[severity] > ranks[told.severity];

/** Whether it is on, not acknowledged, judged by this run, and not yet sent as at least as bad. */
const isNews = (alarm: ShownAlarm | undefined, told: Told | undefined, worst: Severity): boolean =>
  alarm !== undefined && isUnseen(alarm) && !isToldOf(alarm, told, worst);

const isToldOf = (alarm: ShownAlarm, told: Told | undefined, worst: Severity): boolean =>
  told?.isOn === true && !isWorse(alarm, told, worst);

/** An alarm is forgotten an hour after it cleared, so an absent one is over too. */
const isOver = (alarm: ShownAlarm | undefined): boolean => alarm === undefined || alarm.state === "cleared";

/** What has been sent once this notice got out. */
export function afterNotice(before: ToldBefore, { raised, over, worst }: Notice, now: number): ToldBefore {
  const told = new Map(before);
  for (const { id, type, severity, controller, actuator, sensor } of raised) {
    const ofFlood = type === "flood" && worst !== null ? { worst } : {};
    told.set(id, { type, severity, controller, actuator, sensor, isOn: true, at: now, ...ofFlood });
  }
  for (const { id, ...was } of over) told.set(id, { ...was, isOn: false, at: now });
  return told;
}

/** Drops what is over and matters no more, and marks what became worse since. */
export function remember(
  before: ToldBefore,
  rules: WayRules,
  alarms: readonly ShownAlarm[],
  now: number,
): ToldBefore {
  const shown = byId(alarms);
  const worst = worstIn(alarms);
  const kept = [...before].flatMap<readonly [string, Told]>(([id, told]) => {
    const alarm = shown.get(id);
    const isKept = isYounger(told.at, pauseMs, now) || (told.isOn && (rules.cleared || !isOver(alarm)));
    const isWorseNow = told.isOn && alarm !== undefined && isWorse(alarm, told, worst);
    const worseAt = isWorseNow ? (told.worseAt ?? now) : undefined;
    if (isKept && worseAt === told.worseAt) return [[id, told]];
    return isKept ? [[id, { ...told, worseAt }]] : [];
  });
  const isSame = kept.length === before.size && kept.every(([id, told]) => before.get(id) === told);
  return isSame ? before : new Map(kept);
}

/**
 * What became of a message. `ok`: everybody has it. `isRefused`: the service refused it, so another try changes
 * nothing.
 */
export type Sent =
  | {
      readonly ok: true;
      /** What the service asks to be changed, for later messages. */
      readonly advice?: Text | undefined;
    }
  | {
      readonly ok: false;
      readonly problem: Text;
      readonly isRefused: boolean;
      /** The pause that the service asked for. */
      readonly retryAfterMs?: number | undefined;
      /** The readers who did not get it, where others did. */
      readonly missing?: readonly string[] | undefined;
    };

/** Failures in a row, and when the next try is allowed, by the monotonic clock. */
export interface Trouble {
  readonly failures: number;
  readonly notBefore: number;
  /** Some readers got the last message, so the next one does not wait. */
  readonly isOfSome?: true | undefined;
  /** The problem, once it is certain enough for an alarm; null before. */
  readonly problem: Text | null;
}

const pauses = [30_000, 60_000, 120_000, 300_000] as const;
const longestPauseMs = 600_000;
const longestAskedMs = 3_600_000;

/** The trouble after a message. One failed connection is no alarm yet; a refusal is. */
export function afterSent(before: Trouble | null, sent: Sent, now: number): Trouble | null {
  if (sent.ok) return null;
  const { problem, isRefused, retryAfterMs = 0, missing } = sent;
  const failures = (before?.failures ?? 0) + 1;
  const own = isRefused ? longestPauseMs : (pauses[failures - 1] ?? longestPauseMs);
  const pause = Math.max(own, Math.min(retryAfterMs, longestAskedMs));
  const isCertain = isRefused || failures > 1 || missing !== undefined;
  const isOfSome = missing === undefined ? undefined : true;
  return { failures, notBefore: now + pause, problem: isCertain ? problem : null, isOfSome };
}

export const isTryDue = (trouble: Trouble | null, now: number): boolean =>
  trouble === null || now >= trouble.notBefore;

/** In which order a message names alarms. */
export const errorsFirst = (alarms: readonly ShownAlarm[]): readonly ShownAlarm[] =>
  alarms.toSorted((one, other) => Number(other.severity === "error") - Number(one.severity === "error"));
