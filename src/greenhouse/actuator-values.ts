import { type KindRow, kindRows, type ValueTable } from "./actuator-kinds.js";
import type { RawValue } from "./ports.js";
import type { ActuatorSettings } from "./settings.js";

/*
 * What a value means, which depends on the kind alone: `11000` is automatic for a skylight and two fans for a fan and
 * wet curtain. The platform may hand a value back as a number, without its leading zeros or padded; all of these decode.
 */

interface DecodedValue {
  /** `open`, `auto`, `position` …, or `unknown`. */
  readonly state: string;
  /** Opening degree 0..100, where the value is one. */
  readonly position: number | null;
  /** The table's spelling where there is one, else the trimmed text. */
  readonly value: string;
}

/** Command word → value: the kind's own table, with the configuration's on top where the kind allows it. */
export function valueTable(settings: Pick<ActuatorSettings, "kind" | "values">): ValueTable {
  const row: KindRow = kindRows[settings.kind];
  return row.configured ? { ...row.values, ...settings.values } : row.values;
}

/** The state word a command word leads to (`close` → `closed`). */
export function stateOfWord(kind: ActuatorSettings["kind"], word: string): string {
  const row: KindRow = kindRows[kind];
  return row.states[word] ?? word;
}

export function decodeValue(
  settings: Pick<ActuatorSettings, "kind" | "values">,
  raw: RawValue,
): DecodedValue {
  const row: KindRow = kindRows[settings.kind];
  const text = textOf(raw);
  for (const [word, value] of Object.entries(valueTable(settings))) {
    if (sameValue(value, text)) return { state: stateOfWord(settings.kind, word), position: null, value };
  }
  if (row.positionMode !== null) {
    if (sameValue(row.positionMode, text))
      return { state: "position", position: null, value: row.positionMode };
    const degree = degreeOf(text);
    if (degree !== null) return { state: "position", position: degree, value: String(degree) };
  }
  return { state: "unknown", position: null, value: text };
}

/** Equal as the platform may return them: as text, or as digits with other leading zeros. */
export function sameValue(wanted: string, text: string): boolean {
  if (wanted === text) return true;
  return (
    /^\d+$/.test(text) && /^\d+$/.test(wanted) && withoutLeadingZeros(wanted) === withoutLeadingZeros(text)
  );
}

/** A register as text: trimmed, and a whole number that came as `45.0` as `45`. */
export function textOf(raw: RawValue): string {
  const text = String(raw).trim();
  return /^\d+\.0+$/.test(text) ? text.slice(0, text.indexOf(".")) : text;
}

export function degreeOf(text: string): number | null {
  if (!/^\d{1,8}$/.test(text)) return null;
  const degree = Number(text);
  return degree <= 100 ? degree : null;
}

const withoutLeadingZeros = (digits: string) => digits.replace(/^0+(?=\d)/, "");
