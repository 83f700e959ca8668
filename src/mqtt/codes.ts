import type { ActuatorKind, ValueTable } from "../greenhouse/actuator-kinds.js";
import { kindWords, stateOfWord, takesDegrees, valueTable } from "../greenhouse/actuator-kinds.js";
import type { Quality } from "../greenhouse/model.js";

/*
 * States and qualities as integers, for drivers that cannot read words. A number never changes its meaning;
 * docs/scada.md has the table.
 */

/** Quality numbers of OPC; 68 means "last usable value". */
export const qualityCodes: Readonly<Record<Quality, number>> = {
  good: 192,
  uncertain: 64,
  stale: 68,
  bad: 0,
};

/** The code of any word that no table has. */
export const unknownCode = 255;

const stateCodes: ReadonlyMap<string, number> = new Map([
  ...[...kindWords].flatMap(([word, [, code]]) => (code === undefined ? [] : [[word, code] as const])),
  ["unknown", unknownCode] as const,
]);

/** The code of the first word that the configuration defines; the others follow in its order. */
const firstOwn = 100;

interface Words {
  readonly kind: ActuatorKind;
  readonly values: ValueTable;
}

const ofKinds = new WeakMap<Words, ReadonlyMap<string, number>>();

/** Every state that an actuator can show, with its number. */
export function statesOf(settings: Words): ReadonlyMap<string, number> {
  const known = ofKinds.get(settings);
  if (known !== undefined) return known;
  const words = Object.keys(valueTable(settings)).map((word) => stateOfWord(settings.kind, word));
  const degree = takesDegrees(settings.kind) ? ["position"] : [];
  const all = [...new Set([...words, ...degree, "unknown"])];
  const own = Object.keys(settings.values);
  const codes = new Map(
    all.map((word) => [word, stateCodes.get(word) ?? firstOwn + Math.max(0, own.indexOf(word))] as const),
  );
  ofKinds.set(settings, codes);
  return codes;
}

/** The code of a running status, an availability or a problem. */
export const wordCode = (word: string): number => stateCodes.get(word) ?? unknownCode;
