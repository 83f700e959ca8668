import type { Alarm, AlarmType } from "../greenhouse/limits.js";
import { amountText } from "../greenhouse/alarms.js";
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

/** A value that is shown as its topic shows it. */
export interface ShownValue {
  readonly name: string;
  readonly value: number;
  readonly unit: string | null;
}

/**
 * The sentence of an alarm, from its topic or the page's API. `shown`: the reading that it is about, for a topic's
 * alarm, which has no facts.
 */
export function alarmText({ type, message, facts }: Fields, shown: ShownValue | null = null): Text {
  const english = stringOf(message);
  const alarm = { type: type as AlarmType, message: english, facts: facts as Alarm["facts"] };
  const title = byCode(`alarm.${stringOf(type)}`, english);
  if (shown === null) return factText(alarm) ?? title;
  const named = { name: shown.name, value: amountText(shown.value, shown.unit), title };
  return factText(alarm) ?? byCode("code.reading_shown", english, named);
}

/** What to do about an alarm. */
export const remedyText = ({ type, remedy }: Fields): Text =>
  remedyOf({ type: type as AlarmType, remedy: stringOf(remedy) });
