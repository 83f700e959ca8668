import { now } from "./live.js";
import type { ControllerView, TimelineEntry } from "./protocol.js";
import { clockText, commandText, isWord, stateWordText, t, codeText, wordLabel } from "./words.js";

/* Events in a few words. */

export type { TimelineEntry };

/** The kinds to choose from, the most wanted first. */
export const timelineKinds = [
  "command",
  "rule",
  "guard",
  "lock",
  "hold",
  "lease",
  "alarm",
  "login",
  "change",
  "system",
] as const;

const stateText = (state: string | null | undefined) =>
  /^\d+$/.test(state ?? "") ? stateWordText(state ?? "") : wordLabel(state ?? "–");

/** What happened, without who and where. */
export function whatText(entry: TimelineEntry): string {
  const { type, result, what, until, alarm, from, to, user, changes, count, value } = entry;
  if (result) return commandText(result.command);
  const values = {
    what: entry.kind === "lease" ? commandText(what ?? null) : what ? codeText(what) : "",
    until: until ? t("until", { time: clockText(until, now.peek()) }) : "",
    alarm: codeText(alarm ?? ""),
    from: stateText(from),
    to: stateText(to),
    user: user ?? "",
    changes: changes?.join(", ") ?? "",
    count,
    value,
  };
  const word = `happened_${type}`;
  return (isWord(word) ? t(word, values) : codeText(type)).trim();
}

/** The text of a mark in a plot: what happened, to what, and by whom. */
export function entryText(entry: TimelineEntry, { actuators, parameters }: ControllerView): string {
  const id = entry.result?.actuator ?? entry.actuator ?? "";
  const name = actuators[id]?.name ?? parameters[id]?.name ?? id;
  const by = entry.result?.by ?? entry.by;
  const outcome = entry.result ? ` (${codeText(entry.result.outcome)})` : "";
  return `${name} ${whatText(entry)}${outcome}${by ? `, ${by}` : ""}`.trim();
}
