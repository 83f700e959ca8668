import type { CommandResult } from "./command/outcomes.js";
import { alarmTitles, amountText, readingCode, readingSentence, unsureSentence } from "./alarms.js";
import {
  type Alarm,
  type AlarmFacts,
  type AlarmType,
  type Guard,
  type Interlock,
  isGuard,
  type ReadingFact,
} from "./limits.js";
import { byCode, changed, joined, msg, row, Sentence, type Text, word } from "../language/text.js";

/*
 * Texts for codes from a running bridge or the journal, which come with an English sentence. English shows that
 * sentence; another language has its own words for the code, as on the page.
 */

/** A word that Chinese readers see as a label. */
const label = (english: string): Text => word(english, `state.${english}`);

/** A command: a word or a degree. */
export const commandText = (command: string): Text =>
  /^\d+$/.test(command) ? `${command} %` : label(command);

const valueText = (value: unknown): Text =>
  Array.isArray(value)
    ? joined(value.map(valueText), " / ")
    : typeof value === "string"
      ? label(value)
      : typeof value === "number" || typeof value === "boolean"
        ? String(value)
        : "–";

const isText = (limit: Interlock["limit"]): boolean => [limit].flat().some((one) => typeof one === "string");

/** The code of a guard's sentence. `waits`: it has no value any more and waits. */
function guardCode({ value, limit, quality }: Interlock, waits: boolean): string {
  if ((quality !== null && quality !== "good") || value === null) return "rule.guard_blind";
  if (limit === true) return waits ? "rule.guard_moved" : "rule.guard_moves";
  if (waits) return "rule.guard_waits";
  return isText(limit) ? "rule.guard_is" : "rule.guard";
}

/** What a guard looks at: a weather value by its name, anything else as the configuration names it. */
function inputText(input: string): Text {
  const [, weather] = /^weather\/(.+)$/.exec(input) ?? [];
  return weather === undefined ? input : weatherName(weather);
}

/** The missing value of a guard, or the reason why a command is stopped. */
function ruleText(interlock: Interlock, english: string, timeZone?: string): Text {
  const { rule, input, value, limit, quality, until } = interlock;
  const isOfGuard = isGuard(rule);
  const named = {
    ...{ rule, input: inputText(input ?? ""), limit: valueText(limit), quality: word(quality ?? "unknown") },
    value: isOfGuard ? valueText(value) : String(value ?? "–"),
  };
  const own = rule === "hold" && value === null ? "rule.hold_unnamed" : `rule.${rule}`;
  const why = byCode(isOfGuard ? guardCode(interlock, until !== null) : own, english, named);
  if (until === null) return why;
  const time = new Date(until).toLocaleString("sv-SE", { timeZone });
  return row`${why}${byCode("rule.until", "", { until: time })}`;
}

/** Reasons that explain more than their outcome. */
const tellingReasons: ReadonlySet<string | null> = new Set([
  ...["retained", "expired", "no_age", "no_sender", "clock", "duplicate", "bad_payload", "unknown_actuator"],
  ...["unknown_command", "out_of_range", "read_only", "controller_offline", "platform_unavailable"],
  ...["no_read_back", "journal_unavailable", "overloaded", "other_bridge", "shutting_down", "not_sent"],
  ...["unauthorized", "before_sending", "after_sending", "mode_not_confirmed", "lead_in_not_confirmed"],
  "expired_midway",
]);

type Ended = Pick<CommandResult, "outcome" | "reason" | "command"> &
  Partial<Pick<CommandResult, "interlock" | "read_back" | "steps">>;

/** The end of a command for `resultSentence`; `timeZone` is the machine's by default. */
export const endedText =
  (ended: Ended, timeZone?: string) =>
  (message: Text): Text =>
    // A sentence that is still translatable says the most.
    message instanceof Sentence ? message : endText(ended, message, timeZone);

function endText({ outcome, reason, command, ...more }: Ended, message: string, timeZone?: string): Text {
  const { interlock = null, read_back: readBack = null, steps = [] } = more;
  if (interlock !== null) return ruleText(interlock, message, timeZone);
  const code = steps.at(-1)?.code ?? "–";
  const named = { code, message, command: command ?? "–", read_back: readBack ?? "–" };
  return byCode(`code.${reason !== null && tellingReasons.has(reason) ? reason : outcome}`, message, named);
}

export const alarmTitle = (type: AlarmType): Text => word(alarmTitles[type], `alarm.${type}`);

/** A name with two languages. */
export const namedIn = ({ en, zh }: ReadingFact["name"]): Text => byCode("name", en, { en, zh });

/** The name of a `weather` value, from the configuration. */
export const weatherName = (name: string): Text => word(name.replaceAll("_", " "), name);

const inputCode = "guard_input";

/** What a guard looks at, in a sentence: for programs as it is configured. */
export const guardInput = ({ input, from }: Pick<Guard, "input" | "from">): Text =>
  input.type === "weather" ? byCode(inputCode, from, { name: weatherName(input.name) }) : from;

const capitalised = (said: string): string => said.charAt(0).toUpperCase() + said.slice(1);

/** The text for people, who know what guards look at by its name. */
export function withInputNames(text: Text, isFirst = true): Text {
  if (typeof text === "string") return text;
  const name = text.template === inputCode ? text.named?.["name"] : undefined;
  if (name !== undefined && typeof name !== "number") return isFirst ? changed(name, capitalised) : name;
  let begins = isFirst && text.parts[0] === "";
  return text.withValues((value) => {
    const isBeginning = begins;
    begins = false;
    return typeof value === "number" ? value : withInputNames(value, isBeginning);
  });
}

/** The text of a reading alarm. */
function readingText(type: "reading_low" | "reading_high", fact: ReadingFact): Text {
  const { name, value, limit, unit, quality, gone } = fact;
  const said = byCode(
    `code.${readingCode(type, fact)}`,
    readingSentence(type, { name, value, limit, unit, quality: "good" }),
    { name: namedIn(name), value: amountText(value, unit), limit: amountText(limit, unit) },
  );
  const unsure = unsureSentence({ quality, gone });
  if (unsure === "") return said;
  const code = gone === true ? "code.reading_gone" : "code.reading_unsure";
  return row`${said}${byCode(code, unsure, { quality: word(quality) })}`;
}

type Told = Pick<Alarm, "type" | "message"> & { readonly facts?: AlarmFacts | undefined };

type GuardFact = NonNullable<AlarmFacts["guards"]>[number];

const guardText = ({ sends, ...guard }: GuardFact, message: string): Text =>
  sends
    ? byCode("code.guard_sends", message, { rule: guard.rule, command: commandText(sends) })
    : ruleText({ ...guard, ...unsaid }, message);

const unsaid = { value: null, limit: null, until: null };

/** Joins texts that form one sentence in English. */
const together = (english: string, texts: readonly Text[]): Text =>
  texts.length === 1 ? (texts[0] ?? english) : byCode("together", english, { texts: joined(texts, "") });

/** The facts of an alarm beside its type; null where the type says everything. */
export function factText({ type, message, facts = {} }: Told): Text | null {
  const { guards = [], command, outcome, ends_with: end, late = [], reading, locked_by: locker } = facts;
  const { ways = [], why } = facts;
  if (reading !== undefined && (type === "reading_low" || type === "reading_high"))
    return readingText(type, reading);
  if (guards.length > 0) {
    const lock = { rule: "lock", input: null, quality: null, ...unsaid, value: locker ?? null };
    const locked = locker === undefined ? [] : [ruleText(lock, message)];
    return together(message, [...guards.map((one) => guardText(one, message)), ...locked]);
  }
  if (ways.length > 0)
    return together(
      message,
      ways.map(({ name: way, service, problem }) =>
        byCode("code.notify_way", message, { way, service, problem }),
      ),
    );
  if (why !== undefined) return byCode("code.settings_because", message, { why });
  const named = { command: commandText(command ?? "–") };
  if (command && end) return byCode("code.lease_ends", message, { ...named, end: commandText(end) });
  if (command && outcome) return byCode("code.command_ended", message, { ...named, outcome: word(outcome) });
  return late.length > 0 ? byCode("code.late", message, { late: joined(late, ", ") }) : null;
}

export const remedyText = ({ type, remedy }: Pick<Alarm, "type" | "remedy">): Text =>
  byCode(`code.${type}`, remedy);

/** Who changed which settings. */
export const settingsText = (by: string | null, keys: string): Text =>
  msg`${by ?? msg`Somebody`} changed the settings: ${keys}`;

/** Who made the bridge read-only for this run, or lets commands pass again. */
export const readOnlyText = (by: string | null, isReadOnly: boolean): Text =>
  isReadOnly
    ? msg`${by ?? msg`Somebody`} made the bridge read-only for this run: every command is refused.`
    : msg`${by ?? msg`Somebody`} let commands pass for this run; commands.read_only counts again after a restart.`;
