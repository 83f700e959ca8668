import { kindRows, type ActuatorKind, type KindRow } from "../../greenhouse/actuator-kinds.js";
import { decodeValue, sameValue, textOf } from "../../greenhouse/actuator-values.js";
import type { RawValue } from "../../greenhouse/ports.js";

/**
 * What a register's value says about the kind of device behind it. `sure`: a control value of the kind, which hardly
 * anything else holds. `possible`: one that settings hold as well, such as a degree or a lone 0. `none`: not of this kind.
 */
export type Evidence = "sure" | "possible" | "none";

export function evidenceFor(kind: ActuatorKind, raw: RawValue): Evidence {
  const row: KindRow = kindRows[kind];
  const text = textOf(raw);
  const controls = [...Object.values(row.values), ...(row.positionMode === null ? [] : [row.positionMode])];
  const control = controls.find((value) => sameValue(value, text));
  // A number loses its leading zeros; what is left of `00000` is no evidence.
  if (control !== undefined) return control === text || Number(text) !== 0 ? "sure" : "possible";
  return stateWord(kind, raw) === null ? "none" : "possible";
}

/** The state a value means for this kind, a degree as text; null where it means nothing. */
export function stateWord(kind: ActuatorKind, raw: RawValue): string | null {
  const { state, position } = decodeValue({ kind, values: {} }, raw);
  if (state === "unknown") return null;
  return position === null ? state : `${position} %`;
}
