import type { Language } from "../greenhouse/labels.js";
import { type Alarm, isOfReading } from "../greenhouse/limits.js";
import { alarmTitle, factText, remedyText } from "../greenhouse/wording.js";
import { clauses, statements } from "../language/lists.js";
import { counted, joined, msg, row, type Text } from "../language/text.js";
import type { Tell } from "../language/words.js";
import { inert } from "../runtime/plain-text.js";
import type { Missed, Notice, ShownAlarm } from "./plan.js";

/* Makes the message of a notice. */

/** A message: a title for the phone's lock screen, and the text. */
export interface Message {
  readonly kind: "alarm" | "cleared" | "flood" | "missed" | "test" | "happened" | "daily";
  readonly severity: Alarm["severity"];
  readonly title: string;
  readonly text: string;
  /** The alarms themselves, for programs. */
  readonly alarms: readonly Omit<ShownAlarm, "facts">[];
  readonly over: readonly string[];
  /** Alarms that came and went while this way did not work, with ISO times. */
  readonly missed: readonly MissedAlarm[];
  /** When it was made; ISO time. */
  readonly at: string;
}

interface MissedAlarm extends Pick<Alarm, "id" | "type" | "severity" | "controller" | "actuator" | "sensor"> {
  readonly from: string;
  readonly until: string;
}

export interface Wording {
  /** Stands before each title; null for nothing. */
  readonly name: string | null;
  /** The language of names, units and sentences. */
  readonly language: Language;
  readonly tell: Tell;
  readonly timeZone: string;
  /** The name that people use for a controller, or for an actuator or sensor of it. */
  readonly nameOf: (controller: string, actuator: string | null, sensor?: string) => string;
}

type About = Pick<Alarm, "type" | "controller" | "actuator" | "sensor">;

export function titleOf({ type, controller, actuator, sensor }: About, { nameOf }: Wording): Text {
  const title = alarmTitle(type);
  return controller === null ? title : msg`${nameOf(controller, actuator, sensor)}: ${title}`;
}

export const timeIn = (at: string, timeZone: string): string =>
  new Date(at).toLocaleString("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" });

/** What is wrong, and what to do about it; `remedy` is null where `what` says both. */
interface Said {
  readonly what: Text;
  readonly remedy: Text | null;
}

/** The alarm's own sentences in English; in other languages its facts and remedy. */
function saidOf(alarm: ShownAlarm, { language }: Wording): Said {
  const { type, message, remedy, facts } = alarm;
  if (language === "en") return { what: facts?.said ?? message, remedy };
  const fact = factText(alarm);
  const todo = remedyText(alarm);
  if (fact === null) return { what: todo, remedy: null };
  return isOfReading(type) ? { what: fact, remedy: todo } : { what: row`${fact}${todo}`, remedy: null };
}

const whole = ({ what, remedy }: Said): Text => (remedy === null ? what : msg`${what} ${remedy}`);

/** One line of many. A reading already says what it measures and where, so its title is left out. */
function lineOf(alarms: readonly [ShownAlarm, ...ShownAlarm[]], wording: Wording): Text {
  const [{ type, controller }] = alarms;
  const { what } = saidOf(alarms[0], wording);
  if (isOfReading(type) && controller !== null) return msg`${wording.nameOf(controller, null)}: ${what}`;
  if (alarms.length === 1) return msg`${titleOf(alarms[0], wording)}. ${what}`;
  const names = alarms.slice(0, mostNamed).map((one) => wording.nameOf(one.controller ?? "", one.actuator));
  const more = alarms.length - names.length;
  const all = clauses([...names, ...(more > 0 ? [andMore(more)] : [])]);
  return msg`${msg`${all}: ${alarmTitle(type)}`}. ${what}`;
}

/** Alarms with the same words, such as those of all windows whose guards lost one wind sensor. */
function alike(alarms: readonly ShownAlarm[], wording: Wording) {
  const groups = new Map<string, [ShownAlarm, ...ShownAlarm[]]>();
  for (const one of alarms.slice(0, mostGrouped)) {
    const isAlone = isOfReading(one.type) || one.controller === null;
    const key = isAlone ? one.id : JSON.stringify([one.type, saidOf(one, wording).what]);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [one]);
    else group.push(one);
  }
  return [...groups.values()];
}

/** The remedies of all alarms, each once. */
function remediesOf(alarms: readonly ShownAlarm[], wording: Wording): readonly Text[] {
  const all = alarms.slice(0, mostListed).flatMap((one) => saidOf(one, wording).remedy ?? []);
  return [...new Map(all.map((one) => [String(one), one])).values()];
}

const mostListed = 8;
const mostNamed = 3;
const mostGrouped = 500;

const andMore = (count: number): Text => msg`and ${count} more`;

/** A list of as many lines as fit on a phone, with the number of the rest. */
function list(lines: readonly Text[], more = Math.max(0, lines.length - mostListed)): readonly Text[] {
  return [...lines.slice(0, mostListed).map((line) => row`• ${line}`), ...(more > 0 ? [andMore(more)] : [])];
}

/** The list of alarms; `all`: how many there are. */
function listOf(alarms: readonly ShownAlarm[], all: number, wording: Wording): readonly Text[] {
  const groups = alike(alarms, wording).slice(0, mostListed);
  return list(
    groups.map((group) => lineOf(group, wording)),
    all - groups.flat().length,
  );
}

const worstOf = (alarms: readonly Pick<Alarm, "severity">[]): Alarm["severity"] =>
  (["error", "warning"] as const).find((one) => alarms.some(({ severity }) => severity === one)) ?? "info";

/** Alarms as their topic has them. */
function withoutFacts(alarm: ShownAlarm): Omit<ShownAlarm, "facts"> {
  const { id, type, state, since, severity, controller, actuator, sensor, message, remedy, by } = alarm;
  const of = { controller, actuator, ...(sensor !== undefined && { sensor }) };
  return { id, type, state, since, severity, ...of, message, remedy, by };
}

/** The missed alarms in one line, as many as fit on a phone. */
function missedLine({ since, until: end, hasGaps, alarms }: Missed, at: number, wording: Wording): Text {
  const time = (epochMs: number) => timeIn(new Date(epochMs).toISOString(), wording.timeZone);
  const shown = alarms.slice(0, mostListed).map((one) => {
    const until = one.until === null ? "" : ` – ${time(one.until)}`;
    return row`${titleOf(one, wording)} (${time(one.from)}${until})`;
  });
  const more = alarms.length - shown.length;
  const came = statements([...shown, ...(more > 0 ? [andMore(more)] : [])]);
  const [from, to] = [time(since), time(end ?? at)];
  return hasGaps === true
    ? msg`From ${from} to ${to} few messages got out this way. Came and went meanwhile: ${came}.`
    : msg`From ${from} to ${to} no message got out this way. Came and went meanwhile: ${came}.`;
}

const withIsoTimes = ({ from, until, ...alarm }: Missed["alarms"][number], at: number): MissedAlarm => ({
  ...alarm,
  from: new Date(from).toISOString(),
  until: new Date(until ?? at).toISOString(),
});

/**
 * The message of a notice. `on`: all alarms that are on, for a flood, the worst first. Names come from outside, so
 * characters that a phone would obey are shown by their codes, such as those that turn the direction of a line.
 */
export function messageOf(notice: Notice, on: readonly ShownAlarm[], at: number, wording: Wording): Message {
  const { raised, over, missed } = notice;
  const facts = {
    alarms: raised.map(withoutFacts),
    over: over.map(({ id }) => id),
    missed: missed?.alarms.map((one) => withIsoTimes(one, at)) ?? [],
    at: new Date(at).toISOString(),
  };
  const { title, lines, ...rest } =
    raised.length > 0
      ? raisedMessage(notice, on, wording)
      : over.length > 0
        ? overMessage(over, wording)
        : missedMessage(missed?.alarms ?? [], wording);
  const meanwhile = missed === null ? [] : [missedLine(missed, at, wording)];
  return { ...facts, ...rest, ...phoneText(title, [...lines, ...meanwhile], wording) };
}

/** Title and text as a phone shows them. */
export const phoneText = (title: Text, lines: readonly Text[], { name, tell }: Wording) => ({
  title: inert(tell(name === null ? title : msg`${name}: ${title}`)),
  text: inert(tell(joined(lines, "\n"))),
});

interface Raised extends Pick<Message, "kind" | "severity"> {
  readonly title: Text;
  readonly lines: readonly Text[];
}

const overLines = (over: Notice["over"], wording: Wording): readonly Text[] =>
  over.map((one) => msg`${msg`Over`}: ${titleOf(one, wording)}`);

function overMessage(over: Notice["over"], wording: Wording): Raised {
  const lines = overLines(over, wording);
  const [only = ""] = lines;
  const isOne = lines.length === 1;
  return {
    ...{ kind: "cleared", severity: "info" },
    title: isOne ? only : row`${msg`Over`} (${lines.length})`,
    lines: isOne ? [only] : list(lines),
  };
}

function missedMessage(alarms: Missed["alarms"], wording: Wording): Raised {
  const [first] = alarms;
  const what =
    alarms.length === 1 && first ? titleOf(first, wording) : counted(alarms.length, "alarm", "alarms");
  return { kind: "missed", severity: "info", title: msg`${msg`Missed`}: ${what}`, lines: [] };
}

function raisedMessage({ raised, over, flood }: Notice, on: readonly ShownAlarm[], wording: Wording): Raised {
  const [first] = raised;
  if (first === undefined) return { kind: "alarm", severity: "info", title: "", lines: [] };
  const severity = worstOf(raised);
  const time = msg`Since ${timeIn(first.since, wording.timeZone)}.`;
  const ended = overLines(over, wording);
  const title = titleOf(first, wording);
  if (flood !== null) return { severity, ...floodMessage(first, on, flood, [...ended, time], wording) };
  if (raised.length === 1)
    return {
      ...{ kind: "alarm", severity, title },
      lines: [whole(saidOf(first, wording)), ...ended, time],
    };
  const each = listOf(raised, raised.length, wording);
  return {
    ...{ kind: "alarm", severity },
    title: msg`${counted(raised.length, "alarm", "alarms")}: ${title}`,
    lines: [...each, ...remediesOf(raised, wording), ...ended, time],
  };
}

/**
 * The message of a flood. Alarms of one type show their own remedies; alarms of several types show the flood's, as they
 * have a common cause.
 */
function floodMessage(
  flood: ShownAlarm,
  on: readonly ShownAlarm[],
  count: number,
  last: readonly Text[],
  wording: Wording,
): Pick<Raised, "kind" | "title" | "lines"> {
  const [worst = flood] = on;
  const isOfOneType = on.every(({ type }) => type === worst.type);
  const remedies = isOfOneType ? remediesOf(on, wording) : [];
  const own = saidOf(flood, wording);
  const cause = remedies.length === 0 ? [whole(own)] : own.remedy === null ? [] : [own.what];
  return {
    kind: "flood",
    title: msg`${counted(count, "alarm", "alarms")}: ${titleOf(worst, wording)}`,
    lines: [
      msg`${count} alarms are on. The worst:`,
      ...listOf(on, count, wording),
      ...remedies,
      ...cause,
      ...last,
    ],
  };
}

export function testMessage(way: string, at: number, wording: Wording): Message {
  const works = msg`This is how alarms will reach you (way “${way}”). Nothing is wrong.`;
  return {
    ...{ kind: "test", severity: "info" },
    ...phoneText(msg`Test message`, [works], wording),
    ...{ alarms: [], over: [], missed: [], at: new Date(at).toISOString() },
  };
}
