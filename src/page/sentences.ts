import type { CommandResult } from "../greenhouse/command/outcomes.js";
import { wordLabel } from "../greenhouse/labels.js";
import type { AlarmFacts, Interlock } from "../greenhouse/limits.js";
import { checkTexts, chinese, isDetailed, isWhole } from "./codes.js";
import { now } from "./live.js";
import type { Alarm, ApiError, CommandDocument, LimitsDocument, Patched } from "./protocol.js";
import { commandText, filled, isWord, language, t, timeText, told } from "./words.js";

/*
 * What the bridge tells in codes, as sentences. Its own sentences are English and say the most, so in English they stand as they
 * are; in Chinese the code says it.
 */

/** `isForeign`: the bridge's own English, where another language was chosen. */
export interface Sentence {
  readonly text: string;
  readonly isForeign?: boolean;
}

const isEnglish = (): boolean => language.value === "en";
const ofBridge = (text: string): Sentence => ({ text, isForeign: !isEnglish() });

/** An input as it was configured, in words where it has some. */
const inputText = (input: string): string =>
  input.startsWith("weather/") ? t("weather_input", { name: told(input.slice(8)) }) : input;

/** Which rule keeps something back, with its numbers, and how long. */
function ruleText(law: Pick<Interlock, "rule"> & Partial<Patched<Interlock>>): string {
  const { rule, input, value, limit, quality, until } = law;
  const own = `rule_${rule}`;
  const values = { rule, input: inputText(input ?? ""), value, limit };
  const why = isWord(own)
    ? t(own, values)
    : quality && quality !== "good"
      ? t("why_blind", { ...values, quality: told(quality) })
      : typeof limit === "number"
        ? t("why_rule", values)
        : t("why_is", {
            ...values,
            value: typeof value === "string" ? wordLabel(language.value, value) : value,
          });
  return !until ? why : `${why} ${t("why_until", { time: timeText(until, now.value) })}`;
}

/** What rules, a lock and a hold make of an actuator. */
export function limitReasons({ allowed, lock }: Partial<LimitsDocument>): readonly string[] {
  const reason = lock?.reason ? t("why_reason", { reason: lock.reason }) : "";
  const { because = [], degrees } = allowed ?? {};
  const range = degrees && degrees.max - degrees.min < 100 ? [t("allowed", { ...degrees })] : [];
  return [...because.map((one) => `${ruleText(one)} ${one.rule === "lock" ? reason : ""}`.trim()), ...range];
}

/** Of what went well the bridge says no more than that. */
const englishEndings: Readonly<Record<string, string>> = {
  confirmed: "The platform shows it.",
  already: "The platform showed it already; nothing was sent.",
};

/** How a command ended, why, and what to do. */
export function resultSentences(result: Patched<CommandResult>): readonly Sentence[] {
  const { outcome, reason, message, interlock, command, read_back: readBack, steps } = result;
  if (isEnglish()) return [ofBridge(message ?? englishEndings[outcome] ?? "")];
  const values = { code: steps.at(-1)?.code, command: commandText(command ?? null), read_back: readBack };
  const text = interlock ? ruleText(interlock) : filled(chinese[reason ?? ""] ?? chinese[outcome], values);
  const hasMore = message && [outcome, reason ?? ""].some((one) => isDetailed.has(one));
  return [{ text }, ...(hasMore ? [ofBridge(message)] : [])];
}

/** A title, and what stands below it. */
type Told = Readonly<{ title: string; sentences: readonly Sentence[] }>;

/** A topic below a controller's, or a read, in words. */
export const topicText = (topic: string): string => topic.split("/").map(told).join(" / ");

/** What an alarm's facts name, in Chinese. */
function factSentences({ guards = [], command, outcome, ends_with: end, late = [] }: AlarmFacts): string[] {
  const values = { command: commandText(command ?? null), end: commandText(end ?? null) };
  return [
    ...guards.map(({ sends, ...guard }) =>
      sends
        ? filled(chinese.guard_sends, { rule: guard.rule, command: commandText(sends) })
        : ruleText(guard),
    ),
    ...(end ? [filled(chinese.lease_ends, values)] : []),
    ...(outcome ? [filled(chinese.command_ended, { ...values, outcome: told(outcome) })] : []),
    ...(late.length > 0 ? [filled(chinese.late, { late: late.map(topicText).join("、") })] : []),
  ];
}

/** What is wrong, and what to do. */
export function alarmText({ type, message, remedy, facts }: Alarm): Told {
  const title = told(type);
  if (isEnglish()) return { title, sentences: [ofBridge(message), ofBridge(remedy)] };
  const named = factSentences(facts ?? {});
  if (facts?.carried === true)
    return { title, sentences: [...named, chinese.carried].map((text) => ({ text })) };
  const isMore =
    named.length === 0 ? !isWhole.has(type) : isDetailed.has(type) || isDetailed.has(facts?.outcome ?? "");
  const own = [...named, chinese[type]].map((text) => ({ text }));
  return { title, sentences: isMore ? [...own, ofBridge(message)] : own };
}

export type Finding = Readonly<{
  check: string;
  status: "ok" | "warning" | "failed" | "skipped";
  summary: string;
  remedy?: string;
}>;

/** What `doctor` found; what is well needs no more than its name in Chinese. */
export function findingText({ check, status, summary, remedy }: Finding): Told {
  const [kind = "", detail] = check.split(".", 2);
  const [english, other, todo] = checkTexts[check] ?? checkTexts[kind] ?? [check, check, ""];
  const name = isEnglish() ? english : other;
  const title = detail === undefined || Object.hasOwn(checkTexts, check) ? name : `${name} (${detail})`;
  const own = ofBridge([summary, ...(remedy === undefined ? [] : [remedy])].join("; "));
  if (isEnglish()) return { title, sentences: [own] };
  return { title, sentences: status === "ok" || status === "skipped" ? [] : [{ text: todo }, own] };
}

/** Why something was not done. */
export function errorSentence(body: Partial<ApiError> | null): Sentence {
  if (body === null) return { text: t("not_sent") };
  const { error = "", message = error } = body;
  const text = chinese[error];
  return isEnglish() || text === undefined ? ofBridge(message) : { text };
}

/** A command that is under way, and where it stands. */
export const phaseText = ({ command, phase }: CommandDocument): string =>
  `${commandText(command)} ${told(phase)}`;

/** Who gave a command: a person, a guard, or the end of a lease. */
export function whoText(by: string): string {
  const [kind, ...name] = by.split(" ");
  if (kind === "rule" && name.length > 0) return t("by_rule", { name: name.join(" ") });
  return kind === "lease" && name.length > 0 ? t("by_lease") : by;
}
