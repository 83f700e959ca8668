import { alarmTitles } from "../greenhouse/alarms.js";
import type { Outcome, RefusalReason } from "../greenhouse/command/outcomes.js";
import type { Language } from "../greenhouse/labels.js";
import type { AlarmType } from "../greenhouse/limits.js";
import { codes } from "./locales/codes.js";

/*
 * Texts for codes of the bridge; in English the bridge writes them itself. Other languages share them with the command
 * line and messages; the page contains only that section of the language's file.
 */

/** The facts of an alarm. */
type Fact =
  "guard_sends" | "lease_ends" | "command_ended" | "late" | "carried" | "settings_because" | "notify_way";
type Reading = "reading_below" | "reading_above" | "reading_back" | "reading_unsure" | "reading_gone";
type Code = Outcome | Exclude<RefusalReason, "interlock"> | AlarmType | Fact | Reading;

/** Texts for outcomes, reasons, alarms and API errors, with what to do, and for the facts of alarms. */
type Words = Readonly<Record<`code.${Code}` | `alarm.${AlarmType}`, string> & Record<string, string>>;

const words: Readonly<Record<Exclude<Language, "en">, Words>> = codes;

type Values = Readonly<Record<string, string | number | boolean | null | undefined>>;

/** Null for English, and for a code without words in the language. A dash stands for an unknown value. */
export function saidOf(language: Language, code: string, values: Values = {}): string | null {
  const text = language === "en" ? undefined : words[language][`code.${code}`];
  const all: Values = { message: "", ...values };
  return text?.replace(/\{(\w+)\}/g, (_, name: string) => String(all[name] ?? "–")).trim() ?? null;
}

export const saidFor = (language: Language, code: Code, values: Values = {}): string =>
  saidOf(language, code, values) ?? "";

const isAlarm = (type: string): type is AlarmType => Object.hasOwn(alarmTitles, type);

/** The title of an alarm; null for anything else. */
export function alarmTitle(type: string, language: Language): string | null {
  if (!isAlarm(type)) return null;
  return language === "en" ? alarmTitles[type] : words[language][`alarm.${type}`];
}
