import { alarmTitles, chineseAlarms, readingSentence } from "../greenhouse/alarms.js";
import { type Language, wordLabel } from "../greenhouse/labels.js";
import type { Alarm, AlarmFacts } from "../greenhouse/limits.js";
import { inert } from "../runtime/plain-text.js";
import type { Missed, Notice, ShownAlarm } from "./plan.js";

/* What a notice says to people, in both languages. */

/** As a way sends it: a line for the phone's lock screen, and the rest. */
export interface Message {
  readonly kind: "alarm" | "cleared" | "flood" | "missed" | "test" | "happened" | "daily";
  readonly severity: Alarm["severity"];
  readonly title: string;
  readonly text: string;
  /** For programs. */
  readonly alarms: readonly Omit<ShownAlarm, "facts">[];
  readonly over: readonly string[];
  /** Those that came and went while nothing got out this way, with ISO times. */
  readonly missed: readonly MissedAlarm[];
  /** ISO time. */
  readonly at: string;
}

interface MissedAlarm extends Pick<Alarm, "id" | "type" | "severity" | "controller" | "actuator" | "sensor"> {
  readonly from: string;
  readonly until: string;
}

export interface Wording {
  /** Before each title; null for nothing. */
  readonly name: string | null;
  readonly language: Language;
  readonly timeZone: string;
  /** What people call a controller or an actuator of it. */
  readonly nameOf: (controller: string, actuator: string | null, sensor?: string) => string;
}

const texts = {
  over: ["Over", "已解除"],
  alarms: ["{n} alarms", "{n} 条报警"],
  flood: ["{n} alarms are on. The worst:", "当前共有 {n} 条报警，最严重的有："],
  more: ["and {n} more", "另有 {n} 条"],
  since: ["Since {time}.", "自 {time} 起。"],
  missed: ["Missed", "未能送达"],
  meanwhile: [
    "From {from} to {to} no message got out this way. Came and went meanwhile: {alarms}.",
    "{from} 至 {to} 期间消息未能经此方式送出，其间发生并已解除：{alarms}。",
  ],
  test: ["Test message", "测试消息"],
  works: [
    "This is how alarms will reach you (way “{way}”). Nothing is wrong.",
    "报警将以此方式（{way}）送达。目前没有异常。",
  ],
} as const;

function say({ language }: Wording, key: keyof typeof texts, values: Readonly<Record<string, string>> = {}) {
  const text = texts[key][language === "zh" ? 1 : 0];
  return Object.entries(values).reduce<string>(
    (said, [name, value]) => said.replace(`{${name}}`, () => value),
    text,
  );
}

type About = Pick<Alarm, "type" | "controller" | "actuator" | "sensor">;

export function titleOf({ type, controller, actuator, sensor }: About, wording: Wording): string {
  const title = alarmTitles[type][wording.language === "zh" ? 1 : 0];
  return controller === null ? title : `${wording.nameOf(controller, actuator, sensor)}: ${title}`;
}

const timeIn = (at: string, timeZone: string): string =>
  new Date(at).toLocaleString("sv-SE", { timeZone, dateStyle: "short", timeStyle: "short" });

/** What an alarm names beside its type, for who does not read the bridge's English. */
function causeOf({ guards = [], command, ends_with: end, late = [] }: AlarmFacts): string {
  const label = (word: string) => wordLabel("zh", word);
  return [
    ...guards.map(({ rule, input }) => `限制“${rule}”（${input}）`),
    ...(command ? [`命令“${label(command)}”`] : []),
    ...(end ? [`应以“${label(end)}”结束`] : []),
    ...late,
  ].join("、");
}

function sentenceOf({ type, message, remedy, facts }: ShownAlarm, { language }: Wording): string {
  if (language === "en") return `${message} ${remedy}`;
  if (facts?.reading && (type === "reading_low" || type === "reading_high"))
    return `${readingSentence(type, facts.reading, "zh")}${chineseAlarms[type]}`;
  const about = causeOf(facts ?? {});
  return `${about === "" ? "" : `${about}：`}${chineseAlarms[type]}`;
}

const mostListed = 8;

/** As many as fit on a phone, each in a line. */
function list(lines: readonly string[], wording: Wording, all = lines.length): string[] {
  const more = all - Math.min(lines.length, mostListed);
  const rest = more > 0 ? [say(wording, "more", { n: String(more) })] : [];
  return [...lines.slice(0, mostListed).map((line) => `• ${line}`), ...rest];
}

const worstOf = (alarms: readonly Pick<Alarm, "severity">[]): Alarm["severity"] =>
  (["error", "warning"] as const).find((one) => alarms.some(({ severity }) => severity === one)) ?? "info";

/** As their topic has them. */
function withoutFacts(alarm: ShownAlarm): Omit<ShownAlarm, "facts"> {
  const { id, type, state, since, severity, controller, actuator, sensor, message, remedy, by } = alarm;
  const of = { controller, actuator, ...(sensor !== undefined && { sensor }) };
  return { id, type, state, since, severity, ...of, message, remedy, by };
}

/** In one line, as many as fit on a phone. */
function missedLine({ since, alarms }: Missed, at: number, wording: Wording): string {
  const time = (epochMs: number) => timeIn(new Date(epochMs).toISOString(), wording.timeZone);
  const shown = alarms.slice(0, mostListed).map((one) => {
    const until = one.until === null ? "" : ` – ${time(one.until)}`;
    return `${titleOf(one, wording)} (${time(one.from)}${until})`;
  });
  const more = alarms.length - shown.length;
  const rest = more > 0 ? [say(wording, "more", { n: String(more) })] : [];
  return say(wording, "meanwhile", {
    ...{ from: time(since), to: time(at) },
    alarms: [...shown, ...rest].join(wording.language === "zh" ? "；" : "; "),
  });
}

const withIsoTimes = ({ from, until, ...alarm }: Missed["alarms"][number], at: number): MissedAlarm => ({
  ...alarm,
  from: new Date(from).toISOString(),
  until: new Date(until ?? at).toISOString(),
});

/** `on`: all alarms that are on, for a flood, the worst first. Names come from outside: nothing in them may turn a line of a phone round. */
export function messageOf(notice: Notice, on: readonly ShownAlarm[], at: number, wording: Wording): Message {
  const message = noticeMessage(notice, on, at, wording);
  return { ...message, title: inert(message.title), text: inert(message.text) };
}

function noticeMessage(notice: Notice, on: readonly ShownAlarm[], at: number, wording: Wording): Message {
  const { raised, over, missed } = notice;
  const facts = {
    alarms: raised.map(withoutFacts),
    over: over.map(({ id }) => id),
    missed: missed?.alarms.map((one) => withIsoTimes(one, at)) ?? [],
    at: new Date(at).toISOString(),
  };
  const { title, text, ...rest } =
    raised.length > 0
      ? raisedMessage(notice, on, wording)
      : over.length > 0
        ? overMessage(over, wording)
        : missedMessage(missed?.alarms ?? [], wording);
  const meanwhile = missed === null ? [] : [missedLine(missed, at, wording)];
  return {
    ...facts,
    ...rest,
    title: wording.name === null ? title : `${wording.name}: ${title}`,
    text: [...(text === "" ? [] : [text]), ...meanwhile].join("\n"),
  };
}

type Said = Pick<Message, "kind" | "severity" | "title" | "text">;

const finished = (over: Notice["over"], wording: Wording): readonly string[] =>
  over.map((one) => `${say(wording, "over")}: ${titleOf(one, wording)}`);

function overMessage(over: Notice["over"], wording: Wording): Said {
  const lines = finished(over, wording);
  const [only = ""] = lines;
  const text = lines.length === 1 ? only : list(lines, wording).join("\n");
  const title = lines.length === 1 ? only : `${say(wording, "over")} (${lines.length})`;
  return { kind: "cleared", severity: "info", title, text };
}

function missedMessage(alarms: Missed["alarms"], wording: Wording): Said {
  const [first] = alarms;
  const what =
    alarms.length === 1 && first
      ? titleOf(first, wording)
      : say(wording, "alarms", { n: String(alarms.length) });
  return { kind: "missed", severity: "info", title: `${say(wording, "missed")}: ${what}`, text: "" };
}

function raisedMessage({ raised, over, flood }: Notice, on: readonly ShownAlarm[], wording: Wording): Said {
  const [first] = raised;
  if (first === undefined) return { kind: "alarm", severity: "info", title: "", text: "" };
  const severity = worstOf(raised);
  const time = say(wording, "since", { time: timeIn(first.since, wording.timeZone) });
  const ended = finished(over, wording);
  if (raised.length === 1) {
    const titles = on.map((one) => titleOf(one, wording));
    const count =
      flood === null ? [] : [say(wording, "flood", { n: String(flood) }), ...list(titles, wording, flood)];
    const text = [sentenceOf(first, wording), ...count, ...ended, time].join("\n");
    return { kind: flood === null ? "alarm" : "flood", severity, title: titleOf(first, wording), text };
  }
  const head = say(wording, "alarms", { n: String(raised.length) });
  const each = list(
    raised.map((one) => `${titleOf(one, wording)}. ${sentenceOf(one, wording)}`),
    wording,
  );
  const text = [...each, ...ended, time].join("\n");
  return { kind: "alarm", severity, title: `${head}: ${titleOf(first, wording)}`, text };
}

export function testMessage(way: string, at: number, wording: Wording): Message {
  const head = say(wording, "test");
  return {
    kind: "test",
    severity: "info",
    title: wording.name === null ? head : `${wording.name}: ${head}`,
    text: say(wording, "works", { way }),
    alarms: [],
    over: [],
    missed: [],
    at: new Date(at).toISOString(),
  };
}
