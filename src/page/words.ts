import type { page as english } from "../../locales/en.json";
import { signal } from "@preact/signals";
import type { Outcome } from "../greenhouse/command/outcomes.js";
import { type Language, languages, readable } from "../greenhouse/labels.js";
import type { Availability, PlatformState, Quality } from "../greenhouse/model.js";
import type { CommandDocument } from "./protocol.js";
import { page, states as wordLabels, words as codeWords } from "./locales/main.js";
import { alarmTitle } from "./wording.js";

const kept = "greenhouse2mqtt-language";
const wanted =
  typeof localStorage === "undefined" ? "en" : (localStorage.getItem(kept) ?? navigator.language);

export const language = signal<Language>(languages.find((one) => wanted.startsWith(one)) ?? "en");

export function speak(chosen: Language): void {
  language.value = chosen;
  localStorage.setItem(kept, chosen);
}

export type Word = keyof typeof english;

/** Every text of the page. */
const complete: Readonly<Record<Language, Readonly<Record<Word, string>>>> = page;
/** As the build leaves them: without texts that English makes from a word anyway. */
const words: Readonly<Record<Language, Readonly<Partial<Record<Word, string>>>>> = complete;

export const isWord = (text: string): text is Word => Object.hasOwn(page.zh, text);

type Value = string | number | boolean | null | undefined;
export type Values = Readonly<Record<string, Value | readonly Value[]>>;

/** A dash stands for an unknown value. */
export const fill = (text: string, values: Values): string =>
  text.replace(/\{(\w+)\}/g, (_, name: string) => String(values[name] ?? "–"));

/** A text in the chosen language. */
export const t = (word: Word, values: Values = {}): string =>
  fill(words[language.value][word] ?? readable(word), values);

type Shown = Outcome | CommandDocument["phase"] | PlatformState | Availability | Quality;
type Codes = Readonly<Record<Shown, string> & Record<string, string>>;

/** One word for each code. */
const codes: Readonly<Record<Language, Codes>> = codeWords;

/** A code of the bridge as a word; unchanged if there is no text for it. */
export const codeText = (code: string): string =>
  codes[language.value][code] ?? alarmTitle(code, language.value) ?? code.replaceAll("_", " ");

const states: Readonly<Record<Language, Readonly<Record<string, string>>>> = wordLabels;

/** The label of a command word or state; a configured word stays as written. */
export const wordLabel = (word: string): string =>
  states[language.value][`state.${word}`] ?? (language.value === "en" ? readable(word) : word);

/** The label of a command word, a degree, or anything else that was sent. */
export const commandText = (command: string | number | null): string =>
  /^\d+$/.test(String(command)) ? `${command} %` : wordLabel(String(command ?? "–"));

/** A weather value that is no number. */
export function weatherText(name: string, value: string): string {
  if (!name.endsWith("rain")) return commandText(value);
  return value === "on" ? t("raining") : value === "off" ? t("dry") : commandText(value);
}

/** A state within a sentence: a word or a degree. */
export function stateWordText(state: string): string {
  if (/^\d+$/.test(state)) return t("at_degree", { degree: state });
  const word = wordLabel(state);
  return language.value === "en" ? word.toLowerCase() : word;
}

/** The value rounded for a glance. */
export function roundedText(value: number | string | null): number | string | null {
  if (typeof value !== "number") return value;
  const size = Math.abs(value);
  const factor = size >= 100 ? 1 : size >= 1 ? 10 : 100;
  return Math.round(value * factor) / factor;
}

/** Locales for times and numbers, where the language alone is ambiguous. */
const locales: Readonly<Record<string, string>> = { en: "en-GB", zh: "zh-CN" };
const locale = () => locales[language.value] ?? language.value;

/** Sorts numbers by value: 2 before 10. */
export const collator = new Intl.Collator(undefined, { numeric: true });

export const numberText = (value: number | string): string =>
  typeof value === "number"
    ? new Intl.NumberFormat(locale(), { maximumFractionDigits: 3 }).format(value)
    : value;

function momentText(at: string | number, now: number, clock: Intl.DateTimeFormatOptions): string {
  const date = new Date(at);
  const isToday = date.toDateString() === new Date(now).toDateString();
  const day = isToday ? {} : ({ day: "numeric", month: "short" } as const);
  return new Intl.DateTimeFormat(locale(), { ...day, ...clock }).format(date);
}

const minutes = { hour: "2-digit", minute: "2-digit" } as const;

/** A moment; without the date if it is today. */
export const timeText = (at: string | number, now: number): string =>
  momentText(at, now, { ...minutes, second: "2-digit" });

/** A moment without its seconds. */
export const clockText = (at: string | number, now: number): string => momentText(at, now, minutes);

/** Units with their seconds, and the number of seconds after which they begin anew. */
const units = [
  ["day", 86_400, Infinity],
  ["hour", 3_600, 86_400],
  ["minute", 60, 3_600],
  ["second", 1, 60],
] as const;

/** Days, hours and minutes; with seconds below an hour. */
export const lengthText = (seconds: number): string =>
  units
    .map(([unit, size, most]) => [Math.floor((Math.round(seconds) % most) / size), unit] as const)
    .filter(([count, unit]) => count > 0 && (unit !== "second" || seconds < 3_600))
    .map(([count, unit]) =>
      Intl.NumberFormat(locale(), { style: "unit", unit, unitDisplay: "short" }).format(count),
    )
    .join(" ");

/** The seconds of a duration such as `15m`. */
export const durationSeconds = (duration: string): number =>
  parseInt(duration, 10) * (units.find(([unit]) => duration.endsWith(unit.charAt(0)))?.[1] ?? 1);

export const durationText = (duration: string): string => lengthText(durationSeconds(duration));

/** How long ago, in the largest full unit. `isOver`: the state may be outdated, so "now" is not used. */
export function ageText(at: string | null, now: number, isOver = false): string {
  if (at === null) return t("never");
  const seconds = Math.max(Number(isOver), Math.round((now - Date.parse(at)) / 1000));
  if (seconds < 10 && !isOver) return t("just_now");
  const [unit, size] = units.find(([, of]) => seconds >= of) ?? units[3];
  const format = new Intl.RelativeTimeFormat(locale(), { style: "narrow", numeric: "always" });
  return format.format(-Math.floor(seconds / size), unit);
}
