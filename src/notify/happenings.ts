import type { ActuatorKind } from "../greenhouse/actuator-kinds.js";
import type { Language } from "../greenhouse/labels.js";
import { inert } from "../runtime/plain-text.js";
import type { Message, Wording } from "./message.js";

/*
 * What a way asks for beside alarms: that a guard moved something, that a command ended badly, what people locked and set. Collected, so
 * that a storm is one message. Pure; instants are epoch ms.
 */

export type HappeningKind = "guards" | "commands" | "people";

interface About {
  readonly at: number;
  readonly controller: string;
  readonly actuator: string;
  readonly kind: ActuatorKind;
}

export type Happening =
  /** `measure`: what the guard looks at, as people read it; null where it is not known. */
  | (About & {
      readonly of: "guards";
      readonly rule: string;
      readonly command: string;
      readonly measure: string | null;
    })
  | (About & { readonly of: "guards"; readonly rule: string; readonly command: null })
  | (About & {
      readonly of: "commands";
      readonly command: string;
      readonly outcome: BadOutcome;
      readonly message: string;
    })
  | (About & {
      readonly of: "people";
      readonly what: "locked" | "unlocked";
      readonly by: string;
      readonly reason: string | null;
    })
  | { readonly of: "people"; readonly at: number; readonly what: "told"; readonly message: string };

export const badOutcomes = ["rejected", "unconfirmed", "failed", "unknown"] as const;
type BadOutcome = (typeof badOutcomes)[number];

/** What comes within this time is one message. */
const collectMs = 30_000;
const mostLines = 8;

type Text = readonly [english: string, chinese: string];

const outcomeTexts: Readonly<Record<BadOutcome, Text>> = {
  rejected: ["was refused by the platform", "被平台拒绝"],
  unconfirmed: ["was not confirmed", "未确认"],
  failed: ["was not carried out", "没有执行"],
  unknown: ["may have been carried out or not", "无法判断是否执行"],
};

const doneTexts: Readonly<Record<string, Text>> = {
  close: ["closed", "已关闭"],
  closed: ["closed", "已关闭"],
  open: ["opened", "已打开"],
  on: ["switched on", "已开启"],
  off: ["switched off", "已关闭"],
  stop: ["stopped", "已停止"],
};

const texts = {
  windows: ["{n} windows", "{n} 扇窗"],
  curtains: ["{n} curtains", "{n} 幅幕帘"],
  actuators: ["{n} actuators", "{n} 个执行机构"],
  ofHouses: ["{what} of {h} houses", "{h} 个温室的 {what}"],
  setTo: ["set to {command}", "已设为 {command}"],
  moved: ["{why}: {what} {done}", "{why}：{what}{done}"],
  over: ["{why} over: {what} free again", "{why}已解除：{what}恢复正常"],
  ended: ["{what}: “{command}” {outcome}", "{what}：“{command}”{outcome}"],
  locked: ["{what} locked by {by}", "{what} 已被 {by} 锁定"],
  unlocked: ["{what} unlocked by {by}", "{what} 已由 {by} 解锁"],
  more: ["and {n} more", "另有 {n} 条"],
  several: ["{n} events", "{n} 件事"],
} as const satisfies Readonly<Record<string, Text>>;

const pick = ([english, chinese]: Text, language: Language): string =>
  language === "zh" ? chinese : english;

const say = (
  key: keyof typeof texts,
  language: Language,
  values: Readonly<Record<string, string | number>>,
) =>
  Object.entries(values).reduce<string>(
    (said, [name, value]) => said.replace(`{${name}}`, () => String(value)),
    pick(texts[key], language),
  );

function nounOf(kinds: ReadonlySet<ActuatorKind>): "windows" | "curtains" | "actuators" {
  const all = [...kinds];
  if (all.every((kind) => kind === "skylight" || kind === "side_vent")) return "windows";
  return all.every((kind) => kind === "shade_curtain" || kind === "thermal_curtain")
    ? "curtains"
    : "actuators";
}

type OfActuator = Extract<Happening, About>;

/** One actuator by its name, the house first; of several how many. */
function whatOf(group: readonly OfActuator[], { language, nameOf }: Wording): string {
  const [first] = group;
  if (first === undefined) return "";
  const targets = new Set(group.map(({ controller, actuator }) => `${controller}/${actuator}`));
  if (targets.size === 1) return nameOf(first.controller, first.actuator);
  const houses = new Set(group.map(({ controller }) => controller));
  const what = say(nounOf(new Set(group.map(({ kind }) => kind))), language, { n: targets.size });
  if (houses.size === 1) return `${nameOf(first.controller, null)}${language === "zh" ? "：" : ": "}${what}`;
  return say("ofHouses", language, { what, h: houses.size });
}

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

function doneOf(command: string, language: Language): string {
  const known = doneTexts[command];
  if (known !== undefined) return pick(known, language);
  return say("setTo", language, { command: /^\d+$/.test(command) ? `${command} %` : command });
}

/** What is told together. */
function keyOf(one: Happening): string {
  switch (one.of) {
    case "guards":
      return JSON.stringify(["guards", one.rule, one.command]);
    case "commands":
      return JSON.stringify(["commands", one.controller, one.actuator, one.command, one.outcome]);
    case "people":
      return JSON.stringify(["people", one.what, one.what === "told" ? one.message : one.by]);
  }
}

function lineOf(group: readonly Happening[], wording: Wording): string {
  const first = group.at(-1);
  const { language } = wording;
  if (first === undefined) return "";
  if (first.of === "people" && first.what === "told") return first.message;
  const what = whatOf(
    group.filter((one): one is OfActuator => "actuator" in one),
    wording,
  );
  if (first.of === "commands")
    return say("ended", language, {
      ...{ what, command: first.command },
      outcome: pick(outcomeTexts[first.outcome], language),
    });
  if (first.of === "people") return say(first.what, language, { what, by: first.by });
  if (first.command === null) return say("over", language, { why: capital(first.rule), what });
  const why = capital(first.measure ?? first.rule);
  return say("moved", language, { why, what, done: doneOf(first.command, language) });
}

/** Whether what was collected is told now. */
export const isCollected = (happened: readonly Happening[], now: number): boolean =>
  happened.some(({ at }) => now - at >= collectMs || at > now);

/** All of it in one. */
export function happenedMessage(happened: readonly Happening[], at: number, wording: Wording): Message {
  const groups = new Map<string, Happening[]>();
  for (const one of happened) groups.set(keyOf(one), [...(groups.get(keyOf(one)) ?? []), one]);
  const lines = [...groups.values()].map((group) => lineOf(group, wording));
  const isBad = happened.some(({ of }) => of === "commands");
  const more = lines.length - mostLines;
  const shown = lines.slice(0, mostLines).map((line) => (lines.length > 1 ? `• ${line}` : line));
  const [only = ""] = lines;
  const title = lines.length === 1 ? only : say("several", wording.language, { n: lines.length });
  const text = [...shown, ...(more > 0 ? [say("more", wording.language, { n: more })] : [])].join("\n");
  return {
    ...{ kind: "happened", severity: isBad ? "warning" : "info" },
    title: inert(wording.name === null ? title : `${wording.name}: ${title}`),
    text: inert(text),
    ...{ alarms: [], over: [], missed: [], at: new Date(at).toISOString() },
  };
}
