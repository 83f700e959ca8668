import type { CommandResult } from "../greenhouse/command/outcomes.js";
import { chineseAlarms, chineseReason } from "../greenhouse/labels.js";
import type { Interlock } from "../greenhouse/limits.js";
import { now } from "./live.js";
import type { Alarm, LimitsDocument, Patched } from "./protocol.js";
import { isWord, language, t, timeText, told } from "./words.js";

/*
 * What the bridge tells in codes, as sentences. Its own sentences are English and say the most, so in English they stand as they
 * are; in Chinese the code says it.
 */

const moment = (at: string): string => timeText(at, now.value);

/** Which rule keeps something back, with its numbers, and how long. */
function ruleText({ rule, input, value, limit, quality, until }: Patched<Interlock>): string {
  const own = `rule_${rule}`;
  const values = { rule, input: input ?? "", value: String(value ?? "–"), limit: String(limit ?? "–") };
  const why = isWord(own)
    ? t(own, values)
    : quality && quality !== "good"
      ? t("why_blind", { ...values, quality: told(quality) })
      : t("why_rule", values);
  return !until ? why : `${why} ${t("why_until", { time: moment(until) })}`;
}

/** What rules, a lock and a hold make of an actuator. */
export function limitReasons({ allowed, lock }: Partial<LimitsDocument>): readonly string[] {
  const reason = lock?.reason ? t("why_reason", { reason: lock.reason }) : "";
  const { because = [], degrees } = allowed ?? {};
  const range = degrees && degrees.max - degrees.min < 100 ? [t("allowed", { ...degrees })] : [];
  return [...because.map((one) => `${ruleText(one)} ${one.rule === "lock" ? reason : ""}`.trim()), ...range];
}

/** How a command ended and what to do; empty where the outcome says all. */
export function resultText({ outcome, reason, message, interlock }: Patched<CommandResult>): string {
  const own = `did_${outcome}`;
  const general = isWord(own) ? t(own) : "";
  if (language.value === "en") return message ?? general;
  return interlock ? ruleText(interlock) : (chineseReason(reason ?? null) ?? general);
}

/** An alarm as a title and two sentences, each with its language; what the bridge itself says is English. */
export function alarmText({ type, message, remedy }: Alarm): {
  readonly title: string;
  readonly sentences: readonly (readonly [text: string, lang: string])[];
} {
  const [title, own] = chineseAlarms[type];
  return language.value === "en"
    ? { title: type.replaceAll("_", " "), sentences: [message, remedy].map((text) => [text, "en"]) }
    : {
        title,
        sentences: [
          [own, "zh-Hans"],
          [message, "en"],
        ],
      };
}
