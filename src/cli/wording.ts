import type { Alarm, AlarmType } from "../greenhouse/limits.js";
import { factText, remedyText as remedyOf } from "../greenhouse/wording.js";
import { byCode, type Text } from "../language/text.js";

/* What a running bridge answers, as a person of any language reads it. */

type Fields = Readonly<Record<string, unknown>>;
const stringOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** What the words of a code may put in, and an error does not name. */
const unknown = { code: "–", command: "–", read_back: "–" };

/** What it refuses, with why. */
export function refusalText({ error, message }: Fields): Text {
  const english = stringOf(message ?? error);
  return typeof error === "string" && /^\w+$/.test(error)
    ? byCode(`code.${error}`, english, { message: english, ...unknown })
    : english;
}

/** What an alarm is about, as its topic and the page's API have it. */
export function alarmText({ type, message, facts }: Fields): Text {
  const english = stringOf(message);
  const alarm = { type: type as AlarmType, message: english, facts: facts as Alarm["facts"] };
  return factText(alarm) ?? byCode(`alarm.${stringOf(type)}`, english);
}

/** What is to be done about it. */
export const remedyText = ({ type, remedy }: Fields): Text =>
  remedyOf({ type: type as AlarmType, remedy: stringOf(remedy) });
