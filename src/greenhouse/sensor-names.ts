import { kindsOfCode } from "./sensor-names/factor-codes.js";
import { kindWithUnit, type Kinds } from "./sensor-names/kinds.js";
import { knownName } from "./sensor-names/known-name.js";
import type { SensorKind } from "./sensor-kinds.js";
import { normaliseUnit } from "./units.js";

export { statusWord } from "./sensor-names/status-names.js";
export { englishName, translatedSensorName, translatedStatusName } from "./sensor-names/translated.js";

export interface Recognised {
  readonly kind: SensorKind;
  /** The catalogue's word for the name, whatever the unit: an id must not change when a unit appears. */
  readonly word: string | null;
}

// A name that says so is about a limit, a state or a sum, so its code's quantity would be misread.
const notAReading =
  /报警|告警|预警|故障|状态|开关|设定|设置|目标|上限|下限|阈|校准|校正|修正|补偿|偏差|温差|累[计积]|次数|时间|使能|alarm|fault|status|state|switch|target|limit|threshold|calib|offset|diff|total|count|time|set ?point|enable/iu;

/**
 * What a sensor measures, from its name, else from its factor code. `other` where nothing is known, where the unit
 * contradicts, or where the name says too little without a unit. Right rather than clever: no part of a name is skipped.
 */
export function recogniseSensor(item: {
  readonly name: string;
  readonly factor: string | null;
  readonly unit: string | null;
}): Recognised {
  const unit = normaliseUnit(item.unit);
  const name = knownName(item.name);
  if (name !== null) return { kind: kindWithUnit(name, unit ?? name.unit), word: name.word };
  const shortName = kindsOfCode(item.name);
  if (shortName !== null) return { kind: kindWithUnit(shortName, unit), word: null };
  if (item.factor === null || notAReading.test(item.name)) return { kind: "other", word: null };
  const factor: (Kinds & { readonly word?: string }) | null =
    knownName(item.factor) ?? kindsOfCode(item.factor);
  return { kind: factor === null ? "other" : kindWithUnit(factor, unit), word: factor?.word ?? null };
}

/** The frozen word a name stands for in ids; null for a name the catalogue does not know. */
export const catalogueWord = (name: string): string | null => knownName(name)?.word ?? null;
