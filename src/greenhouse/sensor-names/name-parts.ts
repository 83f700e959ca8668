import { knownUnit } from "../units.js";

/** A name with one part taken off: what that part says goes to the end of the word, or is the unit. */
export interface Peeled {
  readonly rest: string;
  readonly part: "index" | "depth" | "zone" | "unit" | "noise" | "order";
  readonly says: string;
}

type Rule = readonly [pattern: RegExp, read: (match: RegExpExecArray) => Peeled | null];

const han = "\\p{Script=Han}";
const numerals = "零一二三四五六七八九十";
const digits = (text: string): string => (numerals.includes(text) ? String(numerals.indexOf(text)) : text);
const group = (match: RegExpExecArray, place: number): string => match[place] ?? "";
const rule = (pattern: string, read: Rule[1]): Rule => [new RegExp(pattern, "u"), read];

/** A part in the group `value`; what is left are the other two, in order. */
const taking =
  (part: Peeled["part"], says: (value: string) => string, value: 1 | 2 | 3) =>
  (match: RegExpExecArray): Peeled => ({
    rest: [1, 2, 3]
      .filter((place) => place !== value)
      .map((place) => group(match, place))
      .join(""),
    part,
    says: says(group(match, value)),
  });

const index = (value: 1 | 2 | 3) => taking("index", (text) => digits(text).replace(/[-.]/gu, "_"), value);
const depth = (value: 1 | 2 | 3) => taking("depth", (text) => `${text}cm`, value);
const zone = (match: RegExpExecArray): Peeled => ({
  rest: group(match, 3),
  part: "zone",
  says: `${/区|zone/u.test(match[0]) ? "zone" : "house"}_${digits(group(match, 1) || group(match, 2))}`,
});

function bracketed(inside: string, rest: string): Peeled | null {
  const [, number] = /^(?:no\.?|#)? ?(\d{1,3}|[ab]|[一二三四五六七八九十]) ?[号#]?$/u.exec(inside) ?? [];
  if (number !== undefined) return { rest, part: "index", says: digits(number) };
  const [, centimetres] = /^(\d{1,3}) ?(?:cm|厘米|公分)(?:处|深)?$/u.exec(inside) ?? [];
  if (centimetres !== undefined) return { rest, part: "depth", says: `${centimetres}cm` };
  const unit = knownUnit(inside);
  if (unit !== null) return { rest, part: "unit", says: unit };
  return { rest: inside + rest, part: "order", says: "" };
}

const noise =
  "传感器|感应器|变送器|探头|检测|监测|采集|测量值|测量|实时值|当前值|反馈值|反馈|数值|读数|值|sensor|probe|value|reading|feedback|meter";
const written = "°[cf]|%(?:rh)?|ppm|k?lux|klx|lx|hpa|kpa|mpa|mm|[a-zμ]{1,4}\\d?/[a-zμ]{1,3}[2³3]?(?:/s)?";

// In the order they are tried; names are `readable`. One digit at the end goes before two, or CO21 would be CO 21.
const rules: readonly Rule[] = [
  rule("^(.+?) ?\\(([^()]+)\\)$", (match) => bracketed(group(match, 2).trim(), group(match, 1))),
  rule("^\\(([^()]+)\\) ?(.+)$", (match) => bracketed(group(match, 1).trim(), group(match, 2))),
  rule(`^(.+?)(?:[ /:,_-]+|(?<=${han}))(${written})$`, (match) => {
    const unit = knownUnit(group(match, 2));
    return unit === null ? null : { rest: group(match, 1), part: "unit", says: unit };
  }),
  rule(`^(.+?)[ _-]?(?:${noise})$`, (match) => ({ rest: group(match, 1), part: "noise", says: "" })),
  rule("^(.+?)[ _-]*?(\\d{1,3}) ?(?:cm|厘米|公分)(?:处|深)?$", depth(2)),
  rule("^(\\d{1,3}) ?(?:cm|厘米|公分)(?:处|深)?[ _-]?(.+)$", depth(1)),
  rule("^(土壤|地下|土|soil|ground) ?(\\d{1,3}) ?(?:cm|厘米|公分)(?:处|深)?(.+)$", depth(2)),
  rule("^(.+?)(?:[ _#:-]|no\\.?)+(\\d{1,4}(?:[-.]\\d{1,3})?) ?[#号]?$", index(2)),
  rule("^(.+?)(\\d{1,3}[-.]\\d{1,3})$", index(2)),
  rule("^(.+)(\\d) ?[#号]?$", index(2)),
  rule("^(.+)(\\d\\d) ?[#号]?$", index(2)),
  rule("^(.+)(\\d{3,4}) ?[#号]?$", index(2)),
  rule(`^(.*${han})([一二三四五六七八九十])号?$`, index(2)),
  rule(`^(.*${han})[ _-]?([a-h])$`, index(2)),
  rule("^(.+)[ _-]([a-h])$", index(2)),
  rule("^(\\d{1,3}|[a-h]|[一二三四五六七八九十])()号?(?:区|温室|大棚|棚)[ _-]?(.+)$", zone),
  rule("^(?:zone|greenhouse|house|bay)[ _-]?()(\\d{1,3}|[a-h])[ _-]+(.+)$", zone),
  rule("^(?:no\\.?)?(\\d{1,3}|[一二三四五六七八九十]) ?[#号][ _-]?(.+)$", index(1)),
  rule("^([a-h])[号#]?([罐桶池液肥].+)$", index(1)),
  rule(`^(${han}+?) ?(\\d{1,3}) ?[#号]?(${han}.*)$`, index(2)),
];

/** Every way to take one part off a readable name, the likeliest first. */
export function* peelings(name: string): Generator<Peeled> {
  for (const [pattern, read] of rules) {
    const match = pattern.exec(name);
    const peeled = match && read(match);
    if (peeled && peeled.rest.trim() !== "") yield { ...peeled, rest: peeled.rest.trim() };
  }
}
