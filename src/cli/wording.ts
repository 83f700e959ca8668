import type { Alarm, AlarmType } from "../greenhouse/limits.js";
import { factText, remedyText as remedyOf } from "../greenhouse/wording.js";
import { byCode, type Text } from "../language/text.js";

/* Answers of a running bridge, in words of any language. */

type Fields = Readonly<Record<string, unknown>>;
const stringOf = (value: unknown): string => (typeof value === "string" ? value : "");

/** Placeholders of a code's sentence that an error gives no value for. */
const unknown = { code: "–", command: "–", read_back: "–" };

/** A refusal, with its reason. */
export function refusalText({ error, message }: Fields): Text {
  const english = stringOf(message ?? error);
  return typeof error === "string" && /^\w+$/.test(error)
    ? byCode(`code.${error}`, english, { message: english, ...unknown })
    : english;
}

/** The sentence of an alarm, from its topic or the page's API. */
export function alarmText({ type, message, facts }: Fields): Text {
  const english = stringOf(message);
  const alarm = { type: type as AlarmType, message: english, facts: facts as Alarm["facts"] };
  return factText(alarm) ?? byCode(`alarm.${stringOf(type)}`, english);
}

/** What to do about an alarm. */
export const remedyText = ({ type, remedy }: Fields): Text =>
  remedyOf({ type: type as AlarmType, remedy: stringOf(remedy) });
