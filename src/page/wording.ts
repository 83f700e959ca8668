import { alarmTitles } from "../greenhouse/alarms.js";
import type { Outcome, RefusalReason } from "../greenhouse/command/outcomes.js";
import type { Language } from "../greenhouse/labels.js";
import type { AlarmType } from "../greenhouse/limits.js";
import { codes } from "./locales/codes.js";

/*
 * What the bridge tells by a code: in English it says it itself. The words of another language are those of the command line and of
 * messages, too; of its file only their section is in the page.
 */

/** What an alarm's facts tell. */
type Fact = "guard_sends" | "lease_ends" | "command_ended" | "late" | "carried" | "settings_because";
type Reading = "reading_below" | "reading_above" | "reading_back" | "reading_unsure" | "reading_gone";
type Code = Outcome | Exclude<RefusalReason, "interlock"> | AlarmType | Fact | Reading;

/** What an outcome, its reason, an alarm or an error of the API means, what to do, and what an alarm's facts are. */
type Words = Readonly<Record<`code.${Code}` | `alarm.${AlarmType}`, string> & Record<string, string>>;

const words: Readonly<Record<Exclude<Language, "en">, Words>> = codes;

type Values = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Null for a code without words in the language, and in English. A dash stands for what is not known. */
export function saidOf(language: Language, code: string, values: Values = {}): string | null {
  const text = language === "en" ? undefined : words[language][`code.${code}`];
  const all: Values = { message: "", ...values };
  return text?.replace(/\{(\w+)\}/g, (_, name: string) => String(all[name] ?? "–")).trim() ?? null;
}

export const saidFor = (language: Language, code: Code, values: Values = {}): string =>
  saidOf(language, code, values) ?? "";

const isAlarm = (type: string): type is AlarmType => Object.hasOwn(alarmTitles, type);

/** What an alarm is called; null for what is none. */
export function alarmTitle(type: string, language: Language): string | null {
  if (!isAlarm(type)) return null;
  return language === "en" ? alarmTitles[type] : words[language][`alarm.${type}`];
}
