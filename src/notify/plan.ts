import { type Text } from "../language/text.js";
import { type Alarm, isOfReading } from "../greenhouse/limits.js";

/*
 * What a way is to be told now. What was told of each alarm last is compared with how it is, so nothing piles up while a way is
 * quiet or does not work: it is told what is still so. Pure; instants are epoch ms.
 */

export type ShownAlarm = Omit<Alarm, "clearedAt">;
type Severity = Alarm["severity"];

/** What a way is to be spared. */
export interface WayRules {
  /** What is less severe is not told. */
  readonly severity: Severity;
  readonly cleared: boolean;
  /** In minutes of the day; null where it is never quiet. What is as severe as `severity` is told all the same. */
  readonly quiet: { readonly from: number; readonly to: number; readonly severity: Severity } | null;
}

/** What was told of an alarm last; the rest is for telling that it is over when it is not shown any more. */
export interface Told extends Pick<Alarm, "type" | "severity" | "controller" | "actuator" | "sensor"> {
  readonly isOn: boolean;
  readonly at: number;
  /** Since when it is worse than was told; absent where it is not. */
  readonly worseAt?: number | undefined;
  /** Of a flood: the worst that was on beside it. */
  readonly worst?: Severity | undefined;
}

/** By id of the alarm. */
export type ToldBefore = ReadonlyMap<string, Told>;

/** One message. */
export interface Notice {
  /** The worst first. */
  readonly raised: readonly ShownAlarm[];
  readonly over: readonly (Pick<Alarm, "id"> & Told)[];
  /** More came than are told one by one: how many are on beside the flood itself. */
  readonly flood: number | null;
  /** The worst that nobody has seen beside a flood; null without one. */
  readonly worst: Severity | null;
  /** What came and went while nothing got out this way; null for nothing. */
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
  /** When it was over last; null while it is on. */
  readonly until: number | null;
}

/** Since the first message that did not get out, until what was missed is told: a message about something else tells nothing of it. */
export interface Outage {
  readonly since: number;
  /** When a message got out again; null while none does. */
  readonly until: number | null;
  /** Some got out meanwhile. */
  readonly hasGaps?: true | undefined;
  /** By id of the alarm. */
  readonly came: ReadonlyMap<string, Came>;
}

const ranks: Readonly<Record<Severity, number>> = { info: 0, warning: 1, error: 2 };
/** Of an alarm there is at most one message in this time. */
const pauseMs = 600_000;
/** What comes together is told together. */
const gatherMs = 10_000;
/** The most messages about one limit of readings in this time; then there is at most one in each `pauseMs`. */
const mostAlone = 3;
const rowMs = 3_600_000;

/** `minute`: of the day, where the greenhouse is. */
export function isQuiet({ quiet }: WayRules, severity: Severity, minute: number): boolean {
  if (quiet === null || ranks[severity] >= ranks[quiet.severity]) return false;
  const { from, to } = quiet;
  return from < to ? minute >= from && minute < to : minute >= from || minute < to;
}

/** A time ahead of now is of a clock that was set back since. */
const isYounger = (at: number, ms: number, now: number): boolean => at <= now && now - at < ms;

/** More are not remembered one by one. */
const mostCame = 200;

/** `notice`: what did not get out then. */
export const outageSince = (since: number, notice: Notice | null): Outage => ({
  since,
  until: null,
  came: new Map(notice?.raised.map((one) => [one.id, cameOf(one, null)])),
});

/** A message that got out, or did not. `notice`: what it tells; null where that is no alarm. */
export interface Try {
  readonly hasReached: boolean;
  readonly notice: Notice | null;
  readonly begunAt: number;
  readonly now: number;
  /** What came and went while it was under way. */
  readonly gone?: Outage["came"] | undefined;
}

/** What is still to be told of an outage after one more try; null for nothing. */
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
    // A flood tells all that is on.
    if (told.has(id) || (until === null && (notice?.flood ?? null) !== null)) return false;
    return !missed.has(id) || missed.get(id) !== until;
  });
  return came.length === 0 ? null : { ...before, until: before.until ?? now, came: new Map(came) };
}

/** What came since a moment and is over by now. */
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

/** A service that is sent to, and how that went so far; `isOut`: nothing gets out still. */
interface Way {
  readonly rules: WayRules;
  readonly told: ToldBefore;
  readonly isOut: boolean;
}

/** What came and what went since the last look. */
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
    // Messages get out again, and somebody has seen it or was told. One of an earlier run waits until this one has judged it.
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

/** Of what came, what is over again. */
function missedIn(outage: Outage | null, rules: WayRules, minute: number): Missed | null {
  const alarms = [...(outage?.came ?? [])].flatMap(([id, one]) =>
    one.until === null || isQuiet(rules, one.severity, minute) ? [] : [{ id, ...one }],
  );
  if (outage === null || alarms.length === 0) return null;
  const sorted = alarms.toSorted((one, other) => ranks[other.severity] - ranks[one.severity]);
  return { since: outage.since, until: outage.until, hasGaps: outage.hasGaps, alarms: sorted };
}

/** Null where there is nothing to tell, or not yet. */
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
 * A night that becomes colder slowly is no flood, and yet no message for each house: once so many told of a limit, further ones are
 * told together.
 */
function isInARow({ type, severity }: ShownAlarm, before: ToldBefore, now: number): boolean {
  if (!isOfReading(type)) return false;
  const same = [...before.values()].filter((told) => told.type === type && told.severity === severity);
  const times = new Set(same.map(({ at }) => at).filter((at) => isYounger(at, rowMs, now)));
  return times.size >= mostAlone && isYounger(Math.max(...times), pauseMs, now);
}

/** When it came, or became worse than was told. */
function begunAt({ id, since }: ShownAlarm, before: ToldBefore): number {
  const { isOn = false, worseAt } = before.get(id) ?? {};
  return isOn && worseAt !== undefined ? worseAt : Date.parse(since);
}

const byId = (alarms: readonly ShownAlarm[]): ReadonlyMap<string, ShownAlarm> =>
  new Map(alarms.map((alarm) => [alarm.id, alarm]));

const isFloodIn = (alarms: readonly ShownAlarm[]): boolean =>
  alarms.some(({ type, state }) => type === "flood" && state !== "cleared");

/** It is on, nobody has seen it, and this run has judged it. */
const isUnseen = ({ state, facts }: ShownAlarm): boolean => state === "active" && facts?.carried !== true;

/** The worst that nobody has seen, beside a flood. */
const worstIn = (alarms: readonly ShownAlarm[]): Severity =>
  (["error", "warning"] as const).find((worst) =>
    alarms.some((one) => one.severity === worst && one.type !== "flood" && isUnseen(one)),
  ) ?? "info";

/** Than what was told; a flood is as bad as the worst of it. */
const isWorse = ({ type, severity }: ShownAlarm, told: Told, worst: Severity): boolean =>
  type === "flood" ? ranks[worst] > ranks[told.worst ?? "error"] : ranks[severity] > ranks[told.severity];

/** Nobody has seen or was told it, or it is worse than what was told. */
const isNews = (alarm: ShownAlarm | undefined, told: Told | undefined, worst: Severity): boolean =>
  alarm !== undefined && isUnseen(alarm) && !isToldOf(alarm, told, worst);

const isToldOf = (alarm: ShownAlarm, told: Told | undefined, worst: Severity): boolean =>
  told?.isOn === true && !isWorse(alarm, told, worst);

/** Forgotten an hour after it cleared, it is over too. */
const isOver = (alarm: ShownAlarm | undefined): boolean => alarm === undefined || alarm.state === "cleared";

/** What was told once this notice was. */
export function afterNotice(before: ToldBefore, { raised, over, worst }: Notice, now: number): ToldBefore {
  const told = new Map(before);
  for (const { id, type, severity, controller, actuator, sensor } of raised) {
    const ofFlood = type === "flood" && worst !== null ? { worst } : {};
    told.set(id, { type, severity, controller, actuator, sensor, isOn: true, at: now, ...ofFlood });
  }
  for (const { id, ...was } of over) told.set(id, { ...was, isOn: false, at: now });
  return told;
}

/** Without what is over and cannot matter any more, and with what became worse since. */
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

/** What became of a message: `ok` where everybody has it. `isRefused`: by the service, which another try does not change. */
export type Sent =
  | {
      readonly ok: true;
      /** What the service asks for, so that it goes on well. */
      readonly advice?: Text | undefined;
    }
  | {
      readonly ok: false;
      readonly problem: Text;
      readonly isRefused: boolean;
      /** As the service asked for. */
      readonly retryAfterMs?: number | undefined;
      /** Who did not get it, where others did. */
      readonly missing?: readonly string[] | undefined;
    };

/** Failures in a row, and when it may be tried again: by the clock that nobody sets. */
export interface Trouble {
  readonly failures: number;
  readonly notBefore: number;
  /** Some got the last one: the next message does not wait for the others. */
  readonly isOfSome?: true | undefined;
  /** What is wrong, once that is certain enough to be an alarm; null before. */
  readonly problem: Text | null;
}

const pauses = [30_000, 60_000, 120_000, 300_000] as const;
const longestPauseMs = 600_000;
const longestAskedMs = 3_600_000;

/** A connection that fails once is not worth an alarm; a refusal is. */
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
