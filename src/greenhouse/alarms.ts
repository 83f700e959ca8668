import type { AlarmType, ReadingFact } from "./limits.js";

/* Titles and sentences of alarms, for the page and for messages. */

export const alarmTitles: Readonly<Record<AlarmType, string>> = {
  reading_low: "Too low",
  reading_high: "Too high",
  guard_blind: "A guard has no value",
  guard_unmet: "A guard was not obeyed",
  lease_overrun: "Runs for too long",
  command_problem: "A command went wrong",
  not_running: "Commanded on, and does not run",
  readings_overdue: "Readings are late",
  controller_offline: "Controller offline",
  platform_unreachable: "Platform not reached",
  unauthorized: "Sign-in refused",
  journal_unavailable: "The journal cannot be written",
  cluster: "The cluster does not answer",
  other_bridge: "Another bridge",
  state_lost: "Kept state is lost",
  crash_loop: "The bridge ended again and again",
  notify_failed: "Messages do not get out",
  settings_returned: "Settings were taken back",
  birth_too_large: "Too large for Sparkplug",
  duplicate_node: "Another Sparkplug node of this name",
  flood: "Very many alarms",
};

/** The sentence for a reading that cannot be judged as usual; empty otherwise. */
export function unsureSentence({ quality, gone }: Pick<ReadingFact, "quality" | "gone">): string {
  if (gone === true)
    return " This alarm ends: the controller has answered for a day without this sensor, so it was renamed, removed or is not shown any more.";
  return quality === "good"
    ? ""
    : ` Its newest reading is ${quality}, so it is not known whether this is so still.`;
}

type ReadingType = "reading_low" | "reading_high";

/** Whether a value is beyond the limit of its alarm. Within the deadband an alarm stays on although it is not. */
export const isBeyond = (
  type: ReadingType,
  { value, limit }: Pick<ReadingFact, "value" | "limit">,
): boolean => (type === "reading_low" ? value < limit : value > limit);

/** The code of a reading alarm's sentence. */
export function readingCode(type: ReadingType, fact: Pick<ReadingFact, "value" | "limit">) {
  if (!isBeyond(type, fact)) return "reading_back";
  return type === "reading_low" ? "reading_below" : "reading_above";
}

/** The sentence of a reading alarm, as on its topic. */
export function readingSentence(
  type: ReadingType,
  { name, value, limit, unit, ...now }: ReadingFact,
): string {
  const how = {
    reading_below: `, below ${amountText(limit, unit)}`,
    reading_above: `, above ${amountText(limit, unit)}`,
    reading_back: ` again; the limit is ${amountText(limit, unit)}`,
  }[readingCode(type, { value, limit })];
  return `${name.en} is ${amountText(value, unit)}${how}.${unsureSentence(now)}`;
}

export const amountText = (value: number, unit: string | null): string =>
  `${value}${unit === null ? "" : unit === "%" ? "%" : ` ${unit}`}`;
