import type { CommandResult } from "../greenhouse/command/outcomes.js";
import { amountText, readingCode } from "../greenhouse/alarms.js";
import { type Language, ofNames } from "../greenhouse/labels.js";
import type { AlarmType, Interlock, ReadingFact } from "../greenhouse/limits.js";
import { checks } from "./locales/checks.js";
import { saidFor, saidOf } from "./wording.js";
import { now } from "./live.js";
import type {
  ActuatorView,
  Alarm,
  ApiError,
  CommandDocument,
  ControllerView,
  GuardView,
  LimitsDocument,
  Patched,
  TimelineEntry,
} from "./protocol.js";
import {
  clockText,
  commandText,
  isWord,
  language,
  lengthText,
  numberText,
  stateWordText,
  t,
  timeText,
  codeText,
  type Word,
  wordLabel,
} from "./words.js";

/*
 * Codes of the bridge as sentences. Its own sentences are English and more exact, so English shows them as they are;
 * other languages translate the code.
 */

/** `isForeign`: the bridge's own English on a page in another language. */
export interface Sentence {
  readonly text: string;
  readonly isForeign?: boolean;
}

const isEnglish = (): boolean => language.value === "en";
const isChinese = (text: string): boolean => /\p{Script=Han}/u.test(text);
/** A sentence of the bridge, which is in the page's language unless it exists in English only. */
export const ofBridge = (text: string): Sentence => ({ text, isForeign: !isEnglish() && !isChinese(text) });

/** Where a sentence about a rule finds names. */
type Named = Partial<Pick<ControllerView, "weather" | "sensors" | "actuators">>;
type Guards = Readonly<Record<string, Partial<GuardView>>>;

/** The name and unit of a configured input. */
function inputOf(input: string, { weather, sensors, actuators }: Named): { name: string; unit: string } {
  const own = input.replace(/^weather\//, "");
  if (own !== input) return { name: codeText(own), unit: weather?.[own]?.unit ?? "" };
  const sensor = sensors?.[input];
  if (sensor) return { name: sensor.label[ofNames(language.value)], unit: sensor.unit ?? "" };
  return { name: actuators?.[input]?.name ?? input, unit: "" };
}

const isNumber = (value: unknown): value is number => typeof value === "number";

/** The word for a value beyond its limit, not yet back at `clear_at`, or back and waiting. */
function numberWord(isBelow: boolean, isBeyond: boolean, isBack: boolean): Word {
  if (isBack) return isBelow ? "guard_waits_high" : "guard_waits_low";
  if (isBeyond) return isBelow ? "guard_below" : "guard_above";
  return isBelow ? "guard_until_high" : "guard_until_low";
}

/** Why a guard holds, as a sentence. */
function guardText(
  law: Law,
  named: Named,
  { condition, clear_at: clearAt, clear_after_s: waits }: Partial<GuardView>,
): string {
  const { rule, value, limit, quality, until } = law;
  const { name, unit } = inputOf(law.input ?? "", named);
  const text = (one: unknown): string => {
    if (isNumber(one)) return `${numberText(one)} ${unit}`.trim();
    if (Array.isArray(one)) return one.map(text).join(" / ");
    return typeof one === "string" ? stateWordText(one) : "–";
  };
  const values = {
    rule,
    input: name,
    value: text(value),
    limit: text(limit),
    clear: text(clearAt ?? limit),
    time: waits ? lengthText(waits) : "",
    until: until ? clockText(until, now.value) : "",
    quality: quality ? codeText(quality) : "",
  };
  if (quality && quality !== "good") return t("guard_blind", values);
  const isBack = Boolean(until);
  if (isNumber(limit)) {
    if (condition === undefined || !isNumber(value)) return t("guard_number", values);
    const isBelow = condition === "below";
    return t(numberWord(isBelow, isBelow ? value < limit : value > limit, isBack), values);
  }
  if (condition === "moving" || limit === true) return t(isBack ? "guard_moved" : "guard_moves", values);
  if (condition !== "is_not" && law.input?.endsWith("rain") && limit === "on")
    return t(isBack ? "guard_rained" : "guard_rains", values);
  return t(isBack ? "guard_waits" : "guard_is", values);
}

type Law = Pick<Interlock, "rule"> & Partial<Patched<Interlock>>;

/** The rule that forbids something, with its numbers and how long. */
export function ruleText(law: Law, named: Named = {}, guards: Guards = {}): string {
  const { rule, value, limit, until } = law;
  const own = `rule_${rule}`;
  if (!isWord(own)) return guardText(law, named, guards[rule] ?? {});
  const why = rule === "hold" && !value ? t("hold_unnamed") : t(own, { rule, value, limit });
  if (!until) return why;
  // A Chinese sentence has no blank behind its full stop.
  return `${why}${isEnglish() ? " " : ""}${t("why_until", { time: timeText(until, now.value) })}`;
}

type Limited = Partial<LimitsDocument & Pick<ActuatorView, "guards" | "words" | "degrees" | "stop">>;

/** What is still allowed, if that is less than usual. */
function allowedText({ allowed, words = [], degrees = false, stop = false }: Limited): readonly string[] {
  if (!allowed || allowed.because.every(({ rule }) => isWord(`rule_${rule}`))) return [];
  const range = allowed.degrees;
  const isWhole = !degrees || (range && range.max - range.min >= 100);
  const left = words.filter((word) => allowed.words.includes(word));
  if (left.length === words.length && isWhole) return [];
  const parts = [
    ...left.map((word) => wordLabel(word)),
    ...(range && !isWhole ? [t("degrees_from_to", { min: range.min, max: range.max })] : []),
    ...(stop ? [wordLabel("stop")] : []),
  ];
  return [parts.length === 0 ? t("allowed_none") : t("allowed", { what: parts.join(t("comma")) })];
}

/** Reasons from rules, a lock and a hold of an actuator. */
export function limitReasons(of: Limited, named: Named = {}): readonly string[] {
  const { allowed, lock, guards } = of;
  const reason = lock?.reason ? t("why_reason", { reason: lock.reason }) : "";
  const because = (allowed?.because ?? []).map(
    (one) => `${ruleText(one, named, guards)}${one.rule === "lock" ? reason : ""}`,
  );
  return [...because, ...allowedText(of)];
}

/** English sentences for commands that went well, for which the bridge sends none. */
const englishEndings: Readonly<Record<string, string>> = {
  confirmed: "The platform shows it.",
  already: "The platform showed it already; nothing was sent.",
};

/** The part of a result that tells how a command ended; for a group's member it is smaller. */
type Ended = Patched<Pick<CommandResult, "outcome" | "reason" | "message" | "command">> &
  Partial<Patched<Pick<CommandResult, "interlock" | "read_back" | "steps">>>;

/** How a command ended, why, and what to do. */
export function resultSentences(result: Ended): readonly Sentence[] {
  const { outcome, reason, interlock, command, read_back: readBack, steps = [] } = result;
  // A sentence arrives as text.
  const message = result.message && String(result.message);
  if (isEnglish()) return [ofBridge(message ?? englishEndings[outcome] ?? "")];
  if (message && isChinese(message)) return [{ text: message }];
  const values = { code: steps.at(-1)?.code, command: commandText(command ?? null), read_back: readBack };
  const text = interlock
    ? ruleText(interlock)
    : (saidOf(language.value, reason ?? "", values) ?? saidFor(language.value, outcome, values));
  const hasMore = message && [outcome, reason ?? ""].some((one) => isDetailed.has(one));
  return [{ text }, ...(hasMore ? [ofBridge(message)] : [])];
}

/** A title, and the sentences below it. */
type Told = Readonly<{ title: string; sentences: readonly Sentence[] }>;

/** A topic below a controller's, or a read, in words. */
export const topicText = (topic: string): string => topic.split("/").map(codeText).join(" / ");

function readingSentence(
  type: "reading_low" | "reading_high",
  { name, value, limit, unit, quality, gone }: ReadingFact,
): string {
  const values = {
    name: name[ofNames(language.value)],
    value: amountText(value, unit),
    limit: amountText(limit, unit),
  };
  const said = saidFor(language.value, readingCode(type, { value, limit }), values);
  if (gone === true) return said + saidFor(language.value, "reading_gone");
  return quality === "good"
    ? said
    : said + saidFor(language.value, "reading_unsure", { quality: codeText(quality) });
}

/** Sentences for an alarm's facts, in another language than English. */
function factSentences({ type, facts }: Pick<Alarm, "type" | "facts">): string[] {
  const {
    guards = [],
    command,
    outcome,
    ends_with: end,
    late = [],
    reading,
    locked_by: locker,
    ways = [],
    why,
  } = facts ?? {};
  const values = { command: commandText(command ?? null), end: commandText(end ?? null) };
  return [
    ...guards.map(({ sends, ...guard }) =>
      sends
        ? saidFor(language.value, "guard_sends", { rule: guard.rule, command: commandText(sends) })
        : ruleText(guard),
    ),
    ...(locker === undefined ? [] : [ruleText({ rule: "lock", value: locker })]),
    ...(end ? [saidFor(language.value, "lease_ends", values)] : []),
    ...(outcome ? [saidFor(language.value, "command_ended", { ...values, outcome: codeText(outcome) })] : []),
    ...(reading && (type === "reading_low" || type === "reading_high")
      ? [readingSentence(type, reading)]
      : []),
    ...ways.map(({ name: way, service, problem }) =>
      saidFor(language.value, "notify_way", { way, service, problem: String(problem) }),
    ),
    ...(why === undefined ? [] : [saidFor(language.value, "settings_because", { why: String(why) })]),
    ...(late.length > 0 ? [saidFor(language.value, "late", { late: late.map(topicText).join("、") })] : []),
  ];
}

/** Codes whose sentence of the bridge has details: the platform's words, a key, a limit, or a hindrance. */
const isDetailed: ReadonlySet<string> = new Set([
  ...["rejected", "bad_payload", "unknown_actuator", "unknown_command", "out_of_range"],
  ...["journal_unavailable", "guard_unmet", "lease_overrun", "state_lost", "crash_loop", "notify_failed"],
  "settings_returned",
  ...["birth_too_large", "duplicate_node", "cluster"],
]);

/** Alarms whose type says everything. */
const isWhole: ReadonlySet<AlarmType> = new Set<AlarmType>([
  ...(["controller_offline", "platform_unreachable", "unauthorized", "other_bridge", "flood"] as const),
]);

/** What is wrong, and what to do. */
export function alarmText({ type, message, remedy, facts }: Alarm): Told {
  const title = codeText(type);
  if (isEnglish()) return { title, sentences: [ofBridge(message), ofBridge(remedy)] };
  const named = factSentences({ type, facts });
  if (facts?.carried === true)
    return { title, sentences: [...named, saidFor(language.value, "carried")].map((text) => ({ text })) };
  const isDetail = isDetailed.has(type) || isDetailed.has(facts?.outcome ?? "");
  const isMore =
    named.length === 0
      ? !isWhole.has(type)
      : isDetail && [facts?.locked_by, facts?.why, facts?.ways].every((one) => one === undefined);
  const own = [...named, saidFor(language.value, type)].map((text) => ({ text }));
  return { title, sentences: isMore ? [...own, ofBridge(message)] : own };
}

/** The text of an alarm in the journal, without what to do. */
export function raisedSentence({ alarm, what, facts }: TimelineEntry): Sentence {
  const named = isEnglish() || !alarm ? [] : factSentences({ type: alarm, facts });
  return named.length > 0 ? { text: named.join("") } : ofBridge(what ?? "");
}

export type Finding = Readonly<{
  check: string;
  status: "ok" | "warning" | "failed" | "skipped";
  summary: string;
  remedy?: string;
}>;

/** The title of each check of `doctor`. */
const checkTitles: Readonly<Record<Language, Readonly<Record<string, string>>>> = checks;

/** A finding of `doctor`, in the language in which it was asked. */
export function findingText({ check, summary, remedy }: Finding): Told {
  const [kind = "", detail] = check.split(".", 2);
  const titles = checkTitles[language.value];
  const name = titles[check] ?? titles[kind] ?? check;
  const title = detail === undefined || Object.hasOwn(titles, check) ? name : `${name} (${detail})`;
  const own = [summary, ...(remedy === undefined ? [] : [remedy])].join(isEnglish() ? "; " : "；");
  return { title, sentences: [ofBridge(own)] };
}

/** Why a request failed. */
export function errorSentence(body: Partial<ApiError> | null): Sentence {
  if (body === null) return { text: t("not_sent") };
  const { error = "", message = error } = body;
  const text = saidOf(language.value, error);
  return isEnglish() || text === null ? ofBridge(message) : { text };
}

/** An open command with its phase. */
export const phaseText = ({ command, phase }: CommandDocument): string =>
  `${commandText(command)} ${codeText(phase)}`;

/** The sender of a command: a person, a guard, or the end of a lease. */
export function whoText(by: string): string {
  const [kind, ...name] = by.split(" ");
  if (kind === "rule" && name.length > 0) return t("by_rule", { name: name.join(" ") });
  return kind === "lease" && name.length > 0 ? t("by_lease") : by;
}

/** The state of an account of a fleet, in a few words. */
export const accountStateText = (state: string): string => {
  const word = `account_${state}`;
  return isWord(word) ? t(word) : codeText(state);
};
