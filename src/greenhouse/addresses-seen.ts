import { eitherOf } from "../language/lists.js";
import { joined, msg, row, type Text } from "../language/text.js";
import {
  type ActuatorKind,
  decodeValue,
  degreeRead,
  type KindRow,
  kindRows,
  textOf,
} from "./actuator-kinds.js";
import type { RawValue } from "./ports.js";
import { byText } from "./topic-ids.js";

/*
 * Finds addresses. The interface has no table of them: "they can be found by observing what the platform's web client
 * sends". Values pushed while somebody moves things show an address, and hint at the kind of thing behind it.
 */

/** An address that belongs to no actuator or parameter, with the values seen. */
export interface SeenAddress {
  readonly code: string;
  readonly address: string;
  /** In the order of their arrival, the newest last; neighbours differ. Never empty. */
  readonly values: readonly string[];
  /** Epoch ms. */
  readonly firstAt: number;
  readonly lastAt: number;
}

const mostValues = 12;
const longestValue = 80;

/** An address with one more value; the same reference where the value was no news. */
export function seeAddress(
  known: SeenAddress | undefined,
  code: string,
  address: string,
  raw: RawValue,
  at: number,
): SeenAddress {
  const value = textOf(raw).slice(0, longestValue);
  if (known === undefined) return { code, address, values: [value], firstAt: at, lastAt: at };
  if (known.values.at(-1) === value) return known;
  return { ...known, values: [...known.values, value].slice(-mostValues), lastAt: at };
}

/** What the values of an address look like; `kind` is null where they are not enough to tell. */
export interface Likeness {
  readonly kind: ActuatorKind | null;
  /** Follows "looks like" in a sentence. */
  readonly text: Text;
}

/** One kind of each group that shares its values; `machine` stands for all with on, off and automatic. */
const candidates = [
  { kind: "positioner", text: msg`a positioner (a window or a curtain)`, digits: 5 },
  { kind: "fan_wet_curtain", text: msg`a fan and wet curtain`, digits: 5 },
  { kind: "machine", text: msg`a machine (on, off, automatic)`, digits: 4 },
  { kind: "irrigation", text: msg`an irrigation plan`, digits: 4 },
] as const satisfies readonly { kind: ActuatorKind; text: Text; digits: number }[];

const isBits = (text: string, digits: number): boolean =>
  text.length === digits && /^[01]+$/.test(text) && Number(text) !== 0;

/** Guesses the kind. In doubt there is none, as a wrong kind would move something. */
export function likenessOf(values: readonly string[]): Likeness {
  const all = [...new Set(values)];
  const rotation = kindRows.irrigation.values.rotation;
  if (all.some((text) => text !== rotation && isBits(text, 8))) return { kind: "motor", text: msg`a motor` };
  const scored = candidates
    .map((candidate) => ({ candidate, score: scoreOf(candidate.kind, candidate.digits, all) }))
    .filter(({ score }) => score > 0);
  const best = Math.max(0, ...scored.map(({ score }) => score));
  const winners = scored.filter(({ score }) => score === best).map(({ candidate }) => candidate);
  const [first, second] = winners;
  // Only its rotation distinguishes an irrigation plan from a machine.
  const isClear = second === undefined || (first?.kind === "machine" && second.kind === "irrigation");
  if (first !== undefined && isClear) return { kind: first.kind, text: first.text };
  if (first !== undefined) return { kind: null, text: eitherOf(winners.map(({ text }) => text)) };
  // A fraction is more often a measurement.
  if (all.every((text) => degreeRead(text) !== null && !text.includes(".")))
    return {
      kind: null,
      text: msg`a number from 0 to 100: the position_address of a positioner, or a parameter`,
    };
  if (all.every((text) => /^[+-]?\d+(\.\d+)?$/.test(text) && !/^[01]{4,}$/.test(text)))
    return { kind: null, text: msg`a parameter` };
  return { kind: null, text: msg`nothing that is known: kind: custom with its values, perhaps` };
}

/** How many of the values are control values of the kind; 0 where one of them cannot belong to it. */
function scoreOf(kind: ActuatorKind, digits: number, values: readonly string[]): number {
  const row: KindRow = kindRows[kind];
  const own = new Set<string | null>([...Object.values(row.values), row.positionMode]);
  const fits = (text: string) =>
    isBits(text, digits) || decodeValue({ kind, values: {} }, text).state !== "unknown";
  return values.every(fits) ? values.filter((text) => own.has(text) && Number(text) !== 0).length : 0;
}

/** An actuator to suggest for the configuration; null where the values are not enough. */
export interface SuggestedActuator {
  readonly id: string;
  readonly kind: ActuatorKind;
  /** Given for a motor, whose words are still unknown. */
  readonly values: Readonly<Record<string, string>> | null;
}

export function suggestedActuator({
  address,
  values,
}: Pick<SeenAddress, "address" | "values">): SuggestedActuator | null {
  const { kind } = likenessOf(values);
  if (kind === null) return null;
  const id = `${kind}_${address.toLowerCase().replace(/[^a-z0-9_-]/g, "_")}`.slice(0, 64);
  if (kind !== "motor") return { id, kind, values: null };
  const stop = kindRows.motor.values.stop;
  const others = [...new Set(values)].filter((value) => value !== stop && /^[01]{8}$/.test(value));
  return { id, kind, values: Object.fromEntries(others.map((value, at) => [`word_${at + 1}`, value])) };
}

/** The newest few values, such as `1001 → 1010`. */
export const valuesText = (values: readonly string[]): string =>
  `${values.length > 4 ? "… → " : ""}${values.slice(-4).join(" → ")}`;

/** Lines to paste into a configuration; an address without a suggestion is a comment. */
export function seenYaml(seen: readonly SeenAddress[]): Text {
  const codes = [...new Set(seen.map(({ code }) => code))].sort();
  if (codes.length === 0) return "";
  const lines = codes.flatMap((code) => {
    const own = seen.filter((one) => one.code === code);
    const entries = own.flatMap((one) => {
      const suggested = suggestedActuator(one);
      return suggested === null ? [] : [`      ${entryLine(one, suggested)}`];
    });
    const doubtful = own
      .filter((one) => suggestedActuator(one) === null)
      .map(
        (one) =>
          row`    # ${msg`address ${one.address}: ${remark(one)}, looks like ${likenessOf(one.values).text}`}`,
      );
    return [
      `  ${scalar(code)}:`,
      ...(entries.length === 0 ? [] : ["    actuators:", ...entries]),
      ...doubtful,
    ];
  });
  return row`${joined(["controllers:", ...lines], "\n")}\n`;
}

function entryLine(one: SeenAddress, { id, kind, values }: SuggestedActuator): string {
  const words = Object.entries(values ?? {}).map(([word, value]) => `${word}: ${JSON.stringify(value)}`);
  const table = words.length === 0 ? "" : `, values: { ${words.join(", ")} }`;
  return `${id}: { kind: ${kind}, address: ${scalar(one.address)}${table} } # ${remark(one)}`;
}

const remark = ({ values }: SeenAddress): string => oneLine(valuesText(values));

const oneLine = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]+/gu, " ");

/** A text as YAML, quoted where YAML would read it as something else. */
const scalar = (text: string): string =>
  /^(?:0|[1-9]\d{0,14}|[A-Za-z][A-Za-z0-9_-]*)$/.test(text) &&
  !/^(?:true|false|null|yes|no|on|off|y|n)$/i.test(text)
    ? text
    : JSON.stringify(text);

/** Orders addresses: numbers by size, before everything else. */
export function byAddress(one: string, other: string): number {
  const sizeOf = (address: string): number => (/^\d{1,15}$/.test(address) ? Number(address) : Infinity);
  const [first, second] = [sizeOf(one), sizeOf(other)];
  return first === second ? byText(one, other) : first - second;
}
