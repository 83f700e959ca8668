import type { Alarm } from "../greenhouse/limits.js";

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
  /** What came and went while nothing got out this way; null for nothing. */
  readonly missed: Missed | null;
}

export interface Missed {
  readonly since: number;
  readonly alarms: readonly (Pick<Alarm, "id"> & Came)[];
}

/** An alarm that came while nothing got out. */
export interface Came extends Pick<Alarm, "type" | "severity" | "controller" | "actuator" | "sensor"> {
  readonly from: number;
  /** When it was over last; null while it is on. */
  readonly until: number | null;
}

/** Since the first message that did not get out. */
export interface Outage {
  readonly since: number;
  /** By id of the alarm. */
  readonly came: ReadonlyMap<string, Came>;
}

const ranks: Readonly<Record<Severity, number>> = { info: 0, warning: 1, error: 2 };
/** Of an alarm there is at most one message in this time. */
const pauseMs = 600_000;
/** What comes together is told together. */
const gatherMs = 10_000;

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
  came: new Map(
    notice?.raised.map(({ id, type, severity, controller, actuator, sensor, since: from }) => [
      id,
      { type, severity, controller, actuator, sensor, from: Date.parse(from), until: null },
    ]),
  ),
});

/** What came and what went since the last look; `isOut`: nothing gets out still. */
export function meanwhile(
  { since, came: before }: Outage,
  news: { readonly rules: WayRules; readonly told: ToldBefore; readonly isOut: boolean },
  alarms: readonly ShownAlarm[],
  now: number,
  minute: number,
): Outage {
  const { rules, told, isOut } = news;
  const came = new Map(before);
  for (const [id, one] of before) {
    if (one.until === null && isOver(id, alarms)) came.set(id, { ...one, until: now });
    // Somebody has seen it, and messages get out again.
    else if (
      one.until === null &&
      !isOut &&
      alarms.some((alarm) => alarm.id === id && !isNews(alarm, told.get(id)))
    )
      came.delete(id);
  }
  const isFlood = alarms.some(({ type, state }) => type === "flood" && state !== "cleared");
  for (const alarm of isOut ? alarms : []) {
    const { id, type, severity, controller, actuator, sensor } = alarm;
    const known = came.get(id);
    const isSpared = ranks[severity] < ranks[rules.severity] || isQuiet(rules, severity, minute);
    if (isSpared || (isFlood && type !== "flood") || !isNews(alarm, told.get(id))) continue;
    if (known === undefined && came.size >= mostCame) continue;
    const from = known?.from ?? Date.parse(alarm.since);
    came.set(id, { type, severity, controller, actuator, sensor, from, until: null });
  }
  return { since, came };
}

/** Of what came, what is over again. */
function missedIn(outage: Outage | null, rules: WayRules, minute: number): Missed | null {
  const alarms = [...(outage?.came ?? [])].flatMap(([id, one]) =>
    one.until === null || isQuiet(rules, one.severity, minute) ? [] : [{ id, ...one }],
  );
  if (outage === null || alarms.length === 0) return null;
  const sorted = alarms.toSorted((one, other) => ranks[other.severity] - ranks[one.severity]);
  return { since: outage.since, alarms: sorted };
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
  const isFlood = alarms.some(({ type, state }) => type === "flood" && state !== "cleared");
  const mayTell = (id: string, { severity, type }: Pick<Alarm, "severity" | "type">): boolean => {
    const told = before.get(id);
    if (ranks[severity] < ranks[rules.severity] || isQuiet(rules, severity, minute)) return false;
    if (isFlood && type !== "flood") return false;
    const isWorse = told !== undefined && told.isOn && ranks[severity] > ranks[told.severity];
    return told === undefined || isWorse || !isYounger(told.at, pauseMs, now);
  };
  const news = alarms.filter((alarm) => isNews(alarm, before.get(alarm.id)) && mayTell(alarm.id, alarm));
  const raised = news.toSorted((one, other) => ranks[other.severity] - ranks[one.severity]);
  const over = [...before].flatMap(([id, told]) =>
    rules.cleared && told.isOn && isOver(id, alarms) && mayTell(id, told) ? [{ id, ...told }] : [],
  );
  const missed = missedIn(outage, rules, minute);
  if (raised.length + over.length === 0 && missed === null) return null;
  const isYoung =
    raised.length > 0 && raised.every(({ since }) => isYounger(Date.parse(since), gatherMs, now));
  if (over.length === 0 && isYoung) return null;
  const others = alarms.filter(({ type, state }) => type !== "flood" && state !== "cleared");
  return { raised, over, flood: raised.some(({ type }) => type === "flood") ? others.length : null, missed };
}

/** It is on, nobody has seen it, and this run has judged it; or it is worse than what was told. */
const isNews = ({ state, facts, severity }: ShownAlarm, told: Told | undefined): boolean =>
  state === "active" &&
  facts?.carried !== true &&
  (told?.isOn !== true || ranks[severity] > ranks[told.severity]);

/** Forgotten an hour after it cleared, it is over too. */
function isOver(id: string, alarms: readonly ShownAlarm[]): boolean {
  const alarm = alarms.find((one) => one.id === id);
  return alarm === undefined || alarm.state === "cleared";
}

/** What was told once this notice was. */
export function afterNotice(before: ToldBefore, { raised, over }: Notice, now: number): ToldBefore {
  const told = new Map(before);
  for (const { id, type, severity, controller, actuator, sensor } of raised)
    told.set(id, { type, severity, controller, actuator, sensor, isOn: true, at: now });
  for (const { id, ...was } of over) told.set(id, { ...was, isOn: false, at: now });
  return told;
}

/** Without what is over and cannot matter any more. */
export function remember(before: ToldBefore, rules: WayRules, alarms: readonly ShownAlarm[], now: number) {
  const kept = [...before].filter(([id, { isOn, at }]) => {
    if (isYounger(at, pauseMs, now)) return true;
    return isOn && (rules.cleared || !isOver(id, alarms));
  });
  return kept.length === before.size ? before : new Map(kept);
}

/** What became of a message: `ok` where everybody has it. `isRefused`: by the service, which another try does not change. */
export type Sent =
  | {
      readonly ok: true;
      /** What the service asks for, so that it goes on well. */
      readonly advice?: string | undefined;
    }
  | {
      readonly ok: false;
      readonly problem: string;
      readonly isRefused: boolean;
      /** As the service asked for. */
      readonly retryAfterMs?: number | undefined;
      /** Who did not get it, where others did. */
      readonly missing?: readonly string[] | undefined;
    };

/** Failures in a row, and when it may be tried again. */
export interface Trouble {
  readonly failures: number;
  readonly notBefore: number;
  /** Some got the last one: the next message does not wait for the others. */
  readonly isOfSome?: true | undefined;
  /** What is wrong, once that is certain enough to be an alarm; null before. */
  readonly problem: string | null;
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

/** A time far ahead is of a clock that was set back. */
export const isTryDue = (trouble: Trouble | null, now: number): boolean =>
  trouble === null || now >= trouble.notBefore || trouble.notBefore - now > longestAskedMs;
